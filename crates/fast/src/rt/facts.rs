//! Metadata of a generated module, and the trait through which the decoder and encoder call it.

use super::context::CodingContext;
use super::cursor::InputCursor;
use super::encode::OutputCursor;
use super::growth::Growth;
use super::kernel::CpuKernel;
use super::lanes::SequenceFacts;
use super::state::{PreviousValues, StateSlot};
use super::visit::{Visit, VisitTags};
use crate::error::FastError;
use crate::message::Record;
pub use crate::program::ValueKind;

/// A dictionary entry of a generated module.
#[derive(Clone, Copy, Debug)]
pub struct EntryFacts {
    /// Location in the module's state.
    pub slot: StateSlot,
    /// Kind of its values, by type tag; a single pair with tag 0 unless several types share the
    /// entry.
    pub kinds: &'static [(u8, ValueKind)],
}

/// A template of a generated module.
#[derive(Clone, Copy, Debug)]
pub struct TemplateFacts {
    /// Name.
    pub name: &'static str,
    /// Template id, or `None` if it can only be referenced.
    pub id: Option<u32>,
    /// Its [`signature`](crate::TemplateSet::signature_of).
    pub signature: [u8; 32],
    /// Entries of its operators in template order: indexes into [`Templates::ENTRIES`].
    pub entries: &'static [u16],
    /// True if it has a dynamic reference.
    pub is_dynamic: bool,
}

/// A generated module: the part of [`ModuleDecoder`](super::ModuleDecoder) and [`ModuleEncoder`](super::ModuleEncoder) that
/// differs between modules.
pub trait Templates: Sized + 'static {
    /// Previous values.
    type State: PreviousValues + Send;
    /// Storage for one message of each template.
    type Messages: Default + Clone + std::fmt::Debug + Send;
    /// One message, borrowed.
    type Message<'m>: Copy + std::fmt::Debug;

    /// The signature of the template set.
    const SIGNATURE: [u8; 32];
    /// True if its structs hold all fields, so that it can encode.
    const IS_COMPLETE: bool;
    /// Its templates.
    const TEMPLATES: &'static [TemplateFacts];
    /// Its dictionary entries.
    const ENTRIES: &'static [EntryFacts];
    /// Its sequences that can be decoded with SIMD.
    const SEQUENCES: &'static [SequenceFacts];

    /// Returns a state with all entries undefined.
    fn state() -> Self::State;

    /// Decodes the message at the cursor; returns the cursor after it and the message.
    ///
    /// # Errors
    /// Returns the messages if the dynamic engine must decode. The state is unchanged then.
    #[allow(clippy::type_complexity)]
    fn decode<'b, 'm, K: CpuKernel>(
        cursor: InputCursor<'b, K>,
        state: &mut Self::State,
        messages: &'m mut Self::Messages,
        context: &mut CodingContext,
    ) -> Result<(InputCursor<'b, K>, Self::Message<'m>), &'m mut Self::Messages>;

    /// Returns the message decoded or filled last; initially that of the first template.
    fn message(messages: &Self::Messages) -> Self::Message<'_>;

    /// Returns the number of a message's template in [`TEMPLATES`](Self::TEMPLATES).
    fn number(message: Self::Message<'_>) -> usize;

    /// Fills the message of template `number` from a record of the dynamic engine; `None` if a
    /// dynamic reference has a template that the module lacks, or if storage must not grow that
    /// much. `numbers` returns a template's number for its index in the set.
    fn fill(
        messages: &mut Self::Messages,
        number: usize,
        record: Record<'_>,
        numbers: &dyn Fn(usize) -> Option<usize>,
        growth: &mut Growth,
    ) -> Option<()>;

    /// Passes a message's fields to a visitor.
    ///
    /// # Errors
    /// Errors of the visitor.
    fn visit(message: Self::Message<'_>, visitor: &mut dyn Visit) -> Result<(), FastError>;

    /// Passes a message's scalars, and those of its sequences' entries, to a visitor by their ids.
    fn visit_tags<'m, V: VisitTags<'m>>(message: Self::Message<'m>, visitor: &mut V);

    /// Encodes a message and returns the output after it; `None` if the dynamic engine must encode.
    /// The state is unchanged then.
    fn encode<'o, K: CpuKernel>(
        out: OutputCursor<'o, K>,
        message: Self::Message<'_>,
        state: &mut Self::State,
        context: &mut CodingContext,
    ) -> Option<OutputCursor<'o, K>>;
}
