//! What is played: a day, faults, and how the handler is set up.

use crate::choices::Choices;
use fastrand::Rng;
use tickwire_exchange::day::{
    BookForm, DayChange, DayOptions, Heartbeats, InstrumentKey, SequenceNumbers,
};
use tickwire_feed::framing::Preset;
use tickwire_net::inject::{Faults, Window};

/// Milliseconds in nanoseconds.
const MS: u64 = 1_000_000;

/// Sessions last so many hold times at least.
const SESSION_HOLDS_MIN: u64 = 50;

/// How the handler is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandlerSetup {
    /// How long a missing number is waited for, in nanoseconds.
    pub hold_ns: u64,
    /// How far line B, or a snapshot of the old session, may lag behind, in nanoseconds.
    pub skew_ns: u64,
    /// Whether the handler is told the depth of books; else it learns it.
    pub is_told_depth: bool,
    /// Whether the handler is told the first sequence number.
    pub is_told_first: bool,
}

/// A trading day with faults. The same seed gives the same scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Seed of the faults.
    pub seed: u64,
    /// The day.
    pub day: DayOptions,
    /// Faults of lines A and B; `None` where line B is not there.
    pub lines: [Option<Faults>; 2],
    /// Faults of the snapshots.
    pub snapshots: Faults,
    /// How the handler is set up.
    pub handler: HandlerSetup,
}

/// How long scenarios are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Most packets of updates.
    pub packets_max: u64,
}

impl Scenario {
    /// Draws the scenario of a seed.
    pub fn new(seed: u64, size: Size) -> Self {
        let mut choices = Choices::Seeded(Rng::with_seed(seed));
        Self::draw(&mut choices, seed, size)
    }

    /// Draws a scenario from the bytes of a fuzzer: any bytes give one.
    pub fn from_bytes(bytes: &[u8], size: Size) -> Self {
        let mut choices = Choices::Bytes(bytes);
        let seed = choices.below(u64::MAX);
        Self::draw(&mut choices, seed, size)
    }

    fn draw(choices: &mut Choices<'_>, seed: u64, size: Size) -> Self {
        let mut day = draw_day(choices, seed, size);
        let hold_ns = choices.of(&[2 * MS, 2 * MS, 500_000, 20 * MS]);
        let skew_ns = 1_000 * MS;
        if session_ns(&day) < SESSION_HOLDS_MIN * hold_ns {
            // Numbers that start again before the last ones are due.
            day.day_changes.clear();
        }
        let has_b = !choices.one_in(8);
        let a = draw_line(choices, &day, hold_ns, skew_ns);
        let b = draw_line(choices, &day, hold_ns, skew_ns);
        let snapshots = draw_snapshots(choices, &day);
        let has_defined_depth = day.definition_every > 0 || day.has_snapshot_depth;
        let is_mixed = matches!(&day.books, BookForm::Levels { depths } if depths.len() > 1);
        let handler = HandlerSetup {
            hold_ns,
            skew_ns,
            is_told_depth: !has_defined_depth && !is_mixed && choices.one_in(2),
            is_told_first: choices.one_in(3),
        };
        day.keeps_history = true;
        Self { seed, day, lines: [Some(a), has_b.then_some(b)], snapshots, handler }
    }
}

fn draw_day(choices: &mut Choices<'_>, seed: u64, size: Size) -> DayOptions {
    let books = match choices.below(8) {
        0 => BookForm::Levels { depths: vec![5] },
        1 | 2 => BookForm::Levels { depths: vec![10] },
        3 | 4 => BookForm::Levels { depths: vec![5, 10, 1, 3] },
        5 => BookForm::Prices { depth: choices.of(&[None, Some(5)]) },
        _ => BookForm::Orders,
    };
    let key = choices.of(&[InstrumentKey::SecurityId, InstrumentKey::SymbolAndSession]);
    let sequence = choices.of(&[
        SequenceNumbers::Packets,
        SequenceNumbers::Packets,
        SequenceNumbers::Messages,
    ]);
    let framings = [Preset::Cme, Preset::MoexAsts, Preset::MoexSpectra, Preset::Cme];
    let packets = size.packets_max / 2 + choices.below(size.packets_max / 2 + 1);
    let mid_session = choices.one_in(3);
    let heartbeats = choices.of(&match sequence {
        SequenceNumbers::Messages => {
            [Heartbeats::None, Heartbeats::Numbered, Heartbeats::Unnumbered]
        }
        SequenceNumbers::Packets => [Heartbeats::None, Heartbeats::Numbered, Heartbeats::Numbered],
    });
    let day_changes = draw_day_changes(choices);
    let instruments = choices.of(&[1, 2, 5, 12]);
    DayOptions {
        seed,
        instruments,
        packets,
        messages_per_packet_max: choices.of(&[1, 1, 3, 8]),
        events_per_message_max: choices.of(&[1, 3, 6]),
        has_implied: books != BookForm::Orders && choices.one_in(3),
        books,
        key,
        has_rpt_seq: !choices.one_in(4),
        sequence,
        framing: choices.of(&framings).framing(),
        has_order_counts: choices.one_in(2),
        fragment_entries_max: choices.of(&[None, Some(1), Some(4), Some(25)]),
        snapshot_every: choices.of(&[3, 5, 10]),
        // Where numbers start again after each round and a whole round is lost, nothing shows that: rounds
        // are long, so that this does not happen.
        resets_snapshots: instruments > 10 && choices.one_in(2),
        has_snapshot_depth: choices.one_in(4),
        definition_every: choices.of(&[0, 7, 50]),
        has_trades: !choices.one_in(4),
        has_status: choices.one_in(2),
        empty_book: choices.of(&[0.0, 0.0, 0.005, 0.03]),
        day_changes,
        mid_session,
        first_seq_num: if mid_session { 1_000_000 } else { 1 },
        gap_ns: choices.of(&[MS, 100_000, 20 * MS]),
        heartbeats,
        heartbeat_interval_ns: 100 * MS,
        ..DayOptions::futures()
    }
}

fn draw_day_changes(choices: &mut Choices<'_>) -> Vec<DayChange> {
    let count = [0, 0, 0, 1, 1, 2][choices.below(6) as usize];
    let change = |choices: &mut Choices<'_>| DayChange {
        new_seq_no: choices.of(&[1, 1, 1, 50_000, 2_000_000]),
        restarts_rpt_seq: !choices.one_in(3),
    };
    (0..count).map(|_| change(choices)).collect()
}

/// How long the day takes, about.
fn day_ns(day: &DayOptions) -> u64 {
    day.packets * day.gap_ns
}

/// How long a session takes, about.
fn session_ns(day: &DayOptions) -> u64 {
    day_ns(day) / (day.day_changes.len() as u64 + 1)
}

fn draw_line(choices: &mut Choices<'_>, day: &DayOptions, hold_ns: u64, skew_ns: u64) -> Faults {
    let chance = |choices: &mut Choices<'_>| choices.of(&[0.0, 0.0, 0.001, 0.01, 0.1, 0.3]);
    // Behind by less than the hold time, or by anything that the skew allows.
    let delay_ns = match choices.below(6) {
        0..3 => 0,
        3 => choices.below(hold_ns / 2),
        4 => choices.below(20 * MS),
        // No line is behind by more than a session, or it would skip one.
        _ => choices.below((skew_ns / 2).min(session_ns(day) / 3).max(1)),
    };
    let drift_max_ns = (skew_ns / 4).min(session_ns(day) / 4).max(1);
    let drift_ns = if choices.one_in(6) { choices.below(drift_max_ns) } else { 0 };
    let silence = choices.one_in(8).then(|| {
        let start_ns = choices.below(day_ns(day));
        Window { start_ns, end_ns: start_ns + choices.below(day_ns(day) / 3 + 1) }
    });
    Faults {
        loss: chance(choices),
        duplicate: chance(choices),
        reorder: chance(choices),
        reorder_max: 1 + choices.below(8) as u32,
        reorder_wait_ns: choices.below(hold_ns / 2),
        delay_ns,
        jitter_ns: choices.of(&[0, hold_ns / 8]),
        drift_ns,
        drift_period_ns: (day_ns(day) / 2).max(1),
        silence,
        ..Faults::default()
    }
}

fn draw_snapshots(choices: &mut Choices<'_>, day: &DayOptions) -> Faults {
    Faults {
        loss: choices.of(&[0.0, 0.0, 0.05, 0.3]),
        delay_ns: choices.of(&[0, 0, MS, 30 * MS]),
        late: choices.of(&[0.0, 0.0, 0.02, 0.2]),
        // A snapshot of the old session whose number the new session reaches meanwhile cannot be told from a new
        // one where messages have no times: keep well below half a session.
        late_ns: choices.below((session_ns(day) / 4).clamp(1, 400 * MS)),
        ..Faults::default()
    }
}
