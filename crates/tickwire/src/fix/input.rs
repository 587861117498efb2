//! FIX messages from files: raw, as printed in logs, and in captures.

use crate::failure::Failure;
use crate::files;
use clap::Args;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tickwire_feed::capture::CaptureOptions;
use tickwire_fix_text::{Found, Place, Pull, Streams};

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
    separator: Separator,
}

/// Separator between fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Separator {
    /// The text after BeginString, in each message.
    Auto,
    /// A fixed separator.
    Is(Vec<u8>),
}

impl Separator {
    /// The bytes of the separator, if it is given.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Auto => None,
            Self::Is(bytes) => Some(bytes),
        }
    }
}

impl FromStr for Separator {
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
        mut handle: impl FnMut(&str, Found<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if is_capture(&self.file)? {
            return self.each_of_capture(&mut handle);
        }
        let (name, input) = (self.name(), files::open(&self.file)?);
        let mut pull = Pull::of_text(name, input, self.separator.bytes());
        let mut handled = Ok(());
        while handled.is_ok() {
            let mut take = |place: Place<'_>, found: Found<'_>| {
                if handled.is_ok() {
                    handled = handle(&place.to_string(), found);
                }
            };
            if !pull.step(&mut take).map_err(Failure::Data)? {
                break;
            }
        }
        handled
    }

    fn each_of_capture(
        &self,
        handle: &mut impl FnMut(&str, Found<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut options = CaptureOptions::new();
        if !files::is_standard(&self.file) {
            options = options.file_name(self.file.to_string_lossy());
        }
        let mut reader = files::open_capture(&self.file, files::open(&self.file)?, options)?;
        let mut streams = Streams::default();
        let failed = |error| Failure::Data(format!("{}: {error}", files::name_of(&self.file)));
        while let Some(packet) = reader.next_packet().map_err(failed)? {
            streams.take(&packet, handle)?;
        }
        streams.end(reader.statistics().tcp_lost_bytes, handle)
    }
}

/// True if a file is a capture or compressed. Standard input is read as text.
fn is_capture(path: &Path) -> Result<bool, Failure> {
    if files::is_standard(path) {
        return Ok(false);
    }
    let mut start = Vec::new();
    let read = files::open(path)?.take(4).read_to_end(&mut start);
    read.map_err(|error| Failure::file("read", files::name_of(path), &error))?;
    Ok(tickwire_fix_text::is_capture(&start))
}
