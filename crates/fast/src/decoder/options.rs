//! Options of a decoder.

use crate::limits::Limits;
use crate::options::setters;
use crate::template::TemplateId;
use crate::wire::Conformance;
use std::sync::OnceLock;

/// When dictionaries are reset.
///
/// Feeds differ, and their template files do not say which policy they use; the presets of
/// `tickwire-feed` do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResetPolicy {
    /// Never, whatever the templates say.
    Never,
    /// Before the fields of a template with the reset attribute.
    #[default]
    Template,
    /// Before every message, and wherever [`Template`](Self::Template) resets.
    Message,
    /// At [`Decoder::begin_packet`](crate::Decoder::begin_packet), and wherever [`Template`](Self::Template)
    /// resets.
    Packet,
}

/// The engine of a decoder. Both return the same values and the same errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineSelection {
    /// The fastest engine for each template: AVX-512 if the CPU has VBMI2 and GFNI, machine code as
    /// [`TierUp`] says (feature `jit`, x86-64), portable code for everything else.
    #[default]
    Automatic,
    /// Portable code only. [Generated decoders](crate::generated::ModuleDecoder) run without SIMD and
    /// BMI2.
    Portable,
}

/// When [`EngineSelection::Automatic`] compiles a template to machine code, which takes some milliseconds
/// per template. Decoders of a program share the code. No effect without the feature `jit`, or on a
/// CPU other than x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierUp {
    /// All templates when the decoder is made: 20 to 60 ms for a small set, about a second for the largest.
    Eager,
    /// In the call that decodes the template's n-th message; that call waits for the compiler.
    After(u32),
    /// After [`TierUp::MESSAGES`] messages of the template, on a separate thread, so that no call
    /// waits. Until the code is ready, and forever if the thread cannot be created, messages are
    /// decoded without it.
    OnThread,
    /// Never.
    Off,
}

impl TierUp {
    /// Messages of a template after which machine code has saved about as much time as compiling
    /// takes.
    pub const MESSAGES: u32 = 1 << 16;

    /// Sets a function that each thread of [`OnThread`](Self::OnThread) calls before it compiles. A
    /// new thread inherits the CPU affinity of the decoding thread, so a program that pins that
    /// thread lets the compiler run on other CPUs here. Only the first call in a process counts.
    pub fn on_thread_start(start: fn()) {
        let _ = THREAD_START.set(start);
    }

    /// The function of [`on_thread_start`](Self::on_thread_start).
    #[cfg(machine_code)]
    pub(super) fn thread_start() -> fn() {
        THREAD_START.get().copied().unwrap_or(|| ())
    }
}

static THREAD_START: OnceLock<fn()> = OnceLock::new();

impl Default for TierUp {
    fn default() -> Self {
        Self::After(Self::MESSAGES)
    }
}

/// Engines that tests and benchmarks force; [`EngineSelection`] is the interface for all others. May change in any release.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineUnderTest {
    /// As [`EngineSelection::Automatic`].
    Automatic,
    /// As [`EngineSelection::Portable`].
    Portable,
    /// As [`EngineSelection::Automatic`], but generated decoders use SIMD for all entries after a reset.
    /// Portable if the CPU lacks the instructions.
    Vectors,
    /// Machine code for all templates, compiled when the decoder is created, without SIMD. Portable
    /// without the JIT.
    MachineCode,
    /// The operations alone, field by field: the reference for the values of all engines.
    Operations,
}

impl EngineUnderTest {
    /// All engines, without the reference.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Vectors, Self::MachineCode, Self::Automatic];
}

/// Options of a decoder: error handling, resets, limits and engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecoderOptions {
    /// How reportable errors are handled. Default strict.
    pub conformance: Conformance,
    /// When dictionaries are reset. Default by template.
    pub reset: ResetPolicy,
    /// Bounds on sizes that the input chooses.
    pub limits: Limits,
    /// The engine. Default automatic.
    pub engine: EngineSelection,
    /// Overrides `engine`, for tests and benchmarks.
    #[doc(hidden)]
    pub engine_under_test: Option<EngineUnderTest>,
    /// Template of messages that have no template id before any id was sent: for feeds that never
    /// send one. Default none: such a message is D5, and so is one whose implied id is not in the
    /// set. Generated decoders do not support it.
    pub implied_template: Option<TemplateId>,
    /// When templates are compiled to machine code. Default: after 65,536 messages of a template,
    /// in the call that decodes the last of them.
    pub tier_up: TierUp,
}

setters!(DecoderOptions {
    conformance: Conformance,
    reset: ResetPolicy,
    limits: Limits,
    engine: EngineSelection,
    implied_template: Option<TemplateId>,
    tier_up: TierUp,
});

impl DecoderOptions {
    /// Forces an engine, for tests and benchmarks.
    #[doc(hidden)]
    #[must_use]
    pub fn engine_under_test(mut self, engine: EngineUnderTest) -> Self {
        self.engine_under_test = Some(engine);
        self
    }

    /// Returns the engine that these options ask for.
    pub(crate) fn wanted_engine(&self) -> EngineUnderTest {
        self.engine_under_test.unwrap_or(match self.engine {
            EngineSelection::Automatic => EngineUnderTest::Automatic,
            EngineSelection::Portable => EngineUnderTest::Portable,
        })
    }
}
