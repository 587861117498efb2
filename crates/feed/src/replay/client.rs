//! The state machine of a replay client.

use std::collections::VecDeque;

use super::options::ReplayOptions;
use super::wire::{ClientMessages, ServerInput, ServerStream};
use super::{ReplayCounters, ReplayFailure};
use crate::arbiter::Gap;

/// SessionStatus (1409) of a Logout.
mod status {
    pub(super) const COMPLETE: u64 = 4;
    pub(super) const CREDENTIALS: u64 = 5;
    pub(super) const REQUEST_LIMIT: u64 = 100;
    pub(super) const RANGE_TOO_LONG: u64 = 101;
    pub(super) const NOT_AVAILABLE: u64 = 102;
}

/// Requests and reports of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayEvent {
    /// Numbers that were not replayed and will not be requested again.
    Abandoned {
        /// The numbers.
        gap: Gap,
        /// The reason.
        reason: ReplayFailure,
    },
    /// Open a connection, then call [`ReplayClient::handle_connected`].
    Connect,
    /// Close the connection; [`ReplayClient::handle_disconnected`] need not be called.
    Disconnect,
    /// The replay of a gap ended: each number was replayed or abandoned.
    Done(Gap),
    /// A message of a gap, in ascending order.
    Replayed {
        /// Its sequence number.
        seq_num: u64,
        /// The FAST bytes of its packet, without preamble.
        bytes: Vec<u8>,
    },
}

/// A gap that is being filled.
#[derive(Clone, Copy, Debug)]
struct RequestedGap {
    gap: Gap,
    /// The first number that has not arrived.
    next: u64,
}

impl RequestedGap {
    /// Messages that have not arrived.
    const fn rest(&self) -> Gap {
        Gap { first: self.next, count: self.gap.last().saturating_add(1).saturating_sub(self.next) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientState {
    /// Nothing is requested.
    Idle,
    /// Waiting before the next connection.
    BackOff {
        until_ns: u64,
    },
    Connecting {
        deadline_ns: u64,
    },
    /// Connected; Logon sent.
    LoggingOn {
        deadline_ns: u64,
    },
    /// Request sent for the numbers up to `last`.
    Receiving {
        last: u64,
        deadline_ns: u64,
    },
    /// Logout sent, or the server closes.
    Closing {
        deadline_ns: u64,
    },
}

/// Requests lost messages from a server. `N` finds the sequence number in the FAST bytes of a
/// packet. See the [module](super).
#[derive(Debug)]
pub struct ReplayClient<N> {
    options: ReplayOptions,
    number: N,
    state: ClientState,
    wanted: VecDeque<RequestedGap>,
    stream: ServerStream,
    session: ClientMessages,
    to_send: Vec<u8>,
    events: VecDeque<ReplayEvent>,
    /// Requests made today.
    requests: u32,
    /// The server's limit per request, as far as known.
    messages_max: u64,
    /// Failed connections since the last message arrived.
    failures: u32,
    /// Reason why nothing more is requested today.
    closed: Option<ReplayFailure>,
    counters: ReplayCounters,
}

impl<N: Fn(&[u8]) -> Option<u64>> ReplayClient<N> {
    /// Creates a client without a connection.
    pub fn new(options: ReplayOptions, number: N) -> Self {
        Self {
            messages_max: options.messages_max.max(1),
            options,
            number,
            state: ClientState::Idle,
            wanted: VecDeque::new(),
            stream: ServerStream::new(),
            session: ClientMessages::default(),
            to_send: Vec::new(),
            events: VecDeque::new(),
            requests: 0,
            failures: 0,
            closed: None,
            counters: ReplayCounters::default(),
        }
    }

    /// Returns the counters.
    pub const fn counters(&self) -> ReplayCounters {
        self.counters
    }

    /// Returns how many requests are left today.
    pub const fn requests_left(&self) -> u32 {
        self.options.requests_max.saturating_sub(self.requests)
    }

    /// Requests the messages of a gap.
    ///
    /// # Errors
    /// [`ReplayFailure`] if it is clear at once that they cannot be replayed.
    pub fn request(&mut self, now_ns: u64, gap: Gap) -> Result<(), ReplayFailure> {
        if let Some(reason) = self.closed {
            return Err(reason);
        }
        if gap.count == 0 || gap.count > self.options.gap_max {
            return Err(ReplayFailure::TooLong);
        }
        if self.wanted.len() >= self.options.gaps_max {
            return Err(ReplayFailure::Busy);
        }
        let queued: u64 = self.wanted.iter().map(|wanted| self.requests_for(wanted.rest())).sum();
        if queued + self.requests_for(gap) > u64::from(self.requests_left()) {
            return Err(ReplayFailure::RequestLimit);
        }
        self.counters.gaps += 1;
        self.wanted.push_back(RequestedGap { gap, next: gap.first });
        if self.state == ClientState::Idle {
            self.connect(now_ns);
        }
        Ok(())
    }

    /// Begins a new day, with its own number of requests.
    pub const fn begin_day(&mut self) {
        self.requests = 0;
        self.closed = None;
    }

    /// Drops all gaps, because sequence numbers restart.
    pub fn begin_epoch(&mut self) {
        self.wanted.clear();
        self.events.clear();
        self.close();
        self.state = ClientState::Idle;
    }

    /// Returns the next event; handle events in this order.
    pub fn poll_event(&mut self) -> Option<ReplayEvent> {
        self.events.pop_front()
    }

    /// Returns bytes to send to the server, each once; empty if there are none.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.to_send)
    }

    /// Reports that the connection requested by [`ReplayEvent::Connect`] is open. `unix_ns` is the
    /// time of day, for SendingTime (52).
    pub fn handle_connected(&mut self, now_ns: u64, unix_ns: u64) {
        if !matches!(self.state, ClientState::Connecting { .. }) {
            // No gap is requested any more.
            self.events.push_back(ReplayEvent::Disconnect);
            return;
        }
        self.stream = ServerStream::new();
        self.session = ClientMessages::default();
        self.session.logon(&mut self.to_send, &self.options, unix_ns);
        self.state = ClientState::LoggingOn { deadline_ns: self.deadline(now_ns) };
    }

    /// Reports that the connection could not be opened, or that the server closed it.
    pub fn handle_disconnected(&mut self, now_ns: u64) {
        self.to_send.clear();
        match self.state {
            ClientState::Idle | ClientState::BackOff { .. } => {}
            ClientState::Closing { .. } => self.go_on(now_ns),
            _ => self.fail(now_ns, ReplayFailure::Disconnected),
        }
    }

    /// Handles bytes of the server.
    pub fn handle_bytes(&mut self, now_ns: u64, unix_ns: u64, bytes: &[u8]) {
        if !self.is_connected() {
            return;
        }
        self.stream.push(bytes);
        while self.is_connected() {
            match self.stream.next() {
                Ok(Some(item)) => self.handle_item(now_ns, unix_ns, item),
                Ok(None) => return,
                Err(_) => self.fail(now_ns, ReplayFailure::Protocol),
            }
        }
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout); `None` while
    /// nothing is requested.
    pub const fn poll_timeout(&self) -> Option<u64> {
        match self.state {
            ClientState::Idle => None,
            ClientState::BackOff { until_ns } => Some(until_ns),
            ClientState::Connecting { deadline_ns }
            | ClientState::LoggingOn { deadline_ns }
            | ClientState::Receiving { deadline_ns, .. }
            | ClientState::Closing { deadline_ns } => Some(deadline_ns),
        }
    }

    /// Fires the timers that are due at `now_ns`.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if self.poll_timeout().is_none_or(|due_ns| now_ns < due_ns) {
            return;
        }
        match self.state {
            ClientState::Idle => {}
            ClientState::BackOff { .. } => self.connect(now_ns),
            ClientState::Closing { .. } => {
                self.close();
                self.go_on(now_ns);
            }
            _ => self.fail(now_ns, ReplayFailure::Timeout),
        }
    }

    const fn is_connected(&self) -> bool {
        !matches!(
            self.state,
            ClientState::Idle | ClientState::BackOff { .. } | ClientState::Connecting { .. }
        )
    }

    const fn deadline(&self, now_ns: u64) -> u64 {
        now_ns.saturating_add(self.options.timeout_ns)
    }

    const fn requests_for(&self, gap: Gap) -> u64 {
        gap.count.div_ceil(self.messages_max)
    }

    fn handle_item(&mut self, now_ns: u64, unix_ns: u64, item: ServerInput) {
        match (self.state, item) {
            (_, ServerInput::TestRequest { id }) => {
                self.session.heartbeat(&mut self.to_send, &self.options, unix_ns, &id);
            }
            (ClientState::Closing { .. }, _) | (_, ServerInput::Other) => {}
            (ClientState::LoggingOn { .. }, ServerInput::Logon) => {
                self.send_request(now_ns, unix_ns)
            }
            (ClientState::Receiving { last, .. }, ServerInput::Frame(bytes)) => {
                self.handle_frame(now_ns, last, bytes);
            }
            (ClientState::Receiving { last, .. }, ServerInput::Logout { status })
                if status.is_none_or(|status| status == status::COMPLETE) =>
            {
                // Numbers of the range that the server left out are not requested again.
                self.abandon_to(last.saturating_add(1), ReplayFailure::NotAvailable);
                self.settle();
                self.session.logout(&mut self.to_send, &self.options, unix_ns);
                self.state = ClientState::Closing { deadline_ns: self.deadline(now_ns) };
            }
            (_, ServerInput::Logout { status }) => self.refused(now_ns, status.unwrap_or(0)),
            _ => self.fail(now_ns, ReplayFailure::Protocol),
        }
    }

    fn send_request(&mut self, now_ns: u64, unix_ns: u64) {
        let Some(rest) = self.wanted.front().map(RequestedGap::rest) else {
            self.close();
            self.state = ClientState::Idle;
            return;
        };
        self.requests += 1;
        self.counters.requests += 1;
        let range = Gap { count: rest.count.min(self.messages_max), ..rest };
        self.session.request(&mut self.to_send, &self.options, unix_ns, range);
        let deadline_ns = self.deadline(now_ns);
        self.state = ClientState::Receiving { last: range.last(), deadline_ns };
    }

    fn handle_frame(&mut self, now_ns: u64, last: u64, bytes: Vec<u8>) {
        let next = self.wanted.front().map(|wanted| wanted.next);
        let seq_num = (self.number)(&bytes);
        let (Some(next), Some(seq_num)) = (next, seq_num) else {
            return self.fail(now_ns, ReplayFailure::Protocol);
        };
        if !(next..=last).contains(&seq_num) {
            return self.fail(now_ns, ReplayFailure::Protocol);
        }
        self.failures = 0;
        self.abandon_to(seq_num, ReplayFailure::NotAvailable);
        self.counters.replayed += 1;
        self.events.push_back(ReplayEvent::Replayed { seq_num, bytes });
        if let Some(wanted) = self.wanted.front_mut() {
            wanted.next = seq_num.saturating_add(1);
        }
        self.state = ClientState::Receiving { last, deadline_ns: self.deadline(now_ns) };
    }

    /// Handles a Logout of the server before it sent the range.
    fn refused(&mut self, now_ns: u64, status: u64) {
        self.counters.failures += 1;
        self.state = ClientState::Closing { deadline_ns: self.deadline(now_ns) };
        match status {
            status::CREDENTIALS => self.abandon_all(ReplayFailure::Credentials),
            status::REQUEST_LIMIT => self.abandon_all(ReplayFailure::RequestLimit),
            status::RANGE_TOO_LONG if self.messages_max > 1 => self.messages_max /= 2,
            status::NOT_AVAILABLE => {
                let rest = self.wanted.front().map(RequestedGap::rest);
                let count = rest.map_or(0, |rest| rest.count.min(self.messages_max));
                let end = rest.map_or(0, |rest| rest.first.saturating_add(count));
                self.abandon_to(end, ReplayFailure::NotAvailable);
                self.settle();
            }
            status => self.abandon_front(ReplayFailure::Refused { status }),
        }
    }

    /// Abandons the numbers of the first gap below `next`.
    fn abandon_to(&mut self, next: u64, reason: ReplayFailure) {
        let Some(wanted) = self.wanted.front_mut() else { return };
        let next = next.min(wanted.gap.last().saturating_add(1));
        let count = next.saturating_sub(wanted.next);
        if count > 0 {
            let gap = Gap { first: wanted.next, count };
            wanted.next = next;
            self.counters.abandoned += count;
            self.events.push_back(ReplayEvent::Abandoned { gap, reason });
        }
    }

    fn abandon_front(&mut self, reason: ReplayFailure) {
        self.abandon_to(u64::MAX, reason);
        self.settle();
        self.failures = 0;
    }

    /// Removes the first gap if all of it was replayed or abandoned.
    fn settle(&mut self) {
        let front = self.wanted.front();
        if let Some(gap) = front.filter(|front| front.rest().count == 0).map(|front| front.gap) {
            self.wanted.pop_front();
            self.events.push_back(ReplayEvent::Done(gap));
        }
    }

    /// Abandons all gaps: nothing more is requested today.
    fn abandon_all(&mut self, reason: ReplayFailure) {
        self.closed = Some(reason);
        while !self.wanted.is_empty() {
            self.abandon_front(reason);
        }
    }

    /// Handles a failed connection: retries later, or abandons the gap.
    fn fail(&mut self, now_ns: u64, reason: ReplayFailure) {
        if reason != ReplayFailure::Disconnected {
            self.close();
        }
        self.settle();
        self.counters.failures += 1;
        self.failures = self.failures.saturating_add(1);
        let doublings = self.failures.saturating_sub(1).min(32);
        let backoff_ns = self.options.backoff_ns.saturating_mul(1 << doublings);
        let backoff_ns = backoff_ns.min(self.options.backoff_max_ns);
        if self.failures >= self.options.attempts_max {
            self.abandon_front(reason);
        }
        self.state = match self.wanted.is_empty() {
            true => ClientState::Idle,
            false => ClientState::BackOff { until_ns: now_ns.saturating_add(backoff_ns) },
        };
    }

    fn close(&mut self) {
        self.to_send.clear();
        if self.state != ClientState::Idle && !matches!(self.state, ClientState::BackOff { .. }) {
            self.events.push_back(ReplayEvent::Disconnect);
        }
    }

    /// After a regular close, opens the next connection if there is more to request.
    fn go_on(&mut self, now_ns: u64) {
        match self.wanted.is_empty() {
            true => self.state = ClientState::Idle,
            false => self.connect(now_ns),
        }
    }

    fn connect(&mut self, now_ns: u64) {
        if self.requests_left() == 0 {
            self.abandon_all(ReplayFailure::RequestLimit);
            self.state = ClientState::Idle;
            return;
        }
        self.events.push_back(ReplayEvent::Connect);
        self.state = ClientState::Connecting { deadline_ns: self.deadline(now_ns) };
    }
}
