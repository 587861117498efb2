//! The decoder that the command line names.

use clap::ValueEnum;
use tickwire_opra::{Decode, Error, Message, Summary, bottom_up, grammar, reference};

/// A decoder by name; all give the same messages and errors.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DecoderName {
    /// Field by field in wire order.
    Reference,
    /// Whole messages by masks.
    BottomUp,
    /// Driven by a packet grammar.
    Grammar,
}

impl DecoderName {
    /// A decoder of this name.
    pub fn decoder(self) -> Decoder {
        match self {
            Self::Reference => Decoder::Reference(Box::default()),
            Self::BottomUp => Decoder::BottomUp(Box::default()),
            Self::Grammar => Decoder::Grammar(Box::new(grammar::Decoder::generated())),
        }
    }
}

/// Any of the decoders.
pub enum Decoder {
    Reference(Box<reference::Decoder>),
    BottomUp(Box<bottom_up::Decoder>),
    Grammar(Box<grammar::Decoder>),
}

impl Decode for Decoder {
    fn decode_packet(
        &mut self,
        packet: &[u8],
        visit: impl FnMut(Message<'_>),
    ) -> Result<Summary, Error> {
        match self {
            Self::Reference(decoder) => decoder.decode_packet(packet, visit),
            Self::BottomUp(decoder) => decoder.decode_packet(packet, visit),
            Self::Grammar(decoder) => decoder.decode_packet(packet, visit),
        }
    }
}
