//! A trading day on one channel: updates, snapshots, definitions, status, day changes and
//! heartbeats.
//!
//! [`DayOptions`] describe the channel. [`Day`] generates it as an iterator of [`DayPacket`]s in
//! the order of their times. Updates, snapshots and definitions have separate sequence numbers.
//! [`Day::truth`] holds the books exactly as published, to the published depth.
//!
//! No packet is lost, late or out of order: faults are the injector's task.
//!
//! # Examples
//!
//! ```
//! use tickwire_exchange::day::{Day, DayBookKind, DayChannel, DayOptions};
//!
//! let mut day = Day::new(&DayOptions { packets: 100, ..DayOptions::futures() })?;
//! let mut updates = 0;
//! while let Some(packet) = day.next_packet()? {
//!     updates += u32::from(packet.channel == DayChannel::Updates);
//! }
//! assert_eq!(updates, 100);
//! let book = day.truth().book("20000", DayBookKind::Outright).expect("the first instrument");
//! assert!(!book.bids.is_empty());
//! # Ok::<(), tickwire_exchange::ExchangeError>(())
//! ```

mod diff;
mod market;
mod messages;
mod options;
mod packer;
mod security;
mod snapshots;
mod templates;
#[cfg(test)]
mod tests;
mod truth;

pub use options::{
    BookForm, DayChange, DayOptions, Heartbeats, InstrumentKeyKind, SequenceNumbers,
};
pub use security::TradingStatus;
pub use truth::{DayTruth, TrueEvent, UpdatePosition};

use crate::binding::Binding;
use crate::draft::MessageDraft;
use crate::error::ExchangeError;
use fastrand::Rng;
use market::DayMarket;
use messages::Clock;
use packer::ChannelPacker;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use tickwire_fast::{Program, TemplateSet};

/// TradSesStatus (340).
const SESSION_OPEN: u64 = 2;
const SESSION_CLOSED: u64 = 3;

/// The kind of levels in a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DayBookKind {
    /// Orders for the instrument itself.
    Outright,
    /// Levels implied by orders for other instruments (QuoteCondition K).
    Implied,
}

/// A channel of packets with its own sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DayChannel {
    /// Updates, status and day changes; lines A and B carry the same packets.
    Updates,
    /// Snapshots.
    Snapshots,
    /// Security definitions.
    Instruments,
}

/// A packet as sent on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayPacket {
    /// Its channel.
    pub channel: DayChannel,
    /// Number of day changes before it.
    pub epoch: u32,
    /// Sequence number of the packet, or of its first message if messages are numbered; `None` for
    /// an unnumbered heartbeat.
    pub seq_num: Option<u64>,
    /// Time of sending, nanoseconds since 1970. Packets of all channels are in the order of this
    /// time.
    pub sent_ns: u64,
    /// Preamble and FAST bytes.
    pub bytes: Vec<u8>,
    /// Length of the preamble in bytes.
    pub preamble_bytes: usize,
    /// The messages before encoding.
    pub messages: Vec<MessageDraft>,
}

/// A step of the day's plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    DayChange(DayChange),
    Definition(usize),
    Heartbeats,
    /// TradSesStatus.
    Session(u64),
    Snapshot(usize),
    SnapshotReset,
    Updates,
}

/// Generates a trading day. See the [module](self). An iterator of packets; it ends after an error.
pub struct Day {
    options: DayOptions,
    templates: String,
    binding: Binding,
    market: DayMarket,
    truth: DayTruth,
    updates: ChannelPacker,
    snapshots: ChannelPacker,
    instruments: ChannelPacker,
    tasks: VecDeque<Task>,
    ready: VecDeque<DayPacket>,
    random: Rng,
    epoch: u32,
    now_ns: u64,
    /// Time of the last packet of updates, nanoseconds since 1970.
    updated_ns: u64,
    /// Number of packets of updates so far, without heartbeats.
    packets: u64,
    /// Index of the instrument for the next snapshot.
    snapshot_next: usize,
    /// Index of the instrument for the next definition.
    definition_next: usize,
    is_over: bool,
}

impl fmt::Debug for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Day").field("packets", &self.packets).finish_non_exhaustive()
    }
}

impl Day {
    /// Creates a day before its first packet.
    ///
    /// # Errors
    /// [`ExchangeError`] if the options contradict each other.
    pub fn new(options: &DayOptions) -> Result<Self, ExchangeError> {
        options.check()?;
        let templates = templates::of(options);
        let binding = Binding::new(&compiled(templates::ALL)?, compiled(&templates)?)?;
        let mut random = Rng::with_seed(options.seed);
        let market = DayMarket::new(options, random.fork());
        let names = market.securities.iter().map(|security| Arc::from(&*security.name.text));
        let mut truth = DayTruth::new(names, options.keeps_history);
        market.publish_all(UpdatePosition::default(), &mut truth);
        let framing = options.wire_framing();
        let numbers_messages = options.sequence == SequenceNumbers::Messages;
        let packer = |first| ChannelPacker::new(&binding, framing, numbers_messages, first);
        let has_definitions = options.definition_every > 0;
        let definitions = (0..market.securities.len()).filter(|_| has_definitions);
        Ok(Self {
            updates: packer(options.first_seq_num),
            snapshots: packer(1),
            instruments: packer(1),
            tasks: definitions.map(Task::Definition).collect(),
            ready: VecDeque::new(),
            random,
            epoch: 0,
            now_ns: options.start_ns,
            updated_ns: options.start_ns,
            packets: 0,
            snapshot_next: 0,
            definition_next: 0,
            is_over: false,
            options: options.clone(),
            templates,
            binding,
            market,
            truth,
        })
    }

    /// Returns the template file of the feed.
    pub fn templates(&self) -> &str {
        &self.templates
    }

    /// Returns the compiled [`templates`](Self::templates).
    pub fn program(&self) -> &Arc<Program> {
        self.binding.program()
    }

    /// Returns the binding that compares decoded messages with the drafts.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Returns the true state after the last packet of updates handed out.
    pub fn truth(&self) -> &DayTruth {
        &self.truth
    }

    /// Returns the options of the day.
    pub fn options(&self) -> &DayOptions {
        &self.options
    }

    /// Returns the next packet; `None` after the last.
    ///
    /// # Errors
    /// [`ExchangeError::Encode`] if a value does not fit the templates: a defect of this crate.
    pub fn next_packet(&mut self) -> Result<Option<DayPacket>, ExchangeError> {
        loop {
            if let Some(packet) = self.ready.pop_front() {
                return Ok(Some(packet));
            }
            match self.tasks.pop_front() {
                Some(task) => self.perform(task)?,
                None if self.is_over => return Ok(None),
                None => self.plan(),
            }
        }
    }

    /// Plans the next packet of updates and the packets that follow it, or the end of the day.
    fn plan(&mut self) {
        let count = self.market.securities.len();
        if self.packets >= self.options.packets {
            // Two final rounds of snapshots let every handler recover: after lost packets, the
            // first snapshot that a handler sees may be incomplete.
            if self.options.snapshot_every > 0 {
                self.tasks.extend((0..2 * count).map(|index| Task::Snapshot(index % count)));
            }
            self.is_over = true;
            return;
        }
        self.tasks.push_back(Task::Heartbeats);
        match self.day_change_due() {
            Some(change) => self.tasks.extend([
                Task::Session(SESSION_CLOSED),
                Task::DayChange(change),
                Task::Session(SESSION_OPEN),
            ]),
            None => self.tasks.push_back(Task::Updates),
        }
        let is_due = |every: u64| every > 0 && (self.packets + 1).is_multiple_of(every);
        let (has_snapshot, has_definition) =
            (is_due(self.options.snapshot_every), is_due(self.options.definition_every));
        if has_snapshot {
            self.tasks.push_back(Task::Snapshot(self.snapshot_next));
            self.snapshot_next = (self.snapshot_next + 1) % count;
            if self.snapshot_next == 0 && self.options.resets_snapshots {
                self.tasks.push_back(Task::SnapshotReset);
            }
        }
        if has_definition {
            self.tasks.push_back(Task::Definition(self.definition_next));
            self.definition_next = (self.definition_next + 1) % count;
        }
    }

    /// Returns the day change if it is due with the next packet of updates.
    fn day_change_due(&self) -> Option<DayChange> {
        let changes = &self.options.day_changes;
        let (count, index) = (changes.len() as u64, u64::from(self.epoch));
        let at = self.options.packets / (count + 1) * (index + 1);
        changes.get(index as usize).copied().filter(|_| self.packets >= at)
    }

    fn perform(&mut self, task: Task) -> Result<(), ExchangeError> {
        match task {
            Task::DayChange(change) => self.change_day(change),
            Task::Definition(index) => self.define(index),
            Task::Heartbeats => self.pause(),
            Task::Session(status) => self.tell_session(status),
            Task::Snapshot(index) => self.snapshot(index),
            Task::SnapshotReset => {
                let draft = messages::sequence_reset(1, self.clock());
                self.send(DayChannel::Snapshots, vec![draft])?;
                self.snapshots.next = 1;
                Ok(())
            }
            Task::Updates => self.update(),
        }
    }

    fn clock(&self) -> Clock {
        Clock::new(self.now_ns)
    }

    fn send(
        &mut self,
        channel: DayChannel,
        mut drafts: Vec<MessageDraft>,
    ) -> Result<(), ExchangeError> {
        let packer = match channel {
            DayChannel::Updates => &mut self.updates,
            DayChannel::Snapshots => &mut self.snapshots,
            DayChannel::Instruments => &mut self.instruments,
        };
        let (seq_num, bytes) = packer.pack(&self.binding, &mut drafts)?;
        self.push(channel, Some(seq_num), bytes, drafts);
        Ok(())
    }

    fn push(
        &mut self,
        channel: DayChannel,
        seq_num: Option<u64>,
        bytes: Vec<u8>,
        messages: Vec<MessageDraft>,
    ) {
        self.ready.push_back(DayPacket {
            channel,
            epoch: self.epoch,
            seq_num,
            sent_ns: self.now_ns,
            bytes,
            preamble_bytes: self.options.wire_framing().preamble_bytes(),
            messages,
        });
        // No two packets have the same time.
        self.now_ns += self.random.u64(1..1_000);
        if channel == DayChannel::Updates {
            self.updated_ns = self.now_ns;
        }
    }

    /// Advances the clock to the next packet of updates, with heartbeats if the gap is long.
    fn pause(&mut self) -> Result<(), ExchangeError> {
        let mean = self.options.gap_ns;
        let gap_ns = match self.random.u32(0..1_000) {
            // Bursts, and rarely a long silence.
            0..300 => mean / 20,
            300..999 => self.random.u64(0..=mean.saturating_mul(5) / 2),
            _ => mean.saturating_mul(self.random.u64(0..100)),
        };
        let until_ns = self.now_ns + gap_ns;
        let interval_ns = self.options.heartbeat_interval_ns;
        while self.options.heartbeats != Heartbeats::None
            && self.updated_ns + interval_ns < until_ns
        {
            self.now_ns = self.now_ns.max(self.updated_ns + interval_ns);
            let draft = messages::heartbeat(self.clock());
            if self.options.heartbeats == Heartbeats::Numbered {
                self.send_updates(vec![draft])?;
            } else {
                let bytes = self.updates.pack_unnumbered(&self.binding, &draft)?;
                self.push(DayChannel::Updates, None, bytes, vec![draft]);
            }
        }
        self.now_ns = self.now_ns.max(until_ns);
        Ok(())
    }

    /// Sends a packet of updates that changes no book.
    fn send_updates(&mut self, drafts: Vec<MessageDraft>) -> Result<(), ExchangeError> {
        for index in 0..drafts.len() as u32 {
            let seq_num = self.updates.next;
            self.truth.end_message(UpdatePosition { epoch: self.epoch, seq_num, index });
        }
        self.send(DayChannel::Updates, drafts)
    }

    fn update(&mut self) -> Result<(), ExchangeError> {
        self.packets += 1;
        let clock = self.clock();
        let messages = self.random.usize(1..=self.options.messages_per_packet_max.max(1));
        let mut drafts = Vec::with_capacity(messages);
        while drafts.len() < messages {
            let at = self.next_moment(drafts.len());
            let draft = self.market.message(&self.options, clock, at, &mut self.truth);
            let Some(entries_max) = self.options.transaction_entries_max else {
                self.truth.end_message(at);
                drafts.push(draft);
                continue;
            };
            let fragments = messages::divided(draft, entries_max);
            if fragments.len() > 1 && self.random.bool() {
                return self.send_apart(drafts, fragments);
            }
            let parts: Vec<_> = (drafts.len()..)
                .zip(&fragments)
                .map(|(index, fragment)| (self.next_moment(index), messages::events_in(fragment)))
                .collect();
            self.note_parts(at, &parts);
            drafts.extend(fragments);
        }
        self.send(DayChannel::Updates, drafts)
    }

    /// Records in the truth that the events of moment `at` are sent in several messages.
    fn note_parts(&mut self, at: UpdatePosition, parts: &[(UpdatePosition, usize)]) {
        if parts.len() > 1 {
            self.truth.divide(at, parts);
        }
        parts.iter().for_each(|(moment, _)| self.truth.end_message(*moment));
    }

    /// Returns the moment after message `index` of the next packet of updates.
    fn next_moment(&self, index: usize) -> UpdatePosition {
        UpdatePosition { epoch: self.epoch, seq_num: self.updates.next, index: index as u32 }
    }

    /// Sends the first fragment of a transaction after other messages, and each further fragment in
    /// a separate packet.
    fn send_apart(
        &mut self,
        mut drafts: Vec<MessageDraft>,
        fragments: Vec<MessageDraft>,
    ) -> Result<(), ExchangeError> {
        let by_message = self.options.sequence == SequenceNumbers::Messages;
        let first = drafts.len();
        let packet_numbers = if by_message { first as u64 + 1 } else { 1 };
        let at = self.next_moment(first);
        let mut parts = Vec::with_capacity(fragments.len());
        for (number, fragment) in (0..).zip(&fragments) {
            let moment = match number {
                0 => at,
                _ => UpdatePosition {
                    seq_num: at.seq_num + packet_numbers + number - 1,
                    index: 0,
                    ..at
                },
            };
            parts.push((moment, messages::events_in(fragment)));
        }
        self.note_parts(at, &parts);
        let mut fragments = fragments.into_iter();
        drafts.extend(fragments.next());
        self.send(DayChannel::Updates, drafts)?;
        fragments.try_for_each(|fragment| self.send(DayChannel::Updates, vec![fragment]))
    }

    fn change_day(&mut self, change: DayChange) -> Result<(), ExchangeError> {
        self.packets += 1;
        let drafts = vec![messages::sequence_reset(change.new_seq_no, self.clock())];
        self.send_updates(drafts)?;
        self.epoch += 1;
        self.updates.next = change.new_seq_no;
        self.market.begin_session(change.restarts_rpt_seq);
        let at = UpdatePosition { epoch: self.epoch, ..UpdatePosition::default() };
        self.market.publish_all(at, &mut self.truth);
        self.truth.begin_session(at);
        Ok(())
    }

    fn tell_session(&mut self, status: u64) -> Result<(), ExchangeError> {
        if !self.options.has_status {
            return Ok(());
        }
        let drafts = vec![messages::session_status(status, self.clock())];
        self.send_updates(drafts)
    }

    fn define(&mut self, index: usize) -> Result<(), ExchangeError> {
        let count = self.market.securities.len();
        let implied = self.options.has_implied.then_some(security::IMPLIED_DEPTH);
        let security = &self.market.securities[index];
        let draft = messages::definition(security, count, implied, self.clock());
        self.send(DayChannel::Instruments, vec![draft])
    }

    fn snapshot(&mut self, index: usize) -> Result<(), ExchangeError> {
        let last_seq_num = self.updates.next.saturating_sub(1);
        let security = &self.market.securities[index];
        let clock = self.clock();
        for draft in snapshots::fragments(security, &self.options, last_seq_num, clock) {
            self.send(DayChannel::Snapshots, vec![draft])?;
        }
        Ok(())
    }
}

impl Iterator for Day {
    type Item = Result<DayPacket, ExchangeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let packet = self.next_packet();
        if packet.is_err() {
            self.tasks.clear();
            self.is_over = true;
        }
        packet.transpose()
    }
}

fn compiled(xml: &str) -> Result<Arc<Program>, ExchangeError> {
    let set = TemplateSet::parse(xml).expect("the template file of days is right");
    Ok(Arc::new(Program::compile(set)?))
}
