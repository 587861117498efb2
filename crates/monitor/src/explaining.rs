//! Explains packets byte by byte, as JSON.

use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tickwire_captures::explain::{Emphasis, Explainer, PacketPart};
use tickwire_captures::{CaptureChannel, Channels, lose_dictionaries};
use tickwire_fast::{
    CompileOptions, DecoderOptions, EngineSelection, Limits, Program, TemplateSet,
};
use tickwire_feed::capture::{CaptureOptions, CaptureReader};
use tickwire_feed::framing::{Framing, FramingResetPolicy};

use crate::words::counted;

/// Most explained messages of a packet.
const MESSAGES_MAX: u64 = 64;
/// Most parts of an explanation.
const PARTS_MAX: usize = 256;
/// Most lines of an explanation, over all its parts.
const LINES_MAX: usize = 5_000;
/// Most bytes of a capture that are read between two checks of the deadline.
const READ_BYTES_MAX: usize = 64;

/// Remark on a packet whose dictionary entries are unknown.
const UNKNOWN_ENTRIES: &str = "This feed keeps dictionaries from packet to packet, and no earlier packet with a reset is known. The packet \
                               is explained as if all entries were empty before it: values that refer to earlier packets \
                               differ or are errors.";

/// Remark on a packet of a channel whose templates were replaced.
const OTHER_TEMPLATES: &str = "The templates were replaced while the process ran. The packet is explained with those of its start: later packets \
                               may have other fields and values.";

/// How packets of a channel are decoded.
#[derive(Clone, Debug)]
pub struct ExplanationSettings {
    program: Arc<Program>,
    decoding: DecoderOptions,
    framing: Framing,
}

/// An explained packet.
#[derive(Debug, Default, Serialize)]
pub struct Explanation {
    /// All bytes of the packet in hexadecimal.
    pub hex: String,
    /// True if the whole packet was decoded.
    pub is_right: bool,
    /// Note to read before the explanation.
    pub remark: Option<String>,
    /// The parts of the packet, in order.
    pub parts: Vec<PartState>,
}

impl Explanation {
    /// Adds the remark that the handler has other templates by now.
    pub(crate) fn warn_of_other_templates(&mut self) {
        let remarks = [Some(OTHER_TEMPLATES.to_owned()), self.remark.take()];
        self.remark = Some(remarks.into_iter().flatten().collect::<Vec<_>>().join(" "));
    }
}

/// A part of a packet.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PartState {
    /// A message, or as much of it as could be decoded.
    Message {
        /// Offset of the message in the packet.
        offset: usize,
        /// Length of the message in bytes; `null` if it cannot be decoded.
        len: Option<usize>,
        /// The lines of the table.
        lines: Vec<ExplanationLineState>,
        /// Number of further steps, which have no lines.
        omitted: u64,
        /// Why the message cannot be decoded.
        error: Option<String>,
    },
    /// The bytes before the FAST message.
    Preamble {
        /// Length of the preamble in bytes.
        len: usize,
        /// The sequence number in the preamble.
        seq_num: Option<String>,
    },
    /// An error of the packet outside its messages.
    Wrong {
        /// The error as a sentence.
        text: String,
    },
}

/// A line of the table: the texts of offset, bytes, field, type, operator, bit, value and dictionary.
#[derive(Debug, Serialize)]
pub struct ExplanationLineState {
    /// Texts of the cells.
    pub cells: [String; 8],
    /// Styles of the cells: `plain`, `heading`, `quiet`, `bytes`, `value`, `changed` or `error`.
    pub styles: [&'static str; 8],
}

impl ExplanationSettings {
    /// Explains packets with a template set, which is compiled once more with the information that explanations need
    /// beyond decoding.
    ///
    /// # Errors
    /// A message that says why the set cannot be compiled.
    pub fn new(
        set: TemplateSet,
        decoding: DecoderOptions,
        framing: Framing,
    ) -> Result<Self, String> {
        Self::compiled(set, decoding, framing, CompileOptions::default())
    }

    /// Like [`new`](Self::new), but within the given limits.
    ///
    /// # Errors
    /// A message that says why the set cannot be compiled.
    pub(crate) fn compiled(
        set: TemplateSet,
        decoding: DecoderOptions,
        framing: Framing,
        limits: CompileOptions,
    ) -> Result<Self, String> {
        let options = limits.constants(true);
        let program = Program::compile_with(set, &options).map_err(|error| error.to_string())?;
        // Compiling machine code does not pay: only a packet or two are decoded at a time.
        let decoding = decoding.engine(EngineSelection::Portable);
        Ok(Self { program: Arc::new(program), decoding, framing })
    }

    /// Returns the same with other limits of decoding.
    pub(crate) fn limited(self, limits: Limits) -> Self {
        Self { decoding: self.decoding.limits(limits), ..self }
    }

    pub(crate) const fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns true if each packet begins with empty dictionaries, so that it can be explained without the packets
    /// before it.
    fn stands_alone(&self) -> bool {
        matches!(
            self.framing.reset_policy(),
            FramingResetPolicy::Packet | FramingResetPolicy::Message
        )
    }

    /// Explains a packet. `before` has the packets before it without a hole, the oldest first; they set the
    /// dictionaries if the feed keeps these from packet to packet and one of them resets them.
    ///
    /// # Errors
    /// The deadline passed.
    pub(crate) fn packet(
        &self,
        bytes: &[u8],
        before: &[Arc<[u8]>],
        deadline: Deadline,
    ) -> Result<Explanation, String> {
        let explainer = self.explainer(deadline);
        let new_channel = || CaptureChannel::new(self.program.clone(), self.decoding, self.framing);
        if self.stands_alone() {
            let explanation = self.explain(&explainer, &mut new_channel(), bytes);
            return deadline.check().map(|()| explanation);
        }
        // Until a reset the dictionaries are unknown, and the decoder refuses messages.
        let mut channel = new_channel();
        lose_dictionaries(&mut channel.decoder);
        let mut used = None;
        for (index, packet) in before.iter().enumerate() {
            let is_right = explainer.follow(&mut channel, packet);
            deadline.check()?;
            // After a failed message, only a reset later in the same packet makes the entries known.
            used = match channel.decoder.needs_reset() {
                true => None,
                false => used.filter(|_| is_right).or(Some(before.len() - index)),
            };
        }
        let mut explanation = self.explain(&explainer, &mut channel, bytes);
        explanation.remark = match used {
            Some(used) => Some(format!(
                "This feed keeps dictionaries from packet to packet. Entries before the packet are those that the \
                 {} before it left, from a reset on.",
                counted(used as u64, "packet", "packets")
            )),
            // The packet itself resets the dictionaries.
            None if explanation.is_right => None,
            None => {
                explanation = self.explain(&explainer, &mut new_channel(), bytes);
                Some(UNKNOWN_ENTRIES.to_owned())
            }
        };
        deadline.check().map(|()| explanation)
    }

    /// Explains packet `index` of a capture, with the dictionaries as the packets before it left them.
    ///
    /// # Errors
    /// The capture cannot be read or has no such packet, or the deadline passed.
    pub(crate) fn capture(
        &self,
        capture: &[u8],
        index: u64,
        deadline: Deadline,
    ) -> Result<Explanation, String> {
        let explainer = self.explainer(deadline);
        let mut channels = Channels::new(self.program.clone(), self.decoding, self.framing);
        let found =
            CaptureReader::open(BoundedReader { rest: capture, deadline }, CaptureOptions::new());
        let found = found.and_then(|mut reader| {
            explainer.find(
                &mut reader,
                &mut channels,
                index,
                |_| {},
                |channel, packet| self.explain(&explainer, channel, packet.bytes),
            )
        });
        deadline.check()?;
        let found = found.map_err(|error| error.to_string())?;
        found.ok_or_else(|| format!("the capture has no packet {index}"))
    }

    fn explainer(&self, deadline: Deadline) -> Explainer<'_> {
        Explainer::new(&self.program, self.framing).with_deadline(deadline.at)
    }

    fn explain(
        &self,
        explainer: &Explainer<'_>,
        channel: &mut CaptureChannel,
        bytes: &[u8],
    ) -> Explanation {
        let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut explanation = Explanation { hex, ..Explanation::default() };
        let (mut left, mut omitted) = (LINES_MAX, 0_u64);
        let mut take = |part: PacketPart<'_>| {
            match explanation.parts.len() < PARTS_MAX {
                true => explanation.parts.push(PartState::new(part, &mut left)),
                false => omitted += 1,
            }
            Ok::<(), Infallible>(())
        };
        let mut left = MESSAGES_MAX;
        let Ok(is_right) = explainer.packet(channel, bytes, &mut left, &mut take);
        explanation.is_right = is_right;
        if omitted > 0 {
            let text = format!("and {}", counted(omitted, "more part", "more parts"));
            explanation.parts.push(PartState::Wrong { text });
        }
        explanation
    }
}

/// Time at which work for a client ends, finished or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    after: Duration,
}

impl Deadline {
    pub(crate) fn after(after: Duration) -> Self {
        Self { at: Instant::now() + after, after }
    }

    /// Returns the client's error message once the deadline has passed.
    pub(crate) fn check(self) -> Result<(), String> {
        if Instant::now() < self.at {
            return Ok(());
        }
        Err(format!(
            "not explained within {:?}: ask for a smaller packet or an earlier one",
            self.after
        ))
    }
}

/// A capture whose reads fail once the deadline has passed.
struct BoundedReader<'c> {
    rest: &'c [u8],
    deadline: Deadline,
}

impl Read for BoundedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let late = |text| io::Error::new(io::ErrorKind::TimedOut, text);
        self.deadline.check().map_err(late)?;
        let len = buffer.len().min(READ_BYTES_MAX);
        self.rest.read(&mut buffer[..len])
    }
}

impl PartState {
    fn new(part: PacketPart<'_>, left: &mut usize) -> Self {
        match part {
            PacketPart::Message(message) => {
                let mut omitted = message.omitted;
                let mut lines = Vec::new();
                for line in message.lines() {
                    if *left == 0 {
                        omitted += 1;
                        continue;
                    }
                    *left -= 1;
                    let styles = std::array::from_fn(|at| style(line.cells[at].1));
                    lines.push(ExplanationLineState {
                        cells: line.cells.map(|(text, _)| text),
                        styles,
                    });
                }
                let error = message.error.map(|stopped| stopped.text);
                Self::Message { offset: message.offset, len: message.len, lines, omitted, error }
            }
            PacketPart::Preamble { bytes, seq_num } => Self::Preamble {
                len: bytes.len(),
                seq_num: seq_num.map(|number| number.to_string()),
            },
            PacketPart::Wrong(text) => Self::Wrong { text },
        }
    }
}

const fn style(emphasis: Emphasis) -> &'static str {
    match emphasis {
        Emphasis::Plain => "plain",
        Emphasis::Heading => "heading",
        Emphasis::Quiet => "quiet",
        Emphasis::Bytes => "bytes",
        Emphasis::Value => "value",
        Emphasis::Changed => "changed",
        Emphasis::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use tickwire_feed::framing::MessageHeader;

    use super::*;

    /// Template 1 resets the dictionaries; a message of template 2 without a value has one more than the last.
    const TEMPLATES: &str = r#"<templates><template name="Reset" id="1" reset="Y"/><template name="T" id="2"><uInt32 name="n"><increment/></uInt32></template></templates>"#;
    const RESET: [u8; 2] = [0xC0, 0x81];
    const SEVEN: [u8; 3] = [0xE0, 0x82, 0x87];
    const NEXT: [u8; 2] = [0xC0, 0x82];

    fn explain(packet: &[u8], before: &[&[u8]]) -> Explanation {
        explain_framed(Framing::default(), packet, before)
    }

    fn explain_framed(framing: Framing, packet: &[u8], before: &[&[u8]]) -> Explanation {
        let set = TemplateSet::parse(TEMPLATES).unwrap();
        let framing = framing.reset(FramingResetPolicy::Template);
        let decoding = DecoderOptions::default().reset(framing.reset_policy().into());
        let explaining = ExplanationSettings::new(set, decoding, framing).unwrap();
        let before: Vec<Arc<[u8]>> = before.iter().map(|bytes| (*bytes).into()).collect();
        explaining.packet(packet, &before, Deadline::after(Duration::from_secs(60))).unwrap()
    }

    /// Returns value and dictionary of the field of the last message.
    fn field(explanation: &Explanation) -> [String; 2] {
        let Some(PartState::Message { lines, .. }) = explanation.parts.last() else {
            panic!("no message: {explanation:?}")
        };
        let line = lines.iter().find(|line| line.cells[2].trim() == "n").unwrap();
        [line.cells[6].clone(), line.cells[7].clone()]
    }

    #[test]
    fn entries_are_those_that_the_packets_before_left() {
        let explanation = explain(&NEXT, &[&RESET, &SEVEN, &NEXT]);
        assert!(explanation.is_right, "{explanation:?}");
        let [value, entries] = field(&explanation);
        assert_eq!(value, "9");
        assert!(entries.contains('8') && entries.contains('9'), "{entries}");
        assert!(explanation.remark.unwrap().contains("the 3 packets before it"));
    }

    #[test]
    fn a_packet_that_fails_before_its_own_reset_is_the_first_that_is_used() {
        let header = MessageHeader::Encoded { prefix_fields: 0, suffix_fields: 0 };
        let framing = Framing::default().message_header(header).unwrap();
        let framed = |messages: &[&[u8]]| -> Vec<u8> {
            let with_len = |message: &&[u8]| [&[0x80 | message.len() as u8], *message].concat();
            messages.iter().flat_map(with_len).collect()
        };
        let unknown_template = [0xC0, 0x8F];
        let first = framed(&[&RESET, &SEVEN]);
        let next = framed(&[&NEXT]);
        for (second, used) in [
            (framed(&[&NEXT, &RESET, &SEVEN]), "the 3 packets before it"),
            (framed(&[&unknown_template, &RESET, &SEVEN]), "the 2 packets before it"),
        ] {
            let explanation = explain_framed(framing, &next, &[&first, &second, &next]);
            assert_eq!(field(&explanation)[0], "9");
            let remark = explanation.remark.unwrap();
            assert!(remark.contains(used), "{remark}");
        }
    }

    #[test]
    fn without_a_reset_before_the_remark_says_that_entries_are_unknown() {
        // The first packet may set entries, but others are unknown.
        for before in [&[][..], &[&SEVEN[..]]] {
            let explanation = explain(&NEXT, before);
            assert_eq!(explanation.remark.as_deref(), Some(UNKNOWN_ENTRIES));
        }
        // After a packet that cannot be decoded, entries are unknown again.
        let explanation = explain(&NEXT, &[&RESET, &SEVEN, &[0xC0, 0x8F]]);
        assert_eq!(explanation.remark.as_deref(), Some(UNKNOWN_ENTRIES));
    }

    #[test]
    fn a_packet_that_resets_the_dictionaries_itself_needs_no_others() {
        let explanation = explain(&RESET, &[]);
        assert!(explanation.is_right);
        assert_eq!(explanation.remark, None);
        let whole = [&RESET[..], &SEVEN, &NEXT].concat();
        let explanation = explain(&whole, &[]);
        assert_eq!((field(&explanation)[0].as_str(), explanation.remark), ("8", None));
    }
}
