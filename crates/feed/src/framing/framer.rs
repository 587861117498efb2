//! Splits packets into segments of FAST bytes.

use std::ops::Range;
use std::slice;

use super::chunks::{ChunkAssembly, MessageChunk};
use super::description::{ChunkFields, Envelope, Framing, FramingResetPolicy};
use super::error::{FramingError, FramingErrorKind};
use super::part_stream::{PacketBounds, PartStream, counted};
use super::step::{Blocks, is_fixt};
use super::step_stream::StepStream;

/// Longest message reassembled from chunks or held from a stream, in bytes, unless set otherwise.
pub const MESSAGE_BYTES_MAX_DEFAULT: usize = 1 << 20;

/// FAST bytes to be decoded together: one or several messages, each after its header if the framing
/// has [message headers](super::MessageHeader).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The bytes before the FAST bytes, as the framing describes them. Empty in FIXT messages.
    pub preamble: &'a [u8],
    /// Byte offset of the FAST bytes in the packet. For a message reassembled from chunks: their
    /// offset in its last chunk. In a stream: offset in all bytes given to
    /// [`split_stream`](Framer::split_stream).
    pub offset: usize,
    /// The FAST bytes; empty if nothing follows the preamble.
    pub bytes: &'a [u8],
    /// The sequence number in the preamble, or MsgSeqNum (34) of the FIXT message.
    pub seq_num: Option<u64>,
    /// True if all dictionaries must be reset before these bytes are decoded. With
    /// [`FramingResetPolicy::Message`] they must also be reset before each further message in them.
    pub reset_before: bool,
}

/// A found segment, as ranges.
#[derive(Clone, Debug)]
struct SegmentLocation {
    preamble: Range<usize>,
    offset: usize,
    range: Range<usize>,
    /// True if the range is in the joined or held bytes, not in the packet.
    joined: bool,
    seq_num: Option<u64>,
    reset_before: bool,
}

/// Splits the packets of one feed. It keeps chunks from packet to packet.
///
/// # Examples
///
/// ```
/// use tickwire_feed::framing::{Framer, Preset};
///
/// let mut framer = Framer::new(Preset::B3Umdf.framing());
/// let first = [0, 0, 0, 9, 0, 2, 0, 1, 0, 2, 0xC0, 0x81];
/// let second = [0, 0, 0, 9, 0, 2, 0, 2, 0, 1, 0x85];
/// assert_eq!(framer.split(&first).count(), 0);
/// let segment = framer.split(&second).next().expect("a whole message")?;
/// assert_eq!((segment.seq_num, segment.bytes), (Some(9), &[0xC0, 0x81, 0x85][..]));
/// # Ok::<(), tickwire_feed::framing::FramingError>(())
/// ```
#[derive(Debug)]
pub struct Framer {
    framing: Framing,
    message_bytes_max: usize,
    chunks: ChunkAssembly,
    joined: Vec<u8>,
    stream: StepStream,
    parts: PartStream,
    /// True if packets are parts of a stream.
    is_stream: bool,
    found: Vec<Result<SegmentLocation, FramingError>>,
}

impl Framer {
    /// Creates a framer with this framing, and messages of chunks up to
    /// [`MESSAGE_BYTES_MAX_DEFAULT`].
    pub fn new(framing: Framing) -> Self {
        Self {
            framing,
            message_bytes_max: MESSAGE_BYTES_MAX_DEFAULT,
            chunks: ChunkAssembly::default(),
            joined: Vec::new(),
            stream: StepStream::new(),
            parts: PartStream::default(),
            is_stream: false,
            found: Vec::new(),
        }
    }

    /// Sets the longest message that is reassembled from chunks or held from a stream, in bytes.
    pub const fn message_bytes_max(mut self, len: usize) -> Self {
        self.message_bytes_max = len;
        self
    }

    /// Returns the framing.
    pub const fn framing(&self) -> &Framing {
        &self.framing
    }

    /// Drops incomplete messages and packets, as after a gap. In a stream whose packets are found
    /// by the lengths in their preambles, no further packet is found: see
    /// [`is_lost`](Self::is_lost).
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.stream.clear();
        if self.is_stream {
            self.parts.lose();
        }
    }

    /// True if the position of the next packet in the stream is unknown: packets are found by the
    /// lengths in their preambles, and bytes are missing or a length exceeded the limit.
    pub const fn is_lost(&self) -> bool {
        self.parts.is_lost()
    }

    /// Returns how many bytes of the stream wait for the rest of their packet or message.
    pub fn waiting_bytes(&self) -> usize {
        self.parts.waiting_bytes() + self.stream.waiting_bytes()
    }

    /// Splits one packet.
    ///
    /// Segments and errors are returned in the order of their bytes. An error ends the packet,
    /// unless it reports a message lost before it.
    pub fn split<'a>(&'a mut self, packet: &'a [u8]) -> Segments<'a> {
        self.found.clear();
        self.joined.clear();
        self.is_stream = false;
        match self.framing.envelope {
            Envelope::Bare => self.split_bare(packet),
            Envelope::Step => self.split_step(packet),
            Envelope::Counted => self.split_counted(packet),
        }
        Segments { found: self.found.iter(), packet, joined: &self.joined }
    }

    /// Splits the next piece of a byte stream that is cut anywhere, such as a TCP connection.
    ///
    /// The packets of a stream are found as follows:
    ///
    /// - [`Envelope::Step`]: FIXT messages. An incomplete one waits for the next piece, up to the
    ///   longest message. Splitting starts at the first FIXT message found, and after an error at
    ///   the next.
    /// - A preamble with a length: the stream starts with a preamble, and each preamble begins a
    ///   packet.
    /// - [`Envelope::Counted`]: each length begins a packet.
    /// - Other framings: packets cannot be found in a stream, so each piece is split as one packet.
    ///
    /// One framer serves one stream. Call [`clear`](Self::clear) when bytes of the stream were
    /// lost.
    pub fn split_stream<'a>(&'a mut self, piece: &'a [u8]) -> Segments<'a> {
        match (self.framing.envelope, self.framing.length) {
            (Envelope::Bare, Some(length)) => {
                let preamble_bytes = self.framing.preamble_bytes;
                self.split_parts(piece, |bytes| {
                    let preamble = bytes.get(..preamble_bytes)?;
                    let len = length.number_in(preamble).unwrap_or_default();
                    Some(PacketBounds { skip: 0, preamble: preamble_bytes, len })
                })
            }
            (Envelope::Counted, _) => self.split_parts(piece, counted),
            (Envelope::Bare, None) => self.split(piece),
            (Envelope::Step, _) => self.split_fixt(piece),
        }
    }

    /// Splits the complete packets of a stream.
    fn split_parts(
        &mut self,
        piece: &[u8],
        measure: impl Fn(&[u8]) -> Option<PacketBounds>,
    ) -> Segments<'_> {
        self.found.clear();
        self.joined.clear();
        self.is_stream = true;
        self.parts.append(piece);
        let base = self.parts.base();
        loop {
            match self.parts.next_packet(&measure, self.message_bytes_max) {
                Ok(Some(packet)) => {
                    let first = self.found.len();
                    let held = self.parts.take();
                    let bytes = held.get(..packet.end).unwrap_or_default();
                    if let Err(error) = self.split_part(bytes, packet.start) {
                        self.found.push(Err(error));
                    }
                    self.parts.restore(held);
                    self.found.iter_mut().skip(first).for_each(|found| shift(found, base));
                }
                Ok(None) => break,
                Err(error) => {
                    self.found.push(Err(error));
                    break;
                }
            }
        }
        Segments { found: self.found.iter(), packet: self.parts.bytes(), joined: &self.joined }
    }

    /// Splits the complete FIXT messages of a stream.
    fn split_fixt<'a>(&'a mut self, piece: &'a [u8]) -> Segments<'a> {
        self.found.clear();
        self.stream.append(piece);
        while let Some(block) = self.stream.next_block(self.message_bytes_max) {
            let reset_before = self.is_reset_next();
            self.found.push(block.map(|block| SegmentLocation {
                preamble: 0..0,
                offset: self.stream.base().wrapping_add(block.range.start),
                range: block.range,
                joined: true,
                seq_num: block.seq_num,
                reset_before,
            }));
        }
        Segments { found: self.found.iter(), packet: piece, joined: self.stream.bytes() }
    }

    fn split_step(&mut self, packet: &[u8]) {
        if !is_fixt(packet) {
            self.push(0..0, 0..packet.len(), None);
            return;
        }
        for block in Blocks::new(packet) {
            match block {
                Ok(block) => self.push(0..0, block.range, block.seq_num),
                Err(error) => self.found.push(Err(error)),
            }
        }
    }

    /// Splits packets after their lengths; all must be complete.
    fn split_counted(&mut self, packet: &[u8]) {
        let mut offset = 0;
        while offset < packet.len() {
            let rest = packet.get(offset..).unwrap_or_default();
            let endless = PacketBounds { skip: rest.len(), preamble: 0, len: u64::MAX };
            let PacketBounds { skip, len, .. } = counted(rest).unwrap_or(endless);
            let start = offset + skip;
            let found = packet.len() - start;
            let split = match usize::try_from(len).ok().filter(|&len| len <= found) {
                Some(len) => self.split_part(packet.get(..start + len).unwrap_or_default(), start),
                None => Err(FramingError { offset, kind: FramingErrorKind::Length { len, found } }),
            };
            match split {
                Ok(end) => offset = end,
                Err(error) => {
                    self.found.push(Err(error));
                    return;
                }
            }
        }
    }

    fn split_bare(&mut self, packet: &[u8]) {
        let mut offset = 0;
        loop {
            match self.split_part(packet, offset) {
                Ok(end) => offset = end,
                Err(error) => {
                    self.found.push(Err(error));
                    return;
                }
            }
            // A part that ends before the packet has a length in its preamble, so it is not empty.
            if offset >= packet.len() {
                return;
            }
        }
    }

    /// Splits one preamble and its FAST bytes off `packet`; returns where they end.
    fn split_part(&mut self, packet: &[u8], start: usize) -> Result<usize, FramingError> {
        let framing = self.framing;
        let rest = packet.get(start..).unwrap_or_default();
        let wanted = framing.preamble_bytes;
        let Some((preamble, rest)) = rest.split_at_checked(wanted) else {
            let kind = FramingErrorKind::PreambleTruncated { wanted, found: rest.len() };
            return Err(FramingError { offset: start, kind });
        };
        let content = start + wanted;
        let at_start = |kind| FramingError { offset: start, kind };
        let seq_num = framing.seq_num.and_then(|field| field.number_in(preamble));
        let split = framing
            .chunks
            .and_then(|fields| chunk_numbers(fields, preamble))
            .filter(|&(count, number)| (count, number) != (1, 1));
        let len = framing.length.and_then(|field| field.number_in(preamble));
        let short = len.filter(|&len| len > rest.len() as u64);
        if let (Some(len), None) = (short, split) {
            return Err(at_start(FramingErrorKind::Length { len, found: rest.len() }));
        }
        let len = len.and_then(|len| usize::try_from(len).ok()).unwrap_or(rest.len());
        let range = content..content + len.min(rest.len());

        let bytes = packet.get(range.clone()).unwrap_or_default();
        let chunk = split.map(|(count, number)| MessageChunk {
            seq_num,
            count,
            number,
            bytes,
            message_bytes: short,
        });
        if let Err(kind) = self.chunks.abandon_unless_continued(chunk.as_ref()) {
            self.found.push(Err(at_start(kind)));
        }
        let end = range.end;
        let preamble = start..content;
        match chunk {
            Some(chunk) => self.add_chunk(&chunk, preamble).map_err(at_start)?,
            None => self.push(preamble, range, seq_num),
        }
        Ok(end)
    }

    fn add_chunk(
        &mut self,
        chunk: &MessageChunk<'_>,
        preamble: Range<usize>,
    ) -> Result<(), FramingErrorKind> {
        chunk.check()?;
        let Some(message) = self.chunks.add(chunk, self.message_bytes_max)? else { return Ok(()) };
        let start = self.joined.len();
        self.joined.extend_from_slice(message);
        let range = start..self.joined.len();
        let offset = preamble.end;
        let (joined, seq_num, reset_before) = (true, chunk.seq_num, self.is_reset_next());
        self.found.push(Ok(SegmentLocation {
            preamble,
            offset,
            range,
            joined,
            seq_num,
            reset_before,
        }));
        Ok(())
    }

    fn push(&mut self, preamble: Range<usize>, range: Range<usize>, seq_num: Option<u64>) {
        let (joined, offset, reset_before) = (false, range.start, self.is_reset_next());
        self.found.push(Ok(SegmentLocation {
            preamble,
            offset,
            range,
            joined,
            seq_num,
            reset_before,
        }));
    }

    /// True if dictionaries are reset before the next segment of the packet.
    fn is_reset_next(&self) -> bool {
        match self.framing.reset {
            FramingResetPolicy::Never | FramingResetPolicy::Template => false,
            FramingResetPolicy::Message => true,
            // The unit that other feeds send as a packet is here a block in a FIXT message, and in
            // a stream the bytes after a preamble.
            FramingResetPolicy::Packet => {
                self.framing.envelope != Envelope::Bare
                    || self.is_stream
                    || !self.found.iter().any(Result::is_ok)
            }
        }
    }
}

/// Converts an offset in the held bytes to one in the stream, in which they begin at `base`.
fn shift(found: &mut Result<SegmentLocation, FramingError>, base: usize) {
    match found {
        Ok(found) => found.offset = base.wrapping_add(found.offset),
        Err(error) => error.offset = base.wrapping_add(error.offset),
    }
}

fn chunk_numbers(fields: ChunkFields, preamble: &[u8]) -> Option<(u64, u64)> {
    Some((fields.count.number_in(preamble)?, fields.number.number_in(preamble)?))
}

/// The segments and errors of one packet.
#[derive(Debug)]
pub struct Segments<'a> {
    found: slice::Iter<'a, Result<SegmentLocation, FramingError>>,
    packet: &'a [u8],
    joined: &'a [u8],
}

impl<'a> Iterator for Segments<'a> {
    type Item = Result<Segment<'a>, FramingError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = match self.found.next()? {
            Ok(found) => found,
            Err(error) => return Some(Err(*error)),
        };
        let buffer = if found.joined { self.joined } else { self.packet };
        Some(Ok(Segment {
            preamble: self.packet.get(found.preamble.clone()).unwrap_or_default(),
            offset: found.offset,
            bytes: buffer.get(found.range.clone()).unwrap_or_default(),
            seq_num: found.seq_num,
            reset_before: found.reset_before,
        }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.found.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::super::preset::Preset;
    use super::*;

    /// Result for a packet: sequence number and bytes, or the error.
    type Outcome = Result<(Option<u64>, Vec<u8>), FramingErrorKind>;

    fn split(framer: &mut Framer, packet: &[u8]) -> Vec<Outcome> {
        let outcome = |item: Result<Segment<'_>, FramingError>| {
            item.map(|segment| (segment.seq_num, segment.bytes.to_vec()))
                .map_err(|error| error.kind)
        };
        framer.split(packet).map(outcome).collect()
    }

    fn chunk(seq_num: u8, count: u8, number: u8, bytes: &[u8]) -> Vec<u8> {
        let len = bytes.len() as u8;
        [&[0, 0, 0, seq_num, 0, count, 0, number, 0, len], bytes].concat()
    }

    fn b3() -> Framer {
        Framer::new(Preset::B3Umdf.framing())
    }

    #[test]
    fn preambles_are_taken_off_and_their_sequence_number_read() {
        let packet = [0, 0, 1, 2, 7, 0xC0, 0x81];
        let mut cme = Framer::new(Preset::Cme.framing());
        let segment = cme.split(&packet).next().unwrap().unwrap();
        let expected = Segment {
            preamble: &packet[..5],
            offset: 5,
            bytes: &packet[5..],
            seq_num: Some(0x0102),
            reset_before: true,
        };
        assert_eq!(segment, expected);
        let mut asts = Framer::new(Preset::MoexAsts.framing());
        let segment = asts.split(&packet).next().unwrap().unwrap();
        assert_eq!((segment.seq_num, segment.offset), (Some(0x0201_0000), 4));
    }

    #[test]
    fn without_a_preamble_the_packet_is_the_segment() {
        for preset in [Preset::Cqg, Preset::MoexForts, Preset::EurexT7, Preset::None] {
            let mut framer = Framer::new(preset.framing());
            let segment = framer.split(b"packet").next().unwrap().unwrap();
            assert_eq!((segment.bytes, segment.offset), (&b"packet"[..], 0));
            assert_eq!(segment.reset_before, preset == Preset::EurexT7, "{preset}");
        }
    }

    #[test]
    fn a_packet_of_a_preamble_alone_has_an_empty_segment() {
        let mut asts = Framer::new(Preset::MoexAsts.framing());
        assert_eq!(split(&mut asts, &[1, 0, 0, 0]), [Ok((Some(1), vec![]))]);
        let wanted = FramingErrorKind::PreambleTruncated { wanted: 4, found: 3 };
        assert_eq!(split(&mut asts, &[1, 0, 0]), [Err(wanted)]);
    }

    #[test]
    fn chunks_give_one_message_and_single_ones_are_not_copied() {
        let mut framer = b3();
        assert_eq!(split(&mut framer, &chunk(1, 1, 1, b"one")), [Ok((Some(1), b"one".to_vec()))]);
        assert_eq!(split(&mut framer, &chunk(2, 3, 1, b"ab")), []);
        assert_eq!(split(&mut framer, &chunk(2, 3, 2, b"cd")), []);
        let last = chunk(2, 3, 3, b"ef");
        assert_eq!(split(&mut framer, &last), [Ok((Some(2), b"abcdef".to_vec()))]);
        assert_eq!(split(&mut framer, &last), []);
    }

    #[test]
    fn chunks_that_come_twice_count_once() {
        let mut framer = b3();
        for number in [1, 1, 2, 1, 2] {
            assert_eq!(split(&mut framer, &chunk(2, 3, number, &[number])), []);
        }
        assert_eq!(split(&mut framer, &chunk(2, 3, 3, &[3])), [Ok((Some(2), vec![1, 2, 3]))]);
    }

    #[test]
    fn a_missing_chunk_loses_its_message_and_no_other() {
        let mut framer = b3();
        split(&mut framer, &chunk(2, 3, 1, b"ab"));
        let unexpected = FramingErrorKind::ChunkUnexpected { number: 3, count: 3 };
        assert_eq!(split(&mut framer, &chunk(2, 3, 3, b"ef")), [Err(unexpected)]);
        split(&mut framer, &chunk(3, 2, 1, b"ab"));
        let missing = FramingErrorKind::ChunksMissing { arrived: 1, count: 2 };
        let next = Ok((Some(4), b"next".to_vec()));
        assert_eq!(split(&mut framer, &chunk(4, 1, 1, b"next")), [Err(missing), next]);
        split(&mut framer, &chunk(5, 2, 1, b"ab"));
        assert_eq!(split(&mut framer, &chunk(6, 2, 1, b"cd")), [Err(missing)]);
        let next = Ok((Some(6), b"cdef".to_vec()));
        assert_eq!(split(&mut framer, &chunk(6, 2, 2, b"ef")), [next]);
    }

    #[test]
    fn impossible_chunk_numbers_and_lengths_are_errors() {
        let mut framer = b3();
        for (count, number) in [(0, 0), (1, 0), (0, 1), (1, 2), (2, 3)] {
            let kind = FramingErrorKind::ChunkNumber {
                number: u64::from(number),
                count: u64::from(count),
            };
            assert_eq!(split(&mut framer, &chunk(1, count, number, b"")), [Err(kind)]);
        }
        let cut = &chunk(1, 1, 1, b"abc")[..12];
        assert_eq!(split(&mut framer, cut), [Err(FramingErrorKind::Length { len: 3, found: 2 })]);
    }

    #[test]
    fn what_follows_the_length_is_the_next_preamble() {
        let packet = [chunk(1, 1, 1, b"a"), chunk(2, 2, 1, b"b"), chunk(2, 2, 2, b"c")].concat();
        let expected = [Ok((Some(1), b"a".to_vec())), Ok((Some(2), b"bc".to_vec()))];
        assert_eq!(split(&mut b3(), &packet), expected);
        let padded = [chunk(1, 1, 1, b"a"), vec![0, 0]].concat();
        let truncated = FramingErrorKind::PreambleTruncated { wanted: 10, found: 2 };
        assert_eq!(split(&mut b3(), &padded), [Ok((Some(1), b"a".to_vec())), Err(truncated)]);
    }

    #[test]
    fn a_length_of_the_whole_message_in_its_chunks_is_checked() {
        let mut framer = b3();
        let part = |number: u8, len: u8| [0, 0, 0, 7, 0, 2, 0, number, 0, len, 1, 2];
        assert_eq!(split(&mut framer, &part(1, 4)), []);
        assert_eq!(split(&mut framer, &part(2, 4)), [Ok((Some(7), vec![1, 2, 1, 2]))]);
        split(&mut framer, &part(1, 5));
        let length = FramingErrorKind::Length { len: 5, found: 4 };
        assert_eq!(split(&mut framer, &part(2, 5)), [Err(length)]);
    }

    #[test]
    fn messages_of_chunks_are_limited() {
        let mut framer = b3().message_bytes_max(3);
        split(&mut framer, &chunk(1, 2, 1, b"ab"));
        let kind = FramingErrorKind::MessageTooLong { len_max: 3 };
        assert_eq!(split(&mut framer, &chunk(1, 2, 2, b"cd")), [Err(kind)]);
    }

    #[test]
    fn step_blocks_come_from_fixt_messages_or_alone() {
        let mut framer = Framer::new(Preset::SzseStep.framing());
        let packet = b"8=FIXT.1.1\x0134=5\x0195=2\x0196=ab\x0110=0\x018=FIXT\x0195=1\x0196=c\x01";
        let segments: Vec<_> = framer.split(packet).map(Result::unwrap).collect();
        assert_eq!((segments[0].seq_num, segments[0].bytes), (Some(5), &b"ab"[..]));
        assert_eq!(&packet[segments[0].offset..][..2], b"ab");
        assert_eq!((segments[1].seq_num, segments[1].bytes), (None, &b"c"[..]));
        assert!(segments.iter().all(|segment| segment.reset_before));
        let segment = framer.split(b"block").next().unwrap().unwrap();
        assert_eq!((segment.offset, segment.bytes), (0, &b"block"[..]));
    }

    #[test]
    fn step_blocks_come_from_a_stream_however_it_is_cut() {
        let message = b"8=FIXT.1.1\x0134=5\x0195=2\x0196=ab\x0110=0\x01";
        let stream = [b"middle of one\x0110=1\x01", &message[..], message].concat();
        for cut in 1..=stream.len() {
            let mut framer = Framer::new(Preset::SzseStep.framing());
            let mut offsets = Vec::new();
            for piece in stream.chunks(cut) {
                for segment in framer.split_stream(piece) {
                    let segment = segment.unwrap();
                    assert_eq!((segment.seq_num, segment.bytes), (Some(5), &b"ab"[..]));
                    assert!(segment.reset_before);
                    offsets.push(segment.offset);
                }
            }
            assert_eq!(offsets.len(), 2, "cut every {cut}");
            assert!(offsets.iter().all(|&offset| &stream[offset..offset + 2] == b"ab"));
        }
    }

    #[test]
    fn a_stream_goes_on_with_the_next_message_after_an_error_or_a_loss() {
        let mut framer = Framer::new(Preset::SzseStep.framing()).message_bytes_max(50);
        let mut kinds = |piece: &[u8]| -> Vec<Result<u8, FramingErrorKind>> {
            let outcome = |item: Result<Segment<'_>, FramingError>| {
                item.map(|segment| segment.bytes[0]).map_err(|error| error.kind)
            };
            framer.split_stream(piece).map(outcome).collect()
        };
        let good = b"8=FIX\x0195=1\x0196=c\x0110=0\x01";
        assert_eq!(
            kinds(b"8=FIX\x0195=1\x0196=d\x01nonsense"),
            [Ok(b'd'), Err(FramingErrorKind::FixtSyntax)]
        );
        assert_eq!(kinds(good), [Ok(b'c')]);
        assert_eq!(kinds(b"8=FIX\x0195=99\x0196="), []);
        let too_long = FramingErrorKind::MessageTooLong { len_max: 50 };
        assert_eq!(kinds(&[0; 99]), [Err(too_long)]);
        assert_eq!(kinds(good), [Ok(b'c')]);
        assert_eq!(kinds(b"8=FIX\x0195=9\x0196=cut"), []);
        framer.clear();
        assert_eq!(framer.split_stream(good).count(), 1);
    }

    #[test]
    fn packets_come_from_a_stream_however_it_is_cut() {
        let packets = [
            chunk(1, 1, 1, b"one"),
            chunk(2, 2, 1, b"tw"),
            chunk(2, 2, 2, b"o"),
            chunk(3, 1, 1, b""),
            chunk(4, 3, 2, b"unexpected"),
            chunk(5, 1, 1, b"five"),
        ];
        let stream = packets.concat();
        for cut in 1..=stream.len() {
            let mut framer = b3();
            let mut found = Vec::new();
            for piece in stream.chunks(cut) {
                for segment in framer.split_stream(piece) {
                    found.push(segment.map(|segment| {
                        let at = &stream[segment.offset - 10..];
                        assert_eq!(segment.preamble, &at[..10]);
                        (segment.seq_num, segment.bytes.to_vec())
                    }));
                }
            }
            let kind = FramingErrorKind::ChunkUnexpected { number: 2, count: 3 };
            let offset = packets[..4].concat().len();
            let expected = [
                Ok((Some(1), b"one".to_vec())),
                Ok((Some(2), b"two".to_vec())),
                Ok((Some(3), vec![])),
                Err(FramingError { offset, kind }),
                Ok((Some(5), b"five".to_vec())),
            ];
            assert_eq!(found, expected, "cut every {cut}");
            assert_eq!((framer.waiting_bytes(), framer.is_lost()), (0, false));
        }
        let mut framer = b3();
        assert_eq!(framer.split_stream(&stream[..12]).count(), 0);
        assert_eq!(framer.waiting_bytes(), 12);
        framer.clear();
        assert_eq!(framer.split_stream(&stream).count(), 0);
        assert!(framer.is_lost());
    }

    #[test]
    fn a_packet_of_a_stream_beyond_the_limit_loses_the_rest() {
        let mut framer = b3().message_bytes_max(4);
        let stream = [chunk(1, 1, 1, b"one"), chunk(2, 1, 1, b"12345"), chunk(3, 1, 1, b"x")];
        let found: Vec<_> = framer.split_stream(&stream.concat()).map(Result::err).collect();
        let kind = FramingErrorKind::PacketTooLong { len: 5, len_max: 4 };
        assert_eq!(found, [None, Some(FramingError { offset: 13, kind })]);
        assert!(framer.is_lost());
        assert_eq!(framer.split_stream(&stream[0]).count(), 0);
    }

    #[test]
    fn packets_behind_encoded_lengths_are_found_wherever_the_stream_is_cut() {
        let framing: Framing =
            "preamble=5,seq=0:4:be,envelope=counted,reset=packet".parse().unwrap();
        assert_eq!(framing.to_string(), "preamble=5,seq=0:4:be,envelope=counted,reset=packet");
        // A packet of 133 bytes has a length of two bytes.
        let packets: [&[u8]; 3] = [&[0, 0, 0, 1, 9, 0xc0], &[0, 0, 0, 2, 9], &[7; 133]];
        let lengths: [&[u8]; 3] = [&[0x86], &[0x85], &[0x01, 0x85]];
        let stream: Vec<u8> = lengths
            .iter()
            .zip(packets)
            .flat_map(|(length, packet)| [length, packet].concat())
            .collect();
        let expected = [(1, vec![0xc0]), (2, vec![]), (0x0707_0707, vec![7; 128])];
        let told = |segment: Result<Segment<'_>, FramingError>| {
            let segment = segment.unwrap();
            assert!(segment.reset_before);
            (segment.seq_num.unwrap(), segment.bytes.to_vec())
        };
        for cut in 0..=stream.len() {
            let mut framer = Framer::new(framing);
            let mut found: Vec<_> = framer.split_stream(&stream[..cut]).map(told).collect();
            found.extend(framer.split_stream(&stream[cut..]).map(told));
            assert_eq!(found, expected, "cut at {cut}");
        }
        let mut framer = Framer::new(framing);
        assert_eq!(framer.split(&stream).map(told).collect::<Vec<_>>(), expected);
        let error = framer.split(&stream[..stream.len() - 1]).last().unwrap().unwrap_err();
        assert_eq!(error.kind, FramingErrorKind::Length { len: 133, found: 132 });
        // A length without a stop bit is above any limit.
        let error = framer.split_stream(&[1; 12]).next().unwrap().unwrap_err();
        assert!(matches!(error.kind, FramingErrorKind::PacketTooLong { len: u64::MAX, .. }));
        assert!(framer.is_lost());
    }

    #[test]
    fn a_packet_reset_comes_once_a_packet_and_a_message_reset_always() {
        let b3 = Preset::B3Umdf.framing();
        let packet = [chunk(1, 1, 1, b"a"), chunk(2, 1, 1, b"b")].concat();
        let resets = |policy| {
            let mut framer = Framer::new(b3.reset(policy));
            framer.split(&packet).map(|segment| segment.unwrap().reset_before).collect::<Vec<_>>()
        };
        assert_eq!(resets(FramingResetPolicy::Packet), [true, false]);
        assert_eq!(resets(FramingResetPolicy::Message), [true, true]);
        assert_eq!(resets(FramingResetPolicy::Template), [false, false]);
        assert_eq!(resets(FramingResetPolicy::Never), [false, false]);
    }
}
