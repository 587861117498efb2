//! Walking through a generated message field by field, as its template has them.

use crate::builder::MessageBuilder;
use crate::error::{Error, ErrorKind};
use crate::template::Decimal;

/// A value of a generated message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'v> {
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

/// Takes the fields of a generated message with their places as constants, so that what a visitor
/// ignores costs nothing. Groups, and sequences within entries, are not shown.
pub trait VisitTags<'m> {
    /// A scalar that is present, constants included. `INDEX` is that of the field in its segment, `TAG`
    /// its id, 0 if it has none.
    fn value<const INDEX: usize, const TAG: u32>(&mut self, value: Value<'m>);

    /// The sequence of `len` entries at `index`. Returns whether its entries are to be shown.
    #[inline(always)]
    fn begin_sequence(&mut self, _index: usize, _len: usize) -> bool {
        false
    }

    /// An entry of the sequence that began last, whose fields it shows with `arena` to any visitor.
    #[inline(always)]
    fn entry<E: ShowTags>(&mut self, _entry: &'m E, _arena: &'m [u8]) {}
}

/// A generated struct that shows its scalars by their ids.
pub trait ShowTags {
    /// Shows what is present. `arena` has the message's strings.
    fn show_tags<'m, V: VisitTags<'m>>(&'m self, arena: &'m [u8], visitor: &mut V);
}

/// Is shown the fields that are present, in template order; mandatory constants are left out.
/// `index` is that of the field in its segment, as in [`Record::value`](crate::Record::value).
pub trait Visit {
    /// A scalar field.
    ///
    /// # Errors
    /// Whatever ends the walk.
    fn value(&mut self, index: usize, value: Value<'_>) -> Result<(), Error>;
    /// A group begins.
    ///
    /// # Errors
    /// Whatever ends the walk.
    fn begin_group(&mut self, index: usize) -> Result<(), Error>;
    /// A sequence of `len` entries begins.
    ///
    /// # Errors
    /// Whatever ends the walk.
    fn begin_sequence(&mut self, index: usize, len: usize) -> Result<(), Error>;
    /// An entry of the sequence begins.
    ///
    /// # Errors
    /// Whatever ends the walk.
    fn begin_entry(&mut self) -> Result<(), Error>;
    /// A dynamic reference to the module's template `number` begins.
    ///
    /// # Errors
    /// Whatever ends the walk.
    fn begin_dynamic(&mut self, index: usize, number: usize) -> Result<(), Error>;
    /// What began last ends.
    ///
    /// # Errors
    /// Whatever ends the walk.
    fn end(&mut self) -> Result<(), Error>;
}

/// Builds a message of the dynamic engine.
pub(super) struct Building<'b> {
    pub(super) builder: &'b mut MessageBuilder,
    /// Index in the set, by number of template.
    pub(super) indexes: &'b [Option<usize>],
}

impl Visit for Building<'_> {
    fn value(&mut self, index: usize, value: Value<'_>) -> Result<(), Error> {
        match value {
            Value::UInt(value) => self.builder.set_u64(index, value),
            Value::Int(value) => self.builder.set_i64(index, value),
            Value::Decimal(value) => self.builder.set_decimal(index, value),
            Value::Bytes(value) => self.builder.set_bytes(index, value),
            Value::Constant => self.builder.set_constant(index),
        }
    }

    fn begin_group(&mut self, index: usize) -> Result<(), Error> {
        self.builder.begin_group(index)
    }

    fn begin_sequence(&mut self, index: usize, len: usize) -> Result<(), Error> {
        self.builder.begin_sequence(index, len)
    }

    fn begin_entry(&mut self) -> Result<(), Error> {
        self.builder.begin_entry()
    }

    fn begin_dynamic(&mut self, index: usize, number: usize) -> Result<(), Error> {
        let template = self.indexes.get(number).copied().flatten();
        let template = template.ok_or(Error::new(ErrorKind::UnknownTemplate, 0))?;
        self.builder.begin_dynamic(index, template)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.builder.end()
    }
}
