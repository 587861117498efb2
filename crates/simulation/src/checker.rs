//! Checks a handler's output against the truth.

use crate::arrivals::{Incoming, PacketIndexes, Played, indexes, moments};
use crate::decodable::Decodable;
use crate::run::Violation;
use crate::scenario::{Resets, Scenario};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tickwire_exchange::day::{self, DayTruth, TradingStatus, TrueEvent, UpdatePosition};
use tickwire_exchange::{DraftValue, MessageDraft, TrueBook};
use tickwire_fast::MessageBuilder;
use tickwire_feed::arbiter::{Arbiter, Gap, Line};
use tickwire_feed::book::{Book, BookFault, Level, Side};
use tickwire_feed::handler::{Delivery, Fault, Sink};
use tickwire_feed::market::{BookKind, Instrument, MarketEvent, Snapshot, StatusScope};
use tickwire_feed::recovery::{BookChange, Recovery, SnapshotOutcome, StaleReason};
use tickwire_net::inject::FaultWindow;

/// Follows a handler and records the first violation.
pub(crate) struct Checker<'s> {
    scenario: &'s Scenario,
    played: &'s Played,
    indexes: PacketIndexes,
    moments: BTreeMap<(u32, u64), UpdatePosition>,
    /// The last message delivered, or number reported lost.
    position: Option<UpdatePosition>,
    epoch: u32,
    /// Delivered messages: packet and index.
    pub(crate) delivered: BTreeSet<(u32, u64)>,
    /// Numbers reported lost.
    lost: BTreeSet<(u32, u64)>,
    /// Replayed messages: packet and index.
    replayed: BTreeSet<((u32, u64), u32)>,
    events: Vec<(UpdatePosition, TrueEvent)>,
    /// Numbers under which line B delivered packets of another channel.
    deceptions: BTreeSet<(u32, u64)>,
    /// Number of differing copies when the first such packet was delivered, until line A
    /// contradicts it.
    deceived_at: Option<u64>,
    /// Number of copies that differ.
    differing: u64,
    /// The last outputs of the handler.
    recent: VecDeque<String>,
    /// True if these outputs are printed too.
    is_traced: bool,
    /// Number of fresh books compared with the truth.
    pub(crate) books_checked: u64,
    pub(crate) violation: Option<Violation>,
}

/// Number of outputs in a violation's report.
const RECENT_MAX: usize = 12;

/// Number of packets after which lines that agree are trusted again, even if many of them are lost.
const COPIES_TO_AGREE: u64 = 64;

/// Number of differing copies that prove that line B delivered another channel.
const CONTRADICTIONS: u64 = 2;

const KINDS: [(BookKind, day::DayBookKind); 2] = [
    (BookKind::Outright, day::DayBookKind::Outright),
    (BookKind::Implied, day::DayBookKind::Implied),
];

impl<'s> Checker<'s> {
    pub(crate) fn new(scenario: &'s Scenario, played: &'s Played, is_traced: bool) -> Self {
        Self {
            scenario,
            played,
            indexes: indexes(played),
            moments: moments(played),
            position: None,
            epoch: 0,
            delivered: BTreeSet::new(),
            lost: BTreeSet::new(),
            replayed: BTreeSet::new(),
            events: Vec::new(),
            deceptions: BTreeSet::new(),
            deceived_at: None,
            differing: 0,
            recent: VecDeque::new(),
            is_traced,
            books_checked: 0,
            violation: None,
        }
    }

    fn truth(&self) -> &'s DayTruth {
        self.played.day.truth()
    }

    /// Records a violation unless there is one already.
    pub(crate) fn fail(&mut self, what: impl FnOnce() -> String) {
        if self.violation.is_none() {
            let (seed, position) = (self.scenario.seed, self.position);
            let recent = self.recent.iter().cloned().collect();
            self.violation = Some(Violation { seed, position, what: what(), recent });
        }
    }

    /// Records an output of the handler for the report of a violation.
    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        let what = what();
        if self.is_traced {
            println!("    {what}");
        }
        self.recent.push_back(what);
    }

    /// Prints an arriving packet if tracing is on.
    pub(crate) fn trace(&self, incoming: &Incoming) {
        if self.is_traced {
            let Incoming { at_ns, source, bytes } = incoming;
            let mut updates = self.played.updates.iter();
            let packet = updates.find(|packet| packet.bytes == *bytes);
            let name = packet.map(|packet| (packet.epoch, packet.seq_num.unwrap_or(0)));
            println!("{at_ns} {source}: {name:?}");
        }
    }

    /// Compares a message with the one sent. Returns true if it was sent at all.
    fn check_message(
        &mut self,
        key: (u32, u64),
        index: u32,
        message: &(impl Decodable + ?Sized),
    ) -> bool {
        let Some(packet) = self.indexes.get(&key).copied() else {
            self.fail(|| format!("{key:?} was never sent"));
            return false;
        };
        let packet = &self.played.updates[packet];
        let Some(draft) = packet.messages.get(index as usize) else {
            self.fail(|| format!("{key:?} has no message {index}"));
            return false;
        };
        let mut builder = MessageBuilder::new(self.played.day.program().clone());
        match message.to_dynamic(&mut builder) {
            Ok(message) => {
                if let Some(field) = self.played.day.binding().difference(message, draft) {
                    self.fail(|| format!("{key:?}: {field} is wrong"));
                }
            }
            Err(error) => self.fail(|| format!("{key:?}: {error}")),
        }
        true
    }

    /// True if a message belongs to the other channel that line B has carried for a while.
    fn is_of_other_channel(
        &self,
        key: (u32, u64),
        delivery: &Delivery,
        message: &(impl Decodable + ?Sized),
    ) -> bool {
        if self.scenario.wrong_midway().is_none() || delivery.line != Line::B {
            return false;
        }
        let packet = self.indexes.get(&key).map(|packet| &self.played.updates[*packet]);
        let draft = packet.and_then(|packet| packet.messages.get(delivery.index as usize));
        let mut builder = MessageBuilder::new(self.played.day.program().clone());
        let found = message.to_dynamic(&mut builder);
        let binding = self.played.day.binding();
        !matches!((draft, found), (Some(draft), Ok(found)) if binding.difference(found, draft).is_none())
    }

    /// Records a delivered message of another channel. It is undetectable until line A contradicts
    /// it.
    fn note_deception(&mut self, key: (u32, u64)) {
        self.deceptions.insert(key);
        self.deceived_at.get_or_insert(self.differing);
        let packet = self.indexes.get(&key).map(|packet| &self.played.updates[*packet]);
        let last = packet.map_or(0, |packet| packet.messages.len().saturating_sub(1) as u32);
        let (epoch, seq_num) = key;
        self.position = self.position.max(Some(UpdatePosition { epoch, seq_num, index: last }));
    }

    /// Records the arrival of a packet. From the second differing copy on, a fresh book must be
    /// correct again.
    pub(crate) fn note_arrival(&mut self, arbiter: &Arbiter, recovery: &Recovery) {
        self.differing = Line::ALL.map(|line| arbiter.line_counters(line).differing).iter().sum();
        let is_contradicted = |at: &mut u64| self.differing >= *at + CONTRADICTIONS;
        if self.deceived_at.take_if(is_contradicted).is_some() {
            self.check_all(recovery);
        }
    }

    fn advance(&mut self, to: UpdatePosition) {
        if let Some(position) = self.position.filter(|position| *position >= to) {
            self.fail(|| format!("{to:?} comes after {position:?}"));
        }
        self.position = Some(to);
    }

    /// Compares every fresh book with the truth, after a packet.
    pub(crate) fn check_all(&mut self, recovery: &Recovery) {
        for instrument in recovery.instruments().iter() {
            for (kind, _) in KINDS {
                self.check_book(instrument, kind, recovery);
            }
        }
    }

    fn check_book(&mut self, instrument: Instrument, kind: BookKind, recovery: &Recovery) {
        let Ok(book) = recovery.book(instrument, kind) else { return };
        if self.is_within_transaction() || self.deceived_at.is_some() {
            return;
        }
        let name = recovery.instruments().name(instrument);
        let Some(truth) = self.true_book(name, kind) else {
            // No message was delivered yet, or the feed has no such books.
            if !book.is_empty() || self.position.is_some() && kind == BookKind::Outright {
                self.fail(|| format!("{name} {kind:?} is fresh before any packet: {book:?}"));
            }
            return;
        };
        self.books_checked += 1;
        let is_wrong =
            if book.is_complete() { !is_same(truth, book) } else { !is_prefix(truth, book) };
        if is_wrong {
            let rpt_seq = recovery.rpt_seq(instrument);
            let depth = book.depth();
            let found = Side::ALL.map(|side| printed(book.levels(side)));
            let wanted = Side::ALL.map(|side| printed(truth.levels(side)));
            self.fail(|| {
                format!(
                    "{name} {kind:?} is fresh (RptSeq {rpt_seq:?}, true {}, depth {depth:?}) and wrong:\n    \
                     book  {} | {}\n    truth {} | {}",
                    truth.rpt_seq, found[0], found[1], wanted[0], wanted[1]
                )
            });
        }
    }

    /// True if the transaction of the last message continues; its books are valid when it ends.
    fn is_within_transaction(&self) -> bool {
        let Some(UpdatePosition { epoch, seq_num, index }) = self.position else { return false };
        let packet = self.indexes.get(&(epoch, seq_num));
        let messages = packet
            .and_then(|packet| self.played.updates.get(*packet)?.messages.get(index as usize));
        messages.is_some_and(continues)
    }

    fn true_book(&self, name: &str, kind: BookKind) -> Option<&'s TrueBook> {
        let (_, kind) = KINDS.into_iter().find(|(known, _)| *known == kind)?;
        self.truth().book_at(self.position?, name, kind)
    }

    /// Checks that every packet that arrived in time was delivered, and the rest reported lost.
    pub(crate) fn check_deliveries(&mut self) {
        let first = if self.scenario.handler.is_told_first {
            (0, 0)
        } else {
            self.delivered.first().copied().unwrap_or((0, 0))
        };
        let in_time = self.played.in_time.iter().filter(|key| **key >= first);
        let undelivered: Vec<_> =
            in_time.filter(|key| !self.delivered.contains(key)).copied().collect();
        let undelivered = self.without_deceptions(undelivered);
        if !undelivered.is_empty() {
            let (count, some) = (undelivered.len(), &undelivered[..undelivered.len().min(8)]);
            self.fail(|| {
                format!("{count} packets arrived in time but were not delivered: {some:?}")
            });
        }
        let never: Vec<_> = self.delivered.difference(&self.played.arrived).copied().collect();
        if !never.is_empty() {
            self.fail(|| format!("delivered and never arrived: {never:?}"));
        }
        if let Some(both) = self.lost.intersection(&self.delivered).next().copied() {
            self.fail(|| format!("{both:?} was delivered and reported lost"));
        }
    }

    /// Removes keys whose loss is legitimate because of the wrong line B: packets sent while it
    /// carried another channel, and numbers that the other channel has used, which may have taken
    /// their place. After these, packets that only one line carries may be missing until the lines
    /// agree again: the handler could not know which line was wrong, and may have excluded the
    /// correct one.
    fn without_deceptions(&self, mut keys: Vec<(u32, u64)>) -> Vec<(u32, u64)> {
        let Some(wrong) = self.scenario.wrong_midway() else { return keys };
        let slack_ns = 20 * self.scenario.day.gap_ns + self.scenario.handler.hold_ns;
        let start_ns = wrong.start_ns.saturating_sub(slack_ns);
        let wrong = FaultWindow { start_ns, end_ns: wrong.end_ns.saturating_add(slack_ns) };
        let sent_ns = |key: &(u32, u64)| {
            let packet = self.indexes.get(key).map(|packet| &self.played.updates[*packet]);
            packet.map(|packet| packet.sent_ns.saturating_sub(self.played.origin_ns))
        };
        keys.retain(|key| {
            Some(key.1) > self.agreeing_from()
                && sent_ns(key).is_some_and(|sent_ns| !wrong.contains(sent_ns))
        });
        keys
    }

    /// Returns the number from which the lines agree again, after all numbers that the other
    /// channel has used.
    fn agreeing_from(&self) -> Option<u64> {
        self.played.other_last.map(|other| other.saturating_add(COPIES_TO_AGREE))
    }

    /// True if enough packets follow for the lines to agree again.
    fn may_agree_again(&self) -> bool {
        let last = self.played.updates.last().and_then(|packet| packet.seq_num);
        last > self.agreeing_from()
    }

    /// Checks that the events of delivered messages were reported once each, in order.
    pub(crate) fn check_events(&mut self) {
        let is_delivered = |(at, _): &&(UpdatePosition, TrueEvent)| {
            self.delivered.contains(&(at.epoch, at.seq_num))
        };
        let expected: Vec<_> = self.truth().events().iter().filter(is_delivered).collect();
        let found = std::mem::take(&mut self.events);
        let differing =
            found.iter().zip(&expected).position(|(found, expected)| found != *expected);
        if let Some(at) = differing {
            self.fail(|| format!("event {:?} instead of {:?}", found[at], expected[at]));
        } else if found.len() != expected.len() {
            self.fail(|| format!("{} events reported, {} happened", found.len(), expected.len()));
        }
    }

    /// Checks that every book is fresh at the end of the day, after a whole round of snapshots.
    pub(crate) fn check_end(&mut self, recovery: &Recovery) {
        for name in self.truth().names() {
            let instrument = recovery.instruments().named(name);
            let state = instrument.map(|instrument| recovery.state(instrument));
            let is_crossed = self.is_crossed(name);
            match state {
                Some(Ok(())) => {}
                // The trading status may have been lost, and is not repeated.
                Some(Err(_)) if is_crossed => {}
                // The last snapshots arrive after the lines have ended.
                Some(Err(StaleReason::Silence)) if self.scenario.handler.heartbeat_ns.is_some() => {
                }
                other => self.fail(|| format!("{name} is not fresh at the end: {other:?}")),
            }
        }
    }

    /// Checks that a line that carries another channel was excluded, if it was ever compared.
    pub(crate) fn check_lines(&mut self, arbiter: &Arbiter) {
        for (line, faults) in Line::ALL.into_iter().zip(self.scenario.lines) {
            let is_wrong = faults.is_some_and(|faults| faults.wrong_line.is_some());
            let differing = arbiter.line_counters(line).differing;
            let is_excluded = arbiter.is_excluded(line);
            if self.scenario.wrong_midway().is_some() {
                // Both lines carry this channel again.
                if is_excluded && self.may_agree_again() {
                    self.fail(|| format!("line {line:?} is excluded at the end"));
                }
                continue;
            }
            if is_wrong && is_excluded != (differing > 0) {
                self.fail(|| format!("line {line:?} is wrong: {differing} packets differ, excluded: {is_excluded}"));
            } else if !is_wrong && differing > 0 {
                self.fail(|| format!("{differing} packets of line {line:?} differ"));
            }
        }
    }

    /// True if the book of an instrument was ever crossed.
    fn was_crossed(&self, name: &str) -> bool {
        let history = self.truth().history(name, day::DayBookKind::Outright);
        history.iter().any(|(_, book)| {
            let best = book.bids.first().zip(book.offers.first());
            best.is_some_and(|(bid, offer)| bid.price >= offer.price)
        })
    }

    fn is_crossed(&self, name: &str) -> bool {
        let book = self.truth().book(name, day::DayBookKind::Outright);
        let best = book.and_then(|book| book.bids.first().zip(book.offers.first()));
        let is_auction = self.truth().status(name) == Some(TradingStatus::PreOpen.code());
        is_auction && best.is_some_and(|(bid, offer)| bid.price >= offer.price)
    }

    fn event(&self, event: &MarketEvent<'_>, recovery: &Recovery) -> Option<TrueEvent> {
        let name = |instrument| recovery.instruments().name(instrument).into();
        Some(match event {
            MarketEvent::Trade(trade) => TrueEvent::Trade {
                instrument: name(trade.instrument),
                price: trade.price?,
                size: trade.size?,
            },
            MarketEvent::Statistic(statistic) => {
                let types = ["4", "6", "7", "8", "B", "C"];
                let is = |text: &&&str| text.as_bytes() == [statistic.entry_type];
                TrueEvent::Statistic {
                    instrument: name(statistic.instrument),
                    entry_type: types.iter().find(is)?,
                    price: statistic.price,
                    size: statistic.size,
                }
            }
            MarketEvent::Status(status) => match status.scope {
                StatusScope::Instrument(instrument) => TrueEvent::Status {
                    instrument: name(instrument),
                    status: u32::try_from(status.code).ok()?,
                },
                StatusScope::Channel => return None,
            },
            _ => return None,
        })
    }
}

/// True if a message of updates has LastFragment (893) 0.
fn continues(draft: &MessageDraft) -> bool {
    let of_updates = draft.template == "MDIncrementalRefresh";
    of_updates && draft.fields.iter().nth_back(1) == Some(&DraftValue::UInt(0))
}

/// Prints levels as `price x size (orders)`.
fn printed<'l>(levels: impl IntoIterator<Item = &'l Level>) -> String {
    let level = |level: &Level| match level.orders {
        Some(orders) => format!("{}x{}({orders})", level.price, level.size),
        None => format!("{}x{}", level.price, level.size),
    };
    levels.into_iter().map(level).collect::<Vec<_>>().join(" ")
}

fn is_same(truth: &TrueBook, book: &Book) -> bool {
    Side::ALL.into_iter().all(|side| book.levels(side).eq(truth.levels(side)))
}

/// True if the book's levels are the first levels of the truth. If the depth is unknown, the
/// handler hides levels that may no longer be published.
fn is_prefix(truth: &TrueBook, book: &Book) -> bool {
    Side::ALL.into_iter().all(|side| {
        let truth = truth.levels(side);
        book.len(side) <= truth.len() && book.levels(side).zip(truth).all(|(a, b)| a == b)
    })
}

impl<M: Decodable + ?Sized> Sink<M> for Checker<'_> {
    fn handle_message(&mut self, delivery: &Delivery, message: &M) {
        self.note(|| {
            format!("message {:?}.{} of {:?}", delivery.seq_num, delivery.index, delivery.line)
        });
        let Some(seq_num) = delivery.seq_num else {
            // A heartbeat without a number.
            return;
        };
        let key = (self.epoch, seq_num);
        if self.is_of_other_channel(key, delivery, message) {
            return self.note_deception(key);
        }
        if !self.check_message(key, delivery.index, message) {
            return;
        }
        self.delivered.insert(key);
        self.advance(UpdatePosition { epoch: self.epoch, seq_num, index: delivery.index });
    }

    fn handle_replayed(&mut self, delivery: &Delivery, message: &M) {
        self.note(|| format!("replayed {:?}.{}", delivery.seq_num, delivery.index));
        let Some(seq_num) = delivery.seq_num else {
            return self.fail(|| "a message without a number is replayed".to_owned());
        };
        let key = (self.epoch, seq_num);
        self.check_message(key, delivery.index, message);
        if !self.lost.contains(&key) {
            self.fail(|| format!("{key:?} is replayed and was not lost"));
        }
        if !self.replayed.insert((key, delivery.index)) {
            self.fail(|| format!("message {} of {key:?} is replayed twice", delivery.index));
        }
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.note(|| format!("{gap:?}"));
        for number in gap.first..=gap.last() {
            let key = (self.epoch, number);
            match self.moments.get(&key).copied() {
                Some(moment) => {
                    self.lost.insert((moment.epoch, moment.seq_num));
                    self.advance(moment);
                }
                // Past the last packet of line A.
                None if self.scenario.wrong_midway().is_some() => {}
                None => self.fail(|| format!("a gap of {number}, which was never sent: {gap:?}")),
            }
        }
    }

    fn handle_reset(&mut self, seq_num: u64) {
        self.note(|| format!("reset to {seq_num}"));
        self.epoch += 1;
        let changes = &self.scenario.day.day_changes;
        let expected = changes.get(self.epoch as usize - 1).map(|change| change.new_seq_no);
        // If the reset is lost, an epoch begins with its first packet that arrives.
        let is_right = match self.scenario.resets {
            Resets::Told => expected == Some(seq_num),
            Resets::MayBeLost | Resets::Silent => expected.is_some_and(|first| seq_num >= first),
        };
        if !is_right {
            self.fail(|| format!("reset to {seq_num}, expected {expected:?}"));
        }
        self.advance(UpdatePosition { epoch: self.epoch, ..UpdatePosition::default() });
    }

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        let state = recovery.state(change.instrument);
        if change.is_new_state {
            let name = recovery.instruments().name(change.instrument);
            self.note(|| format!("{name} is {state:?}"));
        }
        self.check_book(change.instrument, change.kind, recovery);
        if change.state != state {
            self.fail(|| format!("reported {change:?}, found {state:?}"));
        }
    }

    fn handle_event(&mut self, delivery: &Delivery, event: &MarketEvent<'_>, recovery: &Recovery) {
        let key = delivery.seq_num.map(|seq_num| (self.epoch, seq_num));
        if key.is_some_and(|key| self.deceptions.contains(&key)) {
            return;
        }
        let (Some(position), Some(event)) = (self.position, self.event(event, recovery)) else {
            return;
        };
        self.events.push((position, event));
    }

    fn handle_snapshot(
        &mut self,
        snapshot: &Snapshot<'_>,
        outcome: SnapshotOutcome,
        recovery: &Recovery,
    ) {
        let name = recovery.instruments().name(snapshot.instrument);
        self.note(|| {
            let (last, rpt_seq, sent) =
                (snapshot.last_seq_num, snapshot.rpt_seq, snapshot.sending_time);
            format!("snapshot of {name}: {last} {rpt_seq:?} sent {sent:?}: {outcome:?}")
        });
        let is_wrong = match outcome {
            // If the status was lost, an auction looks like an error.
            SnapshotOutcome::Faulty(BookFault::Crossed { .. }) => !self.was_crossed(name),
            SnapshotOutcome::Faulty(_) | SnapshotOutcome::Mismatch => self.deceived_at.is_none(),
            _ => false,
        };
        if is_wrong {
            let mut books = String::new();
            for (kind, _) in KINDS {
                let now = recovery.last_known_book(snapshot.instrument, kind);
                let sides = |book: &Book| Side::ALL.map(|side| printed(book.levels(side)));
                let now = now.map(sides).unwrap_or_default().join(" | ");
                let truth = self.true_book(name, kind);
                let sides = |book: &TrueBook| Side::ALL.map(|side| printed(book.levels(side)));
                let truth = truth.map(sides).unwrap_or_default().join(" | ");
                books += &format!("\n    {kind:?} now   {now}\n    {kind:?} truth {truth}");
            }
            self.fail(|| format!("a snapshot of {name} is {outcome:?}:{books}"));
        }
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        self.fail(|| format!("fault: {fault}"));
    }
}
