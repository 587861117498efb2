//! Functions that tree code calls: for strings of more than 32 bytes, byte vectors, deltas and tails of
//! strings, and for the dictionary's copy of long strings.
//!
//! They have the contract of compiled code: on errors and rare cases they bail out of the message,
//! and the caller restores the dictionary.

use super::TreeCall;
use crate::decoder::lanes::{signed_at, unsigned_at};
use crate::dictionary::{
    ASSIGNED, EMPTY, EntryState, INLINE_MAX, LONG_WORD, TextUndo, UNFIT, Word, long_word,
    short_bytes, state_of, word_of_bytes,
};
use crate::program::{Op, Program, WireType};
use crate::rt::first_stop;
use crate::template::{OperatorRule, StreamContent};
use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8};
use std::ptr::null;

const STOP: u8 = 0x80;
/// Strings of up to this many bytes are copied as this many bytes, without a call.
pub(super) const MIDDLE_BYTES: usize = 32;
/// Writable bytes that a string of up to [`MIDDLE_BYTES`] needs: as many for itself, and as many more
/// because a copy of it reads so far beyond its end.
const ROOM_BYTES: usize = 2 * MIDDLE_BYTES;
/// Strings of up to this many bytes are copied in pieces of [`MIDDLE_BYTES`], longer ones by `memcpy`.
const COPIED_BYTES: usize = 8 * MIDDLE_BYTES;

/// Description of a field for the helper functions.
#[derive(Debug)]
pub(super) struct TextField {
    field: u32,
    entry: u32,
    /// Text buffer of the dictionary entry.
    buffer: u32,
    wire: WireType,
    rule: OperatorRule,
    is_optional: bool,
    is_discarded: bool,
    initial: Box<[u8]>,
}

/// Buffers for the strings of a message, and their limits.
#[derive(Debug)]
#[repr(C)]
pub(super) struct TreeTexts<'t> {
    /// Position in the message's strings at which compiled code writes the next one.
    pub at: *mut u8,
    /// Largest `at` at which compiled code may write [`MIDDLE_BYTES`]; [`ROOM_BYTES`] of capacity follow.
    /// Null if it may not write any.
    pub at_max: *mut u8,
    /// Start of the message's strings.
    pub base: *const u8,
    /// End of the readable bytes.
    pub end: *const u8,
    /// Entries of the dictionary: pointers, because compiled code has some to the same entries.
    pub words: *mut [Word],
    pub stamps: *mut [u32],
    pub buffers: &'t mut [Vec<u8>],
    /// Stamp of an assigned entry.
    pub epoch: u32,
    /// Saves overwritten long values of entries; `None` if nothing is to be restored.
    pub undo: Option<&'t mut TextUndo>,
    /// Long strings of the message. Compiled code appends beyond the length; [`collect`](Self::collect)
    /// sets the length.
    pub bytes: &'t mut Vec<u8>,
    pub string_max: usize,
    /// Bytes that the message's long strings may have after those in `bytes`; at most `u32::MAX` in all.
    pub left: usize,
}

/// Result of reading a string.
#[derive(Debug)]
#[repr(C)]
pub(super) struct TextEnd {
    /// Position after its last byte; null to bail out of the message.
    end: *const u8,
    is_present: u64,
}

impl TextField {
    pub(super) fn of(program: &Program, op: &Op) -> Self {
        let initial = program.initials.get(op.initial as usize);
        Self {
            field: op.field,
            entry: op.entry,
            buffer: program.text_of_entry.get(op.entry as usize).copied().unwrap_or(u32::MAX),
            wire: op.wire,
            rule: op.rule,
            is_optional: op.optional,
            is_discarded: op.discard,
            initial: initial.map(|initial| initial.bytes.clone()).unwrap_or_default(),
        }
    }

    /// True if this describes the operation's field.
    pub(super) fn is_of(&self, op: &Op) -> bool {
        self.field == op.field
    }
}

/// Reads a string field by its rule to a word of the record.
///
/// # Safety
/// `call` is that of the calling code; its pointers are valid and not in use elsewhere. `field` is
/// one of its fields. `start` is at or before `call.texts.end`, and the bytes between are readable.
/// `out` is writable. The calling code has kept the contract of [`TreeTexts::collect`].
pub(super) unsafe extern "sysv64" fn read_text(
    call: *mut TreeCall<'_>,
    field: *const TextField,
    start: *const u8,
    out: *mut Word,
) -> TextEnd {
    // SAFETY: as promised.
    let (texts, field) = unsafe { (&mut (*call).texts, &*field) };
    // SAFETY: likewise.
    let stream = unsafe {
        let len = (texts.end as usize).saturating_sub(start as usize);
        std::slice::from_raw_parts(start, len)
    };
    // SAFETY: likewise.
    let Some((len, word)) = (unsafe { texts.read(field, stream) }) else {
        return TextEnd { end: null(), is_present: 0 };
    };
    if let Some(word) = word {
        // SAFETY: likewise.
        unsafe { *out = word };
    }
    TextEnd { end: start.wrapping_add(len), is_present: u64::from(word.is_some()) }
}

/// Copies the value of an entry, which is a long string, to a word of the record; returns 0 to bail
/// out.
///
/// # Safety
/// As for [`read_text`]; the entry is assigned.
pub(super) unsafe extern "sysv64" fn copy_text(
    call: *mut TreeCall<'_>,
    field: *const TextField,
    out: *mut Word,
) -> u64 {
    // SAFETY: as promised.
    let (texts, field) = unsafe { (&mut (*call).texts, &*field) };
    // SAFETY: likewise.
    let Some(word) = (unsafe { texts.copied(field) }) else { return 0 };
    // SAFETY: likewise.
    unsafe { *out = word };
    1
}

/// Assigns a string of eight to [`MIDDLE_BYTES`] bytes to the entry of a field.
///
/// # Safety
/// `call` and `field` as for [`read_text`]. `start` is `call.texts.at` before the string, at most `at_max`:
/// [`ROOM_BYTES`] of the message's spare capacity are readable there, and the compiled code has just
/// written the first `len`.
pub(super) unsafe extern "sysv64" fn assign_text(
    call: *mut TreeCall<'_>,
    field: *const TextField,
    start: *const u8,
    len: usize,
) {
    // SAFETY: as promised.
    let (texts, field) = unsafe { (&mut (*call).texts, &*field) };
    // SAFETY: likewise.
    unsafe { texts.assign(field, TextPart { start, len, readable: ROOM_BYTES }) };
}

/// A string and the readable bytes after it.
#[derive(Clone, Copy)]
struct TextPart {
    start: *const u8,
    len: usize,
    /// Bytes that can be read, initialized or not; at least `len`, which are.
    readable: usize,
}

impl TextPart {
    /// The empty part. It has readable bytes, so it takes the same path as short parts.
    const EMPTY: Self = Self { start: [0; MIDDLE_BYTES].as_ptr(), len: 0, readable: MIDDLE_BYTES };

    /// Returns the first `len` bytes of a slice, all of which can be read.
    fn front(slice: &[u8], len: usize) -> Self {
        Self { start: slice.as_ptr(), len: len.min(slice.len()), readable: slice.len() }
    }

    fn of(slice: &[u8]) -> Self {
        Self::front(slice, slice.len())
    }

    /// Returns the content of a vector; its spare room can be read.
    fn buffer(buffer: &Vec<u8>) -> Self {
        Self { start: buffer.as_ptr(), len: buffer.len(), readable: buffer.capacity() }
    }

    /// Returns the first bytes, without the last `count`.
    fn without_last(self, count: usize) -> Option<Self> {
        Some(Self { len: self.len.checked_sub(count)?, ..self })
    }

    /// Returns the last bytes, without the first `count`.
    fn without_first(self, count: usize) -> Option<Self> {
        let len = self.len.checked_sub(count)?;
        let readable = self.readable - count;
        Some(Self { start: self.start.wrapping_add(count), len, readable })
    }

    /// Copies the bytes, and up to [`MIDDLE_BYTES`] more: short copies of fixed size take no call.
    ///
    /// # Safety
    /// `start` is valid for reading, as the fields say; `to` is for writing `len` plus [`MIDDLE_BYTES`]
    /// bytes, all elsewhere.
    #[inline(always)]
    unsafe fn copy_to(self, to: *mut u8) {
        if self.len > COPIED_BYTES || self.readable - self.len < MIDDLE_BYTES {
            // SAFETY: as promised.
            return unsafe { self.start.copy_to_nonoverlapping(to, self.len) };
        }
        // SAFETY: each chunk begins within `len` or at 0, so it ends at most `MIDDLE_BYTES` beyond `len`.
        // As many bytes more are readable, by the test above, and writable, as promised.
        unsafe { self.start.copy_to_nonoverlapping(to, MIDDLE_BYTES) };
        if self.len > MIDDLE_BYTES {
            // SAFETY: likewise.
            unsafe { self.copy_more(to) };
        }
    }

    /// Copies what follows the first [`MIDDLE_BYTES`].
    ///
    /// # Safety
    /// As for [`copy_to`](Self::copy_to); as many bytes are readable as are writable.
    #[inline(never)]
    unsafe fn copy_more(self, to: *mut u8) {
        let mut at = MIDDLE_BYTES;
        while at < self.len {
            // SAFETY: as promised.
            unsafe { self.start.add(at).copy_to_nonoverlapping(to.add(at), MIDDLE_BYTES) };
            at += MIDDLE_BYTES;
        }
    }

    /// Returns at most seven bytes as a word, the first in the lowest bits.
    ///
    /// # Safety
    /// As for [`copy_to`](Self::copy_to).
    #[inline(always)]
    unsafe fn word(self) -> u64 {
        // SAFETY: as promised.
        let byte = |index| unsafe { u64::from(*self.start.add(index)) << (8 * index) };
        (0..self.len).map(byte).sum()
    }
}

impl TreeTexts<'_> {
    /// Lets compiled code write strings behind those of the message.
    pub(super) fn offer(&mut self) {
        let len = self.bytes.len();
        let room = self.left.min(self.bytes.capacity() - len);
        let base = self.bytes.as_mut_ptr();
        (self.base, self.at) = (base, base.wrapping_add(len));
        self.at_max = match room.checked_sub(ROOM_BYTES) {
            Some(more) if self.string_max >= MIDDLE_BYTES => self.at.wrapping_add(more),
            _ => std::ptr::null_mut(),
        };
    }

    /// Takes over the strings that compiled code has written.
    ///
    /// # Safety
    /// Compiled code has written all bytes between the end of `bytes` and `at`, none of them beyond `at_max`
    /// plus [`MIDDLE_BYTES`].
    #[inline]
    pub(super) unsafe fn collect(&mut self) {
        let end = self.at as usize - self.base as usize;
        self.left -= end - self.bytes.len();
        // SAFETY: as promised; `offer` has chosen `at_max` so that this is within the capacity.
        unsafe { self.bytes.set_len(end) };
    }

    /// Returns word and stamp of a field's entry.
    ///
    /// # Safety
    /// `words` and `stamps` are valid and not in use elsewhere.
    unsafe fn entry(&mut self, field: &TextField) -> Option<(&mut Word, &mut u32)> {
        let entry = field.entry as usize;
        // SAFETY: as promised.
        unsafe { Some(((&mut *self.words).get_mut(entry)?, (&mut *self.stamps).get_mut(entry)?)) }
    }

    /// Sets an entry.
    ///
    /// # Safety
    /// As for [`entry`](Self::entry).
    unsafe fn set(&mut self, field: &TextField, value: Word, state: u32) -> Option<()> {
        let now = self.epoch + state;
        // SAFETY: as promised.
        let (word, stamp) = unsafe { self.entry(field) }?;
        (*word, *stamp) = (value, now);
        Some(())
    }

    /// Reads the string at the front of `stream`. Returns its length on the wire in bytes, and its
    /// word (`None` if it is absent); `None` to bail out.
    ///
    /// # Safety
    /// As for [`read_text`].
    unsafe fn read(&mut self, field: &TextField, stream: &[u8]) -> Option<(usize, Option<Word>)> {
        let mut at = 0;
        let mut cut = None;
        match field.rule.stream {
            StreamContent::Constant | StreamContent::Value | StreamContent::Tail => {}
            StreamContent::Delta => match signed_at(stream, &mut at)? {
                0 if field.is_optional => return Some((at, None)),
                length => {
                    let length = length - i64::from(field.is_optional && length > 0);
                    cut = Some(i32::try_from(length).ok()?);
                }
            },
        }
        let is_nullable = field.is_optional && cut.is_none();
        let Some(value) = self.value(field, stream, &mut at, is_nullable)? else {
            if field.rule.uses_dictionary() {
                let empty = self.epoch + EMPTY;
                // SAFETY: as promised.
                *unsafe { self.entry(field) }?.1 = empty;
            }
            return Some((at, None));
        };
        // Parts of the previous value before and after the transmitted string.
        let nothing = TextPart::EMPTY;
        // SAFETY: as promised.
        let (front, back) = match (field.rule.stream, cut) {
            (StreamContent::Tail, _) => {
                let previous = unsafe { self.previous(field, true) }?;
                (previous.without_last(value.len.min(previous.len))?, nothing)
            }
            // Negative lengths cut in front: -1 cuts nothing, -2 one byte.
            (_, Some(cut @ ..0)) => {
                let previous = unsafe { self.previous(field, false) }?;
                (nothing, previous.without_first(!cut as usize)?)
            }
            (_, Some(cut)) => {
                let previous = unsafe { self.previous(field, false) }?;
                (previous.without_last(cut as usize)?, nothing)
            }
            (_, None) => (nothing, nothing),
        };
        // SAFETY: the parts are in the stream, in an entry or its buffer, or in the initial value; none is
        // in the message.
        Some((at, Some(unsafe { self.joined(field, [front, value, back]) }?)))
    }

    /// Reads the value at `at`: an ascii string ends with its stop bit. The inner `None` is NULL.
    fn value(
        &self,
        field: &TextField,
        stream: &[u8],
        at: &mut usize,
        is_nullable: bool,
    ) -> Option<Option<TextPart>> {
        if field.wire == WireType::Ascii {
            return self.ascii(stream, at, is_nullable);
        }
        let len = unsigned_at(stream, at)?;
        if len == 0 && is_nullable {
            return Some(None);
        }
        let len = usize::try_from(len - u64::from(is_nullable)).ok()?;
        let rest = stream.get(*at..)?;
        if len > rest.len() || len > self.string_max {
            return None;
        }
        *at += len;
        Some(Some(TextPart::front(rest, len)))
    }

    fn ascii(&self, stream: &[u8], at: &mut usize, is_nullable: bool) -> Option<Option<TextPart>> {
        let rest = stream.get(*at..)?;
        let len = stop_in(rest)? + 1;
        *at += len;
        match rest.get(..len)? {
            [STOP] if is_nullable => return Some(None),
            [STOP] => return Some(Some(TextPart::EMPTY)),
            [0, STOP] if is_nullable => return Some(Some(TextPart::EMPTY)),
            [0 | STOP, ..] => return None,
            _ => {}
        }
        (len <= self.string_max).then_some(Some(TextPart::front(rest, len)))
    }

    /// Returns the previous value, or the initial value in its place.
    ///
    /// # Safety
    /// As for [`entry`](Self::entry).
    unsafe fn previous(&mut self, field: &TextField, takes_empty: bool) -> Option<TextPart> {
        let epoch = self.epoch;
        // SAFETY: as promised.
        let (word, stamp) = unsafe { self.entry(field) }?;
        match state_of(*stamp, epoch) {
            EntryState::Assigned => match short_bytes(word) {
                Some(bytes) => Some(TextPart::of(bytes)),
                None => Some(TextPart::buffer(self.buffers.get(field.buffer as usize)?)),
            },
            EntryState::Empty if !takes_empty => None,
            _ => Some(TextPart::of(&field.initial)),
        }
    }

    /// Joins the parts of a value and checks it; stores it in the dictionary, if the field has an
    /// entry, and in the message. The part in the middle is from the stream.
    ///
    /// # Safety
    /// As for [`entry`](Self::entry) and, from the parts, [`TextPart::copy_to`]. No part is in `self.bytes`,
    /// which may move; compiled code has kept the contract of [`collect`](Self::collect).
    unsafe fn joined(&mut self, field: &TextField, parts: [TextPart; 3]) -> Option<Word> {
        let [front, value, back] = parts;
        let len = front.len + value.len + back.len;
        if len > self.string_max {
            return None;
        }
        let is_stored = field.rule.uses_dictionary();
        let stop =
            (field.wire == WireType::Ascii && value.len > 0).then(|| front.len + value.len - 1);
        if len <= INLINE_MAX {
            // SAFETY: as promised. Each part is at most as long as the whole.
            let [front_word, value_word, back_word] = parts.map(|part| unsafe { part.word() });
            let behind = 8 * (front.len + value.len);
            let mut word = front_word | value_word << (8 * front.len) | back_word << behind;
            if let Some(stop) = stop {
                word &= !(u64::from(STOP) << (8 * stop));
            }
            let [bytes @ .., _] = word.to_le_bytes();
            if field.wire == WireType::Unicode && std::str::from_utf8(&bytes[..len]).is_err() {
                return None;
            }
            let word = word_of_bytes(word, len);
            if is_stored {
                // SAFETY: as promised.
                unsafe { self.set(field, word, ASSIGNED) }?;
            }
            return Some(word);
        }
        // SAFETY: as promised: compiled code has written all bytes up to `at`, at most 32 beyond `at_max`.
        unsafe { self.collect() };
        self.left = self.left.checked_sub(len)?;
        let start = self.bytes.len();
        self.bytes.reserve(len + ROOM_BYTES);
        let mut end = start;
        for part in parts {
            // SAFETY: as promised; `reserve` made room for all parts and `ROOM_BYTES` more, and a copy
            // ends at most `MIDDLE_BYTES` after its part.
            unsafe { part.copy_to(self.bytes.as_mut_ptr().add(end)) };
            end += part.len;
        }
        // SAFETY: the parts are initialized, so all bytes up to `end` are, and in the capacity.
        unsafe { self.bytes.set_len(end) };
        if let Some(stop) = stop {
            self.bytes[start + stop] &= !STOP;
        }
        if field.wire == WireType::Unicode && std::str::from_utf8(&self.bytes[start..]).is_err() {
            return None;
        }
        if is_stored {
            let part = TextPart::buffer(self.bytes).without_first(start)?;
            // SAFETY: as promised; the part is in `self.bytes`, so in no buffer of the dictionary.
            unsafe { self.assign(field, part) }?;
        }
        self.put(field, start)
    }

    /// Assigns a long string to the entry of a field.
    ///
    /// # Safety
    /// As for [`entry`](Self::entry) and, from the part, [`TextPart::copy_to`]. The part is neither in the
    /// entry's buffer nor in the spare with which `undo` swaps it.
    #[inline(always)]
    unsafe fn assign(&mut self, field: &TextField, part: TextPart) -> Option<()> {
        if let Some(undo) = &mut self.undo {
            undo.note(field.buffer, self.buffers);
        }
        let buffer = self.buffers.get_mut(field.buffer as usize)?;
        buffer.clear();
        buffer.reserve(part.len + MIDDLE_BYTES);
        // SAFETY: as promised; `reserve` made room for the part and `MIDDLE_BYTES` more. The part is
        // initialized.
        unsafe {
            part.copy_to(buffer.as_mut_ptr());
            buffer.set_len(part.len);
        }
        // SAFETY: as promised.
        unsafe { self.set(field, LONG_WORD, UNFIT) }
    }

    /// Returns the word of the string that begins at `start` of the message's strings and is the last; removes
    /// it if its field is discarded.
    fn put(&mut self, field: &TextField, start: usize) -> Option<Word> {
        let word = match field.is_discarded {
            true => {
                self.bytes.truncate(start);
                [0; 8]
            }
            false => long_word(start, self.bytes.len() - start)?,
        };
        self.offer();
        Some(word)
    }

    /// Copies the long value of an entry to the message.
    ///
    /// # Safety
    /// As for [`copy_text`].
    unsafe fn copied(&mut self, field: &TextField) -> Option<Word> {
        let part = TextPart::buffer(self.buffers.get(field.buffer as usize)?);
        // SAFETY: as promised: compiled code has written all bytes up to `at`, at most 32 beyond `at_max`.
        unsafe { self.collect() };
        self.left = self.left.checked_sub(part.len)?;
        if field.is_discarded {
            self.offer();
            return Some([0; 8]);
        }
        let start = self.bytes.len();
        self.bytes.reserve(part.len + ROOM_BYTES);
        // SAFETY: the part is initialized and in the dictionary, not in `bytes`; `reserve` made room for it
        // and `ROOM_BYTES` more.
        unsafe {
            part.copy_to(self.bytes.as_mut_ptr().add(start));
            self.bytes.set_len(start + part.len);
        }
        self.put(field, start)
    }
}

/// Returns the index of the first byte with a stop bit: that of a string of up to [`MIDDLE_BYTES`] bytes
/// from the stop bits of two vectors.
#[inline(always)]
fn stop_in(bytes: &[u8]) -> Option<usize> {
    if let Some(([low, high], [])) =
        bytes.first_chunk::<MIDDLE_BYTES>().map(|b| b.as_chunks::<16>())
    {
        // SAFETY: every x86-64 CPU has the instructions; 16 bytes are readable.
        let stops =
            |half: &[u8; 16]| unsafe { _mm_movemask_epi8(_mm_loadu_si128(half.as_ptr().cast())) };
        let stops = stops(low) | stops(high) << 16;
        if stops != 0 {
            return Some(stops.trailing_zeros() as usize);
        }
    }
    first_stop(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TemplateSet;
    use crate::dictionary::{DictionaryEntries, EntryBackup, place_of, short_bytes};
    use crate::template::OperatorKind as K;
    use std::ptr::null_mut;

    /// Lengths around those of words and of pieces that are copied at once.
    const LENGTHS: [usize; 10] = [0, 1, 7, 8, 31, 32, 33, 255, 256, 257];
    const WIRES: [WireType; 3] = [WireType::Ascii, WireType::Unicode, WireType::ByteVector];
    const STRING_MAX: usize = 600;

    /// Returns a dictionary with one entry, of a string.
    fn dictionary() -> DictionaryEntries {
        let xml = "<templates><template name='T' id='1'><string name='S'><copy/></string></template></templates>";
        let program = Program::compile(TemplateSet::parse(xml).expect("valid")).expect("compiles");
        DictionaryEntries::new(&program)
    }

    /// Returns a mandatory field of the entry.
    fn field(wire: WireType, operator: K, initial: &[u8]) -> TextField {
        TextField {
            field: 0,
            entry: 0,
            buffer: 0,
            wire,
            rule: operator.rule(false, true),
            is_optional: false,
            is_discarded: false,
            initial: initial.into(),
        }
    }

    /// Returns bytes in a vector without spare capacity: a byte after them belongs to nobody.
    fn exactly(bytes: &[u8]) -> Vec<u8> {
        Box::<[u8]>::from(bytes).into_vec()
    }

    /// Returns a string that differs from others at every position.
    fn text(first: u8, len: usize) -> Vec<u8> {
        (0..len).map(|index| first + (index % 23) as u8).collect()
    }

    fn texts<'t>(
        dictionary: &'t mut DictionaryEntries,
        bytes: &'t mut Vec<u8>,
        left: usize,
    ) -> TreeTexts<'t> {
        let parts = dictionary.parts();
        let mut texts = TreeTexts {
            at: null_mut(),
            at_max: null_mut(),
            base: null(),
            end: null(),
            words: parts.words,
            stamps: parts.stamps,
            buffers: parts.texts,
            epoch: parts.epoch,
            undo: Some(parts.undo),
            bytes,
            string_max: STRING_MAX,
            left,
        };
        texts.offer();
        texts
    }

    fn unsigned(value: usize) -> Vec<u8> {
        match value >> 7 {
            0 => vec![value as u8 | STOP],
            high => vec![high as u8, value as u8 | STOP],
        }
    }

    fn signed(value: i64) -> Vec<u8> {
        match value {
            -64..64 => vec![value as u8 | STOP],
            _ => vec![(value >> 7) as u8 & !STOP, value as u8 | STOP],
        }
    }

    /// Returns a string as it is on the wire.
    fn on_wire(wire: WireType, text: &[u8]) -> Vec<u8> {
        let mut bytes = text.to_vec();
        if wire != WireType::Ascii {
            return [unsigned(text.len()), bytes].concat();
        }
        match bytes.last_mut() {
            Some(last) => *last |= STOP,
            None => bytes.push(STOP),
        }
        bytes
    }

    /// Returns the string of a word.
    fn string<'b>(word: &'b Word, bytes: &'b [u8]) -> &'b [u8] {
        let (start, len) = place_of(*word);
        short_bytes(word).unwrap_or_else(|| &bytes[start..start + len])
    }

    /// Reads a field behind another string of the message; `expected` is its value. The entry has
    /// `previous`, if that is given.
    fn read(
        dictionary: &mut DictionaryEntries,
        field: &TextField,
        previous: Option<&[u8]>,
        stream: &[u8],
        expected: Option<&[u8]>,
    ) {
        const BEFORE: &[u8] = b"a string before";
        dictionary.reset();
        if let Some(previous) = previous {
            dictionary.set_bytes::<false>(0, previous);
        }
        let saved = EntryBackup::of(&[0], Vec::new());
        dictionary.save(&saved);
        let mut bytes = exactly(BEFORE);
        let stream = Box::<[u8]>::from(stream);
        let mut texts = texts(dictionary, &mut bytes, 1000);
        // SAFETY: the stream is readable, entries and buffers are valid, and nothing was written at `at`.
        let read = unsafe { texts.read(field, &stream) };
        let is_long = expected.is_some_and(|expected| expected.len() > INLINE_MAX);
        if expected.is_some() {
            let len = texts.bytes.len();
            assert_eq!(texts.at, texts.bytes.as_mut_ptr().wrapping_add(len), "{field:?}");
            assert_eq!(texts.left, 1000 - (len - BEFORE.len()), "{field:?}");
        }
        let found = read.map(|(len, word)| {
            assert_eq!(len, stream.len(), "{field:?} {stream:02x?}");
            string(&word.expect("present"), &bytes).to_vec()
        });
        assert_eq!(found.as_deref(), expected, "{field:?} {previous:02x?} {stream:02x?}");
        assert!(bytes.starts_with(BEFORE));
        let is_stored = field.rule.uses_dictionary();
        if let (Some(expected), true) = (expected, is_stored) {
            assert_eq!(dictionary.state(0), EntryState::Assigned);
            assert_eq!(dictionary.bytes(0), expected, "{field:?}");
            assert!(is_long || dictionary.word(0) != LONG_WORD);
        }
        dictionary.put_back(&saved);
        match previous {
            Some(previous) => assert_eq!(dictionary.bytes(0), previous, "{field:?}"),
            None => assert_eq!(dictionary.state(0), EntryState::Undefined),
        }
    }

    #[test]
    fn strings_are_read_with_every_operator_and_length() {
        let dictionary = &mut dictionary();
        for wire in WIRES {
            for value in LENGTHS.map(|len| text(b'A', len)) {
                let stream = on_wire(wire, &value);
                for operator in [K::None, K::Default, K::Copy] {
                    read(dictionary, &field(wire, operator, b""), None, &stream, Some(&value));
                    read(
                        dictionary,
                        &field(wire, operator, b""),
                        Some(b"a previous value"),
                        &stream,
                        Some(&value),
                    );
                }
            }
        }
    }

    /// The base is an initial value at the end of its allocation, or a previous value in the entry or its
    /// buffer.
    #[test]
    fn tails_and_deltas_are_joined_with_a_base_of_every_length() {
        let dictionary = &mut dictionary();
        for (base, value) in LENGTHS.iter().flat_map(|&base| LENGTHS.map(|value| (base, value))) {
            // The charsets differ at the stop bit and in the check for UTF-8 only.
            let wire = WIRES[(base + value) % WIRES.len()];
            let (base, value) = (text(b'a', base), text(b'A', value));
            let kept = base.len().saturating_sub(value.len());
            let joined = [&base[..kept], &value].concat();
            let stream = on_wire(wire, &value);
            read(dictionary, &field(wire, K::Tail, &base), None, &stream, Some(&joined));
            read(
                dictionary,
                &field(wire, K::Tail, b"initial"),
                Some(&base),
                &stream,
                Some(&joined),
            );

            for cut in [0, 1, base.len() / 2, base.len()] {
                let kept = base.len().checked_sub(cut);
                let is_front = |is_front: bool| if is_front { !(cut as i64) } else { cut as i64 };
                for in_front in [false, true] {
                    let stream = [signed(is_front(in_front)), on_wire(wire, &value)].concat();
                    let joined = kept.map(|kept| match in_front {
                        true => [&value, &base[cut..]].concat(),
                        false => [&base[..kept], &value].concat(),
                    });
                    read(
                        dictionary,
                        &field(wire, K::Delta, &base),
                        None,
                        &stream,
                        joined.as_deref(),
                    );
                    let with_initial = field(wire, K::Delta, b"initial");
                    read(dictionary, &with_initial, Some(&base), &stream, joined.as_deref());
                }
            }
        }
    }

    #[test]
    fn strings_beyond_a_limit_and_invalid_ones_are_declined() {
        let dictionary = &mut dictionary();
        for wire in WIRES {
            let longest = text(b'A', STRING_MAX);
            read(
                dictionary,
                &field(wire, K::Copy, b""),
                None,
                &on_wire(wire, &longest),
                Some(&longest),
            );
            let longer = text(b'A', STRING_MAX + 1);
            read(
                dictionary,
                &field(wire, K::Copy, b""),
                Some(b"a previous value"),
                &on_wire(wire, &longer),
                None,
            );
            // Together with the front of the previous value.
            let stream = [signed(0), on_wire(wire, &longest)].concat();
            read(dictionary, &field(wire, K::Delta, b""), Some(b"a previous value"), &stream, None);
        }
        for text in [&b"short\xff"[..], b"a longer one \xff"] {
            read(
                dictionary,
                &field(WireType::ByteVector, K::Copy, b""),
                None,
                &on_wire(WireType::ByteVector, text),
                Some(text),
            );
            let stream = on_wire(WireType::Unicode, text);
            read(
                dictionary,
                &field(WireType::Unicode, K::Copy, b""),
                Some(b"a previous value"),
                &stream,
                None,
            );
        }
        for stream in [&[0, b'A' | STOP][..], &[0, 0, STOP], b"without end", &[]] {
            read(
                dictionary,
                &field(WireType::Ascii, K::Copy, b""),
                Some(b"a previous value"),
                stream,
                None,
            );
        }
        for stream in [&[0x8a, b'A'][..], &[0x01], &[]] {
            read(
                dictionary,
                &field(WireType::ByteVector, K::Copy, b""),
                Some(b"a previous value"),
                stream,
                None,
            );
        }
    }

    #[test]
    fn long_values_of_an_entry_are_copied_to_the_message() {
        let mut dictionary = dictionary();
        let mut field = field(WireType::Ascii, K::Copy, b"");
        for len in LENGTHS.into_iter().filter(|len| *len > INLINE_MAX) {
            let value = text(b'A', len);
            dictionary.set_bytes::<false>(0, &value);
            let mut bytes = exactly(b"before");
            let mut texts = texts(&mut dictionary, &mut bytes, 3 * len);
            // A discarded value counts against the limit, too.
            for (is_discarded, is_copied, left) in
                [(true, true, 2 * len), (false, true, len), (false, true, 0), (true, false, 0)]
            {
                field.is_discarded = is_discarded;
                // SAFETY: entries and buffers are valid, and nothing was written at `at`.
                let word = unsafe { texts.copied(&field) };
                assert_eq!((word.is_some(), texts.left), (is_copied, left), "{len}");
                if let Some(word) = word {
                    let expected = if is_discarded { &[] } else { &value[..] };
                    assert_eq!(string(&word, texts.bytes), expected);
                }
            }
            assert_eq!(bytes, [b"before", &value[..], &value].concat());
        }
    }

    /// Does what compiled code does with a string of 20 bytes: writes 32 at `at`, and assigns them to the
    /// entry; then a function reads another string.
    #[test]
    fn strings_that_compiled_code_has_written_are_kept() {
        let mut dictionary = dictionary();
        dictionary.set_bytes::<false>(0, b"the previous value");
        dictionary.save(&EntryBackup::of(&[0], Vec::new()));
        let copy = field(WireType::Ascii, K::Copy, b"");
        let none = field(WireType::Ascii, K::None, b"");
        let mut bytes = exactly(b"before");
        bytes.reserve_exact(ROOM_BYTES);
        let mut texts = texts(&mut dictionary, &mut bytes, 1000);
        let (value, len) = (text(b'A', MIDDLE_BYTES), 20);
        assert!(texts.at <= texts.at_max);
        let start = texts.at;
        // SAFETY: `ROOM_BYTES` of capacity follow `at`; the first `len` are written.
        unsafe {
            start.copy_from_nonoverlapping(value.as_ptr(), MIDDLE_BYTES);
            texts.at = start.add(len);
            let written = TextPart { start, len, readable: ROOM_BYTES };
            texts.assign(&copy, written).expect("an entry");
        }
        let next = text(b'a', 300);
        // SAFETY: the stream is readable, and all bytes before `at` are written.
        let (_, word) =
            unsafe { texts.read(&none, &on_wire(WireType::Ascii, &next)) }.expect("valid");
        assert_eq!(texts.left, 1000 - len - next.len());
        assert_eq!(string(&word.expect("present"), &bytes), next);
        assert_eq!(bytes, [b"before", &value[..len], &next].concat());
        assert_eq!(dictionary.bytes(0), &value[..len]);
    }

    /// Compiled code writes strings where 64 bytes are left: of the capacity, and of the message's limit.
    #[test]
    fn compiled_code_may_write_where_enough_room_is_left() {
        for (room, positions) in
            [(0, None), (63, None), (64, Some(0)), (65, Some(1)), (300, Some(236))]
        {
            for (capacity, left) in [(room, 1000), (1000, room), (room, room)] {
                let mut dictionary = dictionary();
                let mut bytes = exactly(b"before");
                bytes.reserve_exact(capacity);
                assert_eq!(bytes.capacity(), b"before".len() + capacity);
                let mut texts = texts(&mut dictionary, &mut bytes, left);
                let at = texts.bytes.as_mut_ptr().wrapping_add(b"before".len());
                let at_max = positions.map_or(null_mut(), |positions| at.wrapping_add(positions));
                assert_eq!((texts.at, texts.at_max), (at, at_max), "{capacity} {left}");
                texts.string_max = MIDDLE_BYTES - 1;
                texts.offer();
                assert!(texts.at_max.is_null());
            }
        }
    }
}
