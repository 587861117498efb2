//! Products and instruments in the shape of Eurex T7's reference data.

use super::t7::SENDER;
use super::{MessageInputs, name};
use crate::draft::{Draft, Value};

/// Percentage of messages that are products.
const PRODUCT_PERCENT: u8 = 15;
const PRODUCTS: [(&str, &str); 4] = [
    ("FGBS", "SHORT TERM EURO-SCHATZ FUTURES"),
    ("FGBM", "MEDIUM TERM EURO-BOBL FUTURES"),
    ("OGBL", "OPTIONS ON LONG TERM EURO-BUND FUTURES"),
    ("OESX", "OPTIONS ON EURO STOXX 50 INDEX"),
];

pub(super) fn draft(told: &MessageInputs<'_>) -> Draft {
    if told.choice < PRODUCT_PERCENT { product(told) } else { instrument(told) }
}

fn header(message_type: &'static str, told: &MessageInputs<'_>) -> Vec<Value> {
    vec![
        Value::Text(message_type),
        Value::UInt(SENDER),
        Value::UInt(told.clock()),
        Value::UInt(300 + told.number / 40 % 1_000),
    ]
}

fn product(told: &MessageInputs<'_>) -> Draft {
    let mut fields = header("BU", told);
    let index = told.number as usize;
    let (symbol, description) = PRODUCTS[index % PRODUCTS.len()];
    let related = |index: usize| vec![Value::UInt(300 + index as u64), Value::UInt(1)];
    let relations = match index % 3 {
        0 => Value::Absent,
        count => Value::Sequence((0..count).map(related).collect()),
    };
    let limits = vec![
        Value::Decimal(5 + (index % 2) as i64, -1),
        Value::Decimal(3, 0).when(index.is_multiple_of(4)),
        Value::UInt(50).when(index.is_multiple_of(8)),
    ];
    fields.extend([
        Value::Text(symbol),
        Value::Text(description),
        name(format!("{symbol}.EX")),
        Value::UInt(21).when(index.is_multiple_of(2)),
        Value::Text(if index.is_multiple_of(9) { "CHF" } else { "EUR" }),
        Value::UInt(1),
        Value::UInt(index.is_multiple_of(5).into()),
        relations,
        Value::Group(limits).when(index % 3 != 1),
        Value::Sequence((0..1 + index % 2).map(|rule| tick_rule(index + rule)).collect()),
    ]);
    Draft { template: "ProductSnapshot", fields }
}

fn tick_rule(index: usize) -> Vec<Value> {
    let tick = |at: usize| {
        let start = at as i64 * 2_500;
        let users = (0..at).map(|user| vec![Value::UInt(user as u64)]);
        vec![
            Value::Decimal(start, -2),
            Value::Decimal(start + 2_500, -2),
            Value::Decimal(5, -3),
            if at == 0 { Value::Absent } else { Value::Sequence(users.collect()) },
        ]
    };
    let id = Value::Text(["EQUITY_TICKS", "BOND_TICKS"][index % 2]);
    vec![id, Value::Sequence((0..1 + index % 3).map(tick).collect())]
}

fn instrument(told: &MessageInputs<'_>) -> Draft {
    let mut fields = header("d", told);
    let index = told.number;
    let (symbol, description) = PRODUCTS[(index / 40) as usize % PRODUCTS.len()];
    let strike = 10_000 + (index % 40) as i64 * 50;
    let is_option = symbol.starts_with('O');
    let kind = if index.is_multiple_of(2) { 'C' } else { 'P' };
    let alternative = |source: u64| {
        vec![name(format!("DE000{symbol}{:03}{source}", index % 1_000)), Value::UInt(source)]
    };
    let derivative = vec![
        Value::UInt(201_600 + index / 40 % 12 + 1),
        Value::UInt(20_160_318 + index / 40 % 12 * 100).when(!is_option),
        Value::Decimal(strike, -2).when(is_option),
        Value::UInt(index % 2).when(is_option),
        Value::UInt(index.is_multiple_of(64).into()),
        Value::Decimal(100, 0),
        Value::UInt(0),
    ];
    let bond = vec![
        Value::Decimal(275, -2),
        Value::UInt(20_100_104),
        Value::Text("Bundesrepublik Deutschland").when(index.is_multiple_of(2)),
    ];
    let is_bond = index % 20 == 19;
    let rule = |rule: u64| vec![Value::UInt(rule), Value::Decimal(rule as i64 * 5, -1)];
    let rules = match index % 4 {
        0 => Value::Absent,
        count => Value::Sequence((0..count).map(rule).collect()),
    };
    let segment = vec![Value::UInt(300 + index / 40 % 1_000), name(format!("{symbol}_SEG")), rules];
    let leg = |leg: u64| {
        vec![
            Value::UInt(300 + leg),
            Value::Int(72_057_594_000_000_000 + (index + leg) as i64),
            Value::UInt(1 + leg % 2),
            Value::UInt(1 + leg / 2),
            Value::Decimal(strike, -2).when(leg == 0),
        ]
    };
    let is_spread = index % 10 == 3;
    fields.extend([
        Value::Int(72_057_594_000_000_000 + index as i64 * 3),
        Value::Text("M"),
        Value::UInt(if is_bond { 9 } else { 2 }),
        Value::UInt(1).when(is_spread),
        Value::UInt(if is_spread { 5 } else { 1 }),
        name(format!("{description} {kind} {strike}")).when(!index.is_multiple_of(3)),
        Value::Sequence((1..=1 + index % 2).map(alternative).collect()),
        Value::Group(derivative).when(!is_bond),
        Value::Group(bond).when(is_bond),
        Value::Decimal(5, -3),
        Value::Decimal(500, -2),
        Value::UInt(1),
        Value::Decimal(strike + (index % 7) as i64, -2).when(!is_spread),
        Value::Decimal((index * 7_919 % 100_000) as i64, 0).when(is_option),
        Value::Group(vec![Value::UInt(2), Value::Text("EUR")]),
        Value::Sequence(vec![segment]),
        if is_spread {
            Value::Sequence((0..2 + index % 3).map(leg).collect())
        } else {
            Value::Absent
        },
    ]);
    Draft { template: "InstrumentSnapshot", fields }
}
