//! Functions that tree code calls: for strings that do not fit a word, byte vectors, deltas and
//! tails of strings.
//!
//! They have the contract of compiled code: on errors and rare cases they bail out of the message,
//! and the caller restores the dictionary.

use super::TreeCall;
use crate::decoder::lanes::{signed_at, unsigned_at};
use crate::dictionary::{DictionaryEntry, EntryState, LONG_WORD, TextUndo, Word, inline_word};
use crate::message::push_bytes;
use crate::program::{Op, Program, WireType};
use crate::template::OperatorKind;
use std::ptr::null;

const STOP: u8 = 0x80;

/// Description of a field for the helper functions.
#[derive(Debug)]
pub(super) struct TextField {
    field: u32,
    entry: u32,
    /// Text buffer of the dictionary entry.
    buffer: u32,
    wire: WireType,
    operator: OperatorKind,
    is_optional: bool,
    is_discarded: bool,
    initial: Box<[u8]>,
}

/// Buffers for the strings of a message, and their limits.
#[derive(Debug)]
pub(super) struct TreeTexts {
    /// End of the readable bytes.
    pub end: *const u8,
    pub entries: *mut [DictionaryEntry],
    pub buffers: *mut [Vec<u8>],
    /// Stamp of an assigned entry.
    pub epoch: u32,
    /// Saves overwritten long values of entries; null if nothing is to be restored.
    pub undo: *mut TextUndo,
    /// Long strings of the message.
    pub bytes: *mut Vec<u8>,
    /// Buffer to assemble a string.
    pub scratch: *mut Vec<u8>,
    pub bytes_max: usize,
    pub string_max: usize,
    /// Remaining bytes of long strings that the message may have.
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
            operator: op.operator,
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

/// Reads a string field with any operator to a word of the record.
///
/// # Safety
/// `call` is that of the calling code; its pointers are valid and not in use elsewhere. `field` is
/// one of its fields. `start` is at or before `call.texts.end`, and the bytes between are readable.
/// `out` is writable.
pub(super) unsafe extern "sysv64" fn read_text(
    call: *mut TreeCall,
    field: *const TextField,
    start: *const u8,
    out: *mut Word,
) -> TextEnd {
    // SAFETY: as promised.
    let (texts, field) = unsafe { (&mut (*call).texts, &*field) };
    // SAFETY: likewise.
    let (stream, mut parts) = unsafe {
        let len = (texts.end as usize).saturating_sub(start as usize);
        (std::slice::from_raw_parts(start, len), TextAccess::of(texts))
    };
    match parts.read(field, stream) {
        Some((len, word)) => {
            if let Some(word) = word {
                // SAFETY: likewise.
                unsafe { *out = word };
            }
            TextEnd { end: start.wrapping_add(len), is_present: u64::from(word.is_some()) }
        }
        None => TextEnd { end: null(), is_present: 0 },
    }
}

/// Copies the value of an entry, which is a long string, to a word of the record; returns 0 to bail
/// out.
///
/// # Safety
/// As for [`read_text`]; the entry is assigned.
pub(super) unsafe extern "sysv64" fn copy_text(
    call: *mut TreeCall,
    field: *const TextField,
    out: *mut Word,
) -> u64 {
    // SAFETY: as promised.
    let (mut parts, field) = unsafe { (TextAccess::of(&mut (*call).texts), &*field) };
    let Some(word) = parts.copied(field) else { return 0 };
    // SAFETY: likewise.
    unsafe { *out = word };
    1
}

/// [`TreeTexts`] with its pointers followed.
struct TextAccess<'t> {
    entries: &'t mut [DictionaryEntry],
    buffers: &'t mut [Vec<u8>],
    epoch: u32,
    undo: Option<&'t mut TextUndo>,
    bytes: &'t mut Vec<u8>,
    scratch: &'t mut Vec<u8>,
    bytes_max: usize,
    string_max: usize,
    left: &'t mut usize,
}

impl<'t> TextAccess<'t> {
    /// # Safety
    /// The pointers are valid, and nothing else accesses their targets during the lifetime of the
    /// result.
    unsafe fn of(texts: &'t mut TreeTexts) -> Self {
        // SAFETY: as promised.
        unsafe {
            Self {
                entries: &mut *texts.entries,
                buffers: &mut *texts.buffers,
                epoch: texts.epoch,
                undo: texts.undo.as_mut(),
                bytes: &mut *texts.bytes,
                scratch: &mut *texts.scratch,
                bytes_max: texts.bytes_max,
                string_max: texts.string_max,
                left: &mut texts.left,
            }
        }
    }

    /// Reads the string at the front of `stream`. Returns its length on the wire in bytes, and its
    /// word (`None` if it is absent); `None` to bail out.
    fn read(&mut self, field: &TextField, stream: &[u8]) -> Option<(usize, Option<Word>)> {
        let mut scratch = std::mem::take(self.scratch);
        let read = self.read_with(&mut scratch, field, stream);
        *self.scratch = scratch;
        read
    }

    fn read_with(
        &mut self,
        scratch: &mut Vec<u8>,
        field: &TextField,
        stream: &[u8],
    ) -> Option<(usize, Option<Word>)> {
        use OperatorKind as K;
        let mut at = 0;
        let mut cut = None;
        if field.operator == K::Delta {
            match signed_at(stream, &mut at)? {
                0 if field.is_optional => return Some((at, None)),
                length => {
                    let length = length - i64::from(field.is_optional && length > 0);
                    cut = Some(i32::try_from(length).ok()?);
                }
            }
        }
        let is_nullable = field.is_optional && cut.is_none();
        let Some(value) = self.value(field, stream, &mut at, is_nullable)? else {
            if matches!(field.operator, K::Copy | K::Tail) {
                self.entries.get_mut(field.entry as usize)?.set_empty(self.epoch);
            }
            return Some((at, None));
        };
        // Parts of the previous value before and after the transmitted string.
        let (front, back): (&[u8], &[u8]) = match (field.operator, cut) {
            (K::Tail, _) => {
                let previous = self.previous(field, true)?;
                (&previous[..previous.len().saturating_sub(value.len())], &[])
            }
            // Negative lengths cut in front: -1 cuts nothing, -2 one byte.
            (K::Delta, Some(cut @ ..0)) => {
                (&[], self.previous(field, false)?.get(!cut as usize..)?)
            }
            (K::Delta, Some(cut)) => {
                let previous = self.previous(field, false)?;
                (&previous[..previous.len().checked_sub(cut as usize)?], &[])
            }
            _ => (&[], &[]),
        };
        scratch.clear();
        scratch.extend_from_slice(front);
        scratch.extend_from_slice(value);
        clear_stop(field, value, scratch);
        scratch.extend_from_slice(back);
        Some((at, Some(self.keep(field, scratch)?)))
    }

    /// Reads the value at `at`: an ascii string ends with its stop bit. The inner `None` is NULL.
    fn value<'s>(
        &self,
        field: &TextField,
        stream: &'s [u8],
        at: &mut usize,
        is_nullable: bool,
    ) -> Option<Option<&'s [u8]>> {
        if field.wire == WireType::Ascii {
            return self.ascii(stream, at, is_nullable);
        }
        let len = unsigned_at(stream, at)?;
        if len == 0 && is_nullable {
            return Some(None);
        }
        let len = usize::try_from(len - u64::from(is_nullable)).ok()?;
        let value = stream.get(*at..at.checked_add(len)?)?;
        *at += len;
        (len <= self.string_max).then_some(Some(value))
    }

    fn ascii<'s>(
        &self,
        stream: &'s [u8],
        at: &mut usize,
        is_nullable: bool,
    ) -> Option<Option<&'s [u8]>> {
        let rest = stream.get(*at..)?;
        let last = rest.iter().position(|&byte| byte & STOP != 0)?;
        let value = &rest[..=last];
        *at += value.len();
        match value {
            [STOP] if is_nullable => return Some(None),
            [STOP] => return Some(Some(&[])),
            [0, STOP] if is_nullable => return Some(Some(&[])),
            [0 | STOP, ..] => return None,
            _ => {}
        }
        (value.len() <= self.string_max).then_some(Some(value))
    }

    /// Returns the previous value, or the initial value in its place.
    fn previous<'s>(&'s self, field: &'s TextField, takes_empty: bool) -> Option<&'s [u8]> {
        let entry = self.entries.get(field.entry as usize)?;
        match entry.state(self.epoch) {
            EntryState::Assigned => match entry.inline() {
                Some(bytes) => Some(bytes),
                None => Some(self.buffers.get(field.buffer as usize)?),
            },
            EntryState::Empty if !takes_empty => None,
            _ => Some(&field.initial),
        }
    }

    /// Checks a value, stores it in the dictionary if the operator requires that, and in the
    /// message.
    fn keep(&mut self, field: &TextField, value: &[u8]) -> Option<Word> {
        if value.len() > self.string_max
            || field.wire == WireType::Unicode && std::str::from_utf8(value).is_err()
        {
            return None;
        }
        let is_stored = !matches!(field.operator, OperatorKind::None | OperatorKind::Default);
        let entry = self.entries.get_mut(field.entry as usize).filter(|_| is_stored);
        if let Some(word) = inline_word(value) {
            if let Some(entry) = entry {
                entry.assign(word, self.epoch);
            }
            return Some(word);
        }
        *self.left = self.left.checked_sub(value.len())?;
        if let Some(entry) = entry {
            let buffer = self.buffers.get_mut(field.buffer as usize)?;
            if let Some(undo) = &mut self.undo {
                undo.note(field.buffer, buffer);
            }
            buffer.clear();
            buffer.extend_from_slice(value);
            entry.assign(LONG_WORD, self.epoch);
        }
        self.put(field, value)
    }

    /// Stores a long string in the message.
    fn put(&mut self, field: &TextField, value: &[u8]) -> Option<Word> {
        match field.is_discarded {
            true => Some([0; 8]),
            false => push_bytes(self.bytes, value, self.bytes_max).ok(),
        }
    }

    /// Copies the long value of an entry to the message.
    fn copied(&mut self, field: &TextField) -> Option<Word> {
        let value = std::mem::take(self.buffers.get_mut(field.buffer as usize)?);
        let word = match self.left.checked_sub(value.len()) {
            Some(left) => {
                *self.left = left;
                self.put(field, &value)
            }
            None => None,
        };
        self.buffers[field.buffer as usize] = value;
        word
    }
}

/// Clears the stop bit of an ascii string at the end of `text`.
fn clear_stop(field: &TextField, value: &[u8], text: &mut [u8]) {
    if field.wire == WireType::Ascii
        && !value.is_empty()
        && let Some(last) = text.last_mut()
    {
        *last &= !STOP;
    }
}
