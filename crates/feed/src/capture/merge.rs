//! Merges captures by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::fmt;
use std::io::Read;

use super::error::CaptureError;
use super::packet::Packet;
use super::reader::CaptureReader;

/// A packet of one of several captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergedPacket<'m> {
    /// Index of its capture, in the order in which the captures were given.
    pub input: usize,
    /// Capture time in nanoseconds since 1970. A packet without a time has that of the previous
    /// packet of its capture, 0 before the first.
    pub time_ns: u64,
    /// The packet.
    pub packet: Packet<'m>,
}

/// One of several captures cannot be read further. The others can.
#[derive(Debug)]
pub struct MergeError {
    /// Index of the capture.
    pub input: usize,
    /// The error.
    pub error: CaptureError,
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "capture {}: {}", self.input, self.error)
    }
}

impl Error for MergeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

/// Sort key of a packet: time, then turn, then the order of the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MergeKey {
    time_ns: u64,
    /// Consecutive packets without a time before this one in its capture; 0 for a packet with a
    /// time.
    turn: u64,
    input: usize,
}

/// A capture and a copy of its next packet.
struct MergeInput<R> {
    reader: CaptureReader<R>,
    /// The next packet without its bytes.
    packet: Packet<'static>,
    bytes: Vec<u8>,
    time_ns: u64,
    untimed: u64,
}

/// Returns the packets of several captures in the order of their times.
///
/// The order inside a capture is kept, even if its times step back. Packets with equal times come
/// in the order of their captures. Captures without times, such as length-prefixed files, take
/// turns: one packet from each. Memory holds one packet per capture besides the readers.
///
/// # Examples
///
/// ```
/// use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader, Merge};
///
/// let open = |file: &'static [u8]| {
///     CaptureReader::open(file, CaptureOptions::new().format(CaptureFormat::U32Be))
/// };
/// let a = open(b"\0\0\0\x02a1\0\0\0\x02a2")?;
/// let b = open(b"\0\0\0\x02b1")?;
/// let mut merge = Merge::new([a, b]);
/// let mut order = Vec::new();
/// while let Some(merged) = merge.next_packet()? {
///     order.push((merged.input, merged.packet.bytes.to_vec()));
/// }
/// assert_eq!(order, [(0, b"a1".to_vec()), (1, b"b1".to_vec()), (0, b"a2".to_vec())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Merge<R> {
    inputs: Vec<MergeInput<R>>,
    queue: BinaryHeap<Reverse<MergeKey>>,
    /// Captures whose next packet has not been read; the last is read next.
    unread: Vec<usize>,
}

impl<R: Read> Merge<R> {
    /// Creates a merge of captures that have not been read yet.
    pub fn new(readers: impl IntoIterator<Item = CaptureReader<R>>) -> Self {
        let inputs: Vec<_> = readers.into_iter().map(MergeInput::new).collect();
        let unread = (0..inputs.len()).rev().collect();
        Self { queue: BinaryHeap::with_capacity(inputs.len()), inputs, unread }
    }

    /// Returns the captures, in the order in which they were given.
    pub fn readers(&self) -> impl Iterator<Item = &CaptureReader<R>> {
        self.inputs.iter().map(|input| &input.reader)
    }

    /// Returns the next packet; `None` after the last one of all captures.
    ///
    /// # Errors
    /// [`MergeError`], once for each capture that cannot be read to its end; call again to read the
    /// others.
    pub fn next_packet(&mut self) -> Result<Option<MergedPacket<'_>>, MergeError> {
        while let Some(index) = self.unread.pop() {
            let Some(input) = self.inputs.get_mut(index) else { continue };
            match input.read() {
                Ok(Some((time_ns, turn))) => {
                    self.queue.push(Reverse(MergeKey { time_ns, turn, input: index }));
                }
                Ok(None) => {}
                Err(error) => return Err(MergeError { input: index, error }),
            }
        }
        let Some(Reverse(MergeKey { input: index, .. })) = self.queue.pop() else {
            return Ok(None);
        };
        self.unread.push(index);
        Ok(self.inputs.get(index).map(|input| input.merged(index)))
    }
}

impl<R: Read> MergeInput<R> {
    fn new(reader: CaptureReader<R>) -> Self {
        let packet = Packet {
            index: 0,
            record: 0,
            bytes: &[],
            file_offset: 0,
            timestamp_ns: None,
            source: None,
            destination: None,
            stream: None,
            missing_bytes: 0,
        };
        Self { reader, packet, bytes: Vec::new(), time_ns: 0, untimed: 0 }
    }

    /// Reads the next packet; returns its time and turn.
    fn read(&mut self) -> Result<Option<(u64, u64)>, CaptureError> {
        let Some(packet) = self.reader.next_packet()? else { return Ok(None) };
        self.bytes.clear();
        self.bytes.extend_from_slice(packet.bytes);
        self.packet = Packet { bytes: &[], ..packet };
        let turn = match packet.timestamp_ns {
            Some(time_ns) => {
                self.time_ns = time_ns;
                0
            }
            None => {
                self.untimed += 1;
                self.untimed
            }
        };
        Ok(Some((self.time_ns, turn)))
    }

    fn merged(&self, input: usize) -> MergedPacket<'_> {
        let packet = Packet { bytes: &self.bytes, ..self.packet };
        MergedPacket { input, time_ns: self.time_ns, packet }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CaptureFormat, CaptureOptions, PcapWriter};
    use super::*;
    use proptest::prelude::*;

    /// A pcap file with a packet at each time, whose payload is the name and its index.
    fn pcap(name: u8, times: &[u64]) -> Vec<u8> {
        let mut writer = PcapWriter::new(Vec::new()).unwrap();
        let address = "239.1.1.1:5000".parse().unwrap();
        for (index, time_ns) in times.iter().enumerate() {
            writer.write_datagram(*time_ns, address, address, &[name, index as u8]).unwrap();
        }
        writer.into_inner()
    }

    fn merged(files: &[Vec<u8>], format: CaptureFormat) -> Vec<(u64, Vec<u8>)> {
        let open = |file: &'_ Vec<u8>| {
            let file = std::io::Cursor::new(file.clone());
            CaptureReader::open(file, CaptureOptions::new().format(format)).unwrap()
        };
        let mut merge = Merge::new(files.iter().map(open));
        let mut out = Vec::new();
        while let Some(merged) = merge.next_packet().unwrap() {
            out.push((merged.time_ns, merged.packet.bytes.to_vec()));
        }
        out
    }

    #[test]
    fn packets_come_by_time_and_ties_by_the_order_of_files() {
        let files = [pcap(b'x', &[5, 20, 20, 21]), pcap(b'y', &[1, 20, 30]), pcap(b'z', &[])];
        let order: Vec<_> = merged(&files, CaptureFormat::Pcap)
            .into_iter()
            .map(|(time_ns, bytes)| (time_ns, bytes[0], bytes[1]))
            .collect();
        let expected = [
            (1, b'y', 0),
            (5, b'x', 0),
            (20, b'x', 1),
            (20, b'x', 2),
            (20, b'y', 1),
            (21, b'x', 3),
            (30, b'y', 2),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_capture_that_breaks_off_is_reported_once_and_the_others_go_on() {
        let mut cut = pcap(b'x', &[1, 2]);
        cut.pop();
        let open = |file: Vec<u8>| {
            CaptureReader::open(std::io::Cursor::new(file), CaptureOptions::new()).unwrap()
        };
        let mut merge = Merge::new([cut, pcap(b'y', &[3, 4])].map(open));
        let (mut packets, mut errors) = (0, Vec::new());
        loop {
            match merge.next_packet() {
                Ok(Some(_)) => packets += 1,
                Ok(None) => break,
                Err(error) => errors.push(error.input),
            }
        }
        assert_eq!((packets, errors), (3, vec![0]));
    }

    proptest! {
        #[test]
        fn every_packet_comes_once_in_the_order_of_a_stable_sort(
            mut times in prop::collection::vec(prop::collection::vec(0_u64..50, 0..20), 0..6)
        ) {
            times.iter_mut().for_each(|times| times.sort_unstable());
            let files: Vec<_> = times.iter().zip(0..).map(|(times, name)| pcap(name, times)).collect();
            let mut expected: Vec<(u64, Vec<u8>)> = Vec::new();
            for (times, name) in times.iter().zip(0..) {
                expected.extend(times.iter().zip(0..).map(|(time, index)| (*time, vec![name, index])));
            }
            expected.sort_by_key(|(time_ns, _)| *time_ns);
            prop_assert_eq!(merged(&files, CaptureFormat::Pcap), expected);
        }
    }
}
