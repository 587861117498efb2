//! The monitor: its thread, which receives what handlers publish, and the state that routes read.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use tickwire_feed::board::Board;
use tickwire_host::affinity::spawn_background;
use tickwire_host::clock::monotonic_ns;
use tickwire_telemetry::metrics::Distribution;
use tickwire_telemetry::spans::SpanSink;
use tokio::sync::watch;

use crate::activity::Activity;
use crate::bus::{self, BusDescription, BusState, BusTap};
use crate::channel::{ChannelDescription, MonitoredChannel, not_ready};
use crate::fix;
use crate::frames::{EncodedEvent, Frames};
use crate::requests::StreamSubject;
use crate::sender::SenderTap;
use crate::sent_history::SentHistory;
use crate::state::{ChannelState, MonitorState, ProcessState};
use crate::summary::{ChannelSummary, SessionSummary, StateSummary, SummaryQuery};
use crate::tap::Tap;
use crate::wishes::{LOOKED_NS, Wishes};
use crate::workshop::Workshop;

/// Most items of a channel that wait in the queue for the monitor.
const QUEUE_MAX: usize = 4096;
/// Interval at which the monitor reads the queues.
const LOOK: Duration = Duration::from_millis(20);
/// Interval after which the state counts as changed although nothing was published, because the ages in it grow.
const AGE: Duration = Duration::from_millis(250);

/// Returns the state of a part that the monitor itself does not know, such as FIX sessions.
pub type Panel = Box<dyn Fn() -> serde_json::Value + Send + Sync>;

/// A monitor that was not started yet.
pub struct MonitorBuilder {
    process: ProcessState,
    channels: Vec<MonitoredChannel>,
    fix: Option<Panel>,
    bus: Option<BusTap>,
    sender: Option<SenderTap>,
    spans: Option<SpanSink>,
    administration: Router,
}

impl fmt::Debug for MonitorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MonitorBuilder").field("process", &self.process).finish_non_exhaustive()
    }
}

impl MonitorBuilder {
    /// Creates a monitor for a process that runs this command.
    pub fn new(command: &str, version: &str) -> Self {
        let process = ProcessState {
            command: command.to_owned(),
            version: version.to_owned(),
            pid: std::process::id(),
            uptime_ms: 0,
            not_ready: Vec::new(),
            warnings: Vec::new(),
        };
        Self {
            process,
            channels: Vec::new(),
            fix: None,
            bus: None,
            sender: None,
            spans: None,
            administration: Router::new(),
        }
    }

    /// Adds a channel. Returns the tap with which its handler's thread publishes.
    pub fn add_channel(&mut self, description: ChannelDescription) -> Tap {
        let (sender, receiver) = sync_channel(QUEUE_MAX);
        let (wishes, board) = (Arc::new(Wishes::default()), Board::new());
        let channel = MonitoredChannel::new(description, receiver, wishes.clone(), board.reader());
        self.channels.push(channel);
        Tap::new(sender, wishes, board)
    }

    /// Adds FIX sessions to the state. In the panel's array `sessions`, the members `name`, `state`, `enabled` and
    /// `in_schedule` of each tell whether the process is ready.
    pub fn set_fix(&mut self, panel: Panel) {
        self.fix = Some(panel);
    }

    /// Adds routes that change something. They must check a token of their own; the monitor's token does not open them.
    pub fn set_administration(&mut self, routes: Router) {
        self.administration = routes;
    }

    /// Adds the topics of a bus. Returns the tap with which their thread publishes.
    pub fn set_bus(&mut self, description: BusDescription) -> BusTap {
        self.bus.insert(BusTap::new(description)).clone()
    }

    /// Adds lines to which the process sends, each by name and group, and the distribution of their packets' delays.
    /// Returns the tap with which the sending thread publishes.
    pub fn set_sender(&mut self, lines: Vec<(String, String)>, late: Distribution) -> SenderTap {
        self.sender.insert(SenderTap::new(lines, late)).clone()
    }

    /// Exports spans of all channels: recovery of gaps and books, and replays. The monitor's thread sends them; handlers do
    /// nothing more for them.
    pub fn set_spans(&mut self, sink: SpanSink) {
        self.spans = Some(sink);
    }

    /// Starts the monitor's thread.
    ///
    /// # Errors
    /// The operating system refused to create a thread.
    pub fn start(mut self) -> std::io::Result<Monitor> {
        if let Some(sink) = &self.spans {
            self.channels.iter_mut().for_each(|channel| channel.trace(sink));
        }
        let shared = Arc::new(MonitorShared {
            process: self.process,
            begun: Instant::now(),
            channels: Mutex::new(self.channels),
            activity: Mutex::default(),
            sent: Mutex::default(),
            fix: self.fix,
            bus: self.bus,
            sender: self.sender,
            version: watch::Sender::new(0),
            frames: Mutex::default(),
            workshop: Workshop::default(),
            packets_wanted_ns: AtomicU64::new(0),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let (of_thread, stopped) = (shared.clone(), stop.clone());
        let run = move || collect(&of_thread, &stopped);
        let thread = spawn_background("monitor", run)?;
        Ok(Monitor { shared, administration: self.administration, stop, thread: Some(thread) })
    }
}

/// A running monitor; dropping it ends it.
pub struct Monitor {
    pub(crate) shared: Arc<MonitorShared>,
    pub(crate) administration: Router,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("process", &self.shared.process).finish_non_exhaustive()
    }
}

impl Monitor {
    /// Returns the current state.
    pub fn state(&self) -> MonitorState {
        self.shared.state()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // At worst the thread panicked, which was printed.
            let _ = thread.join();
        }
    }
}

/// State that the monitor's thread and the routes share.
pub(crate) struct MonitorShared {
    process: ProcessState,
    begun: Instant,
    channels: Mutex<Vec<MonitoredChannel>>,
    activity: Mutex<Activity>,
    sent: Mutex<SentHistory>,
    fix: Option<Panel>,
    bus: Option<BusTap>,
    sender: Option<SenderTap>,
    pub(crate) version: watch::Sender<u64>,
    /// The encoded data of each subject.
    frames: Mutex<Frames>,
    pub(crate) workshop: Workshop,
    /// Time until which handlers hand over packets.
    packets_wanted_ns: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl MonitorShared {
    pub(crate) fn channels(&self) -> MutexGuard<'_, Vec<MonitoredChannel>> {
        locked(&self.channels)
    }

    /// Returns the result of `tell` for the channel of this name. If there is only one channel, the name may be
    /// omitted.
    pub(crate) fn of_channel<T>(
        &self,
        name: Option<&str>,
        tell: impl FnOnce(&MonitoredChannel) -> T,
    ) -> Option<T> {
        let channels = self.channels();
        let channel = match name {
            Some(name) => channels.iter().find(|channel| channel.description.name == name),
            None => channels.first(),
        };
        channel.map(tell)
    }

    /// Returns the history of sessions and topics.
    pub(crate) fn activity(&self) -> MutexGuard<'_, Activity> {
        locked(&self.activity)
    }

    /// Returns the history of the lines that the process sends to; `None` if it sends to none.
    pub(crate) fn sent(&self) -> Option<MutexGuard<'_, SentHistory>> {
        self.sender.as_ref().map(|_| locked(&self.sent))
    }

    /// Completes the second `t` of sessions, topics and sent lines.
    fn end_second(&self, t: u64) {
        if let Some(panel) = &self.fix {
            let sessions = panel();
            self.activity().end_second_of_sessions(t, &sessions);
        }
        if let Some(bus) = &self.bus {
            self.activity().end_second_of_topics(t, &bus.state(monotonic_ns()));
        }
        if let Some(sender) = &self.sender {
            locked(&self.sent).end_second(t, &sender.state(monotonic_ns()));
        }
    }

    /// Records that a client looks at packets: handlers hand over the last ones for a while.
    pub(crate) fn want_packets(&self) {
        let until_ns = monotonic_ns().saturating_add(LOOKED_NS);
        self.packets_wanted_ns.store(until_ns, Ordering::Relaxed);
    }

    pub(crate) fn state(&self) -> MonitorState {
        self.state_of(*self.version.borrow())
    }

    pub(crate) fn state_of(&self, version: u64) -> MonitorState {
        let now_ns = monotonic_ns();
        let (summaries, channels): (Vec<_>, Vec<_>) = {
            let all = self.channels();
            all.iter().map(|channel| (channel.summary(now_ns), channel.state(now_ns))).unzip()
        };
        let fix = self.fix.as_ref().map(|panel| panel());
        self.state_with(version, now_ns, &summaries, channels, fix)
    }

    /// Returns the state with these channels and sessions. `summaries` has all channels.
    fn state_with(
        &self,
        version: u64,
        now_ns: u64,
        summaries: &[ChannelSummary],
        channels: Vec<ChannelState>,
        fix: Option<serde_json::Value>,
    ) -> MonitorState {
        let uptime_ms = self.begun.elapsed().as_millis() as u64;
        let bus = self.bus.as_ref().map(|bus| bus.state(now_ns));
        let reason = |of: &ChannelSummary| not_ready(&of.name, of.status, of.stale_books);
        let mut not_ready: Vec<String> = summaries.iter().filter_map(reason).collect();
        not_ready.extend(not_ready_beside(bus.as_ref(), fix.as_ref()));
        let warnings = summaries.iter().flat_map(ChannelSummary::warnings).collect();
        MonitorState {
            version,
            at_ms: unix_time().as_millis() as u64,
            process: ProcessState { uptime_ms, not_ready, warnings, ..self.process.clone() },
            channels,
            fix,
            bus,
            sender: self.sender.as_ref().map(|sender| sender.state(now_ns)),
        }
    }

    /// Returns all channels and sessions in short, with the details that are wanted.
    pub(crate) fn summary_of(&self, version: u64, query: &SummaryQuery) -> StateSummary {
        let now_ns = monotonic_ns();
        let (summaries, channels): (Vec<_>, Vec<_>) = {
            let all = self.channels();
            let names = all.iter().map(|channel| &*channel.description.name);
            let detailed = query.detailed_channels(names);
            let is_wanted = |of: &&MonitoredChannel| detailed.contains(&*of.description.name);
            let details = all.iter().filter(is_wanted).map(|channel| channel.state(now_ns));
            (all.iter().map(|channel| channel.summary(now_ns)).collect(), details.collect())
        };
        let fix = self.fix.as_ref().map(|panel| panel());
        let sessions = fix.as_ref().map(sessions_of).unwrap_or_default();
        let sessions = sessions.iter().map(SessionSummary::new).collect();
        let mut state = self.state_with(version, now_ns, &summaries, channels, fix);
        if let Some(fix) = &mut state.fix {
            query.retain_sessions(fix);
        }
        StateSummary { channels: summaries, sessions, state }
    }

    /// Returns the process, without its readiness and uptime.
    pub(crate) fn process(&self) -> &ProcessState {
        &self.process
    }

    /// Returns the reasons why the data cannot be trusted.
    pub(crate) fn not_ready(&self) -> Vec<String> {
        let now_ns = monotonic_ns();
        let channels = self.channels();
        let mut reasons: Vec<String> =
            channels.iter().filter_map(|channel| channel.not_ready(now_ns)).collect();
        drop(channels);
        let bus = self.bus.as_ref().map(|bus| bus.state(now_ns));
        let fix = self.fix.as_ref().map(|panel| panel());
        reasons.extend(not_ready_beside(bus.as_ref(), fix.as_ref()));
        reasons
    }

    /// Returns which threads of handlers and topics do not run.
    pub(crate) fn stalled(&self) -> Vec<String> {
        let now_ns = monotonic_ns();
        let channels = self.channels();
        let stalled = channels.iter().filter(|channel| channel.status(now_ns) == "stalled");
        let reason =
            |of: &MonitoredChannel| format!("{}: its handler does not run", of.description.name);
        let mut reasons: Vec<String> = stalled.map(reason).collect();
        drop(channels);
        reasons.extend(self.bus.as_ref().and_then(|bus| bus::stall(&bus.state(now_ns))));
        reasons
    }

    /// Returns the data of a subject at the current version, encoded once a version; `None` if there is no such channel.
    pub(crate) fn frame(&self, subject: &Arc<StreamSubject>) -> Option<EncodedEvent> {
        let mut frames = locked(&self.frames);
        let version = *self.version.borrow();
        frames.of(subject, version, || subject.tell(self, version))
    }
}

/// Converts a value to JSON; for types whose conversion cannot fail.
pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(text) => text,
        Err(error) => unreachable!("states have texts as keys and no writer that fails: {error}"),
    }
}

/// Returns the reasons of topics and sessions why the process is not ready.
fn not_ready_beside(bus: Option<&BusState>, fix: Option<&serde_json::Value>) -> Vec<String> {
    let of_bus = bus.into_iter().flat_map(bus::not_ready);
    of_bus.chain(fix.into_iter().flat_map(fix::not_ready)).collect()
}

/// Returns the sessions of a panel.
fn sessions_of(fix: &serde_json::Value) -> &[serde_json::Value] {
    fix["sessions"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Receives what handlers publish until `stop` is set.
fn collect(shared: &MonitorShared, stop: &AtomicBool) {
    let mut changed = Instant::now();
    let mut second = unix_time().as_secs();
    while !stop.load(Ordering::Relaxed) {
        let wants_packets = monotonic_ns() < shared.packets_wanted_ns.load(Ordering::Relaxed);
        let now = unix_time().as_secs();
        let mut is_changed = changed.elapsed() >= AGE;
        {
            let mut channels = shared.channels();
            for channel in channels.iter_mut() {
                channel.wishes.want_packets(wants_packets);
                channel.wishes.expire(monotonic_ns());
                is_changed |= channel.take();
                if now != second {
                    channel.end_second(now.saturating_sub(1));
                }
            }
        }
        if now != second {
            shared.end_second(now.saturating_sub(1));
        }
        second = now;
        if is_changed {
            changed = Instant::now();
            shared.version.send_modify(|version| *version += 1);
        }
        thread::sleep(LOOK);
    }
    for channel in shared.channels().iter_mut() {
        // Takes the publications of handlers that have ended.
        while channel.take() {}
        channel.finish();
    }
}
