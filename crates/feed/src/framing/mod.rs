//! Framing of FAST messages by exchanges, and their dictionary resets.
//!
//! A [`Framing`] describes one feed. [`Preset`] has those of known exchanges; a text such as
//! `preamble=5,seq=0:4:be,reset=packet` or `moex-asts,reset=never` describes others. A [`Framer`]
//! splits packets into [`Segment`]s: the FAST bytes, their offset, the sequence number, and whether
//! dictionaries are reset before them.
//!
//! A `Framing` is checked when it is created, so a framer never gets a contradictory one.

mod block;
mod chunks;
mod description;
pub mod detect;
mod error;
mod framer;
mod message_header;
mod part_stream;
mod preset;
mod quickfast;
mod step;
mod step_stream;
mod text;

pub use block::{BlockBounds, next_block};
pub use description::{
    ChunkFields, Envelope, Framing, FramingConfigError, FramingResetPolicy, NumberField,
    PREAMBLE_BYTES_MAX,
};
pub use error::{FramingError, FramingErrorKind};
pub use framer::{Framer, MESSAGE_BYTES_MAX_DEFAULT, Segment, Segments};
pub use message_header::{
    BLOCK_BYTES_MAX, HEADER_BYTES_MAX, MessageBounds, MessageHeader, read_message_header,
};
pub use preset::{Preset, UnknownPreset};
pub use quickfast::QuickFast;
pub use text::{ParseFramingError, ParseFramingErrorKind, UnknownResetPolicy};
