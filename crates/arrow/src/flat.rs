//! Rows of flat tables, collected in blocks and transposed to columns.

use tickwire_fast::{ColumnBlock, Entries, Message, Repeated, Slot};

use crate::builder::{Cells, Unfitting};
use crate::strings::BYTES_MAX;
use crate::table::{ColumnKind, Constant, NestedNode, SequenceNode, TemplateTable};
use crate::values::RowSpread;

/// Longest string that [`Message::long_string_bytes`] does not count, bytes.
const SHORT_STRING: usize = 7;

const FITS: &str = "there is room for the strings of what waits, and all else fits";

/// Plan of a flat table: its template has at most one sequence, and every value fits its column. A row is one
/// entry (one row for a message without entries), or one message. The only error is a batch with too many
/// bytes of strings.
///
/// The messages' own fields and the entries are collected in one block each. When a block is full, each
/// column takes its values from the block in one loop.
pub(crate) struct FlatTable {
    roots: ColumnBlock,
    /// Rows of each message in `roots`.
    counts: Vec<u32>,
    /// Columns of the messages' own fields.
    columns: Vec<usize>,
    sequence: Option<FlatSequence>,
    /// Upper bound of the bytes of any string column in this batch.
    string_bytes: usize,
}

/// The sequence. Its columns are the table's last ones.
struct FlatSequence {
    slot: Slot<Repeated>,
    /// Column of entry indexes.
    index: usize,
    columns: Vec<usize>,
    entries: ColumnBlock,
}

impl FlatTable {
    /// Returns the plan; `None` if rows depend on more than the number of entries, or if a value may not fit.
    pub(crate) fn of(table: &TemplateTable) -> Option<Self> {
        let program = &table.program;
        let sequence = match &*table.root.inner {
            [] => None,
            [NestedNode::Sequence(sequence)] if is_last(sequence, table) => Some(FlatSequence {
                slot: sequence.slot,
                index: sequence.entry,
                columns: sequence.node.columns.clone(),
                entries: ColumnBlock::of(program, sequence.slot.entries()),
            }),
            _ => return None,
        };
        let roots = ColumnBlock::of(program, program.templates()[table.template].segment);
        let counts = Vec::with_capacity(ColumnBlock::RECORDS_MAX);
        let columns = table.root.columns.clone();
        let flat = Self { roots, counts, columns, sequence, string_bytes: 0 };
        table.kinds.iter().all(fits_always).then_some(flat)
    }

    /// Adds a message to the blocks and returns its number of rows.
    ///
    /// # Errors
    /// A string column is full. Columns may then hold some rows of this message; the rows of earlier messages
    /// are complete.
    pub(crate) fn push(
        &mut self,
        cells: &mut Cells,
        message: &Message,
    ) -> Result<usize, Unfitting> {
        let root = message.root();
        let entries = self.sequence.as_ref().and_then(|sequence| root.read(&sequence.slot));
        let entries = entries.filter(|entries| !entries.is_empty());
        let rows = entries.map_or(1, |entries| entries.len());
        let longest = message.long_string_bytes().max(SHORT_STRING);
        self.string_bytes = self.string_bytes.saturating_add(longest.saturating_mul(rows));
        let has_room = self.string_bytes <= BYTES_MAX;
        if self.roots.is_full() {
            self.append_roots(cells).expect(FITS);
        }
        if !has_room {
            // The strings of this message may exceed the limit. Those of the messages in the blocks
            // fit: append them first.
            self.append_waiting(cells).expect(FITS);
        }
        // A message has fewer than 2^32 entries.
        self.counts.push(rows as u32);
        self.roots.push(&root);
        let waits = match entries {
            Some(entries) => self.wait(cells, &entries),
            None => self.wait_absent(cells),
        };
        if has_room {
            waits.expect(FITS);
            return Ok(rows);
        }
        let appended = waits.and_then(|()| self.append_waiting(cells));
        if appended.is_err() {
            self.clear();
        }
        appended.map(|()| rows)
    }

    /// Adds entries to their block.
    fn wait(&mut self, cells: &mut Cells, entries: &Entries<'_>) -> Result<(), Unfitting> {
        let Some(sequence) = &mut self.sequence else { return Ok(()) };
        let mut from = 0;
        while from < entries.len() {
            if sequence.entries.is_full() {
                sequence.append(cells)?;
            }
            from += sequence.entries.push_entries(entries, from);
        }
        cells.entry(sequence.index).append_up_to(entries.len());
        Ok(())
    }

    /// Adds a row without an entry, if the table has a sequence.
    fn wait_absent(&mut self, cells: &mut Cells) -> Result<(), Unfitting> {
        let Some(sequence) = &mut self.sequence else { return Ok(()) };
        if sequence.entries.is_full() {
            sequence.append(cells)?;
        }
        sequence.entries.push_absent();
        cells.entry(sequence.index).append(None, 1);
        Ok(())
    }

    /// Appends the blocks' records to the columns.
    fn append_waiting(&mut self, cells: &mut Cells) -> Result<(), Unfitting> {
        self.append_roots(cells)?;
        self.sequence.as_mut().map_or(Ok(()), |sequence| sequence.append(cells))
    }

    fn append_roots(&mut self, cells: &mut Cells) -> Result<(), Unfitting> {
        let spread = RowSpread::of(&self.counts);
        append(cells, &self.columns, &mut self.roots, &spread)?;
        self.roots.clear();
        self.counts.clear();
        Ok(())
    }

    /// Discards the blocks' records.
    fn clear(&mut self) {
        self.roots.clear();
        self.counts.clear();
        if let Some(sequence) = &mut self.sequence {
            sequence.entries.clear();
        }
    }

    /// Appends the blocks' records to the columns and starts a new batch.
    pub(crate) fn begin_batch(&mut self, cells: &mut Cells) {
        self.append_waiting(cells).expect(FITS);
        self.string_bytes = 0;
    }
}

impl FlatSequence {
    fn append(&mut self, cells: &mut Cells) -> Result<(), Unfitting> {
        append(cells, &self.columns, &mut self.entries, &RowSpread::One)?;
        self.entries.clear();
        Ok(())
    }
}

/// Appends the values of a block to the columns.
fn append(
    cells: &mut Cells,
    columns: &[usize],
    block: &mut ColumnBlock,
    spread: &RowSpread<'_>,
) -> Result<(), Unfitting> {
    if block.is_empty() {
        return Ok(());
    }
    block.seal();
    for &column in columns {
        cells.field(column).append_block(block, spread).map_err(|why| (column, why))?;
    }
    Ok(())
}

/// True if the table has one row per entry of the sequence, and no columns after it.
fn is_last(sequence: &SequenceNode, table: &TemplateTable) -> bool {
    sequence.node.inner.is_empty() && sequence.all.end == table.kinds.len()
}

/// True if the column can hold every value that a decoder returns.
fn fits_always(kind: &ColumnKind) -> bool {
    match kind {
        ColumnKind::Boolean(_)
        | ColumnKind::Enum(..)
        | ColumnKind::Date(_)
        | ColumnKind::Unicode(_)
        | ColumnKind::Json(_) => false,
        ColumnKind::Constant(constant, _) => {
            !matches!(constant, Constant::Binary(_) | Constant::Boolean(_))
        }
        _ => true,
    }
}
