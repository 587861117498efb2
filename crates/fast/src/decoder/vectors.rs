//! Entries by vectors where they can be, by the portable engine where vectors decline them.

use super::Engine;
pub(super) use super::compiled::Compiled;
use super::lanes::{self, Place, Progress};
pub(crate) use super::wide::Wide;
use crate::dictionary::{Lanes, Word};
use crate::program::{Program, Run};

/// The vector engine, if there is one, and how it does with each run.
#[derive(Clone, Debug)]
pub(super) struct Vectors {
    pub(super) wide: Option<Wide>,
    #[cfg(feature = "jit")]
    compiled: Option<Compiled>,
    habits: Vec<Habit>,
}

/// How often vectors decline a run's records.
#[derive(Clone, Copy, Debug, Default)]
struct Habit {
    strikes: u8,
    /// Calls to leave to the portable engine.
    skip: u8,
}

const STRIKES_MAX: u8 = 7;
/// Fewer entries do not make up for what starting with vectors takes.
const ENTRIES_MIN: u32 = 2;

impl Habit {
    fn done(&mut self) {
        self.strikes = self.strikes.saturating_sub(1);
    }

    /// Each time more is skipped, unless about every other record was not declined.
    #[cold]
    fn declined(&mut self) {
        self.strikes = (self.strikes + 1).min(STRIKES_MAX);
        self.skip = (1 << self.strikes) - 1;
    }
}

impl Vectors {
    pub(super) fn new(engine: Engine, program: &Program) -> Self {
        let is_wide = matches!(engine, Engine::Automatic | Engine::Wide);
        Self {
            wide: Wide::detect().filter(|_| is_wide),
            #[cfg(feature = "jit")]
            compiled: match engine {
                Engine::Compiled => {
                    program.machine_code.get_or_init(|| Compiled::of(program)).clone()
                }
                _ => None,
            },
            habits: vec![Habit::default(); program.runs.len()],
        }
    }

    /// What decodes: never [`Engine::Automatic`].
    pub(super) fn engine(&self) -> Engine {
        #[cfg(feature = "jit")]
        if self.compiled.is_some() {
            return Engine::Compiled;
        }
        if self.wide.is_some() { Engine::Wide } else { Engine::Scalar }
    }

    /// The machine code, if there is any.
    #[inline(always)]
    pub(super) fn compiled(&self) -> Option<&Compiled> {
        #[cfg(feature = "jit")]
        return self.compiled.as_ref();
        #[cfg(not(feature = "jit"))]
        None
    }

    /// Most bytes that a record is read ahead.
    pub(super) fn reach(&self) -> usize {
        #[cfg(feature = "jit")]
        if let Some(compiled) = &self.compiled {
            return compiled.bytes_max();
        }
        0
    }

    /// What it takes to decode entries of this run by vectors now.
    #[inline]
    fn of(&mut self, run: &Run, count: u32) -> Option<(Wide, &mut Habit)> {
        if count < ENTRIES_MIN || run.map_bits == 0 {
            return None;
        }
        let wide = self.wide.filter(|_| run.plan.is_some())?;
        let habit = self.habits.get_mut(run.index as usize)?;
        if habit.skip > 0 {
            habit.skip -= 1;
            return None;
        }
        Some((wide, habit))
    }
}

/// Decodes entries as long as they are plain; returns how many.
#[inline(always)]
pub(super) fn entries(
    vectors: &mut Vectors,
    run: &Run,
    bytes: &[u8],
    place: Place<'_>,
    lanes: &Lanes,
    progress: &mut Progress,
    count: u32,
) -> u32 {
    #[cfg(feature = "jit")]
    if let Some(compiled) = &vectors.compiled {
        return by_code(compiled, run, bytes, place, lanes, progress, count);
    }
    let Some((wide, habit)) = vectors.of(run, count) else {
        return lanes::entries(run, bytes, place, lanes, progress, count);
    };
    let Place { words, base, step, presence_at } = place;
    let mut copy;
    let mut before = lanes;
    let mut done = 0;
    loop {
        let at = |done: u32| base + done as usize * step;
        let place = Place { words: &mut *words, base: at(done), step, presence_at };
        done += wide.entries(run, bytes, place, before, progress, count - done);
        if done == count {
            habit.done();
            return done;
        }
        // One that was declined.
        habit.declined();
        if done > 0 {
            let last = at(done - 1) + run.first_slot as usize;
            let Some(last) = words.get(last..).and_then(|words| words.first_chunk()) else {
                return done;
            };
            copy = *last;
            before = &copy;
        }
        let place = Place { words: &mut *words, base: at(done), step, presence_at };
        if lanes::entries(run, bytes, place, before, progress, 1) == 0 {
            return done;
        }
        let last = at(done) + run.first_slot as usize;
        done += 1;
        match words.get(last..).and_then(|words| words.first_chunk()) {
            Some(last) if done < count => {
                copy = *last;
                before = &copy;
            }
            _ => return done,
        }
    }
}

/// Puts the lanes of a run that have an entry to where they are kept.
#[inline]
pub(crate) fn keep(wide: Option<Wide>, run: &Run, home: &mut Lanes, lanes: &[Word]) {
    match (wide, &run.plan) {
        (Some(wide), Some(plan)) => wide.keep(run, plan, home, lanes),
        _ => lanes::keep(run, home, lanes),
    }
}

/// Decodes one record, its presence map given, to the start of `out`.
#[inline(always)]
pub(super) fn single(
    vectors: &Vectors,
    run: &Run,
    bytes: &[u8],
    bits: u64,
    lanes: &Lanes,
    out: &mut [Word],
    progress: &mut Progress,
) -> Option<()> {
    if let Some(compiled) = vectors.compiled()
        && compiled.single(run, bytes, bits, lanes, out, progress).is_some()
    {
        return Some(());
    }
    lanes::single(run, bytes, bits, lanes, out, progress)
}

/// Entries by compiled code as long as it takes them, then by the portable engine.
#[cfg(feature = "jit")]
#[inline(always)]
fn by_code(
    compiled: &Compiled,
    run: &Run,
    bytes: &[u8],
    place: Place<'_>,
    lanes: &Lanes,
    progress: &mut Progress,
    count: u32,
) -> u32 {
    let Place { words, base, step, presence_at } = place;
    let first = Place { words: &mut *words, base, step, presence_at };
    let done = compiled.entries(run, bytes, first, lanes, progress, count);
    if done == count {
        return done;
    }
    let mut copy = *lanes;
    if done > 0 {
        let last = base + (done as usize - 1) * step + run.first_slot as usize;
        let Some(last) = words.get(last..).and_then(|words| words.first_chunk()) else {
            return done;
        };
        copy = *last;
    }
    let place = Place { words, base: base + done as usize * step, step, presence_at };
    done + lanes::entries(run, bytes, place, &copy, progress, count - done)
}
