//! Reads an OPRA capture packet by packet.

use crate::fault::DecodeFault;
use crate::pull::CaptureFile;
use crate::warnings::Warnings;
use tickwire_captures::plan::SplitReader;
use tickwire_captures::{PacketPlace, not_a_datagram};
use tickwire_feed::capture::{CaptureKind, Packet};
use tickwire_opra::{Decode, OpraMessage, PACKET_BYTES_MAX, bottom_up};
use tickwire_text::Header;

/// An OPRA capture being decoded.
pub struct OpraPuller {
    reader: SplitReader,
    /// True if the file is a single packet.
    is_raw: bool,
    /// Boxed: the decoder needs SIMD alignment, which Python objects do not have.
    decoder: Box<bottom_up::BottomUpDecoder>,
    warnings: Warnings,
    has_begun: bool,
    is_ended: bool,
    faults: Vec<DecodeFault>,
}

impl OpraPuller {
    /// Opens a capture.
    pub fn new(source: &CaptureFile, warnings: Warnings) -> Result<Self, String> {
        let reader = source.open()?;
        let is_raw = reader.kind() == CaptureKind::Stream;
        let decoder = Box::new(bottom_up::BottomUpDecoder::new());
        let faults = Vec::new();
        Ok(Self { reader, is_raw, decoder, warnings, has_begun: false, is_ended: false, faults })
    }

    /// True at the end of the capture.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Returns the errors since the last call.
    pub fn take_faults(&mut self) -> Vec<DecodeFault> {
        std::mem::take(&mut self.faults)
    }

    /// Decodes the next packet; `take` may reject a message.
    pub fn step(
        &mut self,
        mut take: impl FnMut(&Header<'_>, &OpraMessage<'_>) -> Result<(), Box<DecodeFault>>,
    ) {
        let next = match self.is_raw {
            true if self.has_begun => Ok(None),
            true => self.reader.read_whole(PACKET_BYTES_MAX).map(Some),
            false => self.reader.next_packet(),
        };
        self.has_begun = true;
        match next {
            Ok(Some(packet)) => decode(
                &mut self.decoder,
                &packet,
                self.is_raw,
                &self.warnings,
                &mut self.faults,
                &mut take,
            ),
            Ok(None) => self.end(),
            Err(error) => {
                self.faults.push(DecodeFault::of_file(error.to_string()));
                self.end();
            }
        }
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.is_ended, true) {
            let missing = self.reader.statistics().missing();
            self.faults.extend(missing.map(|text| DecodeFault::of_file(text.to_string())));
            if let Some(text) = self.reader.statistics().times_back() {
                self.warnings.note(|| text);
            }
        }
    }
}

fn decode(
    decoder: &mut bottom_up::BottomUpDecoder,
    packet: &Packet<'_>,
    is_raw: bool,
    warnings: &Warnings,
    faults: &mut Vec<DecodeFault>,
    take: &mut impl FnMut(&Header<'_>, &OpraMessage<'_>) -> Result<(), Box<DecodeFault>>,
) {
    let place = PacketPlace::of(packet);
    let failed = |why: String| DecodeFault::of_packet(place, format!("{place}: {why}"));
    if let Some(why) = not_a_datagram(packet, is_raw) {
        return faults.push(failed(why));
    }
    let decoded = decoder.decode_packet(packet.bytes, |message| {
        let header = Header {
            packet: Some(packet.index),
            time_ns: packet.timestamp_ns,
            source: packet.source,
            destination: packet.destination,
            offset: Some(message.offset().into()),
            ..Header::default()
        };
        faults.extend(take(&header, &message).err().map(|fault| *fault));
    });
    match decoded {
        Ok(summary) => {
            for warning in summary.warnings() {
                warnings.note(|| format!("{place}: {warning}"));
            }
        }
        Err(error) => {
            let offset = Some(error.offset as u64);
            faults.push(DecodeFault { offset, ..failed(error.to_string()) });
        }
    }
}
