//! Captures in place of sockets, and the assignment of their packets to lines.

use super::ReceiveArgs;
use crate::destinations::destinations_text;
use crate::failure::Failure;
use crate::files;
use crate::options::Endpoints;
use clap::ValueEnum;
use std::io::Read;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tickwire_captures::CaptureSample;
use tickwire_feed::arbiter::Line;
use tickwire_feed::capture::{
    CaptureFormat, CaptureKind, CaptureOptions, CaptureReader, DestinationSurvey, LineMap, Merge,
    OtherPackets,
};
use tickwire_feed::framing::detect::PACKETS_MAX;
use tickwire_feed::handler::FeedLine;

/// Advice for packets that have no addresses.
const NAME_THE_LINE: &str = "Name the line of a file without addresses: --capture-line a=FILE";

/// Captures that replace sockets.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "captures", multiple = true)]
pub struct ReceiveCaptureArgs {
    /// Read these captures, not sockets: pcap or pcapng, also .gz or .zst; - is standard input.
    /// Group and port assign packets to lines, as live. Several files are merged by capture time,
    /// which is the clock.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "record")]
    #[arg(help_heading = "Captures")]
    capture: Vec<PathBuf>,
    /// Read a capture that has packets of one line only: a, b, snapshots, snapshots-b, definitions
    /// or definitions-b. For length-prefixed files, which have no groups. Files without times
    /// alternate, one packet each.
    #[arg(long, value_name = "LINE=FILE", conflicts_with = "record", help_heading = "Captures")]
    capture_line: Vec<LineFile>,
    /// Detect lines A and B: a single destination, or two with equal packets.
    #[arg(long, value_name = "HOW", default_value = "named", hide_default_value = true)]
    #[arg(hide_possible_values = true, requires = "capture", help_heading = "Captures")]
    lines: LineChoice,
    /// Format of the captures: u32be, u32le (length-prefixed packets) or pcap. Default: detected.
    #[arg(long, value_name = "FORMAT", requires = "captures", help_heading = "Captures")]
    input_format: Option<CaptureFormat>,
}

/// How packets of captures are assigned to lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LineChoice {
    /// By the groups and ports of options.
    #[default]
    Named,
    /// By comparing the packets.
    Auto,
}

/// A capture of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LineFile {
    source: FeedLine,
    path: PathBuf,
}

impl FromStr for LineFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (line, path) = text.split_once('=').ok_or("a line and a file, such as a=FILE")?;
        let source = match line {
            "a" | "A" => FeedLine::Incremental(Line::A),
            "b" | "B" => FeedLine::Incremental(Line::B),
            "snapshots" | "snapshots-a" => FeedLine::Snapshot(Line::A),
            "snapshots-b" => FeedLine::Snapshot(Line::B),
            "definitions" | "definitions-a" => FeedLine::Definitions(Line::A),
            "definitions-b" => FeedLine::Definitions(Line::B),
            _ => {
                return Err(format!(
                    "\"{line}\" is not a line: use a, b, snapshots, snapshots-b, definitions or definitions-b"
                ));
            }
        };
        Ok(Self { source, path: path.into() })
    }
}

impl ReceiveCaptureArgs {
    /// True if captures are read in place of sockets.
    pub fn is_any(&self) -> bool {
        !self.capture.is_empty() || !self.capture_line.is_empty()
    }

    /// Sets the captures of lines unless options name some.
    pub fn set_lines(&mut self, lines: &[(FeedLine, PathBuf)]) {
        let file =
            |(source, path): &(FeedLine, PathBuf)| LineFile { source: *source, path: path.clone() };
        self.capture_line = lines.iter().map(file).collect();
    }

    /// True if the lines are detected from the packets.
    pub fn finds_lines(&self) -> bool {
        self.lines == LineChoice::Auto
    }

    /// True if a capture of this line is named.
    pub fn names(&self, source: FeedLine) -> bool {
        self.capture_line.iter().any(|file| file.source == source)
    }

    /// True if captures of lines are named.
    pub const fn is_of_lines(&self) -> bool {
        !self.capture_line.is_empty()
    }

    /// Number of captures of lines.
    pub const fn lines_len(&self) -> usize {
        self.capture_line.len()
    }

    fn of_lines(&self) -> impl Iterator<Item = &Path> {
        self.capture_line.iter().map(|file| file.path.as_path())
    }

    /// All captures: those without a line first.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.capture.iter().map(PathBuf::as_path).chain(self.of_lines())
    }

    /// True if the captures can be read a second time.
    fn can_reopen(&self) -> bool {
        !self.paths().any(files::is_standard)
    }

    /// Opens all captures: those without a line first.
    fn open(&self) -> Result<Merge<Box<dyn Read>>, Failure> {
        open_all(&[self])
    }

    /// Reads the first packets of the captures to detect the framing; with a map only packets of its lines.
    pub fn sample(&self, lines: Option<&LineMap>) -> Result<CaptureSample, Failure> {
        if !self.can_reopen() {
            return Err(Failure::Usage(
                "--framing auto: name captures that can be read twice".to_owned(),
            ));
        }
        let (mut merge, mut sample) = (self.open()?, CaptureSample::new(PACKETS_MAX));
        // Errors of a capture are reported when it is processed.
        while let Some(Ok(merged)) = merge.next_packet().transpose().filter(|_| !sample.is_full()) {
            if lines.is_none_or(|lines| lines.source(&merged).is_some()) {
                sample.add(&merged.packet);
            }
        }
        Ok(sample)
    }

    fn open_one(&self, path: &Path) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
        let mut options = CaptureOptions::new();
        if let Some(format) = self.input_format {
            options = options.format(format);
        }
        if !files::is_standard(path) {
            options = options.file_name(path.to_string_lossy());
        }
        let mut reader = files::open_capture(path, files::open(path)?, options)?;
        if reader.kind() != CaptureKind::Stream {
            return Ok(reader);
        }
        // The format of an unreadable file is unknown.
        let name = files::name_of(path);
        Err(match reader.next_packet() {
            Err(error) => Failure::Data(format!("{name}: {error}")),
            Ok(None) => Failure::Data(format!("{name}: the file is empty")),
            Ok(Some(_)) => Failure::Usage(format!(
                "{name}: a raw file has no packets to receive; decode it with `tickwire decode`"
            )),
        })
    }

    /// Collects the destinations of the packets by reading all captures.
    fn survey(&self) -> Result<DestinationSurvey, Failure> {
        let (mut merge, mut survey) = (self.open()?, DestinationSurvey::new());
        // A capture that is cut off is reported when it is processed.
        while let Some(merged) = merge.next_packet().transpose() {
            if let Ok(merged) = merged {
                survey.add(&merged.packet);
            }
        }
        Ok(survey)
    }
}

/// The captures of several channels: first those without a line, which are shared by all, then those of each
/// channel's lines.
fn all_paths<'c>(
    channels: &[&'c ReceiveCaptureArgs],
) -> impl Iterator<Item = (&'c ReceiveCaptureArgs, &'c Path)> {
    let common = channels.iter().take(1);
    let common = common.flat_map(|args| args.capture.iter().map(|path| (*args, path.as_path())));
    let of_lines = channels.iter().flat_map(|args| args.of_lines().map(|path| (*args, path)));
    common.chain(of_lines.collect::<Vec<_>>())
}

/// The number of captures of all channels.
pub fn count(channels: &[&ReceiveCaptureArgs]) -> usize {
    all_paths(channels).count()
}

/// Opens the captures of all channels.
pub fn open_all(channels: &[&ReceiveCaptureArgs]) -> Result<Merge<Box<dyn Read>>, Failure> {
    let readers = all_paths(channels).map(|(args, path)| args.open_one(path));
    Ok(Merge::new(readers.collect::<Result<Vec<_>, Failure>>()?))
}

/// The name of a capture of the merge.
pub fn name_of(channels: &[&ReceiveCaptureArgs], input: usize) -> String {
    let named = all_paths(channels).nth(input);
    named.map(|(_, path)| files::name_of(path)).unwrap_or_default()
}

/// Appends to a sentence the destinations of packets that belong to no line.
pub fn with_others(mut text: String, others: &OtherPackets) -> String {
    let counts = others.by_destination.iter().map(|(address, packets)| (*address, *packets));
    if let Some(found) = destinations_text(counts) {
        text += ". ";
        text += &found;
    }
    text
}

/// The lines of the captures.
pub struct CaptureLines {
    /// The line of each packet.
    pub map: LineMap,
    /// Remark for the user about how the lines were found.
    pub remark: Option<String>,
}

impl CaptureLines {
    /// The lines that options name, or that `--lines auto` detects. Captures of lines are the inputs of the
    /// merge from `first_input` on, after those without a line.
    pub fn new(args: &ReceiveArgs, first_input: usize) -> Result<Self, Failure> {
        match args.captures.lines {
            LineChoice::Named => {
                let map = map(args, args.endpoints()?, first_input);
                Ok(Self { map, remark: None })
            }
            LineChoice::Auto if !args.captures.can_reopen() => Err(Failure::Usage(
                "--lines auto reads captures twice, which standard input does not allow: name a file"
                    .to_owned(),
            )),
            LineChoice::Auto => Self::found(args, &args.captures.survey()?),
        }
    }

    /// Detects the lines from the packets.
    fn found(args: &ReceiveArgs, survey: &DestinationSurvey) -> Result<Self, Failure> {
        let destinations: Vec<_> = survey.destinations().map(|(address, _)| address).collect();
        let (a, b) = match (&*destinations, &*survey.pairs()) {
            (_, &[(a, b)]) => (a, Some(b)),
            (&[only], _) => (only, None),
            _ => {
                let text = match destinations_text(survey.destinations()) {
                    Some(found) => format!(
                        "{found}. Name lines with -a and -p, --group-b and --port-b, --snapshot-group \
                         and --snapshot-port"
                    ),
                    None => format!("the captures have no addresses. {NAME_THE_LINE}"),
                };
                return Err(Failure::Usage(format!("--lines auto: {text}")));
            }
        };
        let remark = match b {
            Some(b) => format!("line A is {a}, line B is {b}: both carry the same packets"),
            None => format!("line A is {a}, the only destination"),
        };
        let (a, b) = (v4(a)?, b.map(v4).transpose()?);
        let map = map(args, args.endpoints_with(a, b)?, 0);
        Ok(Self { map, remark: Some(remark) })
    }

    /// Returns other lines to try if no packet belonged to a line, or an error that lists the destinations.
    pub fn instead(args: &ReceiveArgs, others: &OtherPackets) -> Result<Self, Failure> {
        let captures = &args.captures;
        let can_choose = !args.names_a() && captures.lines == LineChoice::Named;
        let only = match others.by_destination.keys().collect::<Vec<_>>()[..] {
            [only] if others.beyond == 0 && others.without_destination == 0 => Some(*only),
            _ => None,
        };
        if let Some(only) = only.filter(|_| can_choose && captures.can_reopen()) {
            let map = map(args, args.endpoints_with(v4(only)?, None)?, 0);
            let remark = format!("line A is {only}, the only destination in the capture");
            return Ok(Self { map, remark: Some(remark) });
        }
        let is_bare = others.without_destination > 0 && others.by_destination.is_empty();
        if is_bare && can_choose && captures.can_reopen() && captures.capture.len() == 1 {
            let map = map(args, args.endpoints()?, 0).input(0, FeedLine::Incremental(Line::A));
            let remark =
                format!("line A is {}, whose packets have no addresses", name_of(&[captures], 0));
            return Ok(Self { map, remark: Some(remark) });
        }
        Err(Failure::Usage(no_packets(args, others)?))
    }
}

/// The error for captures in which no packet belongs to a line.
fn no_packets(args: &ReceiveArgs, others: &OtherPackets) -> Result<String, Failure> {
    if others.packets() == 0 {
        return Ok("the captures contain no packets".to_owned());
    }
    let mut text = "no packet belongs to a line".to_owned();
    let endpoints = args.endpoints()?;
    text += &format!(" (line A is {}", endpoints.a.address());
    for (name, endpoint) in [("line B", endpoints.b), ("snapshots", endpoints.snapshots)] {
        if let Some(endpoint) = endpoint {
            text += &format!(", {name} {}", endpoint.address());
        }
    }
    text = with_others(text + ")", others);
    if others.without_destination > 0 {
        return Ok(format!("{text}. {NAME_THE_LINE}"));
    }
    if others.by_destination.is_empty() {
        return Ok(text + ". The captures contain only TCP: decode them with `tickwire decode`");
    }
    let pairs = if args.captures.can_reopen() { args.captures.survey()?.pairs() } else { vec![] };
    Ok(match &*pairs {
        [(a, b)] => format!(
            "{text}. {a} and {b} carry the same packets: name them with -a {} -p {} --group-b {} \
             --port-b {}, or use --lines auto",
            a.ip(),
            a.port(),
            b.ip(),
            b.port()
        ),
        _ => format!(
            "{text}. Name lines with -a and -p, --group-b and --port-b, --snapshot-group and \
             --snapshot-port"
        ),
    })
}

/// Maps packets to lines: by the addresses of options, or by file.
fn map(args: &ReceiveArgs, endpoints: Endpoints, first_input: usize) -> LineMap {
    let mut map = LineMap::new();
    let captures = &args.captures;
    if !captures.capture.is_empty() {
        for (source, endpoint) in endpoints.sources() {
            map = map.destination(endpoint.address(), source);
        }
    }
    let of_lines = captures.capture_line.iter().zip(captures.capture.len() + first_input..);
    of_lines.fold(map, |map, (file, input)| map.input(input, file.source))
}

fn v4(address: SocketAddr) -> Result<SocketAddrV4, Failure> {
    match address {
        SocketAddr::V4(address) => Ok(address),
        SocketAddr::V6(address) => {
            Err(Failure::Usage(format!("{address}: IPv6 lines are not supported")))
        }
    }
}
