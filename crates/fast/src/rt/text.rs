//! Strings and byte vectors: short ones are stored in a word, long ones in the message's arena.

use super::context::CodingContext;
use super::cursor::{InputCursor, Long, NOT_READ, first_stop, seldom};
use super::growth::Growth;
use super::kernel::CpuKernel;
use super::lanes::text_word;
use super::past::{Past, Unknown};
use super::room::{LongValues, TextPiece, VALUE};
use super::state::{ModuleState, StateSlot};
pub(super) use crate::dictionary::short_bytes;
use crate::dictionary::{
    EntryState, INLINE_MAX, LONG_WORD, Word, is_long, long_word, place_of, place_word,
    word_of_bytes,
};
use std::fmt;

const STOP: u8 = 0x80;

/// A string or byte vector of a generated message: up to seven bytes are stored inline, longer ones
/// in the message's arena. [`bytes`](Self::bytes) returns them.
///
/// Texts cannot be compared: equal long ones have different positions. Compare their bytes.
///
/// ```compile_fail,E0369
/// use tickwire_fast::rt::TextValue;
///
/// assert!(TextValue::literal(b"AAA") == TextValue::literal(b"AAA"));
/// ```
#[derive(Clone, Copy, Default)]
pub struct TextValue(Word);

impl fmt::Debug for TextValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match short_bytes(&self.0) {
            Some(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            None => f.write_str("in the arena"),
        }
    }
}

impl TextValue {
    /// Creates a string of at most seven bytes; longer ones need an arena.
    #[inline(always)]
    pub const fn short(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > INLINE_MAX {
            return None;
        }
        let mut word = [0; 8];
        let mut index = 0;
        while index < bytes.len() {
            word[index] = bytes[index];
            index += 1;
        }
        word[7] = bytes.len() as u8;
        Some(Self(word))
    }

    /// As [`short`](Self::short), for literals; a longer one becomes empty.
    #[inline(always)]
    pub const fn literal(bytes: &[u8]) -> Self {
        match Self::short(bytes) {
            Some(text) => text,
            None => Self([0; 8]),
        }
    }

    /// Stores a string inline or appends it to an arena; `None` above 16,777,215 bytes, or if the
    /// arena exceeds 4 GiB.
    pub fn push(arena: &mut Vec<u8>, bytes: &[u8]) -> Option<Self> {
        if let Some(text) = Self::short(bytes) {
            return Some(text);
        }
        let word = long_word(arena.len(), bytes.len())?;
        arena.extend_from_slice(bytes);
        Some(Self(word))
    }

    /// Creates a string of `len` bytes (less than 2^24) at `start` of an arena.
    #[inline(always)]
    pub(super) fn outside(start: u32, len: u32) -> Self {
        Self(place_word(start, len))
    }

    /// As [`push`](Self::push), for an arena with bounded growth.
    pub fn push_within(arena: &mut Vec<u8>, bytes: &[u8], growth: &mut Growth) -> Option<Self> {
        if bytes.len() > INLINE_MAX {
            growth.reserve(arena, bytes.len())?;
        }
        Self::push(arena, bytes)
    }

    /// Returns the bytes; a long string's bytes are in the arena of its message.
    #[inline]
    pub fn bytes<'t>(&'t self, arena: &'t [u8]) -> &'t [u8] {
        let Self(word) = self;
        if let Some(bytes) = short_bytes(word) {
            return bytes;
        }
        let (start, len) = place_of(*word);
        arena.get(start..).and_then(|rest| rest.get(..len)).unwrap_or_default()
    }

    /// True if the text equals this string of at most seven bytes.
    #[inline(always)]
    pub fn is_short_text(self, short: Self) -> bool {
        self.word() == short.word()
    }

    /// Creates a string of `len` characters, at most seven; the first is in the lowest byte.
    #[inline(always)]
    pub(super) fn of_ascii(characters: u64, len: usize) -> Self {
        Self(word_of_bytes(characters, len))
    }

    /// Creates a string of at most three characters, with their number in the last byte.
    #[inline(always)]
    pub fn of_lane(lane: u32) -> Self {
        Self::from_word(text_word(lane))
    }

    #[inline(always)]
    pub(super) fn is_short(self) -> bool {
        !is_long(self.0)
    }

    #[inline(always)]
    pub(super) fn word(self) -> u64 {
        u64::from_le_bytes(self.0)
    }

    #[inline(always)]
    pub(super) fn from_word(word: u64) -> Self {
        Self(word.to_le_bytes())
    }
}

/// Word of a previous value that is in a buffer of the state.
pub(super) const LONG: u64 = u64::from_le_bytes(LONG_WORD);

/// Wire type of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// Ends with a stop bit.
    Ascii,
    /// Length, then UTF-8.
    Unicode,
    /// Length, then any bytes.
    Bytes,
}

impl<K: CpuKernel> InputCursor<'_, K> {
    /// Reads an ascii string; the inner `None` is NULL.
    #[inline(always)]
    pub fn ascii<const NULLABLE: bool>(
        &mut self,
        context: &mut CodingContext,
    ) -> Option<Option<TextValue>> {
        if let Some(text) = self.short_ascii(context) {
            return Some(Some(text));
        }
        if NULLABLE && self.take_null() {
            return Some(None);
        }
        seldom();
        let word = self.take_long(long_ascii::<NULLABLE>(self.ahead.rest(), context))?;
        Some(Some(TextValue::from_word(word)))
    }

    /// Reads a unicode string or byte vector; the inner `None` is NULL.
    #[inline(always)]
    pub fn vector<const NULLABLE: bool>(
        &mut self,
        charset: Charset,
        context: &mut CodingContext,
    ) -> Option<Option<TextValue>> {
        let mut at = self.portable();
        let text = match at.text_len::<NULLABLE>(context)? {
            Some(len) => Some(at.vector_of(len, charset, context)?),
            None => None,
        };
        *self = at.like(self);
        Some(text)
    }
}

impl InputCursor<'_> {
    /// Reads the length of a unicode string or byte vector; the inner `None` is NULL.
    #[inline(always)]
    fn text_len<const NULLABLE: bool>(
        &mut self,
        context: &mut CodingContext,
    ) -> Option<Option<u64>> {
        match NULLABLE {
            true => self.unsigned_nullable::<{ u32::MAX as u64 }>(context),
            false => self.unsigned::<{ u32::MAX as u64 }>(context).map(Some),
        }
    }

    #[inline(never)]
    fn vector_of(
        &mut self,
        len: u64,
        charset: Charset,
        context: &mut CodingContext,
    ) -> Option<TextValue> {
        if len > context.string_max as u64 {
            return None;
        }
        let value = self.raw(len as usize)?;
        check(charset, value)?;
        context.text(value)
    }
}

/// Returns `None` for invalid UTF-8 (R2), which the dynamic engine handles.
fn check(charset: Charset, value: &[u8]) -> Option<()> {
    (charset != Charset::Unicode || std::str::from_utf8(value).is_ok()).then_some(())
}

/// Reads an ascii string of more than seven characters, an empty one, or one that begins with NUL.
#[inline(never)]
fn long_ascii<const NULLABLE: bool>(bytes: &[u8], context: &mut CodingContext) -> Long {
    if let Some(piece) = bytes.first_chunk()
        && let Some(len) = piece_len(piece)
        && len > INLINE_MAX
        && len <= context.string_max
        && let Some(text) = context.pushed_text(len, |arena| arena.push_piece(piece, len))
    {
        return Long { value: text.word(), len };
    }
    any_ascii::<NULLABLE>(bytes, context)
}

/// Decodes the delta of an ascii string that removes at most 63 characters at the end, and adds at
/// most 32.
#[inline(never)]
fn spliced<const NULLABLE: bool>(
    bytes: &[u8],
    values: &mut LongValues,
    message: u64,
    context: &mut CodingContext,
) -> Long {
    let mut splice = || {
        let (first, end) = bytes.split_first()?;
        // The bit below the stop bit is the sign.
        let removed = usize::from(first & !STOP).checked_sub(usize::from(NULLABLE))?;
        if first & 0xc0 != STOP {
            return None;
        }
        let end = end.first_chunk()?;
        let more = piece_len(end)?;
        let kept = values.now().piece()?.1.checked_sub(removed)?;
        let len = kept + more;
        if len <= INLINE_MAX || len > VALUE || len > context.string_max {
            return None;
        }
        let text = context.spliced_text(values, kept, end, len, message)?;
        Some(Long { value: text.word(), len: 1 + more })
    };
    splice().unwrap_or(NOT_READ)
}

/// Returns the length of an ascii string of at most 32 characters that does not begin with NUL.
#[inline(always)]
fn piece_len(piece: &TextPiece) -> Option<usize> {
    let last = first_stop(piece)?;
    (piece[0] & !STOP != 0).then_some(last + 1)
}

#[inline(never)]
fn any_ascii<const NULLABLE: bool>(bytes: &[u8], context: &mut CodingContext) -> Long {
    let Some(wire) = stop_bit_bytes(bytes, context.string_max) else { return NOT_READ };
    let Some(Some(text)) = ascii_of::<NULLABLE>(wire) else { return NOT_READ };
    let text = match TextValue::short(text) {
        Some(TextValue(mut word)) => {
            // Empty, or begins with NUL.
            if let Some(last) = text.len().checked_sub(1) {
                word[last] &= !STOP;
            }
            TextValue(word)
        }
        None => {
            let Some(text) = context.long_text(text, &[]) else { return NOT_READ };
            context.arena.clear_stop_bit_at(context.arena.end() as usize - 1);
            text
        }
    };
    Long { value: text.word(), len: wire.len() }
}

/// Returns the bytes of an ascii string on the wire.
fn stop_bit_bytes(bytes: &[u8], max: usize) -> Option<&[u8]> {
    let last = first_stop(bytes)?;
    if last >= max && last > 0 {
        return None;
    }
    bytes.get(..=last)
}

/// Returns the bytes of an ascii string, the last with its stop bit; the inner `None` is NULL.
fn ascii_of<const NULLABLE: bool>(wire: &[u8]) -> Option<Option<&[u8]>> {
    if wire.first().is_some_and(|first| first & !STOP != 0) {
        return Some(Some(wire));
    }
    // The number of zeros before the last byte distinguishes NULL, empty and NUL; others are R9.
    let zeros = wire.iter().take_while(|&&byte| byte & !STOP == 0).count();
    if zeros != wire.len() {
        return None;
    }
    match zeros - usize::from(NULLABLE) {
        0 => Some(None),
        1 => Some(Some(&[])),
        2 => Some(wire.get(wire.len() - 1..)),
        _ => None,
    }
}

/// Reads a string for delta or tail, as on the wire: an ascii string ends with its stop bit. The
/// inner `None` is NULL.
#[inline(always)]
fn part_on_wire<'b, const NULLABLE: bool>(
    cursor: &mut InputCursor<'b>,
    charset: Charset,
    context: &mut CodingContext,
) -> Option<Option<&'b [u8]>> {
    if charset == Charset::Ascii {
        let wire = stop_bit_bytes(cursor.ahead.rest(), context.string_max)?;
        cursor.ahead.skip(wire.len())?;
        return ascii_of::<NULLABLE>(wire);
    }
    match cursor.text_len::<NULLABLE>(context)? {
        Some(len) if len > context.string_max as u64 => None,
        Some(len) => cursor.raw(len as usize).map(Some),
        None => Some(None),
    }
}

/// Returns up to eight bytes as a word, the first in the lowest bits.
#[inline(always)]
fn word_of(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        // Four to eight bytes: the two halves may overlap.
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (len - 4));
    }
    match *bytes {
        [] => 0,
        [first] => u64::from(first),
        [first, second] => u64::from(first) | u64::from(second) << 8,
        [first, second, third, ..] => {
            u64::from(first) | u64::from(second) << 8 | u64::from(third) << 16
        }
    }
}

/// Two strings to be concatenated.
#[derive(Clone, Copy)]
struct SplicedText<'j> {
    front: &'j [u8],
    back: &'j [u8],
    /// True if the part from the stream is in front. If ascii, that part ends with a stop bit.
    is_wire_in_front: bool,
}

impl SplicedText<'_> {
    /// Returns the concatenation, in the arena if long; `None` beyond a limit, or if invalid for
    /// its charset.
    #[inline]
    fn text(self, charset: Charset, context: &mut CodingContext) -> Option<TextValue> {
        let Self { front, back, is_wire_in_front } = self;
        let len = front.len() + back.len();
        if len > context.string_max {
            return None;
        }
        let end = if is_wire_in_front { front.len() } else { len };
        let is_short = len <= INLINE_MAX;
        let (text, start) = if is_short {
            // The first part has at most seven bytes, so the shift is below 64.
            let word = word_of(front)
                | if back.is_empty() { 0 } else { word_of(back) << (8 * front.len()) };
            (TextValue::of_ascii(word, len), 0)
        } else {
            (context.long_text(front, back)?, context.arena.end() as usize - len)
        };
        if charset != Charset::Ascii {
            let bytes = text.bytes(context.arena.strings());
            return check(charset, bytes).map(|()| text);
        }
        // Clear the stop bit.
        let Some(last) = end.checked_sub(1) else { return Some(text) };
        if is_short {
            return Some(TextValue::from_word(text.word() & !(u64::from(STOP) << (8 * last))));
        }
        context.arena.clear_stop_bit_at(start + last);
        Some(text)
    }
}

impl<const WORDS: usize, const MASKS: usize, const TAGS: usize> ModuleState<WORDS, MASKS, TAGS> {
    /// Assigns a string of the stream to the entry.
    #[inline(always)]
    pub fn assign_text<P: Past>(
        &mut self,
        slot: StateSlot,
        text: TextValue,
        context: &CodingContext,
    ) -> TextValue {
        if text.is_short() {
            self.assign::<P>(slot, text.word());
        } else {
            self.assign_outside(slot, text, context);
        }
        text
    }

    /// Assigns a string of the arena to the entry.
    #[inline(never)]
    fn assign_outside(&mut self, slot: StateSlot, text: TextValue, context: &CodingContext) {
        let (start, len) = place_of(text.0);
        match context.arena.value(start) {
            Some(value) if len <= VALUE => self.assign_value(slot, value, len),
            _ => self.assign_long(slot, text.bytes(context.arena.strings())),
        }
    }

    /// As [`assign_text`](Self::assign_text); NULL empties the entry.
    #[inline(always)]
    pub fn assign_text_or_empty<P: Past>(
        &mut self,
        slot: StateSlot,
        text: Option<TextValue>,
        context: &CodingContext,
    ) -> Option<TextValue> {
        match text {
            Some(text) => Some(self.assign_text::<P>(slot, text, context)),
            None => {
                self.set_empty(slot);
                None
            }
        }
    }

    /// Returns the previous string of an assigned entry.
    #[inline(always)]
    fn previous_text(&self, slot: StateSlot, context: &mut CodingContext) -> Option<TextValue> {
        let text = TextValue::from_word(self.word(slot));
        if text.is_short() {
            return Some(text);
        }
        self.previous_long(slot, context).map(TextValue::from_word)
    }

    #[inline(never)]
    fn previous_long(&self, slot: StateSlot, context: &mut CodingContext) -> Option<u64> {
        let long = self.long(slot)?;
        if let Some((value, len)) = long.piece()
            && let Some(text) = context.pushed_text(len, |arena| arena.push_value(value, len))
        {
            return Some(text.word());
        }
        seldom();
        context.long_text(long.bytes(), &[]).map(TextValue::word)
    }

    /// Decodes copy and tail without a value in the stream: the previous value, or the initial value,
    /// which is then assigned. The inner `None` is absent and empties the entry.
    #[inline(always)]
    pub fn copied_text<P: Past>(
        &mut self,
        slot: StateSlot,
        initial: Option<&[u8]>,
        context: &mut CodingContext,
    ) -> Option<Option<TextValue>> {
        if self.is_assigned::<P>(slot) {
            return self.previous_text(slot, context).map(Some);
        }
        self.initial_text::<P>(slot, initial, context)
    }

    fn initial_text<P: Past>(
        &mut self,
        slot: StateSlot,
        initial: Option<&[u8]>,
        context: &mut CodingContext,
    ) -> Option<Option<TextValue>> {
        match initial {
            Some(initial) if P::IS_FRESH || self.entry_state(slot) == EntryState::Undefined => {
                let text = context.text(initial)?;
                Some(Some(self.assign_text::<P>(slot, text, context)))
            }
            _ => {
                self.set_empty(slot);
                Some(None)
            }
        }
    }

    /// Decodes the delta of an ascii string, if its previous value is long; `None`, without changes,
    /// if it is not, or the encoding is rare.
    #[inline(always)]
    fn delta_of_long<const NULLABLE: bool, K: CpuKernel>(
        &mut self,
        slot: StateSlot,
        cursor: &mut InputCursor<'_, K>,
        context: &mut CodingContext,
    ) -> Option<TextValue> {
        if !self.is_assigned::<Unknown>(slot) || self.word(slot) != LONG {
            return None;
        }
        let (values, message) = self.long_values(slot)?;
        let long = spliced::<NULLABLE>(cursor.ahead.rest(), values, message, context);
        cursor.take_long(long).map(TextValue::from_word)
    }

    /// Decodes the delta of a string; the inner `None` is NULL.
    ///
    /// Spec: FAST 1.1 §6.3.7.3, §6.3.7.4.
    #[inline(always)]
    pub fn delta_text<const NULLABLE: bool, K: CpuKernel>(
        &mut self,
        slot: StateSlot,
        charset: Charset,
        initial: &[u8],
        cursor: &mut InputCursor<'_, K>,
        context: &mut CodingContext,
    ) -> Option<Option<TextValue>> {
        if NULLABLE && cursor.take_null() {
            return Some(None);
        }
        if charset == Charset::Ascii
            && let Some(text) = self.delta_of_long::<NULLABLE, K>(slot, cursor, context)
        {
            return Some(Some(text));
        }
        seldom();
        let mut at = cursor.portable();
        let word = self.delta_text_out::<NULLABLE>(slot, charset, initial, &mut at, context)?;
        *cursor = at.like(cursor);
        Some(word.map(TextValue::from_word))
    }

    #[inline(never)]
    fn delta_text_out<const NULLABLE: bool>(
        &mut self,
        slot: StateSlot,
        charset: Charset,
        initial: &[u8],
        cursor: &mut InputCursor<'_>,
        context: &mut CodingContext,
    ) -> Option<Option<u64>> {
        let Some(subtraction) = cursor.delta::<NULLABLE>(context)? else { return Some(None) };
        let subtraction = i32::try_from(subtraction).ok()?;
        let wire = part_on_wire::<false>(cursor, charset, context)??;
        let previous = self.text_base(slot, initial)?;
        // Negative lengths cut in front: -1 cuts nothing, -2 one byte.
        let cut = if subtraction < 0 { !subtraction } else { subtraction } as usize;
        let kept = previous.len().checked_sub(cut)?;
        let joined = match subtraction < 0 {
            true => SplicedText { front: wire, back: previous.get(cut..)?, is_wire_in_front: true },
            false => {
                SplicedText { front: previous.get(..kept)?, back: wire, is_wire_in_front: false }
            }
        };
        let text = joined.text(charset, context)?;
        Some(Some(self.assign_text::<Unknown>(slot, text, context).word()))
    }

    /// Decodes the tail of a string that is in the stream; the inner `None` is NULL.
    ///
    /// Spec: FAST 1.1 §6.3.8.
    #[inline(always)]
    pub fn tail_text<const NULLABLE: bool, K: CpuKernel>(
        &mut self,
        slot: StateSlot,
        charset: Charset,
        initial: &[u8],
        cursor: &mut InputCursor<'_, K>,
        context: &mut CodingContext,
    ) -> Option<Option<TextValue>> {
        let mut at = cursor.portable();
        let word = self.tail_text_out::<NULLABLE>(slot, charset, initial, &mut at, context)?;
        *cursor = at.like(cursor);
        Some(word.map(TextValue::from_word))
    }

    #[inline(never)]
    fn tail_text_out<const NULLABLE: bool>(
        &mut self,
        slot: StateSlot,
        charset: Charset,
        initial: &[u8],
        cursor: &mut InputCursor<'_>,
        context: &mut CodingContext,
    ) -> Option<Option<u64>> {
        let Some(wire) = part_on_wire::<NULLABLE>(cursor, charset, context)? else {
            self.set_empty(slot);
            return Some(None);
        };
        let previous = self.tail_base(slot, initial);
        let kept = previous.len().saturating_sub(wire.len());
        let joined =
            SplicedText { front: previous.get(..kept)?, back: wire, is_wire_in_front: false };
        let text = joined.text(charset, context)?;
        Some(Some(self.assign_text::<Unknown>(slot, text, context).word()))
    }
}
