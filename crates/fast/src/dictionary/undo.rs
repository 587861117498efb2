//! Saving entries before a message and restoring them if compiled code bails out; access of machine
//! code to a dictionary.

use super::{DictionaryEntries, DictionaryEntry, Home, TextUndo, Word, short_bytes};
use std::mem::offset_of;

/// Bytes of a [`DictionaryEntry`]; machine code copies it as one vector.
pub(crate) const ENTRY_BYTES: usize = size_of::<DictionaryEntry>();
const _: () = assert!(ENTRY_BYTES == 16);

/// Offsets in bytes of the parts of an [`DictionaryEntry`], for machine code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryParts {
    pub(crate) word: usize,
    pub(crate) exponent: usize,
    pub(crate) stamp: usize,
}

pub(crate) const ENTRY_PARTS: EntryParts = EntryParts {
    word: offset_of!(DictionaryEntry, word),
    exponent: offset_of!(DictionaryEntry, exponent),
    stamp: offset_of!(DictionaryEntry, stamp),
};

/// The parts of a dictionary that machine code and its helper functions access.
#[derive(Debug)]
pub(crate) struct DictionaryAccess<'d> {
    pub(crate) entries: *mut [DictionaryEntry],
    pub(crate) homes: *mut [Home],
    pub(crate) texts: &'d mut [Vec<u8>],
    pub(crate) tags: *mut u8,
    /// Where machine code saves the entries that it may change.
    pub(crate) saved: &'d mut [DictionaryEntry],
    pub(crate) undo: &'d mut TextUndo,
    pub(crate) epoch: u32,
}

/// Saved entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    entries: Vec<DictionaryEntry>,
    tags: Vec<u8>,
    texts: TextUndo,
}

impl DictionaryEntry {
    /// Returns the string of an assigned entry, if it is stored in the word.
    pub(crate) fn inline(&self) -> Option<&[u8]> {
        short_bytes(&self.word)
    }

    pub(crate) fn assign(&mut self, word: Word, epoch: u32) {
        *self = Self { word, exponent: 0, stamp: epoch };
    }

    pub(crate) fn set_empty(&mut self, epoch: u32) {
        self.stamp = epoch + 1;
    }
}

impl DictionaryEntries {
    /// True if nothing was decoded since the last reset: every entry is undefined.
    #[inline]
    pub(crate) fn is_unused(&self) -> bool {
        self.last_template.is_none() && self.set_in != self.epoch
    }

    /// Returns the parts of the dictionary that machine code accesses.
    #[inline]
    pub(crate) fn parts(&mut self) -> DictionaryAccess<'_> {
        DictionaryAccess {
            entries: self.entries.as_mut_slice(),
            homes: self.homes.homes.as_mut_slice(),
            texts: &mut self.texts,
            tags: self.tags.as_mut_ptr(),
            saved: &mut self.undo.entries,
            undo: &mut self.undo.texts,
            epoch: self.epoch,
        }
    }

    /// Prepares [`put_back`](Self::put_back): makes room for `saved` entries, which machine code saves
    /// itself, and saves the tags of the `tagged` ones.
    #[inline(always)]
    pub(crate) fn keep(&mut self, saved: usize, tagged: &[u32]) {
        let Undo { entries, tags, texts } = &mut self.undo;
        if entries.len() < saved {
            entries.resize(saved, DictionaryEntry::default());
        }
        if !self.texts.is_empty() {
            texts.begin(self.texts.len());
        }
        if !tagged.is_empty() {
            tags.clear();
            tags.extend(tagged.iter().map(|&entry| self.tags[entry as usize]));
        }
    }

    /// Restores these entries, which machine code has saved in this order, and the tags of some.
    pub(crate) fn put_back(&mut self, saved: &[u32], tagged: &[u32]) {
        let Undo { entries, tags, texts } = &mut self.undo;
        for (&entry, before) in saved.iter().zip(entries) {
            self.entries[entry as usize] = *before;
        }
        for (&entry, before) in tagged.iter().zip(tags) {
            self.tags[entry as usize] = *before;
        }
        texts.put_back(&mut self.texts);
    }
}
