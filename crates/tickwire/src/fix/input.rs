//! FIX messages from files: raw, as printed in logs, and in captures.

use crate::failure::Failure;
use crate::files;
use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;
use tickwire_feed::capture::CaptureOptions;
use tickwire_fix_text::{FindingPlace, FoundMessage, LogReader};

const SOH: u8 = 1;

/// Arguments that name the input.
#[derive(Debug, Args)]
pub struct MessagesArgs {
    /// File with messages: text, a log, or a capture of TCP (pcap, pcapng, also .gz and .zst); - is
    /// standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Field separator: soh (byte 1), pipe, caret (^A), tab, or any other text; auto uses the text
    /// after the BeginString of each message
    #[arg(long, value_name = "TEXT", default_value = "auto")]
    separator: InputSeparator,
}

/// Separator between fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSeparator {
    /// The text after BeginString, in each message.
    Auto,
    /// A fixed separator.
    Is(Vec<u8>),
}

impl InputSeparator {
    /// The bytes of the separator, if it is given.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Auto => None,
            Self::Is(bytes) => Some(bytes),
        }
    }
}

impl FromStr for InputSeparator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "" => return Err("a separator has at least one character".to_owned()),
            "auto" => Self::Auto,
            "soh" => Self::Is(vec![SOH]),
            "pipe" => Self::Is(b"|".to_vec()),
            "caret" => Self::Is(b"^A".to_vec()),
            "tab" => Self::Is(b"\t".to_vec()),
            other => Self::Is(other.as_bytes().to_vec()),
        })
    }
}

impl MessagesArgs {
    pub fn name(&self) -> String {
        files::name_of(&self.file)
    }

    /// Passes on each finding in the file with a description of its position, until `handle` returns an
    /// error.
    pub fn each(
        &self,
        mut handle: impl FnMut(&str, FoundMessage<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (name, input) = (self.name(), files::open(&self.file)?);
        let pull = LogReader::new(&name, input, self.separator.bytes(), CaptureOptions::new());
        let mut pull = pull.map_err(Failure::Data)?;
        let mut handled = Ok(());
        let mut is_on = true;
        while is_on && handled.is_ok() {
            is_on = pull.step(&mut |place: FindingPlace<'_>, found: FoundMessage<'_>| {
                if handled.is_ok() {
                    handled = handle(&place.to_string(), found);
                }
            });
        }
        handled
    }
}
