//! Which file is read, and how it is laid out.

use crate::failure::Failure;
use crate::files;
use crate::progress::Progress;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use tickwire_feed::capture::{CaptureOptions, CaptureReader, Format};

/// A capture file.
#[derive(Clone, Debug, clap::Args)]
pub struct InputArgs {
    /// Capture file, also .gz or .zst; - is standard input.
    #[arg(value_name = "FILE")]
    input: Option<PathBuf>,
    /// The same, for those used to -f.
    #[arg(short, long, value_name = "FILE", conflicts_with = "input")]
    file: Option<PathBuf>,
    /// Layout of the file: u32be, u32le (lengths in front of packets), raw, pcap or pcapng;
    /// guessed from its first bytes unless given.
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<Format>,
    /// Take only UDP and TCP sent to this port (pcap and pcapng).
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Take only UDP and TCP sent to this address, of a host or a multicast group (pcap and pcapng).
    #[arg(long, value_name = "IP")]
    address: Option<IpAddr>,
}

impl InputArgs {
    /// The file as named; `None` if none is.
    pub fn path(&self) -> Option<&Path> {
        self.input.as_deref().or(self.file.as_deref())
    }

    /// The file as named.
    pub fn required_path(&self) -> Result<&Path, Failure> {
        self.path().ok_or_else(|| {
            Failure::Usage("name a capture file, or - for standard input; -? for help".to_owned())
        })
    }

    /// The same for another file.
    pub fn with_path(&self, path: &Path) -> Self {
        Self { input: Some(path.to_owned()), file: None, ..self.clone() }
    }

    /// Opens the file; `progress` is told how far it was read.
    pub fn open(&self, progress: &Progress) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
        let path = self.required_path()?;
        let mut options = CaptureOptions::new();
        if let Some(format) = self.input_format {
            options = options.format(format);
        }
        if let Some(port) = self.port {
            options = options.destination_port(port);
        }
        if let Some(address) = self.address {
            options = options.destination_address(address);
        }
        if !files::is_standard(path) {
            options = options.file_name(path.to_string_lossy());
        }
        files::open_capture(path, progress.watch(files::open(path)?), options)
    }
}
