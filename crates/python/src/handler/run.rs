//! Drives a handler from captures or sockets.

use super::channel::ConfiguredChannel;
use super::collect::{EventCollector, EventQueue, EventSelection};
use super::event::HandlerEvent;
use crate::pull::CaptureFile as File;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tickwire_feed::capture::{CaptureDriver, CaptureKind, LineMap, Merge};
use tickwire_feed::handler::{Dynamic, FeedLine, Handler, HandlerView, Peeked, SeqNumPeek};
use tickwire_feed::market::BookAdapter;
use tickwire_net::Stop;
use tickwire_net::multicast::{Receiver, ReceiverOptions};
use tickwire_net::reception::{Reception, Wait};
use tickwire_net::replaying::{DrivenHandler, Replaying};
use tickwire_net::tcp_replay::TcpReplay;

/// Most events of a live feed that wait for Python; beyond that, packets wait in the sockets.
const WAITING_MAX: usize = 65_536;
/// Packets of captures between checks for Python's signals.
const PACKETS_AT_ONCE: usize = 4096;
/// Most destinations listed in an error.
const DESTINATIONS_MAX: usize = 20;

type BookHandler = Handler<Dynamic, BookAdapter>;

/// Counters of a handler.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandlerCounts {
    packets: u64,
    messages: u64,
    undecodable: u64,
    gaps: u64,
    lost: u64,
    instruments: u64,
    stale: u64,
}

impl HandlerCounts {
    fn of(view: &HandlerView<'_>) -> Self {
        let (fresh, stale) = view.recovery.states();
        let (stale, arbiter) = (stale.iter().sum::<usize>(), view.arbiter.counters());
        Self {
            packets: view.counters.lines.iter().map(|line| line.packets).sum(),
            messages: view.counters.messages.decoded,
            undecodable: view.counters.messages.undecodable,
            gaps: arbiter.gaps,
            lost: arbiter.gap_seq_nums,
            instruments: (fresh + stale) as u64,
            stale: stale as u64,
        }
    }

    /// Returns the counters with their names.
    pub const fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("packets", self.packets),
            ("messages", self.messages),
            ("undecodable", self.undecodable),
            ("gaps", self.gaps),
            ("lost", self.lost),
            ("instruments", self.instruments),
            ("stale", self.stale),
        ]
    }
}

/// Result of asking for the next event.
pub enum NextEvent {
    Event(HandlerEvent),
    /// No event within the time.
    Nothing,
    End,
}

/// A running handler.
pub enum HandlerRun {
    Captured(Box<CaptureRun>),
    Live(LiveRun),
}

impl HandlerRun {
    /// Opens the captures or the sockets. A live feed ends after `idle` without packets.
    pub fn begin(
        channel: &Arc<ConfiguredChannel>,
        wanted: EventSelection,
        idle: Option<Duration>,
    ) -> Result<Self, String> {
        match channel.is_captured() {
            true => CaptureRun::open(channel, wanted).map(|run| Self::Captured(Box::new(run))),
            false => LiveRun::open(channel, wanted, idle).map(Self::Live),
        }
    }

    /// Returns the queue of a separate thread: callers can wait for it without locking the rest.
    pub fn queue(&self) -> Option<Arc<EventQueue>> {
        match self {
            Self::Captured(_) => None,
            Self::Live(run) => Some(run.queue.clone()),
        }
    }

    /// Returns the next event, if there is one; reads some packets of captures for it. An error is returned
    /// once, after the events before it.
    pub fn next(&mut self) -> Result<NextEvent, String> {
        match self {
            Self::Captured(run) => run.next(),
            Self::Live(run) => run.next(),
        }
    }

    /// Returns the counters so far.
    pub fn counts(&self) -> HandlerCounts {
        match self {
            Self::Captured(run) => HandlerCounts::of(&run.handler.view()),
            Self::Live(run) => *run.counts.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// A handler driven by captures; capture times are its clock.
pub struct CaptureRun {
    merge: Merge<std::io::Take<std::fs::File>>,
    names: Vec<String>,
    driver: CaptureDriver,
    handler: BookHandler,
    sink: EventCollector,
    hold_ns: u64,
    is_ended: bool,
    /// Errors to report after the events before them.
    errors: Vec<String>,
}

impl CaptureRun {
    fn open(channel: &ConfiguredChannel, wanted: EventSelection) -> Result<Self, String> {
        let settings = &channel.settings;
        let mut map = LineMap::new();
        if !channel.captures.is_empty() {
            for (source, endpoint) in &settings.inputs {
                map = map.destination(endpoint.address(), *source);
            }
        }
        let mut paths = channel.captures.clone();
        if paths.is_empty() {
            for (input, (source, path)) in settings.captures.iter().enumerate() {
                map = map.input(input, *source);
                paths.push(path.clone());
            }
        }
        let names = paths.iter().map(|path| path.display().to_string()).collect();
        let readers = paths.into_iter().map(|path| {
            let file = File { path, format: None, split: None };
            let reader = file.open()?;
            match reader.kind() {
                CaptureKind::Stream => {
                    let is_empty =
                        std::fs::metadata(&file.path).is_ok_and(|found| found.len() == 0);
                    let what = match is_empty {
                        true => "the file is empty",
                        false => "a raw file has no packets to receive; read it with tickwire.open",
                    };
                    Err(format!("{}: {what}", file.path.display()))
                }
                _ => Ok(reader),
            }
        });
        let merge = Merge::new(readers.collect::<Result<Vec<_>, _>>()?);
        let queue = EventQueue::new(usize::MAX, Stop::new());
        Ok(Self {
            merge,
            names,
            driver: CaptureDriver::new(map),
            handler: channel.handler()?,
            sink: EventCollector { queue, wanted, epoch_ns: 0, now_ns: 0 },
            hold_ns: channel.options.arbiter.hold_ns,
            is_ended: false,
            errors: Vec::new(),
        })
    }

    fn next(&mut self) -> Result<NextEvent, String> {
        for _ in 0..PACKETS_AT_ONCE {
            if let Some(event) = self.sink.queue.pop() {
                return Ok(NextEvent::Event(event));
            }
            if !self.errors.is_empty() {
                return Err(self.errors.remove(0));
            }
            if self.is_ended {
                return Ok(NextEvent::End);
            }
            self.step();
        }
        Ok(NextEvent::Nothing)
    }

    /// Handles the next packet.
    fn step(&mut self) {
        match self.merge.next_packet() {
            Ok(Some(merged)) => {
                self.sink.now_ns = merged.time_ns;
                self.driver.handle_packet(&merged, &mut self.handler, &mut self.sink);
            }
            Ok(None) => self.end(),
            Err(broken) => {
                let name = self.names.get(broken.input).map_or("", String::as_str);
                self.errors.push(format!("{name}: {}", broken.error));
            }
        }
    }

    fn end(&mut self) {
        self.is_ended = true;
        self.driver.finish(self.hold_ns, &mut self.handler, &mut self.sink);
        for (name, reader) in self.names.iter().zip(self.merge.readers()) {
            let missing = reader.statistics().missing();
            self.errors.extend(missing.map(|text| format!("{name}: {text}")));
        }
        if !self.driver.has_matched() {
            self.errors.push(self.nothing_matched());
        }
    }

    fn nothing_matched(&self) -> String {
        let others = self.driver.others();
        let found: Vec<String> = others
            .by_destination
            .iter()
            .take(DESTINATIONS_MAX)
            .map(|(address, packets)| format!("{address} ({packets})"))
            .collect();
        let found = match found.is_empty() {
            true => "they have no addresses: name the files as lines in the feed file, a = { capture = \"FILE\" }"
                .to_owned(),
            false => format!("packets found: {}", found.join(", ")),
        };
        format!("no packet of the captures belongs to a line of the channel; {found}")
    }
}

/// A handler driven by sockets, on a separate thread.
pub struct LiveRun {
    queue: Arc<EventQueue>,
    counts: Arc<Mutex<HandlerCounts>>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
    /// Process of the thread: a forked process does not have the thread.
    process: u32,
}

impl LiveRun {
    fn open(
        channel: &Arc<ConfiguredChannel>,
        wanted: EventSelection,
        idle: Option<Duration>,
    ) -> Result<Self, String> {
        let stop = Stop::new();
        let queue = EventQueue::new(WAITING_MAX, stop.clone());
        let counts = Arc::new(Mutex::new(HandlerCounts::default()));
        let options = ReceiverOptions::default();
        let open = |(source, endpoint): &(FeedLine, _)| {
            let receiver = Receiver::open(*endpoint, options);
            Ok((*source, receiver.map_err(|error| error.to_string())?))
        };
        let inputs = channel.settings.inputs.iter().map(open);
        let inputs = inputs.collect::<Result<Vec<_>, String>>()?;
        let mut reception = Reception::new(Wait::Block).map_err(|error| error.to_string())?;
        let sink = EventCollector {
            queue: queue.clone(),
            wanted,
            epoch_ns: reception.epoch_ns(),
            now_ns: 0,
        };
        let handler = driven(channel)?;
        reception.add_channel(handler, sink, inputs).map_err(|error| error.to_string())?;
        let mut run = LiveLoop {
            reception,
            counts: counts.clone(),
            idle_ns: idle.map(|idle| u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX)),
            last: (0, 0),
        };
        let (of_thread, stopped) = (queue.clone(), stop.clone());
        let thread = std::thread::Builder::new().name("tickwire-handler".to_owned());
        let thread = thread.spawn(move || of_thread.end(run.receive(&stopped)));
        let thread = thread.map_err(|error| error.to_string())?;
        Ok(Self { queue, counts, stop, thread: Some(thread), process: std::process::id() })
    }

    fn next(&mut self) -> Result<NextEvent, String> {
        if let Some(event) = self.queue.pop() {
            return Ok(NextEvent::Event(event));
        }
        match self.queue.take_end() {
            Some(ended) => ended.map(|()| NextEvent::End),
            None => Ok(NextEvent::Nothing),
        }
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take()
            && self.process == std::process::id()
        {
            // The result is in the queue.
            let _ = thread.join();
        }
    }
}

/// The loop of a live feed.
struct LiveLoop {
    reception: Reception<DrivenHandler<Dynamic, BookAdapter>, EventCollector>,
    counts: Arc<Mutex<HandlerCounts>>,
    idle_ns: Option<u64>,
    /// Number of packets, and the time at which it last changed.
    last: (u64, u64),
}

impl LiveLoop {
    fn receive(&mut self, stop: &Stop) -> Result<(), String> {
        let (counts, idle_ns, last) = (&self.counts, self.idle_ns, &mut self.last);
        let received = self.reception.run(stop, |reception, moment| {
            let [channel] = reception.channels_mut() else { return };
            channel.sink.now_ns = moment.now_ns;
            let now = HandlerCounts::of(&channel.handler.handler().view());
            if now.packets != last.0 || last.1 == 0 {
                *last = (now.packets, moment.now_ns);
            }
            *counts.lock().unwrap_or_else(PoisonError::into_inner) = now;
            if idle_ns.is_some_and(|idle_ns| moment.now_ns.saturating_sub(last.1) >= idle_ns) {
                stop.set();
            }
        });
        received.map_err(|error| error.to_string())
    }
}

/// Creates the handler, with the feed file's replay service if it names one.
fn driven(channel: &ConfiguredChannel) -> Result<DrivenHandler<Dynamic, BookAdapter>, String> {
    let handler = channel.handler()?;
    let service = channel.settings.replay_service().map_err(|error| error.to_string())?;
    let Some((options, servers)) = service else { return Ok(DrivenHandler::Alone(handler)) };
    let peek = SeqNumPeek::new(channel.program.set(), &channel.seq_num);
    if !peek.can_find() {
        return Err(
            "replay: replayed messages need a sequence number in the message itself: name its \
                    field (seq_num)"
                .to_owned(),
        );
    }
    let number = move |bytes: &[u8]| match peek.peek(bytes) {
        Peeked::Number(number) => Some(number),
        Peeked::Unknown | Peeked::Unnumbered => None,
    };
    let replay = TcpReplay::start(options, servers, number).map_err(|error| error.to_string())?;
    Ok(DrivenHandler::Replaying(Replaying::new(handler, channel.engine(), replay)))
}
