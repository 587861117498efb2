//! The monitor: a thread that takes what handlers publish, and the state that routes read.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use tickwire_host::clock::monotonic_ns;
use tickwire_telemetry::metrics::Distribution;
use tokio::sync::watch;

use crate::bus::{self, BusDescription, BusTap};
use crate::channel::{Channel, ChannelDescription};
use crate::sender::SenderTap;
use crate::state::{ChannelState, Process, State};
use crate::tap::Tap;
use crate::wishes::Wishes;
use crate::workshop::Workshop;

/// Handovers of a channel that wait for the monitor.
const QUEUE_MAX: usize = 4096;
/// How often the monitor looks for handovers.
const LOOK: Duration = Duration::from_millis(20);
/// The state changes this often even if nothing is published: ages grow.
const AGE: Duration = Duration::from_millis(250);
/// Packets are wanted for so long after somebody looked at them.
const LOOKED_NS: u64 = 2_000_000_000;

/// Tells something that the monitor knows nothing about, such as FIX sessions.
pub type Panel = Box<dyn Fn() -> serde_json::Value + Send + Sync>;

/// A monitor before it runs.
pub struct MonitorBuilder {
    process: Process,
    channels: Vec<Channel>,
    fix: Option<Panel>,
    bus: Option<BusTap>,
    sender: Option<SenderTap>,
    administration: Router,
}

impl fmt::Debug for MonitorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MonitorBuilder").field("process", &self.process).finish_non_exhaustive()
    }
}

impl MonitorBuilder {
    /// Begins a monitor of a process that runs this command.
    pub fn new(command: &str, version: &str) -> Self {
        let process = Process {
            command: command.to_owned(),
            version: version.to_owned(),
            pid: std::process::id(),
            uptime_ms: 0,
            not_ready: Vec::new(),
        };
        Self {
            process,
            channels: Vec::new(),
            fix: None,
            bus: None,
            sender: None,
            administration: Router::new(),
        }
    }

    /// Adds a channel and returns what its handler's thread publishes with.
    pub fn add_channel(&mut self, description: ChannelDescription) -> Tap {
        let (sender, receiver) = sync_channel(QUEUE_MAX);
        let wishes = Arc::new(Wishes::default());
        self.channels.push(Channel::new(description, receiver, wishes.clone()));
        Tap::new(sender, wishes)
    }

    /// Tells of FIX sessions.
    pub fn set_fix(&mut self, panel: Panel) {
        self.fix = Some(panel);
    }

    /// Serves routes that change something beside the monitor's. They ask for a token of their own; that of the monitor does
    /// not open them.
    pub fn set_administration(&mut self, routes: Router) {
        self.administration = routes;
    }

    /// Adds the topics of a bus and returns what their thread publishes with.
    pub fn set_bus(&mut self, description: BusDescription) -> BusTap {
        self.bus.insert(BusTap::new(description)).clone()
    }

    /// Adds lines that are sent to, by name and group, and how late their packets are. Returns what their thread publishes with.
    pub fn set_sender(&mut self, lines: Vec<(String, String)>, late: Distribution) -> SenderTap {
        self.sender.insert(SenderTap::new(lines, late)).clone()
    }

    /// Starts the monitor's thread.
    ///
    /// # Errors
    /// The system makes no thread.
    pub fn start(self) -> std::io::Result<Monitor> {
        let shared = Arc::new(Shared {
            process: self.process,
            begun: Instant::now(),
            channels: Mutex::new(self.channels),
            fix: self.fix,
            bus: self.bus,
            sender: self.sender,
            version: watch::Sender::new(0),
            cached: Mutex::new((u64::MAX, Arc::from(""))),
            workshop: Workshop::default(),
            packets_wanted_ns: AtomicU64::new(0),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let (of_thread, stopped) = (shared.clone(), stop.clone());
        let run = move || collect(&of_thread, &stopped);
        let thread = thread::Builder::new().name("monitor".to_owned()).spawn(run)?;
        Ok(Monitor { shared, administration: self.administration, stop, thread: Some(thread) })
    }
}

/// A running monitor; it ends when this is dropped.
pub struct Monitor {
    pub(crate) shared: Arc<Shared>,
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
    /// The state at this moment.
    pub fn state(&self) -> State {
        self.shared.state()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panicked at worst; that was printed.
            let _ = thread.join();
        }
    }
}

/// What the monitor's thread and the routes share.
pub(crate) struct Shared {
    process: Process,
    begun: Instant,
    channels: Mutex<Vec<Channel>>,
    fix: Option<Panel>,
    bus: Option<BusTap>,
    sender: Option<SenderTap>,
    pub(crate) version: watch::Sender<u64>,
    /// The state of a version as JSON, made once for all who want it.
    cached: Mutex<(u64, Arc<str>)>,
    pub(crate) workshop: Workshop,
    /// Until when packets are wanted.
    packets_wanted_ns: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Shared {
    pub(crate) fn channels(&self) -> MutexGuard<'_, Vec<Channel>> {
        locked(&self.channels)
    }

    /// What `tell` says of the channel of this name; the only one may be asked for without a name.
    pub(crate) fn of_channel<T>(
        &self,
        name: Option<&str>,
        tell: impl FnOnce(&Channel) -> T,
    ) -> Option<T> {
        let channels = self.channels();
        let channel = match name {
            Some(name) => channels.iter().find(|channel| channel.description.name == name),
            None => channels.first(),
        };
        channel.map(tell)
    }

    /// Somebody looks at packets: handlers hand over the last ones for a while.
    pub(crate) fn want_packets(&self) {
        let until_ns = monotonic_ns().saturating_add(LOOKED_NS);
        self.packets_wanted_ns.store(until_ns, Ordering::Relaxed);
    }

    pub(crate) fn state(&self) -> State {
        self.state_of(*self.version.borrow())
    }

    fn state_of(&self, version: u64) -> State {
        let now_ns = monotonic_ns();
        let channels: Vec<ChannelState> =
            self.channels().iter().map(|channel| channel.state(now_ns)).collect();
        let uptime_ms = self.begun.elapsed().as_millis() as u64;
        let bus = self.bus.as_ref().map(|bus| bus.state(now_ns));
        let mut not_ready: Vec<String> = channels.iter().filter_map(not_ready).collect();
        not_ready.extend(bus.iter().flat_map(bus::not_ready));
        State {
            version,
            at_ms: unix_time().as_millis() as u64,
            process: Process { uptime_ms, not_ready, ..self.process.clone() },
            channels,
            fix: self.fix.as_ref().map(|panel| panel()),
            bus,
            sender: self.sender.as_ref().map(|sender| sender.state(now_ns)),
        }
    }

    /// The state as JSON; made once a version.
    pub(crate) fn state_json(&self) -> Arc<str> {
        let mut cached = locked(&self.cached);
        let version = *self.version.borrow();
        if cached.0 != version {
            *cached = (version, to_json(&self.state_of(version)).into());
        }
        cached.1.clone()
    }
}

/// Returns JSON of what always has one.
pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(text) => text,
        Err(error) => unreachable!("states have texts as keys and no writer that fails: {error}"),
    }
}

/// Why a channel is not ready to be trusted.
fn not_ready(channel: &ChannelState) -> Option<String> {
    let name = &channel.name;
    let stale: u64 = channel.books.stale.values().sum();
    match channel.status {
        "waiting" => Some(format!("{name}: no packet has come")),
        "stalled" => Some(format!("{name}: its handler does not run")),
        "silent" => Some(format!("{name}: all lines are silent")),
        _ if stale > 0 => Some(format!("{name}: {stale} books are stale")),
        _ => None,
    }
}

/// Takes what handlers publish until it is told to stop.
fn collect(shared: &Shared, stop: &AtomicBool) {
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
                is_changed |= channel.take();
                if now != second {
                    channel.end_second(now.saturating_sub(1));
                }
            }
        }
        second = now;
        if is_changed {
            changed = Instant::now();
            shared.version.send_modify(|version| *version += 1);
        }
        thread::sleep(LOOK);
    }
}
