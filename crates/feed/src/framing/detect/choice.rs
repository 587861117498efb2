//! Chooses the candidate that fits the packets.

use super::super::description::{Framing, FramingResetPolicy};
use super::candidates::{FramingCandidate, preset_of, presets_like};
use super::series::{FieldSeries, Plausible};
use super::trial::Trial;
use super::{Confidence, Detected, PACKETS_MIN, Undetected};

/// Packets of the first round, in which all candidates are tried.
const SIFTED_PACKETS: usize = 100;
/// Fraction of those packets that a candidate must decode to be tried on all.
const SIFTED_FIT_MIN: f64 = 0.3;
/// Fraction of all packets that the chosen candidate must decode.
const FIT_MIN: f64 = 0.6;
/// Difference of that fraction below which two candidates count as equal.
const FIT_EQUAL: f64 = 0.05;
/// Least fraction of messages with the same bytes after encoding for a correct reset policy, and
/// the difference of this fraction above which another policy is wrong.
const SAME_MIN: f64 = 0.6;
const SAME_DIFFERENCE: f64 = 0.25;
/// One message in this many may differ in its bytes between policies that count as equal.
const SAME_TOLERANCE: usize = 200;
/// Least fraction of consecutive sequence numbers in a correct reading, and largest in a wrong one.
const CONSECUTIVE_MIN: f64 = 0.8;
const CONSECUTIVE_FEW: f64 = 0.5;
/// Fraction of messages with reproduced bytes that confirms values without sequence numbers.
const CONFIRMED_MIN: f64 = 0.3;
/// Least fraction of decoded packets of a sure result.
const SURE_FIT: f64 = 0.95;
const SURE_PACKETS: usize = 50;
/// Least width of a sure number: a narrower one may be the end of a longer number whose first bytes
/// were skipped.
const SURE_NUMBER_BYTES: usize = 4;

/// The order of preference among policies that give the same values.
const POLICIES: [FramingResetPolicy; 4] = [
    FramingResetPolicy::Template,
    FramingResetPolicy::Packet,
    FramingResetPolicy::Message,
    FramingResetPolicy::Never,
];

/// Chooses among the shapes, each tried with every reset policy.
pub(super) fn choose(
    packets: &[&[u8]],
    shapes: &[FramingCandidate],
) -> Result<Detected, Undetected> {
    let sifted = &packets[..packets.len().min(SIFTED_PACKETS)];
    let mut best_whole = 0;
    let mut tried: Vec<(&FramingCandidate, Vec<Trial>)> = Vec::new();
    for shape in shapes {
        let first = trials(sifted, shape);
        best_whole = best_whole.max(first.iter().map(|trial| trial.whole).max().unwrap_or(0));
        if best_fit(&first) >= SIFTED_FIT_MIN {
            let all = if sifted.len() < packets.len() { trials(packets, shape) } else { first };
            tried.push((shape, all));
        }
    }
    let fits = tried.iter().map(|(_, trials)| best_fit(trials));
    let best = fits.fold(0.0, f64::max);
    let whole = |trials: &[Trial]| trials.iter().map(|trial| trial.whole).max().unwrap_or(0);
    if best < FIT_MIN {
        let whole = tried.iter().map(|(_, trials)| whole(trials)).max().unwrap_or(best_whole);
        return Err(Undetected::NoneFits { packets: packets.len(), whole });
    }
    let fitting = tried.into_iter().filter(|(_, trials)| best_fit(trials) >= best - FIT_EQUAL);
    let chosen = fitting.min_by_key(|(shape, _)| shape.rank).map(|(_, trials)| trials);
    let trials = chosen.unwrap_or_default();
    let whole = whole(&trials);
    if whole < PACKETS_MIN {
        return Err(Undetected::TooFew { packets: whole });
    }
    answer(&trials)
}

pub(super) fn trials(packets: &[&[u8]], shape: &FramingCandidate) -> Vec<Trial> {
    let trial = |policy| Trial::run(packets, shape.framing.reset(policy), &shape.program);
    POLICIES.map(trial).into()
}

fn best_fit(trials: &[Trial]) -> f64 {
    trials.iter().map(Trial::fit).fold(0.0, f64::max)
}

/// Chooses the reset policy; `trials` are those of one shape, in the order of [`POLICIES`].
pub(super) fn answer(trials: &[Trial]) -> Result<Detected, Undetected> {
    let best = best_fit(trials);
    let fitting: Vec<&Trial> =
        trials.iter().filter(|trial| trial.fit() >= best - FIT_EQUAL).collect();
    // One trial for each reading of the values: the first in the order of preference.
    let mut readings: Vec<&Trial> = Vec::new();
    for trial in &fitting {
        if !readings.iter().any(|reading| reading.values == trial.values) {
            readings.push(trial);
        }
    }
    let mut chosen = readings[0];
    for other in &readings[1..] {
        chosen = better(chosen, other)?;
    }
    // The winner must also beat the readings that were compared with an earlier winner.
    for other in readings.iter().filter(|other| other.values != chosen.values) {
        if !std::ptr::eq(better(chosen, other)?, chosen) {
            return Err(ambiguous(chosen, other));
        }
    }
    let alike: Vec<&Trial> =
        fitting.iter().copied().filter(|trial| trial.values == chosen.values).collect();
    let most = alike.iter().map(|trial| trial.same_bytes).max().unwrap_or(0);
    let is_as_same = |trial: &&&Trial| trial.same_bytes + trial.messages / SAME_TOLERANCE >= most;
    let policies = |trials: &mut dyn Iterator<Item = &&Trial>| -> Vec<FramingResetPolicy> {
        trials.map(|trial| trial.framing.reset_policy()).collect()
    };
    let same = policies(&mut alike.iter());
    let likely = policies(&mut alike.iter().filter(is_as_same));
    let chosen = alike.iter().find(|trial| is_as_same(trial)).copied().unwrap_or(chosen);
    detected(chosen, &same, &likely)
}

fn ambiguous(a: &Trial, b: &Trial) -> Undetected {
    Undetected::Ambiguous { first: Box::new(a.framing), second: Box::new(b.framing) }
}

/// Returns the one of two readings that the packets support.
fn better<'t>(a: &'t Trial, b: &'t Trial) -> Result<&'t Trial, Undetected> {
    let consecutive = |trial: &Trial| trial.consecutive().unwrap_or(0.0);
    let (of_a, of_b) = (consecutive(a), consecutive(b));
    if of_a >= CONSECUTIVE_MIN && of_b <= CONSECUTIVE_FEW {
        return Ok(a);
    }
    if of_b >= CONSECUTIVE_MIN && of_a <= CONSECUTIVE_FEW {
        return Ok(b);
    }
    let (same_a, same_b) = (a.same_part(), b.same_part());
    if same_a >= SAME_MIN && same_b <= same_a - SAME_DIFFERENCE {
        return Ok(a);
    }
    if same_b >= SAME_MIN && same_a <= same_b - SAME_DIFFERENCE {
        return Ok(b);
    }
    let (more, fewer) = if resets(a) >= resets(b) { (a, b) } else { (b, a) };
    match FieldSeries::compare(&more.series, &fewer.series) {
        Plausible::WithReset => Ok(more),
        Plausible::WithoutReset => Ok(fewer),
        Plausible::Unclear => Err(ambiguous(a, b)),
    }
}

/// Returns the rank of a policy by how often it resets.
fn resets(trial: &Trial) -> u8 {
    match trial.framing.reset_policy() {
        FramingResetPolicy::Never => 0,
        FramingResetPolicy::Template => 1,
        FramingResetPolicy::Packet => 2,
        FramingResetPolicy::Message => 3,
    }
}

/// Returns the result. `same` are the policies that give these values, `likely` those of them that
/// explain the bytes.
fn detected(
    chosen: &Trial,
    same: &[FramingResetPolicy],
    likely: &[FramingResetPolicy],
) -> Result<Detected, Undetected> {
    let follows = chosen.consecutive().is_some_and(|part| part >= CONSECUTIVE_MIN);
    if !follows && chosen.same_part() < CONFIRMED_MIN {
        return Err(Undetected::Unconfirmed { framing: Box::new(chosen.framing) });
    }
    let (framing, preset) = named(chosen.framing, likely);
    let number = framing.seq_num_field();
    let is_number_whole =
        preset.is_some() || number.is_none_or(|field| field.width() >= SURE_NUMBER_BYTES);
    let is_sure = chosen.fit() >= SURE_FIT && chosen.whole >= SURE_PACKETS && is_number_whole;
    Ok(Detected {
        framing,
        preset,
        confidence: if is_sure { Confidence::Sure } else { Confidence::Likely },
        packets: chosen.packets,
        whole: chosen.whole,
        messages: chosen.messages,
        same_bytes: chosen.same_bytes,
        equivalent: {
            let others = same.iter().filter(|policy| **policy != framing.reset_policy());
            others.copied().collect()
        },
        consecutive: chosen.consecutive(),
        alike: Vec::new(),
    })
}

/// Returns the framing with a policy that gives these values, under a preset's name if one has it.
fn named(
    framing: Framing,
    same: &[FramingResetPolicy],
) -> (Framing, Option<super::super::preset::Preset>) {
    for preset in presets_like(&framing) {
        if same.contains(&preset.framing().reset_policy()) {
            return (preset.framing(), Some(preset));
        }
    }
    let like = presets_like(&framing).next();
    (framing, preset_of(&framing).or(like))
}
