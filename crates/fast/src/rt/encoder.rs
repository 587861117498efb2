//! Encodes with a generated module, and with the dynamic engine what the module leaves to it.

use super::context::Context;
use super::facts::Templates;
use super::link::{LinkError, Links};
use super::state::sealed::Handover;
use super::visit::Building;
use crate::builder::MessageBuilder;
use crate::decoder::ResetPolicy;
use crate::encoder::{Encoder as Dynamic, EncoderOptions};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::program::Program;
use crate::wire::Conformance;
use std::sync::Arc;

/// An encoder of a generated module for one stream of messages: its dictionaries are at every moment
/// what the decoder's will be.
///
/// What generated code cannot encode (values a decoder would refuse, encodings that hardly occur) is
/// handed to the dynamic engine with the previous values: bytes and errors are those of an
/// [`Encoder`](crate::Encoder).
#[derive(Clone, Debug)]
pub struct Encoder<T: Templates> {
    dynamic: Dynamic,
    builder: MessageBuilder,
    links: Links,
    state: T::State,
    context: Context,
    buffer: Vec<u8>,
    options: EncoderOptions,
    left_over: u64,
}

/// Room for a message to begin with; it grows to the longest.
const BUFFER_BYTES: usize = 4096;

/// A message that is to be built exists already; what it may be is for the encoder to say.
const UNLIMITED: Limits = Limits {
    entries_max: u32::MAX,
    entries_total_max: u32::MAX,
    string_max: (1 << 24) - 1,
    nesting_max: u32::MAX,
    message_bytes_max: usize::MAX,
    stream_bytes_max: usize::MAX,
};

impl<T: Templates> Encoder<T> {
    /// An encoder with default options.
    ///
    /// # Errors
    /// [`LinkError`] for another template set than the module's, or a program with a projection.
    pub fn new(program: Arc<Program>) -> Result<Self, LinkError> {
        Self::with_options(program, EncoderOptions::default())
    }

    /// An encoder with these options.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(program: Arc<Program>, options: EncoderOptions) -> Result<Self, LinkError> {
        let links = Links::of::<T>(&program)?;
        links.check::<T>(&program)?;
        if !T::IS_COMPLETE {
            return Err(LinkError::ProjectedModule);
        }
        Ok(Self {
            context: Context::new(
                links.enabled(),
                Conformance::Canonical,
                &options.limits,
                options.reset != ResetPolicy::Never,
                links.record_words,
            ),
            builder: MessageBuilder::with_limits(program.clone(), UNLIMITED),
            dynamic: Dynamic::with_options(program, options),
            state: T::state(),
            buffer: vec![0; BUFFER_BYTES],
            links,
            options,
            left_over: 0,
        })
    }

    /// The program of the template set.
    pub fn program(&self) -> &Arc<Program> {
        self.dynamic.program()
    }

    /// Messages so far that generated code left to the dynamic engine.
    pub fn left_over(&self) -> u64 {
        self.left_over
    }

    /// Empties every dictionary and forgets the template id.
    #[inline]
    pub fn reset(&mut self) {
        self.state.reset();
    }

    /// Says that a packet begins; resets under [`ResetPolicy::Packet`].
    #[inline]
    pub fn begin_packet(&mut self) {
        if self.options.reset == ResetPolicy::Packet {
            self.reset();
        }
    }

    /// Appends the encoded message to `out` and returns its length in bytes.
    ///
    /// # Errors
    /// Those of [`MessageBuilder`] for values outside their fields' types, and those of
    /// [`Encoder::encode`](crate::Encoder::encode). `out` and the dictionaries are then unchanged,
    /// but for the reset before a message under [`ResetPolicy::Message`].
    #[inline]
    pub fn encode(&mut self, message: T::Message<'_>, out: &mut Vec<u8>) -> Result<usize, Error> {
        if self.options.reset == ResetPolicy::Message {
            self.reset();
        }
        let last = self.state.last_word();
        self.state.begin();
        self.context.begin();
        match T::encode(message, &mut self.state, &mut self.buffer, 0, &mut self.context) {
            Some(len) => {
                append(out, &self.buffer, len);
                Ok(len)
            }
            None => {
                self.state.set_last_word(last);
                self.context.give_up();
                self.encode_left_over(message, out)
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn encode_left_over(
        &mut self,
        message: T::Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<usize, Error> {
        self.left_over += 1;
        let number = T::number(message);
        let index = self.links.indexes.get(number).copied().flatten();
        let index = index.ok_or(Error::new(ErrorKind::UnknownTemplate, 0))?;
        self.builder.begin(index)?;
        let mut building = Building { builder: &mut self.builder, indexes: &self.links.indexes };
        T::visit(message, &mut building)?;
        let built = self.builder.finish()?;
        self.links.lend::<T>(None, &self.state, &mut self.dynamic.dictionary);
        let len = self.dynamic.encode_by_operations(built, out, usize::MAX, false)?;
        self.links.take_back::<T>(None, &mut self.state, &self.dynamic.dictionary);
        let len = len.unwrap_or_default();
        grow(&mut self.buffer, len);
        Ok(len)
    }
}

/// Messages up to this length are copied as if they were that long, which needs no loop.
const SHORT: usize = 32;

/// Appends the first `len` bytes of a buffer.
#[inline(always)]
fn append(out: &mut Vec<u8>, buffer: &[u8], len: usize) {
    match buffer.first_chunk::<SHORT>() {
        Some(bytes) if len <= SHORT => {
            let end = out.len() + len;
            out.extend_from_slice(bytes);
            out.truncate(end);
        }
        _ => out.extend_from_slice(buffer.get(..len).unwrap_or_default()),
    }
}

/// Makes a buffer large enough for the next message of `len` bytes: words are written as a whole.
pub(crate) fn grow(buffer: &mut Vec<u8>, len: usize) {
    if len + size_of::<u64>() > buffer.len() {
        buffer.resize((len + size_of::<u64>()).next_power_of_two(), 0);
    }
}
