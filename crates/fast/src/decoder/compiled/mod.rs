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
mod record;
mod short;
mod tail;
mod tier_up;
mod tree;

use super::wide::{Wide, WideCall};
use super::{Decoder, ResetPolicy, lanes};
use crate::dictionary::{DictionaryEntries, Home, Word};
use crate::program::{LanePlan, Program};
use cranelift_codegen::CodegenError;
use cranelift_codegen::ir::Function;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleError, default_libcall_names};
use hand_over::VectorCall;
use message::{FreshLanes, MessageCall, MessageEnd, MessageFrame};
use std::ptr::null;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
pub(super) use tier_up::JitEngine;
use tree::TreeFrame;
use tree::TreeFunction;

/// Most lanes compiled per program; other engines decode the rest.
const LANES_TOTAL_MAX: u32 = 8192;
/// Most presence-map bits of a compiled run.
const MAP_BITS_MAX: u32 = 28;

/// Decodes a message from its first field on. Arguments: call data, position, presence map, first
/// word of the record, homes of the program, the dictionary.
type DecodeMessage = unsafe extern "sysv64" fn(
    *mut MessageCall,
    *const u8,
    u64,
    *mut Word,
    *mut Home,
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
    /// Least number of words that must be available.
    words_min: usize,
    /// Least number of homes that a dictionary must have.
    homes: usize,
    /// True if the home's lanes stay in the message; the dictionary has recorded them.
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
    /// By template: unset until requested, `None` if it cannot be compiled.
    messages: Vec<OnceLock<Option<MessageFunction>>>,
    /// By template: code for templates that are not plain, or whose plain code mostly bails out.
    trees: Vec<OnceLock<Option<TreeFunction>>>,
    /// Most bytes that a record of any plain template reads.
    bytes_max: usize,
    compiler: Mutex<JitCompiler>,
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
        let templates = self.0.messages.iter().filter_map(OnceLock::get).flatten().count();
        let trees = self.0.trees.iter().filter_map(OnceLock::get).flatten().count();
        let mut fields = f.debug_struct("Compiled");
        fields.field("templates", &templates).field("trees", &trees).finish()
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
            messages: program.templates.iter().map(|_| OnceLock::new()).collect(),
            trees: program.templates.iter().map(|_| OnceLock::new()).collect(),
            bytes_max: frames.map(|frame| frame.bytes_max()).max().unwrap_or_default(),
            compiler: Mutex::new(compiler),
        })))
    }

    /// Compiles everything not yet compiled. `program` must be the one passed to [`of`](Self::of).
    fn compile_all(&self, program: &Program) {
        for template in 0..self.0.messages.len() {
            self.compile_message(program, template);
        }
    }

    /// Compiles a template as a plain one, or else as a tree. `program` must be the one passed to
    /// [`of`](Self::of).
    #[cold]
    fn compile_message(&self, program: &Program, template: usize) {
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
    fn compile_tree(&self, program: &Program, template: usize) {
        if let Some(place) = self.0.trees.get(template) {
            place.get_or_init(|| self.compiler().tree(TreeFrame::of(program, template)?));
        }
    }

    fn compiler(&self) -> std::sync::MutexGuard<'_, JitCompiler> {
        self.0.compiler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the most bytes that a record of any plain template reads.
    fn bytes_max(&self) -> usize {
        self.0.bytes_max
    }

    /// Returns the code of a template, if it is compiled.
    #[inline(always)]
    fn of_template(&self, template: u32) -> Option<&MessageFunction> {
        self.0.messages.get(template as usize)?.get()?.as_ref()
    }

    /// Returns the tree code of a template, if it is compiled.
    #[inline(always)]
    fn of_tree(&self, template: u32) -> Option<&TreeFunction> {
        self.0.trees.get(template as usize)?.get()?.as_ref()
    }
}

impl MessageFunction {
    /// True if the template uses all of these presence-map bits.
    #[inline(always)]
    fn takes(&self, bits: u64) -> bool {
        bits & self.unused == 0
    }

    /// Decodes the fields of a template and its sequence, given the presence map, into the front of
    /// `words`; `None` if the code bailed out. The message is within the first `len` bytes.
    #[inline(always)]
    fn message(
        &self,
        bytes: &[u8],
        len: usize,
        (position, bits): (usize, u64),
        dictionary: &mut DictionaryEntries,
        words: &mut [Word],
        (entries_max, may_use_vectors): (u32, bool),
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
            vectors: u64::from(may_use_vectors),
            end: bytes.as_ptr().wrapping_add(len),
            words: words.len() as u64,
            entries_max: u64::from(entries_max),
        };
        let start = bytes.as_ptr().wrapping_add(position);
        let out = words.as_mut_ptr();
        // SAFETY: the code reads at most `bytes_max` bytes from `position` on before the first entry,
        // and of each entry, which begins at `last` at most; all of them are in `bytes`. It reads and
        // writes homes below `self.homes`, and in the dictionary the integers that `DICTIONARY_PARTS`
        // names; the homes are not in the dictionary itself. It writes to the record, which is in the
        // first `self.words_min` words, and to entries behind it if all of them are in `words`. Its
        // memory, and the lanes and the plan that it has the addresses of, live as long as `self`, which
        // is in the same `CompiledCode`. Vectors are only called by code that was made where the CPU has them, with
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

impl Decoder {
    /// Decodes a message with its template's code; `None` without code, or if it bails out.
    #[inline(always)]
    pub(super) fn decode_by_code<const STREAM: bool>(
        &mut self,
        buffer: &[u8],
        bytes: &[u8],
    ) -> Option<usize> {
        if !self.may_run {
            return None;
        }
        let (bits, mut at) = lanes::presence_map(bytes, 0)?;
        let index = match bits >> 63 {
            0 => self.dictionary.last_template()?,
            _ => self.program.index_of_small(lanes::unsigned_at(bytes, &mut at)?)?,
        };
        let bits = bits << 1;
        let compiled = self.jit.compiled.as_ref()?;
        let success = self.jit.templates.get_mut(index as usize)?;
        let Some(code) = compiled.of_template(index).filter(|_| success.plain.is_good()) else {
            return self.decode_tree::<STREAM>(buffer, bytes, (at, index, bits));
        };
        if !code.takes(bits) {
            return None;
        }
        self.dictionary.return_home();
        self.dictionary.set_last_template(index);
        if code.reset && self.options.reset != ResetPolicy::Never {
            self.dictionary.reset_values();
        }
        let words = &mut self.message.store.words;
        self.dictionary.settle(&self.program, self.vectors.wide, words);
        let window = match buffer.len() >= at + code.bytes_max {
            true => buffer,
            false => self.jit.tail.lengthened(bytes, code.bytes_max),
        };
        let start = (at, bits);
        let mut choice = success.sequence.as_mut();
        let (began, vectors) = match &mut choice {
            Some(choice) => (choice.begin(), choice.takes_vectors()),
            None => (None, false),
        };
        let dictionary = &mut self.dictionary;
        let limits = &self.options.limits;
        let entries_max = limits.entries_max.min(limits.entries_total_max);
        let terms = (entries_max, vectors);
        let message = code.message(window, bytes.len(), start, dictionary, words, terms);
        let leaves_lanes = code.leaves_lanes;
        // In a stream the message may be incomplete, which says nothing about SIMD.
        if let Some(choice) = choice
            && (!STREAM || message.is_some())
        {
            let end = message.as_ref().map_or(start.0, |message| message.end);
            choice.end(began, end - start.0);
            if vectors {
                // If the compiled code bailed out too, the work of the SIMD engine was wasted.
                choice.learn(message.as_ref().is_none_or(|message| message.is_declined));
            }
        }
        let Some(message) = message else {
            let end = self.decode_tree::<STREAM>(buffer, bytes, (at, index, bits))?;
            // Plain code backs off only where tree code succeeds.
            if let Some(success) = self.jit.templates.get_mut(index as usize) {
                success.plain.failed_once_more();
            }
            return Some(end);
        };
        if message.end > bytes.len() {
            return None;
        }
        success.plain.learn(false);
        let store = &mut self.message.store;
        store.bytes.clear();
        store.used = message.used;
        if leaves_lanes {
            self.dictionary.await_lanes(index);
        }
        self.message.set_template(index);
        Some(message.end)
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
        let homes = runs.filter_map(|run| run.home).map(|home| home as usize + 1).max();
        Some(MessageFunction {
            // SAFETY: `MessageFrame::build` gives the function this signature and calling convention.
            function: unsafe { std::mem::transmute::<*const u8, DecodeMessage>(function) },
            bytes_max: frame.bytes_max(),
            unused: u64::MAX >> frame.quick.map_bits,
            reset: frame.quick.reset,
            words_min: frame.words_min(),
            homes: homes.unwrap_or_default(),
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
