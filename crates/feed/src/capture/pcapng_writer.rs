//! Writes pcapng files that hold UDP datagrams of several interfaces.

use std::io::Write;
use std::net::SocketAddrV4;

use super::PcapWriteError;
use super::frame::{LINK_TYPE_ETHERNET, SNAPSHOT_BYTES, append_frame};
use super::pcapng::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE_DESCRIPTION, OPTION_END,
    OPTION_TIMESTAMP_RESOLUTION, SECTION_HEADER,
};

const VERSION: [u16; 2] = [1, 0];
/// The length of the section is unspecified: readers continue to the end of the file.
const SECTION_LENGTH_UNKNOWN: u64 = u64::MAX;
const OPTION_INTERFACE_NAME: u16 = 2;
/// `if_tsresol`: 10^-9 seconds.
const NANOSECONDS: u8 = 9;
/// Longest name of an interface, in bytes.
const NAME_BYTES_MAX: usize = 1024;

/// Writes a pcapng file with nanosecond times. Each packet is a UDP datagram over IPv4 and
/// Ethernet, with correct lengths and checksums, on one of the interfaces that were added before.
///
/// Each block takes one write, so if an output fails between writes, the file has only whole
/// blocks.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    output: W,
    interfaces: u32,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Creates a writer and writes the header of the section.
    ///
    /// # Errors
    /// [`PcapWriteError::Io`] if the output fails.
    pub fn new(output: W) -> Result<Self, PcapWriteError> {
        let mut writer = Self { output, interfaces: 0, block: Vec::new() };
        writer.begin(SECTION_HEADER);
        writer.push(&BYTE_ORDER_MAGIC.to_le_bytes());
        VERSION.into_iter().for_each(|number| writer.push(&number.to_le_bytes()));
        writer.push(&SECTION_LENGTH_UNKNOWN.to_le_bytes());
        writer.end()?;
        Ok(writer)
    }

    /// Adds an interface and returns its number, from 0. A name longer than 1,024 bytes is
    /// truncated.
    ///
    /// # Errors
    /// [`PcapWriteError::Io`] if the output fails.
    pub fn add_interface(&mut self, name: &str) -> Result<u32, PcapWriteError> {
        let mut end = name.len().min(NAME_BYTES_MAX);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        let name = name.get(..end).unwrap_or_default();
        self.begin(INTERFACE_DESCRIPTION);
        self.push(&LINK_TYPE_ETHERNET.to_le_bytes());
        self.push(&[0; 2]);
        self.push(&SNAPSHOT_BYTES.to_le_bytes());
        self.push_option(OPTION_INTERFACE_NAME, name.as_bytes());
        self.push_option(OPTION_TIMESTAMP_RESOLUTION, &[NANOSECONDS]);
        self.push_option(OPTION_END, &[]);
        self.end()?;
        let number = self.interfaces;
        self.interfaces += 1;
        Ok(number)
    }

    /// Writes one datagram with `payload`, received on an interface at `timestamp_ns` nanoseconds since
    /// 1970.
    ///
    /// # Errors
    /// - [`PcapWriteError::UnknownInterface`] for an interface that was not added.
    /// - [`PcapWriteError::PayloadTooLong`] from 65,508 bytes on.
    /// - [`PcapWriteError::Io`] if the output fails.
    pub fn write_datagram(
        &mut self,
        interface: u32,
        timestamp_ns: u64,
        source: SocketAddrV4,
        destination: SocketAddrV4,
        payload: &[u8],
    ) -> Result<(), PcapWriteError> {
        if interface >= self.interfaces {
            return Err(PcapWriteError::UnknownInterface { interface });
        }
        self.begin(ENHANCED_PACKET);
        self.push(&interface.to_le_bytes());
        self.push(&((timestamp_ns >> 32) as u32).to_le_bytes());
        self.push(&(timestamp_ns as u32).to_le_bytes());
        let lengths_at = self.block.len();
        self.push(&[0; 8]);
        let frame_at = self.block.len();
        append_frame(&mut self.block, source, destination, payload)?;
        let len = ((self.block.len() - frame_at) as u32).to_le_bytes();
        // Captured and original length: nothing was truncated.
        self.put(lengths_at, len);
        self.put(lengths_at + 4, len);
        self.pad();
        self.end()
    }

    /// Returns the output, for example to take the written bytes from it.
    pub const fn output_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// Returns the output without flushing it.
    pub fn into_inner(self) -> W {
        self.output
    }

    /// Begins a block; [`end`](Self::end) fills in its length.
    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.push(&kind.to_le_bytes());
        self.push(&[0; 4]);
    }

    fn push(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn push_option(&mut self, code: u16, value: &[u8]) {
        self.push(&code.to_le_bytes());
        self.push(&(value.len() as u16).to_le_bytes());
        self.push(value);
        self.pad();
    }

    fn put(&mut self, at: usize, bytes: [u8; 4]) {
        if let Some(place) = self.block.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *place = bytes;
        }
    }

    /// Pads the block to a multiple of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Fills in the length at both ends and writes the block.
    fn end(&mut self) -> Result<(), PcapWriteError> {
        let len = (self.block.len() as u32 + 4).to_le_bytes();
        self.put(4, len);
        self.push(&len);
        self.output.write_all(&self.block).map_err(PcapWriteError::Io)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use pcap_parser::traits::PcapReaderIterator;
    use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};

    use super::*;
    use crate::capture::{CaptureOptions, CaptureReader};

    fn address(last: u8, port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(239, 1, 2, last), port)
    }

    /// Interface, time in nanoseconds since 1970, destination and payload.
    type Written = (u32, u64, SocketAddrV4, Vec<u8>);

    fn written() -> (Vec<u8>, Vec<Written>) {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        assert_eq!(writer.add_interface("line A").unwrap(), 0);
        assert_eq!(writer.add_interface("line B").unwrap(), 1);
        let datagrams: Vec<Written> = (0..50_u64)
            .map(|n| {
                let time_ns = 1_700_000_000_000_000_000 + n * 1_000_000_007;
                let payload = vec![n as u8; n as usize * 7];
                ((n % 2) as u32, time_ns, address(n as u8, 9000 + n as u16), payload)
            })
            .collect();
        for (interface, time_ns, destination, payload) in &datagrams {
            let source = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7);
            writer.write_datagram(*interface, *time_ns, source, *destination, payload).unwrap();
        }
        (writer.into_inner(), datagrams)
    }

    #[test]
    fn our_reader_reads_what_was_written() {
        let (bytes, datagrams) = written();
        let mut reader = CaptureReader::open(&bytes[..], CaptureOptions::new()).unwrap();
        for (_, time_ns, destination, payload) in datagrams {
            let packet = reader.next_packet().unwrap().unwrap();
            assert_eq!((packet.timestamp_ns, packet.bytes), (Some(time_ns), &payload[..]));
            assert_eq!(packet.destination, Some(destination.into()));
            assert_eq!(packet.missing_bytes, 0);
        }
        assert_eq!(reader.next_packet().unwrap(), None);
    }

    #[test]
    fn an_independent_reader_reads_what_was_written() {
        let (bytes, datagrams) = written();
        let mut reader = PcapNGReader::new(1 << 16, &bytes[..]).unwrap();
        let (mut names, mut packets) = (Vec::new(), Vec::new());
        loop {
            match reader.next() {
                Ok((offset, PcapBlockOwned::NG(block))) => {
                    match block {
                        Block::InterfaceDescription(interface) => {
                            assert_eq!(interface.if_tsresol, 9);
                            let name = interface.options.iter().find(|o| o.code.0 == 2).unwrap();
                            let name = &name.value[..usize::from(name.len)];
                            names.push(String::from_utf8_lossy(name).into_owned());
                        }
                        Block::EnhancedPacket(packet) => {
                            let time_ns =
                                u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                            assert_eq!(packet.caplen, packet.origlen);
                            packets.push((packet.if_id, time_ns, packet.caplen as usize - 42));
                        }
                        _ => {}
                    }
                    reader.consume(offset);
                }
                Ok(_) => panic!("not pcapng"),
                Err(PcapError::Eof) => break,
                Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
                Err(error) => panic!("{error:?}"),
            }
        }
        assert_eq!(names, ["line A", "line B"]);
        let expected: Vec<_> =
            datagrams.into_iter().map(|(i, ns, _, p)| (i, ns, p.len())).collect();
        assert_eq!(packets, expected);
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        let end = address(1, 1);
        let unknown = writer.write_datagram(0, 0, end, end, b"");
        assert!(matches!(unknown, Err(PcapWriteError::UnknownInterface { interface: 0 })));
        writer.add_interface(&"é".repeat(1000)).unwrap();
        let len = writer.output_mut().len();
        let too_long = writer.write_datagram(0, 0, end, end, &[0; 65_508]);
        assert!(matches!(too_long, Err(PcapWriteError::PayloadTooLong { len: 65_508 })));
        assert_eq!(writer.into_inner().len(), len, "nothing of a refused datagram is written");
        assert!(PcapngWriter::new(&mut [0_u8; 4][..]).is_err());
    }
}
