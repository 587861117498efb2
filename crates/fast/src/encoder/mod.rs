//! The encoder: encodes messages in their shortest form with a compiled program.
//!
//! An [`Encoder`] is the inverse of a [`Decoder`](crate::Decoder): after every message its
//! dictionaries equal those of a decoder that has read it. The encoding is canonical: integers and
//! presence maps have their shortest form, a template id is omitted if it is that of the previous
//! message, and values that the decoder derives from its dictionaries are not sent.

mod decimal;
mod engine;
mod integer;
mod lanes;
mod packet;
mod quick;
#[cfg(test)]
#[path = "../../tests/support/random.rs"]
mod random;
mod text;
pub(crate) mod text_delta;
#[cfg(test)]
mod twins;
mod writer;

pub use packet::PacketEncoder;

use crate::decoder::ResetPolicy;
use crate::dictionary::{DictionaryEntries, INLINE_MAX};
use crate::error::{FastError, FastErrorKind};
use crate::limits::Limits;
use crate::message::Message;
use crate::options::setters;
use crate::program::Program;
use crate::rt::{CpuKernel, Extracting, OutputCursor, OutputRoom, Portable, ROOM_BYTES, Space};
use engine::EncoderEngine;
use lanes::LastLanes;
use std::sync::Arc;

/// Options of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncoderOptions {
    /// When dictionaries are reset; the decoder must use the same policy. Default by template.
    pub reset: ResetPolicy,
    /// Bounds on messages: a message that a decoder with these limits would reject is not encoded.
    pub limits: Limits,
    /// Most bytes of a packet of [`PacketEncoder`]. Default 1,472: an Ethernet frame of 1,500 bytes
    /// without IPv4 and UDP headers.
    pub packet_bytes_max: usize,
}

setters!(EncoderOptions { reset: ResetPolicy, limits: Limits, packet_bytes_max: usize });

impl Default for EncoderOptions {
    fn default() -> Self {
        Self { reset: ResetPolicy::default(), limits: Limits::default(), packet_bytes_max: 1_472 }
    }
}

/// An encoder for one stream of messages. It keeps the stream's dictionaries.
#[derive(Clone, Debug)]
pub struct Encoder {
    program: Arc<Program>,
    options: EncoderOptions,
    pub(crate) dictionary: DictionaryEntries,
    /// Output size to reserve for a plain message.
    message_room: OutputRoom,
    /// Buffer for the lanes after a message's entries.
    last: Box<LastLanes>,
    extracting: Option<Extracting>,
}

impl Encoder {
    /// Creates an encoder with default options.
    pub fn new(program: Arc<Program>) -> Self {
        Self::with_options(program, EncoderOptions::default())
    }

    /// Creates an encoder with these options.
    pub fn with_options(program: Arc<Program>, options: EncoderOptions) -> Self {
        Self {
            dictionary: DictionaryEntries::new(&program),
            message_room: OutputRoom::new(ROOM_BYTES),
            last: Box::default(),
            extracting: Extracting::detect(),
            options,
            program,
        }
    }

    /// Returns the program of this encoder.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Returns the options of this encoder.
    pub fn options(&self) -> &EncoderOptions {
        &self.options
    }

    /// Resets every dictionary and the template id.
    pub fn reset(&mut self) {
        self.dictionary.reset();
    }

    /// Begins a packet; resets under [`ResetPolicy::Packet`].
    pub fn begin_packet(&mut self) {
        if self.options.reset == ResetPolicy::Packet {
            self.reset();
        }
    }

    /// Appends the encoded message to `out` and returns its length in bytes. Reserves room in `out`
    /// for the longest message so far.
    ///
    /// The message must be from a [`Decoder`](crate::Decoder) or
    /// [`MessageBuilder`](crate::MessageBuilder) with this encoder's program (the same `Arc`), and
    /// the program must store all fields.
    ///
    /// # Errors
    /// On errors `out` and the dictionaries are unchanged. The error names the field; its offset is
    /// 0.
    ///
    /// - D1 for a sequence whose constant length is another, D3 for a decimal whose constant
    ///   exponent or mantissa is another.
    /// - D4 for a delta or tail whose dictionary entry holds another type.
    /// - D6 for a delta on an empty previous value.
    /// - [`FastErrorKind::ForeignMessage`] for a message of another program,
    ///   [`FastErrorKind::TemplateWithoutId`] for one of a template without an id,
    ///   [`FastErrorKind::ProjectedProgram`] for a program that leaves fields out.
    /// - D11 for a tail that would have to shorten the previous value, and for an ascii string
    ///   with a NUL in front of other characters.
    /// - R1, R2, R3 for values that only a lenient decoder lets pass.
    /// - [`FastErrorKind::MissingValue`] for a mandatory field that is absent.
    /// - The limits of [`EncoderOptions::limits`].
    pub fn encode(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<usize, FastError> {
        let len = self.encode_within(message, out, usize::MAX, false)?;
        Ok(len.unwrap_or_default())
    }

    /// As [`encode`](Self::encode); begins a packet first if `begins_packet`. Returns `None` and
    /// changes nothing if the message takes more than `room` bytes.
    fn encode_within(
        &mut self,
        message: &Message,
        out: &mut Vec<u8>,
        room: usize,
        begins_packet: bool,
    ) -> Result<Option<usize>, FastError> {
        self.check(message)?;
        if let Some(len) = self.encode_quickly(message, out, room, begins_packet) {
            return Ok(Some(len));
        }
        self.encode_by_operations(message, out, room, begins_packet)
    }

    fn check(&self, message: &Message) -> Result<(), FastError> {
        if !Arc::ptr_eq(message.program(), &self.program) {
            return Err(FastError::new(FastErrorKind::ForeignMessage, 0));
        }
        if !self.program.complete {
            return Err(FastError::new(FastErrorKind::ProjectedProgram, 0));
        }
        Ok(())
    }

    /// Encodes a plain message; for other messages changes nothing.
    #[inline]
    fn encode_quickly(
        &mut self,
        message: &Message,
        out: &mut Vec<u8>,
        room: usize,
        begins_packet: bool,
    ) -> Option<usize> {
        // Runs are written without checking this limit.
        if self.options.limits.string_max < INLINE_MAX as u32 {
            return None;
        }
        let mark = self.dictionary.mark()?;
        self.begin(begins_packet);
        let quick = quick::PlainOutgoing {
            program: &self.program,
            store: &message.store,
            limits: &self.options.limits,
            obey_reset: self.options.reset != ResetPolicy::Never,
            index: message.template_index() as u32,
            room,
        };
        let (dictionary, last) = (&mut self.dictionary, &mut *self.last);
        let len = self.message_room.append(out, |space| {
            if let Some(kernel) = self.extracting {
                return run(&quick, kernel, space, dictionary, last);
            }
            run(&quick, Portable, space, dictionary, last)
        });
        if len.is_none() {
            self.dictionary.return_to(mark);
        }
        len
    }

    /// Encodes any message field by field. On errors nothing changes.
    pub(crate) fn encode_by_operations(
        &mut self,
        message: &Message,
        out: &mut Vec<u8>,
        room: usize,
        begins_packet: bool,
    ) -> Result<Option<usize>, FastError> {
        let start = out.len();
        self.dictionary.begin_journal();
        self.begin(begins_packet);
        let outcome = self.run(message, out);
        let len = out.len() - start;
        if outcome.is_ok() && len <= room {
            self.message_room.grow(len);
            return Ok(Some(len));
        }
        out.truncate(start);
        self.dictionary.roll_back();
        outcome.map(|()| None)
    }

    /// Performs the resets before a message.
    fn begin(&mut self, begins_packet: bool) {
        let reset = match self.options.reset {
            ResetPolicy::Message => true,
            ResetPolicy::Packet => begins_packet,
            ResetPolicy::Never | ResetPolicy::Template => false,
        };
        if reset {
            self.reset();
        }
    }

    fn run(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<(), FastError> {
        let mut engine = EncoderEngine {
            program: &self.program,
            store: &message.store,
            dictionary: &mut self.dictionary,
            out,
            limits: &self.options.limits,
            obey_reset: self.options.reset != ResetPolicy::Never,
            entries_left: self.options.limits.entries_total_max,
            nesting: 0,
            depth: 0,
            replace: false,
        };
        engine.message(message.template_index() as u32, 0)
    }
}

/// Encodes a plain message with code compiled for this CPU.
#[inline(always)]
fn run<'s, K: CpuKernel>(
    message: &quick::PlainOutgoing<'_>,
    kernel: K,
    space: Space<'s>,
    dictionary: &mut DictionaryEntries,
    last: &mut LastLanes,
) -> Option<Space<'s>> {
    OutputCursor::new(space, kernel)
        .encode(message, &[], dictionary, last)
        .map(OutputCursor::into_space)
}
