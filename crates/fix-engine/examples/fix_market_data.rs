//! A market data client, and a venue that answers it with a snapshot and an update. Prints the action of updates, and
//! side, price and size of each entry. Run it with `cargo run -p tickwire-fix-engine --example fix_market_data`.

use std::error::Error;
use std::time::Duration;
use tickwire_fix::{FixDecimal, FixMessage, typed::FixText};
use tickwire_fix_engine::{AcceptorOptions, Access, Application, BoxStore};
use tickwire_fix_engine::{Engine, EngineOptions, InitiatorOptions, SessionKey};
use tickwire_fix_messages::fix44::*;
use tickwire_fix_session::{BeginString, Config, MemoryStore, MessageDelivery};
use tickwire_fix_session::{OutgoingHeader, SessionId, SessionRole};

/// The application of both sides, which differ by the messages they get; collects the client's entries.
#[derive(Default)]
struct Side(Vec<String>);

/// Appends the entries of a snapshot or of updates: side, price and size.
fn collect(message: &FixMessage<'_, '_>, entries: &mut Vec<String>) {
    let side_of = |kind| if kind == MdEntryType::Bid { "bid" } else { "offer" };
    let number = |number: Option<FixDecimal>| number.unwrap_or_default();
    match AnyMessage::decode(message) {
        Ok(AnyMessage::MarketDataSnapshotFullRefresh(snapshot)) => {
            for entry in &snapshot.md_entries {
                let (price, size) = (number(entry.md_entry_px()), number(entry.md_entry_size()));
                entries.push(format!("{} {price} {size}", side_of(entry.md_entry_type())));
            }
        }
        Ok(AnyMessage::MarketDataIncrementalRefresh(update)) => {
            for entry in &update.md_entries {
                let (price, size) = (number(entry.md_entry_px()), number(entry.md_entry_size()));
                let side = entry.md_entry_type().map_or("any", side_of);
                entries.push(format!("{:?} {side} {price} {size}", entry.md_update_action()));
            }
        }
        other => eprintln!("not expected: {other:?}"),
    }
}

/// Returns a snapshot of two levels, and an update of one.
fn book<'m>() -> [AnyMessage<'m>; 2] {
    let mut snapshot = MarketDataSnapshotFullRefresh::new();
    for (kind, price, size) in [(MdEntryType::Bid, 99, 10), (MdEntryType::Offer, 101, 20)] {
        let mut entry = MdEntriesEntry::new(kind);
        let (price, size) = (FixDecimal::new(price, 0), FixDecimal::new(size, 0));
        entry.set_md_entry_px(price).set_md_entry_size(size);
        snapshot.md_entries.push(entry);
    }
    let mut update = MarketDataIncrementalRefresh::new();
    let mut entry = MarketDataIncrementalRefreshMdEntriesEntry::new(MdUpdateAction::Change);
    entry.set_md_entry_type(MdEntryType::Bid);
    entry.set_md_entry_px(FixDecimal::new(100, 0)).set_md_entry_size(FixDecimal::new(5, 0));
    update.md_entries.push(entry);
    [snapshot.into(), update.into()]
}

impl Application for Side {
    fn handle_message(&mut self, _: SessionKey, mut delivery: MessageDelivery<'_, BoxStore>) {
        if delivery.message.msg_type() != MarketDataRequest::MSG_TYPE.as_bytes() {
            return collect(&delivery.message, &mut self.0);
        }
        for message in book() {
            let head = OutgoingHeader::new(message.msg_type());
            let sent = delivery.send_fields(&head, |writer| message.encode_fields(writer));
            sent.map_or_else(|error| eprintln!("not sent: {error}"), drop);
        }
    }
}

/// Runs venue and client until three entries have arrived; returns them.
pub(crate) fn entries() -> Result<Vec<String>, Box<dyn Error>> {
    let mut venue = Engine::new(EngineOptions::default(), Side::default())?;
    let listener = venue.listen(AcceptorOptions::new("127.0.0.1:0".parse()?))?;
    let address = venue.address(listener).ok_or("it listens")?;
    let id = |sender, target| SessionId::new(BeginString::Fix44, sender, target);
    let store = || Box::new(MemoryStore::new());
    let accepting = Config::new(SessionRole::Acceptor, id("VENUE", "CLIENT"));
    venue.add_acceptor(listener, accepting, store(), Access::default())?;
    let mut client = Engine::new(EngineOptions::default(), Side::default())?;
    let calling = Config::new(SessionRole::Initiator, id("CLIENT", "VENUE"));
    let session = client.add_initiator(calling, store(), InitiatorOptions::new(address))?;
    let snapshot_and_updates = SubscriptionRequestType::SnapshotPlusUpdates;
    let mut request = MarketDataRequest::new("request-1".into(), snapshot_and_updates, 0);
    let kinds = [MdEntryType::Bid, MdEntryType::Offer];
    request.md_entry_types.extend(kinds.map(MdEntryTypesEntry::new));
    request.related_sym.push(MarketDataRequestRelatedSymEntry::default());
    request.related_sym[0].set_symbol(FixText::from("XYZ"));
    // The request is stored, and sent when both sides are logged on.
    let _ = client.handle().send(session, "V", move |writer| request.encode_fields(writer))?;
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
