//! Messages in readable form.

use crate::scalar::{Dialect, push_date_time, push_scalar};
use crate::{Fields, Header, MessageWriter};
use std::fmt::Write as _;
use std::io::{self, Write};
use tickwire_fast::{Entries, FieldLayout, FieldValue, Message, Record};

/// Spaces of indentation per level.
const INDENT: usize = 2;

/// Writes a heading for each message, then a line for its fields and one for each entry.
///
/// ```text
/// T (1): packet 0, offset 2, 12 bytes, 2013-08-01T06:00:00.000000001Z, 10.0.0.1:9 > 239.1.1.1:8
///   a = 5, b = X
///   s[0]: p = 1.50, q = 1
///   s[1]: p = 13e1, q = 2
/// ```
///
/// Absent fields are omitted. Strings with commas, quotes or control characters are quoted.
pub struct Plain<W> {
    out: W,
    text: String,
    scalar: String,
    fields: Fields,
}

/// A group, a sequence or a referenced template, which has separate lines.
enum NestedValue<'m> {
    Record(Record<'m>),
    Entries(Entries<'m>),
}

impl<W: Write> Plain<W> {
    /// Creates a writer to `out`, which should be buffered: each message is one write.
    pub const fn new(out: W) -> Self {
        Self::with_fields(out, Fields::all())
    }

    /// Creates a writer to `out` that writes only these fields.
    pub const fn with_fields(out: W, fields: Fields) -> Self {
        Self { out, text: String::new(), scalar: String::new(), fields }
    }

    fn heading(&mut self, header: &Header<'_>, message: &Message) {
        let text = &mut self.text;
        text.push_str(message.template_name());
        // Writing to a string does not fail.
        if let Some(id) = message.template_id() {
            let _ = write!(text, " ({id})");
        }
        let start = text.len();
        if let Some(channel) = header.channel {
            let _ = write!(text, ", channel {channel}");
        }
        if let Some(packet) = header.packet {
            let _ = write!(text, ", packet {packet}");
        }
        if let Some(offset) = header.offset {
            let _ = write!(text, ", offset {offset}");
        }
        if let Some(len) = header.len {
            let _ = write!(text, ", {len} bytes");
        }
        if let Some(time) = header.time_ns {
            text.push_str(", ");
            push_date_time(text, time);
        }
        if let Some(name) = header.line {
            let _ = write!(text, ", line {name}");
        }
        match (header.source, header.destination) {
            (Some(source), Some(destination)) => {
                let _ = write!(text, ", {source} > {destination}");
            }
            (Some(source), None) => {
                let _ = write!(text, ", from {source}");
            }
            (None, Some(destination)) => {
                let _ = write!(text, ", to {destination}");
            }
            (None, None) => {}
        }
        if text.len() > start {
            text.replace_range(start..=start, ":");
        }
        text.push('\n');
    }

    /// Writes the scalar fields of a record on one line, then its groups and sequences one level
    /// deeper. A record without a name and without scalar fields has no line.
    fn record(&mut self, name: &str, record: Record<'_>, level: usize) {
        let mut inner = Vec::new();
        let line_start = self.text.len();
        self.text.extend(std::iter::repeat_n(' ', level * INDENT));
        self.text.push_str(name);
        let mut separator = if name.is_empty() { "" } else { ": " };
        for (index, (field, value)) in record.fields().enumerate() {
            match value {
                FieldValue::Absent | FieldValue::Discarded => continue,
                _ if !self.fields.shows(record, index) => continue,
                FieldValue::Group(group) | FieldValue::Dynamic(_, group) => {
                    inner.push((field, NestedValue::Record(group)));
                    continue;
                }
                FieldValue::Sequence(entries) => {
                    inner.push((field, NestedValue::Entries(entries)));
                    continue;
                }
                _ => {}
            }
            self.text.push_str(separator);
            separator = ", ";
            self.text.push_str(&field.name.local);
            self.text.push_str(" = ");
            self.value(field, value);
        }
        if separator.is_empty() {
            self.text.truncate(line_start);
        } else {
            self.text.push('\n');
        }
        let level = if name.is_empty() { level } else { level + 1 };
        for (field, inner) in inner {
            let name = &field.name.local;
            match inner {
                NestedValue::Record(record) => self.record(name, record, level),
                NestedValue::Entries(entries) => {
                    for (index, entry) in entries.iter().enumerate() {
                        self.record(&format!("{name}[{index}]"), entry, level);
                    }
                }
            }
        }
    }

    fn value(&mut self, field: &FieldLayout, value: FieldValue<'_>) {
        self.scalar.clear();
        push_scalar(&mut self.scalar, field, value, Dialect::Csv);
        let must_quote = |c: char| c.is_control() || matches!(c, ',' | '"' | '\\');
        if self.scalar.is_empty() || self.scalar.contains(must_quote) {
            let _ = write!(self.text, "{:?}", self.scalar);
        } else {
            self.text.push_str(&self.scalar);
        }
    }
}

impl<W: Write> MessageWriter for Plain<W> {
    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        self.text.clear();
        self.heading(header, message);
        self.record("", message.root(), 1);
        self.out.write_all(self.text.as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
