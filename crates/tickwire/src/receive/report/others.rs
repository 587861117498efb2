//! Packets that belong to no line.

use crate::failure::Failure;
use serde_json::{Value, json};
use std::io::Write;
use tickwire_feed::capture::OtherPackets;
use tickwire_feed::counted;

/// Destinations without a line that the table names.
const OTHERS_SHOWN_MAX: usize = 20;

/// Names the destinations without a line.
pub fn write_others(others: &OtherPackets, out: &mut impl Write) -> Result<(), Failure> {
    for (address, packets) in others.by_destination.iter().take(OTHERS_SHOWN_MAX) {
        writeln!(out, "{} to {address}: no line has this address", counted(*packets, "packet"))?;
    }
    let rest: u64 = others.by_destination.values().skip(OTHERS_SHOWN_MAX).sum();
    let rest = rest + others.beyond;
    if rest > 0 {
        let packets = counted(rest, "packet");
        writeln!(out, "{packets} to other destinations: no line has their addresses")?;
    }
    if others.without_destination > 0 {
        let packets = counted(others.without_destination, "packet");
        writeln!(out, "{packets} without addresses: name their line with --capture-line")?;
    }
    if others.pieces > 0 {
        writeln!(out, "{} skipped", counted(others.pieces, "TCP segment"))?;
    }
    Ok(())
}

/// The destinations without a line as JSON.
pub fn others_json(others: &OtherPackets) -> Value {
    let destinations = others.by_destination.iter();
    let destinations: Vec<Value> = destinations
        .map(|(address, packets)| json!({ "destination": address, "packets": packets }))
        .collect();
    json!({
        "destinations": destinations,
        "beyond": others.beyond,
        "without_destination": others.without_destination,
        "tcp": others.pieces,
    })
}
