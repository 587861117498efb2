//! Options for the input file and its format.

use crate::destinations::Destinations;
use crate::failure::Failure;
use crate::files;
use crate::output::SharedOutput;
use crate::progress::Progress;
#[cfg(feature = "columns")]
use serde_json::{Value, json};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use tickwire_captures::CaptureSample;
use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader, Statistics, Suffixes};
use tickwire_feed::framing::detect::PACKETS_MAX;

/// Bytes of standard input or of a pipe that are read to detect its framing.
const SAMPLE_BYTES_MAX: u64 = 8 << 20;
/// Packets that are read to list the destinations of a file.
const PACKETS_LISTED_MAX: u64 = 10_000_000;

/// The input after its framing was detected: standard input and pipes cannot be read again.
#[derive(Debug, Default)]
pub struct InputReplay {
    /// The bytes that were read.
    bytes: Vec<u8>,
    /// The pipe behind them; `None` for files, which are opened again, and for standard input.
    pipe: Option<File>,
}

/// A capture file.
#[derive(Clone, Debug, clap::Args)]
pub struct InputArgs {
    /// Capture file, also .gz or .zst; - is standard input, which is decoded as it arrives.
    #[arg(value_name = "FILE")]
    input: Option<PathBuf>,
    /// Same as the argument FILE; the spelling of older FAST tools.
    #[arg(short, long, value_name = "FILE", conflicts_with = "input")]
    file: Option<PathBuf>,
    #[command(flatten)]
    capture: CaptureArgs,
}

/// Format of captures, and which of their packets are read.
#[derive(Clone, Debug, clap::Args)]
pub struct CaptureArgs {
    /// Format of the file: u32be, u32le (packets, each after its length in 4 bytes, which are not
    /// part of --framing), raw, pcap or pcapng. Default: detected from its first bytes, then its
    /// suffix (.pcap, .pcapng, .bin, .fast).
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<CaptureFormat>,
    /// Read only UDP and TCP sent to this port (pcap and pcapng).
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Read only UDP and TCP sent to this host or multicast group (pcap and pcapng).
    #[arg(long, value_name = "IP")]
    address: Option<IpAddr>,
}

impl CaptureArgs {
    /// Returns the options of a reader that selects these packets.
    pub fn packets(&self) -> CaptureOptions {
        let mut options = CaptureOptions::new();
        if let Some(port) = self.port {
            options = options.destination_port(port);
        }
        if let Some(address) = self.address {
            options = options.destination_address(address);
        }
        options
    }

    /// Refuses --port and --address for a file without addresses, described by `why`.
    pub fn check_addressed(&self, name: &str, why: impl Display) -> Result<(), Failure> {
        let chosen = [("--port", self.port.is_some()), ("--address", self.address.is_some())];
        match chosen.into_iter().find(|(_, is_named)| *is_named) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::Usage(format!(
                "{name}: {option} chooses among the packets of a pcap or pcapng file; {why}"
            ))),
        }
    }

    /// True if the format of the file is named.
    #[cfg(feature = "columns")]
    pub fn names_format(&self) -> bool {
        self.input_format.is_some()
    }

    /// The options as JSON, to compare them with those of another run.
    #[cfg(feature = "columns")]
    pub fn settings(&self) -> Value {
        let Self { input_format, port, address } = self;
        json!({
            "input_format": input_format.map(|format| format.to_string()),
            "port": port,
            "address": address.map(|address| address.to_string()),
        })
    }
}

impl InputReplay {
    /// Reads the start of standard input or of a pipe; nothing of a file that can be opened again.
    fn of(path: &Path) -> Result<Self, Failure> {
        let mut replay = Self::default();
        if files::can_reopen(path) {
            return Ok(replay);
        }
        let read = if files::is_standard(path) {
            io::stdin().lock().take(SAMPLE_BYTES_MAX).read_to_end(&mut replay.bytes)
        } else {
            let pipe = replay.pipe.insert(files::open_file(path)?);
            pipe.take(SAMPLE_BYTES_MAX).read_to_end(&mut replay.bytes)
        };
        read.map_err(|error| Failure::file("read", files::name_of(path), &error))?;
        Ok(replay)
    }
}

impl InputArgs {
    /// The file, if one is named.
    pub fn path(&self) -> Option<&Path> {
        self.input.as_deref().or(self.file.as_deref())
    }

    /// The named file; an error if there is none.
    pub fn required_path(&self) -> Result<&Path, Failure> {
        self.path().ok_or_else(|| {
            Failure::Usage("name a capture file, or - for standard input; -? for help".to_owned())
        })
    }

    /// Returns these options for another file.
    pub fn with_path(&self, path: &Path) -> Self {
        Self::of(path, &self.capture)
    }

    /// This file.
    pub fn of(path: &Path, capture: &CaptureArgs) -> Self {
        Self { input: Some(path.to_owned()), file: None, capture: capture.clone() }
    }

    /// Opens the file; reports the bytes read to `progress`.
    pub fn open(&self, progress: &Progress) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
        self.open_from(files::open(self.required_path()?)?, progress)
    }

    /// Opens the file, or continues a pipe; the bytes that were read as a sample come first.
    pub fn open_replayed(
        &self,
        progress: &Progress,
        replay: InputReplay,
    ) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
        let input: Box<dyn Read> = match replay.pipe {
            Some(pipe) => Box::new(pipe),
            None => files::open(self.required_path()?)?,
        };
        self.open_from(Box::new(Cursor::new(replay.bytes).chain(input)), progress)
    }

    /// Opens the file as [`open_replayed`](Self::open_replayed) does, and flushes `output` each time that a read
    /// would block.
    pub fn open_live(
        &self,
        progress: &Progress,
        output: SharedOutput,
        replay: InputReplay,
    ) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
        let input = match replay.pipe {
            Some(pipe) => files::flushing(pipe, output),
            None => files::open_live(self.required_path()?, output)?,
        };
        self.open_from(Box::new(Cursor::new(replay.bytes).chain(input)), progress)
    }

    /// Reads the first packets of the file, to detect its framing. Standard input and pipes are read up to
    /// 8 MiB or to their end.
    pub fn sample(&self) -> Result<(CaptureSample, InputReplay), Failure> {
        let path = self.required_path()?;
        let replay = InputReplay::of(path)?;
        let input: Box<dyn Read> = match files::can_reopen(path) {
            true => files::open(path)?,
            false => Box::new(Cursor::new(replay.bytes.clone())),
        };
        let mut reader = self.open_from(input, &Progress::none())?;
        let mut sample = CaptureSample::new(PACKETS_MAX);
        // Errors of the file are reported when it is decoded.
        while !sample.is_full() {
            let Ok(Some(packet)) = reader.next_packet() else { break };
            sample.add(&packet);
        }
        Ok((sample, replay))
    }

    /// Explains why no packet was read, if --port and --address exclude all of them: lists the destinations
    /// of the file, if it can be read again.
    pub fn none_selected(&self, read: &Statistics) -> Option<String> {
        let CaptureArgs { input_format, port, address } = self.capture;
        let selected = match (address, port) {
            (Some(address), Some(port)) => SocketAddr::new(address, port).to_string(),
            (Some(address), None) => address.to_string(),
            (None, Some(port)) => format!("port {port}"),
            (None, None) => return None,
        };
        if read.packets > 0 || read.filtered_out == 0 {
            return None;
        }
        let text = format!("no packet is sent to {selected}");
        let all = CaptureArgs { input_format, port: None, address: None };
        let path = self.path().filter(|path| files::can_reopen(path));
        let reader = path.and_then(|path| Self::of(path, &all).open(&Progress::none()).ok());
        let found = reader
            .and_then(|mut reader| Destinations::of(&mut reader, PACKETS_LISTED_MAX, &[]).text());
        Some(match found {
            Some(found) => format!("{text}. {found}"),
            None => format!("{text}, but {} to others", read.filtered_out),
        })
    }

    /// Opens the file whose bytes `input` has.
    pub fn open_from(
        &self,
        input: Box<dyn Read>,
        progress: &Progress,
    ) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
        let path = self.required_path()?;
        let input_format = self.capture.input_format;
        let mut options = self.capture.packets();
        if let Some(format) = input_format {
            options = options.format(format);
        }
        if !files::is_standard(path) {
            options = options.file_name(path.to_string_lossy());
        }
        let reader = files::open_capture(path, Box::new(progress.watch(input)), options)?;
        let name = files::name_of(path);
        let (format, compression) = (reader.format(), reader.compression());
        if format == CaptureFormat::Raw && input_format.is_none() && files::is_xml(path) {
            let text = "this is an XML file and not a capture; is it the template file?";
            return Err(Failure::Data(format!("{name}: {text}")));
        }
        if format != CaptureFormat::Pcap {
            let why = format!("a file with the layout {format} has no addresses");
            self.capture.check_addressed(&name, why)?;
        }
        if input_format.is_none()
            && let Some(disagreement) = Suffixes::of(&name).disagreement(format, compression)
        {
            let remedy = match (Suffixes::of(&name).format(), format) {
                (Some(CaptureFormat::U32Be | CaptureFormat::U32Le), CaptureFormat::Raw) => {
                    "; --input-format u32be or u32le reads it as packets"
                }
                _ => "",
            };
            progress.print(&format!("{name}: {disagreement}{remedy}"));
        }
        Ok(reader)
    }
}
