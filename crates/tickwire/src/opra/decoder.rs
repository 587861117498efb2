//! The decoder that the command line names.

use crate::failure::Failure;
use clap::ValueEnum;
use std::fmt;
use tickwire_opra::bottom_up::BottomUpEngine;
use tickwire_opra::{Decode, OpraError, OpraMessage, OpraSummary, bottom_up, grammar, reference};

/// A decoder by name; all return the same messages and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DecoderName {
    /// Field by field in wire order.
    Reference,
    /// Whole messages by bit masks, with the best instructions of this CPU.
    BottomUp,
    /// The same, with instructions of every x86-64 CPU.
    BottomUpPortable,
    /// The same, with 512-bit vectors.
    BottomUpAvx512,
    /// A packet grammar, compiled to Rust at build time.
    #[value(alias = "grammar-generated")]
    Grammar,
    /// A packet grammar, compiled to tables when the command starts.
    GrammarRuntime,
}

impl DecoderName {
    /// Every decoder once.
    #[cfg(feature = "bench")]
    pub const DISTINCT: [Self; 5] = [
        Self::Reference,
        Self::BottomUpPortable,
        Self::BottomUpAvx512,
        Self::GrammarRuntime,
        Self::Grammar,
    ];

    /// A decoder of this name.
    ///
    /// # Errors
    /// [`Failure::Usage`] if this CPU cannot run it.
    pub fn decoder(self) -> Result<OpraDecoder, Failure> {
        self.available().ok_or_else(|| {
            Failure::Usage(format!("this CPU cannot run the decoder {self}: use bottom-up"))
        })
    }

    /// A decoder of this name, if this CPU can run it.
    pub fn available(self) -> Option<OpraDecoder> {
        let bottom_up = |engine| {
            let decoder = bottom_up::BottomUpDecoder::with_engine(engine)?;
            Some(OpraDecoder::BottomUp(Box::new(decoder)))
        };
        match self {
            Self::Reference => Some(OpraDecoder::Reference(Box::default())),
            Self::BottomUp => Some(OpraDecoder::BottomUp(Box::default())),
            Self::BottomUpPortable => bottom_up(BottomUpEngine::Portable),
            #[cfg(target_arch = "x86_64")]
            Self::BottomUpAvx512 => bottom_up(BottomUpEngine::Avx512),
            #[cfg(not(target_arch = "x86_64"))]
            Self::BottomUpAvx512 => None,
            Self::Grammar => {
                Some(OpraDecoder::Grammar(Box::new(grammar::GrammarDecoder::generated())))
            }
            Self::GrammarRuntime => {
                let decoder = grammar::GrammarDecoder::from_grammar(grammar::GRAMMAR).ok()?;
                Some(OpraDecoder::Grammar(Box::new(decoder)))
            }
        }
    }
}

impl fmt::Display for DecoderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reference => "reference",
            Self::BottomUp => "bottom-up",
            Self::BottomUpPortable => "bottom-up-portable",
            Self::BottomUpAvx512 => "bottom-up-avx512",
            Self::Grammar => "grammar-generated",
            Self::GrammarRuntime => "grammar-runtime",
        })
    }
}

/// Any of the decoders.
pub enum OpraDecoder {
    Reference(Box<reference::ReferenceDecoder>),
    BottomUp(Box<bottom_up::BottomUpDecoder>),
    Grammar(Box<grammar::GrammarDecoder>),
}

impl Decode for OpraDecoder {
    fn decode_packet(
        &mut self,
        packet: &[u8],
        visit: impl FnMut(OpraMessage<'_>),
    ) -> Result<OpraSummary, OpraError> {
        match self {
            Self::Reference(decoder) => decoder.decode_packet(packet, visit),
            Self::BottomUp(decoder) => decoder.decode_packet(packet, visit),
            Self::Grammar(decoder) => decoder.decode_packet(packet, visit),
        }
    }
}
