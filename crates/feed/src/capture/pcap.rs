//! The pcap container: a file header, then records.

use std::io::Read;

use super::error::{CaptureError, CapturePart};
use super::link::LinkType;
use super::options::CaptureLimits;
use super::source::CaptureInput;
use crate::endian::{Endian, array_at};

/// First four bytes of a file whose records count microseconds, as a number.
pub(super) const MAGIC_MICROSECONDS: u32 = 0xA1B2_C3D4;
/// First four bytes of a file whose records count nanoseconds, as a number.
pub(super) const MAGIC_NANOSECONDS: u32 = 0xA1B2_3C4D;

/// Length of the header of a file.
const HEADER_BYTES: usize = 24;

pub(super) const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Metadata of the current packet in its container.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketRecord {
    /// File offset of the packet bytes.
    pub(super) file_offset: u64,
    pub(super) timestamp_ns: Option<u64>,
    /// Length of the packet on the wire; the capture may contain fewer bytes.
    pub(super) wire_bytes: u32,
    pub(super) link: LinkType,
}

/// Returns whether a file that starts with `first` is a pcap file.
pub(super) fn is_pcap(first: &[u8]) -> bool {
    array_at(first, 0).and_then(magic).is_some()
}

/// Returns byte order and units of the sub-second field in nanoseconds.
fn magic(bytes: [u8; 4]) -> Option<(Endian, u64)> {
    [Endian::Big, Endian::Little].into_iter().find_map(|endian| match endian.u32(bytes) {
        MAGIC_MICROSECONDS => Some((endian, 1000)),
        MAGIC_NANOSECONDS => Some((endian, 1)),
        _ => None,
    })
}

/// A pcap file after its header.
#[derive(Clone, Copy, Debug)]
pub(super) struct PcapFile {
    header: [u8; HEADER_BYTES],
    endian: Endian,
    tick_ns: u64,
    link: LinkType,
}

impl PcapFile {
    /// Reads the header of the file.
    pub(super) fn open<R: Read>(source: &mut CaptureInput<R>) -> Result<Self, CaptureError> {
        let header: [u8; HEADER_BYTES] = source.array(CapturePart::FileHeader)?;
        let [m0, m1, m2, m3, .., l0, l1, l2, l3] = header;
        let first = [m0, m1, m2, m3];
        let (endian, tick_ns) = magic(first).ok_or(CaptureError::NotPcap { magic: first })?;
        // The upper half of the field describes frame check sequences, not the link.
        let link_type = endian.u32([l0, l1, l2, l3]) & 0xFFFF;
        match LinkType::from_number(link_type) {
            LinkType::Unknown => Err(CaptureError::LinkType { link_type }),
            link => Ok(Self { header, endian, tick_ns, link }),
        }
    }

    /// Returns the header of the file, as it was read.
    pub(super) const fn header(&self) -> &[u8] {
        &self.header
    }

    /// Reads the next record's packet into `data`; `None` at the end of the file.
    pub(super) fn next_record<R: Read>(
        &self,
        source: &mut CaptureInput<R>,
        limits: &CaptureLimits,
        data: &mut Vec<u8>,
    ) -> Result<Option<PacketRecord>, CaptureError> {
        let offset = source.position();
        let Some(header) = source.header::<16>(CapturePart::RecordHeader)? else { return Ok(None) };
        let field =
            |index: usize| array_at(&header, index * 4).map_or(0, |bytes| self.endian.u32(bytes));
        let [seconds, fraction, len, wire_bytes] = [0, 1, 2, 3].map(field);
        check_len(offset, len, limits)?;
        let file_offset = source.position();
        source.read(CapturePart::Packet, data, len as usize)?;
        let timestamp_ns =
            u64::from(seconds) * NANOSECONDS_PER_SECOND + u64::from(fraction) * self.tick_ns;
        let timestamp_ns = Some(timestamp_ns);
        Ok(Some(PacketRecord { file_offset, timestamp_ns, wire_bytes, link: self.link }))
    }
}

/// Checks the length of a record of pcap or pcapng before it is read.
pub(super) fn check_len(offset: u64, len: u32, limits: &CaptureLimits) -> Result<(), CaptureError> {
    if len as usize <= limits.record_bytes_max {
        return Ok(());
    }
    let len_max = limits.record_bytes_max as u64;
    Err(CaptureError::PacketTooLong { offset, len: u64::from(len), len_max })
}
