//! Messages as text lines, and remarks on standard error.

use super::style::{OpraMessagePlace, Style};
use crate::progress::Progress;
use clap::ValueEnum;
use tickwire_feed::counted;
use tickwire_opra::{OpraMessage, OpraSummary};

/// Number of errors, and of warnings, that are printed one by one; the rest is only counted.
const REMARKS_SHOWN_MAX: u64 = 20;

/// Output format of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// One JSON object per line
    Jsonl,
    /// One row per message or group entry
    Csv,
    /// The ASCII form of the specification
    Ascii,
}

/// Messages as lines.
pub struct MessageLines {
    style: Style,
    /// Whole lines.
    pub bytes: Vec<u8>,
    /// End of each message's lines in `bytes`.
    pub ends: Vec<usize>,
    /// Rows of messages whose packet is not placed yet.
    rows: Vec<u8>,
    /// End of each row.
    row_ends: Vec<usize>,
    /// Number of rows up to the end of each message.
    message_rows: Vec<usize>,
}

impl MessageLines {
    pub fn new(style: Style) -> Self {
        Self {
            style,
            bytes: Vec::new(),
            ends: Vec::new(),
            rows: Vec::new(),
            row_ends: Vec::new(),
            message_rows: Vec::new(),
        }
    }

    /// Adds a message of the packet that is placed next, if the selection includes it.
    pub fn push(&mut self, message: &OpraMessage<'_>) {
        if self.style.wants(message) {
            self.style.push_rows(message, &mut self.rows, &mut self.row_ends);
            self.message_rows.push(self.row_ends.len());
        }
    }

    /// Formats the messages added since the last packet was placed.
    pub fn place(&mut self, place: OpraMessagePlace) {
        let (mut row, mut start) = (0, 0);
        for rows in &self.message_rows {
            for end in &self.row_ends[row..*rows] {
                self.style.push_place(place, &mut self.bytes);
                self.bytes.extend_from_slice(&self.rows[start..*end]);
                start = *end;
            }
            row = *rows;
            self.ends.push(self.bytes.len());
        }
        self.rows.clear();
        self.row_ends.clear();
        self.message_rows.clear();
    }

    /// Keeps only the lines of the first `count` messages.
    pub fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.bytes.truncate(self.ends.last().copied().unwrap_or_default());
    }

    /// Discards all lines.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Report on standard error.
pub struct OpraReport<'r> {
    file: String,
    progress: &'r Progress,
    pub packets: u64,
    pub messages: u64,
    pub errors: Remarks,
    warnings: Remarks,
}

/// Counts of one kind of remark.
#[derive(Default)]
pub struct Remarks {
    pub count: u64,
}

impl Remarks {
    /// Counts a remark and returns whether to print it.
    fn count_one(&mut self) -> bool {
        self.count += 1;
        self.count <= REMARKS_SHOWN_MAX
    }

    fn hidden(&self) -> u64 {
        self.count.saturating_sub(REMARKS_SHOWN_MAX)
    }
}

impl<'r> OpraReport<'r> {
    pub fn new(file: String, progress: &'r Progress) -> Self {
        let (errors, warnings) = (Remarks::default(), Remarks::default());
        Self { file, progress, packets: 0, messages: 0, errors, warnings }
    }

    pub fn print(&self, text: &str) {
        self.progress.print(&format!("{}: {text}", self.file));
    }

    pub fn error(&mut self, text: &str) {
        if self.errors.count_one() {
            self.print(text);
        }
    }

    pub fn warn(&mut self, place: std::fmt::Arguments<'_>, summary: &OpraSummary) {
        for warning in summary.warnings() {
            if self.warnings.count_one() {
                self.print(&format!("{place}: warning: {}", warning));
            }
        }
    }

    pub fn finish(&self, quiet: bool) {
        for (remarks, kind) in [(&self.errors, "errors"), (&self.warnings, "warnings")] {
            if remarks.hidden() > 0 {
                self.print(&format!("{} more {kind} not shown", remarks.hidden()));
            }
        }
        if !quiet || self.errors.count > 0 {
            self.print(&format!(
                "{}, {}; {}, {}",
                counted(self.packets, "packet"),
                counted(self.messages, "message"),
                counted(self.errors.count, "error"),
                counted(self.warnings.count, "warning")
            ));
        }
    }
}
