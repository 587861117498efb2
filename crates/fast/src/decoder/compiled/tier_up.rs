//! When templates are compiled, and how often their code succeeds.

use super::Compiled;
use super::choice::SequenceChoice;
use super::tail::PacketTail;
use crate::decoder::vectors::{Habit, Wide};
use crate::decoder::{Decoder, DecoderOptions, EngineUnderTest, TierUp};
use crate::program::{Program, Quick};
use std::sync::Arc;

/// Strikes (failures minus successes) before plain code backs off: plain code that fails sometimes is still
/// faster than the tree.
pub(super) const TOLERATED: u8 = 2;

/// The compiled code that a decoder uses, and its success by template.
#[derive(Clone, Debug)]
pub(in crate::decoder) struct JitEngine {
    pub(super) compiled: Option<Compiled>,
    pub(super) templates: Vec<TemplateSuccess>,
    due: TierUpSchedule,
    pub(super) tail: PacketTail,
}

/// Success of each engine with one template.
#[derive(Clone, Debug, Default)]
pub(super) struct TemplateSuccess {
    /// Messages decoded without machine code.
    heat: u32,
    /// Back-off of plain code: strikes count messages that the tree then decoded.
    pub(super) plain: Habit,
    /// Back-off of the tree, where the operations decode its messages.
    pub(super) tree: Habit,
    /// Bytes of the longest message that the tree decoded lately.
    pub(super) tree_len: usize,
    /// How entries are decoded; `None` if SIMD cannot decode them.
    pub(super) sequence: Option<SequenceChoice>,
}

/// When templates are compiled, and in which form.
#[derive(Clone, Debug)]
struct TierUpSchedule {
    /// Message count at which a template is compiled.
    message: u32,
    /// Message count at which it is compiled as a tree, because its plain code mostly bails out.
    trees: u32,
    /// Program to compile on a separate thread; `None` compiles in the call.
    on_thread: Option<Arc<Program>>,
}

impl TierUpSchedule {
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
        let is_eager = options.wanted_engine() == EngineUnderTest::MachineCode
            || options.tier_up == TierUp::Eager;
        let trees = if is_eager { Self::DECLINED } else { message.saturating_mul(2) };
        Self { message, trees, on_thread }
    }
}

impl JitEngine {
    pub(in crate::decoder) fn new(
        options: DecoderOptions,
        program: &Arc<Program>,
        wide: Option<Wide>,
    ) -> Self {
        let is_forced = options.wanted_engine() == EngineUnderTest::Vectors;
        let hands_over = |quick: &Option<Quick>| {
            let sequence = quick.as_ref()?.sequence?;
            program.runs.get(sequence.run as usize)?.plan.as_ref()?;
            wide.map(|_| SequenceChoice::new(is_forced))
        };
        let success = |quick| {
            let sequence = hands_over(quick);
            TemplateSuccess { sequence, ..TemplateSuccess::default() }
        };
        let compiled = compiled(options, program);
        Self {
            due: TierUpSchedule::of(options, program),
            templates: program.quick.iter().map(success).collect(),
            tail: PacketTail::new(compiled.as_ref().map_or(0, Compiled::bytes_max)),
            compiled,
        }
    }

    /// True if templates are compiled, now or later.
    #[inline(always)]
    pub(in crate::decoder) fn is_there(&self) -> bool {
        self.compiled.is_some()
    }

    /// Counts a message that was decoded without machine code, and compiles the template when it is
    /// hot.
    #[inline(always)]
    pub(in crate::decoder) fn decoded(&mut self, program: &Program, template: u32) {
        if let Some(compiled) = &self.compiled
            && let Some(TemplateSuccess { heat, .. }) = self.templates.get_mut(template as usize)
        {
            *heat = heat.saturating_add(1);
            if *heat == self.due.message || *heat == self.due.trees {
                compile(&self.due, compiled, program, (template, *heat));
            }
        }
    }
}

impl Decoder {
    /// Returns the number of messages of a template that were decoded without machine code. For tests.
    #[doc(hidden)]
    pub fn decoded_without_code(&self, template: usize) -> Option<u32> {
        Some(self.jit.templates.get(template)?.heat)
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

/// Compiles whatever is due at this message count of a template: here, or on a separate thread.
#[cold]
fn compile(
    due: &TierUpSchedule,
    compiled: &Compiled,
    program: &Program,
    (template, heat): (u32, u32),
) {
    // A saturated counter means "never".
    let is_message = heat == due.message && heat != u32::MAX;
    let is_tree = heat == due.trees && heat != u32::MAX;
    let make = move |compiled: &Compiled, program: &Program| {
        if is_message {
            compiled.compile_message(program, template as usize);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TemplateId, TemplateSet};

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
            decoder
                .jit
                .compiled
                .as_ref()
                .expect("an engine")
                .of_template(template(id))
                .and_then(|code| code.plain())
                .is_some()
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
}
