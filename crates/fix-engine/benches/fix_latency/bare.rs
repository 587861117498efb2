//! Baselines without an engine: the times of the operating system alone.

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use mio::{Events, Poll, Token, Waker};
use tickwire_host::affinity::pin_current_thread;
use tickwire_host::clock::monotonic_ns;

use crate::CPUS;

/// Pause between two exchanges, in which a waiting thread falls asleep.
const FALL_ASLEEP_NS: u64 = 30_000;

/// Returns both ends of a connection over loopback.
pub fn connected() -> io::Result<[TcpStream; 2]> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok([near, far])
}

/// Reads until the buffer is full. On a non-blocking socket it polls.
pub fn read_all(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<()> {
    let mut len = 0;
    while len < buffer.len() {
        match stream.read(&mut buffer[len..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => len += read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until the other thread has fallen asleep.
pub fn let_sleep() {
    let until = monotonic_ns() + FALL_ASLEEP_NS;
    while monotonic_ns() < until {
        std::hint::spin_loop();
    }
}

/// An exchange of bytes between two threads.
pub struct PingPong {
    /// Sends the number of exchanges of the next round.
    counts: SyncSender<usize>,
    times: Receiver<io::Result<Vec<u64>>>,
}

impl PingPong {
    /// Starts the threads, which exchange the bytes of an order and of its report.
    pub fn start([order, report]: &[Vec<u8>; 2], is_busy: bool) -> Result<Self, Box<dyn Error>> {
        let [near, far] = connected()?;
        near.set_nonblocking(is_busy)?;
        far.set_nonblocking(is_busy)?;
        let (counts, to_do) = sync_channel::<usize>(0);
        let (answer, times) = sync_channel(0);
        let (start_far, begin_far) = sync_channel::<usize>(0);
        let (first, second) = (order.clone(), report.clone());
        thread::spawn(move || {
            // Like the other threads of this program, it ends with the program.
            pin_current_thread(CPUS[1]).expect("a second CPU");
            let (mut far, mut read) = (far, first);
            for count in begin_far {
                for _ in 0..count {
                    read_all(&mut far, &mut read).expect("the other end is there");
                    far.write_all(&second).expect("the other end is there");
                }
            }
        });
        let (first, second) = (order.clone(), report.clone());
        thread::spawn(move || {
            pin_current_thread(CPUS[0]).expect("a first CPU");
            let (mut near, mut read) = (near, second);
            for count in to_do {
                start_far.send(count).expect("the other thread is there");
                let exchange = |_| {
                    let begun = monotonic_ns();
                    near.write_all(&first)?;
                    read_all(&mut near, &mut read)?;
                    Ok(monotonic_ns() - begun)
                };
                let times = (0..count).map(exchange).collect();
                if answer.send(times).is_err() {
                    return;
                }
            }
        });
        Ok(Self { counts, times })
    }

    pub fn round(&mut self, count: usize) -> Result<Vec<u64>, Box<dyn Error>> {
        self.counts.send(count)?;
        Ok(self.times.recv()??)
    }
}

/// A thread that writes each time it is woken.
pub struct WakeUp {
    waker: Waker,
    near: TcpStream,
    read: Vec<u8>,
}

impl WakeUp {
    pub fn start(bytes: &[u8]) -> Result<Self, Box<dyn Error>> {
        let [near, mut far] = connected()?;
        near.set_nonblocking(true)?;
        let mut poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), Token(0))?;
        let message = bytes.to_vec();
        thread::spawn(move || {
            pin_current_thread(CPUS[1]).expect("a second CPU");
            let mut events = Events::with_capacity(16);
            loop {
                poll.poll(&mut events, None).expect("an event");
                if far.write_all(&message).is_err() {
                    return;
                }
            }
        });
        Ok(Self { waker, near, read: bytes.to_vec() })
    }

    pub fn round(&mut self, count: usize) -> Result<Vec<u64>, Box<dyn Error>> {
        let exchange = |_| {
            let_sleep();
            let begun = monotonic_ns();
            self.waker.wake()?;
            read_all(&mut self.near, &mut self.read)?;
            Ok(monotonic_ns() - begun)
        };
        (0..count).map(exchange).collect()
    }
}
