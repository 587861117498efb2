//! An initiator that sends an order from another thread than the engine's, replaces it and cancels it.
//! Run it with `cargo run -p tickwire-net --example fix_initiator`, against `fix_acceptor`.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use tickwire_fix::{Tag, UtcTimestamp, Writer};
use tickwire_fix_session::{BeginString, Config, Delivery, MemoryStore, Notice, Role, SessionId};
use tickwire_net::Stop;
use tickwire_net::clock::unix_ns;
use tickwire_net::fix::{
    Application, BoxStore, Engine, EngineOptions, InitiatorOptions, SessionKey,
};

/// What the trading thread is told.
enum Told {
    LoggedOn,
    /// ExecType and ClOrdID of a report.
    Report(char, String),
}

/// Tells the trading thread what arrives.
struct Trader(Sender<Told>);

impl Application for Trader {
    fn handle_message(&mut self, _: SessionKey, delivery: Delivery<'_, BoxStore>) {
        let value = |tag| delivery.message.field(Tag(tag)).map_or(&[][..], |field| field.value);
        if delivery.message.msg_type() == b"8" {
            let exec_type = value(150).first().copied().map_or('?', char::from);
            let cl_ord_id = String::from_utf8_lossy(value(11)).into_owned();
            // It is gone when trading has ended.
            let _ = self.0.send(Told::Report(exec_type, cl_ord_id));
        }
    }

    fn handle_notice(&mut self, _: SessionKey, notice: &Notice) {
        if *notice == Notice::LoggedOn {
            let _ = self.0.send(Told::LoggedOn);
        }
    }
}

/// Writes what order, replacement and cancellation have in common, and Price if there is one.
fn write<'w>(mut writer: Writer<'w>, id: &str, orig: &str, price: u64) -> Writer<'w> {
    writer.str(Tag(11), id);
    if !orig.is_empty() {
        writer.str(Tag(41), orig);
    }
    writer.str(Tag(55), "XYZ");
    writer.char(Tag(54), b'1');
    let now = UtcTimestamp::from_unix_nanos(unix_ns());
    writer.utc_timestamp(Tag(60), now, tickwire_fix::Precision::Millis);
    writer.uint(Tag(38), 100);
    if price > 0 {
        writer.char(Tag(40), b'2');
        writer.uint(Tag(44), price);
    }
    writer
}

fn report(told: &Receiver<Told>) -> Result<String, Box<dyn Error>> {
    match told.recv_timeout(Duration::from_secs(30))? {
        Told::Report(exec_type, cl_ord_id) => Ok(format!("{exec_type} {cl_ord_id}")),
        Told::LoggedOn => Err("logged on again: the connection was lost".into()),
    }
}

/// Logs on, trades, logs out; returns ExecType and ClOrdID of each report.
pub(crate) fn trade(address: SocketAddr) -> Result<Vec<String>, Box<dyn Error>> {
    let (sender, told) = channel();
    let mut engine = Engine::new(EngineOptions::default(), Trader(sender))?;
    let id = SessionId::new(BeginString::Fix44, "TRADER", "VENUE");
    let store = Box::new(MemoryStore::new());
    let options = InitiatorOptions::new(address);
    let session = engine.add_initiator(Config::new(Role::Initiator, id), store, options)?;
    let (handle, stop) = (engine.handle(), Stop::new());
    let until = stop.clone();
    let running = thread::spawn(move || engine.run(&until));
    told.recv_timeout(Duration::from_secs(30))?;
    let mut reports = Vec::new();
    for (msg_type, id, orig, price) in [("D", "1", "", 99), ("G", "2", "1", 98), ("F", "3", "2", 0)]
    {
        // The answer is the MsgSeqNum, when the message is stored.
        handle.send(session, msg_type, move |writer| write(writer, id, orig, price))?.wait()??;
        reports.push(report(&told)?);
    }
    stop.set();
    handle.wake()?;
    running.join().map_err(|_| "the engine's thread panicked")??;
    Ok(reports)
}

fn main() -> Result<(), Box<dyn Error>> {
    trade("127.0.0.1:9876".parse()?)?.iter().for_each(|report| println!("{report}"));
    Ok(())
}
