//! `tickwire multicast`: sends a capture to multicast groups.

mod args;
mod published;
mod report;

pub use args::MulticastArgs;

use crate::console::tell;
use crate::destinations::{destinations_of, destinations_text};
use crate::distribution::stop_on_signals;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::progress::Progress;
use published::Published;
use report::Report;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use tickwire_feed::capture::{CaptureOptions, CaptureReader, Packet};
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
/// Packets of a capture, from its first, whose destinations are examined.
const PACKETS_EXAMINED: u64 = 1_000_000;

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
    /// Its capture; `None` sends the packets of line A.
    file: Option<&'a Path>,
    /// The destination of its packets in the capture; `None` sends all packets.
    captured_as: Option<SocketAddr>,
}

impl Feed<'_> {
    fn open(&self, args: &MulticastArgs) -> Result<PlaybackLine, Failure> {
        let options = SenderOptions { hops_max: args.hops, ..SenderOptions::default() };
        let sender = Sender::open(self.endpoint, options)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(PlaybackLine::new(sender, Injector::new(self.faults, self.seed)))
    }
}

/// Line A first, then B and the snapshots if requested. Packets of a capture with several destinations are
/// assigned to the lines of these addresses.
fn feeds(args: &MulticastArgs) -> Result<Vec<Feed<'_>>, Failure> {
    let endpoints = args.endpoints()?;
    let file = Some(args.file.as_path());
    let (endpoint, seed) = (endpoints.a, line_seed(args.seed, 0));
    let captured_as = assigned(args, &args.file, endpoint)?;
    let a = Feed { name: "A", endpoint, faults: args.faults(0), seed, file, captured_as };
    let b = endpoints.b.map(|endpoint| {
        let (file, captured_as) = match args.file_b.as_deref() {
            Some(path) => (Some(path), assigned(args, path, endpoint)?),
            // Line B of the capture of line A. Without packets to its address it carries those of line A.
            None if captured_as.is_some() => {
                let captured_as = assigned(args, &args.file, endpoint).ok().flatten();
                (file.filter(|_| captured_as.is_some()), captured_as)
            }
            None => (None, None),
        };
        let (faults, seed) = (args.faults(1), line_seed(args.seed, 1));
        Ok(Feed { name: "B", endpoint, faults, seed, file, captured_as })
    });
    let snapshots = endpoints.snapshots.map(|endpoint| {
        let (faults, seed, file) = (args.snapshot_faults(), args.seed, args.snapshots.as_deref());
        let captured_as = match file {
            Some(path) => assigned(args, path, endpoint)?,
            None => None,
        };
        Ok(Feed { name: SNAPSHOTS, endpoint, faults, seed, file, captured_as })
    });
    [Some(Ok(a)), b, snapshots].into_iter().flatten().collect()
}

/// Returns the destination of the packets of a capture that are sent to `endpoint`: its own address if the
/// capture has packets to several destinations, `None` for all packets. Refuses a capture that has several, but not
/// that one, and a choice that no packet has. Standard input is read once, so its packets are not examined.
fn assigned(
    args: &MulticastArgs,
    path: &Path,
    endpoint: Endpoint,
) -> Result<Option<SocketAddr>, Failure> {
    if files::is_standard(path) {
        return Ok(None);
    }
    let quiet = Progress::none();
    let mut reader = open(args, path, None, &quiet)?;
    let is_sent = |packet: &Packet<'_>| packet.stream.is_none();
    let found = destinations_of(&mut reader, PACKETS_EXAMINED, is_sent);
    let address = SocketAddr::from(endpoint.address());
    if found.contains_key(&address) && found.len() > 1 {
        return Ok(Some(address));
    }
    let read = reader.statistics();
    let is_none_chosen = read.packets == 0 && read.filtered_out > 0;
    if found.len() <= 1 && !is_none_chosen {
        return Ok(None);
    }
    let listed = if is_none_chosen {
        destinations_of(
            &mut open_whole(args, path, CaptureOptions::new(), &quiet)?,
            PACKETS_EXAMINED,
            is_sent,
        )
    } else {
        found
    };
    let listed = destinations_text(listed.into_iter()).unwrap_or_default();
    let name = files::name_of(path);
    Err(Failure::Usage(match is_none_chosen {
        true => {
            format!("{name}: no packet is sent to --capture-address and --capture-port. {listed}")
        }
        false => format!(
            "{name} has packets to several destinations, but none to {address}. {listed}. Choose those of a \
             line with --capture-address and --capture-port, or name their group and port with -a and -p"
        ),
    }))
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
    let times = [start_of(args, &args.file)?, start_of(args, snapshots)?];
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
    let mut reader = open(args, path, None, &Progress::none())?;
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
