//! FIX tag=value text.

use super::text::{Dialect, push_scalar};
use super::{Output, Place};
use crate::outline::{Origin, Outline};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Once;
use std::time::Duration;
use tickwire_fast::{FieldHandle, FieldLayout, FieldRef, FieldValue, Message, Program, Record};

/// Separates fields on the wire of FIX.
const SOH: char = '\u{1}';

/// A field without a tag is said once, however many threads write.
static NO_TAG: Once = Once::new();

/// Writes a line a message: fields by their id, a sequence as its length's id and then its entries.
pub struct Fix<W> {
    out: W,
    line: String,
    separator: char,
    tags: HashMap<FieldRef, u32>,
}

impl<W: Write> Fix<W> {
    /// Creates an output that separates fields by SOH or by `|`.
    pub fn new(out: W, program: &Program, soh: bool) -> Self {
        let separator = if soh { SOH } else { '|' };
        Self { out, line: String::new(), separator, tags: tags_of(program) }
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
                    entries.iter().for_each(|entry| self.record(entry));
                }
                value => self.field(field_ref, field, value),
            }
        }
    }

    fn field(&mut self, field_ref: FieldRef, field: &FieldLayout, value: FieldValue<'_>) {
        let Some(tag) = self.tags.get(&field_ref) else {
            NO_TAG.call_once(|| {
                anstream::eprintln!(
                    "tickwire: field \"{}\" has no id in the template file and is left out; so \
                     are others without one",
                    field.name
                );
            });
            return;
        };
        self.line.push_str(&format!("{tag}="));
        push_scalar(&mut self.line, field, value, Dialect::Fix);
        self.line.push(self.separator);
    }
}

/// The tag of each field that has one: its id, for a sequence its length's id or its own.
fn tags_of(program: &Program) -> HashMap<FieldRef, u32> {
    let outline = Outline::of(program);
    let tag = |&(field, origin): &(FieldRef, Origin<'_>)| {
        let length_id = match origin {
            Origin::Sequence(sequence) => sequence.length.id,
            _ => None,
        };
        Some((field, length_id.or(program.field(field).id)?))
    };
    outline.fields().iter().filter_map(tag).collect()
}

impl<W: Write> Output for Fix<W> {
    fn message(&mut self, _place: &Place<'_>, message: &Message) -> io::Result<()> {
        self.line.clear();
        self.record(message.root());
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }

    fn finish(&mut self, _time: Option<Duration>) -> io::Result<()> {
        self.out.flush()
    }
}
