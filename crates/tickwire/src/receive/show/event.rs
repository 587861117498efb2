//! Output formats of trades and events.

use super::row::{MemberRow, MemberValue};
use tickwire_feed::arbiter::{Gap, LineEvent};
use tickwire_feed::book::Side;
use tickwire_feed::market::{
    ExchangeTime, Instruments, MarketEvent, StatusScope, Trade, TradeAction,
};
use tickwire_feed::recovery::BookChange;

/// Columns of trades as CSV.
pub const TRADE_COLUMNS: [&str; 11] = [
    "time",
    "event",
    "instrument",
    "action",
    "price",
    "size",
    "exchange_date",
    "exchange_time",
    "id",
    "aggressor",
    "conditions",
];

/// Columns of events as CSV.
pub const EVENT_COLUMNS: [&str; 19] = [
    "time",
    "event",
    "instrument",
    "kind",
    "reason",
    "line",
    "since",
    "first",
    "count",
    "seq_num",
    "code",
    "entry_type",
    "price",
    "size",
    "exchange_date",
    "exchange_time",
    "symbol",
    "tick",
    "expiry",
];

fn head(event: &str, time_ns: u64, instrument: Option<&str>) -> MemberRow {
    vec![
        ("event", MemberValue::Text(event.to_owned())),
        ("time", MemberValue::Number(time_ns)),
        ("instrument", MemberValue::text(instrument)),
    ]
}

/// Row for lost sequence numbers.
pub fn gap(time_ns: u64, gap: Gap) -> MemberRow {
    let mut row = head("gap", time_ns, None);
    row.extend([
        ("first", MemberValue::Number(gap.first)),
        ("count", MemberValue::Number(gap.count)),
    ]);
    row
}

/// Row for a restart of the sequence numbers.
pub fn reset(time_ns: u64, seq_num: u64) -> MemberRow {
    let mut row = head("reset", time_ns, None);
    row.push(("seq_num", MemberValue::Number(seq_num)));
    row
}

/// Row for a channel that has been silent on all lines since `since_ns`, or received a packet again.
pub fn silence(time_ns: u64, is_silent: bool, since_ns: u64) -> MemberRow {
    let mut row = head(if is_silent { "silent" } else { "heard" }, time_ns, None);
    if is_silent {
        row.push(("since", MemberValue::Number(since_ns)));
    }
    row
}

/// Row for a line whose copies differ, that was excluded or resumed, or that fell silent or sends again.
/// Times of the handler plus `epoch_ns` are nanoseconds since 1970.
pub fn line(time_ns: u64, epoch_ns: u64, event: &LineEvent) -> MemberRow {
    let at = |name, time_ns, line| {
        let mut row = head(name, time_ns, None);
        row.push(("line", MemberValue::Text(format!("{line:?}"))));
        row
    };
    let of = |name, line| at(name, time_ns, line);
    match event {
        LineEvent::Differing { line, seq_num } => {
            let mut row = of("differing", line);
            row.push(("seq_num", MemberValue::Number(*seq_num)));
            row
        }
        LineEvent::Excluded { line, reason } => {
            let mut row = of("excluded", line);
            row.push(("reason", MemberValue::Text(reason.label().to_owned())));
            row
        }
        LineEvent::Resumed { line } => of("resumed", line),
        LineEvent::Silent { line, since_ns, at_ns } => {
            let mut row = at("line_silent", at_ns.saturating_add(epoch_ns), line);
            let since_ns = since_ns.map(|since_ns| since_ns.saturating_add(epoch_ns));
            row.push(("since", MemberValue::number(since_ns)));
            row
        }
        LineEvent::Heard { line, at_ns } => at("line_heard", at_ns.saturating_add(epoch_ns), line),
    }
}

/// Row for a book that became fresh, or stale for a reason.
pub fn state(time_ns: u64, name: &str, change: &BookChange) -> MemberRow {
    let (event, reason) = match change.state {
        Ok(()) => ("fresh", None),
        Err(reason) => ("stale", Some(reason.label())),
    };
    let mut row = head(event, time_ns, Some(name));
    row.extend([
        ("kind", MemberValue::Text(change.kind.name().to_owned())),
        ("reason", MemberValue::text(reason)),
    ]);
    row
}

/// A trade.
pub fn trade(time_ns: u64, name: &str, trade: &Trade<'_>) -> MemberRow {
    let action = match trade.action {
        TradeAction::New => "new",
        TradeAction::Change => "change",
        TradeAction::Delete => "delete",
    };
    let aggressor = trade.aggressor.map(|side| match side {
        Side::Bid => "bid",
        Side::Offer => "offer",
    });
    let conditions =
        (!trade.conditions.is_empty()).then(|| String::from_utf8_lossy(trade.conditions));
    let mut row = head("trade", time_ns, Some(name));
    row.extend([
        ("action", MemberValue::Text(action.to_owned())),
        ("price", MemberValue::amount(trade.price)),
        ("size", MemberValue::amount(trade.size)),
    ]);
    row.extend(exchange_time(trade.time));
    row.extend([
        ("id", MemberValue::text(trade.id)),
        ("aggressor", MemberValue::text(aggressor)),
        ("conditions", MemberValue::text(conditions)),
    ]);
    row
}

fn exchange_time(time: ExchangeTime) -> [(&'static str, MemberValue); 2] {
    [
        ("exchange_date", MemberValue::number(time.date)),
        ("exchange_time", MemberValue::number(time.time)),
    ]
}

/// Row for an event other than a trade, with the name of its instrument; `None` for a trade.
pub fn event(
    time_ns: u64,
    event: &MarketEvent<'_>,
    instruments: &Instruments,
) -> Option<MemberRow> {
    let named = |event, instrument| head(event, time_ns, Some(instruments.name(instrument)));
    Some(match event {
        MarketEvent::Statistic(statistic) => {
            let mut row = named("statistic", statistic.instrument);
            row.extend([
                ("entry_type", MemberValue::Text(char::from(statistic.entry_type).to_string())),
                ("price", MemberValue::amount(statistic.price)),
                ("size", MemberValue::amount(statistic.size)),
            ]);
            row.extend(exchange_time(statistic.time));
            row
        }
        MarketEvent::Status(status) => {
            let mut row = match status.scope {
                StatusScope::Instrument(instrument) => named("status", instrument),
                StatusScope::Channel => head("status", time_ns, None),
            };
            row.push(("code", MemberValue::Number(status.code)));
            row
        }
        MarketEvent::Definition(instrument, definition) => {
            let mut row = named("definition", *instrument);
            row.extend([
                ("symbol", MemberValue::text(definition.symbol.as_deref())),
                ("tick", MemberValue::amount(definition.tick)),
                ("expiry", MemberValue::text(definition.expiry.as_deref())),
            ]);
            row
        }
        _ => return None,
    })
}
