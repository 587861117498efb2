//! Messages of a day as drafts of [`ALL`](super::templates::ALL).

use super::security::{DaySecurity, SecurityName};
use super::{DayBookKind, InstrumentKeyKind};
use crate::draft::{DraftValue, MessageDraft};
use crate::fix;
use std::sync::Arc;
use tickwire_feed::book::{Amount, Level, Side};
use tickwire_fix::UtcTimestamp;

/// QuoteCondition (276) of implied levels.
const IMPLIED: &str = "K";
/// MaturityDate (541) of every definition.
const MATURITY: u64 = 20_261_218;

/// One entry of an update message.
#[derive(Clone, Debug)]
pub(super) struct UpdateEntry {
    pub(super) action: u64,
    pub(super) entry_type: &'static str,
    /// `None` for an entry about a whole session or channel.
    pub(super) name: Option<Arc<SecurityName>>,
    /// Session of an entry about a whole session.
    pub(super) session: Option<&'static str>,
    pub(super) rpt_seq: Option<u64>,
    pub(super) level: Option<u32>,
    pub(super) order_id: Option<u64>,
    pub(super) kind: DayBookKind,
    pub(super) price: Option<Amount>,
    pub(super) size: Option<Amount>,
    pub(super) orders: Option<u32>,
    pub(super) condition: Option<&'static str>,
}

impl UpdateEntry {
    /// Creates an entry with only action and type.
    pub(super) const fn new(action: u64, entry_type: &'static str) -> Self {
        Self {
            action,
            entry_type,
            name: None,
            session: None,
            rpt_seq: None,
            level: None,
            order_id: None,
            kind: DayBookKind::Outright,
            price: None,
            size: None,
            orders: None,
            condition: None,
        }
    }
}

/// The time at which a message is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// SendingTime (52), YYYYMMDDHHMMSSmmm.
    sending_time: u64,
    /// MDEntryTime (273), HHMMSSmmm.
    entry_time: u64,
}

impl Clock {
    /// Creates the time from nanoseconds since 1970.
    pub(super) fn new(ns: u64) -> Self {
        let stamp = UtcTimestamp::from_unix_nanos(ns);
        let (date, time) = (stamp.date, stamp.time);
        let day = (u64::from(date.year()) * 100 + u64::from(date.month())) * 100;
        let hour = u64::from(time.hour()) * 100 + u64::from(time.minute());
        let ms = time.picos() / 1_000_000_000;
        let entry_time = (hour * 100 + u64::from(time.second())) * 1_000 + ms;
        let sending_time = (day + u64::from(date.day())) * 1_000_000_000 + entry_time;
        Self { sending_time, entry_time }
    }

    /// Returns MsgType, MsgSeqNum (set when the packet is known) and SendingTime.
    fn header(self, msg_type: &'static str) -> Vec<DraftValue> {
        vec![DraftValue::Text(msg_type), DraftValue::UInt(0), DraftValue::UInt(self.sending_time)]
    }
}

fn decimal(amount: Option<Amount>) -> DraftValue {
    amount
        .map_or(DraftValue::Absent, |amount| DraftValue::Decimal(amount.mantissa, amount.exponent))
}

fn integer(amount: Option<Amount>) -> DraftValue {
    amount.map_or(DraftValue::Absent, |amount| DraftValue::Int(amount.mantissa))
}

fn text(text: Option<&'static str>) -> DraftValue {
    text.map_or(DraftValue::Absent, DraftValue::Text)
}

/// Returns SecurityID, Symbol and TradingSessionID.
fn key(name: &SecurityName) -> [DraftValue; 3] {
    let symbol = DraftValue::Name(name.symbol.clone());
    [DraftValue::UInt(name.number.into()), symbol, DraftValue::Text(name.session)]
}

fn order_id(id: Option<u64>, key: InstrumentKeyKind) -> DraftValue {
    match (id, key) {
        (None, _) => DraftValue::Absent,
        (Some(id), InstrumentKeyKind::SecurityId) => DraftValue::UInt(id),
        (Some(id), InstrumentKeyKind::SymbolAndSession) => {
            DraftValue::Name(format!("O{id}").into())
        }
    }
}

/// Creates a MDIncrementalRefresh.
pub(super) fn updates(
    entries: &[UpdateEntry],
    by: InstrumentKeyKind,
    clock: Clock,
) -> MessageDraft {
    let entry = |entry: &UpdateEntry| {
        let [id, symbol, session] = match (&entry.name, entry.session) {
            (Some(name), _) => key(name),
            (None, session) => [DraftValue::Absent, DraftValue::Absent, text(session)],
        };
        vec![
            DraftValue::UInt(entry.action),
            DraftValue::Text(entry.entry_type),
            order_id(entry.order_id, by),
            id,
            symbol,
            session,
            fix::optional(entry.rpt_seq),
            fix::optional(entry.level.map(u64::from)),
            decimal(entry.price),
            integer(entry.size),
            fix::optional(entry.orders.map(u64::from)),
            DraftValue::Text(IMPLIED).when(entry.kind == DayBookKind::Implied),
            text(entry.condition),
            DraftValue::UInt(clock.entry_time),
        ]
    };
    let mut fields = clock.header("X");
    fields.push(DraftValue::UInt(1));
    fields.push(DraftValue::Sequence(entries.iter().map(entry).collect()));
    MessageDraft { template: "MDIncrementalRefresh", fields }
}

/// Splits a message of updates into fragments of at most `entries_max` entries. Returns other
/// messages whole.
pub(super) fn divided(draft: MessageDraft, entries_max: usize) -> Vec<MessageDraft> {
    let Some(DraftValue::Sequence(entries)) = draft.fields.last() else { return vec![draft] };
    if draft.template != "MDIncrementalRefresh" || entries.len() <= entries_max {
        return vec![draft];
    }
    let count = entries.len().div_ceil(entries_max);
    let header = &draft.fields[..draft.fields.len() - 2];
    let fragment = |(entries, number): (&[Vec<DraftValue>], usize)| {
        let is_last = DraftValue::UInt((number == count).into());
        let mut fields = header.to_vec();
        fields.extend([is_last, DraftValue::Sequence(entries.to_vec())]);
        MessageDraft { template: draft.template, fields }
    };
    entries.chunks(entries_max).zip(1..).map(fragment).collect()
}

/// Returns the number of trades and statistics in a message of updates.
pub(super) fn events_in(draft: &MessageDraft) -> usize {
    let Some(DraftValue::Sequence(entries)) = draft.fields.last() else { return 0 };
    let is_event =
        |entry: &&Vec<DraftValue>| !matches!(entry.get(1), Some(DraftValue::Text("0" | "1" | "J")));
    entries.iter().filter(is_event).count()
}

/// Position of a snapshot in the feed of updates, and of a message in the snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct SnapshotHead {
    pub(super) last_seq_num: u64,
    pub(super) is_last_fragment: bool,
    pub(super) depth: Option<u32>,
}

/// Creates a MDSnapshotFullRefresh with these entries.
pub(super) fn snapshot(
    security: &DaySecurity,
    head: SnapshotHead,
    entries: Vec<Vec<DraftValue>>,
    clock: Clock,
) -> MessageDraft {
    let mut fields = clock.header("W");
    fields.extend([
        DraftValue::UInt(head.last_seq_num),
        DraftValue::UInt(head.is_last_fragment.into()),
        DraftValue::UInt(security.rpt_seq),
    ]);
    fields.extend(key(&security.name));
    fields.push(fix::optional(head.depth.map(u64::from)));
    fields.push(DraftValue::Sequence(entries));
    MessageDraft { template: "MDSnapshotFullRefresh", fields }
}

/// Creates a snapshot entry for a price level; `level` counts from 1.
pub(super) fn snapshot_level(
    side: Side,
    level: u64,
    content: &Level,
    kind: DayBookKind,
) -> Vec<DraftValue> {
    vec![
        DraftValue::Text(fix::entry_type(side)),
        DraftValue::Absent,
        DraftValue::UInt(level),
        decimal(Some(content.price)),
        integer(Some(content.size)),
        fix::optional(content.orders.map(u64::from)),
        DraftValue::Text(IMPLIED).when(kind == DayBookKind::Implied),
    ]
}

/// Creates a snapshot entry for an order.
pub(super) fn snapshot_order(
    side: Side,
    id: u64,
    price: Amount,
    size: u64,
    by: InstrumentKeyKind,
) -> Vec<DraftValue> {
    vec![
        DraftValue::Text(fix::entry_type(side)),
        order_id(Some(id), by),
        DraftValue::Absent,
        decimal(Some(price)),
        DraftValue::Int(size as i64),
        DraftValue::Absent,
        DraftValue::Absent,
    ]
}

/// Creates a snapshot entry that changes no level: the last trade, or J for an empty book.
pub(super) fn snapshot_other(
    entry_type: &'static str,
    price: Option<Amount>,
    size: Option<Amount>,
) -> Vec<DraftValue> {
    vec![
        DraftValue::Text(entry_type),
        DraftValue::Absent,
        DraftValue::Absent,
        decimal(price),
        integer(size),
        DraftValue::Absent,
        DraftValue::Absent,
    ]
}

/// Creates a SecurityStatus.
pub(super) fn status(name: &SecurityName, status: u32, clock: Clock) -> MessageDraft {
    let mut fields = clock.header("f");
    fields.extend(key(name));
    fields.push(DraftValue::UInt(status.into()));
    MessageDraft { template: "SecurityStatus", fields }
}

/// Creates a TradingSessionStatus.
pub(super) fn session_status(status: u64, clock: Clock) -> MessageDraft {
    let mut fields = clock.header("h");
    fields.push(DraftValue::UInt(status));
    MessageDraft { template: "TradingSessionStatus", fields }
}

/// Creates a SecurityDefinition. `implied_depth` is `Some` if the feed has implied levels.
pub(super) fn definition(
    security: &DaySecurity,
    count: usize,
    implied_depth: Option<u32>,
    clock: Clock,
) -> MessageDraft {
    let feed_type = |name, depth: Option<u32>| {
        let book_type = if depth.is_some() { 2 } else { 3 };
        vec![
            DraftValue::Text(name),
            fix::optional(depth.map(u64::from)),
            DraftValue::UInt(book_type),
        ]
    };
    let mut feed_types = vec![feed_type("GBX", security.depth)];
    feed_types.extend(implied_depth.map(|depth| feed_type("GBI", Some(depth))));
    let mut fields = clock.header("d");
    fields.push(DraftValue::UInt(count as u64));
    fields.extend(key(&security.name));
    fields.extend([
        DraftValue::Decimal(security.tick, security.exponent),
        DraftValue::UInt(MATURITY),
        DraftValue::Sequence(feed_types),
    ]);
    MessageDraft { template: "SecurityDefinition", fields }
}

/// Creates a SequenceReset.
pub(super) fn sequence_reset(new_seq_no: u64, clock: Clock) -> MessageDraft {
    let mut fields = clock.header("4");
    fields.push(DraftValue::UInt(new_seq_no));
    MessageDraft { template: "SequenceReset", fields }
}

/// Creates a Heartbeat.
pub(super) fn heartbeat(clock: Clock) -> MessageDraft {
    MessageDraft { template: "Heartbeat", fields: clock.header("0") }
}
