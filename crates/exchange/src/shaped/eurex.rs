//! Products and instruments in the shape of Eurex T7's reference data.

use super::t7::SENDER;
use super::{MessageInputs, name};
use crate::draft::{DraftValue, MessageDraft};

/// Percentage of messages that are products.
const PRODUCT_PERCENT: u8 = 15;
const PRODUCTS: [(&str, &str); 4] = [
    ("FGBS", "SHORT TERM EURO-SCHATZ FUTURES"),
    ("FGBM", "MEDIUM TERM EURO-BOBL FUTURES"),
    ("OGBL", "OPTIONS ON LONG TERM EURO-BUND FUTURES"),
    ("OESX", "OPTIONS ON EURO STOXX 50 INDEX"),
];

pub(super) fn draft(told: &MessageInputs<'_>) -> MessageDraft {
    if told.choice < PRODUCT_PERCENT { product(told) } else { instrument(told) }
}

fn header(message_type: &'static str, told: &MessageInputs<'_>) -> Vec<DraftValue> {
    vec![
        DraftValue::Text(message_type),
        DraftValue::UInt(SENDER),
        DraftValue::UInt(told.clock()),
        DraftValue::UInt(300 + told.number / 40 % 1_000),
    ]
}

fn product(told: &MessageInputs<'_>) -> MessageDraft {
    let mut fields = header("BU", told);
    let index = told.number as usize;
    let (symbol, description) = PRODUCTS[index % PRODUCTS.len()];
    let related = |index: usize| vec![DraftValue::UInt(300 + index as u64), DraftValue::UInt(1)];
    let relations = match index % 3 {
        0 => DraftValue::Absent,
        count => DraftValue::Sequence((0..count).map(related).collect()),
    };
    let limits = vec![
        DraftValue::Decimal(5 + (index % 2) as i64, -1),
        DraftValue::Decimal(3, 0).when(index.is_multiple_of(4)),
        DraftValue::UInt(50).when(index.is_multiple_of(8)),
    ];
    fields.extend([
        DraftValue::Text(symbol),
        DraftValue::Text(description),
        name(format!("{symbol}.EX")),
        DraftValue::UInt(21).when(index.is_multiple_of(2)),
        DraftValue::Text(if index.is_multiple_of(9) { "CHF" } else { "EUR" }),
        DraftValue::UInt(1),
        DraftValue::UInt(index.is_multiple_of(5).into()),
        relations,
        DraftValue::Group(limits).when(index % 3 != 1),
        DraftValue::Sequence((0..1 + index % 2).map(|rule| tick_rule(index + rule)).collect()),
    ]);
    MessageDraft { template: "ProductSnapshot", fields }
}

fn tick_rule(index: usize) -> Vec<DraftValue> {
    let tick = |at: usize| {
        let start = at as i64 * 2_500;
        let users = (0..at).map(|user| vec![DraftValue::UInt(user as u64)]);
        vec![
            DraftValue::Decimal(start, -2),
            DraftValue::Decimal(start + 2_500, -2),
            DraftValue::Decimal(5, -3),
            if at == 0 { DraftValue::Absent } else { DraftValue::Sequence(users.collect()) },
        ]
    };
    let id = DraftValue::Text(["EQUITY_TICKS", "BOND_TICKS"][index % 2]);
    vec![id, DraftValue::Sequence((0..1 + index % 3).map(tick).collect())]
}

fn instrument(told: &MessageInputs<'_>) -> MessageDraft {
    let mut fields = header("d", told);
    let index = told.number;
    let (symbol, description) = PRODUCTS[(index / 40) as usize % PRODUCTS.len()];
    let strike = 10_000 + (index % 40) as i64 * 50;
    let is_option = symbol.starts_with('O');
    let kind = if index.is_multiple_of(2) { 'C' } else { 'P' };
    let alternative = |source: u64| {
        vec![name(format!("DE000{symbol}{:03}{source}", index % 1_000)), DraftValue::UInt(source)]
    };
    let derivative = vec![
        DraftValue::UInt(201_600 + index / 40 % 12 + 1),
        DraftValue::UInt(20_160_318 + index / 40 % 12 * 100).when(!is_option),
        DraftValue::Decimal(strike, -2).when(is_option),
        DraftValue::UInt(index % 2).when(is_option),
        DraftValue::UInt(index.is_multiple_of(64).into()),
        DraftValue::Decimal(100, 0),
        DraftValue::UInt(0),
    ];
    let bond = vec![
        DraftValue::Decimal(275, -2),
        DraftValue::UInt(20_100_104),
        DraftValue::Text("Bundesrepublik Deutschland").when(index.is_multiple_of(2)),
    ];
    let is_bond = index % 20 == 19;
    let rule = |rule: u64| vec![DraftValue::UInt(rule), DraftValue::Decimal(rule as i64 * 5, -1)];
    let rules = match index % 4 {
        0 => DraftValue::Absent,
        count => DraftValue::Sequence((0..count).map(rule).collect()),
    };
    let segment =
        vec![DraftValue::UInt(300 + index / 40 % 1_000), name(format!("{symbol}_SEG")), rules];
    let leg = |leg: u64| {
        vec![
            DraftValue::UInt(300 + leg),
            DraftValue::Int(72_057_594_000_000_000 + (index + leg) as i64),
            DraftValue::UInt(1 + leg % 2),
            DraftValue::UInt(1 + leg / 2),
            DraftValue::Decimal(strike, -2).when(leg == 0),
        ]
    };
    let is_spread = index % 10 == 3;
    fields.extend([
        DraftValue::Int(72_057_594_000_000_000 + index as i64 * 3),
        DraftValue::Text("M"),
        DraftValue::UInt(if is_bond { 9 } else { 2 }),
        DraftValue::UInt(1).when(is_spread),
        DraftValue::UInt(if is_spread { 5 } else { 1 }),
        name(format!("{description} {kind} {strike}")).when(!index.is_multiple_of(3)),
        DraftValue::Sequence((1..=1 + index % 2).map(alternative).collect()),
        DraftValue::Group(derivative).when(!is_bond),
        DraftValue::Group(bond).when(is_bond),
        DraftValue::Decimal(5, -3),
        DraftValue::Decimal(500, -2),
        DraftValue::UInt(1),
        DraftValue::Decimal(strike + (index % 7) as i64, -2).when(!is_spread),
        DraftValue::Decimal((index * 7_919 % 100_000) as i64, 0).when(is_option),
        DraftValue::Group(vec![DraftValue::UInt(2), DraftValue::Text("EUR")]),
        DraftValue::Sequence(vec![segment]),
        if is_spread {
            DraftValue::Sequence((0..2 + index % 3).map(leg).collect())
        } else {
            DraftValue::Absent
        },
    ]);
    MessageDraft { template: "InstrumentSnapshot", fields }
}
