//! The monitor's state of one channel.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{SystemTime, UNIX_EPOCH};

use tickwire_feed::arbiter::Line;
use tickwire_feed::board::BoardReader;
use tickwire_feed::handler::FeedLine;
use tickwire_feed::market::Instrument;
use tickwire_feed::recovery::StaleReason;
use tickwire_host::histogram;
use tickwire_telemetry::metrics::Distribution;
use tickwire_telemetry::spans::SpanSink;

use crate::explaining::ExplanationSettings;
use crate::gaps::Gaps;
use crate::history::BoundedHistory;
use crate::latency::{LatencyWatch, buckets, quantiles};
use crate::packets::StoredPackets;
use crate::published::{
    ChannelCounts, FeedEvent, HandOverReason, LineCounts, MonitorMessage, TradeCopy,
};
use crate::rates::Rates;
use crate::spans::ChannelSpans;
use crate::staleness::Staleness;
use crate::state::{
    ArbitrationState, BookCounts, ChannelState, EventState, GapState, LatencyState, LineState,
    Second, StaleBook,
};
use crate::summary::{ChannelSummary, LineSummary};
use crate::wishes::Wishes;
use crate::words::counted;

/// Most items taken from the queue at once, so that other channels do not have to wait.
const TAKEN_MAX: usize = 4096;
/// Number of events kept.
const EVENTS_MAX: usize = 256;
/// Number of trades kept, of all instruments together.
const KEPT_TRADES_MAX: usize = 4096;
/// Most gaps, and most events, in the state of the API.
const TOLD_MAX: usize = 64;
/// A handler that has not published for this long makes its channel stalled, in nanoseconds. A handler publishes
/// several times a second.
const STALLED_NS: u64 = 2_000_000_000;
/// Number of last seconds that a summary is about.
const SUMMARY_SECONDS: usize = 60;
/// Reasons for stale books that come from gaps.
const OF_GAPS: [&str; 3] = ["gap", "rpt_seq_gap", "out_of_sequence"];

/// A line of a channel.
#[derive(Clone, Debug)]
pub struct LineDescription {
    /// Feed and letter of the line.
    pub source: FeedLine,
    /// Group and port as text.
    pub group: String,
    /// Times from the kernel's timestamp until the handler has the packet.
    pub delays: Distribution,
}

/// Distributions of processing times, each since the start.
#[derive(Clone, Debug, Default)]
pub struct MessageTimes {
    /// Time to decode a message.
    pub decode: Distribution,
    /// Time to apply a message to the books, if measured.
    pub books: Option<Distribution>,
    /// To publish, if that is measured: from the first byte of a message until its samples are written, or to write the samples
    /// of a book or event.
    pub publish: Option<Distribution>,
}

/// Describes a channel before its first packet.
#[derive(Debug)]
pub struct ChannelDescription {
    /// Name of the channel.
    pub name: String,
    /// Offset that converts times of the handler's clock to nanoseconds since 1970.
    pub epoch_ns: u64,
    /// A line without packets for this long is silent, in nanoseconds.
    pub silent_after_ns: u64,
    /// The lines.
    pub lines: Vec<LineDescription>,
    /// Distributions of processing times.
    pub times: MessageTimes,
    /// How packets are explained; `None` if they cannot be.
    pub explaining: Option<ExplanationSettings>,
}

/// The state of a channel.
#[derive(Debug)]
pub(crate) struct MonitoredChannel {
    pub(crate) description: ChannelDescription,
    pub(crate) wishes: Arc<Wishes>,
    receiver: Receiver<MonitorMessage>,
    counts: Option<Box<ChannelCounts>>,
    rates: Rates<RateBase>,
    /// Counts at the end of the last whole second.
    second_mark: Option<RateBase>,
    /// Counts at the ends of the seconds that a summary is about.
    recent_marks: VecDeque<RateBase>,
    seq_nums: SeqNumCounts,
    pub(crate) names: Vec<(Instrument, Box<str>)>,
    /// Reads the books that clients view.
    pub(crate) board: BoardReader,
    /// The last trades, each with a number that grows.
    pub(crate) trades: VecDeque<(u64, TradeCopy)>,
    pub(crate) packets: StoredPackets,
    gaps: Gaps,
    /// Time of the last sequence reset.
    reset_ns: Option<u64>,
    events: VecDeque<EventState>,
    staleness: Staleness,
    delays: Vec<LatencyWatch>,
    decode_times: LatencyWatch,
    book_times: Option<LatencyWatch>,
    publish_times: Option<LatencyWatch>,
    pub(crate) history: BoundedHistory,
    spans: Option<ChannelSpans>,
}

/// Sequence numbers of all epochs. Those around a sequence reset are left out.
#[derive(Clone, Copy, Debug, Default)]
struct SeqNumCounts {
    /// Numbers delivered or declared lost.
    all: u64,
    /// Numbers that each line lost.
    lost: [u64; 2],
}

/// Counts from which rates and the history are computed.
#[derive(Clone, Debug, Default)]
struct RateBase {
    packets: Vec<u64>,
    bytes: Vec<u64>,
    lost: [u64; 2],
    messages: u64,
    failed: u64,
    missing: u64,
    gaps: u64,
    seq_nums: SeqNumCounts,
}

impl RateBase {
    fn new(counts: &ChannelCounts, seq_nums: SeqNumCounts) -> Self {
        Self {
            packets: counts.lines.iter().map(|line| line.socket.packets).collect(),
            bytes: counts.lines.iter().map(|line| line.socket.bytes).collect(),
            lost: lost_by_lines(counts),
            messages: counts.handler.messages.decoded,
            failed: counts.handler.messages.undecodable,
            missing: counts.arbiter.gap_seq_nums,
            gaps: counts.arbiter.gaps,
            seq_nums,
        }
    }
}

impl MonitoredChannel {
    pub(crate) fn new(
        description: ChannelDescription,
        receiver: Receiver<MonitorMessage>,
        wishes: Arc<Wishes>,
        board: BoardReader,
    ) -> Self {
        let framing = description.explaining.as_ref().map(ExplanationSettings::framing);
        let delays = description.lines.iter().map(|line| LatencyWatch::new(line.delays.clone()));
        Self {
            delays: delays.collect(),
            decode_times: LatencyWatch::new(description.times.decode.clone()),
            book_times: description.times.books.clone().map(LatencyWatch::new),
            publish_times: description.times.publish.clone().map(LatencyWatch::new),
            description,
            wishes,
            receiver,
            counts: None,
            rates: Rates::default(),
            second_mark: None,
            recent_marks: VecDeque::new(),
            seq_nums: SeqNumCounts::default(),
            names: Vec::new(),
            board,
            trades: VecDeque::new(),
            packets: StoredPackets::new(framing, first_packet_id()),
            gaps: Gaps::default(),
            reset_ns: None,
            events: VecDeque::new(),
            staleness: Staleness::default(),
            history: BoundedHistory::default(),
            spans: None,
        }
    }

    /// Exports spans from now on.
    pub(crate) fn trace(&mut self, sink: &SpanSink) {
        let ChannelDescription { name, epoch_ns, .. } = &self.description;
        let spans = || ChannelSpans::new(sink.clone(), name, *epoch_ns);
        self.gaps.trace(spans());
        self.spans = Some(spans());
    }

    /// Exports the ends of all unfinished gaps, replays and recoveries, when the monitor ends.
    pub(crate) fn finish(&mut self) {
        let Some(counts) = &self.counts else { return };
        self.gaps.finish(counts.now_ns);
        if let Some(spans) = &mut self.spans {
            spans.finish(counts);
        }
    }

    /// Takes the items that the handler has queued; returns true if there were any.
    pub(crate) fn take(&mut self) -> bool {
        for taken in 0..TAKEN_MAX {
            match self.receiver.try_recv() {
                Ok(published) => self.handle(published),
                // The queue is empty, or the handler has ended.
                Err(_) => return taken > 0,
            }
        }
        true
    }

    fn handle(&mut self, published: MonitorMessage) {
        match published {
            MonitorMessage::Counts(counts) => self.count(counts),
            MonitorMessage::Event { at_ns, event } => self.event(at_ns, event),
            MonitorMessage::Packet(copy) => {
                let why = copy.why.clone();
                let id = self.packets.add(*copy);
                match why {
                    HandOverReason::Failed { .. }
                    | HandOverReason::NearFailed
                    | HandOverReason::Recent => {}
                    HandOverReason::Gap { first } => self.gaps.link(first, id),
                }
            }
            MonitorMessage::Trades(trades) => trades.into_iter().for_each(|trade| self.keep(trade)),
        }
    }

    fn keep(&mut self, trade: TradeCopy) {
        if self.trades.len() == KEPT_TRADES_MAX {
            self.trades.pop_front();
        }
        let id = self.trades.back().map_or(1, |(last, _)| last + 1);
        self.trades.push_back((id, trade));
    }

    fn at_ms(&self, at_ns: u64) -> u64 {
        self.description.epoch_ns.saturating_add(at_ns) / 1_000_000
    }

    fn event(&mut self, at_ns: u64, event: FeedEvent) {
        let mut packet = None;
        let mut packet_status = None;
        let (kind, text) = match event {
            FeedEvent::Fault { text, packet: key } => {
                packet = key.and_then(|key| self.packets.failed(&key));
                packet_status = key.map(|_| if packet.is_some() { "kept" } else { "not_kept" });
                ("fault", text)
            }
            FeedEvent::Gap(gap) => {
                self.gaps.open(gap, at_ns, self.at_ms(at_ns));
                self.packets.note_gap(gap);
                ("gap", format!("{} lost from sequence number {}", gap.count, gap.first))
            }
            FeedEvent::Line(text) => ("line", text),
            FeedEvent::ReplayBegun(gap) => {
                self.gaps.replay_begun(gap, at_ns);
                ("replay", format!("asked for {} from {}", gap.count, gap.first))
            }
            FeedEvent::ReplayAbandoned { gap, reason } => {
                self.gaps.replay_abandoned(gap, reason);
                ("replay", format!("{} from {} are not replayed: {reason}", gap.count, gap.first))
            }
            FeedEvent::ReplayDone(gap) => {
                self.gaps.replay_done(gap, at_ns);
                ("replay", format!("done with {} from {}", gap.count, gap.first))
            }
            FeedEvent::Reset { seq_num } => {
                ("reset", format!("sequence numbers restart at {seq_num}"))
            }
            FeedEvent::Silence { is_silent: true } => {
                ("silence", "all lines are silent".to_owned())
            }
            FeedEvent::Silence { is_silent: false } => ("silence", "packets come again".to_owned()),
        };
        self.log(at_ns, kind, text);
        if let Some(event) = self.events.back_mut() {
            (event.packet, event.packet_status) = (packet, packet_status);
        }
    }

    /// Adds an event to the log.
    fn log(&mut self, at_ns: u64, kind: &'static str, text: String) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        let id = self.events.back().map_or(1, |last| last.id + 1);
        let at_ms = self.at_ms(at_ns);
        let (packet, packet_status) = (None, None);
        self.events.push_back(EventState { id, at_ms, kind, text, packet, packet_status });
    }

    /// Returns the name of an instrument, or its index if the name is not known yet.
    pub(crate) fn name(&self, index: usize) -> String {
        let known = self.names.get(index);
        known.map_or_else(|| format!("#{index}"), |(_, name)| name.to_string())
    }

    /// Logs how many books snapshots have made fresh since the last counts.
    fn note_snapshots(&mut self, counts: &ChannelCounts) {
        let of = |counts: &ChannelCounts| counts.recovery.recovered_by_snapshot;
        let before = self.counts.as_deref().map_or(0, of);
        let recovered = of(counts).saturating_sub(before);
        if recovered > 0 {
            self.gaps.note_snapshot();
            let text = format!("snapshots made books fresh: {recovered}");
            self.log(counts.now_ns, "snapshot", text);
        }
    }

    fn count(&mut self, mut counts: Box<ChannelCounts>) {
        self.names.append(&mut counts.names);
        if counts.reset_ns != self.reset_ns {
            self.reset_ns = counts.reset_ns;
            self.gaps.reset(counts.reset_ns.unwrap_or_default());
        }
        self.gaps.end_replays(&counts.replaying, counts.now_ns);
        self.note_snapshots(&counts);
        self.staleness.take(&counts.states, counts.now_ns);
        self.count_seq_nums(&counts);
        let mark = RateBase::new(&counts, self.seq_nums);
        self.second_mark.get_or_insert_with(|| mark.clone());
        self.rates.note(counts.now_ns, mark);
        let is_of_gap = |state: &u8| {
            let label = StaleReason::LABELS.get(usize::from(*state).wrapping_sub(1));
            label.is_some_and(|label| OF_GAPS.contains(label))
        };
        if counts.states.is_empty() {
            self.gaps.fill_replayed(counts.now_ns);
        } else if !counts.states.iter().any(is_of_gap) {
            self.gaps.books_are_whole(counts.now_ns);
        }
        if let Some(spans) = &mut self.spans {
            spans.count(&counts);
        }
        self.counts = Some(counts);
    }

    /// Adds the sequence numbers since the last counts.
    fn count_seq_nums(&mut self, counts: &ChannelCounts) {
        let Some(before) = &self.counts else { return };
        if let (Some(next), Some(last)) = (counts.next_seq_num, before.next_seq_num)
            && counts.arbiter.resets == before.arbiter.resets
        {
            self.seq_nums.all += next.saturating_sub(last);
            let (now, before) = (lost_by_lines(counts), lost_by_lines(before));
            for line in [0, 1] {
                self.seq_nums.lost[line] += now[line].saturating_sub(before[line]);
            }
        }
    }

    /// Completes the second `t` (seconds since 1970) of the history.
    pub(crate) fn end_second(&mut self, t: u64) {
        self.delays.iter_mut().for_each(LatencyWatch::end_second);
        self.decode_times.end_second();
        let others = self.book_times.iter_mut().chain(&mut self.publish_times);
        others.for_each(LatencyWatch::end_second);
        if let Some(books) = self.staleness.newly_stale() {
            let text = books.text(|index| self.name(index));
            self.log(books.at_ns, "stale", text);
        }
        let (Some(counts), Some(mark)) = (&self.counts, self.rates.last()) else { return };
        if self.recent_marks.len() == SUMMARY_SECONDS {
            self.recent_marks.pop_front();
        }
        self.recent_marks.push_back(mark.clone());
        let before = self.second_mark.replace(mark.clone()).unwrap_or_default();
        let mut packets = [0; 2];
        for (index, line) in counts.lines.iter().enumerate() {
            if let FeedLine::Incremental(of) = line.socket.source {
                packets[of.index()] = since(&mark.packets, &before.packets, index);
            }
        }
        let mut delays = histogram::latency();
        for watched in &self.delays {
            // Cannot fail: all distributions of times have the same bounds.
            let _ = delays.add(watched.second());
        }
        let narrow = |times: &_| buckets(times).into_iter().map(|count| count as u32).collect();
        let of = |watched: &Option<LatencyWatch>| watched.as_ref().map(|of| quantiles(of.second()));
        let narrow_of = |watched: &Option<LatencyWatch>| {
            watched.as_ref().map_or_else(Vec::new, |of| narrow(of.second()))
        };
        let stale = counts.states.iter().filter(|state| **state != 0).count() as u64;
        let second = Second {
            t,
            packets,
            lost: Line::ALL.map(|line| {
                let at = line.index();
                mark.lost[at].saturating_sub(before.lost[at])
            }),
            messages: mark.messages.saturating_sub(before.messages),
            failed: mark.failed.saturating_sub(before.failed),
            missing: mark.missing.saturating_sub(before.missing),
            fresh: counts.states.len() as u64 - stale,
            stale,
            receive_delay: quantiles(&delays),
            decode_time: quantiles(self.decode_times.second()),
            book_time: of(&self.book_times).unwrap_or_default(),
            publish_time: of(&self.publish_times).unwrap_or_default(),
            receive_buckets: narrow(&delays),
            decode_buckets: narrow(self.decode_times.second()),
            book_buckets: narrow_of(&self.book_times),
            publish_buckets: narrow_of(&self.publish_times),
        };
        self.history.push(second);
    }

    /// Returns the state at `now_ns` of the handler's clock.
    pub(crate) fn state(&self, now_ns: u64) -> ChannelState {
        let base = ChannelState {
            name: self.description.name.clone(),
            silent_after_ms: self.description.silent_after_ns / 1_000_000,
            dropped_events: self.wishes.dropped(),
            status: "waiting",
            ..ChannelState::default()
        };
        let Some(counts) = &self.counts else { return base };
        let (status, lines) = self.lines(counts, now_ns);
        let is_silent = is_silent(&lines);
        let messages = counts.handler.messages;
        ChannelState {
            published_ms: Some(now_ns.saturating_sub(counts.now_ns) / 1_000_000),
            status,
            is_silent,
            lines,
            has_seq_nums: has_seq_nums(counts),
            next_seq_num: counts.next_seq_num.map(|number| number.to_string()),
            held_packets: counts.held,
            delivered_packets: counts.arbiter.delivered,
            declared_gaps: counts.arbiter.gaps,
            missing_seq_nums: counts.arbiter.gap_seq_nums,
            sequence_resets: counts.arbiter.resets,
            messages: messages.decoded,
            messages_per_second: self.rates.per_second(|mark| mark.messages),
            failed_packets: messages.undecodable,
            unknown_template_messages: messages.unknown_template
                + counts.handler.definitions.unknown_template
                + counts.handler.snapshots.unknown_template,
            misunderstood_messages: messages.not_understood
                + counts.handler.definitions.not_understood
                + counts.handler.snapshots.not_understood
                + counts.handler.replays.not_understood,
            snapshot_messages: counts.handler.snapshots.decoded,
            market_events: counts.events.into_iter().collect(),
            is_replacement_waiting: counts.is_replacement_waiting,
            books: self.books(counts),
            gaps: self.gaps(TOLD_MAX),
            events: self.events(TOLD_MAX),
            latencies: self.latencies(),
            second: self.history.last().cloned(),
            ..base
        }
    }

    /// Returns the summary at `now_ns` of the handler's clock.
    pub(crate) fn summary(&self, now_ns: u64) -> ChannelSummary {
        let name = self.description.name.clone();
        let Some(counts) = &self.counts else {
            return ChannelSummary {
                name,
                status: "waiting",
                is_ready: false,
                lines: Vec::new(),
                messages_per_second: 0.0,
                has_seq_nums: None,
                declared_gaps: 0,
                recent_gaps: 0,
                recent_failed_packets: 0,
                stale_books: 0,
                receive_delay_p99_ns: 0,
            };
        };
        let (status, lines) = self.lines(counts, now_ns);
        let nothing = RateBase::default();
        let now = self.rates.last().unwrap_or(&nothing);
        // In the first minute, everything since the start is recent.
        let is_whole_minute = self.recent_marks.len() == SUMMARY_SECONDS;
        let before = self.recent_marks.front().filter(|_| is_whole_minute).unwrap_or(&nothing);
        let numbers = now.seq_nums.all.saturating_sub(before.seq_nums.all);
        let line = |(line, counts): (&LineState, &LineCounts)| {
            let FeedLine::Incremental(of) = counts.socket.source else { return None };
            let at = of.index();
            let lost = now.seq_nums.lost[at].saturating_sub(before.seq_nums.lost[at]);
            Some(LineSummary::new(line, lost, numbers))
        };
        let stale_books = stale_books(counts);
        let recent = self.history.seconds(SUMMARY_SECONDS);
        ChannelSummary {
            is_ready: not_ready(&name, status, stale_books).is_none(),
            name,
            status,
            lines: lines.iter().zip(&counts.lines).filter_map(line).collect(),
            messages_per_second: self.rates.per_second(|mark| mark.messages),
            has_seq_nums: has_seq_nums(counts),
            declared_gaps: now.gaps,
            recent_gaps: now.gaps.saturating_sub(before.gaps),
            recent_failed_packets: now.failed.saturating_sub(before.failed),
            stale_books,
            receive_delay_p99_ns: recent
                .iter()
                .map(|of| of.receive_delay.p99_ns)
                .max()
                .unwrap_or(0),
        }
    }

    /// Returns the status at `now_ns` of the handler's clock.
    pub(crate) fn status(&self, now_ns: u64) -> &'static str {
        self.counts.as_ref().map_or("waiting", |counts| self.lines(counts, now_ns).0)
    }

    /// Returns the reason why the channel is not ready at `now_ns` of the handler's clock.
    pub(crate) fn not_ready(&self, now_ns: u64) -> Option<String> {
        let stale_books = self.counts.as_deref().map_or(0, stale_books);
        not_ready(&self.description.name, self.status(now_ns), stale_books)
    }

    /// Returns the newest `count` gaps, the newest first.
    pub(crate) fn gaps(&self, count: usize) -> Vec<GapState> {
        self.gaps.newest(count).into_iter().map(|gap| self.linked_gap(gap)).collect()
    }

    /// Returns the newest `count` events, the newest first.
    pub(crate) fn events(&self, count: usize) -> Vec<EventState> {
        self.events.iter().rev().take(count).map(|event| self.linked_event(event)).collect()
    }

    /// Returns a gap as the state has it: with links to those of its packets that are still kept.
    fn linked_gap(&self, mut gap: GapState) -> GapState {
        // Without books, only a replay fills a gap.
        let has_books = self.counts.as_ref().is_some_and(|counts| !counts.states.is_empty());
        if gap.status == "open" && !has_books {
            gap.status = "lost";
        }
        let known = gap.packets.len();
        gap.packets.retain(|packet| self.packets.has_marked(*packet));
        gap.packets_status = match gap.packets.len() {
            _ if known == 0 => "not_kept",
            kept if kept < known => "gone",
            _ => "kept",
        };
        gap
    }

    /// Returns an event with the link to its packet if that is still kept.
    fn linked_event(&self, event: &EventState) -> EventState {
        let mut event = event.clone();
        if event.packet.is_some_and(|packet| !self.packets.has_marked(packet)) {
            (event.packet, event.packet_status) = (None, Some("gone"));
        }
        event
    }

    /// Returns the status of the channel, and its lines.
    fn lines(&self, counts: &ChannelCounts, now_ns: u64) -> (&'static str, Vec<LineState>) {
        let is_stalled = now_ns.saturating_sub(counts.now_ns) > STALLED_NS;
        // Without sequence numbers the arbiter counts nothing.
        let is_arbitrated = has_seq_nums(counts) != Some(false);
        let line = |(index, line): (usize, &LineCounts)| {
            let (feed, name) = crate::line_names(line.socket.source);
            let age_ns = now_ns.saturating_sub(line.socket.last_packet_ns);
            let is_silent = age_ns > self.description.silent_after_ns;
            let status = match () {
                () if is_stalled => "stalled",
                () if line.socket.packets == 0 => "waiting",
                () if is_silent => "silent",
                () if line.is_excluded => "excluded",
                () => "alive",
            };
            let group = self.description.lines.get(index).map(|line| line.group.clone());
            LineState {
                feed,
                line: name,
                group: group.unwrap_or_default(),
                status,
                age_ms: age_ns / 1_000_000,
                received_packets: line.socket.packets,
                received_bytes: line.socket.bytes,
                packets_per_second: self
                    .rates
                    .per_second(|mark| mark.packets.get(index).copied().unwrap_or(0)),
                bytes_per_second: self
                    .rates
                    .per_second(|mark| mark.bytes.get(index).copied().unwrap_or(0)),
                dropped_packets: line.socket.dropped,
                malformed_packets: line.input.malformed,
                arbitration: line.arbitrated.filter(|_| is_arbitrated).map(|counters| {
                    ArbitrationState {
                        first_packets: counters.first,
                        duplicate_packets: counters.duplicate,
                        late_packets: counters.late,
                        unexpected_packets: counters.unexpected,
                        out_of_order_packets: counters.out_of_order,
                        differing_packets: counters.differing,
                        lost_seq_nums: counters.lost,
                    }
                }),
            }
        };
        let lines: Vec<LineState> = counts.lines.iter().enumerate().map(line).collect();
        let status = match () {
            () if is_stalled => "stalled",
            () if is_waiting(&lines) => "waiting",
            () if is_silent(&lines) => "silent",
            () => "live",
        };
        (status, lines)
    }

    fn books(&self, counts: &ChannelCounts) -> BookCounts {
        let mut stale = BTreeMap::new();
        for state in counts.states.iter().filter(|state| **state != 0) {
            if let Some(label) = StaleReason::LABELS.get(usize::from(*state) - 1) {
                *stale.entry(*label).or_insert(0) += 1;
            }
        }
        let all: u64 = stale.values().sum();
        let stale_book = |(instrument, reason): &(Instrument, StaleReason)| StaleBook {
            instrument: instrument.index(),
            name: self.name(instrument.index()),
            reason: reason.label(),
            text: reason.to_string(),
            since_ms: self.stale_since_ms(instrument.index()),
        };
        let recovery = &counts.recovery;
        BookCounts {
            fresh: counts.states.len() as u64 - all,
            stale,
            stale_books: counts.stale.iter().map(stale_book).collect(),
            waiting_updates: counts.updates_held,
            applied_updates: recovery.applied,
            recovered_books: recovery.recovered,
            verified_snapshots: recovery.verified,
            mismatched_snapshots: recovery.mismatches,
            inconsistent_books: recovery.inconsistent,
        }
    }

    fn latencies(&self) -> Vec<LatencyState> {
        let of = |name, line: Option<String>, watched: &LatencyWatch| LatencyState {
            name,
            line,
            quantiles: watched.quantiles(),
            buckets: watched.buckets().to_vec(),
        };
        let delays = self.description.lines.iter().zip(&self.delays);
        let delays = delays.map(|(line, watched)| {
            let (feed, name) = crate::line_names(line.source);
            of("receive_delay", Some(format!("{feed} {name}")), watched)
        });
        let times = [
            ("decode_time", Some(&self.decode_times)),
            ("book_time", self.book_times.as_ref()),
            ("publish_time", self.publish_times.as_ref()),
        ];
        let times = times.into_iter().filter_map(|(name, watched)| Some(of(name, None, watched?)));
        delays.chain(times).collect()
    }

    /// Returns true if the handler's templates were replaced since the start.
    pub(crate) fn has_other_templates(&self) -> bool {
        self.counts.as_ref().is_some_and(|counts| counts.handler.replacements > 0)
    }

    /// Returns true if the counters were published after `at_ns`.
    pub(crate) fn has_counts_after(&self, at_ns: u64) -> bool {
        self.counts.as_ref().is_some_and(|counts| counts.now_ns > at_ns)
    }

    /// Returns the state of a book by the index of its instrument: 0 is fresh, otherwise 1 + the index of the reason.
    pub(crate) fn book_state(&self, index: usize) -> Option<u8> {
        self.counts.as_ref()?.states.get(index).copied()
    }

    /// Returns the time since which a book is stale, in milliseconds since 1970.
    pub(crate) fn stale_since_ms(&self, index: usize) -> Option<u64> {
        self.staleness.since_ns(index).map(|at_ns| self.at_ms(at_ns))
    }

    /// Returns the reason why a book is stale, as a sentence.
    pub(crate) fn stale_text(&self, index: usize) -> Option<String> {
        let counts = self.counts.as_ref()?;
        let (_, reason) = counts.stale.iter().find(|(known, _)| known.index() == index)?;
        Some(reason.to_string())
    }
}

/// Returns true if packets have sequence numbers; `None` before the first message.
fn has_seq_nums(counts: &ChannelCounts) -> Option<bool> {
    let is_known = counts.next_seq_num.is_some() || counts.handler.messages.decoded > 0;
    is_known.then_some(counts.next_seq_num.is_some())
}

/// Returns the number of stale books.
fn stale_books(counts: &ChannelCounts) -> u64 {
    counts.states.iter().filter(|state| **state != 0).count() as u64
}

/// Returns the sequence numbers that each line of the incremental feed has lost.
fn lost_by_lines(counts: &ChannelCounts) -> [u64; 2] {
    let mut lost = [0; 2];
    for line in &counts.lines {
        if let (FeedLine::Incremental(of), Some(counters)) = (line.socket.source, line.arbitrated) {
            lost[of.index()] = counters.lost;
        }
    }
    lost
}

fn since(now: &[u64], before: &[u64], index: usize) -> u64 {
    let count = now.get(index).copied().unwrap_or(0);
    count.saturating_sub(before.get(index).copied().unwrap_or(0))
}

fn is_waiting(lines: &[LineState]) -> bool {
    lines.iter().all(|line| line.status == "waiting")
}

fn is_silent(lines: &[LineState]) -> bool {
    // A line that has never received a packet does not keep a silent feed live.
    let is_quiet = |line: &LineState| matches!(line.status, "silent" | "waiting");
    !is_waiting(lines) && lines.iter().all(is_quiet)
}

/// Returns the first id of packets: microseconds since 1970. A link to a packet of an earlier process then finds no other
/// packet, and browsers read the ids exactly.
fn first_packet_id() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_micros() as u64)
}

/// Returns the reason why a channel is not ready.
pub(crate) fn not_ready(name: &str, status: &str, stale_books: u64) -> Option<String> {
    match status {
        "waiting" => Some(format!("{name}: no packet has come")),
        "stalled" => Some(format!("{name}: its handler does not run")),
        "silent" => Some(format!("{name}: all lines are silent")),
        _ if stale_books > 0 => {
            Some(format!("{name}: {}", counted(stale_books, "book is stale", "books are stale")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;
    use tickwire_feed::arbiter::{ArbiterCounters, LineCounters};
    use tickwire_feed::board::Board;
    use tickwire_feed::handler::{HandlerCounters, InputCounters};
    use tickwire_feed::recovery::RecoveryCounters;

    use crate::published::SocketFacts;

    /// Returns counts before the number `next`, after `resets` resets, with the losses of both lines.
    fn counts(next: u64, resets: u64, lost: [u64; 2]) -> Box<ChannelCounts> {
        let line = |line: Line| LineCounts {
            socket: SocketFacts {
                source: FeedLine::Incremental(line),
                packets: 1,
                bytes: 1,
                dropped: 0,
                last_packet_ns: 1,
            },
            input: InputCounters::default(),
            arbitrated: Some(LineCounters { lost: lost[line.index()], ..Default::default() }),
            is_excluded: false,
        };
        Box::new(ChannelCounts {
            now_ns: 1,
            lines: Line::ALL.map(line).to_vec(),
            arbiter: ArbiterCounters { resets, ..Default::default() },
            held: 0,
            next_seq_num: Some(next),
            handler: HandlerCounters::default(),
            recovery: RecoveryCounters::default(),
            updates_held: 0,
            events: [("", 0); 5],
            is_replacement_waiting: false,
            replaying: Vec::new(),
            reset_ns: None,
            states: Vec::new(),
            stale: Vec::new(),
            names: Vec::new(),
        })
    }

    /// Returns a channel without counts.
    fn channel() -> MonitoredChannel {
        let description = ChannelDescription {
            name: "feed".to_owned(),
            epoch_ns: 0,
            silent_after_ns: 1,
            lines: Vec::new(),
            times: MessageTimes::default(),
            explaining: None,
        };
        let (_sender, receiver) = sync_channel(1);
        MonitoredChannel::new(description, receiver, Arc::default(), Board::new().reader())
    }

    #[test]
    fn the_reason_counts_stale_books() {
        let reason = |stale| not_ready("feed", "live", stale);
        assert_eq!(reason(0), None);
        assert_eq!(reason(1).as_deref(), Some("feed: 1 book is stale"));
        assert_eq!(reason(2).as_deref(), Some("feed: 2 books are stale"));
    }

    #[test]
    fn without_sequence_numbers_losses_are_unknown_not_0() {
        let mut channel = channel();
        assert_eq!(channel.state(1).has_seq_nums, None);
        channel.count(Box::new(ChannelCounts { next_seq_num: None, ..*counts(1, 0, [0, 0]) }));
        assert_eq!(channel.state(1).has_seq_nums, None);
        let mut unnumbered = counts(1, 0, [0, 0]);
        unnumbered.next_seq_num = None;
        unnumbered.handler.messages.decoded = 5;
        channel.count(unnumbered);
        let (state, summary) = (channel.state(1), channel.summary(1));
        assert_eq!((state.has_seq_nums, summary.has_seq_nums), (Some(false), Some(false)));
        assert!(state.lines.iter().all(|line| line.arbitration.is_none()));
        assert!(summary.lines.iter().all(|line| line.lost_percent.is_none()));
        channel.count(counts(6, 0, [0, 0]));
        let state = channel.state(1);
        assert_eq!(state.has_seq_nums, Some(true));
        assert!(state.lines.iter().all(|line| line.arbitration.is_some()));
    }

    #[test]
    fn losses_around_a_reset_are_left_out_as_its_numbers_are() {
        let mut channel = channel();
        channel.count(counts(1, 0, [0, 0]));
        channel.count(counts(101, 0, [0, 1]));
        channel.count(counts(11, 1, [0, 51]));
        let lost = |channel: &MonitoredChannel| {
            let lines = channel.summary(1).lines;
            lines.iter().map(|line| line.lost_percent).collect::<Vec<_>>()
        };
        assert_eq!(lost(&channel), [Some(0.0), Some(1.0)]);
        channel.count(counts(111, 1, [0, 54]));
        assert_eq!(lost(&channel), [Some(0.0), Some(2.0)]);
    }
}
