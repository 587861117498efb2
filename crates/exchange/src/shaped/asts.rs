//! Orders, statistics and definitions in the shape of Moscow's ASTS.

use super::{DATE, MessageInputs, bytes, name};
use crate::depth::DepthEntry;
use crate::draft::{DraftValue, MessageDraft};
use crate::fix::EntryFields;

const SENDER: &str = "EXCH";

pub(super) fn draft(told: &MessageInputs<'_>) -> MessageDraft {
    match told.choice {
        0..60 => message("Orders", "X", told, order),
        60..92 => message("Statistics", "X", told, statistic),
        _ => definition(told),
    }
}

fn header(message_type: &'static str, told: &MessageInputs<'_>) -> Vec<DraftValue> {
    // YYMMDDHHMMSS and microseconds: nine bytes on the wire.
    let sending_time =
        DATE % 1_000_000 * 1_000_000_000_000 + told.clock() * 1_000 + told.time_us() % 1_000;
    vec![
        DraftValue::Text("9"),
        DraftValue::Text(message_type),
        DraftValue::Text(SENDER),
        DraftValue::UInt(0),
        DraftValue::UInt(sending_time),
    ]
}

fn message(
    template: &'static str,
    message_type: &'static str,
    told: &MessageInputs<'_>,
    entry: impl Fn(&MessageInputs<'_>, &DepthEntry) -> Vec<DraftValue>,
) -> MessageDraft {
    let mut fields = header(message_type, told);
    fields.push(DraftValue::Sequence(told.entries.iter().map(|of| entry(told, of)).collect()));
    MessageDraft { template, fields }
}

/// Returns a decimal without trailing zeros, as this exchange sends them: 1500 is mantissa 15 and
/// exponent 2.
fn plain(mut mantissa: i64, mut exponent: i32) -> DraftValue {
    while mantissa != 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        exponent += 1;
    }
    DraftValue::Decimal(mantissa, exponent)
}

fn optional_plain(mantissa: Option<u64>) -> DraftValue {
    mantissa.map_or(DraftValue::Absent, |mantissa| plain((mantissa >> 1) as i64, 0))
}

/// Returns a symbol: four letters for shares, twelve characters for currencies and bonds.
fn symbol(security: u32) -> DraftValue {
    match security % 3 {
        0 => name(format!("RU{:08}T0", u64::from(security) * 7919 % 100_000_000)),
        1 => DraftValue::Text(["SBER", "GAZP", "LKOH", "ROSN"][security as usize / 17 % 4]),
        _ => DraftValue::Text(
            ["USD000UTSTOM", "EUR_RUB__TOM", "CNYRUB_TOM"][security as usize / 17 % 3],
        ),
    }
}

/// Returns the microseconds within the second of an event.
fn orig_time(told: &MessageInputs<'_>, entry: &DepthEntry) -> u64 {
    (told.time_us() + entry.rpt_seq * 211) % 1_000_000
}

fn order(told: &MessageInputs<'_>, entry: &DepthEntry) -> Vec<DraftValue> {
    let parts = EntryFields::of(&entry.change);
    let is_trade = parts.is_trade();
    let id = 17_400_000_000 + entry.rpt_seq * 10_000 + u64::from(entry.security % 10_000);
    vec![
        DraftValue::UInt(parts.action),
        DraftValue::Text(if parts.entry_type == "1" { "1" } else { "0" }),
        name(id.to_string()),
        symbol(entry.security),
        DraftValue::Int(entry.rpt_seq as i64 & i64::from(i32::MAX)),
        DraftValue::UInt(DATE),
        DraftValue::UInt(orig_time(told, entry)),
        DraftValue::UInt(told.clock() / 1_000),
        plain(parts.price, entry.exponent),
        optional_plain(parts.size),
        if is_trade { name((30_000_000 + entry.rpt_seq).to_string()) } else { DraftValue::Absent },
        plain(1_234, -2).when(entry.security.is_multiple_of(3)),
        DraftValue::Text("O").when(!is_trade),
        DraftValue::Text("N"),
    ]
}

fn statistic(told: &MessageInputs<'_>, entry: &DepthEntry) -> Vec<DraftValue> {
    let parts = EntryFields::of(&entry.change);
    let value = parts.price.saturating_mul(parts.size.unwrap_or(1).min(1 << 20) as i64);
    vec![
        DraftValue::UInt(parts.action),
        DraftValue::Text(parts.entry_type),
        symbol(entry.security),
        DraftValue::Int(entry.rpt_seq as i64 & i64::from(i32::MAX)),
        DraftValue::UInt(DATE),
        DraftValue::UInt(told.clock() / 1_000),
        plain(parts.price, entry.exponent),
        optional_plain(parts.size),
        plain(entry.net_change, entry.exponent).when(parts.is_trade()),
        plain(value, entry.exponent).when(parts.size.is_some()),
        DraftValue::Int((entry.rpt_seq % 100_000) as i64).when(parts.is_trade()),
        DraftValue::Text("NA"),
        DraftValue::Text("1").when(!entry.rpt_seq.is_multiple_of(16)),
        DraftValue::Text("XT").when(parts.is_trade()),
        DraftValue::UInt(DATE + 2),
        DraftValue::Text("Y2"),
    ]
}

fn definition(told: &MessageInputs<'_>) -> MessageDraft {
    let mut fields = header("d", told);
    let security = told.entries.first().map_or(0, |entry| entry.security % 1_000_000);
    let rules = |count: u32| {
        let rule = |index: u32| {
            vec![
                DraftValue::Text(["TQBR", "TQOB", "CETS", "EQRP"][index as usize % 4]),
                DraftValue::Text("NA").when(index.is_multiple_of(2)),
                DraftValue::Int(17 + i64::from(index % 2)),
                DraftValue::Int(0).when(index > 0),
            ]
        };
        DraftValue::Sequence((0..count).map(rule).collect())
    };
    let segments =
        (0..1 + security % 2).map(|index| vec![plain(10, 0), rules(1 + (security + index) % 3)]);
    fields.extend([
        DraftValue::Text("UTF-8"),
        DraftValue::Int(400),
        symbol(security),
        bytes(format!("{security:07}").as_bytes()),
        bytes(b"8"),
        DraftValue::Int(5),
        bytes(b"ESXXXX"),
        bytes(b"CS").when(!security.is_multiple_of(5)),
        DraftValue::UInt(20_301_231).when(security.is_multiple_of(3)),
        plain(750, -2).when(security.is_multiple_of(3)),
        plain(1, -2),
        bytes(format!("Issuer {security}").as_bytes()),
        bytes("Обыкновенная акция, выпуск ".as_bytes()),
        DraftValue::Sequence(segments.collect()),
        DraftValue::Text("RUB"),
        plain(1_000, 0),
        DraftValue::UInt(DATE + 2),
    ]);
    MessageDraft { template: "Definition", fields }
}
