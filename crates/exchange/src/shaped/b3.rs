//! Order updates and security lists in the shape of B3's UMDF.

use super::{DATE, MessageInputs, name};
use crate::depth::DepthEntry;
use crate::draft::{DraftValue, MessageDraft};
use crate::fix::{self, EntryFields};

/// Percentage of messages that are security lists.
const LIST_PERCENT: u8 = 8;

pub(super) fn draft(told: &MessageInputs<'_>) -> MessageDraft {
    if told.choice < LIST_PERCENT { security_list(told) } else { incremental(told) }
}

fn header(message_type: &'static str, told: &MessageInputs<'_>) -> Vec<DraftValue> {
    let sending_time = DATE * 1_000_000_000 + told.clock();
    vec![DraftValue::Text(message_type), DraftValue::UInt(0), DraftValue::UInt(sending_time)]
}

fn incremental(told: &MessageInputs<'_>) -> MessageDraft {
    let mut fields = header("X", told);
    let entries = told.entries.iter().map(|entry| md_entry(told, entry)).collect();
    fields.extend([DraftValue::UInt(DATE), DraftValue::Sequence(entries)]);
    MessageDraft { template: "IncrementalRefresh", fields }
}

/// Returns a SecurityID of B3's length.
fn security_id(security: u32) -> u64 {
    9_800_000 + u64::from(security)
}

fn broker(number: u64) -> DraftValue {
    DraftValue::Text(["3", "8", "13", "27", "72", "85", "114", "386"][number as usize % 8])
}

fn md_entry(told: &MessageInputs<'_>, entry: &DepthEntry) -> Vec<DraftValue> {
    let parts = EntryFields::of(&entry.change);
    let is_trade = parts.is_trade();
    let is_order = parts.level.is_some();
    let order_id = u64::from(entry.security) * 1_000_003 + entry.rpt_seq;
    let is_sold = parts.entry_type == "1";
    vec![
        DraftValue::UInt(parts.action),
        fix::optional(parts.level),
        DraftValue::Text(parts.entry_type),
        DraftValue::UInt(security_id(entry.security)),
        DraftValue::Text("8"),
        DraftValue::Text("XTST"),
        DraftValue::UInt(entry.rpt_seq),
        DraftValue::Decimal(parts.price, entry.exponent).when(parts.action != 2),
        fix::optional(parts.size),
        fix::optional(parts.orders.filter(|orders| orders.is_multiple_of(4))),
        DraftValue::UInt(DATE),
        DraftValue::UInt(told.clock() / 1_000),
        DraftValue::UInt(DATE).when(is_order),
        DraftValue::UInt(told.clock() / 1_000 - entry.rpt_seq % 50).when(is_order),
        if is_order { name(format!("{order_id:012}")) } else { DraftValue::Absent },
        broker(entry.rpt_seq).when(is_trade || is_order && !is_sold),
        broker(entry.rpt_seq / 3).when(is_trade || is_order && is_sold),
        DraftValue::Decimal(entry.net_change, entry.exponent).when(is_trade),
        fix::optional(parts.volume),
        parts.tick.map_or(DraftValue::Absent, DraftValue::Text),
        if is_trade { name((entry.rpt_seq * 10).to_string()) } else { DraftValue::Absent },
        DraftValue::Text("R").when(is_trade && entry.rpt_seq.is_multiple_of(3)),
    ]
}

fn security_list(told: &MessageInputs<'_>) -> MessageDraft {
    let mut fields = header("y", told);
    let securities =
        told.entries.iter().map(|entry| related_symbol(entry.security % 1_000_000)).collect();
    fields.extend([DraftValue::UInt(1_400), DraftValue::Sequence(securities)]);
    MessageDraft { template: "SecurityList", fields }
}

fn related_symbol(security: u32) -> Vec<DraftValue> {
    let is_option = security % 4 == 1;
    let underlying = |index: u32| {
        vec![
            name(format!("UND{}", security % 97 + index)),
            DraftValue::UInt(security_id(security + index)),
            DraftValue::Text("8"),
            DraftValue::Decimal(1_234 * i64::from(index + 1), -3).when(!is_option),
        ]
    };
    let underlyings = match security % 4 {
        0 => DraftValue::Absent,
        count => DraftValue::Sequence((0..count).map(underlying).collect()),
    };
    vec![
        name(format!("SYM{security}")),
        DraftValue::UInt(security_id(security)),
        DraftValue::Text("8"),
        name(format!("SYM{security} common share")).when(!is_option),
        DraftValue::Text(if is_option { "OPT" } else { "CS" }),
        DraftValue::Text(if is_option { "OCASPS" } else { "ESVUFR" }),
        DraftValue::Text("TST"),
        DraftValue::Text("BRL"),
        DraftValue::UInt(20_160_418).when(is_option),
        DraftValue::Decimal(1, -2),
        DraftValue::Decimal(i64::from(security % 1_000) * 10, -2).when(is_option),
        DraftValue::UInt(100),
        underlyings,
    ]
}
