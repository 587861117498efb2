//! What a generated module says of itself, and what the dispatcher asks it to do.

use super::context::Context;
use super::cursor::Cursor;
use super::encode::Output;
use super::growth::Growth;
use super::kernel::Kernel;
use super::lanes::SequenceFacts;
use super::state::{PreviousValues, Slot};
use super::visit::{Visit, VisitTags};
use crate::error::Error;
use crate::message::Record;

/// Whether an entry's values are integers, decimals or strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An integer, or a part of a decimal.
    Integer,
    /// A decimal as a whole.
    Scaled,
    /// A string or byte vector.
    Text,
}

/// A dictionary entry of a generated module.
#[derive(Clone, Copy, Debug)]
pub struct EntryFacts {
    /// Its place in the module's state.
    pub slot: Slot,
    /// By type tag what its values are; one pair, with tag 0, unless types share the entry.
    pub kinds: &'static [(u8, ValueKind)],
}

/// A template of a generated module.
#[derive(Clone, Copy, Debug)]
pub struct TemplateFacts {
    /// Name.
    pub name: &'static str,
    /// Template id, or `None` if it can only be referred to.
    pub id: Option<u32>,
    /// Its [`signature`](crate::TemplateSet::signature_of).
    pub signature: [u8; 32],
    /// Entries of its operators in the order of the template: indexes into
    /// [`Templates::ENTRIES`].
    pub entries: &'static [u16],
    /// Whether it has a dynamic reference.
    pub is_dynamic: bool,
}

/// A generated module. Its [`Decoder`](super::Decoder) and [`Encoder`](super::Encoder) are the same
/// for all modules; this is what differs.
pub trait Templates: Sized + 'static {
    /// Previous values.
    type State: PreviousValues + Send;
    /// Storage for one message of each template.
    type Messages: Default + Clone + std::fmt::Debug + Send;
    /// One message, borrowed.
    type Message<'m>: Copy + std::fmt::Debug;

    /// The signature of the template set.
    const SIGNATURE: [u8; 32];
    /// Whether its structs hold all fields, so that it can encode.
    const IS_COMPLETE: bool;
    /// Its templates.
    const TEMPLATES: &'static [TemplateFacts];
    /// Its dictionary entries.
    const ENTRIES: &'static [EntryFacts];
    /// Its sequences whose entries have lanes.
    const SEQUENCES: &'static [SequenceFacts];

    /// A state with everything undefined.
    fn state() -> Self::State;

    /// Decodes the message at the cursor; returns the cursor behind it and the message.
    ///
    /// # Errors
    /// The messages back, for the dynamic engine to decode it. The state is then as before.
    #[allow(clippy::type_complexity)]
    fn decode<'b, 'm, K: Kernel>(
        cursor: Cursor<'b, K>,
        state: &mut Self::State,
        messages: &'m mut Self::Messages,
        context: &mut Context,
    ) -> Result<(Cursor<'b, K>, Self::Message<'m>), &'m mut Self::Messages>;

    /// The message that was decoded or filled last; the first template's before any was.
    fn message(messages: &Self::Messages) -> Self::Message<'_>;

    /// The number of a message's template in [`TEMPLATES`](Self::TEMPLATES).
    fn number(message: Self::Message<'_>) -> usize;

    /// Fills the message of template `number` from a record of the dynamic engine; `None` where a
    /// dynamic reference holds a template that the module does not know, or storage must not grow as
    /// much. `numbers` gives the number of a template by its index in the set.
    fn fill(
        messages: &mut Self::Messages,
        number: usize,
        record: Record<'_>,
        numbers: &dyn Fn(usize) -> Option<usize>,
        growth: &mut Growth,
    ) -> Option<()>;

    /// Shows a message's fields to a visitor.
    ///
    /// # Errors
    /// Those of the visitor.
    fn visit(message: Self::Message<'_>, visitor: &mut dyn Visit) -> Result<(), Error>;

    /// Shows a message's scalars, and those of the entries of its sequences, by their ids.
    fn visit_tags<'m, V: VisitTags<'m>>(message: Self::Message<'m>, visitor: &mut V);

    /// Encodes a message and returns the output behind it; `None` for the dynamic
    /// engine to do it. The state is then as before.
    fn encode<'o, K: Kernel>(
        out: Output<'o, K>,
        message: Self::Message<'_>,
        state: &mut Self::State,
        context: &mut Context,
    ) -> Option<Output<'o, K>>;
}
