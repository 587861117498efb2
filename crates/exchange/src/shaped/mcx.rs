//! Market data in the shape of MCX India's feed: enums, sets and timestamps.

use super::MessageInputs;
use super::t7::{self, SENDER};
use crate::depth::Entry;
use crate::draft::{Draft, Value};
use crate::fix::{self, Parts};

pub(super) fn draft(told: &MessageInputs<'_>) -> Draft {
    let fields = vec![
        Value::Text("X"),
        Value::UInt(told.number),
        Value::UInt(SENDER),
        Value::UInt(told.entries.first().map_or(0, t7::market_segment)),
        Value::Sequence(told.entries.iter().map(|entry| md_entry(told, entry)).collect()),
    ];
    Draft { template: "DepthIncremental", fields }
}

fn size(size: Option<u64>) -> Value {
    size.map_or(Value::Absent, |size| Value::Decimal((size >> 1) as i64, 0))
}

fn md_entry(told: &MessageInputs<'_>, entry: &Entry) -> Vec<Value> {
    let parts = Parts::of(&entry.change);
    let is_trade = parts.is_trade();
    let trade = vec![
        Value::UInt(told.time_ns() - 2_345),
        Value::UInt(parts.aggressor.unwrap_or(1) - 1),
        size(parts.volume),
        Value::UInt(entry.rpt_seq),
    ];
    let tick = match parts.tick {
        Some("0") => Value::UInt(0),
        Some("1") => Value::UInt(1),
        Some(_) => Value::UInt(2),
        None => Value::Absent,
    };
    vec![
        Value::UInt(parts.action),
        Value::UInt(t7::entry_type(&parts)),
        fix::optional(parts.level),
        Value::Int(t7::security_id(entry)),
        Value::Decimal(parts.price, entry.exponent).when(parts.action != 2),
        size(parts.size),
        fix::optional(parts.orders),
        Value::UInt(told.time_ns()),
        Value::Group(trade).when(is_trade),
        Value::UInt(2 + 4 * (entry.rpt_seq % 3)).when(is_trade),
        tick,
    ]
}
