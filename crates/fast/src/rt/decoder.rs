//! Decodes with a generated module; messages that the module does not support go to the dynamic engine.

use super::context::CodingContext;
use super::cursor::{InputCursor, seldom};
use super::extract::Extracting;
use super::facts::Templates;
use super::kernel::{CpuKernel, Portable};
use super::lanes::Sequences;
use super::link::{LinkError, Links};
use super::packet::{BufferedPacket, PADDED_LEN, PaddedPacket};
use super::state::sealed::Handover;
use crate::EngineUnderTest;
use crate::builder::MessageBuilder;
use crate::decoder::{
    DecodedMessage as DynamicDecoded, Decoder as Dynamic, DecoderOptions, MissingBytes,
    ResetPolicy, Step as DynamicStep,
};
use crate::error::FastError;
use crate::message::Message as DynamicMessage;
use crate::message_decoder::MessageDecoder;
use crate::program::Program;
use crate::template::TemplateId;
use crate::wire::Findings;
use std::sync::Arc;

/// A decoder of a generated module, for one stream of messages.
///
/// Generated code decodes well-formed messages of the module's templates. The dynamic engine
/// decodes everything else (errors, truncated messages, templates that are only in the set, rare
/// encodings). Previous values are passed to it and back, so values, errors and their positions are
/// those of a [`Decoder`](crate::Decoder).
#[derive(Clone, Debug)]
pub struct ModuleDecoder<T: Templates> {
    engines: Engines<T>,
    messages: T::Messages,
    /// Builder that converts the module's messages to those of the dynamic engine; created on first
    /// use.
    copy: Option<Box<MessageBuilder>>,
}

/// The decoder without its messages.
#[derive(Clone, Debug)]
struct Engines<T: Templates> {
    dynamic: Dynamic,
    links: Links,
    state: T::State,
    context: CodingContext,
    options: DecoderOptions,
    left_over: u64,
    /// True if the dynamic engine has decoded since its last reset.
    is_dynamic_used: bool,
    /// True if the dynamic engine's last message was converted to the module's structs.
    is_filled: bool,
    padded: PaddedPacket,
    extracting: Option<Extracting>,
}

/// A message, of the module or of the dynamic engine.
#[derive(Debug)]
pub enum ModuleMessage<'d, T: Templates> {
    /// A template of the module.
    Known(T::Message<'d>),
    /// A message of a template that is only in the template set, a message with a dynamic reference
    /// to such a template, or one whose structs would exceed twice
    /// [`message_bytes_max`](crate::Limits::message_bytes_max).
    Dynamic(&'d DynamicMessage),
}

/// A decoded message and its length.
#[derive(Debug)]
pub struct DecodedModuleMessage<'d, T: Templates> {
    /// The message, valid until the decoder's next call.
    pub message: ModuleMessage<'d, T>,
    /// Bytes of the message, at the front of the input.
    pub len: usize,
}

/// Result of decoding from a stream.
#[derive(Debug)]
#[must_use]
pub enum ModuleStep<'d, T: Templates> {
    /// A whole message.
    Message(DecodedModuleMessage<'d, T>),
    /// The input ends inside a message. Nothing has changed: call again with the same bytes and more.
    NeedMore(MissingBytes),
}

impl<T: Templates> ModuleDecoder<T> {
    /// Creates a decoder with default options. The program must have the template set from which
    /// the module was generated.
    ///
    /// # Errors
    /// [`LinkError`] for another set, or a program with a projection.
    pub fn new(program: Arc<Program>) -> Result<Self, LinkError> {
        Self::with_options(program, DecoderOptions::default())
    }

    /// As [`new`](Self::new), with these options.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(program: Arc<Program>, options: DecoderOptions) -> Result<Self, LinkError> {
        let decoder = Self::adopting(program, options)?;
        decoder.engines.links.check::<T>(decoder.program())?;
        Ok(decoder)
    }

    /// Creates a decoder for a template set that has changed since the module was generated:
    /// generated code decodes unchanged templates, the dynamic engine all others. They share
    /// dictionaries: previous values are passed when the engine changes.
    ///
    /// # Errors
    /// [`LinkError::ProjectedProgram`] for a program with a projection.
    pub fn adopting(program: Arc<Program>, options: DecoderOptions) -> Result<Self, LinkError> {
        let links = Links::of::<T>(&program)?;
        let mut context = CodingContext::new(
            links.enabled(),
            options.conformance,
            &options.limits,
            options.reset != ResetPolicy::Never,
            links.record_words,
        );
        let engine = options.wanted_engine();
        context.use_vectors(engine);
        let takes_lanes = context.wide.is_some() && options.limits.take_short_strings();
        let sequences = if takes_lanes { T::SEQUENCES } else { &[] };
        context.sequences = Sequences::of(sequences, &program, engine, |number| {
            links.indexes.get(number).copied().flatten()
        });
        let engines = Engines {
            context,
            dynamic: Dynamic::with_options(program, options),
            state: T::state(),
            links,
            options,
            left_over: 0,
            is_dynamic_used: false,
            is_filled: false,
            padded: PaddedPacket::default(),
            extracting: Extracting::detect().filter(|_| engine != EngineUnderTest::Portable),
        };
        Ok(Self { engines, messages: T::Messages::default(), copy: None })
    }

    /// Returns the program of the template set.
    pub fn program(&self) -> &Arc<Program> {
        self.engines.dynamic.program()
    }

    /// True if generated code decodes messages of the template at this index in the set.
    pub fn is_generated(&self, template: usize) -> bool {
        self.engines.links.number(template).is_some()
    }

    /// Returns the index in the set of the module's template `number`, if the set has it.
    pub fn template_index(&self, number: usize) -> Option<usize> {
        self.engines.links.indexes.get(number).copied().flatten()
    }

    /// Returns the storage of the module's messages; [`Templates::message`] returns the last one.
    pub fn messages(&self) -> &T::Messages {
        &self.messages
    }

    /// Returns the dynamic engine's message. Only meaningful if it decoded the last message.
    pub fn dynamic_message(&self) -> &DynamicMessage {
        &self.engines.dynamic.message
    }

    /// Converts a message of the module to one of the dynamic engine, which has names and types.
    /// `builder` must have this decoder's program.
    ///
    /// # Errors
    /// Errors of [`MessageBuilder`] for a message beyond its limits.
    pub fn to_dynamic<'b>(
        &self,
        message: T::Message<'_>,
        builder: &'b mut MessageBuilder,
    ) -> Result<&'b DynamicMessage, FastError> {
        self.engines.links.copy::<T>(message, builder)
    }

    /// Returns the reportable errors tolerated so far.
    pub fn findings(&self) -> &Findings {
        self.engines.dynamic.findings()
    }

    /// Returns the number of messages that generated code left to the dynamic engine.
    pub fn left_over(&self) -> u64 {
        self.engines.left_over
    }

    /// Resets every dictionary and the template id, as after a lost packet.
    #[inline]
    pub fn reset(&mut self) {
        self.engines.reset();
    }

    /// Begins a packet; resets under [`ResetPolicy::Packet`].
    #[inline]
    pub fn begin_packet(&mut self) {
        if self.engines.options.reset == ResetPolicy::Packet {
            self.reset();
        }
    }

    /// True if a message failed: the dictionaries are invalid until a reset.
    pub fn needs_reset(&self) -> bool {
        self.engines.dynamic.needs_reset()
    }

    /// Decodes the message at the start of `input`.
    ///
    /// # Errors
    /// Errors of [`Decoder::decode`](crate::Decoder::decode).
    #[inline(always)]
    pub fn decode(&mut self, input: &[u8]) -> Result<DecodedModuleMessage<'_, T>, FastError> {
        self.decode_packet(BufferedPacket::from(input))
    }

    /// As [`decode`](Self::decode), if bytes after the packet are readable: faster near its end,
    /// and so for short packets.
    ///
    /// # Errors
    /// Errors of [`decode`](Self::decode).
    #[inline(always)]
    pub fn decode_packet(
        &mut self,
        input: BufferedPacket<'_>,
    ) -> Result<DecodedModuleMessage<'_, T>, FastError> {
        let Self { engines, messages, .. } = self;
        match engines.run(input, false, messages) {
            Ok((message, len)) => {
                Ok(DecodedModuleMessage { message: ModuleMessage::Known(message), len })
            }
            Err(messages) => {
                let len = engines.decode_left_over(input.bytes(), messages)?;
                Ok(engines.left_over(messages, len))
            }
        }
    }

    /// Decodes the message at the start of the bytes received from a stream.
    ///
    /// # Errors
    /// Errors of [`Decoder::decode_stream`](crate::Decoder::decode_stream).
    pub fn decode_stream(&mut self, input: &[u8]) -> Result<ModuleStep<'_, T>, FastError> {
        if input.is_empty() {
            return Ok(ModuleStep::NeedMore(MissingBytes::default()));
        }
        let Self { engines, messages, .. } = self;
        match engines.run(BufferedPacket::from(input), true, messages) {
            Ok((message, len)) => Ok(ModuleStep::Message(DecodedModuleMessage {
                message: ModuleMessage::Known(message),
                len,
            })),
            Err(messages) => Ok(match engines.decode_stream_left_over(input, messages)? {
                Ok(len) => ModuleStep::Message(engines.left_over(messages, len)),
                Err(missing) => ModuleStep::NeedMore(missing),
            }),
        }
    }
}

impl<T: Templates> MessageDecoder for ModuleDecoder<T> {
    fn program(&self) -> &Arc<Program> {
        self.program()
    }

    fn reset(&mut self) {
        self.reset();
    }

    fn begin_packet(&mut self) {
        self.begin_packet();
    }

    fn decode_message(&mut self, input: &[u8]) -> Result<DynamicDecoded<'_>, FastError> {
        let decoded = self.decode(input)?;
        let (len, is_known) = (decoded.len, matches!(decoded.message, ModuleMessage::Known(_)));
        let Self { engines, messages, copy } = self;
        if !is_known {
            return Ok(DynamicDecoded { message: &engines.dynamic.message, len });
        }
        let make = || {
            let program = engines.dynamic.program().clone();
            Box::new(MessageBuilder::with_limits(program, engines.options.limits))
        };
        let builder = copy.get_or_insert_with(make);
        let message = engines.links.copy::<T>(T::message(messages), builder)?;
        Ok(DynamicDecoded { message, len })
    }
}

impl<T: Templates> Engines<T> {
    #[inline(always)]
    fn reset(&mut self) {
        if self.is_dynamic_used {
            self.reset_dynamic();
        }
        self.state.reset();
    }

    #[cold]
    #[inline(never)]
    fn reset_for_message(&mut self) {
        self.reset();
    }

    #[cold]
    #[inline(never)]
    fn reset_dynamic(&mut self) {
        self.is_dynamic_used = false;
        self.dynamic.reset();
    }

    /// Decodes with generated code; returns the messages if the dynamic engine must decode.
    #[inline(always)]
    fn run<'m>(
        &mut self,
        input: BufferedPacket<'_>,
        is_stream: bool,
        messages: &'m mut T::Messages,
    ) -> Result<(T::Message<'m>, usize), &'m mut T::Messages> {
        if let Some(extracting) = self.extracting {
            return self.run_on(extracting, input, is_stream, messages);
        }
        self.run_on(Portable, input, is_stream, messages)
    }

    #[inline(always)]
    fn run_on<'m, K: CpuKernel>(
        &mut self,
        kernel: K,
        input: BufferedPacket<'_>,
        is_stream: bool,
        messages: &'m mut T::Messages,
    ) -> Result<(T::Message<'m>, usize), &'m mut T::Messages> {
        if self.options.reset == ResetPolicy::Message {
            self.reset_for_message();
        }
        if self.dynamic.failed {
            return Err(messages);
        }
        let buffer = match input.buffer().len() < PADDED_LEN {
            true => {
                seldom();
                self.padded.copy(input.buffer())
            }
            false => input.buffer(),
        };
        let Some(cursor) = InputCursor::new(buffer, kernel) else { return Err(messages) };
        let start = cursor.address();
        self.state.begin();
        self.context.begin_in(start + input.len(), is_stream);
        let context = &mut self.context;
        let last = self.state.last_word();
        match T::decode(cursor, &mut self.state, messages, context) {
            Ok((end, message)) => {
                let len = end.address() - start;
                self.settle();
                Ok((message, len))
            }
            Err(messages) => {
                self.state.set_last_word(last);
                self.context.give_up();
                Err(messages)
            }
        }
    }

    /// Ends a message that generated code has decoded.
    #[inline(always)]
    fn settle(&mut self) {
        if self.context.is_noted() {
            self.context.settle(&mut self.dynamic.findings);
        }
        if self.is_dynamic_used && self.context.has_reset() {
            seldom();
            // Reset the entries that only the dynamic engine has, too.
            self.dynamic.dictionary.reset_values();
        }
    }

    /// Decodes with the dynamic engine what generated code did not; returns the length.
    #[cold]
    #[inline(never)]
    fn decode_left_over(
        &mut self,
        input: &[u8],
        messages: &mut T::Messages,
    ) -> Result<usize, FastError> {
        self.release_excess(messages);
        let scope = self.lend(input);
        let len = self.dynamic.decode(input)?.len;
        self.take_back(scope, messages);
        Ok(len)
    }

    /// As [`decode_left_over`](Self::decode_left_over), for a stream; returns the missing bytes if
    /// the message is incomplete.
    #[cold]
    #[inline(never)]
    fn decode_stream_left_over(
        &mut self,
        input: &[u8],
        messages: &mut T::Messages,
    ) -> Result<Result<usize, MissingBytes>, FastError> {
        self.release_excess(messages);
        let scope = self.lend(input);
        match self.dynamic.decode_stream(input)? {
            DynamicStep::NeedMore(missing) => Ok(Err(missing)),
            DynamicStep::Message(decoded) => {
                let len = decoded.len;
                self.take_back(scope, messages);
                Ok(Ok(len))
            }
        }
    }

    /// Returns the message that the dynamic engine decoded.
    fn left_over<'m>(
        &'m self,
        messages: &'m T::Messages,
        len: usize,
    ) -> DecodedModuleMessage<'m, T> {
        let message = match self.is_filled {
            true => ModuleMessage::Known(T::message(messages)),
            false => ModuleMessage::Dynamic(&self.dynamic.message),
        };
        DecodedModuleMessage { message, len }
    }

    /// Frees the storage of all messages after it would have exceeded its bound: mostly it is
    /// capacity for the shapes of earlier messages.
    fn release_excess(&mut self, messages: &mut T::Messages) {
        if self.context.growth.is_exceeded() {
            *messages = T::Messages::default();
            self.context.release();
        }
    }

    /// Passes the previous values that the message may need to the dynamic engine; returns the
    /// template they are for, or `None` for all of them.
    fn lend(&mut self, input: &[u8]) -> Option<usize> {
        self.left_over += 1;
        self.is_dynamic_used = true;
        if self.dynamic.failed {
            // All values are invalid until the message resets; then all are empty.
            return None;
        }
        let template = self.peek(input);
        _ = self.context.take_notes();
        let scope = template.filter(|&index| {
            self.options.reset != ResetPolicy::Message
                && !self.dynamic.program().templates()[index].reset
        });
        self.dynamic.settle();
        self.links.lend::<T>(scope, &self.state, &mut self.dynamic.dictionary);
        scope
    }

    fn take_back(&mut self, scope: Option<usize>, messages: &mut T::Messages) {
        self.dynamic.settle();
        self.links.take_back::<T>(scope, &mut self.state, &self.dynamic.dictionary);
        let message = &self.dynamic.message;
        let links = &self.links;
        let filled = links.number(message.template_index()).and_then(|number| {
            let numbers = |index| links.number(index);
            T::fill(messages, number, message.root(), &numbers, &mut self.context.growth)
        });
        self.is_filled = filled.is_some();
        self.release_excess(messages);
    }

    /// Returns the index in the set of the message's template, if it can be determined.
    fn peek(&mut self, input: &[u8]) -> Option<usize> {
        let mut padded = PaddedPacket::default();
        let buffer = if input.len() < PADDED_LEN { padded.copy(input) } else { input };
        let mut cursor = InputCursor::new(buffer, Portable)?;
        let map = cursor.wide_map::<1>(&mut self.context)?;
        if !map.peek() {
            return self.links.last_index(self.state.last()).map(|index| index as usize);
        }
        let id = cursor.unsigned::<{ u32::MAX as u64 }>(&mut self.context)?;
        self.dynamic.program().template_index(TemplateId(id as u32))
    }
}
