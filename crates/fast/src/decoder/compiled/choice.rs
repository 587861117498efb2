//! Chooses between SIMD and machine code for the entries of a template, by the time that each takes.
//!
//! Machine code is faster where the lengths of fields repeat, so that branches are predictable; SIMD
//! takes the same time for any lengths. Which of the two is faster also depends on the CPU. So both are
//! tried from time to time, for some messages in a row: branch predictors have to learn first. The
//! time of a trial is the sum over single messages, without what the caller does between them.

use crate::decoder::vectors::Habit;
use std::arch::x86_64::_rdtsc;

/// Messages of one engine in a trial: the first half is not timed.
const MESSAGES: u32 = 64;
const UNTIMED: u32 = MESSAGES / 2;
/// Messages between trials: doubled after each, so that the slower engine decodes less than a hundredth
/// of the messages.
const PAUSE_MIN: u32 = 2 * MESSAGES;
const PAUSE_MAX: u32 = 64 * PAUSE_MIN;
/// Trials won minus trials lost by SIMD, at most and at least.
const LEAD_MAX: i8 = 3;

/// The choice for one template.
#[derive(Clone, Debug)]
pub(super) struct SequenceChoice {
    habit: Habit,
    /// Positive if SIMD was faster in most trials.
    lead: i8,
    /// True if SIMD is used whatever the times.
    is_forced: bool,
    phase: Phase,
    /// Messages left in the phase.
    left: u32,
    pause: u32,
    /// Cycles per byte, times 2^16, of machine code in this trial.
    code: u64,
    cycles: u64,
    bytes: u64,
}

/// What is done with the next messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Pause,
    Code,
    Vectors,
}

impl SequenceChoice {
    pub(super) fn new(is_forced: bool) -> Self {
        Self {
            habit: Habit::default(),
            lead: 1,
            is_forced,
            phase: Phase::Pause,
            left: PAUSE_MIN,
            pause: PAUSE_MIN,
            code: 0,
            cycles: 0,
            bytes: 0,
        }
    }

    /// True if SIMD should decode the entries of the next message.
    #[inline(always)]
    pub(super) fn takes_vectors(&mut self) -> bool {
        let is_chosen = match self.phase {
            Phase::Pause => self.lead > 0,
            Phase::Code => false,
            Phase::Vectors => true,
        };
        (is_chosen || self.is_forced) && self.habit.is_good()
    }

    /// Records whether SIMD decoded the entries.
    #[inline(always)]
    pub(super) fn learn(&mut self, is_declined: bool) {
        self.habit.learn(is_declined);
    }

    /// Returns the time at which the next message begins, if it is timed.
    #[inline(always)]
    pub(super) fn begin(&self) -> Option<u64> {
        (self.phase != Phase::Pause).then(now)
    }

    /// Counts a decoded message of this many bytes.
    #[inline(always)]
    pub(super) fn end(&mut self, began: Option<u64>, bytes: usize) {
        self.left -= 1;
        if self.left == 0 || began.is_some() {
            self.count(began, bytes);
        }
    }

    #[inline(never)]
    fn count(&mut self, began: Option<u64>, bytes: usize) {
        if let Some(began) = began.filter(|_| self.left < UNTIMED) {
            // The clock of another CPU may be behind.
            self.cycles += now().saturating_sub(began);
            self.bytes += bytes as u64;
        }
        if self.left == 0 {
            self.next_phase();
        }
    }

    fn next_phase(&mut self) {
        let time = (self.cycles << 16) / self.bytes.max(1);
        (self.cycles, self.bytes) = (0, 0);
        (self.phase, self.left) = match self.phase {
            Phase::Pause => (Phase::Code, MESSAGES),
            Phase::Code => {
                self.code = time;
                (Phase::Vectors, MESSAGES)
            }
            Phase::Vectors => {
                self.decide(time);
                (Phase::Pause, self.pause)
            }
        };
    }

    /// Ends a trial in which SIMD took this time per byte.
    fn decide(&mut self, vectors: u64) {
        let step = if vectors < self.code { 1 } else { -1 };
        self.lead = (self.lead + step).clamp(-LEAD_MAX, LEAD_MAX);
        self.pause = (2 * self.pause).min(PAUSE_MAX);
    }
}

/// Returns the cycles of the CPU's clock so far.
#[inline(always)]
fn now() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe { _rdtsc() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::vectors::Wide;
    use crate::{Decoder, DecoderOptions, EngineUnderTest, Program, TemplateSet, TierUp};
    use std::sync::Arc;

    /// Ends the phases of trials in which the engines take these times per byte.
    fn trials(choice: &mut SequenceChoice, count: u32, code: u64, vectors: u64) {
        for _ in 0..count {
            assert_eq!(choice.phase, Phase::Pause);
            for (phase, cycles) in [(Phase::Code, code), (Phase::Vectors, vectors)] {
                choice.next_phase();
                assert_eq!(choice.phase, phase);
                (choice.cycles, choice.bytes) = (100 * cycles, 100);
            }
            choice.next_phase();
        }
    }

    #[test]
    fn the_faster_engine_is_chosen_and_one_slow_trial_changes_nothing() {
        let mut choice = SequenceChoice::new(false);
        trials(&mut choice, 5, 9, 10);
        assert!(!choice.takes_vectors(), "machine code is faster");
        trials(&mut choice, 1, 100, 10);
        assert!(!choice.takes_vectors(), "machine code was slower once");
        trials(&mut choice, 6, 10, 9);
        assert!(choice.takes_vectors(), "SIMD is faster now");
        trials(&mut choice, 20, 9, 10);
        assert_eq!(choice.left, PAUSE_MAX);

        let mut forced = SequenceChoice::new(true);
        trials(&mut forced, 5, 9, 10);
        assert!(forced.takes_vectors());
    }

    #[test]
    fn messages_of_trials_have_the_values_of_other_engines() {
        let field = |name| format!("<uInt32 name='{name}'><copy value='1'/></uInt32>");
        let fields: String = ["a", "b", "c", "d", "e", "f"].into_iter().map(field).collect();
        let xml = format!(
            "<templates><template name='T' id='1'><sequence name='s'>{fields}</sequence></template></templates>"
        );
        let program = Program::compile(TemplateSet::parse(&xml).expect("valid")).expect("compiles");
        let program = Arc::new(program);
        let [mut automatic, mut portable] = [EngineUnderTest::Automatic, EngineUnderTest::Portable]
            .map(|engine| {
                let options = DecoderOptions::default().tier_up(TierUp::Eager);
                Decoder::with_options(program.clone(), options.engine_under_test(engine))
            });
        // A pause, a trial, a longer pause, and another trial.
        for number in 0..3 * PAUSE_MIN + 4 * MESSAGES {
            let value = (number % 100) as u8;
            // Two entries: one with its first field in the stream, one with its last.
            let message = [0xc0, 0x81, 0x82, 0xc0, 0x80 | value, 0x82, 0x80 | value];
            let [one, other] = [&mut automatic, &mut portable].map(|decoder| {
                let decoded = decoder.decode(&message).expect("decodes");
                let entries = decoded.message.root().field("s").map(|s| format!("{s:?}"));
                (decoded.len, entries)
            });
            assert_eq!(one, other, "message {number}");
        }
        match &automatic.jit.templates[0].sequence {
            Some(choice) => assert!(choice.pause > 2 * PAUSE_MIN, "two trials took place"),
            None if Wide::detect().is_none() => {
                eprintln!("SKIPPED: this CPU has no vectors of 512 bits");
            }
            None => panic!("SIMD can decode the entries"),
        }
    }
}
