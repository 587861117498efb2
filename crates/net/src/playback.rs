//! Sends captures to multicast groups on schedule, optionally with injected faults.
//!
//! A [`Track`] is a capture with its [`ReplaySchedule`], a capture that sends one packet after every N
//! packets of another track, or one of several captures that are aligned by capture time. Its packets go to one or several [`PlaybackLine`]s; each is an
//! endpoint with its own [`Injector`]. [`Playback::run`] plays all tracks together and always sends
//! the packet that is due first.

use std::error;
use std::fmt;
use std::io::{self, Read};

use hdrhistogram::Histogram;
use tickwire_feed::capture::{CaptureError, CaptureKind, CaptureReader};

use crate::clock::monotonic_ns;
use crate::histogram;
use crate::inject::{FaultCounters, Injector};
use crate::multicast::Sender;
use crate::replay::{Pace, ReplaySchedule, Waiter};
use crate::{HostError, Stop};

/// An endpoint with its faults.
#[derive(Debug)]
pub struct PlaybackLine {
    sender: Sender,
    injector: Injector,
    counters: PlaybackLineCounters,
}

/// Counters of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaybackLineCounters {
    /// Packets sent.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets not sent because the kernel's send buffer was full.
    pub no_room: u64,
}

impl PlaybackLine {
    /// Creates a line; the injector decides what it sends.
    pub fn new(sender: Sender, injector: Injector) -> Self {
        Self { sender, injector, counters: PlaybackLineCounters::default() }
    }

    /// Returns the sender of the line.
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Returns the counters.
    pub const fn counters(&self) -> PlaybackLineCounters {
        self.counters
    }

    /// Returns the counters of the injector.
    pub const fn faults(&self) -> FaultCounters {
        self.injector.counters()
    }

    /// Sends all packets that are due at `now_ns`.
    fn send_due(&mut self, now_ns: u64) -> Result<(), HostError> {
        while let Some(packet) = self.injector.poll_packet(now_ns) {
            match self.sender.send(packet) {
                Ok(()) => {
                    self.counters.packets += 1;
                    self.counters.bytes += packet.len() as u64;
                }
                Err(error) if is_no_room(&error.source) => self.counters.no_room += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_no_room(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Timing of the packets of a track.
#[derive(Clone, Copy, Debug)]
enum Timing {
    /// One packet after this many packets of the first track; the remaining ones after its last.
    Follows {
        every: u64,
    },
    Scheduled(ReplaySchedule),
    /// In the order of capture times with the other tracks of this kind, paced by the playback.
    Aligned,
}

/// Turns of the tracks that are aligned by capture time. In each turn a track sends at most one
/// packet.
#[derive(Debug)]
struct Turns {
    schedule: ReplaySchedule,
    /// When the current turn is due, since the start.
    due_ns: u64,
    /// Tracks that have sent their packet of this turn.
    played: Vec<usize>,
}

impl Turns {
    fn new(mut schedule: ReplaySchedule) -> Self {
        let due_ns = schedule.next_due_ns(None);
        Self { schedule, due_ns, played: Vec::new() }
    }

    /// Returns when the next packet of a track is due.
    fn due_ns(&self, track: usize) -> u64 {
        // Asks a copy, so that the schedule itself does not advance.
        let mut schedule = self.schedule;
        if self.played.contains(&track) { schedule.next_due_ns(None) } else { self.due_ns }
    }

    fn play(&mut self, track: usize) {
        if self.played.contains(&track) {
            self.due_ns = self.schedule.next_due_ns(None);
            self.played.clear();
        }
        self.played.push(track);
    }
}

/// A capture, its timing, and its lines.
pub struct Track {
    reader: CaptureReader<Box<dyn Read>>,
    timing: Timing,
    /// Indexes of lines.
    lines: Vec<usize>,
    counters: TrackCounters,
    /// The packet to be sent next.
    packet: Vec<u8>,
    /// Its capture time, never before that of an earlier packet; 0 without times.
    captured_ns: u64,
    /// Time at which it is to be sent, since the start; `None` after the last packet. For a track
    /// that follows another, only whether it is `None` matters.
    due_ns: Option<u64>,
}

/// Counters of reading a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackCounters {
    /// Packets read and sent.
    pub packets: u64,
    /// Packets skipped: pieces of TCP streams, and packets that the capture truncated.
    pub passed_over: u64,
}

impl Track {
    /// Creates a track for the lines with these indexes.
    pub fn new(
        reader: CaptureReader<Box<dyn Read>>,
        schedule: ReplaySchedule,
        lines: impl Into<Vec<usize>>,
    ) -> Self {
        Self::with_timing(reader, Timing::Scheduled(schedule), lines.into())
    }

    /// Creates a track that sends one packet after every `every` packets of the first track, like
    /// snapshots between updates. The remaining packets are sent after the first track's last.
    pub fn following(
        reader: CaptureReader<Box<dyn Read>>,
        every: u32,
        lines: impl Into<Vec<usize>>,
    ) -> Self {
        Self::with_timing(reader, Timing::Follows { every: every.max(1).into() }, lines.into())
    }

    /// Creates a track that is sent in the order of capture times with the other aligned tracks, at
    /// the pace of [`Playback::pace`]. Captures without times take turns, one packet each.
    pub fn aligned(reader: CaptureReader<Box<dyn Read>>, lines: impl Into<Vec<usize>>) -> Self {
        Self::with_timing(reader, Timing::Aligned, lines.into())
    }

    fn with_timing(
        reader: CaptureReader<Box<dyn Read>>,
        timing: Timing,
        lines: Vec<usize>,
    ) -> Self {
        Self {
            reader,
            timing,
            lines,
            counters: TrackCounters::default(),
            packet: Vec::new(),
            captured_ns: 0,
            due_ns: None,
        }
    }

    /// Returns the counters.
    pub const fn counters(&self) -> TrackCounters {
        self.counters
    }

    /// Returns the number of packets read that were sent to other destinations than those that the reader selects.
    pub const fn filtered_out(&self) -> u64 {
        self.reader.statistics().filtered_out
    }

    /// Returns the number of packets that the reader selected and the track read, including skipped ones.
    pub const fn selected(&self) -> u64 {
        self.reader.statistics().packets
    }

    /// Returns the parts of the capture that cannot be played, one sentence each.
    pub fn missing(&self) -> impl Iterator<Item = String> + use<> {
        self.reader.statistics().missing()
    }

    /// Returns a sentence if times of the capture go back.
    pub fn times_back(&self) -> Option<String> {
        self.reader.statistics().times_back()
    }

    /// Reads the next packet; after the last one, none is due.
    fn advance(&mut self) -> Result<(), CaptureError> {
        self.due_ns = None;
        while let Some(packet) = self.reader.next_packet()? {
            if packet.is_truncated() || packet.stream.is_some() {
                self.counters.passed_over += 1;
                continue;
            }
            self.due_ns = Some(match &mut self.timing {
                Timing::Follows { .. } | Timing::Aligned => 0,
                Timing::Scheduled(schedule) => schedule.next_due_ns(packet.timestamp_ns),
            });
            self.captured_ns = self.captured_ns.max(packet.timestamp_ns.unwrap_or(0));
            self.packet.clear();
            self.packet.extend_from_slice(packet.bytes);
            self.counters.packets += 1;
            break;
        }
        Ok(())
    }
}

/// Reason why a playback ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlaybackError {
    /// A capture could not be read further.
    Capture {
        /// Index of its track.
        track: usize,
        /// The error of the capture.
        source: CaptureError,
    },
    /// The capture is one stream of bytes without packet boundaries.
    NoPackets {
        /// Index of its track.
        track: usize,
    },
    /// A packet could not be sent.
    Send(HostError),
}

impl fmt::Display for PlaybackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture { source, .. } => source.fmt(f),
            Self::NoPackets { .. } => f.write_str(
                "a raw file has no packets to send: name its layout, u32be or u32le, if it has one",
            ),
            Self::Send(error) => error.fmt(f),
        }
    }
}

impl error::Error for PlaybackError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Capture { source, .. } => Some(source),
            Self::NoPackets { .. } => None,
            Self::Send(error) => Some(error),
        }
    }
}

impl From<HostError> for PlaybackError {
    fn from(error: HostError) -> Self {
        Self::Send(error)
    }
}

/// Tracks and lines that are played together. See the [module](self).
pub struct Playback {
    lines: Vec<PlaybackLine>,
    tracks: Vec<Track>,
    turns: Turns,
    lateness: Histogram<u64>,
    start_ns: u64,
    end_ns: u64,
}

impl Playback {
    /// Creates a playback of tracks on lines. Line indexes without a line are skipped.
    ///
    /// # Errors
    /// [`PlaybackError::NoPackets`] for a capture that is one stream of bytes.
    pub fn new(lines: Vec<PlaybackLine>, tracks: Vec<Track>) -> Result<Self, PlaybackError> {
        if let Some(track) =
            tracks.iter().position(|track| track.reader.kind() == CaptureKind::Stream)
        {
            return Err(PlaybackError::NoPackets { track });
        }
        let turns = Turns::new(ReplaySchedule::new(Pace::Maximum, None));
        let lateness = histogram::latency();
        Ok(Self { lines, tracks, turns, lateness, start_ns: 0, end_ns: 0 })
    }

    /// Sets the pace of the tracks that are aligned by capture time; a line's packets have this
    /// pace. Default: as fast as they can be sent.
    #[must_use]
    pub fn pace(self, schedule: ReplaySchedule) -> Self {
        Self { turns: Turns::new(schedule), ..self }
    }

    /// Returns the lines.
    pub fn lines(&self) -> &[PlaybackLine] {
        &self.lines
    }

    /// Returns the tracks.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Returns the delays of packets behind their schedule, in nanoseconds.
    pub const fn lateness(&self) -> &Histogram<u64> {
        &self.lateness
    }

    /// Returns how long the playback has run, in nanoseconds.
    pub const fn elapsed_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Plays to the end, or until it is stopped; `observe` is called after each packet.
    ///
    /// # Errors
    /// A [`PlaybackError`]. All packets due before it have been sent; the counters tell how many.
    pub fn run(
        &mut self,
        waiter: &Waiter,
        stop: &Stop,
        mut observe: impl FnMut(&Self),
    ) -> Result<(), PlaybackError> {
        for index in 0..self.tracks.len() {
            self.advance(index)?;
        }
        self.start_ns = monotonic_ns();
        self.end_ns = self.start_ns;
        while let Some(due_ns) = self.next_due_ns() {
            let now_ns = waiter.wait_until(due_ns);
            if stop.is_set() {
                break;
            }
            let played = self.play_first(now_ns);
            for line in &mut self.lines {
                line.send_due(now_ns)?;
            }
            played?;
            self.end_ns = monotonic_ns();
            observe(self);
        }
        Ok(())
    }

    fn advance(&mut self, track: usize) -> Result<(), PlaybackError> {
        let Some(playing) = self.tracks.get_mut(track) else { return Ok(()) };
        playing.advance().map_err(|source| PlaybackError::Capture { track, source })
    }

    /// Returns the time of the next action, on the monotonic clock.
    fn next_due_ns(&self) -> Option<u64> {
        let packets = (0..self.tracks.len()).filter_map(|index| self.due_ns_of(index));
        let held = self.lines.iter().filter_map(|line| line.injector.poll_timeout());
        packets.chain(held).min()
    }

    /// Returns the aligned track whose packet is the next one by capture time.
    fn next_aligned(&self) -> Option<usize> {
        let aligned =
            self.tracks.iter().enumerate().filter(|(_, track)| {
                matches!(track.timing, Timing::Aligned) && track.due_ns.is_some()
            });
        let next = aligned
            .min_by_key(|(index, track)| (track.captured_ns, track.counters.packets, *index));
        next.map(|(index, _)| index)
    }

    /// Returns the due time of a track's packet, on the monotonic clock.
    fn due_ns_of(&self, index: usize) -> Option<u64> {
        let track = self.tracks.get(index)?;
        let due_ns = self.start_ns.saturating_add(track.due_ns?);
        let every = match track.timing {
            Timing::Scheduled(_) => return Some(due_ns),
            Timing::Aligned => {
                let is_next = self.next_aligned() == Some(index);
                return is_next.then(|| self.start_ns.saturating_add(self.turns.due_ns(index)));
            }
            Timing::Follows { every } => every,
        };
        let Some(first) = self.tracks.first() else { return Some(due_ns) };
        // The counter is one ahead: it includes the packet that is to be sent next.
        let sent = first.counters.packets - u64::from(first.due_ns.is_some());
        let is_due = first.due_ns.is_none() || sent / every >= track.counters.packets;
        // 0: before everything else that is due.
        is_due.then_some(0)
    }

    /// Passes the next packet to its lines, if it is due.
    fn play_first(&mut self, now_ns: u64) -> Result<(), PlaybackError> {
        let dues = (0..self.tracks.len()).filter_map(|index| Some((self.due_ns_of(index)?, index)));
        let Some((due_ns, index)) = dues.min().filter(|(due_ns, _)| *due_ns <= now_ns) else {
            return Ok(());
        };
        let Some(track) = self.tracks.get(index) else { return Ok(()) };
        match track.timing {
            Timing::Follows { .. } => {}
            Timing::Scheduled(_) => histogram::record(&mut self.lateness, now_ns - due_ns),
            Timing::Aligned => {
                self.turns.play(index);
                histogram::record(&mut self.lateness, now_ns - due_ns);
            }
        }
        for &line in &track.lines {
            if let Some(line) = self.lines.get_mut(line) {
                line.injector.handle_packet(now_ns, &track.packet);
            }
        }
        self.advance(index)
    }
}
