//! Explains one packet byte by byte.
//!
//! An [`Explainer`] decodes a packet and passes each [`PacketPart`] of it to a sink. The parts are the
//! preamble and the messages. For each message they contain the presence map with the purpose of
//! each bit, the template id, and for each field its offset, bytes, type, operator, presence-map
//! bit, value, and the dictionary entry before and after. [`write_text`] and [`write_html`] print a
//! part.

mod html;
mod lines;
mod rows;
mod text;

use std::io::Read;
use std::ops::Range;
use std::time::Instant;

use tickwire_fast::{Decoder, Program};
use tickwire_feed::capture::{CaptureError, CaptureKind, CaptureReader, Packet};
use tickwire_feed::framing::{Framing, Segment, next_block};
use tickwire_text::outline::Outline;

use crate::{CaptureChannel, Channels, lose_dictionaries};
use rows::{ExplanationRow, ExplanationRows};

pub use html::{STYLE, write_html};
pub use lines::{Emphasis, ExplanationLine, TITLES};
pub use text::write_text;

/// Longest packet that is explained, in bytes; a raw file is one packet.
const PACKET_BYTES_MAX: usize = 16 << 20;

/// A piece of a packet.
#[derive(Debug)]
pub enum PacketPart<'s> {
    /// Bytes before the FAST bytes.
    Preamble {
        /// The bytes as they are in the packet; never empty.
        bytes: &'s [u8],
        /// The sequence number in it.
        seq_num: Option<u64>,
    },
    /// A message.
    Message(Explained<'s>),
    /// An error in the packet outside its messages.
    Wrong(String),
}

/// A message, or its decoded part.
#[derive(Debug)]
pub struct Explained<'s> {
    /// Offset in the packet.
    pub offset: usize,
    /// The bytes from `offset` to the end of the messages of its block.
    pub bytes: &'s [u8],
    /// Length of the message; `None` if it cannot be decoded.
    pub len: Option<usize>,
    /// Steps beyond those in [`Explained::lines`].
    pub omitted: u64,
    /// Position and text of the error, if the message cannot be decoded.
    pub error: Option<Stopped>,
    rows: Vec<ExplanationRow>,
}

impl Explained<'_> {
    /// Returns the table, one line at a time.
    pub fn lines(&self) -> impl Iterator<Item = ExplanationLine> {
        self.rows.iter().flat_map(|row| ExplanationLine::of(self, row))
    }
}

/// Position at which decoding of a message failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The error, with template, field and offset in the packet.
    pub text: String,
    /// Offset in [`Explained::bytes`].
    pub at: usize,
}

/// Explains the packets of a feed.
#[derive(Debug)]
pub struct Explainer<'p> {
    program: &'p Program,
    outline: Outline<'p>,
    framing: Framing,
    deadline: Option<Instant>,
}

impl<'p> Explainer<'p> {
    /// Creates an explainer for messages of a program; if that was compiled with constants, they
    /// are shown too.
    pub fn new(program: &'p Program, framing: Framing) -> Self {
        Self { program, outline: Outline::of(program), framing, deadline: None }
    }

    /// Stops explaining between two messages once `deadline` has passed.
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Passes the parts of a packet to `sink`, with at most `messages_left` messages, and reduces
    /// `messages_left` by the number passed. Decodes the rest of the packet only to update the
    /// dictionaries. Returns true if all passed messages were decoded.
    ///
    /// # Errors
    /// Errors of `sink`.
    pub fn packet<E>(
        &self,
        channel: &mut CaptureChannel,
        bytes: &[u8],
        messages_left: &mut u64,
        sink: &mut dyn FnMut(PacketPart<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut explaining = PacketExplanation { explainer: self, left: messages_left, sink };
        let mut is_right = true;
        for segment in channel.framer.split(bytes) {
            match segment {
                Ok(segment) => {
                    let explained = explaining.segment(&mut channel.decoder, &segment)?;
                    is_right &= explained.is_right;
                    channel.ended_inside |= !explained.is_at_end;
                }
                Err(error) => {
                    is_right = false;
                    channel.ended_inside = true;
                    (explaining.sink)(PacketPart::Wrong(error.to_string()))?;
                }
            }
        }
        Ok(is_right)
    }

    /// Decodes a packet only to update the dictionaries. Returns true if no message failed.
    /// Otherwise the dictionaries are unknown; after a later reset in the packet, they depend only
    /// on the messages from that reset on.
    pub fn follow(&self, channel: &mut CaptureChannel, bytes: &[u8]) -> bool {
        let mut is_right = true;
        for segment in channel.framer.split(bytes).flatten() {
            if segment.reset_before {
                channel.decoder.begin_packet();
            }
            let followed = self.follow_segment(&mut channel.decoder, segment.bytes);
            is_right &= followed.is_right;
            channel.ended_inside |= !followed.is_at_end;
        }
        is_right
    }

    fn pass(&self, channel: &mut CaptureChannel, packet: &Packet<'_>) {
        self.follow(channel, packet.bytes);
        if packet.is_truncated() {
            lose_dictionaries(&mut channel.decoder);
        }
    }

    fn follow_segment(&self, decoder: &mut Decoder, bytes: &[u8]) -> ExplainedSegment {
        let failed = ExplainedSegment { is_right: false, is_at_end: false };
        let mut is_right = true;
        let mut at = 0;
        while at < bytes.len() {
            let Ok(Some(block)) = next_block(&self.framing, bytes, at) else {
                lose_dictionaries(decoder);
                return failed;
            };
            at = block.start;
            while at < block.end {
                if self.is_late() {
                    return failed;
                }
                at = match decoder.decode(&bytes[at..block.end]) {
                    Ok(decoded) => at + decoded.len,
                    Err(_) if block.has_length => {
                        is_right = false;
                        block.end
                    }
                    Err(_) => return failed,
                };
                if block.is_one_message {
                    break;
                }
            }
        }
        ExplainedSegment { is_right, is_at_end: true }
    }

    /// Decodes the packets of a capture before `wanted`, so that dictionaries are in the right
    /// state, and passes the packet at `wanted` to `found` with its channel. Returns `None` if the
    /// capture has no such packet, or the deadline passes before it is found; a raw file is one packet. `remark` is called as by
    /// [`Channels::channel`].
    ///
    /// # Errors
    /// Errors of the capture before the packet.
    pub fn find<R: Read, T>(
        &self,
        reader: &mut CaptureReader<R>,
        channels: &mut Channels,
        wanted: u64,
        remark: impl Fn(&str),
        found: impl FnOnce(&mut CaptureChannel, &Packet<'_>) -> T,
    ) -> Result<Option<T>, CaptureError> {
        let is_whole = reader.kind() == CaptureKind::Stream;
        loop {
            let packet = match is_whole {
                true => Some(reader.read_whole(PACKET_BYTES_MAX)?),
                false => reader.next_packet()?,
            };
            let Some(packet) = packet.filter(|_| !self.is_late()) else { return Ok(None) };
            channels.begin_packet(packet.index);
            let channel = channels.channel(packet.destination, &remark);
            if is_whole || packet.index >= wanted {
                let found = found(channel, &packet);
                if packet.is_truncated() {
                    lose_dictionaries(&mut channel.decoder);
                }
                return Ok(Some(found));
            }
            self.pass(channel, &packet);
        }
    }
}

/// Result of explaining or following a segment.
struct ExplainedSegment {
    /// True if all messages were decoded; in an explained segment, all messages that were
    /// explained.
    is_right: bool,
    /// True if the segment ends at the end of a message.
    is_at_end: bool,
}

/// A packet being explained.
struct PacketExplanation<'e, 'p, E> {
    explainer: &'e Explainer<'p>,
    /// Number of messages that may still be explained.
    left: &'e mut u64,
    sink: &'e mut dyn FnMut(PacketPart<'_>) -> Result<(), E>,
}

impl<E> PacketExplanation<'_, '_, E> {
    /// Explains a segment.
    fn segment(
        &mut self,
        decoder: &mut Decoder,
        segment: &Segment<'_>,
    ) -> Result<ExplainedSegment, E> {
        let cut_short = |is_right| Ok(ExplainedSegment { is_right, is_at_end: false });
        if !segment.preamble.is_empty() {
            (self.sink)(PacketPart::Preamble {
                bytes: segment.preamble,
                seq_num: segment.seq_num,
            })?;
        }
        if segment.reset_before {
            decoder.begin_packet();
        }
        let mut is_right = true;
        let mut at = 0;
        while at < segment.bytes.len() {
            let block = match next_block(&self.explainer.framing, segment.bytes, at) {
                Ok(Some(block)) => block,
                failed => {
                    lose_dictionaries(decoder);
                    if *self.left == 0 {
                        return cut_short(is_right);
                    }
                    let why = match failed {
                        Err(error) => error.kind.to_string(),
                        Ok(_) => {
                            format!("offset {}: no complete block is left", segment.offset + at)
                        }
                    };
                    (self.sink)(PacketPart::Wrong(why))?;
                    return cut_short(false);
                }
            };
            at = block.start;
            while at < block.end {
                let is_explained = *self.left > 0;
                if self.explainer.is_late() {
                    if !is_explained {
                        return cut_short(is_right);
                    }
                    let offset = segment.offset + at;
                    (self.sink)(PacketPart::Wrong(format!(
                        "offset {offset}: the time for it is over"
                    )))?;
                    return cut_short(false);
                }
                let len = if is_explained {
                    *self.left -= 1;
                    let len = self.message(decoder, segment, at..block.end)?;
                    is_right &= len.is_some();
                    len
                } else {
                    // Updates the dictionaries for the packets that follow.
                    decoder.decode(&segment.bytes[at..block.end]).ok().map(|decoded| decoded.len)
                };
                match len {
                    Some(len) => at += len,
                    None if block.has_length => at = block.end,
                    None => return cut_short(is_right),
                }
                if block.is_one_message {
                    break;
                }
            }
        }
        Ok(ExplainedSegment { is_right, is_at_end: true })
    }

    /// Explains the message at the start of a range; returns its length, `None` if it has an error.
    fn message(
        &mut self,
        decoder: &mut Decoder,
        segment: &Segment<'_>,
        range: Range<usize>,
    ) -> Result<Option<usize>, E> {
        let Explainer { program, outline, .. } = self.explainer;
        let offset = segment.offset + range.start;
        let bytes = &segment.bytes[range];
        let mut rows = ExplanationRows::new(program, outline, offset);
        let outcome = decoder.trace(bytes, |event| rows.event(&event));
        let (rows, omitted) = rows.finish();
        let (len, error) = match outcome {
            Ok(len) => (Some(len), None),
            Err(error) => {
                let text = error.shifted(offset).describe(program).to_string();
                (None, Some(Stopped { text, at: error.offset() }))
            }
        };
        (self.sink)(PacketPart::Message(Explained { offset, bytes, len, omitted, error, rows }))?;
        Ok(len)
    }
}
