//! A drop copy: every execution report for a trader is also sent to a watcher's session, and stored while the watcher
//! is not logged on. Run it with `cargo run -p tickwire-fix-engine --example fix_drop_copy`.

use std::error::Error;
use std::time::Duration;
use tickwire_fix::{Tag, Writer};
use tickwire_fix_engine::{
    AcceptorOptions, Access, Application, BoxStore, Engine, EngineOptions, InitiatorOptions,
    SessionKey, Sessions,
};
use tickwire_fix_session::{BeginString, Config, MemoryStore, MessageDelivery, Now};
use tickwire_fix_session::{OutgoingHeader, SendError, SessionId, SessionRole};

/// A venue that fills every order, and the copies of its reports not yet sent to the watcher.
#[derive(Default)]
struct Venue {
    watcher: Option<SessionKey>,
    copies: Vec<Vec<u8>>,
}

fn report(id: &[u8], writer: &mut Writer<'_>) {
    for (tag, value) in [(37, id), (17, id), (150, b"F"), (39, b"2"), (11, id)] {
        writer.bytes(Tag(tag), value);
    }
}

impl Application for Venue {
    fn handle_message(&mut self, _: SessionKey, mut delivery: MessageDelivery<'_, BoxStore>) {
        let id = delivery.message.field(Tag(11)).map_or(Vec::new(), |field| field.value.to_vec());
        let sent = delivery.send(&OutgoingHeader::new("8"), |writer| report(&id, writer));
        sent.map_or_else(|error| eprintln!("not sent: {error}"), |_| self.copies.push(id));
    }

    fn handle_turn(&mut self, sessions: &mut Sessions, now: Now) -> Option<u64> {
        let watcher = self.watcher?;
        for id in std::mem::take(&mut self.copies) {
            let head = OutgoingHeader::new("8");
            match sessions.send(watcher, now, &head, |writer| report(&id, writer)) {
                // The watcher reads too slowly: its copies wait here.
                Err(SendError::QueueFull) => self.copies.push(id),
                sent => sent.map_or_else(|error| eprintln!("not copied: {error}"), drop),
            }
        }
        if self.copies.is_empty() { None } else { Some(now.steady_ns + 10_000_000) }
    }
}

/// A trader or watcher, and the ClOrdIDs of its reports.
#[derive(Default)]
struct Client(Vec<String>);

impl Application for Client {
    fn handle_message(&mut self, _: SessionKey, delivery: MessageDelivery<'_, BoxStore>) {
        let id = delivery.message.field(Tag(11)).map_or(&[][..], |field| field.value);
        self.0.push(String::from_utf8_lossy(id).into_owned());
    }
}

fn config(role: SessionRole, sender: &str, target: &str) -> Config {
    Config::new(role, SessionId::new(BeginString::Fix44, sender, target))
}

/// Fills a trader's orders before the watcher logs on. Returns the watcher's reports.
pub(crate) fn copies(orders: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let store = || Box::new(MemoryStore::new());
    let mut venue = Engine::new(EngineOptions::default(), Venue::default())?;
    let listener = venue.listen(AcceptorOptions::new("127.0.0.1:0".parse()?))?;
    let options = InitiatorOptions::new(venue.address(listener).ok_or("it listens")?);
    for name in ["TRADER", "WATCHER"] {
        let config = config(SessionRole::Acceptor, "VENUE", name);
        let key = venue.add_acceptor(listener, config, store(), Access::default())?;
        venue.application_mut().watcher = Some(key);
    }
    let mut clients = Vec::new();
    for name in ["TRADER", "WATCHER"] {
        let mut client = Engine::new(EngineOptions::default(), Client::default())?;
        let config = config(SessionRole::Initiator, name, "VENUE");
        let session = client.add_initiator(config, store(), options.clone())?;
        for number in 0..if name == "TRADER" { orders } else { 0 } {
            // The order is stored, and sent when the session is logged on.
            let _ = client.handle().send(session, "D", move |mut writer| {
                writer.str(Tag(11), &format!("order-{number}"));
                writer
            })?;
        }
        clients.push(client);
        while clients.last().is_some_and(|client| client.application().0.len() < orders) {
            venue.turn(Duration::from_millis(1))?;
            clients.iter_mut().try_for_each(|client| client.turn(Duration::ZERO))?;
        }
    }
    Ok(clients.pop().map(|client| client.application().0.clone()).unwrap_or_default())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", copies(3)?.join("\n"));
    Ok(())
}
