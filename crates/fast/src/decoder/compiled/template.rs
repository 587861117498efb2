//! Decodes a message with the code of its template: with plain code, or with a tree.

use super::super::wide::WideCall;
use super::message::{MessageCall, MessageEnd};
use super::tail::PacketTail;
use super::tier_up::{TOLERATED, TemplateSuccess};
use super::{CompiledMessage, MessageFunction};
use crate::decoder::vectors::Wide;
use crate::decoder::{Decoder, DecoderOptions, ResetPolicy, lanes};
use crate::dictionary::{DictionaryEntries, Word};
use crate::message::MessageStore;
use crate::program::Program;
use std::ptr::null;

/// What the code of a template needs of a decoder.
pub(super) struct TemplateDecoder<'d> {
    /// The template.
    pub(super) index: u32,
    pub(super) program: &'d Program,
    pub(super) options: &'d DecoderOptions,
    pub(super) dictionary: &'d mut DictionaryEntries,
    pub(super) store: &'d mut MessageStore,
    pub(super) success: &'d mut TemplateSuccess,
    pub(super) tail: &'d mut PacketTail,
    pub(super) wide: Option<Wide>,
}

/// Bytes to decode: a message within the first `len` bytes of a buffer.
#[derive(Clone, Copy)]
pub(super) struct MessageInput<'b> {
    pub(super) buffer: &'b [u8],
    pub(super) len: usize,
    /// Position after presence map and template id.
    pub(super) position: usize,
    /// The presence map after the id's bit, its first bit at the top.
    pub(super) bits: u64,
}

/// How plain code decodes a message.
struct MessageTerms {
    entries_max: u32,
    /// True if the SIMD engine should decode entries.
    vectors: bool,
    /// True if every dictionary entry is undefined.
    is_fresh: bool,
}

impl MessageInput<'_> {
    /// Returns the bytes in which the message is.
    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }
}

impl Decoder {
    /// Decodes a message with its template's code; `None` without code, or if it bails out.
    #[inline(always)]
    pub(in crate::decoder) fn decode_by_code<const STREAM: bool>(
        &mut self,
        buffer: &[u8],
        bytes: &[u8],
    ) -> Option<usize> {
        if !self.may_run {
            return None;
        }
        let (bits, mut position) = lanes::presence_map(bytes, 0)?;
        let index = match bits >> 63 {
            0 => self.dictionary.last_template()?,
            _ => self.program.index_of_small(lanes::unsigned_at(bytes, &mut position)?)?,
        };
        let code = self.jit.compiled.as_ref()?.of_template(index)?;
        let input = MessageInput { buffer, len: bytes.len(), position, bits: bits << 1 };
        let mut template = TemplateDecoder {
            index,
            program: &self.program,
            options: &self.options,
            dictionary: &mut self.dictionary,
            store: &mut self.message.store,
            success: self.jit.templates.get_mut(index as usize)?,
            tail: &mut self.jit.tail,
            wide: self.vectors.wide,
        };
        let mut end = None;
        let plain = code.plain().filter(|_| template.success.plain.is_good());
        if let Some(plain) = plain {
            if !plain.takes(input.bits) {
                return None;
            }
            end = template.plain::<STREAM>(plain, input);
            // The message may extend into the bytes after the packet.
            if end.is_some_and(|end| end > bytes.len()) {
                return None;
            }
        }
        let end = match end {
            Some(end) => end,
            None => {
                let end = template.tree::<STREAM>(code.tree()?, input)?;
                if plain.is_some() {
                    // Plain code backs off only where tree code succeeds.
                    template.success.plain.fail(TOLERATED);
                }
                end
            }
        };
        self.message.set_template(index);
        Some(end)
    }
}

impl TemplateDecoder<'_> {
    /// Returns a second value for a cold function: if that had the address of `self`, all of it would be
    /// written to memory for each message.
    #[inline(always)]
    pub(super) fn reborrow(&mut self) -> TemplateDecoder<'_> {
        TemplateDecoder {
            dictionary: &mut *self.dictionary,
            store: &mut *self.store,
            success: &mut *self.success,
            tail: &mut *self.tail,
            ..*self
        }
    }

    /// Decodes a message with plain code. Returns its end, which may be behind the input; `None` if the code
    /// bailed out.
    #[inline(always)]
    fn plain<const STREAM: bool>(
        &mut self,
        code: &MessageFunction,
        input: MessageInput<'_>,
    ) -> Option<usize> {
        let MessageInput { buffer, len, position, bits } = input;
        let dictionary = &mut *self.dictionary;
        let is_reset = code.reset && self.options.reset != ResetPolicy::Never;
        let is_fresh = dictionary.begin_plain(self.index, is_reset, code.has_entries);
        dictionary.settle(self.program, self.wide, &self.store.words);
        let window = match buffer.len() >= position + code.bytes_max {
            true => buffer,
            false => self.tail.lengthened(input.bytes(), code.bytes_max),
        };
        let mut choice = self.success.sequence.as_mut();
        let (began, vectors) = match &mut choice {
            Some(choice) => (choice.begin(), choice.takes_vectors()),
            None => (None, false),
        };
        let limits = &self.options.limits;
        let terms = MessageTerms {
            entries_max: limits.entries_max.min(limits.entries_total_max),
            vectors,
            is_fresh,
        };
        let words = &mut self.store.words;
        let message = code.message((window, len), (position, bits), dictionary, words, terms);
        // In a stream the message may be incomplete, which says nothing about SIMD.
        if let Some(choice) = choice
            && (!STREAM || message.is_some())
        {
            let end = message.as_ref().map_or(position, |message| message.end);
            choice.end(began, end - position);
            if vectors {
                // If the compiled code bailed out too, the work of the SIMD engine was wasted.
                choice.learn(message.as_ref().is_none_or(|message| message.is_declined));
            }
        }
        let CompiledMessage { end, used, .. } = message?;
        if end <= len {
            self.success.plain.learn(false);
            self.store.bytes.clear();
            self.store.used = used;
            if code.leaves_lanes {
                self.dictionary.await_lanes(self.index);
            }
        }
        Some(end)
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
        (bytes, len): (&[u8], usize),
        (position, bits): (usize, u64),
        dictionary: &mut DictionaryEntries,
        words: &mut [Word],
        terms: MessageTerms,
    ) -> Option<CompiledMessage> {
        let last = bytes.len().checked_sub(self.bytes_max)?;
        let (values, stamps) = dictionary.values();
        if position > last || words.len() < self.words_min || values.len() < self.entries {
            return None;
        }
        let (values, stamps) = (values.as_mut_ptr(), stamps.as_mut_ptr());
        let mut call = MessageCall {
            wide: WideCall { end: bytes.as_ptr_range().end, before: null(), is_declined: 0 },
            last: bytes.as_ptr().wrapping_add(last),
            vectors: u64::from(terms.vectors),
            end: bytes.as_ptr().wrapping_add(len),
            words: words.len() as u64,
            entries_max: u64::from(terms.entries_max),
            stamps,
            is_fresh: u64::from(terms.is_fresh),
        };
        let start = bytes.as_ptr().wrapping_add(position);
        let out = words.as_mut_ptr();
        // SAFETY: the code reads at most `bytes_max` bytes from `position` on before the first entry,
        // and of each entry, which begins at `last` at most; all of them are in `bytes`. It reads and
        // writes values and stamps below `self.entries`, the end of the longest possible range of a run, and
        // there are as many stamps as values. In the dictionary it accesses the integers that `DICTIONARY_PARTS` names; values and
        // stamps are not in the dictionary itself. It writes to the record, which is in the
        // first `self.words_min` words, and to entries behind it if all of them are in `words`. Its
        // memory, and the lanes and the plan that it has the addresses of, live as long as `self`, which
        // is in the same `CompiledCode`. Vectors are only called by code that was made where the CPU has them,
        // with bytes up to the end of `bytes` and with entries that are all in `words`, whose blocks of
        // words end before the next record's, or in the last of the words behind all.
        let MessageEnd { end, used } = unsafe {
            (self.function)(&raw mut call, start, bits, out, values, &raw mut *dictionary)
        };
        if end.is_null() {
            return None;
        }
        let end = end as usize - bytes.as_ptr() as usize;
        Some(CompiledMessage { end, used: used as usize, is_declined: call.wide.is_declined != 0 })
    }
}
