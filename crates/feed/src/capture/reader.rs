//! The reader over all formats.

use std::io::Read;
use std::ops::Range;

use super::compression::Compression;
use super::error::CaptureError;
use super::format::{CaptureFormat, GUESS_BYTES, guess_format};
use super::mark::CaptureMark;
use super::network::{NetworkLayers, Payload};
use super::options::{CaptureLimits, CaptureOptions};
use super::packet::{CaptureKind, Packet, StreamPosition};
use super::pcap::{self, PacketRecord, PcapFile};
use super::pcapng::{self, PcapNgFile};
use super::prefixed;
use super::source::CaptureInput;
use super::statistics::Statistics;
use crate::endian::Endian;

/// First bytes that distinguish pcap and pcapng from all other content.
const MAGIC_BYTES: usize = 12;

/// Container format of the file.
enum Container {
    Pcap(PcapFile),
    PcapNg(PcapNgFile),
    Prefixed(Endian),
    Raw,
}

/// The next packet, without borrowing its bytes.
struct PacketLocation {
    record: u64,
    range: Range<usize>,
    /// True if the range is in the buffer of the network layer, not in the current record.
    held: bool,
    file_offset: u64,
    payload: Option<Payload>,
    stream: Option<StreamPosition>,
}

/// Reads packets from a capture, one at a time, in bounded memory.
///
/// After an error the reader is at its end, because the data after an unreadable position cannot be
/// trusted. All packets before that position have been returned.
///
/// # Examples
///
/// ```
/// use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader};
///
/// let file = b"\x02\0\0\0ab\x01\0\0\0c";
/// let mut reader = CaptureReader::open(&file[..], CaptureOptions::new())?;
/// assert_eq!(reader.format(), CaptureFormat::U32Le);
/// while let Some(packet) = reader.next_packet()? {
///     println!("packet {} at {}: {} bytes", packet.index, packet.file_offset, packet.bytes.len());
/// }
/// assert_eq!(reader.statistics().packets, 2);
/// # Ok::<(), tickwire_feed::capture::CaptureError>(())
/// ```
pub struct CaptureReader<R> {
    source: CaptureInput<R>,
    format: CaptureFormat,
    container: Container,
    network: NetworkLayers,
    limits: CaptureLimits,
    statistics: Statistics,
    /// The latest time of a datagram.
    latest_ns: u64,
    record: Vec<u8>,
    at_end: bool,
    finished: bool,
}

impl<R: Read> CaptureReader<R> {
    /// Opens a capture: decompresses it if it is compressed, guesses the format unless the options
    /// name it, and reads the header of the file if it has one.
    ///
    /// `input` is read in large pieces: it needs no buffer of its own.
    ///
    /// # Errors
    /// - [`CaptureError::FormatAmbiguous`] if the format is neither named nor clear.
    /// - [`CaptureError::NotPcap`], [`CaptureError::LinkType`] and [`CaptureError::Truncated`] for
    ///   the header of a pcap file.
    /// - [`CaptureError::Read`] if the input fails.
    pub fn open(input: R, options: CaptureOptions) -> Result<Self, CaptureError> {
        let mut source = CaptureInput::open(input)?;
        let format = match options.format {
            Some(format) => format,
            None => guess(&mut source, options.file_name.as_deref())?,
        };
        let container = match format {
            CaptureFormat::Pcap if pcapng::is_pcapng(source.look_ahead(MAGIC_BYTES).0) => {
                Container::PcapNg(PcapNgFile::new())
            }
            CaptureFormat::Pcap => Container::Pcap(PcapFile::open(&mut source)?),
            CaptureFormat::Raw => Container::Raw,
            CaptureFormat::U32Be => Container::Prefixed(Endian::Big),
            CaptureFormat::U32Le => Container::Prefixed(Endian::Little),
        };
        Ok(Self::new(source, format, container, options))
    }

    /// Reads on from a [`mark`](Self::mark): `input` begins at its offset. Packets have the same
    /// numbers, offsets and times as in the whole capture. Pass the options of the reader that
    /// returned the mark; their format is ignored.
    ///
    /// # Errors
    /// As for opening a file that begins with the mark's header.
    pub fn resume(
        input: R,
        mark: &CaptureMark,
        options: CaptureOptions,
    ) -> Result<Self, CaptureError> {
        let CaptureMark { offset, records, packets, format, header } = mark;
        let mut header = CaptureInput::open(&header[..])?;
        let container = match format {
            CaptureFormat::Pcap if pcapng::is_pcapng(header.look_ahead(MAGIC_BYTES).0) => {
                let mut file = PcapNgFile::new();
                // The header has no packet.
                while file.next_record(&mut header, &options.limits, &mut Vec::new())?.is_some() {}
                Container::PcapNg(file)
            }
            CaptureFormat::Pcap => Container::Pcap(PcapFile::open(&mut header)?),
            CaptureFormat::Raw => Container::Raw,
            CaptureFormat::U32Be => Container::Prefixed(Endian::Big),
            CaptureFormat::U32Le => Container::Prefixed(Endian::Little),
        };
        let mut reader =
            Self::new(CaptureInput::resume(input, *offset), *format, container, options);
        reader.statistics.records = *records;
        reader.statistics.packets = *packets;
        Ok(reader)
    }

    fn new(
        source: CaptureInput<R>,
        format: CaptureFormat,
        container: Container,
        options: CaptureOptions,
    ) -> Self {
        Self {
            source,
            format,
            container,
            network: NetworkLayers::new(options.filter, &options.limits),
            limits: options.limits,
            statistics: Statistics::default(),
            latest_ns: 0,
            record: Vec::new(),
            at_end: false,
            finished: false,
        }
    }

    /// Returns the position after the last packet, for [`resume`](Self::resume). `None` if later
    /// packets cannot be read without earlier ones: in a compressed or raw file, after an error,
    /// while a datagram waits for its other fragments, and after a TCP segment.
    pub fn mark(&self) -> Option<CaptureMark> {
        let is_between = !self.finished && self.compression().is_none() && self.network.is_idle();
        let header = match &self.container {
            Container::Pcap(file) => file.header(),
            // A pcapng file has no header before its first section.
            Container::PcapNg(file) if file.header().is_empty() => return None,
            Container::PcapNg(file) => file.header(),
            Container::Prefixed(_) => &[],
            Container::Raw => return None,
        };
        is_between.then(|| CaptureMark {
            offset: self.source.position(),
            records: self.statistics.records,
            packets: self.statistics.packets,
            format: self.format,
            header: header.to_vec(),
        })
    }

    /// Returns the format of the file, named or guessed.
    pub const fn format(&self) -> CaptureFormat {
        self.format
    }

    /// Returns how the file is compressed.
    pub const fn compression(&self) -> Option<Compression> {
        self.source.compression()
    }

    /// Returns the kind of the packets, for a decoder.
    pub const fn kind(&self) -> CaptureKind {
        match self.format {
            CaptureFormat::Raw => CaptureKind::Stream,
            CaptureFormat::Pcap | CaptureFormat::U32Be | CaptureFormat::U32Le => {
                CaptureKind::Datagrams
            }
        }
    }

    /// Returns the counters so far.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Returns how many bytes of the file were read, after decompression.
    pub const fn position(&self) -> u64 {
        self.source.position()
    }

    /// Reads the next packet; `None` at the end of the file and after an error.
    ///
    /// A raw file is returned in pieces of at most [`CaptureLimits::piece_bytes`], cut anywhere. A piece
    /// is returned as soon as the input has delivered it.
    ///
    /// # Errors
    /// Any [`CaptureError`] except those of opening. Whole packets before an unreadable position
    /// are returned first.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        if self.finished {
            return Ok(None);
        }
        match self.find_next() {
            Ok(Some(found)) => Ok(Some(self.packet(found))),
            Ok(None) => {
                self.finished = true;
                Ok(None)
            }
            Err(error) => {
                self.finished = true;
                Err(error)
            }
        }
    }

    /// Reads the rest of a raw file as one packet.
    ///
    /// # Errors
    /// - [`CaptureError::ContentTooLong`] if it is longer than `len_max` bytes.
    /// - [`CaptureError::Read`] if the input fails.
    pub fn read_whole(&mut self, len_max: usize) -> Result<Packet<'_>, CaptureError> {
        self.finished = true;
        let file_offset = self.source.position();
        self.record.clear();
        let len = self.source.append(&mut self.record, len_max.saturating_add(1))?;
        if len > len_max {
            return Err(CaptureError::ContentTooLong { len_max });
        }
        let found = self.piece(file_offset);
        Ok(self.packet(found))
    }

    fn find_next(&mut self) -> Result<Option<PacketLocation>, CaptureError> {
        match self.container {
            Container::Pcap(_) | Container::PcapNg(_) => self.find_payload(),
            Container::Prefixed(endian) => self.find_prefixed(endian),
            Container::Raw => self.find_piece(),
        }
    }

    fn find_prefixed(&mut self, endian: Endian) -> Result<Option<PacketLocation>, CaptureError> {
        let next = prefixed::next_packet(&mut self.source, endian, &self.limits, &mut self.record)?;
        let Some(file_offset) = next else { return Ok(None) };
        let record = self.count_record();
        let range = 0..self.record.len();
        Ok(Some(PacketLocation {
            record,
            range,
            held: false,
            file_offset,
            payload: None,
            stream: None,
        }))
    }

    fn find_piece(&mut self) -> Result<Option<PacketLocation>, CaptureError> {
        let file_offset = self.source.position();
        self.record.clear();
        let len = self.source.append_some(&mut self.record, self.limits.piece_bytes.max(1))?;
        Ok((len > 0).then(|| self.piece(file_offset)))
    }

    /// Describes the bytes just read from `file_offset` on as a piece of the file's stream.
    fn piece(&mut self, file_offset: u64) -> PacketLocation {
        let record = self.count_record();
        let offset = file_offset;
        let stream = StreamPosition { flow: 0, offset, lost_bytes: 0, joined_midway: false };
        let range = 0..self.record.len();
        PacketLocation {
            record,
            range,
            held: false,
            file_offset,
            payload: None,
            stream: Some(stream),
        }
    }

    fn find_payload(&mut self) -> Result<Option<PacketLocation>, CaptureError> {
        loop {
            if let Some(payload) = self.network.take_due(&mut self.statistics) {
                return Ok(Some(PacketLocation::from_payload(payload)));
            }
            if self.at_end {
                return Ok(None);
            }
            let Some(record) = self.next_record()? else {
                self.at_end = true;
                self.network.finish(&mut self.statistics);
                continue;
            };
            let number = self.count_record();
            if record.link == super::link::LinkType::Unknown {
                self.statistics.link_type_unknown += 1;
                continue;
            }
            let payload = self.network.accept(&self.record, &record, number, &mut self.statistics);
            if let Some(payload) = payload {
                return Ok(Some(PacketLocation::from_payload(payload)));
            }
        }
    }

    fn next_record(&mut self) -> Result<Option<PacketRecord>, CaptureError> {
        let (source, limits, data) = (&mut self.source, &self.limits, &mut self.record);
        match &mut self.container {
            Container::Pcap(file) => file.next_record(source, limits, data),
            Container::PcapNg(file) => file.next_record(source, limits, data),
            Container::Prefixed(_) | Container::Raw => Ok(None),
        }
    }

    /// Counts one record and returns its number, from 0.
    fn count_record(&mut self) -> u64 {
        self.statistics.records += 1;
        self.statistics.records - 1
    }

    fn packet(&mut self, found: PacketLocation) -> Packet<'_> {
        let bytes = if found.held { self.network.held_bytes() } else { &self.record };
        let bytes = bytes.get(found.range).unwrap_or_default();
        let index = self.statistics.packets;
        self.statistics.packets += 1;
        self.statistics.bytes += bytes.len() as u64;
        let payload = found.payload.as_ref();
        let timestamp_ns = payload.and_then(|payload| payload.moment.timestamp_ns);
        // Segments of a stream may wait for earlier ones.
        if let (Some(time_ns), None) = (timestamp_ns, found.stream) {
            let back_ns = self.latest_ns.saturating_sub(time_ns);
            self.latest_ns = self.latest_ns.max(time_ns);
            self.statistics.times_back += u64::from(back_ns > 0);
            let by_max_ns = &mut self.statistics.times_back_by_max_ns;
            *by_max_ns = back_ns.max(*by_max_ns);
        }
        Packet {
            index,
            record: found.record,
            bytes,
            file_offset: found.file_offset,
            timestamp_ns,
            source: payload.map(|payload| payload.addresses.source),
            destination: payload.map(|payload| payload.addresses.destination),
            stream: found.stream,
            missing_bytes: payload.map_or(0, |payload| payload.missing_bytes),
        }
    }
}

/// Guesses the format, from a few bytes if they suffice: a capture program may not have written
/// more yet.
fn guess(
    source: &mut CaptureInput<impl Read>,
    file_name: Option<&str>,
) -> Result<CaptureFormat, CaptureError> {
    let (first, _) = source.look_ahead(MAGIC_BYTES);
    if pcap::is_pcap(first) || pcapng::is_pcapng(first) {
        return Ok(CaptureFormat::Pcap);
    }
    let (first, whole) = source.look_ahead(GUESS_BYTES);
    guess_format(first, whole, file_name).map_err(CaptureError::FormatAmbiguous)
}

impl PacketLocation {
    fn from_payload(payload: Payload) -> Self {
        Self {
            record: payload.moment.record,
            range: payload.range.clone(),
            held: payload.held,
            file_offset: payload.file_offset,
            stream: payload.stream,
            payload: Some(payload),
        }
    }
}
