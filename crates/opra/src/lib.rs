//! OPRA FAST 2.0 and 1.03: decoders, an encoder and a trace generator.
//!
//! A packet is one UDP datagram and is self-contained: its dictionary starts empty, so packets can
//! be decoded in any order and on any thread. Within a packet, a message contains only the fields
//! that changed.
//!
//! | decoder | how it works |
//! |---|---|
//! | [`reference`](mod@reference) | top-down, field by field in wire order: the one to read first |
//! | [`bottom_up`] | whole messages by masks: portable, or with 512-bit vectors |
//! | [`grammar`] | by a packet grammar, as tables or as generated source |
//!
//! All three return the same messages and the same errors, through [`Decode`]. An [`OpraMessage`] is a
//! view of the decoder's record; [`OpraMessage::typed`] turns it into a struct by category.
//!
//! ```
//! use tickwire_opra::{Decode, Field, OpraEncoder, OpraMessageDraft, OpraVersion, bottom_up};
//!
//! let mut draft = OpraMessageDraft::new(OpraVersion::V2);
//! for (field, value) in [
//!     (Field::Category, u32::from(b'C')),
//!     (Field::MessageType, 32),
//!     (Field::Participant, u32::from(b'O')),
//!     (Field::Retransmission, 32),
//!     (Field::Time, 93_015_123),
//! ] {
//!     draft.set_number(field, value);
//! }
//! draft.set_seq_num(1);
//! draft.set_text(Field::Text, "EQUITY VOLUME")?;
//!
//! let mut encoder = OpraEncoder::new(OpraVersion::V2);
//! encoder.begin(1);
//! encoder.push(&draft.message()?)?;
//! let packet = encoder.finish()?.to_vec();
//!
//! let summary = bottom_up::BottomUpDecoder::new().decode_packet(&packet, |message| {
//!     assert_eq!(message.seq_num(), Some(1));
//!     assert_eq!(message.text().unwrap().to_string(), "EQUITY VOLUME");
//! })?;
//! assert_eq!(summary.messages, 1);
//! assert_eq!(summary.warnings().count(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `analysis` | Building blocks and stages of the decoders as separate kernels, which `tickwire opra bench --analysis` measures. No decoder uses them. |

pub mod ascii;
pub mod bottom_up;
mod category;
mod codes;
mod draft;
mod encoder;
mod error;
mod field;
pub mod generate;
mod generated;
pub mod grammar;
pub mod json;
mod packet;
mod parallel;
mod record;
pub mod reference;
mod typed;
mod writer;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use category::{
    Appendage, BEST_BID, BEST_OFFER, Category, GROUP_ENTRIES_MAX, OpraGroup, appendage_of, group_of,
};
pub use codes::OpraDecimal;
pub use draft::OpraMessageDraft;
pub use encoder::{OpraEncodeError, OpraEncodeErrorKind, OpraEncoder};
pub use error::{ErrorCause, OpraError, OpraErrorKind};
pub use field::{Field, INTEGER_BYTES_MAX, OpraFieldKind, PRESENCE_MAP_BYTES_MAX, TEXT_CHARS_MAX};
pub use packet::{OpraHeader, OpraSummary, PACKET_BYTES_MAX, Warning, peek};
pub use parallel::decode_parallel;
pub use record::{Chars, OpraEntry, OpraMessage, WireText};
pub use typed::{
    BestBid, BestOffer, EndOfDay, FcoEndOfDay, FcoLastSale, FcoQuote, LastSale, OpenInterest,
    OptionKey, Preamble, Price, Quote, Typed,
};

/// A version of the format; each packet identifies its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpraVersion {
    /// 1.03: without a packet header, with reserved fields.
    V1,
    /// 2.0.
    V2,
}

impl OpraVersion {
    /// Returns the version as the specification writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1.03",
            Self::V2 => "2.0",
        }
    }
}

/// A decoder of packets.
pub trait Decode {
    /// Decodes one packet and shows each message to `visit`, in wire order.
    ///
    /// If the packet is invalid, the messages before the failing one have been shown.
    ///
    /// # Errors
    ///
    /// [`OpraError`] with the position of the failure; the rest of the packet is dropped.
    fn decode_packet(
        &mut self,
        packet: &[u8],
        visit: impl FnMut(OpraMessage<'_>),
    ) -> Result<OpraSummary, OpraError>;
}
