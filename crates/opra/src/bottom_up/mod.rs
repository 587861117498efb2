//! The bottom-up decoder: a message is taken as a whole, by masks, instead of field by field.
//!
//! The stop bits of a message are one mask, its presence map another, the fields of its category a third.
//! Where they agree, every field is a shift and a store away. Two engines do that, with equal results:
//! a portable one, and one that expands all integers of a message at once with 512-bit vectors.
//!
//! Both take the common shapes only: version 2.0, categories without group and text, messages of at most
//! 63 bytes. Other messages go through the walk of the [`reference`](mod@crate::reference) decoder, on the
//! same record. A message that turns out to be wrong after the record was changed is decoded again by
//! that walk from the start of its packet, which finds the place and kind of the error.

pub mod blocks;
mod drive;
mod portable;
mod tables;

#[cfg(target_arch = "x86_64")]
pub(crate) use drive::{Job, LEN_MAX, run};
#[cfg(target_arch = "x86_64")]
pub(crate) use tables::BASE;

pub(crate) use drive::Outcome;
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use drive::tests::outcomes;
pub(crate) use portable::{State, decode_items};
pub(crate) use tables::{base_of, message_fields};

use crate::packet::{PACKET_BYTES_MAX, open};
use crate::record::Record;
use crate::reference;
#[cfg(target_arch = "x86_64")]
use crate::x86::{self, Avx512};
use crate::{Decode, Entry, Error, Message, Summary, Version};

/// Which instructions a decoder uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// 512-bit vectors (AVX-512 with VBMI2, and GFNI and BMI2).
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Instructions that every CPU has.
    Portable,
}

impl Engine {
    /// The fastest engine of this CPU.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if Avx512::detect().is_some() {
            return Self::Avx512;
        }
        Self::Portable
    }

    /// The right to use vectors, if this engine does and the CPU has them.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn wide(self) -> Option<Avx512> {
        if self == Self::Avx512 { Avx512::detect() } else { None }
    }

    /// Every engine this CPU can run.
    pub fn available() -> Vec<Self> {
        let mut engines = vec![Self::Portable];
        let fastest = Self::detect();
        if fastest != Self::Portable {
            engines.push(fastest);
        }
        engines
    }
}

/// Bytes that can be read behind any offset in a packet.
pub(crate) const PADDING_BYTES: usize = 128;

/// A copy of the packet with room behind it, so that a fixed number of bytes can be read anywhere.
pub(crate) type Padded = [u8; PACKET_BYTES_MAX + 1 + PADDING_BYTES];

/// Room for a packet, on the heap from the start.
pub(crate) fn new_padded() -> Box<Padded> {
    let padded = vec![0; size_of::<Padded>()].into_boxed_slice();
    let Ok(padded) = padded.try_into() else { unreachable!("the length is that of the array") };
    padded
}

/// Decodes packets by masks.
pub struct Decoder {
    /// Present for the engine of vectors.
    #[cfg(target_arch = "x86_64")]
    wide: Option<Avx512>,
    record: Record,
    entries: Vec<Entry>,
    padded: Box<Padded>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder with the fastest engine of this CPU.
    pub fn new() -> Self {
        Self::with(Engine::detect())
    }

    /// A decoder with `engine`; `None` if this CPU cannot run it.
    pub fn with_engine(engine: Engine) -> Option<Self> {
        Engine::available().contains(&engine).then(|| Self::with(engine))
    }

    fn with(engine: Engine) -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            wide: engine.wide(),
            record: Record::default(),
            entries: Vec::new(),
            padded: new_padded(),
        }
    }

    /// The engine in use.
    pub fn engine(&self) -> Engine {
        #[cfg(target_arch = "x86_64")]
        if self.wide.is_some() {
            return Engine::Avx512;
        }
        Engine::Portable
    }
}

impl Decode for Decoder {
    #[inline]
    fn decode_packet(
        &mut self,
        packet: &[u8],
        visit: impl FnMut(Message<'_>),
    ) -> Result<Summary, Error> {
        let (version, header, offset) = open(packet)?;
        if version == Version::V1 {
            return reference::decode(packet, 0, &mut self.record, &mut self.entries, visit);
        }
        let summary = Summary { version, header, messages: 0, first_seq_num: None };
        self.padded[..packet.len()].copy_from_slice(packet);
        self.record.reset();
        let job = drive::Job { packet, offset, summary };
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide {
            return x86::decode::decode(wide, self, job, visit);
        }
        // A closure of its own for each visitor, so that it is inlined.
        let engine = |padded: &Padded, frame, state: &mut State, record: &mut Record| {
            portable::message(padded, frame, state, record)
        };
        drive::run(self, job, engine, visit)
    }
}
