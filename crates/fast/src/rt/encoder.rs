//! Encodes with a generated module; messages that the module does not support go to the dynamic engine.

use super::OutputRoom;
use super::context::CodingContext;
use super::encode::OutputCursor;
use super::extract::Extracting;
use super::facts::Templates;
use super::kernel::{CpuKernel, Portable};
use super::link::{LinkError, Links};
use super::state::sealed::Handover;
use crate::builder::MessageBuilder;
use crate::decoder::ResetPolicy;
use crate::dictionary::INLINE_MAX;
use crate::encoder::{Encoder as Dynamic, EncoderOptions};
use crate::error::FastError;
use crate::limits::Limits;
use crate::program::Program;
use crate::wire::Conformance;
use std::sync::Arc;

/// An encoder of a generated module, for one stream of messages. Its dictionaries always equal
/// those of a decoder that has read its output.
///
/// Messages that generated code cannot encode (values that a decoder would reject, rare encodings)
/// are passed to the dynamic engine with the previous values, so bytes and errors are those of an
/// [`Encoder`](crate::Encoder).
#[derive(Clone, Debug)]
pub struct ModuleEncoder<T: Templates> {
    dynamic: Dynamic,
    builder: MessageBuilder,
    links: Links,
    state: T::State,
    context: CodingContext,
    room: OutputRoom,
    /// Larger buffer to retry messages in.
    ample: Vec<u8>,
    options: EncoderOptions,
    left_over: u64,
    extracting: Option<Extracting>,
}

/// Initial output size reserved for a message; it grows to the longest message.
pub(crate) const ROOM_BYTES: usize = 248;
/// Size of the buffer for messages that failed, perhaps because they were too long.
const AMPLE_BYTES: usize = 1 << 16;

/// Limits for converting an existing message; the encoder checks the actual limits.
const UNLIMITED: Limits = Limits {
    entries_max: u32::MAX,
    entries_total_max: u32::MAX,
    string_max: (1 << 24) - 1,
    nesting_max: u32::MAX,
    message_bytes_max: usize::MAX,
    stream_bytes_max: usize::MAX,
};

impl<T: Templates> ModuleEncoder<T> {
    /// Creates an encoder with default options.
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
            context: CodingContext::new(
                links.enabled(),
                Conformance::Canonical,
                &options.limits,
                options.reset != ResetPolicy::Never,
                links.record_words,
            ),
            builder: MessageBuilder::with_limits(program.clone(), UNLIMITED),
            dynamic: Dynamic::with_options(program, options),
            state: T::state(),
            room: OutputRoom::new(ROOM_BYTES),
            ample: Vec::new(),
            links,
            options,
            left_over: 0,
            extracting: Extracting::detect(),
        })
    }

    /// Returns the program of the template set.
    pub fn program(&self) -> &Arc<Program> {
        self.dynamic.program()
    }

    /// Returns the number of messages that generated code left to the dynamic engine.
    pub fn left_over(&self) -> u64 {
        self.left_over
    }

    /// Resets every dictionary and the template id.
    #[inline]
    pub fn reset(&mut self) {
        self.state.reset();
    }

    /// Begins a packet; resets under [`ResetPolicy::Packet`].
    #[inline]
    pub fn begin_packet(&mut self) {
        if self.options.reset == ResetPolicy::Packet {
            self.reset();
        }
    }

    /// Appends the encoded message to `out` and returns its length in bytes. Reserves room in `out`
    /// for the longest message so far, up to a megabyte.
    ///
    /// # Errors
    /// Errors of [`MessageBuilder`] for values outside their fields' types, and of
    /// [`Encoder::encode`](crate::Encoder::encode). `out` and the dictionaries are unchanged then,
    /// except for the reset before a message under [`ResetPolicy::Message`].
    #[inline]
    pub fn encode(
        &mut self,
        message: T::Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<usize, FastError> {
        if self.options.reset == ResetPolicy::Message {
            self.reset();
        }
        match self.run(message, out) {
            Some(len) => Ok(len),
            None => self.encode_again(message, out),
        }
    }

    /// Retries a failed message: first into a large buffer of its own, then with the dynamic engine. The
    /// caller's buffer is not enlarged first, because most messages fail for other reasons than its size.
    #[cold]
    #[inline(never)]
    fn encode_again(
        &mut self,
        message: T::Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<usize, FastError> {
        let mut ample = std::mem::take(&mut self.ample);
        ample.clear();
        let room = std::mem::replace(&mut self.room, OutputRoom::new(AMPLE_BYTES));
        let len = self.run(message, &mut ample);
        self.room = room;
        let encoded = match len {
            Some(len) => {
                // Writing may have needed more room than the final message takes.
                self.room.enlarge();
                self.room.grow(len);
                out.extend_from_slice(&ample);
                Ok(len)
            }
            None => self.encode_left_over(message, out),
        };
        self.ample = ample;
        encoded
    }

    #[inline(always)]
    fn run(&mut self, message: T::Message<'_>, out: &mut Vec<u8>) -> Option<usize> {
        // Strings in words are written without checking this limit.
        if self.options.limits.string_max < INLINE_MAX as u32 {
            return None;
        }
        if let Some(extracting) = self.extracting {
            return self.run_on(extracting, message, out);
        }
        self.run_on(Portable, message, out)
    }

    #[inline(always)]
    fn run_on<K: CpuKernel>(
        &mut self,
        kernel: K,
        message: T::Message<'_>,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let last = self.state.last_word();
        self.state.begin();
        self.context.begin();
        let (state, context) = (&mut self.state, &mut self.context);
        let len = self.room.append(out, |space| {
            let end = T::encode(OutputCursor::new(space, kernel), message, state, context)?;
            Some(end.into_space())
        });
        if len.is_none() {
            self.state.set_last_word(last);
            self.context.give_up();
        }
        len
    }

    fn encode_left_over(
        &mut self,
        message: T::Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<usize, FastError> {
        self.left_over += 1;
        let built = self.links.copy::<T>(message, &mut self.builder)?;
        self.links.lend::<T>(None, &self.state, &mut self.dynamic.dictionary);
        let len = self.dynamic.encode_by_operations(built, out, usize::MAX, false)?;
        self.links.take_back::<T>(None, &mut self.state, &self.dynamic.dictionary);
        let len = len.unwrap_or_default();
        self.room.grow(len);
        Ok(len)
    }
}
