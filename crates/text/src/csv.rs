//! Comma-separated values, one row a sequence entry.

use crate::json::{Form, push_record};
use crate::scalar::{Dialect, push_scalar};
use crate::{Fields, Header, MessageWriter};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use tickwire_fast::{
    Entries, FieldHandle, FieldValue, Message, Program, Record, SegmentRef, Storage,
};

/// A column before those of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
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
    /// `entry`: index of the sequence entry in the row, from 0. Empty where the message has no
    /// entries; `1.0` is the first entry inside the second.
    Entry,
}

impl Column {
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

/// Writes rows whose columns are those asked for, then the field paths of all selected templates
/// together.
pub struct Csv<W> {
    out: W,
    line: String,
    fixed: Vec<Column>,
    columns: Columns,
    cells: Vec<Cell>,
    /// The indexes of the entries that the row is in, outermost first.
    entry: Vec<usize>,
    fields: Fields,
}

/// Which column each field has.
#[derive(Default)]
struct Columns {
    paths: Vec<String>,
    of_path: HashMap<String, usize>,
    /// By field; fields that have no column are not there.
    of_field: HashMap<usize, usize>,
}

/// The text of a column in the current row.
#[derive(Clone, Default)]
struct Cell {
    present: bool,
    text: String,
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
        fixed: &[Column],
    ) -> io::Result<Self> {
        Self::with_fields(out, program, templates, fixed, &Fields::all())
    }

    /// Creates a writer of these fields and writes the heading.
    ///
    /// # Errors
    /// The output's error.
    pub fn with_fields(
        mut out: W,
        program: &Program,
        templates: &[usize],
        fixed: &[Column],
        fields: &Fields,
    ) -> io::Result<Self> {
        let mut columns = Columns::default();
        for &template in templates {
            columns.add(program, program.templates()[template].segment, fields);
        }
        let mut line = String::new();
        let names = fixed.iter().map(|column| column.name());
        for name in names.chain(columns.paths.iter().map(String::as_str)) {
            push_quoted(&mut line, name);
            line.push(',');
        }
        end_row(&mut line);
        out.write_all(line.as_bytes())?;
        let cells = vec![Cell::default(); columns.paths.len()];
        Ok(Self {
            out,
            line,
            fixed: fixed.to_vec(),
            columns,
            cells,
            entry: Vec::new(),
            fields: fields.clone(),
        })
    }

    /// Fills the columns of a record and writes a row for each innermost entry below it, or one row
    /// if it has none below.
    fn rows(&mut self, origin: &Origin<'_>, record: Record<'_>) -> io::Result<()> {
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
        for (index, (field, value)) in record.fields().enumerate() {
            match value {
                _ if !self.fields.shows(record, index) => {}
                FieldValue::Group(group) => self.fill(group, sequences, filled),
                FieldValue::Sequence(entries) => sequences.push(entries),
                value => {
                    let handle = FieldHandle { segment: record.segment(), index };
                    let field_ref = record.program().field_ref(handle);
                    let column = self.columns.of_field.get(&field_ref.index());
                    let Some(&column) = column else { continue };
                    let cell = &mut self.cells[column];
                    cell.text.clear();
                    cell.present = match value {
                        FieldValue::Dynamic(_, inner) => push_json(&mut cell.text, inner),
                        value => push_scalar(&mut cell.text, field, value, Dialect::Csv),
                    };
                    filled.push(column);
                }
            }
        }
    }

    fn row(&mut self, origin: &Origin<'_>) -> io::Result<()> {
        self.line.clear();
        for &column in &self.fixed {
            push_fixed(&mut self.line, column, origin, &self.entry);
            self.line.push(',');
        }
        for cell in &self.cells {
            if cell.present {
                push_quoted(&mut self.line, &cell.text);
            }
            self.line.push(',');
        }
        end_row(&mut self.line);
        self.out.write_all(self.line.as_bytes())
    }
}

/// The message that rows are of.
struct Origin<'m> {
    header: &'m Header<'m>,
    message: &'m Message,
}

/// Replaces the comma behind the last cell by the end of the row.
fn end_row(line: &mut String) {
    line.pop();
    line.push('\n');
}

fn push_fixed(line: &mut String, column: Column, origin: &Origin<'_>, entry: &[usize]) {
    let Origin { header, message } = origin;
    let number = |line: &mut String, value: Option<u64>| {
        if let Some(value) = value {
            line.push_str(itoa::Buffer::new().format(value));
        }
    };
    // Writing to a string does not fail.
    match column {
        Column::Packet => number(line, header.packet),
        Column::Offset => number(line, header.offset),
        Column::TemplateId => number(line, message.template_id().map(|id| id.0.into())),
        Column::TemplateName => push_quoted(line, message.template_name()),
        Column::Time => number(line, header.time_ns),
        Column::Source => header.source.iter().for_each(|source| {
            let _ = write!(line, "{source}");
        }),
        Column::Destination => header.destination.iter().for_each(|destination| {
            let _ = write!(line, "{destination}");
        }),
        Column::Line => header.line.iter().for_each(|name| push_quoted(line, name)),
        Column::Entry => {
            for (depth, &index) in entry.iter().enumerate() {
                if depth > 0 {
                    line.push('.');
                }
                number(line, Some(index as u64));
            }
        }
    }
}

impl<W: Write> MessageWriter for Csv<W> {
    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        self.rows(&Origin { header, message }, message.root())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Columns {
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
                    self.of_field.insert(field.index(), column);
                }
            }
        }
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

fn push_json(out: &mut String, record: Record<'_>) -> bool {
    let mut json = Vec::new();
    push_record(&mut json, record, Form::Named);
    out.push_str(&String::from_utf8_lossy(&json));
    true
}

/// Appends a value, in quotes where it needs them. An empty string is `""`, so that it is not taken
/// for an absent field.
fn push_quoted(out: &mut String, text: &str) {
    if !text.is_empty() && !text.contains([',', '"', '\n', '\r']) {
        out.push_str(text);
        return;
    }
    out.push('"');
    out.push_str(&text.replace('"', "\"\""));
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_stand_only_where_they_must() {
        let quoted = |text: &str| {
            let mut out = String::new();
            push_quoted(&mut out, text);
            out
        };
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
