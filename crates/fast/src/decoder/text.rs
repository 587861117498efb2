//! Strings and byte vectors: every operator.

use super::engine::DecoderEngine;
use super::sink::RecordSink;
use crate::dictionary::{EntryState, INLINE_MAX, Word, is_long, word_of_bytes};
use crate::error::FastErrorKind;
use crate::program::{Op, WireType};
use crate::template::{SilentValue, StreamContent};
use crate::wire::Map;

/// Packs a short ascii string from the wire into a word, without its stop bit.
#[inline]
fn ascii_word(wire: &[u8]) -> Word {
    let mut word = 0u64;
    for (index, &byte) in wire.iter().enumerate().take(INLINE_MAX) {
        word |= u64::from(byte & 0x7f) << (8 * index);
    }
    word_of_bytes(word, wire.len())
}

/// Appends an ascii string from the wire, without its stop bit.
fn push_ascii(text: &mut Vec<u8>, wire: &[u8]) {
    text.extend_from_slice(wire);
    if let (Some(last), false) = (text.last_mut(), wire.is_empty()) {
        *last &= 0x7f;
    }
}

impl<'e, S: RecordSink, const JOURNAL: bool> DecoderEngine<'e, S, JOURNAL> {
    /// Passes a string of the stream to the sink and, with `STORE`, to the dictionary.
    #[inline(always)]
    fn received_ascii<const STORE: bool>(
        &mut self,
        op: &Op,
        base: usize,
        wire: &[u8],
    ) -> Result<(), FastErrorKind> {
        if let [only] = wire {
            let word = [only & 0x7f, 0, 0, 0, 0, 0, 0, 1];
            if STORE {
                self.dictionary.set_short_text::<JOURNAL>(op.entry, word);
            }
            self.sink.short_text(base, op, word);
            return Ok(());
        }
        self.received_long_ascii::<STORE>(op, base, wire)
    }

    fn received_long_ascii<const STORE: bool>(
        &mut self,
        op: &Op,
        base: usize,
        wire: &[u8],
    ) -> Result<(), FastErrorKind> {
        if wire.len() <= INLINE_MAX {
            let word = ascii_word(wire);
            if STORE {
                self.dictionary.set_short_text::<JOURNAL>(op.entry, word);
            }
            self.sink.short_text(base, op, word);
            return Ok(());
        }
        self.charge(wire.len())?;
        self.text.clear();
        push_ascii(self.text, wire);
        if STORE {
            self.dictionary.set_bytes::<JOURNAL>(op.entry, self.text);
        }
        self.sink.text(base, op, self.text)
    }

    /// Counts a string that does not fit a word against the message's limit.
    #[inline]
    fn charge(&mut self, len: usize) -> Result<(), FastErrorKind> {
        if len > INLINE_MAX {
            let left = self.text_left.checked_sub(len);
            self.text_left = left.ok_or(FastErrorKind::MessageTooLarge)?;
        }
        Ok(())
    }

    /// No operator. Returns whether the field is present.
    #[inline(always)]
    pub(super) fn ascii_none<const OPTIONAL: bool>(
        &mut self,
        op: &Op,
        base: usize,
    ) -> Result<bool, FastErrorKind> {
        match self.read_ascii::<OPTIONAL>()? {
            Some(wire) => self.received_ascii::<false>(op, base, wire).map(|()| true),
            None => Ok(false),
        }
    }

    #[inline(always)]
    fn read_ascii<const OPTIONAL: bool>(&mut self) -> Result<Option<&'e [u8]>, FastErrorKind> {
        match OPTIONAL {
            true => self.reader.ascii_nullable(self.limits.string_max),
            false => self.reader.ascii(self.limits.string_max).map(Some),
        }
    }

    /// Default operator.
    #[inline(always)]
    pub(super) fn ascii_default<const OPTIONAL: bool>(
        &mut self,
        op: &Op,
        map: &mut impl Map,
        base: usize,
    ) -> Result<bool, FastErrorKind> {
        match map.take() {
            true => self.ascii_none::<OPTIONAL>(op, base),
            false => self.initial_text(op, base),
        }
    }

    /// Copy operator.
    #[inline(always)]
    pub(super) fn ascii_copy<const OPTIONAL: bool>(
        &mut self,
        op: &Op,
        map: &mut impl Map,
        base: usize,
    ) -> Result<bool, FastErrorKind> {
        if !map.take() {
            return self.previous_text(op, base);
        }
        match self.read_ascii::<OPTIONAL>()? {
            Some(wire) => self.received_ascii::<true>(op, base, wire).map(|()| true),
            None => {
                self.dictionary.set_empty::<JOURNAL>(op.entry);
                Ok(false)
            }
        }
    }

    #[inline(always)]
    fn initial_text(&mut self, op: &Op, base: usize) -> Result<bool, FastErrorKind> {
        let initial = self.initial(op);
        if let Some(word) = initial.short {
            self.sink.short_text(base, op, word);
        } else if initial.given {
            self.charge(initial.bytes.len())?;
            self.sink.text(base, op, &initial.bytes)?;
        }
        Ok(initial.given)
    }

    /// Decodes the previous value.
    #[inline(always)]
    fn previous_text(&mut self, op: &Op, base: usize) -> Result<bool, FastErrorKind> {
        let state = self.dictionary.state(op.entry);
        if state != EntryState::Assigned {
            return self.text_not_assigned(op, base, state);
        }
        let word = self.dictionary.word(op.entry);
        if !is_long(word) {
            self.sink.short_text(base, op, word);
            return Ok(true);
        }
        self.charge(self.dictionary.bytes(op.entry).len())?;
        self.sink.text(base, op, self.dictionary.bytes(op.entry))?;
        Ok(true)
    }

    fn text_not_assigned(
        &mut self,
        op: &Op,
        base: usize,
        state: EntryState,
    ) -> Result<bool, FastErrorKind> {
        let initial = self.initial(op);
        if state == EntryState::Undefined && initial.given {
            self.charge(initial.bytes.len())?;
            self.dictionary.set_bytes::<JOURNAL>(op.entry, &initial.bytes);
            self.sink.text(base, op, &initial.bytes)?;
            return Ok(true);
        }
        self.without_value(op, state)?;
        Ok(false)
    }

    /// Decodes a string or byte vector by its rule.
    /// Returns whether the field is present.
    pub(super) fn any_text(
        &mut self,
        op: &Op,
        map: &mut impl Map,
        base: usize,
    ) -> Result<bool, FastErrorKind> {
        if op.rule.has_map_bit() && !map.take() {
            return match op.rule.silent {
                SilentValue::Never | SilentValue::Absent | SilentValue::Initial => {
                    self.initial_text(op, base)
                }
                // Strings have no increment (S2).
                SilentValue::Previous | SilentValue::Next => self.previous_text(op, base),
            };
        }
        match op.rule.stream {
            StreamContent::Constant => self.initial_text(op, base),
            StreamContent::Value => self.text_on_wire(op, base, op.rule.derives_from_previous()),
            StreamContent::Delta => self.text_delta(op, base),
            StreamContent::Tail => self.tail(op, base),
        }
    }

    fn text_on_wire(&mut self, op: &Op, base: usize, store: bool) -> Result<bool, FastErrorKind> {
        let present = self.read_text(op, op.optional)?;
        if !present {
            if store {
                self.dictionary.set_empty::<JOURNAL>(op.entry);
            }
            return Ok(false);
        }
        self.keep_text(op, base, store)?;
        Ok(true)
    }

    /// Reads a string of `op`'s type into `self.text`; false for NULL.
    fn read_text(&mut self, op: &Op, nullable: bool) -> Result<bool, FastErrorKind> {
        let max = self.limits.string_max;
        let value = match (op.wire, nullable) {
            (WireType::Ascii, false) => Some(self.reader.ascii(max)?),
            (WireType::Ascii, true) => self.reader.ascii_nullable(max)?,
            (_, false) => Some(self.reader.vector(max)?),
            (_, true) => self.reader.vector_nullable(max)?,
        };
        let Some(value) = value else { return Ok(false) };
        self.text.clear();
        match op.wire {
            WireType::Ascii => push_ascii(self.text, value),
            _ => self.text.extend_from_slice(value),
        }
        Ok(true)
    }

    /// Checks the value in `self.text`; passes it to the sink and, with `store`, to the dictionary.
    fn keep_text(&mut self, op: &Op, base: usize, store: bool) -> Result<(), FastErrorKind> {
        if self.text.len() > self.limits.string_max as usize {
            return Err(FastErrorKind::StringTooLong);
        }
        self.charge(self.text.len())?;
        if op.wire == WireType::Unicode && std::str::from_utf8(self.text).is_err() {
            self.reader.report(FastErrorKind::InvalidUtf8)?;
        }
        if store {
            self.dictionary.set_bytes::<JOURNAL>(op.entry, self.text);
        }
        self.sink.text(base, op, self.text)
    }

    /// Spec: FAST 1.1 §6.3.7.3, §6.3.7.4.
    fn text_delta(&mut self, op: &Op, base: usize) -> Result<bool, FastErrorKind> {
        let Some(subtraction) = self.reader.signed_or_null(op.optional)? else { return Ok(false) };
        let subtraction =
            i32::try_from(subtraction).map_err(|_| FastErrorKind::SubtractionLength)?;
        self.read_text(op, false)?;
        let previous = match self.dictionary.state(op.entry) {
            EntryState::Assigned => self.dictionary.bytes(op.entry),
            EntryState::Undefined => &self.program.initials[op.initial as usize].bytes,
            EntryState::Empty => return Err(FastErrorKind::EmptyPreviousValue),
        };
        // Negative lengths cut in front: -1 cuts nothing, -2 one byte. So "cut 0 in front" can be
        // encoded.
        let cut = if subtraction < 0 { !subtraction } else { subtraction } as usize;
        let kept = previous.len().checked_sub(cut).ok_or(FastErrorKind::SubtractionLength)?;
        match subtraction < 0 {
            true => self.text.extend_from_slice(&previous[cut..]),
            false => {
                self.text.splice(..0, previous[..kept].iter().copied());
            }
        }
        self.keep_text(op, base, true)?;
        Ok(true)
    }

    /// Spec: FAST 1.1 §6.3.8.
    fn tail(&mut self, op: &Op, base: usize) -> Result<bool, FastErrorKind> {
        if !self.read_text(op, op.optional)? {
            self.dictionary.set_empty::<JOURNAL>(op.entry);
            return Ok(false);
        }
        let previous = match self.dictionary.state(op.entry) {
            EntryState::Assigned => self.dictionary.bytes(op.entry),
            _ => &self.program.initials[op.initial as usize].bytes,
        };
        let kept = previous.len().saturating_sub(self.text.len());
        self.text.splice(..0, previous[..kept].iter().copied());
        self.keep_text(op, base, true)?;
        Ok(true)
    }
}
