//! Market data in the shape of BSE India's feed, on Eurex's technology.

use super::t7::{self, SENDER};
use super::{MessageInputs, bytes};
use crate::depth::Entry;
use crate::draft::{Draft, Value};
use crate::fix::{self, Parts};

pub(super) fn draft(told: &MessageInputs<'_>) -> Draft {
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

fn incremental(told: &MessageInputs<'_>) -> Draft {
    let fields = vec![
        Value::Text("X"),
        Value::UInt(told.number),
        Value::UInt(SENDER),
        Value::UInt(segment(told)),
        Value::Sequence(told.entries.iter().map(|entry| md_entry(told, entry)).collect()),
    ];
    Draft { template: "DepthIncremental", fields }
}

fn md_entry(told: &MessageInputs<'_>, entry: &Entry) -> Vec<Value> {
    let parts = Parts::of(&entry.change);
    let trade = vec![
        Value::UInt(1 + entry.rpt_seq % 2),
        Value::UInt(1),
        Value::UInt(told.time_ns() - 2_345),
        Value::UInt(parts.aggressor.unwrap_or(1)),
        fix::optional_size(parts.volume.map(|volume| volume >> 1)),
        bytes(&(entry.rpt_seq as u32).to_be_bytes()),
    ];
    vec![
        Value::UInt(parts.action),
        Value::UInt(t7::entry_type(&parts)),
        fix::optional(parts.level),
        Value::Int(t7::security_id(entry)),
        Value::Text("M"),
        Value::Decimal(parts.price, entry.exponent).when(parts.action != 2),
        fix::optional_size(parts.size),
        fix::optional(parts.orders),
        Value::UInt(told.time_ns()),
        Value::Group(trade).when(parts.is_trade()),
        Value::UInt(1).when(parts.is_trade() && entry.rpt_seq.is_multiple_of(4)),
    ]
}

fn snapshot(told: &MessageInputs<'_>) -> Draft {
    let entries = (0..).zip(told.entries).map(|(index, entry)| {
        let parts = Parts::of(&entry.change);
        let price = |ticks| Value::Decimal(parts.price + ticks, entry.exponent);
        let statistics = vec![Value::Int(entry.rpt_seq as i64 * 100), price(40), price(-40)];
        vec![
            Value::UInt(index % 2),
            Value::UInt(index / 2 + 1),
            price(0),
            fix::optional_size(parts.size),
            fix::optional(parts.orders),
            Value::Group(statistics).when(index == 0),
        ]
    });
    let fields = vec![
        Value::Text("W"),
        Value::UInt(told.number),
        Value::UInt(SENDER),
        Value::UInt(1).when(told.choice.is_multiple_of(4)),
        Value::UInt(segment(told)),
        Value::Int(security(told)),
        Value::Text("M"),
        Value::UInt(1),
        Value::UInt(told.time_ns()),
        Value::UInt(told.time_ns() - 999),
        Value::Sequence(entries.collect()),
    ];
    Draft { template: "DepthSnapshot", fields }
}

fn state_change(told: &MessageInputs<'_>) -> Draft {
    let fields = vec![
        Value::Text("f"),
        Value::UInt(told.number),
        Value::UInt(SENDER),
        Value::Int(security(told)),
        Value::UInt(1),
        Value::UInt(200 + u64::from(told.choice % 5)),
        Value::UInt(1).when(told.choice == 99),
        Value::UInt(told.time_ns()),
    ];
    Draft { template: "InstrumentStateChange", fields }
}
