//! Fields of a decoded message passed to a visitor.

use crate::message::FieldValue;
use crate::program::{FieldLayout, TemplateLayout};

/// Receives a decoded message field by field, in template order. Every method does nothing by
/// default.
#[allow(unused_variables)]
pub trait MessageVisitor {
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
