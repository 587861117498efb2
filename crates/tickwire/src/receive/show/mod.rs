//! Prints messages, books, best prices, trades and events as they arrive.

mod args;
mod book;
pub mod event;
mod ladder;
mod message;
mod order;
mod output;
pub mod row;
mod tables;

pub use args::{OutputKind, ShowArgs, ShowOptions};
pub use output::ReceiveOutput;
pub use tables::ShownTables;

use super::sink::NamedMessage;
use crate::failure::Failure;
use args::{ShowFormat, is_named};
use book::{BBO_COLUMNS, BOOK_COLUMNS, CONSOLIDATED, Shot, consolidated};
use event::{EVENT_COLUMNS, TRADE_COLUMNS};
use message::{MessagePrinter, MessageSource};
use order::ReplayReorderer;
use row::{MemberRow, MemberValue};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use tickwire_fast::{Limits, MessageBuilder, Program};
use tickwire_feed::arbiter::{Gap, LineEvent};
use tickwire_feed::counted;
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::Delivery;
use tickwire_feed::market::{BookKind, Instrument, MarketEvent, StatusScope};
use tickwire_feed::recovery::{BookChange, Recovery};

/// JSON member with the channel's name if several are received.
const CHANNEL: &str = "channel";

/// Writes the messages, books and events of a channel to standard output.
pub struct ChannelPrinter {
    options: ShowOptions,
    /// Name of the channel if several are received.
    channel: Option<String>,
    out: ReceiveOutput,
    messages: Option<MessagePrinter>,
    /// Buffer of messages before reordering, and the reordering, if lost messages are replayed.
    order: Option<(ReceiveOutput, ReplayReorderer)>,
    /// Buffer for converting a message of generated code.
    copy: MessageBuilder,
    limits: Limits,
    draws: bool,
    /// Offset from the handler's times to nanoseconds since 1970.
    epoch_ns: u64,
    /// Time at which the latest message or snapshot was received, in nanoseconds since 1970.
    now_ns: u64,
    kinds: ShownKinds,
    books: HashMap<(Instrument, &'static str), BookMemory>,
    trades: Trades,
    failure: Option<Failure>,
}

/// Properties of the feed for a printer.
pub struct ShownFeed<'f> {
    /// The templates at the start.
    pub program: &'f Arc<Program>,
    /// Framing of the messages.
    pub framing: &'f Framing,
    /// Limits of a message.
    pub limits: Limits,
    /// True if lost messages are replayed.
    pub replays: bool,
    /// Kinds of books that are shown.
    pub kinds: ShownKinds,
}

/// Last printed state of a book.
#[derive(Debug, Default)]
struct BookMemory {
    /// Time of its last change, in nanoseconds since 1970.
    changed_ns: u64,
    /// The best prices shown last, without time.
    bbo: MemberRow,
    /// The consolidated book shown last, without time.
    shown: Vec<u8>,
}

/// Kinds of books that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownKinds {
    /// Outright ones.
    pub outright: bool,
    /// Implied ones.
    pub implied: bool,
    /// Outright and implied orders together.
    pub consolidated: bool,
}

/// Counts of trades.
#[derive(Clone, Copy, Debug, Default)]
struct Trades {
    received: u64,
    shown: u64,
}

impl ShownKinds {
    /// True if books of this kind are shown.
    pub const fn shows(self, kind: BookKind) -> bool {
        match kind {
            BookKind::Outright => self.outright,
            BookKind::Implied => self.implied,
        }
    }
}

impl ChannelPrinter {
    /// Creates a printer of a feed to `out`. `epoch_ns` is added to the times of the handler.
    pub fn new(
        options: ShowOptions,
        channel: Option<&str>,
        out: ReceiveOutput,
        feed: &ShownFeed<'_>,
        epoch_ns: u64,
    ) -> Result<Self, Failure> {
        let ShownFeed { program, framing, limits, replays, kinds } = feed;
        let order = replays.then(<(ReceiveOutput, ReplayReorderer)>::default);
        let to = order.as_ref().map_or_else(|| out.clone(), |(text, _)| text.clone());
        let messages = options.shows(OutputKind::Messages);
        let messages =
            messages.then(|| MessagePrinter::new(&options, channel, program, framing, to));
        Ok(Self {
            messages: messages.transpose()?,
            order,
            copy: MessageBuilder::with_limits((*program).clone(), *limits),
            limits: *limits,
            draws: options.draws(),
            epoch_ns,
            now_ns: 0,
            kinds: *kinds,
            books: HashMap::new(),
            trades: Trades::default(),
            failure: None,
            channel: channel.map(str::to_owned),
            options,
            out,
        })
    }

    /// Returns the error of the output, if it failed.
    pub fn take_failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// True if writing failed.
    pub const fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    fn set_time(&mut self, handler_ns: u64) {
        self.now_ns = handler_ns.saturating_add(self.epoch_ns);
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failure.get_or_insert(error.into());
        }
    }

    /// Handles an idle moment at `handler_ns`: releases messages that have waited long enough and writes the
    /// buffered output.
    pub fn rest(&mut self, handler_ns: u64) {
        let now_ns = handler_ns.saturating_add(self.epoch_ns);
        self.let_go(|order| order.expire(now_ns));
        let rested = self.out.rest_tables();
        self.note(rested);
        self.flush();
    }

    /// Writes the buffered output.
    fn flush(&mut self) {
        let drawn = if self.draws { self.out.draw(|_| true) } else { Ok(()) };
        let written = drawn.and_then(|()| self.out.write_out(true));
        self.note(written);
    }

    /// Handles a delivered message.
    pub fn message<M: NamedMessage + ?Sized>(&mut self, delivery: &Delivery, message: &M) {
        self.set_time(delivery.received_ns);
        self.write(delivery, MessageSource::Line(delivery.line), message);
    }

    /// Handles a message that was replayed.
    pub fn replayed<M: NamedMessage + ?Sized>(&mut self, delivery: &Delivery, message: &M) {
        self.set_time(delivery.received_ns);
        self.write(delivery, MessageSource::Replay, message);
    }

    fn write<M: NamedMessage + ?Sized>(
        &mut self,
        delivery: &Delivery,
        origin: MessageSource,
        message: &M,
    ) {
        let Some(messages) = &mut self.messages else { return };
        if !Arc::ptr_eq(message.program(), self.copy.program()) {
            self.copy = MessageBuilder::with_limits(message.program().clone(), self.limits);
        }
        let written = match message.to_dynamic(&mut self.copy) {
            Ok(message) => messages.write(self.now_ns, delivery, origin, message),
            Err(error) => Err(io::Error::other(error)),
        };
        if let Some((text, order)) = &mut self.order {
            let ready = order.push(delivery.seq_num, text.take(), self.now_ns);
            self.out.append(|out| out.extend_from_slice(&ready));
        }
        let written = written.and_then(|()| self.out.write_out(false));
        self.note(written);
    }

    /// Handles a gap that is requested from a replay service: later messages wait.
    pub fn replay_begun(&mut self, gap: Gap) {
        if let Some((_, order)) = &mut self.order {
            order.open(gap, self.now_ns);
        }
    }

    /// Handles the end of a gap's replay.
    pub fn replay_done(&mut self, gap: Gap) {
        self.let_go(|order| order.close(gap));
    }

    /// Writes messages that are in order now.
    fn let_go(&mut self, of: impl FnOnce(&mut ReplayReorderer) -> Vec<u8>) {
        if let Some((_, order)) = &mut self.order {
            let ready = of(order);
            self.out.append(|out| out.extend_from_slice(&ready));
        }
    }

    /// Handles lost sequence numbers.
    pub fn gap(&mut self, gap: Gap) {
        if self.options.shows(OutputKind::Events) {
            self.row(event::gap(self.now_ns, gap), OutputKind::Events);
        }
    }

    /// Handles a restart of the sequence numbers.
    pub fn reset(&mut self, seq_num: u64) {
        self.let_go(ReplayReorderer::close_all);
        if self.options.shows(OutputKind::Events) {
            self.row(event::reset(self.now_ns, seq_num), OutputKind::Events);
        }
    }

    /// Handles the start of a channel's silence at `since_ns` of the handler, or its end.
    pub fn silence(&mut self, is_silent: bool, since_ns: u64) {
        if self.options.shows(OutputKind::Events) {
            let since_ns = since_ns.saturating_add(self.epoch_ns);
            self.row(event::silence(self.now_ns, is_silent, since_ns), OutputKind::Events);
        }
    }

    /// Handles a change of a line's state.
    pub fn line(&mut self, change: &LineEvent) {
        if self.options.shows(OutputKind::Events) {
            self.row(event::line(self.now_ns, self.epoch_ns, change), OutputKind::Events);
        }
    }

    /// Handles a book that changed, or became fresh or stale.
    pub fn book(&mut self, change: &BookChange, recovery: &Recovery) {
        self.set_time(recovery.now_ns());
        let instruments = recovery.instruments();
        if !self.options.wants(instruments, change.instrument) {
            return;
        }
        if change.is_new_state && self.options.shows(OutputKind::Events) {
            let name = instruments.name(change.instrument);
            self.row(event::state(self.now_ns, name, change), OutputKind::Events);
        }
        if !self.options.shows(OutputKind::Books) && !self.options.shows(OutputKind::Bbo) {
            return;
        }
        if self.kinds.shows(change.kind) {
            let shot = Shot::new(recovery, change.instrument, change.kind, self.now_ns);
            self.changed_book(change.instrument, change.kind.name(), shot, true);
        }
        if self.kinds.consolidated {
            let book = consolidated(recovery, change.instrument);
            let shot = book
                .as_ref()
                .map(|book| Shot::consolidated(recovery, change.instrument, book, self.now_ns));
            // One message may change both parts of the consolidated book, which must give only one
            // row.
            let is_new = shot.as_ref().is_none_or(|shot| {
                let mut text = Vec::new();
                Shot { time_ns: 0, definition: None, ..*shot }.push_json(None, &mut text);
                let memory = self.books.entry((change.instrument, CONSOLIDATED)).or_default();
                let is_new = memory.shown != text;
                memory.shown = text;
                is_new
            });
            self.changed_book(change.instrument, CONSOLIDATED, shot, is_new);
        }
    }

    /// Shows a changed book, unless books are shown at the end.
    fn changed_book(
        &mut self,
        instrument: Instrument,
        kind: &'static str,
        shot: Option<Shot<'_>>,
        is_new: bool,
    ) {
        let memory = self.books.entry((instrument, kind)).or_default();
        if is_new {
            memory.changed_ns = self.now_ns;
        }
        if self.options.at_end || !is_new {
            return;
        }
        let Some(shot) = shot else { return };
        let row = self.options.shows(OutputKind::Bbo).then(|| shot.bbo());
        let changed = row.filter(|row| memory.bbo != row[1..]);
        if let Some(row) = &changed {
            memory.bbo = row[1..].to_vec();
        }
        if self.options.shows(OutputKind::Books) {
            self.shot(&shot);
        }
        if let Some(row) = changed {
            self.row(row, OutputKind::Bbo);
        }
    }

    /// Handles a trade or another event.
    pub fn event(&mut self, delivery: &Delivery, event: &MarketEvent<'_>, recovery: &Recovery) {
        self.set_time(delivery.received_ns);
        let instruments = recovery.instruments();
        let instrument = match event {
            MarketEvent::Trade(trade) => Some(trade.instrument),
            MarketEvent::Statistic(statistic) => Some(statistic.instrument),
            MarketEvent::Definition(instrument, _) => Some(*instrument),
            MarketEvent::Status(status) => match status.scope {
                StatusScope::Instrument(instrument) => Some(instrument),
                StatusScope::Channel => None,
            },
            _ => None,
        };
        self.trades.received += u64::from(matches!(event, MarketEvent::Trade(_)));
        if instrument.is_some_and(|instrument| !self.options.wants(instruments, instrument)) {
            return;
        }
        match event {
            MarketEvent::Trade(trade) if self.options.shows(OutputKind::Trades) => {
                self.trades.shown += 1;
                let row = event::trade(self.now_ns, instruments.name(trade.instrument), trade);
                self.row(row, OutputKind::Trades);
            }
            event if self.options.shows(OutputKind::Events) => {
                if let Some(row) = event::event(self.now_ns, event, instruments) {
                    self.row(row, OutputKind::Events);
                }
            }
            _ => {}
        }
    }

    /// Writes the output that is due at the end, and the buffered output.
    pub fn finish(&mut self, recovery: &Recovery) {
        self.let_go(ReplayReorderer::close_all);
        self.warn_of_absent(recovery);
        self.warn_of_no_trades();
        if self.options.at_end {
            self.books_at_end(recovery);
        }
        self.flush();
    }

    /// Warns about selected instruments that never appeared. With several channels, each has its own
    /// selection.
    fn warn_of_absent(&self, recovery: &Recovery) {
        let instruments = recovery.instruments();
        let is_known = |wanted: &str| {
            instruments.iter().any(|instrument| is_named(wanted, instruments, instrument))
        };
        for wanted in self.options.instruments.iter().filter(|wanted| !is_known(wanted)) {
            if self.channel.is_none() {
                tracing::warn!(
                    "--instrument {wanted}: the feed has no instrument with this SecurityID or Symbol, and no definition with this symbol arrived"
                );
            }
        }
    }

    /// Warns if trades were to be shown and none were.
    fn warn_of_no_trades(&self) {
        let Trades { received, shown } = self.trades;
        if !self.options.shows(OutputKind::Trades) || shown > 0 {
            return;
        }
        match received {
            0 => tracing::warn!(
                "--show trades: no message has a trade (MDEntryType 2); the exchange may send trades on another channel"
            ),
            _ => tracing::warn!(
                "--show trades: {}, none of the instruments of --instrument",
                counted(received, "trade")
            ),
        }
    }

    fn books_at_end(&mut self, recovery: &Recovery) {
        let instruments = recovery.instruments();
        let by_name =
            instruments.iter().map(|instrument| (instruments.name(instrument), instrument));
        let mut by_name: Vec<(&str, Instrument)> = by_name.collect();
        // Two keys may have the same name; a stable sort keeps the order of their arrival.
        by_name.sort_by_key(|(name, _)| *name);
        for (_, instrument) in by_name {
            if !self.options.wants(instruments, instrument) {
                continue;
            }
            let changed_ns =
                |kind| self.books.get(&(instrument, kind)).map_or(0, |memory| memory.changed_ns);
            let kinds = BookKind::ALL.into_iter().filter(|kind| self.kinds.shows(*kind));
            let shots =
                kinds.map(|kind| Shot::new(recovery, instrument, kind, changed_ns(kind.name())));
            let shots: Vec<Option<Shot<'_>>> = shots.collect();
            let both =
                self.kinds.consolidated.then(|| consolidated(recovery, instrument)).flatten();
            let both = both.as_ref().map(|book| {
                Shot::consolidated(recovery, instrument, book, changed_ns(CONSOLIDATED))
            });
            for shot in shots.into_iter().chain([both]).flatten() {
                if self.options.shows(OutputKind::Books) {
                    self.shot(&shot);
                }
                if self.options.shows(OutputKind::Bbo) {
                    self.row(shot.bbo(), OutputKind::Bbo);
                }
            }
        }
    }

    fn shot(&mut self, shot: &Shot<'_>) {
        let channel = self.channel.as_deref();
        let written = if self.out.has_tables() {
            let rows = shot.rows().into_iter().map(|row| in_channel(row, channel));
            self.out.push_rows(OutputKind::Books, &rows.collect::<Vec<_>>())
        } else if self.draws {
            self.out.draw(|ladders| ladders.update(channel, shot))
        } else {
            let format = self.options.format;
            self.out.append(|out| match format {
                ShowFormat::Jsonl => shot.push_json(channel, out),
                ShowFormat::Csv => {
                    for row in shot.rows() {
                        push_csv(out, in_channel(row, channel), &BOOK_COLUMNS);
                    }
                }
                ShowFormat::Text => shot.push_text(channel, out),
            });
            self.out.write_out(false)
        };
        self.note(written);
    }

    fn row(&mut self, row: MemberRow, shown: OutputKind) {
        let format = self.options.format;
        let row = in_channel(row, self.channel.as_deref());
        if self.out.has_tables() {
            let pushed = self.out.push_rows(shown, &[row]);
            return self.note(pushed);
        }
        self.out.append(|out| match format {
            ShowFormat::Jsonl => row::push_json(out, &row),
            ShowFormat::Csv => push_csv(out, row, columns(&[shown])),
            ShowFormat::Text => row::push_text(out, &row),
        });
        let written = self.out.write_out(false);
        self.note(written);
    }
}

/// Columns of the CSV output; those of messages depend on their templates.
fn columns(shown: &[OutputKind]) -> &'static [&'static str] {
    match shown {
        [OutputKind::Books] => &BOOK_COLUMNS,
        [OutputKind::Bbo] => &BBO_COLUMNS,
        [OutputKind::Trades] => &TRADE_COLUMNS,
        [OutputKind::Events] => &EVENT_COLUMNS,
        _ => &[],
    }
}

/// Writes the heading of the CSV output, except for messages.
pub fn push_heading(options: &ShowOptions, has_channels: bool, out: &ReceiveOutput) {
    let columns = columns(&options.shown);
    if options.format == ShowFormat::Csv && options.tables.is_none() && !columns.is_empty() {
        let channel = has_channels.then_some(CHANNEL);
        let columns: Vec<&str> = channel.into_iter().chain(columns.iter().copied()).collect();
        out.append(|out| row::push_heading(out, &columns));
    }
}

/// Prepends the channel to a row if several are received.
fn in_channel(mut row: MemberRow, channel: Option<&str>) -> MemberRow {
    if let Some(channel) = channel {
        row.insert(0, (CHANNEL, MemberValue::Text(channel.to_owned())));
    }
    row
}

/// Appends a row under its columns, with the channel first if it has one.
fn push_csv(out: &mut Vec<u8>, row: MemberRow, columns: &[&str]) {
    let channel = row.first().filter(|(name, _)| *name == CHANNEL).map(|(name, _)| *name);
    let columns: Vec<&str> = channel.into_iter().chain(columns.iter().copied()).collect();
    row::push_csv(out, &row, &columns);
}
