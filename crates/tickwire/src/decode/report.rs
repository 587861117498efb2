//! Report on standard error: errors as they occur, counts at the end.

use crate::packet_range::PacketRange;
use crate::progress::Progress;
use std::fmt::Display;
use tickwire_captures::{LossExtent, MessagePlace, OffsetBase, PacketPlace};
use tickwire_fast::{FastError, FastErrorKind, Findings, Limits, Program};
use tickwire_feed::capture::{Packet, Statistics};
use tickwire_feed::counted;
use tickwire_feed::framing::detect::Unproven;

/// Errors printed one by one; the rest is only counted.
const ERRORS_SHOWN_MAX: u64 = 20;

/// Receives data that were not decoded: the packet, if known, and the reason.
pub type OnLost<'r> = Box<dyn FnMut(Option<PacketPlace>, &str) + 'r>;

/// Counts of a run, and the destination of its error messages.
pub struct DecodeReport<'r> {
    voice: Voice<'r>,
    on_lost: Option<OnLost<'r>>,
    limits: Limits,
    /// Counters of the run.
    pub counts: DecodeCounts,
    /// Packet of the message that was decoded last.
    decoded: Option<u64>,
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecodeCounts {
    /// Packets read.
    pub packets: u64,
    /// Messages decoded, including those that a filter excludes.
    pub messages: u64,
    /// Bytes of the packets read.
    pub bytes: u64,
    skipped: Skipped,
    /// The part of `skipped` that came after an error and before the next reset, without valid
    /// dictionaries.
    waiting: Skipped,
    errors: u64,
}

impl DecodeCounts {
    /// Counts a packet that was read.
    pub fn packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        self.bytes += packet.bytes.len() as u64;
    }
}

/// Destination of the report's lines.
enum Voice<'r> {
    /// Standard error, with the name of the file in front.
    Aloud { file: &'r str, progress: &'r Progress },
    /// Held until [`DecodeReport::hand_over`].
    Held(Vec<ReportLine>),
}

/// A line of a report.
enum ReportLine {
    Error(String),
    Remark(String),
}

/// Report of a part of a run, printed when its turn comes.
pub struct DeferredReport {
    lines: Vec<ReportLine>,
    counts: DecodeCounts,
}

impl ReportLine {
    fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

/// Number of skipped packets and blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Skipped {
    packets: u64,
    /// Skipped blocks after which decoding of the packet or stream continued.
    blocks: u64,
}

impl Skipped {
    fn add(&mut self, lost: LossExtent) {
        match lost {
            LossExtent::Block(_) => self.blocks += 1,
            LossExtent::Rest(_) => self.packets += 1,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, blocks: self.blocks + other.blocks }
    }

    fn is_none(&self) -> bool {
        self.packets == 0 && self.blocks == 0
    }

    fn text(&self) -> String {
        match (self.packets, self.blocks) {
            (packets, 0) => counted(packets, "packet"),
            (0, blocks) => counted(blocks, "block"),
            (packets, blocks) => {
                format!("{} and {}", counted(packets, "packet"), counted(blocks, "block"))
            }
        }
    }
}

impl<'r> DecodeReport<'r> {
    /// Creates a report that prints errors as they occur. `limits` are those of the decoders.
    pub fn new(file: &'r str, progress: &'r Progress, limits: Limits) -> Self {
        let voice = Voice::Aloud { file, progress };
        Self { voice, on_lost: None, limits, counts: DecodeCounts::default(), decoded: None }
    }

    /// Also passes every error to `on_lost`, including those that are not printed.
    #[cfg(feature = "columns")]
    pub fn on_lost(self, on_lost: OnLost<'r>) -> Self {
        Self { on_lost: Some(on_lost), ..self }
    }

    /// Creates a report that holds errors until [`Self::hand_over`].
    pub fn held(limits: Limits) -> Self {
        let voice = Voice::Held(Vec::new());
        Self { voice, on_lost: None, limits, counts: DecodeCounts::default(), decoded: None }
    }

    /// Returns the report since the last call.
    pub fn hand_over(&mut self) -> DeferredReport {
        let lines = match &mut self.voice {
            Voice::Aloud { .. } => Vec::new(),
            Voice::Held(lines) => std::mem::take(lines),
        };
        DeferredReport { lines, counts: std::mem::take(&mut self.counts) }
    }

    /// Prints and adds another report.
    pub fn take_over(&mut self, held: DeferredReport) {
        let unsaid =
            held.counts.errors - held.lines.iter().filter(|line| line.is_error()).count() as u64;
        for line in held.lines {
            match line {
                ReportLine::Error(text) => self.error(&text),
                ReportLine::Remark(text) => self.remark(&text),
            }
        }
        let (counts, more) = (&mut self.counts, held.counts);
        counts.packets += more.packets;
        counts.messages += more.messages;
        counts.bytes += more.bytes;
        counts.skipped = counts.skipped.plus(more.skipped);
        counts.waiting = counts.waiting.plus(more.waiting);
        counts.errors += unsaid;
    }

    /// Number of errors so far.
    pub const fn errors(&self) -> u64 {
        self.counts.errors
    }

    /// True if something was skipped.
    pub fn is_flawed(&self) -> bool {
        !self.counts.skipped.is_none() || self.counts.errors > 0
    }

    /// Counts a message of this packet that was decoded.
    pub const fn message(&mut self, packet: Option<u64>) {
        self.counts.messages += 1;
        self.decoded = packet;
    }

    /// Reports a message that was not decoded and the data lost with it; offsets in `error` count from its
    /// start.
    pub fn message_failed(
        &mut self,
        place: MessagePlace,
        error: &FastError,
        program: &Program,
        lost: LossExtent,
    ) {
        self.counts.skipped.add(lost);
        if error.kind() == FastErrorKind::NeedsReset {
            self.counts.waiting.add(lost);
            self.lose(Some(place.packet), &place.describe(error, program));
            return;
        }
        let follows_another = self.decoded == Some(place.packet.index);
        let (bytes, doubt) = match lost {
            // A wrong byte can move the end of a message, so that only the message after it fails.
            LossExtent::Rest(bytes) if follows_another => {
                (bytes, "; the message before it may be wrong, too")
            }
            LossExtent::Rest(bytes) | LossExtent::Block(bytes) => (bytes, ""),
        };
        let description = place.describe(error, program);
        let advice = match limit(error, &self.limits) {
            Some(limit) => format!(" (the limit is {limit})"),
            None => advice(error).to_owned(),
        };
        let bytes = counted(bytes, "byte");
        self.error_in(
            Some(place.packet),
            &format!("{description}{advice}; {bytes} skipped{doubt}"),
        );
    }

    /// Reports a message whose bytes or sequence number do not confirm its values.
    pub fn message_unproven(
        &mut self,
        place: MessagePlace,
        why: Unproven,
        lost: Option<LossExtent>,
    ) {
        let text = place.text();
        let remedy = |packet: u64| match place.origin {
            OffsetBase::Packet => format!("decode the capture with --reset-at {packet}"),
            OffsetBase::Stream => "decode each session as a file of its own".to_owned(),
        };
        if let Unproven::NumberBack { packet, .. } = why {
            let remedy = remedy(packet);
            self.error_in(Some(place.packet), &format!("{text}: {why}; then {remedy}"));
            return;
        }
        let Some(lost) = lost else {
            let index = place.packet.index;
            self.error_in(Some(place.packet), &format!("{text}: unproven message: {why}; look at it with `tickwire explain --packet {index}`, then name --framing and --reset"));
            return;
        };
        self.counts.skipped.add(lost);
        let (LossExtent::Block(bytes) | LossExtent::Rest(bytes)) = lost;
        let bytes = counted(bytes, "byte");
        self.error_in(Some(place.packet), &format!("{text}: the message is refused: {why}; {}; if it is one session, name --framing and --reset; {bytes} skipped", remedy(place.packet.index)));
    }

    /// Reports a packet that was skipped for a reason other than a message in it.
    pub fn packet_failed(&mut self, place: PacketPlace, why: impl Display) {
        self.counts.skipped.packets += 1;
        self.error_in(Some(place), &format!("{place}: {why}"));
    }

    /// Reports that the capture, of which `read` packets were read, has none of the wanted packets.
    pub fn check_range(&mut self, wanted: &PacketRange, read: u64) {
        if self.counts.packets == 0 && wanted.start() > 0 {
            self.error(&format!("no packet is in --packets {wanted}: there are {read}"));
        }
    }

    /// Adds the counts of the reader: data that were in the capture and cannot be decoded are errors.
    pub fn capture(&mut self, statistics: &Statistics) {
        statistics.missing().for_each(|text| self.error(&text));
        if let Some(text) = statistics.times_back() {
            self.remark(&text);
        }
    }

    /// Reports an error of the file itself.
    pub fn error(&mut self, text: &str) {
        self.error_in(None, text);
    }

    /// Reports an error in a packet.
    pub fn error_in(&mut self, place: Option<PacketPlace>, text: &str) {
        self.lose(place, text);
        self.counts.errors += 1;
        if self.counts.errors <= ERRORS_SHOWN_MAX {
            self.say(text, ReportLine::Error);
        }
    }

    fn lose(&mut self, place: Option<PacketPlace>, why: &str) {
        if let Some(on_lost) = &mut self.on_lost {
            on_lost(place, why);
        }
    }

    /// Reports a remark that does not affect the exit status.
    pub fn remark(&mut self, text: &str) {
        self.say(text, ReportLine::Remark);
    }

    fn say(&mut self, text: &str, line: fn(String) -> ReportLine) {
        match &mut self.voice {
            Voice::Aloud { file, progress } => progress.print(&format!("{file}: {text}")),
            Voice::Held(lines) => lines.push(line(text.to_owned())),
        }
    }

    /// Prints the lines that are still held, and the counts.
    pub fn finish(&mut self, findings: &Findings, quiet: bool) {
        let DecodeCounts { packets, messages, bytes, skipped, waiting, errors } = self.counts;
        let hidden = errors.saturating_sub(ERRORS_SHOWN_MAX);
        if hidden > 0 {
            self.remark(&format!("{} not shown", counted(hidden, "more error")));
        }
        if !waiting.is_none() {
            self.remark(&format!(
                "{} skipped because an earlier one failed and no reset followed: is it damaged, or does --reset not fit?",
                waiting.text()
            ));
        }
        if findings.total() > 0 {
            self.remark(&format!("errors counted but accepted: {}", findings_text(findings)));
        }
        if !quiet || self.is_flawed() {
            self.remark(&format!(
                "{}, {}, {}; {} skipped",
                counted(packets, "packet"),
                counted(messages, "message"),
                counted(bytes, "byte"),
                skipped.text()
            ));
        }
    }
}

/// Likely cause of an error, which is seldom a fault of the sender.
fn advice(error: &FastError) -> &'static str {
    match (error.kind(), error.field()) {
        (FastErrorKind::NoInitialValue, None) => {
            " (no template id since the start or the last reset: do --framing and --reset fit?)"
        }
        (FastErrorKind::UnknownTemplate, _) => {
            " (do --templates and --framing fit this feed and its date?)"
        }
        (
            FastErrorKind::NoInitialValue
            | FastErrorKind::EmptyPreviousValue
            | FastErrorKind::SubtractionLength
            | FastErrorKind::IntegerConversion,
            Some(_),
        ) => " (was a packet lost, or is --reset or the template file wrong?)",
        (
            FastErrorKind::IntegerRange
            | FastErrorKind::DecimalRange
            | FastErrorKind::StringSyntax
            | FastErrorKind::InvalidUtf8
            | FastErrorKind::NotAscii
            | FastErrorKind::OverlongString,
            _,
        ) => " (is --framing or the template file wrong?)",
        (FastErrorKind::Truncated, _) => {
            " (is the packet truncated, or is --framing or the template file wrong?)"
        }
        _ => "",
    }
}

/// The limit that an error exceeded: its option and its value.
fn limit(error: &FastError, limits: &Limits) -> Option<String> {
    let (option, number) = match (error.kind(), error.detail()) {
        (FastErrorKind::TooManyEntries, count) if count > limits.entries_max => {
            ("--entries-max", u64::from(limits.entries_max))
        }
        (FastErrorKind::TooManyEntries, _) => {
            ("--entries-total-max", u64::from(limits.entries_total_max))
        }
        (FastErrorKind::StringTooLong, _) => ("--string-max", u64::from(limits.string_max)),
        (FastErrorKind::NestingTooDeep, Limits::DEPTH_MAX) => {
            return Some(format!("{}, which no option raises", Limits::DEPTH_MAX));
        }
        (FastErrorKind::NestingTooDeep, _) => ("--nesting-max", u64::from(limits.nesting_max)),
        (FastErrorKind::MessageTooLarge, 0) => {
            ("--message-bytes-max", limits.message_bytes_max as u64)
        }
        (FastErrorKind::MessageTooLarge, _) => {
            ("--stream-bytes-max", limits.stream_bytes_max as u64)
        }
        _ => return None,
    };
    Some(format!("{option} {number}"))
}

fn findings_text(findings: &Findings) -> String {
    let counts = [
        (findings.decimal_range, "R1 decimals out of range"),
        (findings.invalid_utf8, "R2 strings not UTF-8"),
        (findings.overlong_integer, "R6 overlong integers"),
        (findings.overlong_presence_map, "R7 overlong presence maps"),
        (findings.presence_map_bits, "R8 presence maps with unused bits"),
        (findings.overlong_string, "R9 overlong strings"),
    ];
    let seen = counts.iter().filter(|(count, _)| *count > 0);
    let texts: Vec<String> = seen.map(|(count, text)| format!("{count} x {text}")).collect();
    texts.join(", ")
}
