//! Chooses between SIMD and portable code for the entries of a run.

use super::lanes::{self, RecordPlace, RunProgress};
pub(crate) use super::wide::Wide;
use super::{DecoderOptions, EngineUnderTest};
use crate::dictionary::{LaneWords, Word};
use crate::program::{LaneRun, Program};

/// The SIMD engine, if it is used, and its success with each run.
#[derive(Clone, Debug)]
pub(super) struct VectorEngine {
    pub(super) wide: Option<Wide>,
    habits: Vec<Habit>,
}

/// Back-off for an engine that often rejects a run's records.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habit {
    strikes: u8,
    /// Calls to skip before the next attempt.
    skip: u8,
}

const STRIKES_MAX: u8 = 7;

impl Habit {
    /// True if the engine should be tried now.
    #[inline(always)]
    pub(crate) fn is_good(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        true
    }

    /// Records whether the engine succeeded.
    #[inline(always)]
    pub(crate) fn learn(&mut self, is_declined: bool) {
        if is_declined {
            self.fail(0);
        } else if self.strikes > 0 {
            self.strikes -= 1;
        }
    }

    /// Records a failure: doubles the back-off, unless about half of the calls succeed. The first
    /// `tolerated` strikes skip nothing.
    #[cold]
    pub(crate) fn fail(&mut self, tolerated: u8) {
        self.strikes = (self.strikes + 1).min(STRIKES_MAX);
        self.skip = (1 << self.strikes.saturating_sub(tolerated)) - 1;
    }

    /// Returns the number of calls to skip before the next attempt.
    #[cfg(all(test, machine_code))]
    pub(crate) fn skip(self) -> u8 {
        self.skip
    }
}

impl VectorEngine {
    pub(super) fn new(options: DecoderOptions, program: &Program) -> Self {
        let engine = options.wanted_engine();
        let is_wide = matches!(engine, EngineUnderTest::Automatic | EngineUnderTest::Vectors);
        let wide = Wide::detect().filter(|_| is_wide);
        Self { wide, habits: vec![Habit::default(); program.runs.len()] }
    }

    /// Returns the SIMD engine for the entries of this run, if it should be tried now.
    #[inline]
    fn of(&mut self, run: &LaneRun, count: u32) -> Option<(Wide, &mut Habit)> {
        let wide = self.wide.filter(|wide| wide.takes(run) && count > 0)?;
        let habit = self.habits.get_mut(run.index as usize)?;
        habit.is_good().then_some((wide, habit))
    }
}

/// Decodes entries until one needs the operations; returns the number decoded. SIMD, which decodes
/// all entries or none, is tried if `may_vectors`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "as those of the engines, and which of them")]
pub(super) fn entries(
    vectors: &mut VectorEngine,
    run: &LaneRun,
    bytes: &[u8],
    mut place: RecordPlace<'_>,
    lanes: &LaneWords,
    progress: &mut RunProgress,
    count: u32,
    may_vectors: bool,
) -> u32 {
    if may_vectors && let Some((wide, habit)) = vectors.of(run, count) {
        let done = wide.entries(run, bytes, &mut place, lanes, progress, count);
        habit.learn(done.is_none());
        if done.is_some() {
            return count;
        }
    }
    lanes::entries(run, bytes, place, lanes, progress, count)
}

/// Writes the lanes of a run that have an entry to the words of these entries.
#[inline]
pub(crate) fn keep(wide: Option<Wide>, run: &LaneRun, words: &mut LaneWords, lanes: &[Word]) {
    match wide.filter(|wide| wide.takes(run)) {
        Some(wide) => wide.keep(run, words, lanes),
        None => lanes::keep(run, words, lanes),
    }
}

#[cfg(all(test, vectors))]
mod tests {
    use super::*;
    use crate::{Decoder, TemplateSet};
    use std::sync::Arc;

    #[test]
    fn vectors_are_asked_once_a_sequence_however_many_of_its_entries_they_decline() {
        if Wide::detect().is_none() {
            return eprintln!("SKIPPED: this CPU has no vectors of 512 bits");
        }
        let field = |name| format!("<uInt32 name='{name}'><copy value='1'/></uInt32>");
        let fields: String = ["a", "b", "c", "d", "e", "f"].into_iter().map(field).collect();
        let xml = format!(
            "<templates><template name='T' id='1'><sequence name='s'>{fields}</sequence></template></templates>"
        );
        let program = Program::compile(TemplateSet::parse(&xml).expect("valid")).expect("compiles");
        let options = DecoderOptions::default().engine_under_test(EngineUnderTest::Vectors);
        let mut decoder = Decoder::with_options(Arc::new(program), options);
        // Every second entry has an overlong integer.
        let mut message = vec![0xc0, 0x81, 0x07, 0xe8];
        for _ in 0..500 {
            message.extend([0x80, 0xc0, 0x00, 0x81]);
        }
        assert_eq!(decoder.decode(&message).expect("counted, not refused").len, message.len());
        assert_eq!(decoder.findings().overlong_integer, 500);
        let habit = decoder.vectors.habits[0];
        assert!((1..=2).contains(&habit.strikes), "asked {} times", habit.strikes);
    }
}
