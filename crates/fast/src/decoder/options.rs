//! Options of a decoder.

use crate::limits::Limits;
use crate::options::setters;
use crate::template::TemplateId;
use crate::wire::Conformance;

/// When dictionaries are emptied.
///
/// Feeds differ and their template files do not say; the presets of `tickwire-feed` do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResetPolicy {
    /// Never, whatever the templates say.
    Never,
    /// Before the fields of a template that has the reset attribute.
    #[default]
    Template,
    /// Before every message, and as [`Template`](Self::Template).
    Message,
    /// At [`Decoder::begin_packet`](crate::Decoder::begin_packet), and as [`Template`](Self::Template).
    Packet,
}

/// The engine of a decoder. Both give the same values and the same errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The fastest engine for each template: AVX-512 where the CPU has VBMI2 and GFNI, machine code when
    /// [`TierUp`] says (feature `jit`, x86-64), portable code for the rest and for whatever those decline.
    #[default]
    Automatic,
    /// Portable code alone. [Generated decoders](crate::generated::Decoder) run as on any CPU, without vectors and BMI2.
    Portable,
}

/// When [`Engine::Automatic`] compiles a template to machine code, which takes some milliseconds a template. Decoders of
/// a program share the code. Has no effect without the feature `jit` or on another CPU than x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierUp {
    /// All templates when the decoder is made: 20 to 50 ms for a small set, about a second for the largest.
    Eager,
    /// In the call that decodes the template's message of this number; that call waits for the compiler.
    After(u32),
    /// After [`TierUp::MESSAGES`] messages of the template, on a thread of its own, so that no call waits. Messages are
    /// decoded without machine code until it is there; for ever if the system refuses the thread.
    OnThread,
    /// Never.
    Off,
}

impl TierUp {
    /// Messages of a template by which machine code would have saved about what compiling takes.
    pub const MESSAGES: u32 = 1 << 16;
}

impl Default for TierUp {
    fn default() -> Self {
        Self::After(Self::MESSAGES)
    }
}

/// Engines that tests and benchmarks force; [`Engine`] is the interface for all others. May change in any release.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineUnderTest {
    /// As [`Engine::Automatic`].
    Automatic,
    /// As [`Engine::Portable`].
    Portable,
    /// As [`Engine::Automatic`], but generated decoders read all entries by vectors that follow a reset. Portable where
    /// the CPU lacks the vectors.
    Vectors,
    /// Machine code of all templates, compiled with the decoder, and no vectors. Portable where there is no machine code.
    MachineCode,
}

impl EngineUnderTest {
    /// All engines.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Vectors, Self::MachineCode, Self::Automatic];
}

/// How a decoder judges and what it accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecoderOptions {
    /// What happens to reportable errors. Default strict.
    pub conformance: Conformance,
    /// When dictionaries are emptied. Default by template.
    pub reset: ResetPolicy,
    /// Bounds on what bytes can choose.
    pub limits: Limits,
    /// What decodes. Default automatic.
    pub engine: Engine,
    /// Overrides `engine`, for tests and benchmarks.
    #[doc(hidden)]
    pub engine_under_test: Option<EngineUnderTest>,
    /// The template of messages that name none and have none before to take it from: for feeds that never
    /// send an id. Default none, which is D5; so is an id that is not in the set. Generated decoders know none.
    pub implied_template: Option<TemplateId>,
    /// When templates are compiled to machine code. Default after 65,536 messages of a template, in the call that
    /// decodes the last of them.
    pub tier_up: TierUp,
}

setters!(DecoderOptions {
    conformance: Conformance,
    reset: ResetPolicy,
    limits: Limits,
    engine: Engine,
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
            Engine::Automatic => EngineUnderTest::Automatic,
            Engine::Portable => EngineUnderTest::Portable,
        })
    }
}
