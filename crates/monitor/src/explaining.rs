//! Packets explained byte by byte, as JSON.

use std::convert::Infallible;
use std::sync::Arc;

use serde::Serialize;
use tickwire_captures::explain::{Emphasis, Explainer, Part};
use tickwire_captures::{Channel, Channels};
use tickwire_fast::{CompileOptions, DecoderOptions, Engine, Program, TemplateSet};
use tickwire_feed::capture::{CaptureOptions, CaptureReader};
use tickwire_feed::framing::{Framing, ResetPolicy};

/// Most messages of a packet that are explained.
const MESSAGES_MAX: u64 = 64;
/// Most lines of an explanation.
const LINES_MAX: usize = 5_000;

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
        let options = CompileOptions::default().constants(true);
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
    pub(crate) fn packet(&self, bytes: &[u8]) -> Explanation {
        let mut channel = Channel::new(self.program.clone(), self.decoding, self.framing);
        let mut explanation = self.explain(&mut channel, bytes);
        if !self.stands_alone() {
            let text = "This feed keeps dictionaries from packet to packet. The packet is explained as if \
                        they were empty before it: values that refer to earlier packets differ or are errors.";
            explanation.remark = Some(text.to_owned());
        }
        explanation
    }

    /// Explains packet `index` of a capture, with dictionaries as the packets before it left them.
    ///
    /// # Errors
    /// The capture cannot be read, or has no such packet, in words.
    pub(crate) fn capture(&self, capture: &[u8], index: u64) -> Result<Explanation, String> {
        let explainer = Explainer::new(&self.program, self.framing);
        let mut channels = Channels::new(self.program.clone(), self.decoding, self.framing);
        let read = |error: tickwire_feed::capture::CaptureError| error.to_string();
        let mut reader = CaptureReader::open(capture, CaptureOptions::new()).map_err(read)?;
        let found = explainer.find(
            &mut reader,
            &mut channels,
            index,
            |_| {},
            |channel, packet| self.explain(channel, packet.bytes),
        );
        found.map_err(read)?.ok_or_else(|| format!("the capture has no packet {index}"))
    }

    fn explain(&self, channel: &mut Channel, bytes: &[u8]) -> Explanation {
        let explainer = Explainer::new(&self.program, self.framing);
        let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut explanation = Explanation { hex, ..Explanation::default() };
        let mut left = LINES_MAX;
        let mut take = |part: Part<'_>| {
            explanation.parts.push(PartState::new(part, &mut left));
            Ok::<(), Infallible>(())
        };
        let Ok(is_right) = explainer.packet(channel, bytes, MESSAGES_MAX, &mut take);
        explanation.is_right = is_right;
        explanation
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
