//! Saving entries before a message and restoring them if compiled code bails out; access of machine
//! code to a dictionary.

use super::{DictionaryEntries, TextUndo, Word};

/// Bytes that machine code saves at once, and the words and stamps in them.
type SavedGroup = [u8; 16];
const WORDS: usize = 2;
const STAMPS: usize = 4;

/// The parts of a dictionary that machine code and its helper functions access.
#[derive(Debug)]
pub(crate) struct DictionaryAccess<'d> {
    pub(crate) words: *mut [Word],
    pub(crate) stamps: *mut [u32],
    pub(crate) texts: &'d mut [Vec<u8>],
    pub(crate) tags: *mut u8,
    /// Where machine code saves groups of words, then of stamps, of entries that it may change.
    pub(crate) saved: *mut SavedGroup,
    pub(crate) undo: &'d mut TextUndo,
    pub(crate) epoch: u32,
}

/// What is saved of the entries that a message may change. Words and stamps are saved in groups, which may
/// contain other entries.
#[derive(Clone, Debug)]
pub(crate) struct EntryBackup {
    /// Groups of [`WORDS`] words.
    pub(crate) words: Vec<u32>,
    /// Groups of [`STAMPS`] stamps.
    pub(crate) stamps: Vec<u32>,
    /// Entries with a type tag.
    pub(crate) tagged: Vec<u32>,
}

impl EntryBackup {
    /// Returns what is saved of these entries, which are in order.
    pub(crate) fn of(entries: &[u32], tagged: Vec<u32>) -> Self {
        let groups = |size: usize| {
            let mut groups: Vec<u32> = entries.iter().map(|entry| entry / size as u32).collect();
            groups.dedup();
            groups
        };
        Self { words: groups(WORDS), stamps: groups(STAMPS), tagged }
    }

    #[inline(always)]
    fn groups(&self) -> usize {
        self.words.len() + self.stamps.len()
    }
}

/// Saved entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// Words, then stamps.
    groups: Vec<SavedGroup>,
    tags: Vec<u8>,
    texts: TextUndo,
}

impl DictionaryEntries {
    /// Returns values and stamps of all entries, equally many.
    #[inline(always)]
    pub(crate) fn values(&mut self) -> (&mut [Word], &mut [u32]) {
        (&mut self.words, &mut self.stamps)
    }

    /// Returns the parts of the dictionary that machine code accesses.
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> DictionaryAccess<'_> {
        let Undo { groups, texts, .. } = &mut self.undo;
        DictionaryAccess {
            words: self.words.as_mut_slice(),
            stamps: self.stamps.as_mut_slice(),
            texts: &mut self.texts,
            tags: self.tags.as_mut_ptr(),
            saved: groups.as_mut_ptr(),
            undo: texts,
            epoch: self.epoch,
        }
    }

    /// Prepares [`put_back`](Self::put_back): makes room for the entries that machine code saves itself, and
    /// saves type tags.
    #[inline(always)]
    pub(crate) fn keep(&mut self, saved: &EntryBackup) {
        let Undo { groups, tags, texts } = &mut self.undo;
        if groups.len() < saved.groups() {
            groups.resize(saved.groups(), SavedGroup::default());
        }
        if !self.texts.is_empty() {
            texts.begin(self.texts.len());
        }
        if !saved.tagged.is_empty() {
            tags.clear();
            tags.extend(saved.tagged.iter().map(|&entry| self.tags[entry as usize]));
        }
    }

    /// As [`keep`](Self::keep), and saves the entries as machine code does.
    #[cfg(test)]
    pub(crate) fn save(&mut self, saved: &EntryBackup) {
        self.keep(saved);
        let words = saved.words.iter().map(|&group| {
            let first = WORDS * group as usize;
            self.words[first..first + WORDS].concat()
        });
        let stamps = saved.stamps.iter().map(|&group| {
            let first = STAMPS * group as usize;
            self.stamps[first..first + STAMPS]
                .iter()
                .flat_map(|stamp| stamp.to_ne_bytes())
                .collect()
        });
        for (to, bytes) in self.undo.groups.iter_mut().zip(words.chain(stamps)) {
            to.copy_from_slice(&bytes);
        }
    }

    /// Restores these entries, which machine code has saved in this order, and type tags.
    pub(crate) fn put_back(&mut self, saved: &EntryBackup) {
        let Undo { groups, tags, texts } = &mut self.undo;
        for (&group, before) in saved.words.iter().zip(&*groups) {
            let first = WORDS * group as usize;
            self.words[first..first + WORDS].copy_from_slice(before.as_chunks().0);
        }
        for (&group, before) in saved.stamps.iter().zip(&groups[saved.words.len()..]) {
            let first = STAMPS * group as usize;
            for (stamp, before) in self.stamps[first..].iter_mut().zip(before.as_chunks().0) {
                *stamp = u32::from_ne_bytes(*before);
            }
        }
        for (&entry, before) in saved.tagged.iter().zip(tags) {
            self.tags[entry as usize] = *before;
        }
        texts.put_back(&mut self.texts);
    }
}
