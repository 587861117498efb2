//! The fields of a record, whatever engine decoded it.

use tickwire_fast::rt::{Templates, Value, Visit};
use tickwire_fast::template::FieldType;
use tickwire_fast::{
    Decimal, Error, FieldLayout, FieldValue, Program, Record, SegmentRef, Storage,
};

/// A record whose scalar fields can be asked for by their index.
pub(super) trait Row: Copy {
    /// The value of a field.
    fn value(&self, index: usize) -> FieldValue<'_>;
}

impl Row for Record<'_> {
    fn value(&self, index: usize) -> FieldValue<'_> {
        Record::value(self, index)
    }
}

/// A value without what it borrows: of strings only those of one character matter.
#[derive(Clone, Copy, Debug)]
enum Scalar {
    UInt(u64),
    Int(i64),
    Decimal(Decimal),
    Character([u8; 1]),
    /// A longer or empty string.
    Text,
    Constant,
}

impl From<Value<'_>> for Scalar {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::UInt(value) => Self::UInt(value),
            Value::Int(value) => Self::Int(value),
            Value::Decimal(value) => Self::Decimal(value),
            Value::Bytes(&[byte]) => Self::Character([byte]),
            Value::Bytes(_) => Self::Text,
            Value::Constant => Self::Constant,
        }
    }
}

/// A present field of a generated message: its index in its segment, and its value.
type Present = (usize, Scalar);

/// A record of a generated message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'c> {
    layouts: &'c [FieldLayout],
    fields: &'c [Present],
}

impl Row for Seen<'_> {
    fn value(&self, index: usize) -> FieldValue<'_> {
        let Some(layout) = self.layouts.get(index) else { return FieldValue::Absent };
        if let Storage::Constant(_) = layout.storage {
            return layout.constant().unwrap_or(FieldValue::Absent);
        }
        let found = self.fields.iter().find(|(at, _)| *at == index);
        match found.map(|(_, value)| value) {
            None => FieldValue::Absent,
            Some(Scalar::UInt(value)) => FieldValue::UInt(*value),
            Some(Scalar::Int(value)) => FieldValue::Int(*value),
            Some(Scalar::Decimal(value)) => FieldValue::Decimal(*value),
            Some(Scalar::Character(byte)) => text(layout, byte),
            Some(Scalar::Text) => text(layout, &[]),
            Some(Scalar::Constant) => layout.constant().unwrap_or(FieldValue::Absent),
        }
    }
}

fn text<'c>(layout: &FieldLayout, bytes: &'c [u8]) -> FieldValue<'c> {
    match layout.field_type {
        Some(FieldType::Ascii) => FieldValue::Ascii(bytes),
        Some(FieldType::Unicode) => FieldValue::Unicode(bytes),
        _ => FieldValue::Bytes(bytes),
    }
}

/// Collects the scalars of a generated message and of the entries of one of its sequences.
#[derive(Debug, Default)]
pub(super) struct Collected {
    root: Vec<Present>,
    entries: Vec<Present>,
    /// Where in `entries` each entry ends.
    ends: Vec<usize>,
    /// Layouts of the message and of the entries.
    segments: Option<(SegmentRef, SegmentRef)>,
    wanted: Option<usize>,
    place: Place,
}

/// Where in the message the walk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Root,
    /// In the wanted sequence, between entries.
    Sequence,
    Entry,
    /// In something that does not matter, so deep; then back.
    Aside(u32, Outside),
}

/// What something that does not matter lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    Root,
    Entry,
}

impl Collected {
    /// Collects a message whose layout is `segment`, and the entries of the sequence at `wanted`.
    pub(super) fn collect<T: Templates>(
        &mut self,
        program: &Program,
        segment: SegmentRef,
        wanted: Option<usize>,
        message: T::Message<'_>,
    ) {
        self.root.clear();
        self.entries.clear();
        self.ends.clear();
        let sequence = wanted.and_then(|at| program.fields_of(segment).get(at));
        let of_entries = match sequence.map(|field| &field.storage) {
            Some(Storage::Sequence { segment, .. }) => *segment,
            _ => segment,
        };
        self.segments = Some((segment, of_entries));
        self.wanted = wanted;
        self.place = Place::Root;
        // Nothing here ends the walk early.
        let _ = T::visit(message, self);
    }

    /// What was collected: the message, and the entries.
    pub(super) fn rows<'c>(
        &'c self,
        program: &'c Program,
    ) -> (Seen<'c>, impl Iterator<Item = Seen<'c>>) {
        let (root, entry): (&[_], &[_]) = match self.segments {
            Some((root, entry)) => (program.fields_of(root), program.fields_of(entry)),
            None => (&[], &[]),
        };
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let entries = starts.zip(&self.ends).map(move |(start, &end)| Seen {
            layouts: entry,
            fields: self.entries.get(start..end).unwrap_or_default(),
        });
        (Seen { layouts: root, fields: &self.root }, entries)
    }

    fn step_aside(&mut self) {
        self.place = match self.place {
            Place::Aside(depth, outside) => Place::Aside(depth.saturating_add(1), outside),
            Place::Entry => Place::Aside(1, Outside::Entry),
            Place::Root | Place::Sequence => Place::Aside(1, Outside::Root),
        };
    }
}

impl Visit for Collected {
    fn value(&mut self, index: usize, value: Value<'_>) -> Result<(), Error> {
        match self.place {
            Place::Root => self.root.push((index, value.into())),
            Place::Entry => self.entries.push((index, value.into())),
            Place::Sequence | Place::Aside(..) => {}
        }
        Ok(())
    }

    fn begin_group(&mut self, _index: usize) -> Result<(), Error> {
        self.step_aside();
        Ok(())
    }

    fn begin_sequence(&mut self, index: usize, _len: usize) -> Result<(), Error> {
        match self.place {
            Place::Root if self.wanted == Some(index) => self.place = Place::Sequence,
            _ => self.step_aside(),
        }
        Ok(())
    }

    fn begin_entry(&mut self) -> Result<(), Error> {
        match self.place {
            Place::Sequence => self.place = Place::Entry,
            _ => self.step_aside(),
        }
        Ok(())
    }

    fn begin_dynamic(&mut self, _index: usize, _number: usize) -> Result<(), Error> {
        self.step_aside();
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        self.place = match self.place {
            Place::Aside(1, Outside::Root) | Place::Sequence | Place::Root => Place::Root,
            Place::Aside(1, Outside::Entry) => Place::Entry,
            Place::Aside(depth, outside) => Place::Aside(depth.saturating_sub(1), outside),
            Place::Entry => {
                self.ends.push(self.entries.len());
                Place::Sequence
            }
        };
        Ok(())
    }
}
