//! Messages that wait for their columns, so that a column takes the values of many of them at once.

use tickwire_fast::{Entries, EntryBuffer, Message, Record, Repeated, Slot};

use crate::column::BYTES_MAX;
use crate::table::{Constant, Inner, Kind, SequenceNode, Table};

/// Messages that wait at most: they and their columns stay in a CPU's cache.
const MESSAGES_MAX: usize = 256;
/// Longest string that is not among [`Message::long_string_bytes`].
const SHORT_STRING: usize = 7;

/// Messages of a flat table: a row an entry of its only sequence, one at least, or a row a message. Each of
/// their values has a place in its column.
pub(crate) struct Staged {
    /// The first `len` wait; the memory of the others is used again.
    messages: Vec<(Message, usize)>,
    len: usize,
    /// Where the sequence is, whose columns are the last ones, and copies of its entries.
    sequence: Option<(Slot<Repeated>, EntryBuffer)>,
    /// Bytes that a column of strings may have in this batch, at most.
    string_bytes: usize,
}

impl Staged {
    /// `None` where a row's place depends on more than the number of entries, or a value may not fit.
    pub(crate) fn of(table: &Table) -> Option<Self> {
        let sequence = match &*table.root.inner {
            [] => None,
            [Inner::Sequence(sequence)] if is_last(sequence, table) => {
                Some((sequence.slot, EntryBuffer::of(&table.program, &sequence.slot)?))
            }
            _ => return None,
        };
        let staged = Self { messages: Vec::new(), len: 0, sequence, string_bytes: 0 };
        table.kinds.iter().all(fits_always).then_some(staged)
    }

    /// Takes a message and returns how many rows it has; `None` where its sequence has no entries, or its strings
    /// may be too many for the batch.
    pub(crate) fn take(&mut self, message: &Message) -> Option<usize> {
        let root = message.root();
        let entries = self.sequence.as_ref().and_then(|(slot, _)| root.read(slot));
        let rows = entries.map_or(1, |entries| entries.len());
        self.note(message, rows.max(1));
        if self.string_bytes > BYTES_MAX {
            return None;
        }
        if let Some((_, buffer)) = &mut self.sequence {
            buffer.push(&entries.filter(|entries| !entries.is_empty())?);
        }
        match self.messages.get_mut(self.len) {
            Some((free, its_rows)) => {
                free.clone_from(message);
                *its_rows = rows;
            }
            None => self.messages.push((message.clone(), rows)),
        }
        self.len += 1;
        Some(rows)
    }

    /// Counts the strings of a message that has so many rows.
    fn note(&mut self, message: &Message, rows: usize) {
        let longest = message.long_string_bytes().max(SHORT_STRING);
        self.string_bytes = self.string_bytes.saturating_add(longest.saturating_mul(rows));
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == MESSAGES_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The messages' own fields, with the number of their rows.
    pub(crate) fn roots(&self) -> impl Iterator<Item = (Record<'_>, usize)> {
        self.messages[..self.len].iter().map(|(message, rows)| (message.root(), *rows))
    }

    /// The entries of all messages.
    pub(crate) fn entries(&self) -> Option<Entries<'_>> {
        self.sequence.as_ref().map(|(_, buffer)| buffer.entries())
    }

    /// Forgets the messages.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        if let Some((_, buffer)) = &mut self.sequence {
            buffer.clear();
        }
    }

    /// A new batch begins.
    pub(crate) fn begin_batch(&mut self) {
        self.string_bytes = 0;
    }
}

/// Whether the rows of a sequence are its entries, and no columns come behind it.
fn is_last(sequence: &SequenceNode, table: &Table) -> bool {
    sequence.node.inner.is_empty() && sequence.all.end == table.kinds.len()
}

/// Whether each value that a decoder hands out has a place in the column.
fn fits_always(kind: &Kind) -> bool {
    match kind {
        Kind::Boolean(_) | Kind::Enum(..) | Kind::Date(_) | Kind::Unicode(_) | Kind::Json(_) => {
            false
        }
        Kind::Constant(constant, _) => !matches!(constant, Constant::Binary(_)),
        _ => true,
    }
}
