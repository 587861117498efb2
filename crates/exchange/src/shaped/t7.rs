//! The common parts of feeds on Eurex's technology.

use super::bytes;
use crate::depth::Entry;
use crate::draft::{Draft, Value};
use crate::fix::Parts;

pub(super) const SENDER: u64 = 75;

/// Creates the first message of a packet.
pub(super) fn packet_header(number: u64, time_ns: u64) -> Draft {
    let fields =
        vec![Value::UInt(4), bytes(&(number as u32).to_be_bytes()), bytes(&time_ns.to_be_bytes())];
    Draft { template: "PacketHeader", fields }
}

/// Creates the second message of a packet, which resets the dictionaries.
pub(super) fn reset() -> Draft {
    Draft { template: "Reset", fields: Vec::new() }
}

/// Returns the number of a MDEntryType: bid, offer, trade, high, low.
pub(super) fn entry_type(parts: &Parts) -> u64 {
    match parts.entry_type {
        "0" => 0,
        "1" => 1,
        "2" => 2,
        "7" => 3,
        _ => 4,
    }
}

/// Returns the SecurityID of an entry with the length of those of T7.
pub(super) fn security_id(entry: &Entry) -> i64 {
    72_057_594_000_000_000 + i64::from(entry.security)
}

/// Returns the MarketSegmentID of an entry: ten securities per product.
pub(super) fn market_segment(entry: &Entry) -> u64 {
    u64::from(entry.security / 170)
}
