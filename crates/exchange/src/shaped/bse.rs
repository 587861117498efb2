//! Market data in the shape of BSE India's feed, on Eurex's technology.

use super::t7::{self, SENDER};
use super::{MessageInputs, bytes};
use crate::depth::DepthEntry;
use crate::draft::{DraftValue, MessageDraft};
use crate::fix::{self, EntryFields};

pub(super) fn draft(told: &MessageInputs<'_>) -> MessageDraft {
    match told.choice {
        0..80 => incremental(told),
        80..92 => snapshot(told),
        _ => state_change(told),
    }
}

fn segment(told: &MessageInputs<'_>) -> u64 {
    told.entries.first().map_or(0, t7::market_segment)
}

fn security(told: &MessageInputs<'_>) -> i64 {
    told.entries.first().map_or(0, t7::security_id)
}

fn incremental(told: &MessageInputs<'_>) -> MessageDraft {
    let fields = vec![
        DraftValue::Text("X"),
        DraftValue::UInt(told.number),
        DraftValue::UInt(SENDER),
        DraftValue::UInt(segment(told)),
        DraftValue::Sequence(told.entries.iter().map(|entry| md_entry(told, entry)).collect()),
    ];
    MessageDraft { template: "DepthIncremental", fields }
}

fn md_entry(told: &MessageInputs<'_>, entry: &DepthEntry) -> Vec<DraftValue> {
    let parts = EntryFields::of(&entry.change);
    let trade = vec![
        DraftValue::UInt(1 + entry.rpt_seq % 2),
        DraftValue::UInt(1),
        DraftValue::UInt(told.time_ns() - 2_345),
        DraftValue::UInt(parts.aggressor.unwrap_or(1)),
        fix::optional_size(parts.volume.map(|volume| volume >> 1)),
        bytes(&(entry.rpt_seq as u32).to_be_bytes()),
    ];
    vec![
        DraftValue::UInt(parts.action),
        DraftValue::UInt(t7::entry_type(&parts)),
        fix::optional(parts.level),
        DraftValue::Int(t7::security_id(entry)),
        DraftValue::Text("M"),
        DraftValue::Decimal(parts.price, entry.exponent).when(parts.action != 2),
        fix::optional_size(parts.size),
        fix::optional(parts.orders),
        DraftValue::UInt(told.time_ns()),
        DraftValue::Group(trade).when(parts.is_trade()),
        DraftValue::UInt(1).when(parts.is_trade() && entry.rpt_seq.is_multiple_of(4)),
    ]
}

fn snapshot(told: &MessageInputs<'_>) -> MessageDraft {
    let entries = (0..).zip(told.entries).map(|(index, entry)| {
        let parts = EntryFields::of(&entry.change);
        let price = |ticks| DraftValue::Decimal(parts.price + ticks, entry.exponent);
        let statistics = vec![DraftValue::Int(entry.rpt_seq as i64 * 100), price(40), price(-40)];
        vec![
            DraftValue::UInt(index % 2),
            DraftValue::UInt(index / 2 + 1),
            price(0),
            fix::optional_size(parts.size),
            fix::optional(parts.orders),
            DraftValue::Group(statistics).when(index == 0),
        ]
    });
    let fields = vec![
        DraftValue::Text("W"),
        DraftValue::UInt(told.number),
        DraftValue::UInt(SENDER),
        DraftValue::UInt(1).when(told.choice.is_multiple_of(4)),
        DraftValue::UInt(segment(told)),
        DraftValue::Int(security(told)),
        DraftValue::Text("M"),
        DraftValue::UInt(1),
        DraftValue::UInt(told.time_ns()),
        DraftValue::UInt(told.time_ns() - 999),
        DraftValue::Sequence(entries.collect()),
    ];
    MessageDraft { template: "DepthSnapshot", fields }
}

fn state_change(told: &MessageInputs<'_>) -> MessageDraft {
    let fields = vec![
        DraftValue::Text("f"),
        DraftValue::UInt(told.number),
        DraftValue::UInt(SENDER),
        DraftValue::Int(security(told)),
        DraftValue::UInt(1),
        DraftValue::UInt(200 + u64::from(told.choice % 5)),
        DraftValue::UInt(1).when(told.choice == 99),
        DraftValue::UInt(told.time_ns()),
    ];
    MessageDraft { template: "InstrumentStateChange", fields }
}
