//! Market data in the shape of MCX India's feed: enums, sets and timestamps.

use super::MessageInputs;
use super::t7::{self, SENDER};
use crate::depth::DepthEntry;
use crate::draft::{DraftValue, MessageDraft};
use crate::fix::{self, EntryFields};

pub(super) fn draft(told: &MessageInputs<'_>) -> MessageDraft {
    let fields = vec![
        DraftValue::Text("X"),
        DraftValue::UInt(told.number),
        DraftValue::UInt(SENDER),
        DraftValue::UInt(told.entries.first().map_or(0, t7::market_segment)),
        DraftValue::Sequence(told.entries.iter().map(|entry| md_entry(told, entry)).collect()),
    ];
    MessageDraft { template: "DepthIncremental", fields }
}

fn size(size: Option<u64>) -> DraftValue {
    size.map_or(DraftValue::Absent, |size| DraftValue::Decimal((size >> 1) as i64, 0))
}

fn md_entry(told: &MessageInputs<'_>, entry: &DepthEntry) -> Vec<DraftValue> {
    let parts = EntryFields::of(&entry.change);
    let is_trade = parts.is_trade();
    let trade = vec![
        DraftValue::UInt(told.time_ns() - 2_345),
        DraftValue::UInt(parts.aggressor.unwrap_or(1) - 1),
        size(parts.volume),
        DraftValue::UInt(entry.rpt_seq),
    ];
    let tick = match parts.tick {
        Some("0") => DraftValue::UInt(0),
        Some("1") => DraftValue::UInt(1),
        Some(_) => DraftValue::UInt(2),
        None => DraftValue::Absent,
    };
    vec![
        DraftValue::UInt(parts.action),
        DraftValue::UInt(t7::entry_type(&parts)),
        fix::optional(parts.level),
        DraftValue::Int(t7::security_id(entry)),
        DraftValue::Decimal(parts.price, entry.exponent).when(parts.action != 2),
        size(parts.size),
        fix::optional(parts.orders),
        DraftValue::UInt(told.time_ns()),
        DraftValue::Group(trade).when(is_trade),
        DraftValue::UInt(2 + 4 * (entry.rpt_seq % 3)).when(is_trade),
        tick,
    ]
}
