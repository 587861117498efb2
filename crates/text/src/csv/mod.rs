//! Comma-separated values, one row per sequence entry.

mod cell;
mod flat;

use crate::digits::push_unsigned;
use crate::{Fields, Header, MessageWriter};
use cell::{push_field, push_quoted};
use flat::{FlatLayout, SharedCells};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use tickwire_fast::{
    Entries, FieldHandle, FieldRef, FieldValue, Message, Program, Record, SegmentRef, Storage,
};

/// Size at which the buffered rows are written, in bytes; the buffer exceeds it by at most one row.
const ROWS_BYTES: usize = 64 << 10;

/// A column that precedes the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvColumn {
    /// `pkt`: index of the packet.
    Packet,
    /// `off`: offset of the message.
    Offset,
    /// `t`: id of the template.
    TemplateId,
    /// `n`: name of the template.
    TemplateName,
    /// `time`: capture time, nanoseconds since 1970-01-01 UTC.
    Time,
    /// `source`: sender, as `IP:PORT`.
    Source,
    /// `destination`: receiver, as `IP:PORT`.
    Destination,
    /// `line`: the line that delivered the message.
    Line,
    /// `entry`: index of the row's sequence entry, from 0. Empty if the message has no entries;
    /// `1.0` is the first entry inside the second.
    Entry,
}

impl CsvColumn {
    /// Columns for messages of a capture.
    pub const CAPTURE: &[Self] = &[
        Self::Packet,
        Self::Offset,
        Self::TemplateId,
        Self::TemplateName,
        Self::Time,
        Self::Source,
        Self::Destination,
        Self::Entry,
    ];

    /// Returns the heading of the column.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packet => "pkt",
            Self::Offset => "off",
            Self::TemplateId => "t",
            Self::TemplateName => "n",
            Self::Time => "time",
            Self::Source => "source",
            Self::Destination => "destination",
            Self::Line => "line",
            Self::Entry => "entry",
        }
    }
}

/// Writes rows: the requested columns, then one column per field path of all selected templates.
pub struct Csv<W> {
    out: W,
    /// Rows that are not written yet; empty between two messages.
    rows: Vec<u8>,
    fixed: Vec<CsvColumn>,
    columns: CsvColumns,
    cells: Vec<CellText>,
    /// The indexes of the entries around the row, outermost first.
    entry: Vec<usize>,
    fields: Fields,
    /// Row layouts by template, of the program of the last message.
    flats: Option<(Arc<Program>, Vec<Option<FlatLayout>>)>,
    shared: SharedCells,
}

/// The column of each field.
#[derive(Default)]
struct CsvColumns {
    paths: Vec<String>,
    of_path: HashMap<String, usize>,
    /// Column by field.
    of_field: Vec<Option<usize>>,
}

/// The text of a column in the current row.
#[derive(Clone, Default)]
struct CellText {
    present: bool,
    text: Vec<u8>,
}

impl<W: Write> Csv<W> {
    /// Creates a writer for messages of these templates (indexes) and writes the heading.
    ///
    /// # Errors
    /// The output's error.
    pub fn new(
        out: W,
        program: &Program,
        templates: &[usize],
        fixed: &[CsvColumn],
    ) -> io::Result<Self> {
        Self::with_fields(out, program, templates, fixed, &Fields::all())
    }

    /// Creates a writer for these fields and writes the heading.
    ///
    /// # Errors
    /// The output's error.
    pub fn with_fields(
        mut out: W,
        program: &Program,
        templates: &[usize],
        fixed: &[CsvColumn],
        fields: &Fields,
    ) -> io::Result<Self> {
        let mut columns = CsvColumns::default();
        for &template in templates {
            columns.add(program, program.templates()[template].segment, fields);
        }
        let mut line = Vec::new();
        let names = fixed.iter().map(|column| column.name());
        for name in names.chain(columns.paths.iter().map(String::as_str)) {
            push_quoted(&mut line, name);
            line.push(b',');
        }
        end_row(&mut line);
        out.write_all(&line)?;
        line.clear();
        let cells = vec![CellText::default(); columns.paths.len()];
        Ok(Self {
            out,
            rows: line,
            fixed: fixed.to_vec(),
            columns,
            cells,
            entry: Vec::new(),
            fields: fields.clone(),
            flats: None,
            shared: SharedCells::default(),
        })
    }

    /// Updates the cached layouts for the program of a message.
    fn follow(&mut self, program: &Arc<Program>) {
        if self.flats.as_ref().is_some_and(|(own, _)| Arc::ptr_eq(own, program)) {
            return;
        }
        let flat =
            |template| FlatLayout::of(program, template, &self.columns, &self.fixed, &self.fields);
        let flats = (0..program.templates().len()).map(flat).collect();
        self.flats = Some((program.clone(), flats));
    }

    /// Fills the columns of a record and writes a row for each innermost entry of the record; one
    /// row if it has no entries.
    fn rows(&mut self, origin: &CsvMessage<'_>, record: Record<'_>) -> io::Result<()> {
        let mut sequences = Vec::new();
        let mut filled = Vec::new();
        self.fill(record, &mut sequences, &mut filled);
        let mut row_written = false;
        for (index, entry) in sequences.iter().flat_map(|entries| entries.iter().enumerate()) {
            self.entry.push(index);
            self.rows(origin, entry)?;
            self.entry.pop();
            row_written = true;
        }
        if !row_written {
            self.row(origin)?;
        }
        for column in filled {
            self.cells[column].present = false;
        }
        Ok(())
    }

    fn fill<'m>(
        &mut self,
        record: Record<'m>,
        sequences: &mut Vec<Entries<'m>>,
        filled: &mut Vec<usize>,
    ) {
        for (index, (_, value)) in record.fields().enumerate() {
            match value {
                _ if !self.fields.shows(record, index) => {}
                FieldValue::Group(group) => self.fill(group, sequences, filled),
                FieldValue::Sequence(entries) => sequences.push(entries),
                value => {
                    let handle = FieldHandle { segment: record.segment(), index };
                    let column = self.columns.of_field(record.program().field_ref(handle));
                    let Some(column) = column else { continue };
                    let cell = &mut self.cells[column];
                    cell.text.clear();
                    cell.present = !matches!(value, FieldValue::Absent | FieldValue::Discarded);
                    push_field(&mut cell.text, record, index);
                    filled.push(column);
                }
            }
        }
    }

    fn row(&mut self, origin: &CsvMessage<'_>) -> io::Result<()> {
        for &column in &self.fixed {
            push_fixed(&mut self.rows, column, origin, &self.entry);
            self.rows.push(b',');
        }
        for cell in &self.cells {
            if cell.present {
                self.rows.extend_from_slice(&cell.text);
            }
            self.rows.push(b',');
        }
        end_row(&mut self.rows);
        write_if_many(&mut self.out, &mut self.rows)
    }
}

/// Writes the buffered rows once there are enough.
fn write_if_many(out: &mut impl Write, rows: &mut Vec<u8>) -> io::Result<()> {
    if rows.len() < ROWS_BYTES {
        return Ok(());
    }
    let written = out.write_all(rows);
    rows.clear();
    written
}

/// The message of the rows.
struct CsvMessage<'m> {
    header: &'m Header<'m>,
    message: &'m Message,
}

/// Replaces the comma after the last cell by the end of the row.
fn end_row(rows: &mut Vec<u8>) {
    rows.pop();
    rows.push(b'\n');
}

fn push_fixed(line: &mut Vec<u8>, column: CsvColumn, origin: &CsvMessage<'_>, entry: &[usize]) {
    let CsvMessage { header, message } = origin;
    let number = |line: &mut Vec<u8>, value: Option<u64>| {
        if let Some(value) = value {
            push_unsigned(line, value);
        }
    };
    // Writing to a vector does not fail.
    match column {
        CsvColumn::Packet => number(line, header.packet),
        CsvColumn::Offset => number(line, header.offset),
        CsvColumn::TemplateId => number(line, message.template_id().map(|id| id.0.into())),
        CsvColumn::TemplateName => push_quoted(line, message.template_name()),
        CsvColumn::Time => number(line, header.time_ns),
        CsvColumn::Source => header.source.iter().for_each(|source| {
            let _ = write!(line, "{source}");
        }),
        CsvColumn::Destination => header.destination.iter().for_each(|destination| {
            let _ = write!(line, "{destination}");
        }),
        CsvColumn::Line => header.line.iter().for_each(|name| push_quoted(line, name)),
        CsvColumn::Entry => {
            for (depth, &index) in entry.iter().enumerate() {
                if depth > 0 {
                    line.push(b'.');
                }
                number(line, Some(index as u64));
            }
        }
    }
}

impl<W: Write> MessageWriter for Csv<W> {
    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        self.follow(message.program());
        let origin = CsvMessage { header, message };
        // Rows of an earlier message that could not be written.
        self.rows.clear();
        let flat =
            self.flats.as_ref().and_then(|(_, flats)| flats[message.template_index()].as_ref());
        match flat {
            Some(flat) => {
                let out = &mut self.out;
                flat.push(&mut self.rows, &origin, &mut self.shared, |rows| {
                    write_if_many(out, rows)
                })?;
            }
            None => self.rows(&origin, message.root())?,
        }
        self.out.write_all(&self.rows)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl CsvColumns {
    fn add(&mut self, program: &Program, segment: SegmentRef, fields: &Fields) {
        for (index, field) in program.fields_of(segment).iter().enumerate() {
            match field.storage {
                Storage::Discarded => {}
                _ if !fields.shows_in(program, segment, index) => {}
                Storage::Group(inner) | Storage::Sequence { segment: inner, .. } => {
                    self.add(program, inner, fields);
                }
                _ => {
                    let field = program.field_ref(FieldHandle { segment, index });
                    let column = self.column(program.path(field));
                    if self.of_field.len() <= field.index() {
                        self.of_field.resize(field.index() + 1, None);
                    }
                    self.of_field[field.index()] = Some(column);
                }
            }
        }
    }

    fn of_field(&self, field: FieldRef) -> Option<usize> {
        self.of_field.get(field.index()).copied().flatten()
    }

    fn column(&mut self, path: String) -> usize {
        if let Some(&column) = self.of_path.get(&path) {
            return column;
        }
        self.of_path.insert(path.clone(), self.paths.len());
        self.paths.push(path);
        self.paths.len() - 1
    }
}
