//! The event loop: waits for the operating system, passes received bytes to sessions, writes their
//! output.

mod accept;
mod admit;
mod connect;
mod serve;
mod shutdown;

use std::io;
use std::time::Duration;

use mio::{Events, Poll, Token};
use tickwire_fix::Reader;
use tickwire_fix_session::{Config, Now, SessionEvent};
use tracing::Level;

use self::connect::Dialer;
use super::application::Application;
use super::connection::Connection;
use super::events::EventLog;
use super::handle::{EngineHandle, Requests};
use super::initiator::InitiatorOptions;
use super::listener::FixListener;
use super::sessions::{AddError, BoxStore, SessionKey, Sessions};
use tickwire_host::clock::{SECOND_NS, monotonic_ns, unix_ns};
use tickwire_host::{HostError, Stop, SystemOperation, Wait, WaitPolicy, WaitStep};

/// Events taken from the operating system at a time.
const EVENTS: usize = 256;
/// Bytes read from a connection at a time.
const READ_LEN: usize = 64 << 10;
/// First token of connections; those below are listeners.
const CONNECTIONS: usize = 1 << 16;
/// Token of wake-ups by handles.
const WAKER: usize = usize::MAX;
/// Most requests of handles per turn, so that connections are served too.
const REQUESTS: usize = 1024;
/// Longest sleep.
const SLEEP_NS: u64 = SECOND_NS;

/// Options of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// How the thread waits for events. Spinning saves the wake-up time and fully uses one core.
    /// Default: block.
    pub wait: Wait,
    /// The CPU to which the thread is pinned, counted from 0. Default any.
    pub cpu: Option<usize>,
    /// Seconds after which a peer that reads none of the waiting bytes is disconnected. Default 30.
    pub slow_reader_s: u32,
    /// Time between two syncs of committed data to the disk, for stores that defer them. Default
    /// 100 ms.
    pub sync_interval: Duration,
    /// Most pending requests of other threads. Default 65,536.
    pub requests_max: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            wait: Wait::Block,
            cpu: None,
            slow_reader_s: 30,
            sync_interval: Duration::from_millis(100),
            requests_max: 1 << 16,
        }
    }
}

/// Runs listeners, connections and sessions on the calling thread.
pub struct Engine<A> {
    poll: Poll,
    options: EngineOptions,
    waiting: WaitPolicy,
    application: A,
    sessions: Sessions,
    listeners: Vec<FixListener>,
    dialers: Vec<Dialer>,
    connections: Vec<Option<Connection>>,
    /// Free indices of `connections`.
    free: Vec<usize>,
    /// Indices of connections dropped in this turn; the polled events may still refer to them.
    freed: Vec<usize>,
    /// Connections that may have more bytes to read.
    unread: Vec<usize>,
    /// Sessions with more output than is written per turn.
    unfinished: Vec<SessionKey>,
    read_buffer: Box<[u8]>,
    reader: Reader,
    requests: Requests,
    /// True if more handle requests are pending than were executed in the previous turn.
    has_more_requests: bool,
    /// Serial number of the next Logon to be decided on.
    next_serial: u64,
    events: EventLog,
    /// Notices that are not logged yet.
    noticed: Vec<SessionEvent>,
    /// A lower bound of the next deadline; recomputed when it is reached.
    next_timer_ns: u64,
    next_sync_ns: u64,
    has_committed: bool,
    /// True while all sessions are being logged out: no new connections are accepted.
    is_ending: bool,
}

impl<A> std::fmt::Debug for Engine<A> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

fn now() -> Now {
    Now { wall_ns: unix_ns(), steady_ns: monotonic_ns() }
}

impl<A: Application> Engine<A> {
    /// Creates an engine without listeners and sessions.
    ///
    /// # Errors
    /// If the operating system provides no event polling.
    pub fn new(options: EngineOptions, application: A) -> Result<Self, HostError> {
        let failed = |error| HostError::of(SystemOperation::Receive, error);
        let poll = Poll::new().map_err(failed)?;
        let waker = mio::Waker::new(poll.registry(), Token(WAKER)).map_err(failed)?;
        Ok(Self {
            poll,
            options,
            waiting: WaitPolicy::new(options.wait),
            application,
            sessions: Sessions::default(),
            listeners: Vec::new(),
            dialers: Vec::new(),
            connections: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            unread: Vec::new(),
            unfinished: Vec::new(),
            read_buffer: vec![0; READ_LEN].into(),
            reader: Reader::new(),
            requests: Requests::new(waker, options.requests_max, !options.wait.blocks()),
            has_more_requests: false,
            next_serial: 0,
            events: EventLog::default(),
            noticed: Vec::new(),
            next_timer_ns: 0,
            next_sync_ns: 0,
            has_committed: false,
            is_ending: false,
        })
    }

    /// Returns the sessions.
    pub const fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the sessions for changes.
    pub const fn sessions_mut(&mut self) -> &mut Sessions {
        &mut self.sessions
    }

    /// Returns the application.
    pub const fn application(&self) -> &A {
        &self.application
    }

    /// Returns the application for changes.
    pub const fn application_mut(&mut self) -> &mut A {
        &mut self.application
    }

    /// Returns a handle by which other threads use the sessions.
    pub fn handle(&self) -> EngineHandle {
        self.requests.handle.clone()
    }

    /// Runs until `stop` is set, by the application or otherwise; then logs all sessions out
    /// ([`Engine::shutdown`]).
    ///
    /// # Errors
    /// The operating system's error while polling for events.
    pub fn run(&mut self, stop: &Stop) -> Result<(), HostError> {
        if let Some(cpu) = self.options.cpu {
            tickwire_host::affinity::pin_current_thread(cpu)
                .map_err(|error| HostError::of(SystemOperation::Pin, error))?;
        }
        self.requests.begin();
        let mut events = Events::with_capacity(EVENTS);
        while !stop.is_set() {
            self.turn_with(&mut events, None)?;
        }
        self.shutdown()
    }

    /// Runs one turn: waits for events, at most `wait`, and handles them.
    ///
    /// # Errors
    /// The operating system's error while polling for events.
    pub fn turn(&mut self, wait: Duration) -> Result<(), HostError> {
        self.requests.begin();
        self.turn_with(&mut Events::with_capacity(EVENTS), Some(wait))
    }

    fn turn_with(&mut self, events: &mut Events, wait: Option<Duration>) -> Result<(), HostError> {
        self.free.append(&mut self.freed);
        let timeout = self.sleep(wait);
        if let Err(error) = self.poll.poll(events, Some(timeout))
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Err(HostError::of(SystemOperation::Receive, error));
        }
        if !events.is_empty() {
            self.waiting.arrived();
        }
        let now = now();
        if self.dialers.iter().any(Dialer::is_looking_up) {
            self.next_timer_ns = 0;
        }
        for key in std::mem::take(&mut self.unfinished) {
            self.transmit(key, now);
        }
        for index in std::mem::take(&mut self.unread) {
            self.serve(index, now);
        }
        for event in events.iter() {
            let Token(token) = event.token();
            if token == WAKER {
                continue;
            }
            match token.checked_sub(CONNECTIONS) {
                None => self.accept(token, now),
                Some(index) => {
                    let has_ended = event.is_read_closed() || event.is_error();
                    if event.is_readable() || has_ended {
                        self.mark_readable(index, has_ended);
                    }
                    self.serve(index, now);
                }
            }
        }
        self.accept_waiting(now);
        let has_more_requests = self.requests.act(&mut self.sessions, now, REQUESTS);
        for (key, text) in std::mem::take(&mut self.sessions.administered) {
            self.application.handle_administration(key, &text);
        }
        if now.steady_ns >= self.next_timer_ns {
            self.handle_timers(now);
        }
        if let Some(at) = self.application.handle_turn(&mut self.sessions, now) {
            self.next_timer_ns = self.next_timer_ns.min(at);
        }
        self.dial_new();
        self.settle_decisions(now);
        self.transmit_dirty(now);
        self.answer_requests();
        self.drop_leaving(now);
        self.has_more_requests = has_more_requests;
        self.sync(now);
        Ok(())
    }

    /// Answers the requests of handles, whose effects are now stored. Each failure of a store is
    /// reported once.
    fn answer_requests(&mut self) {
        self.requests.answer(&self.sessions);
        self.sessions.forget_store_failures();
    }

    /// Returns how long the loop may sleep.
    fn sleep(&mut self, wait: Option<Duration>) -> Duration {
        let has_work = !self.unread.is_empty()
            || !self.unfinished.is_empty()
            || self.has_more_requests
            || self.listeners.iter().any(|listener| listener.readable);
        if has_work || self.waiting.next(monotonic_ns) == WaitStep::Look {
            return Duration::ZERO;
        }
        let until = self.next_timer_ns.saturating_sub(monotonic_ns()).min(SLEEP_NS);
        let sleep = Duration::from_nanos(until);
        wait.map_or(sleep, |wait| wait.min(sleep))
    }

    /// Runs all timers that are due, and computes the next deadline.
    fn handle_timers(&mut self, now: Now) {
        for key in self.sessions.keys() {
            let Some(session) = self.sessions.session(key) else { continue };
            if session.poll_timeout().is_some_and(|at| at <= now.steady_ns)
                && let Some(session) = self.sessions.session_mut(key)
            {
                session.handle_timeout(now);
            }
        }
        self.transmit_dirty(now);
        let slow_ns = self.slow_reader_ns();
        for index in 0..self.connections.len() {
            let connection = self.connections.get(index).and_then(Option::as_ref);
            let deadline = connection.and_then(|connection| connection.deadline_ns(slow_ns));
            if deadline.is_some_and(|at| at <= now.steady_ns) {
                self.give_up(index, now);
            }
        }
        self.dial_due(now);
        self.accept_again(now);
        let connections = self.connections.iter().flatten();
        let enabled = self.dialers.iter().filter(|dialer| self.sessions.is_enabled(dialer.key));
        let first = connections
            .filter_map(|connection| connection.deadline_ns(slow_ns))
            .chain(self.sessions.next_timeout())
            .chain(enabled.filter_map(Dialer::timer_ns))
            .chain(self.listeners.iter().filter_map(|listener| listener.retry_ns))
            .min();
        self.next_timer_ns = first.unwrap_or(u64::MAX).min(now.steady_ns + SLEEP_NS);
    }

    /// Starts connecting newly added initiators.
    fn dial_new(&mut self) {
        for (key, options) in self.sessions.take_initiators() {
            self.dialers.push(Dialer::new(key, options));
            self.next_timer_ns = 0;
        }
        if self.sessions.take_enabled() {
            self.next_timer_ns = 0;
        }
    }

    /// Drops sessions that were removed and have no connection any more.
    fn drop_leaving(&mut self, now: Now) {
        for key in self.sessions.leaving() {
            let connection = self.sessions.connection(key);
            let is_used = self.sessions.session(key).is_some_and(|session| session.is_connected());
            match connection {
                Some(_) if is_used => continue,
                // The connection was not established yet.
                Some(index) => self.drop_connection(index, now),
                None => {}
            }
            self.dialers.retain(|dialer| dialer.key != key);
            self.listeners.iter_mut().for_each(|listener| listener.forget(key));
            self.sessions.drop_session(key);
            // The requests of this turn are answered; later ones are not affected by these
            // failures.
            self.sessions.forget_store_failures();
        }
    }

    /// Schedules a wake-up at `at_ns`.
    fn wake_at(&mut self, at_ns: u64) {
        self.next_timer_ns = self.next_timer_ns.min(at_ns);
    }

    fn slow_reader_ns(&self) -> u64 {
        u64::from(self.options.slow_reader_s) * SECOND_NS
    }

    /// Syncs committed data to the disk at intervals.
    fn sync(&mut self, now: Now) {
        if !self.has_committed || now.steady_ns < self.next_sync_ns {
            return;
        }
        let interval = u64::try_from(self.options.sync_interval.as_nanos()).unwrap_or(u64::MAX);
        self.next_sync_ns = now.steady_ns.saturating_add(interval);
        self.has_committed = false;
        self.sync_all(now);
    }

    fn sync_all(&mut self, now: Now) {
        for key in self.sessions.keys() {
            self.sessions.sync(key);
            let flushed = self.sessions.flush_log(key);
            if let (Ok(Some(left_out)), Some(session)) = (&flushed, self.sessions.session(key)) {
                let text = format!("the message log continues; {left_out} lines are missing");
                let id = &session.config().id;
                self.events.note(Level::WARN, "message_log_goes_on", id, text, now);
            }
            self.note_log(key, flushed.map(drop), now);
        }
    }

    /// Logs that a session's message log could not be written and tells the application.
    fn note_log(&mut self, key: SessionKey, written: io::Result<()>, now: Now) {
        let Err(error) = written else { return };
        if let Some(session) = self.sessions.session(key) {
            let text = format!("the message log is interrupted: {error}");
            self.events.note(Level::ERROR, "message_log", &session.config().id, text, now);
        }
        self.application.handle_log_failure(key, &error);
    }
}

impl<A: Application> Engine<A> {
    /// Adds an initiator session, which connects, and reconnects whenever the connection is lost.
    /// It belongs to no listener, so no incoming connection can log on to it.
    ///
    /// # Errors
    /// [`AddError`].
    pub fn add_initiator(
        &mut self,
        config: Config,
        store: BoxStore,
        options: InitiatorOptions,
    ) -> Result<SessionKey, AddError> {
        self.sessions.add_initiator(config, store, options)
    }
}
