//! `tickwire multicast`: sends a capture to multicast groups.

mod args;
mod published;
mod report;

pub use args::MulticastArgs;

use crate::console::tell;
use crate::distribution::stop_on_signals;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::progress::Progress;
use published::Published;
use report::Report;
use std::io::Read;
use std::path::Path;
use tickwire_feed::capture::{CaptureOptions, CaptureReader};
use tickwire_net::affinity;
use tickwire_net::inject::{Faults, Injector, line_seed};
use tickwire_net::multicast::{Endpoint, Sender, SenderOptions};
use tickwire_net::playback::{Playback, PlaybackError, PlaybackLine, Track};
use tickwire_net::replay::{Pace, Schedule, Waiter};
use tickwire_telemetry::metrics::Metrics;

/// Name of the snapshot feed.
const SNAPSHOTS: &str = "snapshots";
/// Packets of line A for each snapshot packet if a capture has no times, as `generate cme` writes them.
const SNAPSHOT_EVERY: u32 = 20;

/// Runs the command.
pub fn run(args: &MulticastArgs) -> Result<Outcome, Failure> {
    let args = &args.over_channel()?;
    args.check_json()?;
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
    let schedule = Schedule::new(args.pace(), origin_ns);
    let tracks = tracks(args, &feeds, schedule, &progress)?;
    let lines = feeds.iter().map(|feed| feed.open(args)).collect::<Result<Vec<_>, _>>()?;
    let playback = Playback::new(lines, tracks).map_err(|error| failure(&feeds, &error))?;
    let mut playback = playback.pace(schedule);
    let waiter = Waiter::new(stop.clone()).spin(args.spin());
    let metrics = Metrics::new();
    let mut published = Published::new(&metrics, &feeds);
    let exporter = args.metrics().serve(&metrics)?;
    let mut builder = args.monitor().builder("multicast");
    if let Some(builder) = &mut builder {
        published.tell_monitor(builder, &feeds);
    }
    let monitor = args.monitor().serve(builder, metrics.routes())?;
    let played = playback.run(&waiter, &stop, |playback| published.publish(playback));
    drop((exporter, monitor));
    drop(progress);
    Report::of(&feeds, &playback, stop.is_set()).write(args.json.as_deref())?;
    played.map_err(|error| failure(&feeds, &error))?;
    Ok(Outcome::flawed_if(tell_missing(&feeds, &playback)))
}

/// Reports parts of captures that were not sent. Returns true if there were any.
fn tell_missing(feeds: &[Feed<'_>], playback: &Playback) -> bool {
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
pub struct Feed<'a> {
    name: &'static str,
    endpoint: Endpoint,
    faults: Faults,
    seed: u64,
    /// Its capture; `None` sends the packets of line A's capture.
    file: Option<&'a Path>,
}

impl Feed<'_> {
    fn open(&self, args: &MulticastArgs) -> Result<PlaybackLine, Failure> {
        let options = SenderOptions { hops_max: args.hops, ..SenderOptions::default() };
        let sender = Sender::open(self.endpoint, options)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(PlaybackLine::new(sender, Injector::new(self.faults, self.seed)))
    }
}

/// Line A first, then B and the snapshots if requested.
fn feeds(args: &MulticastArgs) -> Result<Vec<Feed<'_>>, Failure> {
    let endpoints = args.endpoints()?;
    let file = Some(args.file.as_path());
    let (endpoint, seed) = (endpoints.a, line_seed(args.seed, 0));
    let a = Feed { name: "A", endpoint, faults: args.faults(0), seed, file };
    let b = endpoints.b.map(|endpoint| Feed {
        name: "B",
        endpoint,
        faults: args.faults(1),
        seed: line_seed(args.seed, 1),
        file: args.file_b.as_deref(),
    });
    let snapshots = endpoints.snapshots.map(|endpoint| Feed {
        name: SNAPSHOTS,
        endpoint,
        faults: args.snapshot_faults(),
        seed: args.seed,
        file: args.snapshots.as_deref(),
    });
    Ok([Some(a), b, snapshots].into_iter().flatten().collect())
}

/// The captures and the lines that carry them, in the order of the feeds that have a capture. Captures are aligned by
/// their times, and paced by the playback.
fn tracks(
    args: &MulticastArgs,
    feeds: &[Feed<'_>],
    schedule: Schedule,
    progress: &Progress,
) -> Result<Vec<Track>, Failure> {
    let is_original = matches!(args.pace(), Pace::Original { .. });
    let mut tracks = Vec::new();
    for (index, feed) in feeds.iter().enumerate() {
        let Some(file) = feed.file else { continue };
        let without = (1..feeds.len()).filter(|&other| index == 0 && feeds[other].file.is_none());
        let lines: Vec<usize> = std::iter::once(index).chain(without).collect();
        let quiet = Progress::none();
        let reader = open(args, file, if index == 0 { progress } else { &quiet })?;
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
    let times = [start_of(args, &args.file)?, start_of(args, snapshots)?];
    let are_timed = times.iter().all(|start| matches!(start, CaptureStart::At(_)));
    Ok((!are_timed).then_some(SNAPSHOT_EVERY))
}

fn open(
    args: &MulticastArgs,
    path: &Path,
    progress: &Progress,
) -> Result<CaptureReader<Box<dyn Read>>, Failure> {
    let mut options = CaptureOptions::new();
    if let Some(format) = args.input_format {
        options = options.format(format);
    }
    if let Some(port) = args.capture_port {
        options = options.destination_port(port);
    }
    if let Some(address) = args.capture_address {
        options = options.destination_address(address);
    }
    if !files::is_standard(path) {
        options = options.file_name(path.to_string_lossy());
    }
    files::open_capture(path, progress.watch(files::open(path)?), options)
}

/// The beginning of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaptureStart {
    /// The time of the first packet.
    At(u64),
    /// The packets have no times.
    Untimed,
    /// Standard input, which is read once, or a capture without packets.
    Unknown,
}

/// Reads the beginning of a capture.
fn start_of(args: &MulticastArgs, path: &Path) -> Result<CaptureStart, Failure> {
    if files::is_standard(path) {
        return Ok(CaptureStart::Unknown);
    }
    let mut reader = open(args, path, &Progress::none())?;
    let packet = reader.next_packet();
    let packet = packet.map_err(|error| Failure::Data(format!("{}: {error}", path.display())))?;
    Ok(match packet.map(|packet| packet.timestamp_ns) {
        Some(Some(time_ns)) => CaptureStart::At(time_ns),
        Some(None) => CaptureStart::Untimed,
        None => CaptureStart::Unknown,
    })
}

/// The earliest time in all captures, so that their relative timing is kept. Refuses captures without times.
fn first_time(args: &MulticastArgs, feeds: &[Feed<'_>]) -> Result<Option<u64>, Failure> {
    let mut first = None;
    for path in feeds.iter().filter_map(|feed| feed.file) {
        match start_of(args, path)? {
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
    let (timed, untimed) = match (start_of(args, &args.file)?, start_of(args, file_b)?) {
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

fn failure(feeds: &[Feed<'_>], error: &PlaybackError) -> Failure {
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
