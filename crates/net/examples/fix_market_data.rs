//! A market data client, and a venue that answers it with a snapshot and an update: MDUpdateAction of an
//! update, then MDEntryType, MDEntryPx and MDEntrySize are printed. Run it with `cargo run -p tickwire-net --example fix_market_data`.

use std::error::Error;
use std::time::Duration;
use tickwire_fix::{Message, Tag, Writer};
use tickwire_fix_session::{BeginString, Config, Delivery, Head, MemoryStore, Role, SessionId};
use tickwire_net::fix::{
    AcceptorOptions, Access, Application, BoxStore, Engine, EngineOptions, InitiatorOptions,
    SessionKey,
};

/// Client and venue, told apart by what they get, and the entries that the client got.
#[derive(Default)]
struct Side(Vec<String>);

/// Appends the entries of a snapshot (W) or of updates (X): each begins with the group's first field.
fn collect(message: &Message<'_>, entries: &mut Vec<String>) {
    let first = if message.msg_type() == b"W" { Tag(269) } else { Tag(279) };
    let mut is_entry = false;
    for field in message.fields() {
        is_entry |= field.tag == first;
        let text = String::from_utf8_lossy(field.value);
        match entries.last_mut() {
            _ if field.tag == first => entries.push(text.into_owned()),
            Some(entry) if is_entry && [269, 270, 271].contains(&field.tag.0) => {
                entry.push_str(&format!(" {text}"));
            }
            _ => {}
        }
    }
}

fn entry(writer: &mut Writer<'_>, kind: u8, price: u64, size: u64) {
    writer.char(Tag(269), kind);
    writer.uint(Tag(270), price);
    writer.uint(Tag(271), size);
}

impl Application for Side {
    fn handle_message(&mut self, _: SessionKey, mut delivery: Delivery<'_, BoxStore>) {
        if delivery.message.msg_type() != b"V" {
            return collect(&delivery.message, &mut self.0);
        }
        let snapshot = delivery.send(&Head::new("W"), |writer| {
            writer.uint(Tag(268), 2);
            entry(writer, b'0', 99, 10);
            entry(writer, b'1', 101, 20);
        });
        let update = delivery.send(&Head::new("X"), |writer| {
            writer.uint(Tag(268), 1);
            writer.char(Tag(279), b'1');
            entry(writer, b'0', 100, 5);
        });
        snapshot.and(update).map_or_else(|error| eprintln!("not sent: {error}"), drop);
    }
}

/// Runs venue and client until three entries came; returns them.
pub(crate) fn entries() -> Result<Vec<String>, Box<dyn Error>> {
    let mut venue = Engine::new(EngineOptions::default(), Side::default())?;
    let listener = venue.listen(AcceptorOptions::new("127.0.0.1:0".parse()?))?;
    let address = venue.address(listener).ok_or("it listens")?;
    let id = |sender, target| SessionId::new(BeginString::Fix44, sender, target);
    let store = || Box::new(MemoryStore::new());
    let accepting = Config::new(Role::Acceptor, id("VENUE", "CLIENT"));
    venue.add_acceptor(listener, accepting, store(), Access::default())?;
    let mut client = Engine::new(EngineOptions::default(), Side::default())?;
    let calling = Config::new(Role::Initiator, id("CLIENT", "VENUE"));
    let session = client.add_initiator(calling, store(), InitiatorOptions::new(address))?;
    // It is stored, and sent when both sides are logged on.
    let _ = client.handle().send(session, "V", |mut writer| {
        writer.str(Tag(262), "request-1");
        for (tag, value) in [(263, 1), (264, 0), (267, 2), (269, 0), (269, 1), (146, 1)] {
            writer.uint(Tag(tag), value);
        }
        writer.str(Tag(55), "XYZ");
        writer
    })?;
    while client.application().0.len() < 3 {
        venue.turn(Duration::from_millis(1))?;
        client.turn(Duration::from_millis(1))?;
    }
    Ok(client.application().0.clone())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", entries()?.join("\n"));
    Ok(())
}
