//! Visiting the fields of a generated message in template order.

use crate::builder::MessageBuilder;
use crate::error::{FastError, FastErrorKind};
use crate::template::Decimal;

/// A value of a generated message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleValue<'v> {
    /// Unsigned integer, boolean, enum or set.
    UInt(u64),
    /// Signed integer or timestamp.
    Int(i64),
    /// Decimal.
    Decimal(Decimal),
    /// String or byte vector.
    Bytes(&'v [u8]),
    /// An optional constant that is present.
    Constant,
}

/// Receives the fields of a generated message, with index and id as constants, so that ignored
/// fields cost nothing. Groups, and sequences within entries, are not visited.
pub trait VisitTags<'m> {
    /// A scalar that is present, constants included. `INDEX` is the index of the field in its
    /// segment, `TAG` its id (0 without one).
    fn value<const INDEX: usize, const TAG: u32>(&mut self, value: ModuleValue<'m>);

    /// A sequence of `len` entries at `index`. Returns true if its entries should be visited.
    #[inline(always)]
    fn begin_sequence(&mut self, _index: usize, _len: usize) -> bool {
        false
    }

    /// An entry of the last sequence; its `show_tags` with `arena` passes its fields to any
    /// visitor.
    #[inline(always)]
    fn entry<E: ShowTags>(&mut self, _entry: &'m E, _arena: &'m [u8]) {}
}

/// A generated struct whose scalars can be visited by their ids.
pub trait ShowTags {
    /// Visits the present fields. `arena` has the message's strings.
    fn show_tags<'m, V: VisitTags<'m>>(&'m self, arena: &'m [u8], visitor: &mut V);
}

/// Receives the present fields in template order, without mandatory constants. `index` is the index
/// of the field in its segment, as in [`Record::value`](crate::Record::value).
pub trait Visit {
    /// A scalar field.
    ///
    /// # Errors
    /// Any error; it ends the visit.
    fn value(&mut self, index: usize, value: ModuleValue<'_>) -> Result<(), FastError>;
    /// A group begins.
    ///
    /// # Errors
    /// Any error; it ends the visit.
    fn begin_group(&mut self, index: usize) -> Result<(), FastError>;
    /// A sequence of `len` entries begins.
    ///
    /// # Errors
    /// Any error; it ends the visit.
    fn begin_sequence(&mut self, index: usize, len: usize) -> Result<(), FastError>;
    /// An entry of the sequence begins.
    ///
    /// # Errors
    /// Any error; it ends the visit.
    fn begin_entry(&mut self) -> Result<(), FastError>;
    /// A dynamic reference to the module's template `number` begins.
    ///
    /// # Errors
    /// Any error; it ends the visit.
    fn begin_dynamic(&mut self, index: usize, number: usize) -> Result<(), FastError>;
    /// The innermost open group, sequence, entry or reference ends.
    ///
    /// # Errors
    /// Any error; it ends the visit.
    fn end(&mut self) -> Result<(), FastError>;
}

/// Visitor that builds a message of the dynamic engine.
pub(super) struct Building<'b> {
    pub(super) builder: &'b mut MessageBuilder,
    /// Index in the set, by template number.
    pub(super) indexes: &'b [Option<usize>],
}

impl Visit for Building<'_> {
    fn value(&mut self, index: usize, value: ModuleValue<'_>) -> Result<(), FastError> {
        match value {
            ModuleValue::UInt(value) => self.builder.set_u64(index, value),
            ModuleValue::Int(value) => self.builder.set_i64(index, value),
            ModuleValue::Decimal(value) => self.builder.set_decimal(index, value),
            ModuleValue::Bytes(value) => self.builder.set_bytes(index, value),
            ModuleValue::Constant => self.builder.set_constant(index),
        }
    }

    fn begin_group(&mut self, index: usize) -> Result<(), FastError> {
        self.builder.begin_group(index)
    }

    fn begin_sequence(&mut self, index: usize, len: usize) -> Result<(), FastError> {
        self.builder.begin_sequence(index, len)
    }

    fn begin_entry(&mut self) -> Result<(), FastError> {
        self.builder.begin_entry()
    }

    fn begin_dynamic(&mut self, index: usize, number: usize) -> Result<(), FastError> {
        let template = self.indexes.get(number).copied().flatten();
        let template = template.ok_or(FastError::new(FastErrorKind::UnknownTemplate, 0))?;
        self.builder.begin_dynamic(index, template)
    }

    fn end(&mut self) -> Result<(), FastError> {
        self.builder.end()
    }
}
