//! Strings and byte vectors: every operator.

use super::engine::EncoderEngine;
use super::writer::{self, MapWriter};
use crate::dictionary::{EntryState, INLINE_MAX, OUTSIDE, Word};
use crate::error::ErrorKind;
use crate::program::{Op, WireType};
use crate::template::OperatorKind;

/// A string as a delta: how many bytes of the base it cuts, and the bytes it adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextDelta<'v> {
    /// Number of bytes cut. Negative values cut in front: -1 cuts nothing.
    subtraction: i64,
    added: &'v [u8],
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// True if the wire type can encode these bytes.
fn is_expressible(wire: WireType, bytes: &[u8]) -> bool {
    wire != WireType::Ascii || writer::is_ascii_expressible(bytes)
}

/// Returns how many of the first `kept` bytes may be kept so that the rest of `value` can still be
/// encoded.
fn keep_in_front(wire: WireType, value: &[u8], kept: usize) -> Option<usize> {
    (0..=kept).rev().find(|&kept| is_expressible(wire, &value[kept..]))
}

impl TextDelta<'_> {
    fn encoded_len(&self, op: &Op) -> usize {
        let nullable = i64::from(op.optional && self.subtraction >= 0);
        let added = self.added.len();
        let prefix = match op.wire {
            WireType::Ascii => usize::from(added == 0 || self.added[0] == 0),
            _ => writer::unsigned_len(added as u64),
        };
        writer::signed_len(self.subtraction + nullable) + prefix + added
    }
}

/// Returns the shortest delta from `base` to `value`; at equal length the one that cuts at the
/// back.
fn difference<'v>(op: &Op, base: &[u8], value: &'v [u8]) -> Option<TextDelta<'v>> {
    let back = keep_in_front(op.wire, value, common_prefix(base, value))
        .map(|kept| TextDelta { subtraction: (base.len() - kept) as i64, added: &value[kept..] });
    if back.is_some_and(|back| back.added.is_empty()) {
        return back;
    }
    let kept = common_suffix(base, value);
    let added = &value[..value.len() - kept];
    let front = TextDelta { subtraction: !((base.len() - kept) as i64), added };
    let front = Some(front).filter(|front| is_expressible(op.wire, front.added));
    match (back, front) {
        (Some(back), Some(front)) if front.encoded_len(op) < back.encoded_len(op) => Some(front),
        (Some(back), _) => Some(back),
        (None, front) => front,
    }
}

/// Returns the shortest tail that turns `base` into `value`. A tail never shortens its base; a tail
/// longer than the base replaces it.
fn shortest_tail<'v>(op: &Op, base: &[u8], value: &'v [u8]) -> Option<&'v [u8]> {
    if value.len() < base.len() {
        return None;
    }
    let kept = if value.len() == base.len() { common_prefix(base, value) } else { 0 };
    keep_in_front(op.wire, value, kept).map(|kept| &value[kept..])
}

impl<'e> EncoderEngine<'e> {
    /// Encodes a string or byte vector with any operator and presence; `at` is its word in the
    /// message.
    pub(super) fn text(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        at: Option<usize>,
    ) -> Result<(), ErrorKind> {
        match op.operator {
            OperatorKind::Copy | OperatorKind::Tail => self.text_following(op, map, at),
            OperatorKind::Delta => self.text_delta(op, at),
            OperatorKind::None => self.text_on_wire(op, at),
            // Strings have no increment (S2), and constants an operation of their own.
            OperatorKind::Default | OperatorKind::Constant | OperatorKind::Increment => {
                self.text_default(op, map, at)
            }
        }
    }

    /// Spec: FAST 1.1 §6.3.4.
    #[inline]
    pub(super) fn text_default(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        at: Option<usize>,
    ) -> Result<(), ErrorKind> {
        let initial = self.initial(op);
        let expected = initial.given.then_some(&*initial.bytes);
        let follows = self.bytes(at) == expected && (op.optional || initial.given);
        map.push(self.out, !follows);
        if follows {
            return Ok(());
        }
        self.text_on_wire(op, at)
    }

    #[inline]
    fn bytes(&self, at: Option<usize>) -> Option<&'e [u8]> {
        let store = self.store;
        at.map(|at| store.bytes_at(at))
    }

    /// Checks that a decoder would accept the string.
    fn check_text(&self, op: &Op, value: &[u8]) -> Result<(), ErrorKind> {
        if value.len() > self.limits.string_max as usize {
            return Err(ErrorKind::StringTooLong);
        }
        if op.wire == WireType::Unicode && std::str::from_utf8(value).is_err() {
            return Err(ErrorKind::InvalidUtf8);
        }
        if op.wire == WireType::Ascii && !value.is_ascii() {
            return Err(ErrorKind::NotAscii);
        }
        Ok(())
    }

    #[inline]
    fn text_on_wire(&mut self, op: &Op, at: Option<usize>) -> Result<(), ErrorKind> {
        if let (WireType::Ascii, Some(at)) = (op.wire, at) {
            let word = self.store.words[at];
            if is_inline(word) && usize::from(word[INLINE_MAX]) <= self.limits.string_max as usize {
                return writer::short_ascii(self.out, word, op.optional);
            }
        }
        self.long_text_on_wire(op, at)
    }

    fn long_text_on_wire(&mut self, op: &Op, at: Option<usize>) -> Result<(), ErrorKind> {
        match self.bytes(at) {
            Some(value) => {
                self.check_text(op, value)?;
                self.write_text(op, value, op.optional)
            }
            None => self.absent_delta(op),
        }
    }

    fn write_text(&mut self, op: &Op, value: &[u8], nullable: bool) -> Result<(), ErrorKind> {
        match (op.wire, nullable) {
            (WireType::Ascii, false) => writer::ascii(self.out, value),
            (WireType::Ascii, true) => writer::ascii_nullable(self.out, Some(value)),
            (_, false) => {
                writer::vector(self.out, value);
                Ok(())
            }
            (_, true) => {
                writer::vector_nullable(self.out, Some(value));
                Ok(())
            }
        }
    }

    /// Encodes copy and tail: nothing is sent if the value equals the previous one.
    ///
    /// Spec: FAST 1.1 §6.3.5, §6.3.8.
    #[inline]
    pub(super) fn text_following(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        at: Option<usize>,
    ) -> Result<(), ErrorKind> {
        let state = self.dictionary.state(op.entry);
        let follows = !self.take_replace() && self.text_follows(op, state, at);
        map.push(self.out, !follows);
        if follows && state == EntryState::Assigned {
            return Ok(());
        }
        if !follows {
            match op.operator {
                OperatorKind::Tail => self.tail(op, state, at)?,
                _ => self.text_on_wire(op, at)?,
            }
        }
        self.set_text(op, at);
        Ok(())
    }

    #[inline]
    fn set_text(&mut self, op: &Op, at: Option<usize>) {
        match at.map(|at| self.store.words[at]) {
            Some(word) if is_inline(word) => {
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
        match is_inline(word) && is_inline(self.store.words[at]) {
            true => word == self.store.words[at],
            false => self.dictionary.bytes(op.entry) == self.store.bytes_at(at),
        }
    }

    fn tail(&mut self, op: &Op, state: EntryState, at: Option<usize>) -> Result<(), ErrorKind> {
        let Some(value) = self.bytes(at) else { return self.absent_delta(op) };
        self.check_text(op, value)?;
        let base = match state {
            EntryState::Assigned => self.dictionary.bytes(op.entry),
            _ => &self.initial(op).bytes,
        };
        let tail = shortest_tail(op, base, value).ok_or(ErrorKind::StringSyntax)?;
        self.write_text(op, tail, op.optional)
    }

    /// Spec: FAST 1.1 §6.3.7.3, §6.3.7.4.
    fn text_delta(&mut self, op: &Op, at: Option<usize>) -> Result<(), ErrorKind> {
        let Some(value) = self.bytes(at) else { return self.absent_delta(op) };
        self.check_text(op, value)?;
        let base = match self.dictionary.state(op.entry) {
            EntryState::Assigned => self.dictionary.bytes(op.entry),
            EntryState::Undefined => &self.initial(op).bytes,
            EntryState::Empty => return Err(ErrorKind::EmptyPreviousValue),
        };
        let difference = difference(op, base, value).ok_or(ErrorKind::StringSyntax)?;
        match op.optional {
            true => writer::signed_nullable(self.out, Some(difference.subtraction)),
            false => writer::signed(self.out, difference.subtraction),
        }
        self.write_text(op, difference.added, false)?;
        self.set_text(op, at);
        Ok(())
    }
}

#[inline]
fn is_inline(word: Word) -> bool {
    word[INLINE_MAX] != OUTSIDE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Code;
    use crate::template::Width;

    fn op(wire: WireType) -> Op {
        Op {
            code: Code::Text,
            operator: OperatorKind::Delta,
            wire,
            width: Width::W64,
            optional: false,
            discard: false,
            bit: 0,
            slot: 0,
            entry: 0,
            field: 0,
            aux: 0,
            initial: 0,
        }
    }

    fn shortest<'v>(base: &str, value: &'v str) -> (i64, &'v str) {
        let difference = difference(&op(WireType::Ascii), base.as_bytes(), value.as_bytes());
        let TextDelta { subtraction, added } = difference.expect("expressible");
        (subtraction, std::str::from_utf8(added).unwrap())
    }

    #[test]
    fn a_delta_cuts_where_less_has_to_be_said() {
        assert_eq!(shortest("", "GEH6"), (0, "GEH6"));
        assert_eq!(shortest("GEH6", "GEM6"), (2, "M6"));
        assert_eq!(shortest("GEM6", "ESM6"), (!2, "ES"));
        assert_eq!(shortest("ESM6", "RSESM6"), (!0, "RS"));
        assert_eq!(shortest("ESM6", "ESM6"), (0, ""));
        assert_eq!(shortest("ESM6", ""), (4, ""));
    }

    #[test]
    fn a_delta_keeps_less_where_the_rest_would_begin_with_a_nul() {
        assert_eq!(shortest("AB", "AB\0C"), (1, "B\0C"));
        assert_eq!(difference(&op(WireType::Ascii), b"", b"\0C"), None);
        let bytes = difference(&op(WireType::ByteVector), b"", b"\0C").unwrap();
        assert_eq!(bytes, TextDelta { subtraction: 0, added: b"\0C" });
    }

    #[test]
    fn a_tail_replaces_the_end_or_everything() {
        let op = op(WireType::Ascii);
        assert_eq!(shortest_tail(&op, b"12:30", b"12:31"), Some(&b"1"[..]));
        assert_eq!(shortest_tail(&op, b"12:30", b"12:30"), Some(&b""[..]));
        assert_eq!(shortest_tail(&op, b"12:30", b"12:30:01"), Some(&b"12:30:01"[..]));
        assert_eq!(shortest_tail(&op, b"", b"12"), Some(&b"12"[..]));
        assert_eq!(shortest_tail(&op, b"12:30", b"12"), None);
    }
}
