//! Orders that another thread passes to a sleeping engine.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use tickwire_fix_engine::{
    Application, BoxStore, Engine, EngineHandle, EngineOptions, InitiatorOptions, SessionKey,
};
use tickwire_fix_messages::fix44::{AnyMessage, NewOrderSingle};
use tickwire_fix_session::{Event, MemoryStore, Now, Session, SessionEvent, SessionRole};
use tickwire_host::Stop;
use tickwire_host::affinity::pin_current_thread;
use tickwire_host::clock::{monotonic_ns, unix_ns};

use crate::bare::let_sleep;
use crate::engines::config;
use crate::{CPUS, messages};

/// Receives nothing.
struct Silent;

impl Application for Silent {
    fn handle_message(
        &mut self,
        _: SessionKey,
        _: tickwire_fix_session::MessageDelivery<'_, BoxStore>,
    ) {
    }
}

/// A sleeping engine, and the counterparty's end of its connection.
pub struct Handed {
    handle: EngineHandle,
    session: SessionKey,
    stop: Stop,
    thread: JoinHandle<()>,
    counterparty: TcpStream,
}

fn now() -> Now {
    Now { wall_ns: unix_ns(), steady_ns: monotonic_ns() }
}

/// Answers the Logon of the connecting engine.
fn log_on(stream: &mut TcpStream) -> Result<(), Box<dyn Error>> {
    let accepting = config(SessionRole::Acceptor, "VENUE", "THREADS");
    let mut session = Session::new(accepting, MemoryStore::new());
    session.handle_connected(now());
    let mut buffer = [0; 4096];
    let mut is_logged_on = false;
    while !is_logged_on {
        let len = stream.read(&mut buffer)?;
        session.handle_bytes(&buffer[..len]);
        while let Some(event) = session.poll_event(now()) {
            is_logged_on |= matches!(event, Event::Session(SessionEvent::LoggedOn));
        }
        let bytes = session.poll_transmit(now())?;
        stream.write_all(bytes)?;
        let len = bytes.len();
        session.handle_transmitted(len);
    }
    Ok(())
}

impl Handed {
    pub fn start() -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut engine = Engine::new(EngineOptions::default(), Silent)?;
        let calling = config(SessionRole::Initiator, "THREADS", "VENUE");
        let options = InitiatorOptions::new(listener.local_addr()?);
        let session = engine.add_initiator(calling, Box::new(MemoryStore::new()), options)?;
        let (handle, stop) = (engine.handle(), Stop::new());
        let until = stop.clone();
        let thread = thread::spawn(move || {
            pin_current_thread(CPUS[1]).expect("a second CPU");
            engine.run(&until).expect("it runs");
        });
        let (mut counterparty, _) = listener.accept()?;
        log_on(&mut counterparty)?;
        counterparty.set_nonblocking(true)?;
        Ok(Self { handle, session, stop, thread, counterparty })
    }

    /// Polls until a message has arrived, and reads it.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Box<dyn Error>> {
        loop {
            match self.counterparty.read(buffer) {
                Ok(len) => return Ok(len),
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn exchange(&mut self) -> Result<u64, Box<dyn Error>> {
        let order = AnyMessage::from(messages::order("order-00000001"));
        let mut buffer = [0; 4096];
        let_sleep();
        let begun = monotonic_ns();
        let sent = self.handle.send(self.session, NewOrderSingle::MSG_TYPE, move |writer| {
            order.encode_fields(writer)
        });
        let len = self.read(&mut buffer)?;
        let took = monotonic_ns() - begun;
        // Each write is one complete message.
        let trailer = buffer[..len].len().checked_sub(8).ok_or("the connection is closed")?;
        assert_eq!(&buffer[trailer..trailer + 4], b"\x0110=");
        sent?.wait()??;
        Ok(took)
    }

    pub fn round(&mut self, count: usize) -> Result<Vec<u64>, Box<dyn Error>> {
        (0..count).map(|_| self.exchange()).collect()
    }

    /// Ends the connection and the engine.
    pub fn end(self) -> Result<(), Box<dyn Error>> {
        drop(self.counterparty);
        self.stop.set();
        self.handle.wake()?;
        self.thread.join().map_err(|_| "the engine's thread panicked".into())
    }
}
