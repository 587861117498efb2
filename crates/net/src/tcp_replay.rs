//! A [`ReplayClient`] with its TCP connection, on its own thread.
//!
//! The thread that drives a handler passes gaps to [`TcpReplay::request`] and receives the results
//! from [`TcpReplay::poll`]; neither blocks. The results that wait are bounded: beyond
//! [`EVENTS_MAX`] events the connection is not read, and the server waits.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::ToSocketAddrs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};
use tickwire_feed::arbiter::Gap;
use tickwire_feed::replay::{
    ReplayClient, ReplayCounters, ReplayEvent, ReplayFailure, ReplayOptions,
};

use crate::affinity::spawn_background;
use crate::clock::{monotonic_ns, unix_ns};
use crate::{HostError, SystemOperation};

/// Most events that wait to be polled.
pub const EVENTS_MAX: usize = 4096;
/// Most commands that wait for the thread.
const COMMANDS_MAX: usize = 256;
/// Bytes read by one call.
const READ_BYTES: usize = 64 << 10;
/// Longest sleep of the thread.
const SLEEP_MAX: Duration = Duration::from_millis(500);
/// Sleep while events wait to be polled.
const SLEEP_FULL: Duration = Duration::from_millis(1);

const WAKE: Token = Token(0);
const CONNECTION: Token = Token(1);

/// Output of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// Numbers that will not be replayed.
    Abandoned {
        /// The numbers.
        gap: Gap,
        /// The reason.
        reason: ReplayFailure,
    },
    /// The replay of a gap ended.
    Done(Gap),
    /// A replayed message.
    Message {
        /// Its sequence number.
        seq_num: u64,
        /// The FAST bytes of its packet, without preamble.
        bytes: Vec<u8>,
    },
}

enum ReplayCommand {
    BeginDay,
    BeginEpoch(u64),
    Request(u64, Gap),
}

/// An event of an epoch.
type Tagged = (u64, Replayed);

/// A replay service of one channel. Dropping it closes the connection and ends the thread.
pub struct TcpReplay {
    commands: SyncSender<ReplayCommand>,
    events: Receiver<Tagged>,
    waker: Arc<Waker>,
    shared: Arc<ReplayState>,
    epoch: u64,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ReplayState {
    is_stopped: AtomicBool,
    /// Gaps that were refused at once.
    refused: AtomicU64,
    counters: Mutex<ReplayCounters>,
}

impl fmt::Debug for TcpReplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpReplay").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl TcpReplay {
    /// Starts the thread. It connects to `servers` (`HOST:PORT`), in turn, when a gap is requested.
    /// `number` finds the sequence number in the FAST bytes of a packet.
    ///
    /// # Errors
    /// The operating system's error of the thread or its poll.
    pub fn start<N>(
        options: ReplayOptions,
        servers: Vec<String>,
        number: N,
    ) -> Result<Self, HostError>
    where
        N: Fn(&[u8]) -> Option<u64> + Send + 'static,
    {
        let failed = |source| HostError::of(SystemOperation::StartReplay, source);
        let poll = Poll::new().map_err(failed)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE).map_err(failed)?);
        let (commands, commands_in) = sync_channel(COMMANDS_MAX);
        let (events_out, events) = sync_channel(EVENTS_MAX);
        let shared = Arc::new(ReplayState::default());
        let driver = Driver {
            client: ReplayClient::new(options, number),
            servers,
            server: 0,
            failures: 0,
            poll,
            connection: None,
            commands: commands_in,
            events: events_out,
            waiting: VecDeque::new(),
            epoch: 0,
            shared: shared.clone(),
        };
        let thread = spawn_background("tcp-replay", move || driver.run()).map_err(failed)?;
        Ok(Self { commands, events, waker, shared, epoch: 0, thread: Some(thread) })
    }

    /// Requests the messages of a gap. A gap for which there is no room is refused with
    /// [`ReplayFailure::Busy`]; [`poll`](Self::poll) returns other refusals.
    ///
    /// # Errors
    /// [`ReplayFailure::Busy`], or [`ReplayFailure::Disconnected`] if the thread has ended.
    pub fn request(&self, gap: Gap) -> Result<(), ReplayFailure> {
        self.send(ReplayCommand::Request(self.epoch, gap))
    }

    /// Begins a new day, with its own number of requests.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn begin_day(&self) -> Result<(), ReplayFailure> {
        self.send(ReplayCommand::BeginDay)
    }

    /// Discards all gaps and their results, because sequence numbers restart.
    ///
    /// # Errors
    /// As [`request`](Self::request); the results are discarded even then.
    pub fn begin_epoch(&mut self) -> Result<(), ReplayFailure> {
        self.epoch = self.epoch.wrapping_add(1);
        self.send(ReplayCommand::BeginEpoch(self.epoch))
    }

    /// Returns the next event, if there is one. Does not block.
    pub fn poll(&self) -> Option<Replayed> {
        loop {
            let (epoch, event) = self.events.try_recv().ok()?;
            if epoch == self.epoch {
                return Some(event);
            }
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> ReplayCounters {
        *self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many gaps were refused without a request to the server.
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }

    fn send(&self, command: ReplayCommand) -> Result<(), ReplayFailure> {
        let sent = self.commands.try_send(command).map_err(|error| match error {
            TrySendError::Full(_) => ReplayFailure::Busy,
            TrySendError::Disconnected(_) => ReplayFailure::Disconnected,
        });
        if sent.is_err() {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
        }
        // A thread that is not woken checks after at most SLEEP_MAX.
        let _ = self.waker.wake();
        sent
    }
}

impl Drop for TcpReplay {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Release);
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct ReplayStream {
    stream: TcpStream,
    is_connected: bool,
    out: Vec<u8>,
}

/// State of the thread.
struct Driver<N> {
    client: ReplayClient<N>,
    servers: Vec<String>,
    /// The server to connect to next.
    server: usize,
    /// Value of the failure counter when the last connection was made.
    failures: u64,
    poll: Poll,
    connection: Option<ReplayStream>,
    commands: Receiver<ReplayCommand>,
    events: SyncSender<Tagged>,
    /// Events that did not fit into the channel.
    waiting: VecDeque<Tagged>,
    epoch: u64,
    shared: Arc<ReplayState>,
}

impl<N: Fn(&[u8]) -> Option<u64>> Driver<N> {
    fn run(mut self) {
        let mut ready = Events::with_capacity(8);
        let mut buffer = vec![0; READ_BYTES];
        while !self.shared.is_stopped.load(Ordering::Acquire) && self.take_commands() {
            self.client.handle_timeout(monotonic_ns());
            self.serve(&mut buffer);
            *self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner) =
                self.client.counters();
            let interrupted = |error: &io::Error| error.kind() == io::ErrorKind::Interrupted;
            if let Err(error) = self.poll.poll(&mut ready, Some(self.sleep()))
                && !interrupted(&error)
            {
                tracing::error!("TCP replay ends: {error}");
                return;
            }
        }
    }

    /// Handles the queued commands; returns false once no more can come.
    fn take_commands(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(ReplayCommand::BeginDay) => self.client.begin_day(),
                Ok(ReplayCommand::BeginEpoch(epoch)) => {
                    self.epoch = epoch;
                    self.waiting.clear();
                    self.client.begin_epoch();
                }
                Ok(ReplayCommand::Request(epoch, gap)) if epoch == self.epoch => {
                    if let Err(reason) = self.client.request(monotonic_ns(), gap) {
                        self.shared.refused.fetch_add(1, Ordering::Relaxed);
                        self.deliver(Replayed::Abandoned { gap, reason });
                        self.deliver(Replayed::Done(gap));
                    }
                }
                // The epoch of the request could not be announced because the queue was full.
                Ok(ReplayCommand::Request(epoch, _)) => {
                    self.epoch = epoch;
                    self.waiting.clear();
                    self.client.begin_epoch();
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Does all work that needs no waiting.
    fn serve(&mut self, buffer: &mut [u8]) {
        loop {
            self.act();
            if !self.waiting.is_empty() {
                return;
            }
            match self.exchange(buffer) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::debug!("TCP replay: {error}");
                    self.disconnect();
                    self.client.handle_disconnected(monotonic_ns());
                }
            }
        }
    }

    /// Handles the client's events, as long as they can be delivered.
    fn act(&mut self) {
        while let Some(event) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(event)) = self.events.try_send(event) {
                self.waiting.push_front(event);
                return;
            }
        }
        while self.waiting.is_empty() {
            match self.client.poll_event() {
                Some(ReplayEvent::Connect) => self.connect(),
                Some(ReplayEvent::Disconnect) => self.disconnect(),
                Some(ReplayEvent::Abandoned { gap, reason }) => {
                    tracing::warn!("{} messages from {} on: {reason}", gap.count, gap.first);
                    self.deliver(Replayed::Abandoned { gap, reason });
                }
                Some(ReplayEvent::Done(gap)) => self.deliver(Replayed::Done(gap)),
                Some(ReplayEvent::Replayed { seq_num, bytes }) => {
                    self.deliver(Replayed::Message { seq_num, bytes });
                }
                None => return,
            }
        }
    }

    fn deliver(&mut self, event: Replayed) {
        let event = (self.epoch, event);
        if !self.waiting.is_empty() {
            self.waiting.push_back(event);
        } else if let Err(TrySendError::Full(event)) = self.events.try_send(event) {
            self.waiting.push_back(event);
        }
    }

    fn connect(&mut self) {
        let failures = self.client.counters().failures;
        if failures != self.failures {
            self.failures = failures;
            self.server = self.server.wrapping_add(1);
        }
        if let Err(error) = self.open() {
            tracing::debug!("TCP replay: {error}");
            self.client.handle_disconnected(monotonic_ns());
        }
    }

    fn open(&mut self) -> io::Result<()> {
        self.disconnect();
        let index = self.server.checked_rem(self.servers.len());
        let server = index.and_then(|index| self.servers.get(index));
        let server = server.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let address = server.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let mut stream = TcpStream::connect(address)?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, CONNECTION, interest)?;
        self.connection = Some(ReplayStream { stream, is_connected: false, out: Vec::new() });
        Ok(())
    }

    fn disconnect(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            let _ = self.poll.registry().deregister(&mut connection.stream);
        }
    }

    /// Moves bytes in both directions; returns true if there may be more at once.
    fn exchange(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let Some(connection) = &mut self.connection else { return Ok(false) };
        if !connection.is_connected {
            if let Some(error) = connection.stream.take_error()? {
                return Err(error);
            }
            match connection.stream.peer_addr() {
                Ok(_) => connection.is_connected = true,
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(false),
                Err(error) => return Err(error),
            }
            self.client.handle_connected(monotonic_ns(), unix_ns());
        }
        connection.out.append(&mut self.client.take_bytes());
        while !connection.out.is_empty() {
            match connection.stream.write(&connection.out) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => drop(connection.out.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match connection.stream.read(buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.client.handle_bytes(monotonic_ns(), unix_ns(), &buffer[..read]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn sleep(&self) -> Duration {
        if !self.waiting.is_empty() {
            return SLEEP_FULL;
        }
        let due_ns = self.client.poll_timeout();
        let left_ns = due_ns.map(|due_ns| due_ns.saturating_sub(monotonic_ns()));
        left_ns.map_or(SLEEP_MAX, Duration::from_nanos).min(SLEEP_MAX)
    }
}
