//! Messages as lines, and what is said on standard error.

use crate::progress::Progress;
use clap::ValueEnum;
use tickwire_opra::{Message, Summary, Warning, ascii, json};

/// Errors printed one by one, and as many warnings; the rest is only counted.
const REMARKS_SHOWN_MAX: u64 = 20;

/// How to write messages.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MessageFormat {
    /// One JSON object a line
    Jsonl,
    /// The ASCII form of the specification
    Ascii,
}

/// Messages as lines.
pub struct Lines {
    format: MessageFormat,
    /// Whole lines.
    pub bytes: Vec<u8>,
    line: String,
}

impl Lines {
    pub fn new(format: MessageFormat) -> Self {
        Self { format, bytes: Vec::new(), line: String::new() }
    }

    /// Adds a message.
    pub fn push(&mut self, message: &Message<'_>) {
        match self.format {
            MessageFormat::Jsonl => {
                self.line.clear();
                json::print_message(message, &mut self.line);
                self.bytes.extend_from_slice(self.line.as_bytes());
            }
            MessageFormat::Ascii => ascii::print_message(message, &mut self.bytes),
        }
        self.bytes.push(b'\n');
    }
}

/// What is said on standard error.
pub struct Report<'r> {
    file: String,
    progress: &'r Progress,
    pub packets: u64,
    pub messages: u64,
    pub errors: Remarks,
    warnings: Remarks,
}

/// Remarks of one kind.
#[derive(Default)]
pub struct Remarks {
    pub count: u64,
}

impl Remarks {
    /// Counts a remark and returns whether it is to be printed.
    fn count_one(&mut self) -> bool {
        self.count += 1;
        self.count <= REMARKS_SHOWN_MAX
    }

    fn hidden(&self) -> u64 {
        self.count.saturating_sub(REMARKS_SHOWN_MAX)
    }
}

impl<'r> Report<'r> {
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

    pub fn warn(&mut self, place: std::fmt::Arguments<'_>, summary: &Summary) {
        for warning in summary.warnings() {
            if self.warnings.count_one() {
                self.print(&format!("{place}: warning: {}", describe(warning)));
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
                "{} packets, {} messages; {} errors, {} warnings",
                self.packets, self.messages, self.errors.count, self.warnings.count
            ));
        }
    }
}

fn describe(warning: Warning) -> String {
    let number = |header: Option<u64>| match header {
        Some(number) => number.to_string(),
        None => "not decimal".to_owned(),
    };
    match warning {
        Warning::SeqNum { header, message } => {
            let header = number(header);
            format!("sequence number of the header is {header}, of the first message {message}")
        }
        Warning::Count { header, messages } => {
            let header = number(header.map(u64::from));
            format!("message count of the header is {header}, but {messages} were found")
        }
        other => format!("{other:?}"),
    }
}
