//! Positions in a capture from which it can be read without the packets before.

use super::format::CaptureFormat;

/// A position between two records of a capture, with the data needed to read on from there.
/// [`CaptureReader::mark`](super::CaptureReader::mark) returns it,
/// [`resume`](super::CaptureReader::resume) uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureMark {
    /// File offset of the next record.
    pub offset: u64,
    /// Records before it.
    pub records: u64,
    /// Packets before it: the index of the next one.
    pub packets: u64,
    /// Format of the file.
    pub format: CaptureFormat,
    /// Bytes needed to read the records: the header of a pcap file, or of the section of a pcapng
    /// file with its interfaces.
    pub header: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};

    use super::*;
    use crate::capture::{CaptureOptions, CaptureReader, PcapWriter, PcapngWriter, PrefixedWriter};
    use crate::endian::Endian;

    const END: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 1, 2, 3), 9000);

    type Read = (u64, u64, u64, Option<u64>, Vec<u8>);

    /// Returns the packets from a mark on, or all of them, with the mark after each.
    fn packets(file: &[u8], mark: Option<&CaptureMark>) -> Vec<(Read, Option<CaptureMark>)> {
        let options = CaptureOptions::new();
        let mut reader = match mark {
            Some(mark) => {
                CaptureReader::resume(&file[mark.offset as usize..], mark, options).unwrap()
            }
            None => CaptureReader::open(file, options).unwrap(),
        };
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet().unwrap() {
            let (index, record, offset) = (packet.index, packet.record, packet.file_offset);
            let read = (index, record, offset, packet.timestamp_ns, packet.bytes.to_vec());
            packets.push((read, reader.mark()));
        }
        packets
    }

    fn check_all_marks(file: &[u8]) -> usize {
        let whole = packets(file, None);
        let mut marks = 0;
        for (at, (_, mark)) in whole.iter().enumerate() {
            let Some(mark) = mark else { continue };
            marks += 1;
            assert_eq!(mark.packets, at as u64 + 1);
            assert_eq!(packets(file, Some(mark)), whole[at + 1..], "{mark:?}");
        }
        marks
    }

    fn payload(index: u8) -> Vec<u8> {
        // The payload begins as gzip does: the first bytes of a range do not say whether it is
        // compressed.
        [&[0x1F, 0x8B, 0x08], &vec![index; usize::from(index)][..]].concat()
    }

    #[test]
    fn a_prefixed_file_is_read_from_every_packet() {
        let mut file = Vec::new();
        let mut writer = PrefixedWriter::new(&mut file, Endian::Big);
        (0..50).for_each(|index| writer.write_packet(&payload(index)).unwrap());
        assert_eq!(check_all_marks(&file), 50);
    }

    #[test]
    fn a_pcap_file_is_read_from_every_packet() {
        let mut writer = PcapWriter::new(Vec::new()).unwrap();
        for index in 0..50 {
            let time = 1_700_000_000_000_000_000 + u64::from(index);
            writer.write_datagram(time, END, END, &payload(index)).unwrap();
        }
        assert_eq!(check_all_marks(&writer.into_inner()), 50);
    }

    #[test]
    fn a_pcapng_file_is_read_with_the_interfaces_so_far() {
        let section = |from: u8| {
            let mut writer = PcapngWriter::new(Vec::new()).unwrap();
            for index in from..from + 10 {
                let interface = writer.add_interface("line").unwrap();
                let time = 1_700_000_000_000_000_000 + u64::from(index);
                writer.write_datagram(interface, time, END, END, &payload(index)).unwrap();
            }
            writer.into_inner()
        };
        let file = [section(0), section(100)].concat();
        assert_eq!(check_all_marks(&file), 20);
    }

    #[test]
    fn nothing_marks_what_cannot_be_read_from_its_middle() {
        let mark = |file: &[u8], format| {
            let options = CaptureOptions::new().format(format);
            let mut reader = CaptureReader::open(file, options).unwrap();
            let packet = reader.next_packet().unwrap().is_some();
            (packet, reader.mark())
        };
        assert_eq!(mark(b"stream", CaptureFormat::Raw), (true, None));
        #[cfg(feature = "compressed")]
        {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut gzip, b"\0\0\0\x01a\0\0\0\x01b").unwrap();
            assert_eq!(mark(&gzip.finish().unwrap(), CaptureFormat::U32Be), (true, None));
        }
        let mut reader = CaptureReader::open(
            &b"\0\0\0\x09a"[..],
            CaptureOptions::new().format(CaptureFormat::U32Be),
        )
        .unwrap();
        assert!(reader.next_packet().is_err());
        assert_eq!(reader.mark(), None, "behind an error");
        let section = PcapngWriter::new(Vec::new()).unwrap().into_inner();
        let reader = CaptureReader::open(&section[..], CaptureOptions::new()).unwrap();
        assert_eq!(reader.mark(), None, "before the section");
    }
}
