//! Comma-separated values, one row a sequence entry.

use super::text::{Dialect, push_scalar};
use super::{Output, Place};
use crate::json::{Form, push_record};
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;
use tickwire_fast::{
    Entries, FieldHandle, FieldValue, Message, Program, Record, SegmentRef, Storage,
};

/// Columns before those of fields.
const FIXED_COLUMNS: &str = "pkt,off,t,n";

/// Writes rows whose columns are the field paths of all selected templates together.
pub struct Csv<W> {
    out: W,
    line: String,
    columns: Columns,
    cells: Vec<Cell>,
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
    /// Creates an output for these templates (indexes) and writes the heading.
    pub fn new(mut out: W, program: &Program, templates: &[usize]) -> io::Result<Self> {
        let mut columns = Columns::default();
        for &template in templates {
            columns.add(program, program.templates()[template].segment);
        }
        let mut line = FIXED_COLUMNS.to_owned();
        for path in &columns.paths {
            line.push(',');
            push_quoted(&mut line, path);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        let cells = vec![Cell::default(); columns.paths.len()];
        Ok(Self { out, line, columns, cells })
    }

    /// Fills the columns of a record and writes a row for each innermost entry below it, or one row
    /// if it has none below.
    fn rows(&mut self, head: &str, record: Record<'_>) -> io::Result<()> {
        let mut sequences = Vec::new();
        let mut filled = Vec::new();
        self.fill(record, &mut sequences, &mut filled);
        let mut row_written = false;
        for entry in sequences.iter().flat_map(Entries::iter) {
            self.rows(head, entry)?;
            row_written = true;
        }
        if !row_written {
            self.row(head)?;
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

    fn row(&mut self, head: &str) -> io::Result<()> {
        self.line.clear();
        self.line.push_str(head);
        for cell in &self.cells {
            self.line.push(',');
            if cell.present {
                push_quoted(&mut self.line, &cell.text);
            }
        }
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }
}

impl<W: Write> Output for Csv<W> {
    fn message(&mut self, place: &Place<'_>, message: &Message) -> io::Result<()> {
        let id = message.template_id().map(|id| id.to_string()).unwrap_or_default();
        let mut head = format!("{},{},{id},", place.packet, place.offset);
        push_quoted(&mut head, message.template_name());
        self.rows(&head, message.root())
    }

    fn finish(&mut self, _time: Option<Duration>) -> io::Result<()> {
        self.out.flush()
    }
}

impl Columns {
    fn add(&mut self, program: &Program, segment: SegmentRef) {
        for (index, field) in program.fields_of(segment).iter().enumerate() {
            match field.storage {
                Storage::Discarded => {}
                Storage::Group(inner) | Storage::Sequence { segment: inner, .. } => {
                    self.add(program, inner);
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
