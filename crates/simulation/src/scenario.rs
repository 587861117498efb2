//! A scenario: a day, its faults, and the configuration of the handler.

use crate::choices::ScenarioChoices;
use crate::draw::{
    day_ns, draw_clock_steps, draw_day, draw_handover, draw_line, draw_replay, draw_resets,
    draw_silence, draw_snapshots, draw_wrong_line, draw_wrong_line_midway, session_ns,
};
use fastrand::Rng;
use tickwire_exchange::day::{
    BookForm, DayOptions, Heartbeats, InstrumentKeyKind, SequenceNumbers,
};
use tickwire_net::inject::{ClockStep, FaultWindow, Faults};

/// Nanoseconds in a millisecond.
pub(crate) const MS: u64 = 1_000_000;

/// Minimum duration of a session, in hold times.
const SESSION_HOLDS_MIN: u64 = 50;

/// Approximate maximum number of packets lost in a silence, on days with several sessions.
const SILENT_PACKETS_MAX: u64 = 400;

/// The configuration of the handler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandlerSetup {
    /// Time to wait for a missing number, in nanoseconds.
    pub hold_ns: u64,
    /// Maximum lag of line B, or of a snapshot of the old session, in nanoseconds.
    pub skew_ns: u64,
    /// True if the handler is configured with the depth of books; otherwise it learns the depth
    /// from the feed.
    pub is_told_depth: bool,
    /// True if the handler is configured with the first sequence number.
    pub is_told_first: bool,
    /// Heartbeat interval of the feed in nanoseconds, if the handler is configured with it.
    pub heartbeat_ns: Option<u64>,
    /// The decoding engine.
    pub engine: SimulationEngine,
    /// The TCP replay server for lost packets, if there is one.
    pub replay: Option<ReplaySetup>,
}

/// The decoder of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulationEngine {
    /// The dynamic decoder.
    Dynamic,
    /// Generated code for all templates of a day, possibly except heartbeats.
    Generated,
}

/// A TCP replay server: its limits and faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplaySetup {
    /// Latency in each direction, in nanoseconds.
    pub latency_ns: u64,
    /// True if the client knows the password.
    pub knows_password: bool,
    /// Maximum number of requests that the server answers.
    pub requests_per_day_max: u32,
    /// Maximum number of sequence numbers in one request.
    pub messages_per_request_max: u64,
    /// Maximum number of packets that the server stores.
    pub messages_stored_max: usize,
    /// Probability that a connection breaks in the middle of an answer.
    pub disconnect: f64,
}

/// Delivery of the packets with a SequenceReset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resets {
    /// These packets arrive on every line.
    Told,
    /// These packets are lost as often as others.
    MayBeLost,
    /// No line carries such packets: numbers restart without notice.
    Silent,
}

/// A trading day with faults. The same seed gives the same scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Seed of the faults.
    pub seed: u64,
    /// The day.
    pub day: DayOptions,
    /// Faults of lines A and B; `None` if there is no line B. A line that carries another channel
    /// carries that of the next seed.
    pub lines: [Option<Faults>; 2],
    /// Lead of the other channel's packets before their own time, in nanoseconds.
    pub other_lead_ns: u64,
    /// Delivery of SequenceResets.
    pub resets: Resets,
    /// Steps of the receiver's time of day.
    pub clock_steps: Vec<ClockStep>,
    /// Faults of the snapshots.
    pub snapshots: Faults,
    /// Configuration of the handler.
    pub handler: HandlerSetup,
}

/// The size of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScenarioSize {
    /// Maximum number of packets of updates.
    pub packets_max: u64,
}

impl Scenario {
    /// Draws the scenario of a seed.
    pub fn new(seed: u64, size: ScenarioSize) -> Self {
        let mut choices = ScenarioChoices::Seeded(Rng::with_seed(seed));
        Self::draw(&mut choices, seed, size)
    }

    /// Returns the time in which line B carries another channel, after it has carried this one, in
    /// nanoseconds since the day began.
    pub(crate) fn wrong_midway(&self) -> Option<FaultWindow> {
        let mut wrong = self.lines.iter().flatten().filter_map(|line| line.wrong_line);
        wrong.find(|wrong| wrong.start_ns > 0)
    }

    /// Draws a scenario from the bytes of a fuzzer; any bytes are valid.
    pub fn from_bytes(bytes: &[u8], size: ScenarioSize) -> Self {
        let mut choices = ScenarioChoices::Bytes(bytes);
        let seed = choices.below(u64::MAX);
        Self::draw(&mut choices, seed, size)
    }

    fn draw(choices: &mut ScenarioChoices<'_>, seed: u64, size: ScenarioSize) -> Self {
        let mut day = draw_day(choices, seed, size);
        let hold_ns = choices.of(&[2 * MS, 2 * MS, 500_000, 20 * MS]);
        let skew_ns = 1_000 * MS;
        if session_ns(&day) < SESSION_HOLDS_MIN * hold_ns {
            // In a short session, numbers would restart before the last ones are due.
            day.day_changes.clear();
        }
        let has_b = !choices.one_in(8);
        let mut a = draw_line(choices, &day, hold_ns, skew_ns);
        let mut b = draw_line(choices, &day, hold_ns, skew_ns);
        let snapshots = draw_snapshots(choices, &day);
        let mut resets = draw_resets(choices, &day);
        if has_b && choices.one_in(10) && day_ns(&day) > 100 * MS {
            b = draw_wrong_line(choices, &day, b);
            // The handler accepts packets that line A has lost from a line B that was never
            // compared; so line A loses none.
            a = Faults { loss: 0.0, delay_ns: 0, drift_ns: 0, silence: None, ..a };
            resets = Resets::Told;
        }
        let mut lines = [Some(a), has_b.then_some(b)];
        if b.wrong_line.is_none() {
            draw_silence(choices, &day, &mut lines);
        }
        if resets != Resets::Told {
            // If a silence covers a whole session, the handler cannot see its end without a reset.
            lines.iter_mut().flatten().for_each(|line| line.silence = None);
        }
        if !day.day_changes.is_empty() {
            // A lone SequenceReset after a silence of more numbers than a handler looks ahead
            // counts as a stray packet.
            let longest_ns = SILENT_PACKETS_MAX * day.gap_ns;
            let silences = lines.iter_mut().flatten().filter_map(|line| line.silence.as_mut());
            silences.filter(|silence| silence.end_ns < u64::MAX).for_each(|silence| {
                silence.end_ns = silence.end_ns.min(silence.start_ns + longest_ns);
            });
        }
        let clock_steps = draw_clock_steps(choices, &day);
        let has_defined_depth = day.definition_every > 0 || day.has_snapshot_depth;
        let is_mixed = matches!(&day.books, BookForm::Levels { depths } if depths.len() > 1);
        let mut handler = HandlerSetup {
            hold_ns,
            skew_ns,
            is_told_depth: !has_defined_depth && !is_mixed && choices.one_in(2),
            is_told_first: choices.one_in(3),
            heartbeat_ns: (day.heartbeats != Heartbeats::None && choices.one_in(2))
                .then_some(day.heartbeat_interval_ns),
            engine: SimulationEngine::Dynamic,
            replay: choices.one_in(2).then(|| draw_replay(choices)),
        };
        day.transaction_entries_max = choices.of(&[None, None, Some(1), Some(3)]);
        if day.key == InstrumentKeyKind::SecurityId && choices.one_in(2) {
            day.has_unused_fields = true;
            handler.engine = SimulationEngine::Generated;
        }
        day.keeps_history = true;
        let mut other_lead_ns = 0;
        if has_b && b.wrong_line.is_none() && resets == Resets::Told {
            match choices.below(16) {
                0 if day.sequence == SequenceNumbers::Packets => {
                    other_lead_ns = draw_wrong_line_midway(choices, &mut day, &mut lines);
                    handler.replay = None;
                }
                15 => draw_handover(choices, &day, &mut lines),
                _ => {}
            }
        }
        Self { seed, day, lines, other_lead_ns, resets, clock_steps, snapshots, handler }
    }
}
