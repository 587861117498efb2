//! Fields passed to a visitor while a message is decoded.

use super::sink::Sink;
use crate::dictionary::Word;
use crate::error::ErrorKind;
use crate::message::FieldValue;
use crate::program::{FieldLayout, Op, Program, Segment, Storage, TemplateLayout, WireType};
use crate::template::Decimal;

/// Receives a message field by field, as it is decoded; an application may act on a field before
/// the rest of the message is read. Every method does nothing by default.
#[allow(unused_variables)]
pub trait Visitor {
    /// A message, or the content of a dynamic template reference, begins.
    fn begin_message(&mut self, template: &TemplateLayout) {}
    /// The message ends.
    fn end_message(&mut self) {}
    /// A scalar field has this value, or is [`FieldValue::Absent`].
    fn field(&mut self, field: &FieldLayout, value: FieldValue<'_>) {}
    /// A group that is present begins.
    fn begin_group(&mut self, field: &FieldLayout) {}
    /// The group ends.
    fn end_group(&mut self, field: &FieldLayout) {}
    /// A sequence with this many entries begins.
    fn begin_sequence(&mut self, field: &FieldLayout, count: usize) {}
    /// An entry begins.
    fn begin_entry(&mut self, field: &FieldLayout, index: usize) {}
    /// The entry ends.
    fn end_entry(&mut self, field: &FieldLayout) {}
    /// The sequence ends.
    fn end_sequence(&mut self, field: &FieldLayout) {}
}

/// Turns the engine's calls into a visitor's. Stores nothing.
pub(super) struct Visiting<'v, V> {
    pub(super) program: &'v Program,
    pub(super) visitor: &'v mut V,
    /// Number of enclosing dynamic references, from the outermost that the projection leaves out.
    pub(super) hidden: u32,
}

impl<'v, V: Visitor> Visiting<'v, V> {
    fn layout(&self, op: &Op) -> &'v FieldLayout {
        &self.program.fields[op.field as usize]
    }

    /// True if the projection wants an operation's field.
    fn shows(&self, op: &Op) -> bool {
        self.hidden == 0 && !op.discard
    }

    fn field(&mut self, op: &Op, value: FieldValue<'_>) {
        if self.shows(op) {
            self.visitor.field(self.layout(op), value);
        }
    }

    fn text_value<'t>(op: &Op, bytes: &'t [u8]) -> FieldValue<'t> {
        match op.wire {
            WireType::Ascii => FieldValue::Ascii(bytes),
            WireType::Unicode => FieldValue::Unicode(bytes),
            _ => FieldValue::Bytes(bytes),
        }
    }
}

impl<V: Visitor> Sink for Visiting<'_, V> {
    fn begin_message(&mut self, template: u32, _segment: &Segment) -> Result<usize, ErrorKind> {
        if self.hidden == 0 {
            self.visitor.begin_message(&self.program.templates[template as usize]);
        }
        Ok(0)
    }

    fn end_message(&mut self) {
        if self.hidden == 0 {
            self.visitor.end_message();
        }
    }

    fn integer(&mut self, _base: usize, op: &Op, value: u64) {
        let value = match op.wire {
            WireType::Int => FieldValue::Int(value as i64),
            _ => FieldValue::UInt(value),
        };
        self.field(op, value);
    }

    fn decimal(&mut self, _base: usize, op: &Op, mantissa: i64, exponent: i32) {
        self.field(op, FieldValue::Decimal(Decimal { mantissa, exponent }));
    }

    fn short_text(&mut self, _base: usize, op: &Op, word: Word) {
        self.field(op, Self::text_value(op, &word[..usize::from(word[7]).min(7)]));
    }

    fn text(&mut self, _base: usize, op: &Op, bytes: &[u8]) -> Result<(), ErrorKind> {
        self.field(op, Self::text_value(op, bytes));
        Ok(())
    }

    fn constant(&mut self, _base: usize, op: &Op) {
        let layout = self.layout(op);
        let (Storage::Constant(value) | Storage::OptionalConstant(value)) = &layout.storage else {
            return;
        };
        self.field(op, FieldValue::of_constant(layout, value));
    }

    fn absent(&mut self, op: &Op) {
        self.field(op, FieldValue::Absent);
    }

    fn presence(&mut self, _at: usize, _word: u64) {}

    fn begin_group(&mut self, op: &Op) {
        if self.shows(op) {
            self.visitor.begin_group(self.layout(op));
        }
    }

    fn end_group(&mut self, op: &Op) {
        if self.shows(op) {
            self.visitor.end_group(self.layout(op));
        }
    }

    fn begin_sequence(
        &mut self,
        _base: usize,
        op: &Op,
        count: u32,
        _entry: &Segment,
    ) -> Result<(usize, usize), ErrorKind> {
        if self.shows(op) {
            self.visitor.begin_sequence(self.layout(op), count as usize);
        }
        Ok((0, 0))
    }

    fn begin_entry(&mut self, op: &Op, index: u32) {
        if self.shows(op) {
            self.visitor.begin_entry(self.layout(op), index as usize);
        }
    }

    fn end_entry(&mut self, op: &Op) {
        if self.shows(op) {
            self.visitor.end_entry(self.layout(op));
        }
    }

    fn end_sequence(&mut self, op: &Op) {
        if self.shows(op) {
            self.visitor.end_sequence(self.layout(op));
        }
    }

    fn begin_dynamic(&mut self, op: &Op) {
        if !self.shows(op) {
            self.hidden += 1;
        }
    }

    fn dynamic(&mut self, _base: usize, _op: &Op, _template: u32, _place: usize) {
        self.hidden = self.hidden.saturating_sub(1);
    }
}
