//! Runtime of generated code. Not a stable interface: it changes with the generator, and modules of
//! another version do not compile ([`MODULE_VERSION`]). Users import from
//! [`generated`](crate::generated).
//!
//! `tickwire-fast-codegen` generates a Rust module from a template set: plain structs, and
//! functions that decode and encode them. This is the code that such modules share. [`ModuleDecoder`]
//! runs a module through the trait [`Templates`].
//!
//! Generated code decodes well-formed messages. For anything else (an error, a truncated message, a
//! rare encoding) it bails out of the whole message and restores the previous values, and the
//! dynamic engine decodes the message again. So errors, their order and their offsets are
//! implemented only once, in that engine.

mod context;
mod cursor;
mod decimal;
mod decoder;
mod difference;
mod encode;
mod encoder;
mod entries;
#[cfg(vectors)]
mod extract;
/// Without another kernel, the portable one takes its place.
#[cfg(not(vectors))]
mod extract {
    pub(crate) use super::kernel::Portable as Extracting;
}
/// The expanded form of a template set, from which modules are generated.
pub mod expanded {
    pub use crate::program::{
        Body, ExpandedField, ExpandedSet, ExpandedTemplate, FieldKind, Operation, Projection,
    };
    pub use crate::template::{OperatorKind, OperatorRule, SilentValue, StreamContent};
}
mod facts;
pub mod fill;
mod follow;
mod growth;
mod integer;
mod kernel;
mod lanes;
mod link;
mod packet;
mod past;
mod quick;
mod room;
#[cfg(not(reads_ahead))]
mod slices;
mod state;
mod text;
mod version;
mod visit;
#[cfg(reads_ahead)]
mod window;

#[cfg(not(reads_ahead))]
use slices as ahead;
#[cfg(reads_ahead)]
use window as ahead;

pub use crate::program::LaneKind;
pub(crate) use ahead::space::{OutputRoom, Space};
pub use context::CodingContext;
#[cfg(machine_code)]
pub(crate) use cursor::first_stop;
pub use cursor::{Bits, InputCursor, WideBits, seldom};
pub use decimal::exponent;
pub use decoder::{DecodedModuleMessage, ModuleDecoder, ModuleMessage, ModuleStep};
pub use encode::{FirstByte, OpenMap, OutputCursor};
pub use encoder::ModuleEncoder;
pub(crate) use encoder::ROOM_BYTES;
pub use entries::{EntryList, Reference};
pub(crate) use extract::Extracting;
pub use facts::{EntryFacts, TemplateFacts, Templates, ValueKind};
pub use growth::Growth;
pub use integer::{add_signed, add_unsigned, next_signed, next_unsigned, same};
pub(crate) use kernel::Portable;
pub use kernel::{CpuKernel, DecodeSegment, EncodeSegment, LanePrediction};
pub use lanes::{LaneSegment, LaneValues, SequenceFacts, text_word};
pub use link::LinkError;
pub use packet::BufferedPacket;
#[cfg(machine_code)]
pub(crate) use packet::copy_ends;
pub use past::{Fresh, Past, Unknown, Warm};
pub use state::{LastTemplate, ModuleState, PreviousValues, StateSlot};
pub use text::{Charset, TextValue};
pub use version::MODULE_VERSION;
pub use visit::{ModuleValue, ShowTags, Visit, VisitTags};
