//! The common parts of feeds on Eurex's technology.

use super::bytes;
use crate::depth::DepthEntry;
use crate::draft::{DraftValue, MessageDraft};
use crate::fix::EntryFields;

pub(super) const SENDER: u64 = 75;

/// Creates the first message of a packet.
pub(super) fn packet_header(number: u64, time_ns: u64) -> MessageDraft {
    let fields = vec![
        DraftValue::UInt(4),
        bytes(&(number as u32).to_be_bytes()),
        bytes(&time_ns.to_be_bytes()),
    ];
    MessageDraft { template: "PacketHeader", fields }
}

/// Creates the second message of a packet, which resets the dictionaries.
pub(super) fn reset() -> MessageDraft {
    MessageDraft { template: "Reset", fields: Vec::new() }
}

/// Returns the number of a MDEntryType: bid, offer, trade, high, low.
pub(super) fn entry_type(parts: &EntryFields) -> u64 {
    match parts.entry_type {
        "0" => 0,
        "1" => 1,
        "2" => 2,
        "7" => 3,
        _ => 4,
    }
}

/// Returns the SecurityID of an entry with the length of those of T7.
pub(super) fn security_id(entry: &DepthEntry) -> i64 {
    72_057_594_000_000_000 + i64::from(entry.security)
}

/// Returns the MarketSegmentID of an entry: ten securities per product.
pub(super) fn market_segment(entry: &DepthEntry) -> u64 {
    u64::from(entry.security / 170)
}
