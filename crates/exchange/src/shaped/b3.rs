//! Order updates and security lists in the shape of B3's UMDF.

use super::{DATE, MessageInputs, name};
use crate::depth::Entry;
use crate::draft::{Draft, Value};
use crate::fix::{self, Parts};

/// Percentage of messages that are security lists.
const LIST_PERCENT: u8 = 8;

pub(super) fn draft(told: &MessageInputs<'_>) -> Draft {
    if told.choice < LIST_PERCENT { security_list(told) } else { incremental(told) }
}

fn header(message_type: &'static str, told: &MessageInputs<'_>) -> Vec<Value> {
    let sending_time = DATE * 1_000_000_000 + told.clock();
    vec![Value::Text(message_type), Value::UInt(0), Value::UInt(sending_time)]
}

fn incremental(told: &MessageInputs<'_>) -> Draft {
    let mut fields = header("X", told);
    let entries = told.entries.iter().map(|entry| md_entry(told, entry)).collect();
    fields.extend([Value::UInt(DATE), Value::Sequence(entries)]);
    Draft { template: "IncrementalRefresh", fields }
}

/// Returns a SecurityID of B3's length.
fn security_id(security: u32) -> u64 {
    9_800_000 + u64::from(security)
}

fn broker(number: u64) -> Value {
    Value::Text(["3", "8", "13", "27", "72", "85", "114", "386"][number as usize % 8])
}

fn md_entry(told: &MessageInputs<'_>, entry: &Entry) -> Vec<Value> {
    let parts = Parts::of(&entry.change);
    let is_trade = parts.is_trade();
    let is_order = parts.level.is_some();
    let order_id = u64::from(entry.security) * 1_000_003 + entry.rpt_seq;
    let is_sold = parts.entry_type == "1";
    vec![
        Value::UInt(parts.action),
        fix::optional(parts.level),
        Value::Text(parts.entry_type),
        Value::UInt(security_id(entry.security)),
        Value::Text("8"),
        Value::Text("XTST"),
        Value::UInt(entry.rpt_seq),
        Value::Decimal(parts.price, entry.exponent).when(parts.action != 2),
        fix::optional(parts.size),
        fix::optional(parts.orders.filter(|orders| orders.is_multiple_of(4))),
        Value::UInt(DATE),
        Value::UInt(told.clock() / 1_000),
        Value::UInt(DATE).when(is_order),
        Value::UInt(told.clock() / 1_000 - entry.rpt_seq % 50).when(is_order),
        if is_order { name(format!("{order_id:012}")) } else { Value::Absent },
        broker(entry.rpt_seq).when(is_trade || is_order && !is_sold),
        broker(entry.rpt_seq / 3).when(is_trade || is_order && is_sold),
        Value::Decimal(entry.net_change, entry.exponent).when(is_trade),
        fix::optional(parts.volume),
        parts.tick.map_or(Value::Absent, Value::Text),
        if is_trade { name((entry.rpt_seq * 10).to_string()) } else { Value::Absent },
        Value::Text("R").when(is_trade && entry.rpt_seq.is_multiple_of(3)),
    ]
}

fn security_list(told: &MessageInputs<'_>) -> Draft {
    let mut fields = header("y", told);
    let securities =
        told.entries.iter().map(|entry| related_symbol(entry.security % 1_000_000)).collect();
    fields.extend([Value::UInt(1_400), Value::Sequence(securities)]);
    Draft { template: "SecurityList", fields }
}

fn related_symbol(security: u32) -> Vec<Value> {
    let is_option = security % 4 == 1;
    let underlying = |index: u32| {
        vec![
            name(format!("UND{}", security % 97 + index)),
            Value::UInt(security_id(security + index)),
            Value::Text("8"),
            Value::Decimal(1_234 * i64::from(index + 1), -3).when(!is_option),
        ]
    };
    let underlyings = match security % 4 {
        0 => Value::Absent,
        count => Value::Sequence((0..count).map(underlying).collect()),
    };
    vec![
        name(format!("SYM{security}")),
        Value::UInt(security_id(security)),
        Value::Text("8"),
        name(format!("SYM{security} common share")).when(!is_option),
        Value::Text(if is_option { "OPT" } else { "CS" }),
        Value::Text(if is_option { "OCASPS" } else { "ESVUFR" }),
        Value::Text("TST"),
        Value::Text("BRL"),
        Value::UInt(20_160_418).when(is_option),
        Value::Decimal(1, -2),
        Value::Decimal(i64::from(security % 1_000) * 10, -2).when(is_option),
        Value::UInt(100),
        underlyings,
    ]
}
