//! Whole books, in one message or in fragments.

use super::messages::{self, Clock, SnapshotHead};
use super::security::DaySecurity;
use super::{BookForm, DayBookKind, DayOptions};
use crate::draft::{DraftValue, MessageDraft};
use tickwire_feed::book::{Amount, Side};

/// Returns the snapshot of an instrument after update `last_seq_num` of the channel.
pub(super) fn fragments(
    security: &DaySecurity,
    options: &DayOptions,
    last_seq_num: u64,
    clock: Clock,
) -> Vec<MessageDraft> {
    let mut entries = match options.books {
        BookForm::Orders => orders(security, options),
        BookForm::Levels { .. } | BookForm::Prices { .. } => levels(security, options),
    };
    if entries.is_empty() {
        entries.push(messages::snapshot_other("J", None, None));
    }
    if let Some((price, size)) = security.last_trade.filter(|_| options.has_trades) {
        entries.push(messages::snapshot_other("2", Some(price), Some(size)));
    }
    let size = options.fragment_entries_max.unwrap_or(usize::MAX).min(entries.len());
    let count = entries.len().div_ceil(size);
    let fragments = entries.chunks(size).zip(1..);
    let fragments = fragments.map(|(entries, number)| {
        let head = SnapshotHead {
            last_seq_num,
            is_last_fragment: number == count,
            depth: security.depth.filter(|_| options.has_snapshot_depth),
        };
        messages::snapshot(security, head, entries.to_vec(), clock)
    });
    fragments.collect()
}

fn levels(security: &DaySecurity, options: &DayOptions) -> Vec<Vec<DraftValue>> {
    let kinds = [DayBookKind::Outright, DayBookKind::Implied];
    let count = if options.has_implied { 2 } else { 1 };
    let mut entries = Vec::new();
    for &kind in &kinds[..count] {
        let book = security.true_book(kind);
        for side in Side::ALL {
            let numbered = (1..).zip(book.levels(side));
            entries.extend(
                numbered.map(|(number, level)| messages::snapshot_level(side, number, level, kind)),
            );
        }
    }
    entries
}

fn orders(security: &DaySecurity, options: &DayOptions) -> Vec<Vec<DraftValue>> {
    let entry = |side, order: &super::security::OrderTold| {
        let price = Amount { mantissa: order.price, exponent: security.exponent };
        messages::snapshot_order(side, order.id, price, order.size, options.key)
    };
    let sides = Side::ALL.into_iter();
    sides
        .flat_map(|side| security.all_orders(side).into_iter().map(move |o| (side, o)))
        .map(|(side, order)| entry(side, &order))
        .collect()
}
