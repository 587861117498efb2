//! The engine of machine code: the runs of a program compiled for the CPU at hand.
//!
//! Each run becomes straight-line code: a test of a constant presence-map bit a field, a branch on each
//! length, previous values read from the record before. It has the contract of
//! [`lanes`](super::lanes): whatever is not plain is declined before anything is kept, and decoded
//! again by others. The code checks the end of the bytes once a record: it is called only where as
//! many bytes follow as the longest record it accepts has.
//!
//! This module may use `unsafe`: to call what the compiler made, and to give its memory back.
#![allow(unsafe_code)]

mod integer;
mod lane;
mod record;

use super::lanes::{Place, Progress};
use crate::dictionary::{LaneState, Lanes, Word};
use crate::program::{Program, Quick, Run, Segment};
use cranelift_codegen::ir::Function;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, default_libcall_names};
use record::{Frame, MessageFrame};
use std::sync::{Arc, Mutex};

/// Lanes of all runs that are compiled; what is beyond is left to the portable engine.
const LANES_TOTAL_MAX: u32 = 4096;
/// Presence-map bits of a run: more are left to the portable engine.
const MAP_BITS_MAX: u32 = 28;

/// Decodes one record, or a message, its presence map given: returns its end, or null.
type Whole = unsafe extern "sysv64" fn(*mut Call, u64) -> *const u8;
/// Decodes entries as long as they are plain.
type Entries = unsafe extern "sysv64" fn(*mut Call);

/// What compiled code is given and gives back.
#[derive(Debug)]
#[repr(C)]
struct Call {
    /// Next byte.
    position: *const u8,
    /// A record may begin here at most.
    last: *const u8,
    /// First lane of the record.
    out: *mut Word,
    /// First lane of the record before.
    before: *const Word,
    /// Lanes present before, then in the last record.
    carried: u64,
    assigned: u64,
    /// Entries to decode, then those left; of a message the most there may be, then those it has.
    left: u64,
}

/// A run as code.
#[derive(Clone, Copy, Debug)]
struct Functions {
    single: Whole,
    entries: Entries,
    /// Most bytes that a record reads.
    bytes_max: usize,
    /// Words of an entry, and of the last of them those up to the last word written.
    step: usize,
    span: usize,
    first_slot: usize,
    presence_at: u32,
}

/// A template as code: fields without a dictionary, then a sequence.
#[derive(Clone, Copy, Debug)]
struct MessageFunction {
    function: Whole,
    /// Most bytes that are read from the first field on, or of an entry.
    bytes_max: usize,
    /// Words of the template's record and of an entry.
    record_words: usize,
    step: usize,
}

/// A message as it was decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompiledMessage {
    pub end: usize,
    pub entries: u32,
    /// Words in use.
    pub used: usize,
    pub state: LaneState,
}

/// The code of a program.
#[derive(Clone)]
pub(crate) struct Compiled(Arc<Code>);

struct Code {
    functions: Vec<Option<Functions>>,
    /// By template.
    messages: Vec<Option<MessageFunction>>,
    /// Most bytes that a record of any run reads.
    bytes_max: usize,
    _memory: Memory,
}

/// Owner of the code's memory.
struct Memory(Mutex<Option<JITModule>>);

impl Drop for Memory {
    fn drop(&mut self) {
        let module = self.0.get_mut().map(Option::take);
        if let Ok(Some(module)) = module {
            // SAFETY: the functions are in `Code` beside this, are called only by its methods, and so
            // never once it is dropped.
            unsafe { module.free_memory() };
        }
    }
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.0.functions.iter().flatten().count();
        f.debug_struct("Compiled").field("runs", &count).finish()
    }
}

impl Compiled {
    /// Compiles the runs of a program; `None` where there are none or the compiler does not know this
    /// CPU.
    pub(crate) fn of(program: &Program) -> Option<Self> {
        if program.runs.is_empty() {
            return None;
        }
        let mut flags = settings::builder();
        for (name, value) in
            [("opt_level", "speed"), ("is_pic", "false"), ("enable_verifier", "false")]
        {
            flags.set(name, value).ok()?;
        }
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        let mut module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        let compiled = compile(&mut module, program);
        let memory = Memory(Mutex::new(Some(module)));
        let (functions, messages) = compiled?;
        let of_runs = functions.iter().flatten().map(|functions| functions.bytes_max);
        let of_messages = messages.iter().flatten().map(|message| message.bytes_max);
        let bytes_max = of_runs.chain(of_messages).max().unwrap_or_default();
        Some(Self(Arc::new(Code { functions, messages, bytes_max, _memory: memory })))
    }

    /// Most bytes that a record of any run reads.
    pub(super) fn bytes_max(&self) -> usize {
        self.0.bytes_max
    }

    /// As [`lanes::entries`](super::lanes::entries); `None` if the run is not compiled.
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
        let Some(Some(functions)) = self.0.functions.get(run.index as usize) else { return 0 };
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

    /// Decodes the fields of a template and its sequence, the presence map given, to the start of
    /// `words`; `None` if nothing of this can be used. `lanes` are what the entries go on from.
    #[inline]
    pub(super) fn message(
        &self,
        template: u32,
        bytes: &[u8],
        (position, bits): (usize, u64),
        (state, lanes): (LaneState, &Lanes),
        words: &mut [Word],
        entries_max: u32,
    ) -> Option<CompiledMessage> {
        let message = self.0.messages.get(template as usize)?.as_ref()?;
        let last = bytes.len().checked_sub(message.bytes_max)?;
        let room = words.len().checked_sub(message.record_words)?;
        if position > last {
            return None;
        }
        let mut call = Call {
            position: bytes.as_ptr().wrapping_add(position),
            last: bytes.as_ptr().wrapping_add(last),
            out: words.as_mut_ptr(),
            before: lanes.as_ptr(),
            carried: u64::from(state.carried()),
            assigned: u64::from(state.assigned()),
            left: u64::from(entries_max),
        };
        if message.step.saturating_mul(entries_max as usize) > room {
            call.left = (room / message.step) as u64;
        }
        // SAFETY: the code reads at most `bytes_max` bytes from `position` on before the first entry,
        // and of each entry, which begins at `last` at most; all of them are in `bytes`. It reads
        // `call.before` up to the run's lanes, of which `Lanes` has at least as many. It writes to the
        // record, of `record_words` words, and to at most `call.left` entries of `step` words behind
        // it, which have room. The memory of the code lives as long as `self`.
        let end = unsafe { (message.function)(&raw mut call, bits) };
        (!end.is_null()).then(|| CompiledMessage {
            end: end as usize - bytes.as_ptr() as usize,
            entries: call.left as u32,
            used: message.record_words + message.step * call.left as usize,
            state: LaneState::new(call.carried as u32, call.assigned as u32),
        })
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
        let functions = self.0.functions.get(run.index as usize)?.as_ref()?;
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

type CompiledProgram = (Vec<Option<Functions>>, Vec<Option<MessageFunction>>);

fn compile(module: &mut JITModule, program: &Program) -> Option<CompiledProgram> {
    let mut context = FunctionBuilderContext::new();
    let mut ids = vec![None; program.runs.len()];
    let mut lanes = 0;
    for segment in &program.segments {
        let Some(index) = segment.run else { continue };
        let run = &program.runs[index as usize];
        lanes += run.count;
        if run.map_bits > MAP_BITS_MAX || lanes > LANES_TOTAL_MAX {
            continue;
        }
        let frame = Frame { run, segment };
        let single = define(module, |function| frame.single(function, &mut context))?;
        let entries = define(module, |function| frame.entries(function, &mut context))?;
        ids[index as usize] = Some((single, entries, segment));
    }
    let mut message_ids = Vec::new();
    for quick in &program.quick {
        let frame = quick.as_ref().and_then(|quick| message_frame(program, &ids, quick));
        message_ids.push(match frame {
            Some(frame) => {
                let id = define(module, |function| frame.message(function, &mut context))?;
                Some((id, frame))
            }
            None => None,
        });
    }
    module.finalize_definitions().ok()?;
    let functions = ids
        .iter()
        .zip(&program.runs)
        .map(|(id, run)| id.map(|id| functions(module, run, id)))
        .collect();
    let messages = message_ids
        .into_iter()
        .map(|found| found.map(|(id, frame)| message_function(module, id, &frame)))
        .collect();
    Some((functions, messages))
}

/// What it takes to compile a template as a whole, if its runs are compiled.
fn message_frame<'p>(
    program: &'p Program,
    compiled: &[Option<(FuncId, FuncId, &Segment)>],
    quick: &'p Quick,
) -> Option<MessageFrame<'p>> {
    let sequence = quick.sequence.as_ref()?;
    let fields = match quick.run {
        Some(run) => {
            compiled[run as usize]?;
            Some(&program.runs[run as usize])
        }
        None => None,
    };
    compiled[sequence.run as usize]?;
    let run = &program.runs[sequence.run as usize];
    let segment = &program.segments[sequence.segment as usize];
    let is_apart = fields.is_none_or(|run| run.kept == 0);
    let entries = Frame { run, segment };
    is_apart.then_some(MessageFrame { fields, quick, sequence, entries })
}

fn define(module: &mut JITModule, build: impl FnOnce(&mut Function)) -> Option<FuncId> {
    let mut context = module.make_context();
    build(&mut context.func);
    let id = module.declare_anonymous_function(&context.func.signature).ok()?;
    module.define_function(id, &mut context).ok()?;
    Some(id)
}

fn functions(
    module: &JITModule,
    run: &Run,
    (single, entries, segment): (FuncId, FuncId, &Segment),
) -> Functions {
    let single = module.get_finalized_function(single);
    let entries = module.get_finalized_function(entries);
    let span = (run.first_slot + run.count).max(segment.presence_at + 1) as usize;
    Functions {
        // SAFETY: `Frame::single` gives the function this signature and calling convention.
        single: unsafe { std::mem::transmute::<*const u8, Whole>(single) },
        // SAFETY: `Frame::entries` likewise.
        entries: unsafe { std::mem::transmute::<*const u8, Entries>(entries) },
        bytes_max: record::bytes_max(run),
        step: segment.record_words as usize,
        span,
        first_slot: run.first_slot as usize,
        presence_at: segment.presence_at,
    }
}

fn message_function(module: &JITModule, id: FuncId, frame: &MessageFrame<'_>) -> MessageFunction {
    let function = module.get_finalized_function(id);
    MessageFunction {
        // SAFETY: `MessageFrame::message` gives the function this signature and calling convention.
        function: unsafe { std::mem::transmute::<*const u8, Whole>(function) },
        bytes_max: frame.bytes_max(),
        record_words: frame.quick.record_words as usize,
        step: frame.entries.segment.record_words as usize,
    }
}
