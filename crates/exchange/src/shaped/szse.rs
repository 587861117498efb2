//! Snapshots, orders and trades in the shape of Shenzhen's STEP.

use super::{DATE, MessageInputs, name};
use crate::depth::DepthEntry;
use crate::draft::{DraftValue, MessageDraft};
use crate::fix::EntryFields;

const STREAM: &str = "010";
const SOURCE: &str = "102";

pub(super) fn draft(told: &MessageInputs<'_>) -> MessageDraft {
    match (told.choice, told.entries) {
        (0..40, [first, ..]) => order(told, first),
        (40..75, [first, ..]) => trade(told, first),
        _ => snapshot(told),
    }
}

/// Returns the time as digits, YYYYMMDDHHMMSSmmm.
fn time(told: &MessageInputs<'_>) -> DraftValue {
    DraftValue::Int((DATE * 1_000_000_000 + told.clock()) as i64)
}

fn channel(told: &MessageInputs<'_>) -> DraftValue {
    DraftValue::UInt(2_011 + told.number % 3)
}

fn security(security: u32) -> DraftValue {
    name(format!("{:06}", security % 1_000_000))
}

fn size(parts: &EntryFields) -> i64 {
    parts.size.map_or(0, |size| (size >> 1) as i64 * 100)
}

fn snapshot(told: &MessageInputs<'_>) -> MessageDraft {
    let first = told.entries.first();
    let rpt_seq = first.map_or(0, |entry| entry.rpt_seq as i64);
    let entries = (0..).zip(told.entries).map(|(index, entry)| {
        let parts = EntryFields::of(&entry.change);
        let orders = parts.orders.filter(|_| index == 0).map_or(DraftValue::Absent, |orders| {
            let order = |order| vec![DraftValue::Int(100 * (1 + order as i64 % 7))];
            DraftValue::Sequence((0..orders.min(50)).map(order).collect())
        });
        vec![
            DraftValue::Text(parts.entry_type),
            DraftValue::Int(parts.price * 10_000),
            DraftValue::Int(size(&parts)),
            DraftValue::UInt(index / 2 + 1),
            parts.orders.map_or(DraftValue::Absent, |orders| DraftValue::Int(orders as i64)),
            orders,
        ]
    });
    let fields = vec![
        DraftValue::Text("W"),
        time(told),
        channel(told),
        DraftValue::Text(STREAM),
        security(first.map_or(0, |entry| entry.security)),
        DraftValue::Text(SOURCE),
        DraftValue::Text("T0"),
        DraftValue::Int(first.map_or(0, |entry| entry.net_change + 5_000) * 10_000),
        DraftValue::Int(rpt_seq),
        DraftValue::Int(rpt_seq * 300),
        DraftValue::Int(rpt_seq * 123_456),
        DraftValue::Sequence(entries.collect()),
    ];
    MessageDraft { template: "Snapshot", fields }
}

fn order(told: &MessageInputs<'_>, entry: &DepthEntry) -> MessageDraft {
    let parts = EntryFields::of(&entry.change);
    let fields = vec![
        DraftValue::Text("UA201"),
        channel(told),
        DraftValue::Int(told.number as i64),
        DraftValue::Text("011"),
        security(entry.security),
        DraftValue::Text(SOURCE),
        DraftValue::Int(parts.price * 100),
        DraftValue::Int(size(&parts)),
        DraftValue::Text(if parts.entry_type == "1" { "2" } else { "1" }),
        time(told),
        DraftValue::Text("2"),
    ];
    MessageDraft { template: "Order", fields }
}

fn trade(told: &MessageInputs<'_>, entry: &DepthEntry) -> MessageDraft {
    let parts = EntryFields::of(&entry.change);
    let number = told.number as i64;
    let fields = vec![
        DraftValue::Text("UA202"),
        channel(told),
        DraftValue::Int(number),
        DraftValue::Text("011"),
        DraftValue::Int(number - 1 - number % 29),
        DraftValue::Int(number - 2 - number % 83),
        security(entry.security),
        DraftValue::Text(SOURCE),
        DraftValue::Int(parts.price * 100),
        DraftValue::Int(size(&parts)),
        DraftValue::Text(if parts.is_trade() { "F" } else { "4" }),
        time(told),
        DraftValue::Text("集合竞价").when(told.choice == 40),
    ];
    MessageDraft { template: "Trade", fields }
}
