//! The pcapng container: sections of blocks.

use std::io::Read;

use super::error::{BlockFault, CaptureError, CapturePart};
use super::link::LinkType;
use super::options::CaptureLimits;
use super::pcap::{NANOSECONDS_PER_SECOND, PacketRecord, check_len};
use super::source::CaptureInput;
use crate::endian::{Endian, array_at};

/// Type of a section header block, equal in both byte orders.
pub(super) const SECTION_HEADER: u32 = 0x0A0D_0D0A;
pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
/// Superseded by the enhanced packet block; old files still have it.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
pub(super) const ENHANCED_PACKET: u32 = 6;

pub(super) const OPTION_END: u16 = 0;
pub(super) const OPTION_TIMESTAMP_RESOLUTION: u16 = 9;
const OPTION_TIMESTAMP_OFFSET: u16 = 14;

/// Type, length at the start and length at the end.
const BLOCK_FRAME_BYTES: u64 = 12;
/// Longest interface description that is read.
const INTERFACE_BYTES_MAX: u64 = 64 << 10;

/// Returns whether a file that starts with `first` is a pcapng file.
pub(super) fn is_pcapng(first: &[u8]) -> bool {
    array_at(first, 0) == Some(SECTION_HEADER.to_be_bytes())
        && array_at(first, 8).and_then(byte_order).is_some()
}

fn byte_order(magic: [u8; 4]) -> Option<Endian> {
    [Endian::Big, Endian::Little].into_iter().find(|endian| endian.u32(magic) == BYTE_ORDER_MAGIC)
}

/// Properties of an interface that its packets need.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: LinkType,
    snapshot_bytes: u32,
    /// `if_tsresol`: a power of 10, or of 2 if the highest bit is set.
    resolution: u8,
    offset_seconds: i64,
}

impl Interface {
    fn timestamp_ns(&self, ticks: u64) -> Option<u64> {
        let power = u32::from(self.resolution & 0x7F);
        let scaled = u128::from(ticks) * u128::from(NANOSECONDS_PER_SECOND);
        let since_offset = if self.resolution & 0x80 == 0 {
            scaled / 10_u128.checked_pow(power)?
        } else {
            scaled >> power
        };
        let offset = i128::from(self.offset_seconds) * i128::from(NANOSECONDS_PER_SECOND);
        u64::try_from(i128::try_from(since_offset).ok()?.checked_add(offset)?).ok()
    }
}

/// A block being read: type, offset, length, and the part of its content that is not yet read.
#[derive(Clone, Copy, Debug)]
struct PcapngBlock {
    kind: u32,
    offset: u64,
    len: u32,
    left: u64,
}

impl PcapngBlock {
    fn fault(&self, fault: BlockFault) -> CaptureError {
        CaptureError::Block { offset: self.offset, fault }
    }

    /// Reserves `len` bytes of the block's content for reading.
    fn take(&mut self, len: u64, fault: BlockFault) -> Result<(), CaptureError> {
        self.left = self.left.checked_sub(len).ok_or(self.fault(fault))?;
        Ok(())
    }
}

/// A pcapng file, inside a section.
#[derive(Clone, Debug)]
pub(super) struct PcapNgFile {
    endian: Endian,
    interfaces: Vec<Interface>,
    description: Vec<u8>,
    /// The header of the section without its options, and the descriptions of its interfaces.
    header: Vec<u8>,
}

impl PcapNgFile {
    /// Starts before the header of the first section.
    pub(super) const fn new() -> Self {
        Self {
            endian: Endian::Big,
            interfaces: Vec::new(),
            description: Vec::new(),
            header: Vec::new(),
        }
    }

    /// Returns the header that later records need: a file that begins with it reads them in the
    /// same way.
    pub(super) fn header(&self) -> &[u8] {
        &self.header
    }

    /// Reads up to the next packet and its bytes into `data`; `None` at the end of the file.
    pub(super) fn next_record<R: Read>(
        &mut self,
        source: &mut CaptureInput<R>,
        limits: &CaptureLimits,
        data: &mut Vec<u8>,
    ) -> Result<Option<PacketRecord>, CaptureError> {
        while let Some(mut block) = self.start_block(source)? {
            let record = match block.kind {
                ENHANCED_PACKET | PACKET => {
                    Some(self.read_packet(source, limits, &mut block, data)?)
                }
                SIMPLE_PACKET => Some(self.read_simple_packet(source, limits, &mut block, data)?),
                INTERFACE_DESCRIPTION => {
                    self.read_interface(source, limits, &mut block)?;
                    None
                }
                _ => None,
            };
            self.end_block(source, block)?;
            if record.is_some() {
                return Ok(record);
            }
        }
        Ok(None)
    }

    fn start_block<R: Read>(
        &mut self,
        source: &mut CaptureInput<R>,
    ) -> Result<Option<PcapngBlock>, CaptureError> {
        let offset = source.position();
        let Some([t0, t1, t2, t3, l0, l1, l2, l3]) = source.header(CapturePart::RecordHeader)?
        else {
            return Ok(None);
        };
        let kind = self.endian.u32([t0, t1, t2, t3]);
        let mut block = PcapngBlock { kind, offset, len: 0, left: 0 };
        let is_section = kind == SECTION_HEADER;
        if is_section {
            let magic = source.array(CapturePart::FileHeader)?;
            self.endian = byte_order(magic).ok_or(block.fault(BlockFault::ByteOrder))?;
            self.interfaces.clear();
            self.header.clear();
            self.keep(SECTION_HEADER, &section_header(magic));
        }
        block.len = self.endian.u32([l0, l1, l2, l3]);
        if !block.len.is_multiple_of(4) {
            return Err(block.fault(BlockFault::Length));
        }
        block.left = u64::from(block.len);
        block.take(BLOCK_FRAME_BYTES, BlockFault::Length)?;
        if is_section {
            block.take(4, BlockFault::Length)?;
        }
        Ok(Some(block))
    }

    fn end_block<R: Read>(
        &self,
        source: &mut CaptureInput<R>,
        block: PcapngBlock,
    ) -> Result<(), CaptureError> {
        source.skip(CapturePart::Block, block.left)?;
        let len = self.endian.u32(source.array(CapturePart::Block)?);
        if len == block.len { Ok(()) } else { Err(block.fault(BlockFault::LengthsDiffer)) }
    }

    /// Reads an enhanced packet block or a packet block; they differ in the first four bytes.
    fn read_packet<R: Read>(
        &self,
        source: &mut CaptureInput<R>,
        limits: &CaptureLimits,
        block: &mut PcapngBlock,
        data: &mut Vec<u8>,
    ) -> Result<PacketRecord, CaptureError> {
        block.take(20, BlockFault::Length)?;
        let header: [u8; 20] = source.array(CapturePart::Block)?;
        let field =
            |index: usize| array_at(&header, index * 4).map_or(0, |bytes| self.endian.u32(bytes));
        let [_, ticks_high, ticks_low, len, wire_bytes] = [0, 1, 2, 3, 4].map(field);
        let [i0, i1, ..] = header;
        let interface = match block.kind {
            PACKET => u32::from(self.endian.u16([i0, i1])),
            _ => field(0),
        };
        let interface = self.interface(interface, block)?;
        let ticks = u64::from(ticks_high) << 32 | u64::from(ticks_low);
        let timestamp_ns = interface.timestamp_ns(ticks);
        let file_offset = read_data(source, limits, block, len, data)?;
        Ok(PacketRecord { file_offset, timestamp_ns, wire_bytes, link: interface.link })
    }

    /// Reads a simple packet block: first interface, no time, truncated to the snapshot length.
    fn read_simple_packet<R: Read>(
        &self,
        source: &mut CaptureInput<R>,
        limits: &CaptureLimits,
        block: &mut PcapngBlock,
        data: &mut Vec<u8>,
    ) -> Result<PacketRecord, CaptureError> {
        block.take(4, BlockFault::Length)?;
        let wire_bytes = self.endian.u32(source.array(CapturePart::Block)?);
        let interface = self.interface(0, block)?;
        let len = match interface.snapshot_bytes {
            0 => wire_bytes,
            snapshot_bytes => wire_bytes.min(snapshot_bytes),
        };
        let file_offset = read_data(source, limits, block, len, data)?;
        Ok(PacketRecord { file_offset, timestamp_ns: None, wire_bytes, link: interface.link })
    }

    fn interface(&self, index: u32, block: &PcapngBlock) -> Result<Interface, CaptureError> {
        self.interfaces.get(index as usize).copied().ok_or(block.fault(BlockFault::Interface))
    }

    fn read_interface<R: Read>(
        &mut self,
        source: &mut CaptureInput<R>,
        limits: &CaptureLimits,
        block: &mut PcapngBlock,
    ) -> Result<(), CaptureError> {
        if self.interfaces.len() >= limits.interfaces_max {
            return Err(block.fault(BlockFault::InterfacesTooMany));
        }
        if block.left > INTERFACE_BYTES_MAX {
            return Err(block.fault(BlockFault::InterfaceTooLong));
        }
        source.read(CapturePart::Block, &mut self.description, block.left as usize)?;
        block.left = 0;
        let interface = self.parse_interface().ok_or(block.fault(BlockFault::Length))?;
        self.interfaces.push(interface);
        let description = std::mem::take(&mut self.description);
        self.keep(INTERFACE_DESCRIPTION, &description);
        self.description = description;
        Ok(())
    }

    /// Appends a block to the kept header.
    fn keep(&mut self, kind: u32, content: &[u8]) {
        let len = self.endian.u32_bytes(content.len() as u32 + BLOCK_FRAME_BYTES as u32);
        for part in [&self.endian.u32_bytes(kind)[..], &len, content, &len] {
            self.header.extend_from_slice(part);
        }
    }

    fn parse_interface(&self) -> Option<Interface> {
        let description = &self.description;
        let link_type = self.endian.u16(array_at(description, 0)?);
        let mut interface = Interface {
            link: LinkType::from_number(u32::from(link_type)),
            snapshot_bytes: self.endian.u32(array_at(description, 4)?),
            resolution: 6,
            offset_seconds: 0,
        };
        let mut offset = 8;
        while let Some(code) = array_at(description, offset).map(|bytes| self.endian.u16(bytes)) {
            let len = usize::from(self.endian.u16(array_at(description, offset + 2)?));
            let value = description.get(offset + 4..)?.get(..len)?;
            match code {
                OPTION_END => break,
                OPTION_TIMESTAMP_RESOLUTION => interface.resolution = *value.first()?,
                OPTION_TIMESTAMP_OFFSET if len == 8 => {
                    interface.offset_seconds = self.endian.number(value)?.cast_signed();
                }
                _ => {}
            }
            offset += 4 + len.next_multiple_of(4);
        }
        Some(interface)
    }
}

/// Returns the content of a section header: version 0.0, which readers ignore, and an unknown
/// length.
fn section_header([m0, m1, m2, m3]: [u8; 4]) -> [u8; 16] {
    let mut content = [u8::MAX; 16];
    content[..8].copy_from_slice(&[m0, m1, m2, m3, 0, 0, 0, 0]);
    content
}

/// Reads the bytes of a packet and returns where they start in the file.
fn read_data<R: Read>(
    source: &mut CaptureInput<R>,
    limits: &CaptureLimits,
    block: &mut PcapngBlock,
    len: u32,
    data: &mut Vec<u8>,
) -> Result<u64, CaptureError> {
    check_len(block.offset, len, limits)?;
    block.take(u64::from(len), BlockFault::PacketLength)?;
    let file_offset = source.position();
    source.read(CapturePart::Packet, data, len as usize)?;
    Ok(file_offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(resolution: u8, offset_seconds: i64) -> Interface {
        let link = LinkType::Ethernet;
        Interface { link, snapshot_bytes: 0, resolution, offset_seconds }
    }

    #[test]
    fn timestamps_of_any_resolution_are_nanoseconds() {
        assert_eq!(interface(6, 0).timestamp_ns(1_500_000), Some(1_500_000_000));
        assert_eq!(interface(9, 0).timestamp_ns(7), Some(7));
        assert_eq!(interface(0, 1).timestamp_ns(2), Some(3_000_000_000));
        assert_eq!(interface(12, 0).timestamp_ns(5_999), Some(5));
        assert_eq!(interface(0x80 | 10, 0).timestamp_ns(1024), Some(1_000_000_000));
    }

    #[test]
    fn timestamps_out_of_range_are_absent() {
        assert_eq!(interface(0, 0).timestamp_ns(u64::MAX), None);
        assert_eq!(interface(9, -1).timestamp_ns(0), None);
        assert_eq!(interface(127, 0).timestamp_ns(u64::MAX), None);
        assert_eq!(interface(0xFF, i64::MAX).timestamp_ns(u64::MAX), None);
        assert_eq!(interface(0xFF, 0).timestamp_ns(u64::MAX), Some(0));
    }
}
