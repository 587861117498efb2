//! The bottom-up decoder: decodes whole messages by masks instead of field by field.
//!
//! It uses three 64-bit masks: the stop bits of a message, its presence map, and the fields of its
//! category. If they agree, each field takes a shift and a store. Two engines work this way, with
//! equal results: a portable one, and one that decodes all integers of a message at once with
//! 512-bit vectors.
//!
//! Both support only the common shapes: version 2.0, categories without group and text, messages of
//! at most 63 bytes. All other messages are decoded by the [`reference`](mod@crate::reference)
//! decoder on the same record. If an engine finds a message invalid after it has changed the
//! record, the reference decoder decodes the packet again from its start, to find position and kind
//! of the error.

#[cfg(feature = "analysis")]
pub mod blocks;
mod drive;
mod portable;
mod tables;

#[cfg(target_arch = "x86_64")]
pub(crate) use drive::{LEN_MAX, PacketJob, run};
#[cfg(target_arch = "x86_64")]
pub(crate) use tables::BASE;

pub(crate) use drive::RecordOutcome;
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use drive::tests::outcomes;
pub(crate) use portable::{BlockState, decode_items};
pub(crate) use tables::{base_of, message_fields};

use crate::packet::{PACKET_BYTES_MAX, open};
use crate::record::OpraRecord;
use crate::reference;
#[cfg(target_arch = "x86_64")]
use crate::x86::{self, OpraAvx512};
use crate::{Decode, OpraEntry, OpraError, OpraMessage, OpraSummary, OpraVersion};

/// The instruction set of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BottomUpEngine {
    /// 512-bit vectors (AVX-512 with VBMI2, and GFNI and BMI2).
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Instructions that every CPU supports.
    Portable,
}

impl BottomUpEngine {
    /// Returns the fastest engine for this CPU.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if OpraAvx512::detect().is_some() {
            return Self::Avx512;
        }
        Self::Portable
    }

    /// Returns the proof that the CPU has the vector instructions, if this engine needs it.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn wide(self) -> Option<OpraAvx512> {
        if self == Self::Avx512 { OpraAvx512::detect() } else { None }
    }

    /// Returns all engines that this CPU supports.
    pub fn available() -> Vec<Self> {
        let mut engines = vec![Self::Portable];
        let fastest = Self::detect();
        if fastest != Self::Portable {
            engines.push(fastest);
        }
        engines
    }
}

/// Bytes that may be read past any offset in a packet.
pub(crate) const PADDING_BYTES: usize = 128;

/// A copy of the packet with padding, so that a fixed number of bytes can be read at any offset.
pub(crate) type Padded = [u8; PACKET_BYTES_MAX + 1 + PADDING_BYTES];

/// Allocates a packet buffer directly on the heap.
pub(crate) fn new_padded() -> Box<Padded> {
    let padded = vec![0; size_of::<Padded>()].into_boxed_slice();
    let Ok(padded) = padded.try_into() else { unreachable!("the length is that of the array") };
    padded
}

/// Decodes packets by masks.
pub struct BottomUpDecoder {
    /// Present if the vector engine is used.
    #[cfg(target_arch = "x86_64")]
    wide: Option<OpraAvx512>,
    record: OpraRecord,
    entries: Vec<OpraEntry>,
    padded: Box<Padded>,
}

impl Default for BottomUpDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl BottomUpDecoder {
    /// Creates a decoder with the fastest engine of this CPU.
    pub fn new() -> Self {
        Self::with(BottomUpEngine::detect())
    }

    /// Creates a decoder with `engine`; `None` if this CPU does not support it.
    pub fn with_engine(engine: BottomUpEngine) -> Option<Self> {
        BottomUpEngine::available().contains(&engine).then(|| Self::with(engine))
    }

    fn with(engine: BottomUpEngine) -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            wide: engine.wide(),
            record: OpraRecord::default(),
            entries: Vec::new(),
            padded: new_padded(),
        }
    }

    /// Returns the engine in use.
    pub fn engine(&self) -> BottomUpEngine {
        #[cfg(target_arch = "x86_64")]
        if self.wide.is_some() {
            return BottomUpEngine::Avx512;
        }
        BottomUpEngine::Portable
    }
}

impl Decode for BottomUpDecoder {
    #[inline]
    fn decode_packet(
        &mut self,
        packet: &[u8],
        visit: impl FnMut(OpraMessage<'_>),
    ) -> Result<OpraSummary, OpraError> {
        let (version, header, offset) = open(packet)?;
        if version == OpraVersion::V1 {
            return reference::decode(packet, 0, &mut self.record, &mut self.entries, visit);
        }
        let summary = OpraSummary { version, header, messages: 0, first_seq_num: None };
        self.padded[..packet.len()].copy_from_slice(packet);
        self.record.reset();
        let job = drive::PacketJob { packet, offset, summary };
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide {
            return x86::decode::decode(wide, self, job, visit);
        }
        // A separate closure for each visitor, so that it is inlined.
        let engine = |padded: &Padded, frame, state: &mut BlockState, record: &mut OpraRecord| {
            portable::message(padded, frame, state, record)
        };
        drive::run(self, job, engine, visit)
    }
}
