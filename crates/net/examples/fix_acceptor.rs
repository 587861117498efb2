//! An acceptor: market orders are filled, others rest until they are replaced or canceled. Run it with
//! `cargo run -p tickwire-net --example fix_acceptor`, and `fix_initiator` against it.

use std::{collections::HashSet, error::Error, net::SocketAddr};
use tickwire_fix::{BusinessRejectReason, Message, Tag, Writer};
use tickwire_fix_session::{BeginString, Config, Delivery, Head, MemoryStore, Role, SessionId};
use tickwire_net::Stop;
use tickwire_net::fix::{
    AcceptorOptions, Access, Application, BoxStore, Engine, EngineOptions, SessionKey,
};

/// Fields of an order that its reports repeat: ClOrdID, OrigClOrdID, Symbol, Side.
const REPEATED: [Tag; 4] = [Tag(11), Tag(41), Tag(55), Tag(54)];

/// An order as its newest report tells it.
#[derive(Clone)]
struct Report {
    exec_type: u8,
    repeated: [Vec<u8>; 4],
    quantity: u64,
    filled: u64,
}

impl Report {
    fn write(&self, exec_id: u64, writer: &mut Writer<'_>) {
        writer.bytes(Tag(37), &self.repeated[0]);
        writer.uint(Tag(17), exec_id);
        writer.char(Tag(150), self.exec_type);
        writer.char(Tag(39), if self.exec_type == b'F' { b'2' } else { self.exec_type });
        for (tag, value) in REPEATED.into_iter().zip(&self.repeated) {
            (!value.is_empty()).then(|| writer.bytes(tag, value));
        }
        let left = if matches!(self.exec_type, b'0' | b'5') { self.quantity } else { 0 };
        for (tag, value) in [(151, left), (14, self.filled), (6, 100 * self.filled.min(1))] {
            writer.uint(Tag(tag), value);
        }
    }
}

/// ClOrdIDs of orders that rest, and how many reports were sent.
#[derive(Default)]
pub(crate) struct Venue {
    resting: HashSet<Vec<u8>>,
    reports: u64,
}

impl Venue {
    /// Returns the reports on a message, none if it is no order or its order is not known.
    fn handle_order(&mut self, message: &Message<'_>) -> Vec<Report> {
        let value = |tag| message.field(tag).map_or(&[][..], |field| field.value);
        let exec_type = match message.msg_type() {
            b"D" => b'0',
            b"F" if self.resting.remove(value(Tag(41))) => b'4',
            b"G" if self.resting.remove(value(Tag(41))) => b'5',
            _ => return Vec::new(),
        };
        let quantity = message.field(Tag(38)).and_then(|field| field.uint().ok()).unwrap_or(0);
        let repeated = REPEATED.map(|tag| value(tag).to_vec());
        let report = Report { exec_type, repeated, quantity, filled: 0 };
        if exec_type == b'0' && value(Tag(40)) == b"1" {
            let fill = Report { exec_type: b'F', filled: quantity, ..report.clone() };
            return vec![report, fill];
        }
        // A canceled order rests no more.
        let _ = exec_type == b'4' || self.resting.insert(report.repeated[0].clone());
        vec![report]
    }
}

impl Application for Venue {
    fn handle_message(&mut self, _: SessionKey, mut delivery: Delivery<'_, BoxStore>) {
        let reports = self.handle_order(&delivery.message);
        let mut sent = match reports[..] {
            [] => delivery.reject_business(BusinessRejectReason::UnknownId, None),
            _ => Ok(()),
        };
        for report in &reports {
            self.reports += 1;
            let write = |writer: &mut Writer<'_>| report.write(self.reports, writer);
            sent = sent.and(delivery.send(&Head::new("8"), write).map(drop));
        }
        sent.unwrap_or_else(|error| eprintln!("not sent: {error}"));
    }
}

/// Makes an engine that listens for a trader.
pub(crate) fn listen(address: SocketAddr) -> Result<(Engine<Venue>, SocketAddr), Box<dyn Error>> {
    let mut engine = Engine::new(EngineOptions::default(), Venue::default())?;
    let listener = engine.listen(AcceptorOptions::new(address))?;
    let id = SessionId::new(BeginString::Fix44, "VENUE", "TRADER");
    let (config, store) = (Config::new(Role::Acceptor, id), Box::new(MemoryStore::new()));
    engine.add_acceptor(listener, config, store, Access::default())?;
    let address = engine.address(listener).ok_or("it listens")?;
    Ok((engine, address))
}

fn main() -> Result<(), Box<dyn Error>> {
    Ok(listen("127.0.0.1:9876".parse()?)?.0.run(&Stop::on_signals()?)?)
}
