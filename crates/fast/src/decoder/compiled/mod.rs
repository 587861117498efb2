//! JIT engine: compiles the templates of a program to machine code for this CPU, one function each.
//!
//! A template that consists of runs becomes straight-line code: per field a test of a constant
//! presence-map bit and branches on the length; previous values are read from the previous record.
//! For anything unusual the code bails out before it changes any state, and another engine decodes
//! the message again. Bounds are checked once per record: the code runs only if as many bytes are
//! readable as the longest record it accepts. All other templates become [trees](tree).
//!
//! Templates are compiled on demand, one by one; all decoders of the program share the code.
//!
//! This module uses `unsafe` to call compiled code and to free its memory.
#![allow(unsafe_code)]

mod choice;
mod flow;
mod hand_over;
mod integer;
mod lane;
mod message;
mod numbers;
mod previous;
mod record;
mod short;
mod tail;
mod template;
mod tier_up;
mod tree;

use super::wide::Wide;
use crate::dictionary::{DictionaryEntries, Word};
use crate::program::{LANES_MAX, LanePlan, Program};
use cranelift_codegen::CodegenError;
use cranelift_codegen::ir::Function;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleError, default_libcall_names};
use hand_over::VectorCall;
use message::{MessageCall, MessageEnd, MessageFrame};
use previous::FreshLanes;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
pub(super) use tier_up::JitEngine;
use tree::TreeFrame;
use tree::TreeFunction;

/// Most lanes compiled per program; other engines decode the rest.
const LANES_TOTAL_MAX: u32 = 8192;
/// Most dictionary entries that code can address.
const ENTRIES_MAX: usize = 1 << 24;
/// Most presence-map bits of a compiled run.
const MAP_BITS_MAX: u32 = 28;

/// Decodes a message from its first field on. Arguments: call data, position, presence map, first
/// word of the record, words of the dictionary's entries, the dictionary.
type DecodeMessage = unsafe extern "sysv64" fn(
    *mut MessageCall,
    *const u8,
    u64,
    *mut Word,
    *mut Word,
    *mut DictionaryEntries,
) -> MessageEnd;

/// Compiled code of a plain template. `Compiled` owns the code; this value never leaves it.
#[derive(Debug)]
struct MessageFunction {
    function: DecodeMessage,
    /// Most bytes read from the first field on, or for one entry.
    bytes_max: usize,
    /// Presence-map bits, after the template id's, that the template does not use.
    unused: u64,
    /// The template's own reset attribute.
    reset: bool,
    /// True if the template has dictionary entries.
    has_entries: bool,
    /// Least number of words that must be available.
    words_min: usize,
    /// Least number of words and stamps that a dictionary must have.
    entries: usize,
    /// True if lanes stay in the message; the dictionary has recorded them.
    leaves_lanes: bool,
}

/// A decoded message.
#[derive(Clone, Copy, Debug)]
struct CompiledMessage {
    end: usize,
    /// Words in use.
    used: usize,
    /// True if the SIMD engine rejected the entries and the code decoded them.
    is_declined: bool,
}

/// Compiled code of a program.
#[derive(Clone)]
pub(crate) struct Compiled(Arc<CompiledCode>);

struct CompiledCode {
    templates: Vec<TemplateCode>,
    /// Most bytes that a record of any plain template reads.
    bytes_max: usize,
    compiler: Mutex<JitCompiler>,
}

/// Code of a template: unset until requested, `None` if it cannot be compiled.
#[derive(Default)]
struct TemplateCode {
    plain: OnceLock<Option<MessageFunction>>,
    /// For a template that is not plain, or whose plain code mostly bails out.
    tree: OnceLock<Option<TreeFunction>>,
}

/// The compiler; owns the code's memory and the data that the code points to.
struct JitCompiler {
    module: Option<JITModule>,
    context: FunctionBuilderContext,
    fresh: Vec<FreshLanes>,
    plans: Vec<Arc<LanePlan>>,
    wide: Option<Wide>,
    lanes: u32,
}

impl Drop for JitCompiler {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the functions are in the `CompiledCode` that owns this compiler, and are called only
            // through references into it, so never after it is dropped.
            unsafe { module.free_memory() };
        }
    }
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plain = self.0.templates.iter().filter_map(TemplateCode::plain).count();
        let trees = self.0.templates.iter().filter_map(TemplateCode::tree).count();
        f.debug_struct("Compiled").field("plain", &plain).field("trees", &trees).finish()
    }
}

impl Compiled {
    /// Creates the compiler for a program; `None` if it does not support this CPU.
    pub(crate) fn of(program: &Program) -> Option<Self> {
        let mut flags = settings::builder();
        // The compiler validates its input in debug builds only: the input is generated here.
        let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
        for (name, value) in
            [("opt_level", "speed"), ("is_pic", "false"), ("enable_verifier", verifier)]
        {
            flags.set(name, value).ok()?;
        }
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        let compiler = JitCompiler {
            module: Some(JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()))),
            context: FunctionBuilderContext::new(),
            fresh: Vec::new(),
            plans: Vec::new(),
            wide: Wide::detect(),
            lanes: 0,
        };
        let frames = program.quick.iter().flatten().filter_map(|q| MessageFrame::of(program, q));
        Some(Self(Arc::new(CompiledCode {
            templates: program.templates.iter().map(|_| TemplateCode::default()).collect(),
            bytes_max: frames.map(|frame| frame.bytes_max()).max().unwrap_or_default(),
            compiler: Mutex::new(compiler),
        })))
    }

    /// Compiles everything not yet compiled. `program` must be the one passed to [`of`](Self::of).
    fn compile_all(&self, program: &Program) {
        for template in 0..self.0.templates.len() {
            self.compile_message(program, template);
        }
    }

    /// Compiles a template as a plain one, or else as a tree. `program` must be the one passed to
    /// [`of`](Self::of).
    #[cold]
    fn compile_message(&self, program: &Program, template: usize) {
        if let (Some(code), Some(Some(quick))) =
            (self.0.templates.get(template), program.quick.get(template))
        {
            let plain = || self.compiler().message(MessageFrame::of(program, quick)?);
            if code.plain.get_or_init(plain).is_some() {
                return;
            }
        }
        self.compile_tree(program, template);
    }

    /// Compiles a template as a tree, even if it is plain: plain code bails out for long strings.
    /// `program` must be the one passed to [`of`](Self::of).
    #[cold]
    fn compile_tree(&self, program: &Program, template: usize) {
        if let Some(code) = self.0.templates.get(template) {
            code.tree.get_or_init(|| self.compiler().tree(TreeFrame::of(program, template)?));
        }
    }

    /// Returns the code of a template.
    #[inline(always)]
    fn of_template(&self, template: u32) -> Option<&TemplateCode> {
        self.0.templates.get(template as usize)
    }

    fn compiler(&self) -> std::sync::MutexGuard<'_, JitCompiler> {
        self.0.compiler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the most bytes that a record of any plain template reads.
    fn bytes_max(&self) -> usize {
        self.0.bytes_max
    }
}

impl TemplateCode {
    #[inline(always)]
    fn plain(&self) -> Option<&MessageFunction> {
        self.plain.get()?.as_ref()
    }

    #[inline(always)]
    fn tree(&self) -> Option<&TreeFunction> {
        self.tree.get()?.as_ref()
    }
}

impl JitCompiler {
    fn message(&mut self, mut frame: MessageFrame<'_>) -> Option<MessageFunction> {
        self.take_lanes(frame.lanes())?;
        let Self { module, context, fresh, plans, wide, .. } = self;
        let module = module.as_mut()?;
        let plan = frame.plan().filter(|_| wide.is_some());
        plans.extend(plan.cloned());
        frame.vectors = wide.zip(plan).map(|(wide, plan)| VectorCall {
            kernel: wide.kernel(plan),
            plan: Arc::as_ptr(plan),
            has_fresh: plan.fresh.is_some(),
        });
        let id = define(module, |function| frame.build(function, context, fresh))?;
        module.finalize_definitions().ok()?;
        let function = module.get_finalized_function(id);
        let entries = frame.sequence.as_ref().map(|(_, entries)| entries);
        let runs = frame.fields.into_iter().chain(entries.map(|entries| entries.run));
        let ends = runs.filter_map(|run| run.first_entry).map(|first| first as usize + LANES_MAX);
        Some(MessageFunction {
            // SAFETY: `MessageFrame::build` gives the function this signature and calling convention.
            function: unsafe { std::mem::transmute::<*const u8, DecodeMessage>(function) },
            bytes_max: frame.bytes_max(),
            unused: u64::MAX >> frame.quick.map_bits,
            reset: frame.quick.reset,
            has_entries: frame.quick.has_entries,
            words_min: frame.words_min(),
            entries: ends.max().unwrap_or_default(),
            leaves_lanes: frame.leaves_lanes(),
        })
    }

    fn take_lanes(&mut self, count: u32) -> Option<()> {
        let lanes = self.lanes + count;
        (lanes <= LANES_TOTAL_MAX).then(|| self.lanes = lanes)
    }
}

fn define(module: &mut JITModule, build: impl FnOnce(&mut Function)) -> Option<FuncId> {
    let mut context = module.make_context();
    build(&mut context.func);
    let id = module.declare_anonymous_function(&context.func.signature).ok()?;
    let defined = module.define_function(id, &mut context);
    // Tests of machine code could not fail if invalid code were silently replaced by another
    // engine.
    debug_assert!(
        !matches!(&defined, Err(ModuleError::Compilation(CodegenError::Verifier(_)))),
        "invalid code was built: {defined:?}"
    );
    defined.ok()?;
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::Compiled;
    use crate::{Decoder, DecoderOptions, Program, TemplateSet, TierUp};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    /// A plain template with a string, and a message of it.
    const XML: &str = r#"<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
        <template name="T" id="1"><uInt32 name="A"><copy/></uInt32><string name="B"><copy/></string></template>
        </templates>"#;
    const MESSAGE: [u8; 4] = [0xf0, 0x81, 0x85, 0xc1];

    fn decoder(tier_up: TierUp) -> (Decoder, Arc<Program>) {
        let program = Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap());
        let options = DecoderOptions::default().tier_up(tier_up);
        (Decoder::with_options(program.clone(), options), program)
    }

    fn decode(decoder: &mut Decoder, count: u32) {
        for _ in 0..count {
            assert_eq!(decoder.decode(&MESSAGE).unwrap().len, MESSAGE.len());
        }
    }

    fn code_of(program: &Program) -> Option<Compiled> {
        program.machine_code.get().cloned().flatten()
    }

    fn has_template(program: &Program) -> bool {
        code_of(program)
            .is_some_and(|code| code.of_template(0).is_some_and(|code| code.plain().is_some()))
    }

    #[test]
    fn code_is_made_when_the_caller_chose() {
        let (mut after, program) = decoder(TierUp::After(3));
        decode(&mut after, 2);
        assert!(!has_template(&program));
        decode(&mut after, 1);
        assert!(has_template(&program));

        let (_, program) = decoder(TierUp::Eager);
        assert!(has_template(&program));

        let (mut off, program) = decoder(TierUp::Off);
        decode(&mut off, 10);
        assert!(code_of(&program).is_none());
    }

    #[test]
    fn no_call_waits_for_code_that_a_thread_makes() {
        let (mut decoder, program) = decoder(TierUp::OnThread);
        let code = code_of(&program).unwrap();
        let busy = code.compiler();
        decode(&mut decoder, TierUp::MESSAGES + 5);
        assert!(!has_template(&program), "the compiler is busy, and no call waits for it");
        drop(busy);
        let until = Instant::now() + Duration::from_secs(30);
        while !has_template(&program) {
            assert!(Instant::now() < until, "the thread compiles nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
        decode(&mut decoder, 5);
    }
}
