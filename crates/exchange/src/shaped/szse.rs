//! Snapshots, orders and trades in the shape of Shenzhen's STEP.

use super::{DATE, MessageInputs, name};
use crate::depth::Entry;
use crate::draft::{Draft, Value};
use crate::fix::Parts;

const STREAM: &str = "010";
const SOURCE: &str = "102";

pub(super) fn draft(told: &MessageInputs<'_>) -> Draft {
    match (told.choice, told.entries) {
        (0..40, [first, ..]) => order(told, first),
        (40..75, [first, ..]) => trade(told, first),
        _ => snapshot(told),
    }
}

/// Returns the time as digits, YYYYMMDDHHMMSSmmm.
fn time(told: &MessageInputs<'_>) -> Value {
    Value::Int((DATE * 1_000_000_000 + told.clock()) as i64)
}

fn channel(told: &MessageInputs<'_>) -> Value {
    Value::UInt(2_011 + told.number % 3)
}

fn security(security: u32) -> Value {
    name(format!("{:06}", security % 1_000_000))
}

fn size(parts: &Parts) -> i64 {
    parts.size.map_or(0, |size| (size >> 1) as i64 * 100)
}

fn snapshot(told: &MessageInputs<'_>) -> Draft {
    let first = told.entries.first();
    let rpt_seq = first.map_or(0, |entry| entry.rpt_seq as i64);
    let entries = (0..).zip(told.entries).map(|(index, entry)| {
        let parts = Parts::of(&entry.change);
        let orders = parts.orders.filter(|_| index == 0).map_or(Value::Absent, |orders| {
            let order = |order| vec![Value::Int(100 * (1 + order as i64 % 7))];
            Value::Sequence((0..orders.min(50)).map(order).collect())
        });
        vec![
            Value::Text(parts.entry_type),
            Value::Int(parts.price * 10_000),
            Value::Int(size(&parts)),
            Value::UInt(index / 2 + 1),
            parts.orders.map_or(Value::Absent, |orders| Value::Int(orders as i64)),
            orders,
        ]
    });
    let fields = vec![
        Value::Text("W"),
        time(told),
        channel(told),
        Value::Text(STREAM),
        security(first.map_or(0, |entry| entry.security)),
        Value::Text(SOURCE),
        Value::Text("T0"),
        Value::Int(first.map_or(0, |entry| entry.net_change + 5_000) * 10_000),
        Value::Int(rpt_seq),
        Value::Int(rpt_seq * 300),
        Value::Int(rpt_seq * 123_456),
        Value::Sequence(entries.collect()),
    ];
    Draft { template: "Snapshot", fields }
}

fn order(told: &MessageInputs<'_>, entry: &Entry) -> Draft {
    let parts = Parts::of(&entry.change);
    let fields = vec![
        Value::Text("UA201"),
        channel(told),
        Value::Int(told.number as i64),
        Value::Text("011"),
        security(entry.security),
        Value::Text(SOURCE),
        Value::Int(parts.price * 100),
        Value::Int(size(&parts)),
        Value::Text(if parts.entry_type == "1" { "2" } else { "1" }),
        time(told),
        Value::Text("2"),
    ];
    Draft { template: "Order", fields }
}

fn trade(told: &MessageInputs<'_>, entry: &Entry) -> Draft {
    let parts = Parts::of(&entry.change);
    let number = told.number as i64;
    let fields = vec![
        Value::Text("UA202"),
        channel(told),
        Value::Int(number),
        Value::Text("011"),
        Value::Int(number - 1 - number % 29),
        Value::Int(number - 2 - number % 83),
        security(entry.security),
        Value::Text(SOURCE),
        Value::Int(parts.price * 100),
        Value::Int(size(&parts)),
        Value::Text(if parts.is_trade() { "F" } else { "4" }),
        time(told),
        Value::Text("集合竞价").when(told.choice == 40),
    ];
    Draft { template: "Trade", fields }
}
