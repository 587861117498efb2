//! `tickwire multicast`: sends a capture to multicast groups.

mod args;
mod examined;
mod published;
mod report;

pub use args::MulticastArgs;

use crate::console::tell;
use crate::distribution::stop_on_signals;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::metrics_of;
use crate::progress::Progress;
use examined::Examined;
use published::PlaybackMetrics;
use report::PlaybackReport;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use tickwire_feed::capture::{CaptureOptions, CaptureReader};
use tickwire_feed::counted;
use tickwire_net::affinity;
use tickwire_net::inject::{Faults, Injector, line_seed};
use tickwire_net::multicast::{Endpoint, Sender, SenderOptions};
use tickwire_net::playback::{Playback, PlaybackError, PlaybackLine, Track};
use tickwire_net::replay::{Pace, ReplaySchedule, Waiter};

/// Name of the snapshot feed.
const SNAPSHOTS: &str = "snapshots";
/// Packets of line A for each snapshot packet if a capture has no times, as `generate cme` writes them.
const SNAPSHOT_EVERY: u32 = 20;

/// Runs the command.
pub fn run(args: &MulticastArgs) -> Result<Outcome, Failure> {
    let args = &args.over_channel()?;
    args.check_json()?;
    args.metrics().check_beside(args.monitor())?;
    let stop = stop_on_signals(&args.parent)?;
    if let Some(cpu) = args.cpu {
        affinity::pin_current_thread(cpu)
            .map_err(|error| Failure::Usage(format!("--cpu {cpu}: {error}")))?;
    }
    let progress = Progress::of_slow(&args.file);
    let feeds = feeds(args)?;
    let origin_ns = match args.pace() {
        Pace::Original { .. } => first_time(args, &feeds)?,
        _ => {
            check_lines(args)?;
            None
        }
    };
    let schedule = ReplaySchedule::new(args.pace(), origin_ns);
    let tracks = tracks(args, &feeds, schedule, &progress)?;
    let lines = feeds.iter().map(|feed| feed.open(args)).collect::<Result<Vec<_>, _>>()?;
    let playback = Playback::new(lines, tracks).map_err(|error| failure(&feeds, &error))?;
    let mut playback = playback.pace(schedule);
    let waiter = Waiter::new(stop.clone()).spin(args.spin());
    let metrics = metrics_of("multicast");
    let mut published = PlaybackMetrics::new(&metrics, &feeds);
    let exporter = args.metrics().serve(&metrics)?;
    let mut builder = args.monitor().builder("multicast");
    if let Some(builder) = &mut builder {
        published.tell_monitor(builder, &feeds);
    }
    let monitor = args.monitor().serve(builder, metrics.routes())?;
    let played = playback.run(&waiter, &stop, |playback| published.publish(playback));
    drop((exporter, monitor));
    drop(progress);
    let is_stopped = stop.is_set();
    let unsent = (played.is_ok() && !is_stopped).then(|| count_unsent(&feeds, &playback));
    PlaybackReport::of(&feeds, &playback, is_stopped, unsent.as_deref())
        .write(args.json.as_deref())?;
    played.map_err(|error| failure(&feeds, &error))?;
    for (file, packets) in unsent.iter().flatten().filter(|(_, packets)| *packets > 0) {
        let (name, packets) = (files::name_of(file), counted(*packets, "packet"));
        tell!("tickwire: {name}: {packets} to other destinations not sent");
    }
    Ok(Outcome::flawed_if(tell_missing(&feeds, &playback)))
}

/// Returns each capture with the number of its packets whose destination belongs to no line. All tracks must
/// have ended.
fn count_unsent<'f>(feeds: &[MulticastLine<'f>], playback: &Playback) -> Vec<(&'f Path, u64)> {
    let files = feeds.iter().filter_map(|feed| Some((feed.file?, feed.captured_as)));
    let tracks: Vec<_> = files.zip(playback.tracks()).collect();
    let mut unsent: Vec<(&Path, u64)> = Vec::new();
    for &((file, captured_as), track) in &tracks {
        if unsent.iter().any(|(known, _)| is_same(known, file)) {
            continue;
        }
        // The first track of a capture filters out the packets that its other tracks send.
        let others =
            tracks.iter().filter(|((other, of), _)| is_same(other, file) && *of != captured_as);
        let sent: BTreeMap<_, _> = others.map(|((_, of), track)| (*of, track.selected())).collect();
        unsent.push((file, track.filtered_out().saturating_sub(sent.values().sum())));
    }
    unsent
}

fn is_same(file: &Path, other: &Path) -> bool {
    let canonical = |path| fs::canonicalize(path).ok();
    file == other || canonical(file).is_some_and(|file| canonical(other) == Some(file))
}

/// Reports parts of captures that were not sent. Returns true if there were any.
fn tell_missing(feeds: &[MulticastLine<'_>], playback: &Playback) -> bool {
    let files = feeds.iter().filter_map(|feed| feed.file);
    for (file, track) in files.clone().zip(playback.tracks()) {
        if let Some(text) = track.times_back() {
            tell!("tickwire: {}: {text}", files::name_of(file));
        }
    }
    let missing = files.zip(playback.tracks()).flat_map(|(file, track)| {
        track.missing().map(move |text| format!("{}: {text}", files::name_of(file)))
    });
    missing.inspect(|text| tell!("tickwire: {text}")).count() > 0
}

/// A line: its name, its destination and its faults.
pub struct MulticastLine<'a> {
    name: &'static str,
    endpoint: Endpoint,
    faults: Faults,
    seed: u64,
    /// Its capture; `None` sends the packets of line A.
    file: Option<&'a Path>,
    /// The destination of its packets in the capture; `None` sends all packets.
    captured_as: Option<SocketAddr>,
}

impl MulticastLine<'_> {
    fn open(&self, args: &MulticastArgs) -> Result<PlaybackLine, Failure> {
        let options = SenderOptions { hops_max: args.hops, ..SenderOptions::default() };
        let sender = Sender::open(self.endpoint, options)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(PlaybackLine::new(sender, Injector::new(self.faults, self.seed)))
    }
}

/// Line A first, then B and the snapshots if requested. Packets of a capture with several destinations are
/// assigned to the lines with these addresses.
fn feeds(args: &MulticastArgs) -> Result<Vec<MulticastLine<'_>>, Failure> {
    let endpoints = args.endpoints()?;
    let file = args.file.as_path();
    let of_b = endpoints.b.map(|b| (args.file_b.as_deref().unwrap_or(file), b));
    let of_snapshots = args.snapshots.as_deref().zip(endpoints.snapshots);
    let lines: Vec<_> =
        [Some((file, endpoints.a)), of_b, of_snapshots].into_iter().flatten().collect();
    let examined = Examined::new(args, &lines)?;

    let captured_as = examined.captured_as(file, endpoints.a)?;
    let mut feeds = vec![MulticastLine {
        name: "A",
        endpoint: endpoints.a,
        faults: args.faults(0),
        seed: line_seed(args.seed, 0),
        file: Some(file),
        captured_as,
    }];
    if let Some(endpoint) = endpoints.b {
        let is_line_a = captured_as == Some(endpoints.a.address().into());
        let (file, captured_as) = match args.file_b.as_deref() {
            Some(path) => (Some(path), examined.captured_as(path, endpoint)?),
            // Line B, from the capture of line A. If that has no packets to line B's address, line B
            // carries the packets of line A.
            None if is_line_a => {
                let captured_as = examined.line_b(file, endpoint);
                (captured_as.map(|_| file), captured_as)
            }
            None => (None, None),
        };
        let (faults, seed) = (args.faults(1), line_seed(args.seed, 1));
        feeds.push(MulticastLine { name: "B", endpoint, faults, seed, file, captured_as });
    }
    if let Some(endpoint) = endpoints.snapshots {
        let file = args.snapshots.as_deref();
        let captured_as = match file {
            Some(path) => examined.captured_as(path, endpoint)?,
            None => None,
        };
        let (faults, seed) = (args.snapshot_faults(), args.seed);
        feeds.push(MulticastLine { name: SNAPSHOTS, endpoint, faults, seed, file, captured_as });
    }
    Ok(feeds)
}

/// The captures and the lines that carry them, in the order of the feeds that have a capture. Captures are aligned by
/// their times, and paced by the playback.
fn tracks(
    args: &MulticastArgs,
    feeds: &[MulticastLine<'_>],
    schedule: ReplaySchedule,
    progress: &Progress,
) -> Result<Vec<Track>, Failure> {
    let is_original = matches!(args.pace(), Pace::Original { .. });
    let mut tracks = Vec::new();
    for (index, feed) in feeds.iter().enumerate() {
        let Some(file) = feed.file else { continue };
        let without = (1..feeds.len()).filter(|&other| index == 0 && feeds[other].file.is_none());
        let lines: Vec<usize> = std::iter::once(index).chain(without).collect();
        let quiet = Progress::none();
        let shown = if index == 0 { progress } else { &quiet };
        let reader = open(args, file, feed.captured_as, shown)?;
        let every = match feed.name {
            SNAPSHOTS if !is_original => packets_a_snapshot(args, file)?,
            _ => None,
        };
        tracks.push(match every {
            Some(every) => Track::following(reader, every, lines),
            None if is_original => Track::new(reader, schedule, lines),
            None => Track::aligned(reader, lines),
        });
    }
    Ok(tracks)
}

/// Packets of line A for each packet of the snapshots; `None` if capture times align them.
fn packets_a_snapshot(args: &MulticastArgs, snapshots: &Path) -> Result<Option<u32>, Failure> {
    if args.snapshot_every.is_some() {
        return Ok(args.snapshot_every);
    }
    let times = [start_of(args, &args.file, None)?, start_of(args, snapshots, None)?];
    let are_timed = times.iter().all(|start| matches!(start, CaptureStart::At(_)));
    Ok((!are_timed).then_some(SNAPSHOT_EVERY))
}

/// Opens a capture for the packets to one destination, or for those that the options choose.
fn open(
    args: &MulticastArgs,
    path: &Path,
    captured_as: Option<SocketAddr>,
    progress: &Progress,
) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
    let mut options = CaptureOptions::new();
    if let Some(port) = captured_as.map(|address| address.port()).or(args.capture_port) {
        options = options.destination_port(port);
    }
    if let Some(address) = captured_as.map(|address| address.ip()).or(args.capture_address) {
        options = options.destination_address(address);
    }
    open_whole(args, path, options, progress)
}

fn open_whole(
    args: &MulticastArgs,
    path: &Path,
    mut options: CaptureOptions,
    progress: &Progress,
) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
    if let Some(format) = args.input_format {
        options = options.format(format);
    }
    if !files::is_standard(path) {
        options = options.file_name(path.to_string_lossy());
    }
    files::open_capture(path, Box::new(progress.watch(files::open(path)?)), options)
}

/// The beginning of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaptureStart {
    /// The time of the first packet.
    At(u64),
    /// The packets have no times.
    Untimed,
    /// Standard input or a pipe, which can be read once, or a capture without packets.
    Unknown,
}

/// Reads the beginning of a capture: its first packet to `captured_as`, if that is given.
fn start_of(
    args: &MulticastArgs,
    path: &Path,
    captured_as: Option<SocketAddr>,
) -> Result<CaptureStart, Failure> {
    if !files::can_reopen(path) {
        return Ok(CaptureStart::Unknown);
    }
    let mut reader = open(args, path, captured_as, &Progress::none())?;
    let packet = reader.next_packet();
    let packet = packet.map_err(|error| Failure::Data(format!("{}: {error}", path.display())))?;
    Ok(match packet.map(|packet| packet.timestamp_ns) {
        Some(Some(time_ns)) => CaptureStart::At(time_ns),
        Some(None) => CaptureStart::Untimed,
        None => CaptureStart::Unknown,
    })
}

/// The earliest time of a packet that is sent, so that the relative timing of the captures is kept. Refuses
/// captures without times.
fn first_time(args: &MulticastArgs, feeds: &[MulticastLine<'_>]) -> Result<Option<u64>, Failure> {
    let mut first = None;
    for feed in feeds {
        let Some(path) = feed.file else { continue };
        match start_of(args, path, feed.captured_as)? {
            CaptureStart::At(time_ns) => first = [first, Some(time_ns)].into_iter().flatten().min(),
            CaptureStart::Untimed => {
                return Err(Failure::Usage(format!(
                    "{} has no times: --original needs a pcap file; choose --sleep, --rate or --maximum",
                    path.display()
                )));
            }
            CaptureStart::Unknown => {}
        }
    }
    Ok(first)
}

/// Refuses captures of lines A and B that cannot be aligned: one has times and the other has none.
fn check_lines(args: &MulticastArgs) -> Result<(), Failure> {
    let Some(file_b) = &args.file_b else { return Ok(()) };
    let (timed, untimed) = match (start_of(args, &args.file, None)?, start_of(args, file_b, None)?)
    {
        (CaptureStart::At(_), CaptureStart::Untimed) => (&args.file, file_b),
        (CaptureStart::Untimed, CaptureStart::At(_)) => (file_b, &args.file),
        _ => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "lines A and B are aligned by capture time, and {} has times, but {} has none: convert one of them",
        timed.display(),
        untimed.display()
    )))
}

fn failure(feeds: &[MulticastLine<'_>], error: &PlaybackError) -> Failure {
    let name = |track: usize| {
        let files = feeds.iter().filter_map(|feed| feed.file).nth(track);
        files.map_or_else(String::new, |file| format!("{}: ", files::name_of(file)))
    };
    match error {
        PlaybackError::Capture { track, source } => {
            Failure::Data(format!("{}{source}", name(*track)))
        }
        PlaybackError::NoPackets { track } => Failure::Usage(format!("{}{error}", name(*track))),
        error => Failure::Usage(error.to_string()),
    }
}
