//! The dynamic decoder: decodes bytes to messages with a compiled program.
//!
//! A [`Decoder`] has no clock and no socket. [`Decoder::decode`] takes the bytes of a datagram; a
//! truncated message is an error. [`Decoder::decode_stream`] takes the bytes of a stream received
//! so far; if a message is incomplete, it changes nothing and asks for more.

#[cfg_attr(not(machine_code), path = "no_code.rs")]
mod compiled;
mod decimal;
mod engine;
pub(crate) mod integer;
mod lanes;
mod options;
mod packet;
mod quick;
mod sink;
mod stream;
mod text;
mod trace;
pub(crate) mod vectors;
mod visitor;
#[cfg_attr(not(vectors), path = "no_wide.rs")]
pub(crate) mod wide;

#[cfg(machine_code)]
pub(crate) use compiled::Compiled;
use compiled::JitEngine;
pub use trace::{MapBit, PreviousValue, TraceEvent, TracedField, TracedPart};
pub use visitor::MessageVisitor;

use crate::dictionary::DictionaryEntries;
use crate::error::{FastError, FastErrorKind};
use crate::message::Message;
use crate::program::Program;
use crate::rt::BufferedPacket;
use crate::template::TemplateId;

use crate::wire::{Conformance, Findings, Map, WireReader};
pub use options::{DecoderOptions, EngineSelection, EngineUnderTest, ResetPolicy, TierUp};
pub use packet::PacketMessages;
use sink::FlatSink;
use std::sync::Arc;
pub use stream::MissingBytes;
use vectors::VectorEngine;

/// A decoder for one stream of messages. It keeps the stream's dictionaries.
#[derive(Clone, Debug)]
pub struct Decoder {
    program: Arc<Program>,
    options: DecoderOptions,
    pub(crate) dictionary: DictionaryEntries,
    pub(crate) findings: Findings,
    pub(crate) message: Message,
    text: Vec<u8>,
    pub(crate) failed: bool,
    vectors: VectorEngine,
    jit: JitEngine,
    /// Index of [`DecoderOptions::implied_template`].
    implied: Option<u32>,
    /// True if runs may be decoded as a unit: their strings are read without checking the limit.
    may_run: bool,
}

/// A decoded message and its length.
#[derive(Clone, Copy, Debug)]
pub struct DecodedMessage<'d> {
    /// The message, valid until the decoder's next call.
    pub message: &'d Message,
    /// Bytes of the message, at the front of the input.
    pub len: usize,
}

/// Place at which a message is truncated.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    /// End of the truncated field, if its length is known.
    field_end: Option<usize>,
    /// Least number of bytes after that field.
    owed: usize,
}

/// Result of decoding from a stream.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub enum Step<'d> {
    /// A whole message.
    Message(DecodedMessage<'d>),
    /// The input ends inside a message. Nothing has changed: call again with the same bytes and
    /// more.
    NeedMore(MissingBytes),
}

impl Decoder {
    /// Creates a decoder with default options.
    pub fn new(program: Arc<Program>) -> Self {
        Self::with_options(program, DecoderOptions::default())
    }

    /// Creates a decoder with these options.
    pub fn with_options(program: Arc<Program>, options: DecoderOptions) -> Self {
        let vectors = VectorEngine::new(options, &program);
        let implied = options.implied_template.and_then(|id| program.template_index(id));
        let mut decoder = Self {
            dictionary: DictionaryEntries::new(&program),
            message: Message::new(program.clone()),
            findings: Findings::default(),
            text: Vec::new(),
            failed: false,
            jit: JitEngine::new(options, &program, vectors.wide),
            vectors,
            implied: implied.map(|index| index as u32),
            may_run: options.limits.take_short_strings()
                && options.wanted_engine() != EngineUnderTest::Operations,
            options,
            program,
        };
        decoder.reset();
        decoder
    }

    /// Returns the program of this decoder.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Returns the best engine of this decoder: SIMD, else machine code, else portable. For tests
    /// and benchmarks.
    #[doc(hidden)]
    pub fn engine_under_test(&self) -> EngineUnderTest {
        match self.vectors.wide {
            Some(_) => EngineUnderTest::Vectors,
            None if self.jit.is_there() => EngineUnderTest::MachineCode,
            None => EngineUnderTest::Portable,
        }
    }

    /// Returns the reportable errors tolerated so far.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Resets every dictionary and the template id, as after a lost packet.
    #[inline]
    pub fn reset(&mut self) {
        self.dictionary.reset();
        if let Some(template) = self.implied {
            self.dictionary.set_last_template(template);
        }
        self.failed = false;
    }

    /// Begins a packet; resets under [`ResetPolicy::Packet`].
    #[inline]
    pub fn begin_packet(&mut self) {
        if self.options.reset == ResetPolicy::Packet {
            self.reset();
        }
    }

    /// True if a message failed: the dictionaries are invalid until a reset.
    pub fn needs_reset(&self) -> bool {
        self.failed && self.options.reset != ResetPolicy::Message
    }

    /// Decodes the message at the start of `input`.
    ///
    /// # Errors
    /// Any [`FastError`]; its offset counts from the start of `input`. The dictionaries are invalid
    /// then: every further call returns [`FastErrorKind::NeedsReset`] until a reset by call, by policy,
    /// or by a message whose template resets.
    #[inline]
    pub fn decode(&mut self, input: &[u8]) -> Result<DecodedMessage<'_>, FastError> {
        self.decode_packet(BufferedPacket::from(input))
    }

    /// As [`decode`](Self::decode), if bytes after the packet are readable: machine code then need
    /// not copy the packet's end.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode).
    #[inline]
    pub fn decode_packet(
        &mut self,
        input: BufferedPacket<'_>,
    ) -> Result<DecodedMessage<'_>, FastError> {
        match self.as_a_whole::<false>(input) {
            Some(len) => Ok(DecodedMessage { message: &self.message, len }),
            None => self.decode_by_operations(input.bytes()),
        }
    }

    /// Decodes a message with the engines that take whole messages; `None` if the operations must
    /// decode it. In a stream, [`DictionaryEntries::return_to`] then undoes what has changed.
    #[inline(always)]
    fn as_a_whole<const STREAM: bool>(&mut self, input: BufferedPacket<'_>) -> Option<usize> {
        match self.jit.is_there() {
            true => self.plain_by_code::<STREAM>(input.buffer(), input.len()),
            false => self.plain(input.bytes()),
        }
    }

    /// Decodes a message with its template's code, if compiled. Arguments and results are passed in
    /// registers: a caller that loads a multi-word result with one wide load would stall on store
    /// forwarding.
    #[inline(never)]
    fn plain_by_code<const STREAM: bool>(&mut self, buffer: &[u8], len: usize) -> Option<usize> {
        let input = buffer.get(..len)?;
        self.begin_plain()?;
        match self.decode_by_code::<STREAM>(buffer, input) {
            Some(len) => Some(len),
            None => self.plain(input),
        }
    }

    /// Decodes a plain message.
    #[inline(never)]
    fn plain(&mut self, input: &[u8]) -> Option<usize> {
        self.begin_plain()?;
        self.decode_quickly(input)
    }

    /// Resets if the policy says so; `None` if a reset is needed first.
    #[inline(always)]
    fn begin_plain(&mut self) -> Option<()> {
        if self.options.reset == ResetPolicy::Message {
            self.reset();
        }
        (!self.failed).then_some(())
    }

    #[inline(never)]
    fn decode_by_operations(&mut self, input: &[u8]) -> Result<DecodedMessage<'_>, FastError> {
        self.settle();
        self.prepare(input)?;
        match self.run::<false>(input, &mut Cut::default()) {
            Ok(len) => Ok(DecodedMessage { message: &self.message, len }),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Decodes the message at the start of the bytes received from a stream.
    ///
    /// # Errors
    /// As [`decode`](Self::decode), but an incomplete message is [`Step::NeedMore`];
    /// [`FastErrorKind::MessageTooLarge`] as soon as a length or count shows that the message exceeds
    /// [`Limits::stream_bytes_max`](crate::Limits::stream_bytes_max).
    pub fn decode_stream(&mut self, input: &[u8]) -> Result<Step<'_>, FastError> {
        if input.is_empty() {
            return Ok(Step::NeedMore(MissingBytes::default()));
        }
        self.settle();
        let (findings, failed) = (self.findings, self.failed);
        if let Some(mark) = self.dictionary.mark() {
            if let Some(len) = self.as_a_whole::<true>(BufferedPacket::from(input)) {
                return Ok(Step::Message(DecodedMessage { message: &self.message, len }));
            }
            self.dictionary.return_to(mark);
            self.failed = failed;
        }
        self.dictionary.begin_journal();
        let mut cut = Cut::default();
        let outcome = self.prepare(input).and_then(|()| self.run::<true>(input, &mut cut));
        match outcome {
            Ok(len) => {
                return Ok(Step::Message(DecodedMessage { message: &self.message, len }));
            }
            Err(error) if error.kind() != FastErrorKind::Truncated => return Err(self.fail(error)),
            Err(_) => {}
        }
        let limits = &self.options.limits;
        let missing = MissingBytes::of(input, cut.field_end, cut.owed, limits);
        if missing.bytes_min() - 1 > limits.stream_bytes_max {
            let len = u32::try_from(missing.bytes_min() - 1).unwrap_or(u32::MAX);
            return Err(
                self.fail(FastError::new(FastErrorKind::MessageTooLarge, 0).with_detail(len))
            );
        }
        self.dictionary.roll_back();
        self.findings = findings;
        self.failed = failed;
        Ok(Step::NeedMore(missing))
    }

    /// Decodes the message at the start of `input`, passes its fields to a visitor in template
    /// order, and returns its length in bytes. To include mandatory constants, compile the program
    /// with [`CompileOptions::constants`](crate::CompileOptions).
    ///
    /// # Errors
    /// As [`decode`](Self::decode); the visitor sees nothing of a message that fails.
    #[inline]
    pub fn visit(
        &mut self,
        input: &[u8],
        visitor: &mut impl MessageVisitor,
    ) -> Result<usize, FastError> {
        let DecodedMessage { message, len } = self.decode(input)?;
        message.show(visitor);
        Ok(len)
    }

    /// Decodes a plain message to the decoder's message. For other messages it changes nothing that
    /// decoding again does not restore.
    #[inline(always)]
    fn decode_quickly(&mut self, input: &[u8]) -> Option<usize> {
        self.message.store.clear();
        if !self.may_run {
            return None;
        }
        let mut quick = quick::PlainMessage {
            program: &self.program,
            dictionary: &mut self.dictionary,
            store: &mut self.message.store,
            limits: &self.options.limits,
            obey_reset: self.options.reset != ResetPolicy::Never,
            vectors: &mut self.vectors,
        };
        let (template, len) = quick.decode(input)?;
        self.jit.decoded(&self.program, template);
        self.message.set_template(template);
        Some(len)
    }

    /// Decodes a message with the operations. If it is truncated, `cut` says where.
    fn run<const JOURNAL: bool>(
        &mut self,
        input: &[u8],
        cut: &mut Cut,
    ) -> Result<usize, FastError> {
        self.message.store.clear();
        let runs = self.may_run;
        let bytes_max = self.options.limits.message_bytes_max;
        let reader = WireReader::new(input, self.options.conformance, &mut self.findings);
        let mut engine = engine::DecoderEngine::<_, JOURNAL> {
            program: &self.program,
            reader: if JOURNAL { reader.streaming() } else { reader },
            dictionary: &mut self.dictionary,
            sink: FlatSink { store: &mut self.message.store, bytes_max },
            limits: &self.options.limits,
            text: &mut self.text,
            obey_reset: self.options.reset != ResetPolicy::Never,
            runs,
            vectors: &mut self.vectors,
            entries_left: self.options.limits.entries_total_max,
            text_left: self.options.limits.message_bytes_max,
            nesting: 0,
            depth: 0,
            owed: 0,
        };
        let outcome = engine.message();
        if JOURNAL && outcome.is_err() {
            *cut = Cut { field_end: engine.reader.field_end(), owed: engine.owed };
        }
        let (template, _) = outcome?;
        let len = engine.reader.position();
        self.jit.decoded(&self.program, template);
        self.message.set_template(template);
        Ok(len)
    }

    /// Writes every previous value to its dictionary entry, so that others can read and write them
    /// before the next message.
    pub(crate) fn settle(&mut self) {
        self.dictionary.settle(&self.program, self.vectors.wide, &self.message.store.words);
    }

    /// Resets before a message if the policy says so. After a failed message, returns an error
    /// unless the next one resets.
    #[inline]
    fn prepare(&mut self, input: &[u8]) -> Result<(), FastError> {
        if self.options.reset == ResetPolicy::Message {
            self.reset();
        }
        if self.failed { self.resume(input) } else { Ok(()) }
    }

    #[cold]
    fn resume(&mut self, input: &[u8]) -> Result<(), FastError> {
        if !self.starts_with_reset(input)? {
            return Err(FastError::new(FastErrorKind::NeedsReset, 0));
        }
        self.reset();
        Ok(())
    }

    fn starts_with_reset(&self, input: &[u8]) -> Result<bool, FastError> {
        if self.options.reset == ResetPolicy::Never {
            return Ok(false);
        }
        let mut findings = Findings::default();
        let mut reader = WireReader::new(input, Conformance::Lenient, &mut findings);
        let outside = |kind| FastError::new(kind, 0);
        if !reader.presence_map().map_err(outside)?.take() {
            return Ok(false);
        }
        let id = reader.unsigned().map_err(outside)?;
        let id = u32::try_from(id).ok().map(TemplateId);
        let index = id.and_then(|id| self.program.template_index(id));
        Ok(index.is_some_and(|index| self.program.templates()[index].reset))
    }

    fn fail(&mut self, error: FastError) -> FastError {
        self.failed = true;
        error
    }
}
