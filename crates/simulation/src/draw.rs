//! Draws the parts of a scenario.

use crate::choices::ScenarioChoices;
use crate::scenario::{MS, ReplaySetup, Resets, ScenarioSize};
use tickwire_exchange::day::{
    BookForm, DayChange, DayOptions, Heartbeats, InstrumentKeyKind, SequenceNumbers,
};
use tickwire_feed::framing::Preset;
use tickwire_net::inject::{ClockStep, FaultWindow, Faults};

pub(crate) fn draw_day(
    choices: &mut ScenarioChoices<'_>,
    seed: u64,
    size: ScenarioSize,
) -> DayOptions {
    let books = match choices.below(8) {
        0 => BookForm::Levels { depths: vec![5] },
        1 | 2 => BookForm::Levels { depths: vec![10] },
        3 | 4 => BookForm::Levels { depths: vec![5, 10, 1, 3] },
        5 => BookForm::Prices { depth: choices.of(&[None, Some(5)]) },
        _ => BookForm::Orders,
    };
    let key = choices.of(&[InstrumentKeyKind::SecurityId, InstrumentKeyKind::SymbolAndSession]);
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
        // If numbers restart after each round of snapshots, the loss of a whole round is
        // undetectable. Long rounds make that practically impossible.
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

fn draw_day_changes(choices: &mut ScenarioChoices<'_>) -> Vec<DayChange> {
    let count = [0, 0, 0, 1, 1, 2][choices.below(6) as usize];
    let change = |choices: &mut ScenarioChoices<'_>| DayChange {
        new_seq_no: choices.of(&[1, 1, 1, 50_000, 2_000_000]),
        restarts_rpt_seq: !choices.one_in(3),
    };
    (0..count).map(|_| change(choices)).collect()
}

/// Returns the approximate duration of the day.
pub(crate) fn day_ns(day: &DayOptions) -> u64 {
    day.packets * day.gap_ns
}

/// Returns the approximate duration of a session.
pub(crate) fn session_ns(day: &DayOptions) -> u64 {
    day_ns(day) / (day.day_changes.len() as u64 + 1)
}

pub(crate) fn draw_line(
    choices: &mut ScenarioChoices<'_>,
    day: &DayOptions,
    hold_ns: u64,
    skew_ns: u64,
) -> Faults {
    let chance = |choices: &mut ScenarioChoices<'_>| choices.of(&[0.0, 0.0, 0.001, 0.01, 0.1, 0.3]);
    // The delay is below the hold time, or anything that the skew allows.
    let delay_ns = match choices.below(6) {
        0..3 => 0,
        3 => choices.below(hold_ns / 2),
        4 => choices.below(20 * MS),
        // A line that is late by more than a session would skip one.
        _ => choices.below((skew_ns / 2).min(session_ns(day) / 3).max(1)),
    };
    let drift_max_ns = (skew_ns / 4).min(session_ns(day) / 4).max(1);
    let drift_ns = if choices.one_in(6) { choices.below(drift_max_ns) } else { 0 };
    let silence = choices.one_in(8).then(|| {
        let start_ns = choices.below(day_ns(day));
        FaultWindow { start_ns, end_ns: start_ns + choices.below(day_ns(day) / 3 + 1) }
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

pub(crate) fn draw_snapshots(choices: &mut ScenarioChoices<'_>, day: &DayOptions) -> Faults {
    Faults {
        loss: choices.of(&[0.0, 0.0, 0.05, 0.3]),
        delay_ns: choices.of(&[0, 0, MS, 30 * MS]),
        late: choices.of(&[0.0, 0.0, 0.02, 0.2]),
        // Without message times, a late snapshot of the old session whose number the new session
        // has reached looks like a new one. The delay is therefore well below half a session.
        late_ns: choices.below((session_ns(day) / 4).clamp(1, 400 * MS)),
        ..Faults::default()
    }
}

/// Draws whether resets arrive, may be lost like other packets, or are never sent. Losing a reset
/// is allowed only if the new numbers are far below the old ones: further than packets can be out
/// of order. Otherwise a handler cannot distinguish the new epoch from the old one, or takes a jump
/// ahead for a gap.
pub(crate) fn draw_resets(choices: &mut ScenarioChoices<'_>, day: &DayOptions) -> Resets {
    let drawn = choices.of(&[Resets::Told, Resets::Told, Resets::MayBeLost, Resets::Silent]);
    let packets = day.packets / (day.day_changes.len() as u64 + 1);
    let far = match day.sequence {
        SequenceNumbers::Packets => 2 * 64,
        SequenceNumbers::Messages => 2 * 1_024,
    };
    let mut first = day.first_seq_num;
    let goes_back = day.day_changes.iter().all(|change| {
        let before = std::mem::replace(&mut first, change.new_seq_no);
        change.new_seq_no + far <= before.saturating_add(packets)
    });
    if goes_back { drawn } else { Resets::Told }
}

/// Draws the faults of a line B that carries another channel and joins some time after line A. If
/// both began together, a handler could not decide which is wrong.
pub(crate) fn draw_wrong_line(
    choices: &mut ScenarioChoices<'_>,
    day: &DayOptions,
    line: Faults,
) -> Faults {
    let joins_ns = day_ns(day) / choices.of(&[3, 2]);
    let silence = Some(FaultWindow { start_ns: 0, end_ns: joins_ns });
    Faults { wrong_line: Some(FaultWindow::ALWAYS), silence, ..line }
}

/// Draws a temporary or permanent silence of one line, of both or of none.
pub(crate) fn draw_silence(
    choices: &mut ScenarioChoices<'_>,
    day: &DayOptions,
    lines: &mut [Option<Faults>; 2],
) {
    let start_ns = choices.below(day_ns(day));
    let end_ns = start_ns.saturating_add(choices.below(day_ns(day) / 3 + 1));
    let [a, b] = lines;
    match (choices.below(10), b) {
        // Line B or A fails permanently.
        (0, Some(b)) => b.silence = Some(FaultWindow { start_ns, end_ns: u64::MAX }),
        (1, Some(_)) => {
            let dead = Some(FaultWindow { start_ns, end_ns: u64::MAX });
            a.iter_mut().for_each(|a| a.silence = dead);
        }
        // The channel is silent while the exchange continues.
        (2, b) => {
            let silent = Some(FaultWindow { start_ns, end_ns });
            a.iter_mut().chain(b).for_each(|line| line.silence = silent);
        }
        _ => {}
    }
}

/// Minimum number of packets in a day for a handover. A handler knows a line's usual pauses after 256
/// packets, and even with losses, that many arrive in a quarter of such a day.
const HANDOVER_PACKETS_MIN: u64 = 2_048;

/// Draws a handover: line A fails in the middle of the day, and line B begins to send at the same
/// time, so that the lines are never compared. Lines are regular, because the pauses reveal the
/// failure of A. A short day has no handover: line B would wait until A counts as silent, which
/// takes longer than the day.
pub(crate) fn draw_handover(
    choices: &mut ScenarioChoices<'_>,
    day: &DayOptions,
    lines: &mut [Option<Faults>; 2],
) {
    let at_ns = day_ns(day) / 4 + choices.below(day_ns(day) / 2 + 1);
    let [Some(a), Some(b)] = lines else { return };
    if day.packets < HANDOVER_PACKETS_MIN {
        return;
    }
    let even = |line: Faults| Faults { delay_ns: 0, drift_ns: 0, ..line };
    let dead = Some(FaultWindow { start_ns: at_ns, end_ns: u64::MAX });
    let before = Some(FaultWindow { start_ns: 0, end_ns: at_ns });
    *a = Faults { silence: dead, ..even(*a) };
    *b = Faults { silence: before, ..even(*b) };
}

/// Minimum number of packets in a day with a wrong line in its middle: at least an eighth of them
/// follow it, and lines agree again after 64 packets.
const WRONG_LINE_PACKETS_MIN: u64 = 512;

/// Draws a line B that suddenly carries another channel for a while in the middle of the day,
/// possibly ahead of its time. Line A loses nothing during that time. A short day would end before
/// the lines agree again. Returns the lead of the other channel's numbers in nanoseconds.
pub(crate) fn draw_wrong_line_midway(
    choices: &mut ScenarioChoices<'_>,
    day: &mut DayOptions,
    lines: &mut [Option<Faults>; 2],
) -> u64 {
    let start_ns = day_ns(day) / choices.of(&[4, 2]);
    let end_ns = start_ns + day_ns(day) * choices.of(&[1, 2, 3]) / 8;
    let lead_ns = day.gap_ns * choices.of(&[0, 5, 30, 100]);
    if day.packets < WRONG_LINE_PACKETS_MIN {
        return 0;
    }
    // A reset, or an entry that empties books, from the other channel would be accepted.
    day.day_changes.clear();
    day.empty_book = 0.0;
    if let [Some(a), Some(b)] = lines {
        *a = Faults { loss: 0.0, delay_ns: 0, drift_ns: 0, silence: None, ..*a };
        *b = Faults { silence: None, wrong_line: Some(FaultWindow { start_ns, end_ns }), ..*b };
    }
    lead_ns
}

/// Draws steps of the time of day; the monotonic clock is not affected.
pub(crate) fn draw_clock_steps(
    choices: &mut ScenarioChoices<'_>,
    day: &DayOptions,
) -> Vec<ClockStep> {
    if !choices.one_in(6) {
        return Vec::new();
    }
    let mut steps: Vec<ClockStep> = (0..=choices.below(3))
        .map(|_| {
            let at_ns = day.start_ns + choices.below(day_ns(day));
            let by_ns = choices.of(&[50_000, 3 * MS, 900 * MS, 3_600_000 * MS]).cast_signed();
            ClockStep { at_ns, by_ns: if choices.one_in(2) { -by_ns } else { by_ns } }
        })
        .collect();
    steps.sort_by_key(|step| step.at_ns);
    steps
}

/// Draws a TCP replay server: a usual one, or one with tight limits, with an unknown password or
/// with breaking connections.
pub(crate) fn draw_replay(choices: &mut ScenarioChoices<'_>) -> ReplaySetup {
    ReplaySetup {
        latency_ns: choices.of(&[100_000, MS, 10 * MS]),
        knows_password: !choices.one_in(16),
        requests_per_day_max: choices.of(&[u32::MAX, u32::MAX, u32::MAX, 3, 20]),
        messages_per_request_max: choices.of(&[1_000, 1_000, 30, 3]),
        messages_stored_max: choices.of(&[usize::MAX, usize::MAX, 200, 20]),
        disconnect: choices.of(&[0.0, 0.0, 0.1, 0.5]),
    }
}
