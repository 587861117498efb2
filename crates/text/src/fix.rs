//! FIX tag=value text.

use crate::outline::Outline;
use crate::scalar::{Dialect, push_date_time, push_scalar};
use crate::{Header, MessageWriter};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use tickwire_fast::template::Instruction;
use tickwire_fast::{FieldHandle, FieldLayout, FieldRef, FieldValue, Message, Program, Record};

/// The character that ends each field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldSeparator {
    /// `|`, for reading.
    #[default]
    Bar,
    /// SOH (byte 1), as on the wire.
    Soh,
}

/// Receives the name of a field that has no tag.
type OnUntagged = Box<dyn FnMut(&str)>;

/// Writes one line per message: each field with its id as the tag, a sequence as its length field
/// followed by its entries.
///
/// If the header has capture time, source, destination, line or channel, they come first, with a
/// name instead of a tag: `time=2013-08-01T06:00:00.000000001Z|source=10.0.0.1:9|34=1|`. Entries
/// follow their count in order, as in FIX messages; [`entry_index`](Self::entry_index) numbers
/// them.
pub struct Fix<W> {
    out: W,
    line: String,
    separator: char,
    /// The indices of the enclosing entries, outermost first.
    path: Option<Vec<usize>>,
    tags: HashMap<FieldRef, u32>,
    on_untagged: OnUntagged,
}

impl<W: Write> Fix<W> {
    /// Creates a writer for messages of `program`. Fields without an id are omitted.
    pub fn new(out: W, program: &Program, separator: FieldSeparator) -> Self {
        let separator = match separator {
            FieldSeparator::Bar => '|',
            FieldSeparator::Soh => '\u{1}',
        };
        let on_untagged = Box::new(|_: &str| {});
        let tags = tags_of(program);
        Self { out, line: String::new(), separator, path: None, tags, on_untagged }
    }

    /// Writes the index of each sequence entry, from 0, before its fields:
    /// `268=2|entry=0|279=0|entry=1|279=1|`. The index of a nested entry follows that of the outer
    /// one: `entry=1.0|`.
    #[must_use]
    pub fn entry_index(self) -> Self {
        Self { path: Some(Vec::new()), ..self }
    }

    /// Calls `on_untagged` with the name of each omitted field without an id, once per occurrence.
    #[must_use]
    pub fn on_untagged(self, on_untagged: impl FnMut(&str) + 'static) -> Self {
        Self { on_untagged: Box::new(on_untagged), ..self }
    }

    fn header(&mut self, header: &Header<'_>) {
        let Self { line, separator, .. } = self;
        if let Some(time) = header.time_ns {
            line.push_str("time=");
            push_date_time(line, time);
            line.push(*separator);
        }
        // Writing to a string does not fail.
        if let Some(source) = header.source {
            let _ = write!(line, "source={source}{separator}");
        }
        if let Some(destination) = header.destination {
            let _ = write!(line, "destination={destination}{separator}");
        }
        if let Some(name) = header.line {
            let _ = write!(line, "line={name}{separator}");
        }
        if let Some(name) = header.channel {
            let _ = write!(line, "channel={name}{separator}");
        }
    }

    fn record(&mut self, record: Record<'_>) {
        for (index, (field, value)) in record.fields().enumerate() {
            let handle = FieldHandle { segment: record.segment(), index };
            let field_ref = record.program().field_ref(handle);
            match value {
                FieldValue::Absent | FieldValue::Discarded => {}
                FieldValue::Group(inner) | FieldValue::Dynamic(_, inner) => self.record(inner),
                FieldValue::Sequence(entries) => {
                    self.field(field_ref, field, FieldValue::UInt(entries.len() as u64));
                    for (index, entry) in entries.iter().enumerate() {
                        self.begin_entry(index);
                        self.record(entry);
                        if let Some(path) = &mut self.path {
                            path.pop();
                        }
                    }
                }
                value => self.field(field_ref, field, value),
            }
        }
    }

    fn begin_entry(&mut self, index: usize) {
        let Self { line, separator, path: Some(path), .. } = self else { return };
        path.push(index);
        let indices: Vec<String> = path.iter().map(usize::to_string).collect();
        // Writing to a string does not fail.
        let _ = write!(line, "entry={}{separator}", indices.join("."));
    }

    fn field(&mut self, field_ref: FieldRef, field: &FieldLayout, value: FieldValue<'_>) {
        let Some(tag) = self.tags.get(&field_ref) else {
            (self.on_untagged)(&field.name.local);
            return;
        };
        self.line.push_str(&format!("{tag}="));
        push_scalar(&mut self.line, field, value, Dialect::Fix);
        self.line.push(self.separator);
    }
}

/// Returns the tag of each field that has an id. The tag of a sequence is the id of its length field, or its own if
/// the length field has none.
pub(crate) fn tags_of(program: &Program) -> HashMap<FieldRef, u32> {
    let outline = Outline::of(program);
    let tag = |&(field, instruction): &(FieldRef, &Instruction)| {
        let length_id = match instruction {
            Instruction::Group(group) => group.length.as_ref().and_then(|length| length.id),
            _ => None,
        };
        Some((field, length_id.or(program.field(field).id)?))
    };
    outline.fields().iter().filter_map(tag).collect()
}

impl<W: Write> MessageWriter for Fix<W> {
    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        self.line.clear();
        self.header(header);
        self.record(message.root());
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
