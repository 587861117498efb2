//! Selects the engine for each run: machine code if compiled, SIMD where possible, portable code
//! for what these reject.

pub(super) use super::compiled::Compiled;
use super::lanes::{self, Place, Progress};
pub(crate) use super::wide::{Filled, Wide};
use super::{DecoderOptions, EngineUnderTest, TierUp};
use crate::dictionary::{Lanes, Word};
use crate::program::{Program, Quick, Run};
use std::sync::Arc;

/// The available engines, and their success with each run.
#[derive(Clone, Debug)]
pub(super) struct Vectors {
    pub(super) wide: Option<Wide>,
    compiled: Option<Compiled>,
    /// Messages decoded without machine code, by template.
    heat: Vec<u32>,
    due: Due,
    habits: Vec<Habit>,
    /// SIMD success for sequences of compiled templates, by template.
    habits_of_templates: Vec<Option<Habit>>,
    /// Success of tree code, by template.
    #[cfg(machine_code)]
    habits_of_trees: Vec<Habit>,
}

/// When templates are compiled, and in which form.
#[derive(Clone, Debug)]
struct Due {
    /// Message count at which a template is compiled.
    message: u32,
    /// Message count at which its runs are compiled, because the template has no code or its code
    /// mostly bails out.
    runs: u32,
    /// Message count at which it is compiled as a tree, because its plain code mostly bails out.
    trees: u32,
    /// Program to compile on a separate thread; `None` compiles in the call.
    on_thread: Option<Arc<Program>>,
}

impl Due {
    /// Message count at which a template is compiled as a tree, if all else was compiled when the
    /// decoder was created.
    const DECLINED: u32 = 1 << 12;

    fn of(options: DecoderOptions, program: &Arc<Program>) -> Self {
        let (after, on_thread) = match options.tier_up {
            TierUp::Eager | TierUp::Off => (u32::MAX, None),
            TierUp::After(count) => (count, None),
            TierUp::OnThread => (TierUp::MESSAGES, Some(program.clone())),
        };
        let message = after.max(1);
        let runs = message.saturating_mul(2);
        let is_eager = options.wanted_engine() == EngineUnderTest::MachineCode
            || options.tier_up == TierUp::Eager;
        Self { message, runs, trees: if is_eager { Self::DECLINED } else { runs }, on_thread }
    }
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
        let is_good = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        is_good
    }

    /// Records whether the engine succeeded.
    #[inline(always)]
    pub(crate) fn learn(&mut self, is_declined: bool) {
        match is_declined {
            true => self.declined(),
            false => self.strikes = self.strikes.saturating_sub(1),
        }
    }

    /// Doubles the back-off, unless about half of the calls succeed.
    #[cold]
    fn declined(&mut self) {
        self.strikes = (self.strikes + 1).min(STRIKES_MAX);
        self.skip = (1 << self.strikes) - 1;
    }
}

impl Vectors {
    pub(super) fn new(options: DecoderOptions, program: &Arc<Program>) -> Self {
        let engine = options.wanted_engine();
        let is_wide = matches!(engine, EngineUnderTest::Automatic | EngineUnderTest::Vectors);
        let wide = Wide::detect().filter(|_| is_wide);
        let hands_over = |quick: &Option<Quick>| {
            let sequence = quick.as_ref()?.sequence?;
            program.runs.get(sequence.run as usize)?.plan.as_ref()?;
            wide.map(|_| Habit::default())
        };
        Self {
            wide,
            compiled: compiled(options, program),
            heat: vec![0; program.templates.len()],
            due: Due::of(options, program),
            habits: vec![Habit::default(); program.runs.len()],
            habits_of_templates: program.quick.iter().map(hands_over).collect(),
            #[cfg(machine_code)]
            habits_of_trees: vec![Habit::default(); program.templates.len()],
        }
    }

    /// Returns the best available engine.
    pub(super) fn engine(&self) -> EngineUnderTest {
        if self.wide.is_some() {
            return EngineUnderTest::Vectors;
        }
        match self.compiled() {
            Some(_) => EngineUnderTest::MachineCode,
            None => EngineUnderTest::Portable,
        }
    }

    /// Returns the compiled code, if there is any.
    #[inline(always)]
    pub(super) fn compiled(&self) -> Option<&Compiled> {
        self.compiled.as_ref()
    }

    /// True if some templates' messages may be decoded as a whole.
    #[inline(always)]
    pub(super) fn take_whole_messages(&self) -> bool {
        self.wide.is_some() || self.compiled().is_some()
    }

    /// Returns the most bytes that a record is read ahead.
    pub(super) fn reach(&self) -> usize {
        self.compiled.as_ref().map_or(0, Compiled::bytes_max)
    }

    /// Returns the SIMD engine and the plan for the entries of this run, if it should be tried now.
    #[inline]
    fn of(&mut self, run: &Run, count: u32) -> Option<(Wide, &mut Habit)> {
        let wide = self.wide.filter(|_| run.plan.is_some() && count > 0)?;
        let habit = self.habits.get_mut(run.index as usize)?;
        habit.is_good().then_some((wide, habit))
    }

    /// True if compiled code of this template should use SIMD now.
    #[inline(always)]
    pub(super) fn may_serve(&mut self, template: u32) -> bool {
        let habit = self.habits_of_templates.get_mut(template as usize);
        habit.and_then(Option::as_mut).is_some_and(Habit::is_good)
    }

    /// Returns the number of messages of a template that were decoded without machine code.
    #[cfg(all(test, machine_code))]
    pub(super) fn heat_of(&self, template: usize) -> u32 {
        self.heat[template]
    }

    /// True if tree code of this template should be tried now.
    #[cfg(machine_code)]
    #[inline(always)]
    pub(super) fn may_use_tree(&mut self, template: u32) -> bool {
        self.habits_of_trees.get_mut(template as usize).is_some_and(Habit::is_good)
    }

    /// Records the success of tree code.
    #[cfg(machine_code)]
    #[inline(always)]
    pub(super) fn tree_did(&mut self, template: u32, is_declined: bool) {
        if let Some(habit) = self.habits_of_trees.get_mut(template as usize) {
            habit.learn(is_declined);
        }
    }

    /// Records the success of SIMD for compiled code of a template.
    #[inline(always)]
    pub(super) fn served(&mut self, template: u32, is_declined: bool) {
        if let Some(Some(habit)) = self.habits_of_templates.get_mut(template as usize) {
            habit.learn(is_declined);
        }
    }
}

/// Returns the compiled code of a program, if the engine uses it: everything compiled now, or
/// templates as they become hot.
fn compiled(options: DecoderOptions, program: &Program) -> Option<Compiled> {
    let engine = options.wanted_engine();
    match (engine, options.tier_up) {
        (EngineUnderTest::MachineCode, _) => {}
        (EngineUnderTest::Portable | EngineUnderTest::Operations, _) | (_, TierUp::Off) => {
            return None;
        }
        // Without SIMD, this option selects the portable engine.
        (EngineUnderTest::Vectors, _) => _ = Wide::detect()?,
        (EngineUnderTest::Automatic, _) => {}
    }
    let compiled = program.machine_code.get_or_init(|| Compiled::of(program)).clone()?;
    if engine == EngineUnderTest::MachineCode || options.tier_up == TierUp::Eager {
        compiled.compile_all(program);
    }
    Some(compiled)
}

/// Counts a message that was decoded without machine code, and compiles the template when it is
/// hot.
#[inline(always)]
pub(super) fn decoded(vectors: &mut Vectors, program: &Program, template: u32) {
    if let Some(compiled) = &vectors.compiled
        && let Some(heat) = vectors.heat.get_mut(template as usize)
    {
        *heat = heat.saturating_add(1);
        let (heat, due) = (*heat, &vectors.due);
        if heat == due.message || heat == due.runs || heat == due.trees {
            compile(&vectors.due, compiled, program, (template, heat));
        }
    }
}

/// Compiles whatever is due at this message count of a template: here, or on a separate thread.
#[cold]
#[cfg_attr(
    not(machine_code),
    allow(unreachable_code, unused_variables, reason = "there is no code to share")
)]
fn compile(due: &Due, compiled: &Compiled, program: &Program, (template, heat): (u32, u32)) {
    // A saturated counter means "never".
    let is_message = heat == due.message && heat != u32::MAX;
    let is_run = heat == due.runs && heat != u32::MAX;
    let is_tree = heat == due.trees && heat != u32::MAX;
    let make = move |compiled: &Compiled, program: &Program| {
        if is_message {
            compiled.compile_message(program, template as usize);
        }
        if is_run {
            compiled.compile_runs(program, template);
        }
        if is_tree {
            compiled.compile_tree(program, template as usize);
        }
    };
    match &due.on_thread {
        None => make(compiled, program),
        Some(program) => {
            let (compiled, program) = (compiled.clone(), program.clone());
            let thread = std::thread::Builder::new().name("tickwire-compile".to_owned());
            // If the thread cannot be created, the template stays without code, as documented.
            let _ = thread.spawn(move || {
                TierUp::thread_start()();
                make(&compiled, &program);
            });
        }
    }
}

/// Decodes entries until one needs another engine; returns the number decoded. SIMD, which decodes
/// all entries or none, is tried if `may_vectors`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "as those of the engines, and which of them")]
pub(super) fn entries(
    vectors: &mut Vectors,
    run: &Run,
    bytes: &[u8],
    place: Place<'_>,
    lanes: &Lanes,
    progress: &mut Progress,
    count: u32,
    may_vectors: bool,
) -> u32 {
    let Place { words, base, step, presence_at } = place;
    if may_vectors && let Some((wide, habit)) = vectors.of(run, count) {
        let place = Place { words: &mut *words, base, step, presence_at };
        let done = wide.entries(run, bytes, place, lanes, progress, count);
        habit.learn(done.is_none());
        if done.is_some() {
            return count;
        }
    }
    let place = Place { words, base, step, presence_at };
    others(vectors, run, bytes, place, lanes, progress, count)
}

/// Decodes entries without SIMD until one needs another engine.
#[inline(always)]
fn others(
    vectors: &Vectors,
    run: &Run,
    bytes: &[u8],
    place: Place<'_>,
    lanes: &Lanes,
    progress: &mut Progress,
    count: u32,
) -> u32 {
    if let Some(compiled) = vectors.compiled.as_ref().filter(|compiled| compiled.has(run)) {
        return by_code(compiled, run, bytes, place, lanes, progress, count);
    }
    lanes::entries(run, bytes, place, lanes, progress, count)
}

/// Writes the lanes of a run that have an entry to their home.
#[inline]
pub(crate) fn keep(wide: Option<Wide>, run: &Run, home: &mut Lanes, lanes: &[Word]) {
    match (wide, &run.plan) {
        (Some(wide), Some(plan)) => wide.keep(run, plan, home, lanes),
        _ => lanes::keep(run, home, lanes),
    }
}

/// Decodes one record, given its presence map, to the start of `out`.
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

/// Decodes entries with compiled code until it bails out, then with the portable engine.
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

#[cfg(all(test, machine_code))]
mod tests {
    use super::*;
    use crate::{Decoder, TemplateId, TemplateSet};
    use std::sync::Arc;

    const XML: &str = r#"<templates>
        <template name="Often" id="1"><uInt32 name="a"><copy/></uInt32><uInt32 name="b"><increment/></uInt32>
            <sequence name="s"><uInt32 name="c"><delta/></uInt32></sequence></template>
        <template name="Seldom" id="2"><uInt32 name="a"><copy/></uInt32></template></templates>"#;

    #[test]
    fn what_is_decoded_often_is_compiled_and_goes_on_as_it_was() {
        let program = Program::compile(TemplateSet::parse(XML).expect("valid")).expect("compiles");
        let program = Arc::new(program);
        let decoder = |engine| {
            let options = DecoderOptions::default().engine_under_test(engine);
            Decoder::with_options(program.clone(), options)
        };
        let [mut automatic, mut scalar] =
            [EngineUnderTest::Automatic, EngineUnderTest::Portable].map(decoder);
        let template = |id| program.template_index(TemplateId(id)).expect("there") as u32;
        let is_compiled = |decoder: &Decoder, id| {
            decoder.vectors.compiled().expect("an engine").of_template(template(id)).is_some()
        };
        // Sometimes the other template, and a value that differs from the previous message.
        for count in 0..TierUp::MESSAGES + 1000 {
            let message: &[u8] = match count {
                0 => &[0xf8, 0x81, 0x85, 0x81, 0x82, 0x83, 0x84],
                _ if count % 1000 == 0 => &[0xe0, 0x82, 0x86],
                _ if count % 1000 == 1 => &[0xc0, 0x81, 0x82, 0x81, 0x7f ^ 0x80, 0x81],
                _ => &[0x80, 0x81, 0x81],
            };
            assert!(
                count >= TierUp::MESSAGES || !is_compiled(&automatic, 1),
                "before message {count}"
            );
            let [one, other] = [&mut automatic, &mut scalar].map(|decoder| {
                decoder
                    .decode(message)
                    .map(|d| (d.len, format!("{:?}", d.message.root().field("b"))))
            });
            assert_eq!(one, other, "message {count}");
        }
        assert!(is_compiled(&automatic, 1) && !is_compiled(&automatic, 2));
    }

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
