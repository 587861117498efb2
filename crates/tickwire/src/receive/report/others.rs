//! Packets that belong to no line.

use crate::failure::Failure;
use serde_json::{Value, json};
use std::io::Write;
use tickwire_feed::capture::OtherPackets;

/// Destinations without a line that the table names.
const OTHERS_SHOWN_MAX: usize = 20;

/// Names the destinations without a line.
pub fn write_others(others: &OtherPackets, out: &mut impl Write) -> Result<(), Failure> {
    for (address, packets) in others.by_destination.iter().take(OTHERS_SHOWN_MAX) {
        writeln!(out, "{packets} packets to {address} belong to no configured line")?;
    }
    let rest: u64 = others.by_destination.values().skip(OTHERS_SHOWN_MAX).sum();
    let rest = rest + others.beyond;
    if rest > 0 {
        writeln!(out, "{rest} packets to other destinations belong to no configured line")?;
    }
    if others.without_destination > 0 {
        let packets = others.without_destination;
        writeln!(
            out,
            "{packets} packets without addresses belong to no line: name it with --capture-line"
        )?;
    }
    if others.pieces > 0 {
        writeln!(out, "{} TCP segments skipped", others.pieces)?;
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
