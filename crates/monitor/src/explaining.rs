//! Packets explained byte by byte, as JSON.

use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tickwire_captures::explain::{Emphasis, Explainer, Part};
use tickwire_captures::{Channel, Channels};
use tickwire_fast::{CompileOptions, DecoderOptions, Engine, Program, TemplateSet};
use tickwire_feed::capture::{CaptureOptions, CaptureReader};
use tickwire_feed::framing::{Framing, ResetPolicy};

/// Most messages of a packet that are explained.
const MESSAGES_MAX: u64 = 64;
/// Most parts of an explanation.
const PARTS_MAX: usize = 256;
/// Most lines of an explanation.
const LINES_MAX: usize = 5_000;
/// Bytes of a capture that are read without a look at the clock.
const READ_BYTES_MAX: usize = 64;

/// How packets of a channel are decoded.
#[derive(Clone, Debug)]
pub struct Explaining {
    program: Arc<Program>,
    decoding: DecoderOptions,
    framing: Framing,
}

/// A packet explained.
#[derive(Debug, Default, Serialize)]
pub struct Explanation {
    /// All of its bytes in hexadecimal.
    pub hex: String,
    /// Whether all of it was decoded.
    pub is_right: bool,
    /// What should be known before the explanation is read.
    pub remark: Option<String>,
    /// Its parts, in order.
    pub parts: Vec<PartState>,
}

/// A piece of a packet.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PartState {
    /// A message, or what of it could be decoded.
    Message {
        /// Where in the packet it begins.
        offset: usize,
        /// Its length; `null` if it cannot be decoded.
        len: Option<usize>,
        /// The table, a line at a time.
        lines: Vec<LineState>,
        /// Steps beyond those lines.
        omitted: u64,
        /// Why it cannot be decoded.
        error: Option<String>,
    },
    /// What is before the FAST bytes.
    Preamble {
        /// Its length.
        len: usize,
        /// The sequence number in it.
        seq_num: Option<String>,
    },
    /// What is wrong with the packet outside its messages.
    Wrong {
        /// In words.
        text: String,
    },
}

/// A line: the texts of offset, bytes, field, type, operator, bit, value and dictionary.
#[derive(Debug, Serialize)]
pub struct LineState {
    /// The texts.
    pub cells: [String; 8],
    /// How each is shown: `plain`, `heading`, `quiet`, `bytes`, `value`, `changed` or `error`.
    pub styles: [&'static str; 8],
}

impl Explaining {
    /// Explains by a template set; compiles it once more, with what explanations need beyond decoding.
    ///
    /// # Errors
    /// The set cannot be compiled, in words.
    pub fn new(
        set: TemplateSet,
        decoding: DecoderOptions,
        framing: Framing,
    ) -> Result<Self, String> {
        Self::compiled(set, decoding, framing, CompileOptions::default())
    }

    /// Explains by a template set as [`new`](Self::new), within limits of its own.
    ///
    /// # Errors
    /// The set cannot be compiled, in words.
    pub(crate) fn compiled(
        set: TemplateSet,
        decoding: DecoderOptions,
        framing: Framing,
        limits: CompileOptions,
    ) -> Result<Self, String> {
        let options = limits.constants(true);
        let program = Program::compile_with(set, &options).map_err(|error| error.to_string())?;
        // A packet or two are decoded at a time.
        let decoding = decoding.engine(Engine::Portable);
        Ok(Self { program: Arc::new(program), decoding, framing })
    }

    pub(crate) const fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether each packet begins with empty dictionaries, so that it can be explained alone.
    fn stands_alone(&self) -> bool {
        matches!(self.framing.reset_policy(), ResetPolicy::Packet | ResetPolicy::Message)
    }

    /// Explains a packet that is received alone.
    ///
    /// # Errors
    /// The deadline passes, in words.
    pub(crate) fn packet(&self, bytes: &[u8], deadline: Deadline) -> Result<Explanation, String> {
        let mut channel = Channel::new(self.program.clone(), self.decoding, self.framing);
        let mut explanation = self.explain(&self.explainer(deadline), &mut channel, bytes);
        if !self.stands_alone() {
            let text = "This feed keeps dictionaries from packet to packet. The packet is explained as if \
                        they were empty before it: values that refer to earlier packets differ or are errors.";
            explanation.remark = Some(text.to_owned());
        }
        deadline.check().map(|()| explanation)
    }

    /// Explains packet `index` of a capture, with dictionaries as the packets before it left them.
    ///
    /// # Errors
    /// The capture cannot be read or has no such packet, or the deadline passes, in words.
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
        channel: &mut Channel,
        bytes: &[u8],
    ) -> Explanation {
        let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut explanation = Explanation { hex, ..Explanation::default() };
        let (mut left, mut omitted) = (LINES_MAX, 0_u64);
        let mut take = |part: Part<'_>| {
            match explanation.parts.len() < PARTS_MAX {
                true => explanation.parts.push(PartState::new(part, &mut left)),
                false => omitted += 1,
            }
            Ok::<(), Infallible>(())
        };
        let Ok(is_right) = explainer.packet(channel, bytes, MESSAGES_MAX, &mut take);
        explanation.is_right = is_right;
        if omitted > 0 {
            let text = format!("and {omitted} more parts");
            explanation.parts.push(PartState::Wrong { text });
        }
        explanation
    }
}

/// When work for a client ends, finished or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    after: Duration,
}

impl Deadline {
    pub(crate) fn after(after: Duration) -> Self {
        Self { at: Instant::now() + after, after }
    }

    /// Returns the error that a client is told once the deadline has passed.
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

/// A capture that cannot be read any more once the deadline has passed.
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
    fn new(part: Part<'_>, left: &mut usize) -> Self {
        match part {
            Part::Message(message) => {
                let mut omitted = message.omitted;
                let mut lines = Vec::new();
                for line in message.lines() {
                    if *left == 0 {
                        omitted += 1;
                        continue;
                    }
                    *left -= 1;
                    let styles = std::array::from_fn(|at| style(line.cells[at].1));
                    lines.push(LineState { cells: line.cells.map(|(text, _)| text), styles });
                }
                let error = message.error.map(|stopped| stopped.text);
                Self::Message { offset: message.offset, len: message.len, lines, omitted, error }
            }
            Part::Preamble { bytes, seq_num } => Self::Preamble {
                len: bytes.len(),
                seq_num: seq_num.map(|number| number.to_string()),
            },
            Part::Wrong(text) => Self::Wrong { text },
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
