//! A table of the input's messages by template.

use crate::table::{Align, Table};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tickwire_fast::{FieldValue, Message, Program, Record};

/// Counts messages by template and prints a table at the end.
pub struct Summary<W> {
    out: W,
    program: Arc<Program>,
    counts: Vec<Count>,
}

/// Counters of one template.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    messages: u64,
    entries: u64,
    bytes: u64,
    len_min: usize,
    len_max: usize,
}

impl Count {
    fn add(&mut self, entries: u64, len: usize) {
        self.len_min = if self.messages == 0 { len } else { self.len_min.min(len) };
        self.len_max = self.len_max.max(len);
        self.messages += 1;
        self.entries += entries;
        self.bytes += len as u64;
    }

    fn total(counts: &[Self]) -> Self {
        let seen = counts.iter().filter(|count| count.messages > 0);
        seen.fold(Self::default(), |total, count| Self {
            messages: total.messages + count.messages,
            entries: total.entries + count.entries,
            bytes: total.bytes + count.bytes,
            len_min: if total.messages == 0 {
                count.len_min
            } else {
                total.len_min.min(count.len_min)
            },
            len_max: total.len_max.max(count.len_max),
        })
    }
}

impl<W: Write> Summary<W> {
    /// Creates a summary of messages of `program`.
    pub fn new(out: W, program: Arc<Program>) -> Self {
        let counts = vec![Count::default(); program.templates().len()];
        Self { out, program, counts }
    }

    /// Counts a message of `len` bytes.
    pub fn count(&mut self, message: &Message, len: usize) {
        let entries = entries_of(message.root());
        self.counts[message.template_index()].add(entries, len);
    }

    /// Prints the table, and the speed if `time` was measured.
    pub fn finish(&mut self, time: Option<Duration>) -> io::Result<()> {
        let mut table = Table::new(&[
            ("template", Align::Left),
            ("id", Align::Right),
            ("messages", Align::Right),
            ("entries", Align::Right),
            ("bytes", Align::Right),
            ("min", Align::Right),
            ("mean", Align::Right),
            ("max", Align::Right),
        ]);
        for (template, count) in self.program.templates().iter().zip(&self.counts) {
            if count.messages > 0 {
                let id = template.id.map(|id| id.to_string()).unwrap_or_default();
                table.row(count_cells(template.name.to_string(), id, count));
            }
        }
        table.rule();
        let total = Count::total(&self.counts);
        table.row(count_cells("total".to_owned(), String::new(), &total));
        self.out.write_all(table.to_string().as_bytes())?;
        if let Some(time) = time.filter(|time| total.messages > 0 && !time.is_zero()) {
            writeln!(
                self.out,
                "decoded and counted in {:.1} ms: {:.0} ns/message, {:.0} MB/s",
                time.as_secs_f64() * 1e3,
                time.as_nanos() as f64 / total.messages as f64,
                total.bytes as f64 / time.as_secs_f64() / 1e6
            )?;
        }
        self.out.flush()
    }
}

fn count_cells(name: String, id: String, count: &Count) -> Vec<String> {
    let mean = count.bytes as f64 / count.messages.max(1) as f64;
    vec![
        name,
        id,
        count.messages.to_string(),
        count.entries.to_string(),
        count.bytes.to_string(),
        count.len_min.to_string(),
        format!("{mean:.1}"),
        count.len_max.to_string(),
    ]
}

/// Number of entries of all sequences of a record, including those inside entries.
pub fn entries_of(record: Record<'_>) -> u64 {
    let of_value = |value| match value {
        FieldValue::Group(inner) | FieldValue::Dynamic(_, inner) => entries_of(inner),
        FieldValue::Sequence(entries) => {
            let inside = match entries.entry(0) {
                Some(entry) if has_inner(entry) => entries.iter().map(entries_of).sum(),
                _ => 0,
            };
            entries.len() as u64 + inside
        }
        _ => 0,
    };
    let layouts = record.layouts().iter().enumerate();
    let inner = layouts.filter(|(_, field)| field.field_type.is_none());
    inner.map(|(index, _)| of_value(record.value(index))).sum()
}

/// True if a record has fields that are not scalar.
fn has_inner(record: Record<'_>) -> bool {
    record.layouts().iter().any(|field| field.field_type.is_none())
}
