//! JIT engine: compiles the runs and templates of a program to machine code for this CPU.
//!
//! Each run becomes straight-line code: per field a test of a constant presence-map bit and
//! branches on the length; previous values are read from the previous record. The contract is that
//! of [`lanes`](super::lanes): for anything unusual the code bails out before it changes any state,
//! and another engine decodes the record again. Bounds are checked once per record: the code runs
//! only if as many bytes are readable as the longest record it accepts. A template that consists of
//! runs becomes one function, from the first field to the end.
//!
//! Runs and templates are compiled on demand, one by one; all decoders of the program share the
//! code.
//!
//! This module uses `unsafe` to call compiled code and to free its memory.
#![allow(unsafe_code)]

mod hand_over;
mod integer;
mod lane;
mod message;
mod numbers;
mod record;
mod short;
mod tree;

use super::Terms;
use super::lanes::{Place, Progress};
use super::wide::{Wide, WideCall};
use crate::dictionary::{Dictionary, Home, LaneState, Lanes, Word};
use crate::program::{Plan, Program, Run};
use cranelift_codegen::CodegenError;
use cranelift_codegen::ir::Function;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleError, default_libcall_names};
use hand_over::Vectors;
use message::{Fresh, MessageCall, MessageEnd, MessageFrame};
use record::Frame;
use std::ptr::null;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tree::TreeFrame;
pub(super) use tree::TreeFunction;

/// Most lanes compiled per program; other engines decode the rest.
const LANES_TOTAL_MAX: u32 = 8192;
/// Most presence-map bits of a compiled run.
const MAP_BITS_MAX: u32 = 28;

/// Decodes one record, given its presence map. Returns its end, or null to bail out.
type Single = unsafe extern "sysv64" fn(*mut Call, u64) -> *const u8;
/// Decodes entries until one needs another engine.
type Entries = unsafe extern "sysv64" fn(*mut Call);
/// Decodes a message from its first field on. Arguments: call data, position, presence map, first
/// word of the record, homes of the program, the dictionary.
type Whole = unsafe extern "sysv64" fn(
    *mut MessageCall,
    *const u8,
    u64,
    *mut Word,
    *mut Home,
    *mut Dictionary,
) -> MessageEnd;

/// Arguments and results of compiled code.
#[derive(Debug)]
#[repr(C)]
struct Call {
    /// Next byte.
    position: *const u8,
    /// Last position at which a record may begin.
    last: *const u8,
    /// First lane of the record.
    out: *mut Word,
    /// First lane of the previous record.
    before: *const Word,
    /// Lanes present in the previous record; on return, in the last one.
    carried: u64,
    assigned: u64,
    /// Entries to decode; on return, entries left.
    left: u64,
}

/// Compiled code of a run.
#[derive(Clone, Copy, Debug)]
struct Functions {
    single: Single,
    entries: Entries,
    /// Most bytes that a record reads.
    bytes_max: usize,
    /// Words per entry, and words from its start to the last word written.
    step: usize,
    span: usize,
    first_slot: usize,
    presence_at: u32,
}

/// Compiled code of a plain template. `Compiled` owns the code; this value never leaves it.
#[derive(Debug)]
pub(super) struct MessageFunction {
    function: Whole,
    /// Most bytes read from the first field on, or for one entry.
    pub(super) bytes_max: usize,
    /// Presence-map bits, after the template id's, that the template does not use.
    unused: u64,
    /// The template's own reset attribute.
    pub(super) reset: bool,
    /// Least number of words that must be available.
    words_min: usize,
    /// Least number of homes that a dictionary must have.
    homes: usize,
    /// True if the home's lanes stay in the message; the dictionary has recorded them.
    pub(super) leaves_lanes: bool,
}

/// A decoded message.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompiledMessage {
    pub end: usize,
    /// Words in use.
    pub used: usize,
    /// True if the SIMD engine rejected the entries and the code decoded them.
    pub is_declined: bool,
}

/// Compiled code of a program.
#[derive(Clone)]
pub(crate) struct Compiled(Arc<Code>);

struct Code {
    /// By run and by template: unset until requested, `None` if it cannot be compiled.
    functions: Vec<OnceLock<Option<Functions>>>,
    messages: Vec<OnceLock<Option<MessageFunction>>>,
    /// By template: code for templates that are not plain, or whose plain code mostly bails out.
    trees: Vec<OnceLock<Option<TreeFunction>>>,
    /// Most bytes that a record of any run reads.
    bytes_max: usize,
    compiler: Mutex<Compiler>,
}

/// The compiler; owns the code's memory and the data that the code points to.
struct Compiler {
    module: Option<JITModule>,
    context: FunctionBuilderContext,
    fresh: Vec<Fresh>,
    plans: Vec<Arc<Plan>>,
    wide: Option<Wide>,
    lanes: u32,
}

impl Drop for Compiler {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the functions are in `Code` beside this and are called only by methods of
            // `Compiled`, so never after it is dropped.
            unsafe { module.free_memory() };
        }
    }
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let runs = self.0.functions.iter().filter_map(OnceLock::get).flatten().count();
        let templates = self.0.messages.iter().filter_map(OnceLock::get).flatten().count();
        let trees = self.0.trees.iter().filter_map(OnceLock::get).flatten().count();
        let mut fields = f.debug_struct("Compiled");
        fields.field("runs", &runs).field("templates", &templates).field("trees", &trees).finish()
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
        let compiler = Compiler {
            module: Some(JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()))),
            context: FunctionBuilderContext::new(),
            fresh: Vec::new(),
            plans: Vec::new(),
            wide: Wide::detect(),
            lanes: 0,
        };
        let frames = program.quick.iter().flatten().filter_map(|q| MessageFrame::of(program, q));
        let of_messages = frames.map(|frame| frame.bytes_max());
        let of_runs = program.runs.iter().map(record::bytes_max);
        Some(Self(Arc::new(Code {
            functions: program.runs.iter().map(|_| OnceLock::new()).collect(),
            messages: program.templates.iter().map(|_| OnceLock::new()).collect(),
            trees: program.templates.iter().map(|_| OnceLock::new()).collect(),
            bytes_max: of_runs.chain(of_messages).max().unwrap_or_default(),
            compiler: Mutex::new(compiler),
        })))
    }

    /// Compiles everything not yet compiled. `program` must be the one passed to [`of`](Self::of).
    pub(super) fn compile_all(&self, program: &Program) {
        for template in 0..self.0.messages.len() {
            self.compile_message(program, template);
            self.compile_runs(program, template as u32);
        }
    }

    /// Compiles a template as a plain one, or else as a tree. `program` must be the one passed to
    /// [`of`](Self::of).
    #[cold]
    pub(super) fn compile_message(&self, program: &Program, template: usize) {
        if let (Some(place), Some(Some(quick))) =
            (self.0.messages.get(template), program.quick.get(template))
        {
            let plain = || self.compiler().message(MessageFrame::of(program, quick)?);
            if place.get_or_init(plain).is_some() {
                return;
            }
        }
        self.compile_tree(program, template);
    }

    /// Compiles a template as a tree, even if it is plain: plain code bails out for long strings.
    /// `program` must be the one passed to [`of`](Self::of).
    #[cold]
    pub(super) fn compile_tree(&self, program: &Program, template: usize) {
        if let Some(place) = self.0.trees.get(template) {
            place.get_or_init(|| self.compiler().tree(TreeFrame::of(program, template)?));
        }
    }

    /// Compiles the runs of a template. `program` must be the one passed to [`of`](Self::of).
    #[cold]
    pub(super) fn compile_runs(&self, program: &Program, template: u32) {
        for segment in program.segments.iter().filter(|segment| segment.template == template) {
            let Some(index) = segment.run.map(|run| run as usize) else { continue };
            if let (Some(place), Some(run)) = (self.0.functions.get(index), program.runs.get(index))
            {
                place.get_or_init(|| self.compiler().run(Frame { run, segment }));
            }
        }
    }

    fn compiler(&self) -> std::sync::MutexGuard<'_, Compiler> {
        self.0.compiler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the most bytes that a record of any run reads.
    pub(super) fn bytes_max(&self) -> usize {
        self.0.bytes_max
    }

    /// True if a run is compiled.
    #[inline(always)]
    pub(super) fn has(&self, run: &Run) -> bool {
        self.of_run(run).is_some()
    }

    /// Returns the code of a template, if it is compiled.
    #[inline(always)]
    pub(super) fn of_template(&self, template: u32) -> Option<&MessageFunction> {
        self.0.messages.get(template as usize)?.get()?.as_ref()
    }

    /// Returns the tree code of a template, if it is compiled.
    #[inline(always)]
    pub(super) fn of_tree(&self, template: u32) -> Option<&TreeFunction> {
        self.0.trees.get(template as usize)?.get()?.as_ref()
    }

    #[inline(always)]
    fn of_run(&self, run: &Run) -> Option<&Functions> {
        self.0.functions.get(run.index as usize)?.get()?.as_ref()
    }

    /// As [`lanes::entries`](super::lanes::entries); decodes nothing if the run is not compiled.
    #[inline]
    pub(super) fn entries(
        &self,
        run: &Run,
        bytes: &[u8],
        place: Place<'_>,
        lanes: &Lanes,
        progress: &mut Progress,
        count: u32,
    ) -> u32 {
        let Some(functions) = self.of_run(run) else { return 0 };
        let Place { words, base, step, presence_at } = place;
        let is_known = step == functions.step && presence_at == functions.presence_at;
        let Some(last) = bytes.len().checked_sub(functions.bytes_max) else { return 0 };
        if count == 0 || !is_known || progress.position > last {
            return 0;
        }
        let words_needed = (count as usize - 1).saturating_mul(step).saturating_add(functions.span);
        let Some(words) = words.get_mut(base..).filter(|words| words.len() >= words_needed) else {
            return 0;
        };
        let mut call = Call {
            position: bytes.as_ptr().wrapping_add(progress.position),
            last: bytes.as_ptr().wrapping_add(last),
            out: words.as_mut_ptr().wrapping_add(functions.first_slot),
            before: lanes.as_ptr(),
            carried: u64::from(progress.state.carried()),
            assigned: u64::from(progress.state.assigned()),
            left: u64::from(count),
        };
        // SAFETY: the code reads `call.before` up to the run's lanes, of which `Lanes` has at least as
        // many. It begins a record at `last` at most and reads at most `bytes_max` bytes of it, all of
        // which are in `bytes`. It writes, of `count` records, the lanes and the presence word, all
        // below `span` words from the start of a record; there are `words_needed` words. The memory
        // of the code lives as long as `self`.
        unsafe { (functions.entries)(&raw mut call) };
        progress.position = call.position as usize - bytes.as_ptr() as usize;
        progress.state = LaneState::new(call.carried as u32, call.assigned as u32);
        count - call.left as u32
    }

    /// As [`lanes::single`](super::lanes::single).
    #[inline]
    pub(super) fn single(
        &self,
        run: &Run,
        bytes: &[u8],
        bits: u64,
        lanes: &Lanes,
        out: &mut [Word],
        progress: &mut Progress,
    ) -> Option<()> {
        let functions = self.of_run(run)?;
        let last = bytes.len().checked_sub(functions.bytes_max)?;
        if progress.position > last || out.len() < run.count as usize {
            return None;
        }
        let mut call = Call {
            position: bytes.as_ptr().wrapping_add(progress.position),
            last: bytes.as_ptr().wrapping_add(last),
            out: out.as_mut_ptr(),
            before: lanes.as_ptr(),
            carried: u64::from(progress.state.carried()),
            assigned: 0,
            left: 1,
        };
        // SAFETY: as above; of the one record only the lanes are written.
        let end = unsafe { (functions.single)(&raw mut call, bits) };
        if end.is_null() {
            return None;
        }
        progress.position = end as usize - bytes.as_ptr() as usize;
        progress.state = progress.state.after(call.carried as u32);
        Some(())
    }
}

impl MessageFunction {
    /// True if the template uses all of these presence-map bits.
    #[inline(always)]
    pub(super) fn takes(&self, bits: u64) -> bool {
        bits & self.unused == 0
    }

    /// Decodes the fields of a template and its sequence, given the presence map, into the front of
    /// `words`; `None` if the code bailed out. The message is within the first `len` bytes.
    #[inline(always)]
    pub(super) fn message(
        &self,
        bytes: &[u8],
        len: usize,
        (position, bits): (usize, u64),
        dictionary: &mut Dictionary,
        words: &mut [Word],
        terms: Terms,
    ) -> Option<CompiledMessage> {
        let last = bytes.len().checked_sub(self.bytes_max)?;
        let homes = dictionary.homes();
        if position > last || words.len() < self.words_min || homes.len() < self.homes {
            return None;
        }
        let homes = homes.as_mut_ptr();
        let mut call = MessageCall {
            wide: WideCall { end: bytes.as_ptr_range().end, before: null(), is_declined: 0 },
            last: bytes.as_ptr().wrapping_add(last),
            vectors: u64::from(terms.vectors),
            end: bytes.as_ptr().wrapping_add(len),
            words: words.len() as u64,
            entries_max: u64::from(terms.entries_max),
        };
        let start = bytes.as_ptr().wrapping_add(position);
        let out = words.as_mut_ptr();
        // SAFETY: the code reads at most `bytes_max` bytes from `position` on before the first entry,
        // and of each entry, which begins at `last` at most; all of them are in `bytes`. It reads and
        // writes homes below `self.homes`, and in the dictionary the integers that `DICTIONARY_PARTS`
        // names; the homes are not in the dictionary itself. It writes to the record, which is in the
        // first `self.words_min` words, and to entries behind it if all of them are in `words`. Its
        // memory, and the lanes and the plan that it has the addresses of, live as long as `self`, which
        // is in the same `Code`. Vectors are only called by code that was made where the CPU has them, with
        // bytes up to the end of `bytes` and with entries that are all in `words`, whose blocks of
        // words end before the next record's, or in the last of the words behind all.
        let MessageEnd { end, used } = unsafe {
            (self.function)(&raw mut call, start, bits, out, homes, &raw mut *dictionary)
        };
        if end.is_null() {
            return None;
        }
        let end = end as usize - bytes.as_ptr() as usize;
        Some(CompiledMessage { end, used: used as usize, is_declined: call.wide.is_declined != 0 })
    }
}

impl Compiler {
    fn message(&mut self, mut frame: MessageFrame<'_>) -> Option<MessageFunction> {
        self.take_lanes(frame.lanes())?;
        let Self { module, context, fresh, plans, wide, .. } = self;
        let module = module.as_mut()?;
        let plan = frame.plan().filter(|_| wide.is_some());
        plans.extend(plan.cloned());
        frame.vectors = wide.zip(plan).map(|(wide, plan)| Vectors {
            kernel: wide.kernel(plan),
            plan: Arc::as_ptr(plan),
            has_fresh: plan.fresh.is_some(),
        });
        let id = define(module, |function| frame.build(function, context, fresh))?;
        module.finalize_definitions().ok()?;
        let function = module.get_finalized_function(id);
        let entries = frame.sequence.as_ref().map(|(_, entries)| entries);
        let runs = frame.fields.into_iter().chain(entries.map(|entries| entries.run));
        let homes = runs.filter_map(|run| run.home).map(|home| home as usize + 1).max();
        Some(MessageFunction {
            // SAFETY: `MessageFrame::build` gives the function this signature and calling convention.
            function: unsafe { std::mem::transmute::<*const u8, Whole>(function) },
            bytes_max: frame.bytes_max(),
            unused: u64::MAX >> frame.quick.map_bits,
            reset: frame.quick.reset,
            words_min: frame.words_min(),
            homes: homes.unwrap_or_default(),
            leaves_lanes: frame.leaves_lanes(),
        })
    }

    fn run(&mut self, frame: Frame<'_>) -> Option<Functions> {
        let run = frame.run;
        if run.map_bits > MAP_BITS_MAX {
            return None;
        }
        self.take_lanes(2 * run.count)?;
        let Self { module, context, .. } = self;
        let module = module.as_mut()?;
        let single = define(module, |function| frame.single(function, context))?;
        let entries = define(module, |function| frame.entries(function, context))?;
        module.finalize_definitions().ok()?;
        let single = module.get_finalized_function(single);
        let entries = module.get_finalized_function(entries);
        let segment = frame.segment;
        Some(Functions {
            // SAFETY: `Frame::single` gives the function this signature and calling convention.
            single: unsafe { std::mem::transmute::<*const u8, Single>(single) },
            // SAFETY: `Frame::entries` likewise.
            entries: unsafe { std::mem::transmute::<*const u8, Entries>(entries) },
            bytes_max: record::bytes_max(run),
            step: segment.record_words as usize,
            span: (run.first_slot + run.count).max(segment.presence_at + 1) as usize,
            first_slot: run.first_slot as usize,
            presence_at: segment.presence_at,
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
        code_of(program).is_some_and(|code| code.of_template(0).is_some())
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
