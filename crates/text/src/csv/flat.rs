//! Rows of templates with at most one sequence, no group and no reference, and one column per
//! field.
//!
//! Nearly all market data has this form. The layout of a row is then known in advance: constant
//! text, the cells of the message, which are written once and copied into all its rows, and the
//! cells of the entry.

use super::cell::{push_quoted, push_source, push_value};
use super::{CsvColumn, CsvColumns, CsvMessage, push_fixed};
use crate::Fields;
use crate::digits::push_unsigned;
use crate::literal::Literal;
use crate::source::FieldAccess;
use std::ops::Range;
use tickwire_fast::{Entries, FieldHandle, Program, Record, Repeated, SegmentRef, Slot, Storage};

/// The row layout of a template.
pub(super) struct FlatLayout {
    sequence: Option<Slot<Repeated>>,
    /// Runs of adjacent columns that the rows of a message share.
    shared: Vec<CellRun>,
    /// The row of an entry among several.
    row: CellRun,
    /// The row of the only entry of a message: no cell is copied.
    single: CellRun,
    /// The row of a message without entries.
    lone: CellRun,
}

/// A contiguous part of a row.
#[derive(Default)]
struct CellRun {
    parts: Vec<RowPart>,
    end: Literal,
}

/// A cell with the text before it.
struct RowPart {
    lead: Literal,
    cell: CsvCell,
}

#[derive(Clone, Copy)]
enum CsvCell {
    /// A column that precedes the fields.
    Fixed(CsvColumn),
    /// A field of the message.
    Field(FieldAccess),
    /// A field of the entry.
    EntryField(FieldAccess),
    /// The index of the entry.
    Entry,
    /// A run of columns that the rows of a message share, by index.
    Shared(usize),
}

/// The parts of a row, in order.
enum RowToken {
    Text(Vec<u8>),
    /// A cell that is equal in all rows of a message.
    OfMessage(CsvCell),
    OfEntry(CsvCell),
}

/// Text that all rows of a message share, one range per run of constant cells.
#[derive(Default)]
pub(super) struct SharedCells {
    text: Vec<u8>,
    runs: Vec<Range<usize>>,
}

impl FlatLayout {
    /// Returns the row layout of a template; `None` if the template does not have this form.
    pub(super) fn of(
        program: &Program,
        template: usize,
        columns: &CsvColumns,
        fixed: &[CsvColumn],
        fields: &Fields,
    ) -> Option<Self> {
        let root = program.templates()[template].segment;
        let mut cells = vec![None; columns.paths.len()];
        let mut sequence = None;
        for handle in shown(program, root, fields) {
            match program.fields_of(root)[handle.index].storage {
                Storage::Group(_) | Storage::Dynamic(_) => return None,
                Storage::Sequence { .. } => {
                    if sequence.replace(program.slot::<Repeated>(handle)?).is_some() {
                        return None;
                    }
                }
                _ => columns.take(program, handle, &mut cells)?,
            }
        }
        for handle in sequence.iter().flat_map(|slot| shown(program, slot.entries(), fields)) {
            match program.fields_of(handle.segment)[handle.index].storage {
                Storage::Group(_) | Storage::Dynamic(_) | Storage::Sequence { .. } => return None,
                _ => columns.take(program, handle, &mut cells)?,
            }
        }
        let tokens = |has_entry| tokens(program, template, fixed, &cells, has_entry);
        let lone = CellRun::of(tokens(false), &mut None);
        let mut shared = Some(Vec::new());
        let row = CellRun::of(tokens(true), &mut shared);
        let single = CellRun::of(tokens(true), &mut None);
        Some(Self { sequence, shared: shared.unwrap_or_default(), row, single, lone })
    }

    /// Appends the rows of a message, and calls `flush` whenever enough of them are buffered.
    pub(super) fn push<E>(
        &self,
        out: &mut Vec<u8>,
        origin: &CsvMessage<'_>,
        shared: &mut SharedCells,
        mut flush: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let root = origin.message.root();
        let entries = self.sequence.as_ref().and_then(|slot| root.read(slot));
        let Some(entries) = entries.filter(|entries: &Entries<'_>| !entries.is_empty()) else {
            self.lone.push(out, origin, root, None, shared);
            return flush(out);
        };
        if entries.len() == 1 {
            self.single.push(out, origin, root, entries.iter().enumerate().next(), shared);
            return flush(out);
        }
        shared.text.clear();
        shared.runs.clear();
        let mut text = std::mem::take(&mut shared.text);
        for run in &self.shared {
            let start = text.len();
            run.push(&mut text, origin, root, None, shared);
            shared.runs.push(start..text.len());
        }
        shared.text = text;
        for entry in entries.iter().enumerate() {
            self.row.push(out, origin, root, Some(entry), shared);
            flush(out)?;
        }
        Ok(())
    }
}

/// Returns the fields of a segment that may have a cell.
fn shown<'p>(
    program: &'p Program,
    segment: SegmentRef,
    fields: &'p Fields,
) -> impl Iterator<Item = FieldHandle> + 'p {
    let all = program.fields_of(segment).iter().enumerate();
    let shown = all.filter(move |&(index, field)| {
        field.storage != Storage::Discarded && fields.shows_in(program, segment, index)
    });
    shown.map(move |(index, _)| FieldHandle { segment, index })
}

impl CsvColumns {
    /// Assigns a column to a field; `None` if another field already has it.
    fn take(
        &self,
        program: &Program,
        handle: FieldHandle,
        cells: &mut [Option<FieldHandle>],
    ) -> Option<()> {
        match self.of_field(program.field_ref(handle)) {
            Some(column) => cells[column].replace(handle).is_none().then_some(()),
            None => Some(()),
        }
    }
}

fn tokens(
    program: &Program,
    template: usize,
    fixed: &[CsvColumn],
    cells: &[Option<FieldHandle>],
    has_entry: bool,
) -> Vec<RowToken> {
    let template = &program.templates()[template];
    let root = template.segment;
    let mut tokens = Vec::new();
    for &column in fixed {
        let mut text = Vec::new();
        match column {
            CsvColumn::Entry if has_entry => tokens.push(RowToken::OfEntry(CsvCell::Entry)),
            CsvColumn::Entry => {}
            CsvColumn::TemplateId => {
                template.id.iter().for_each(|id| push_unsigned(&mut text, id.0.into()));
                tokens.push(RowToken::Text(text));
            }
            CsvColumn::TemplateName => {
                push_quoted(&mut text, &template.name.local);
                tokens.push(RowToken::Text(text));
            }
            _ => tokens.push(RowToken::OfMessage(CsvCell::Fixed(column))),
        }
        tokens.push(RowToken::Text(b",".to_vec()));
    }
    for &cell in cells {
        tokens.extend(cell.and_then(|handle| token(program, root, handle, has_entry)));
        tokens.push(RowToken::Text(b",".to_vec()));
    }
    // The end of the row replaces the comma after the last cell.
    tokens.pop();
    tokens.push(RowToken::Text(b"\n".to_vec()));
    tokens
}

/// Returns the token of a field in a row; `None` if it is an entry's field and the row has no
/// entry.
fn token(
    program: &Program,
    root: SegmentRef,
    handle: FieldHandle,
    has_entry: bool,
) -> Option<RowToken> {
    let field = &program.fields_of(handle.segment)[handle.index];
    let is_of_message = handle.segment == root;
    if !is_of_message && !has_entry {
        return None;
    }
    if let (Storage::Constant(_), Some(value)) = (&field.storage, field.constant()) {
        let mut text = Vec::new();
        push_value(&mut text, field, value);
        return Some(RowToken::Text(text));
    }
    let source = FieldAccess::of(program, handle);
    Some(match is_of_message {
        true => RowToken::OfMessage(CsvCell::Field(source)),
        false => RowToken::OfEntry(CsvCell::EntryField(source)),
    })
}

impl CellRun {
    /// Creates a run of tokens. If `shared` is given, cells of the message become runs in it.
    fn of(tokens: Vec<RowToken>, shared: &mut Option<Vec<Self>>) -> Self {
        let (mut run, mut inner) = (CellRunDraft::default(), CellRunDraft::default());
        for token in tokens {
            match token {
                RowToken::Text(text) => inner.text.extend_from_slice(&text),
                RowToken::OfMessage(cell) => inner.cell(cell),
                RowToken::OfEntry(cell) => {
                    run.append(std::mem::take(&mut inner), shared.as_mut());
                    run.cell(cell);
                }
            }
        }
        run.append(inner, shared.as_mut());
        run.finish()
    }

    fn push(
        &self,
        out: &mut Vec<u8>,
        origin: &CsvMessage<'_>,
        root: Record<'_>,
        entry: Option<(usize, Record<'_>)>,
        shared: &SharedCells,
    ) {
        for RowPart { lead, cell } in &self.parts {
            lead.push(out);
            // One call of `push_source`, so that it is inlined.
            let (source, record) = match cell {
                CsvCell::Field(source) => (source, Some(root)),
                CsvCell::EntryField(source) => (source, entry.map(|(_, record)| record)),
                CsvCell::Fixed(column) => {
                    push_fixed(out, *column, origin, &[]);
                    continue;
                }
                CsvCell::Entry => {
                    entry.iter().for_each(|&(index, _)| push_unsigned(out, index as u64));
                    continue;
                }
                CsvCell::Shared(run) => {
                    out.extend_from_slice(&shared.text[shared.runs[*run].clone()]);
                    continue;
                }
            };
            if let Some(record) = record {
                push_source(out, record, source);
            }
        }
        self.end.push(out);
    }
}

/// A run under construction.
#[derive(Default)]
struct CellRunDraft {
    parts: Vec<RowPart>,
    /// Text after the last part.
    text: Vec<u8>,
}

impl CellRunDraft {
    fn cell(&mut self, cell: CsvCell) {
        let lead = Literal::new(&std::mem::take(&mut self.text));
        self.parts.push(RowPart { lead, cell });
    }

    /// Appends a run of text and cells of the message, directly or, if `shared` is given, as a
    /// shared run.
    fn append(&mut self, run: Self, shared: Option<&mut Vec<CellRun>>) {
        match shared {
            Some(shared) if !run.parts.is_empty() => {
                shared.push(run.finish());
                self.cell(CsvCell::Shared(shared.len() - 1));
            }
            _ => {
                for RowPart { lead, cell } in run.parts {
                    lead.push(&mut self.text);
                    self.cell(cell);
                }
                self.text.extend_from_slice(&run.text);
            }
        }
    }

    fn finish(self) -> CellRun {
        CellRun { parts: self.parts, end: Literal::new(&self.text) }
    }
}
