//! Strings and byte vectors: every operator.

use super::engine::EncoderEngine;
use super::text_delta::{TextDelta, shortest_tail};
use super::writer::{self, MapWriter};
use crate::dictionary::{EntryState, is_long, short_bytes};
use crate::error::FastErrorKind;
use crate::program::{Op, WireType};
use crate::template::{SilentValue, StreamContent};

impl<'e> EncoderEngine<'e> {
    /// Encodes a string or byte vector by its rule; `at` is its word in the message.
    pub(super) fn text(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        at: Option<usize>,
    ) -> Result<(), FastErrorKind> {
        match op.rule.silent {
            SilentValue::Never => self.text_in_stream(op, at),
            SilentValue::Absent | SilentValue::Initial => self.text_default(op, map, at),
            // Strings have no increment (S2).
            SilentValue::Previous | SilentValue::Next => self.text_following(op, map, at),
        }
    }

    /// Writes a value to the stream. Deltas and tails assign it, too.
    #[inline]
    fn text_in_stream(&mut self, op: &Op, at: Option<usize>) -> Result<(), FastErrorKind> {
        match op.rule.stream {
            StreamContent::Constant => Ok(()),
            StreamContent::Value => self.text_on_wire(op, at),
            StreamContent::Delta => self.text_delta(op, at),
            StreamContent::Tail => self.tail(op, at),
        }
    }

    /// Spec: FAST 1.1 §6.3.4.
    #[inline]
    pub(super) fn text_default(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        at: Option<usize>,
    ) -> Result<(), FastErrorKind> {
        let initial = self.initial(op);
        let expected = initial.given.then_some(&*initial.bytes);
        let follows = self.bytes(at) == expected && (op.optional || initial.given);
        map.push(self.out, !follows);
        if follows {
            return Ok(());
        }
        self.text_in_stream(op, at)
    }

    #[inline]
    fn bytes(&self, at: Option<usize>) -> Option<&'e [u8]> {
        let store = self.store;
        at.map(|at| store.bytes_at(at))
    }

    /// Checks that a decoder would accept the string.
    fn check_text(&self, op: &Op, value: &[u8]) -> Result<(), FastErrorKind> {
        if value.len() > self.limits.string_max as usize {
            return Err(FastErrorKind::StringTooLong);
        }
        if op.wire == WireType::Unicode && std::str::from_utf8(value).is_err() {
            return Err(FastErrorKind::InvalidUtf8);
        }
        if op.wire == WireType::Ascii && !value.is_ascii() {
            return Err(FastErrorKind::NotAscii);
        }
        Ok(())
    }

    #[inline]
    fn text_on_wire(&mut self, op: &Op, at: Option<usize>) -> Result<(), FastErrorKind> {
        if let (WireType::Ascii, Some(at)) = (op.wire, at) {
            let word = self.store.words[at];
            let string_max = self.limits.string_max as usize;
            if short_bytes(&word).is_some_and(|bytes| bytes.len() <= string_max) {
                return writer::short_ascii(self.out, word, op.optional);
            }
        }
        self.long_text_on_wire(op, at)
    }

    fn long_text_on_wire(&mut self, op: &Op, at: Option<usize>) -> Result<(), FastErrorKind> {
        match self.bytes(at) {
            Some(value) => {
                self.check_text(op, value)?;
                self.write_text(op, value, op.optional)
            }
            None => self.null(op),
        }
    }

    fn write_text(&mut self, op: &Op, value: &[u8], nullable: bool) -> Result<(), FastErrorKind> {
        if op.wire == WireType::Ascii {
            return writer::ascii(self.out, value, nullable);
        }
        writer::vector(self.out, value, nullable);
        Ok(())
    }

    /// Encodes a field whose silent value is the previous one: nothing is sent if the values are equal.
    ///
    /// Spec: FAST 1.1 §6.3.5, §6.3.8.
    #[inline]
    pub(super) fn text_following(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        at: Option<usize>,
    ) -> Result<(), FastErrorKind> {
        let state = self.dictionary.state(op.entry);
        let follows = !self.take_replace() && self.text_follows(op, state, at);
        map.push(self.out, !follows);
        if follows && state == EntryState::Assigned {
            return Ok(());
        }
        if !follows {
            self.text_in_stream(op, at)?;
            if op.rule.has_base() {
                return Ok(());
            }
        }
        self.set_text(op, at);
        Ok(())
    }

    #[inline]
    fn set_text(&mut self, op: &Op, at: Option<usize>) {
        match at.map(|at| self.store.words[at]) {
            Some(word) if !is_long(word) => {
                self.dictionary.set_short_text::<true>(op.entry, word);
            }
            Some(_) => {
                let value = self.bytes(at).unwrap_or_default();
                self.dictionary.set_bytes::<true>(op.entry, value);
            }
            None => self.dictionary.set_empty::<true>(op.entry),
        }
    }

    /// True if the decoder derives the value without anything in the stream.
    #[inline]
    fn text_follows(&self, op: &Op, state: EntryState, at: Option<usize>) -> bool {
        if state == EntryState::Assigned {
            return at.is_some_and(|at| self.is_previous_text(op, at));
        }
        let initial = self.initial(op);
        if state == EntryState::Undefined && initial.given {
            return self.bytes(at) == Some(&initial.bytes);
        }
        op.optional && at.is_none()
    }

    /// Unused bytes of a word are zero, so short strings are equal if their words are.
    #[inline]
    fn is_previous_text(&self, op: &Op, at: usize) -> bool {
        let word = self.dictionary.word(op.entry);
        match is_long(word) || is_long(self.store.words[at]) {
            true => self.dictionary.bytes(op.entry) == self.store.bytes_at(at),
            false => word == self.store.words[at],
        }
    }

    fn tail(&mut self, op: &Op, at: Option<usize>) -> Result<(), FastErrorKind> {
        let Some(value) = self.bytes(at) else {
            self.null(op)?;
            self.dictionary.set_empty::<true>(op.entry);
            return Ok(());
        };
        self.check_text(op, value)?;
        let base = match self.dictionary.state(op.entry) {
            EntryState::Assigned => self.dictionary.bytes(op.entry),
            _ => &self.initial(op).bytes,
        };
        let tail = shortest_tail(op.wire == WireType::Ascii, base, value)
            .ok_or(FastErrorKind::StringSyntax)?;
        self.write_text(op, tail, op.optional)?;
        self.set_text(op, at);
        Ok(())
    }

    /// Spec: FAST 1.1 §6.3.7.3, §6.3.7.4.
    fn text_delta(&mut self, op: &Op, at: Option<usize>) -> Result<(), FastErrorKind> {
        let Some(value) = self.bytes(at) else { return self.null(op) };
        self.check_text(op, value)?;
        let base = match self.dictionary.state(op.entry) {
            EntryState::Assigned => self.dictionary.bytes(op.entry),
            EntryState::Undefined => &self.initial(op).bytes,
            EntryState::Empty => return Err(FastErrorKind::EmptyPreviousValue),
        };
        let delta = TextDelta::shortest(op.wire == WireType::Ascii, op.optional, base, value);
        let delta = delta.ok_or(FastErrorKind::StringSyntax)?;
        writer::signed(self.out, delta.subtraction, op.optional);
        self.write_text(op, delta.added, false)?;
        self.set_text(op, at);
        Ok(())
    }
}
