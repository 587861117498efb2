//! Collects the handler's events for Python.

use super::event::{HandlerEvent, PyBook, PyFeedEvent, PyGap, PyTrade};
use crate::message::OwnedMessage;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tickwire_fast::Message;
use tickwire_feed::arbiter::{Gap as FeedGap, LineEvent};
use tickwire_feed::handler::{Delivery, Fault, Sink};
use tickwire_feed::market::{MarketEvent, Snapshot, StatusScope};
use tickwire_feed::recovery::{BookChange, Recovery, SnapshotOutcome};
use tickwire_net::Stop;

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Message,
    Book,
    Trade,
    Gap,
    FeedEvent,
}

impl EventKind {
    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "message" => Self::Message,
            "book" => Self::Book,
            "trade" => Self::Trade,
            "gap" => Self::Gap,
            "event" => Self::FeedEvent,
            _ => return None,
        })
    }
}

/// Selected events; others are not copied.
#[derive(Clone, Debug, Default)]
pub struct EventSelection {
    pub kinds: Vec<EventKind>,
    /// Most levels per side.
    pub depth: usize,
}

impl EventSelection {
    fn has(&self, kind: EventKind) -> bool {
        self.kinds.contains(&kind)
    }
}

/// Queue of events between the handler's thread and the consumers.
pub struct EventQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// Capacity: a producer waits while the queue is full.
    len_max: usize,
    stop: Stop,
}

#[derive(Default)]
struct QueueState {
    events: VecDeque<HandlerEvent>,
    /// Result, after the end.
    end: Option<Result<(), String>>,
}

impl EventQueue {
    pub fn new(len_max: usize, stop: Stop) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), len_max, stop })
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, event: HandlerEvent) {
        let mut state = self.lock();
        // Meanwhile the sockets buffer packets; packets lost beyond that are gaps.
        while state.events.len() >= self.len_max && !self.stop.is_set() {
            let waited = self.changed.wait_timeout(state, Duration::from_millis(100));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.events.push_back(event);
        self.changed.notify_all();
    }

    /// Marks the end of the events.
    pub fn end(&self, how: Result<(), String>) {
        self.lock().end.get_or_insert(how);
        self.changed.notify_all();
    }

    /// Returns the next event, if there is one.
    pub fn pop(&self) -> Option<HandlerEvent> {
        let event = self.lock().events.pop_front();
        self.changed.notify_all();
        event
    }

    /// Returns the result, once all events are taken.
    pub fn take_end(&self) -> Option<Result<(), String>> {
        let state = self.lock();
        if state.events.is_empty() { state.end.clone() } else { None }
    }

    /// Waits for an event or the end, at most `span`.
    pub fn wait(&self, span: Duration) {
        let until = Instant::now() + span;
        let mut state = self.lock();
        while state.events.is_empty() && state.end.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Copies selected events to a queue.
pub struct EventCollector {
    pub queue: Arc<EventQueue>,
    pub wanted: EventSelection,
    /// Offset from the handler's times to nanoseconds since 1970-01-01 UTC.
    pub epoch_ns: u64,
    /// Time for events without their own.
    pub now_ns: u64,
}

impl EventCollector {
    fn time(&self, ns: u64) -> u64 {
        self.epoch_ns.saturating_add(ns)
    }

    fn feed_event(&self, kind: &'static str, text: String) {
        if self.wanted.has(EventKind::FeedEvent) {
            let time = self.time(self.now_ns);
            self.queue.push(HandlerEvent::FeedEvent(PyFeedEvent { kind, text, time }));
        }
    }

    fn message(&self, delivery: &Delivery, message: &Message, is_replayed: bool) {
        if self.wanted.has(EventKind::Message) {
            self.queue.push(HandlerEvent::Message(OwnedMessage {
                message: Arc::new(message.clone()),
                packet: None,
                time_ns: Some(self.time(delivery.received_ns)),
                offset: Some(delivery.offset.into()),
                len: Some(delivery.len as usize),
                seq_num: delivery.seq_num,
                line: (!is_replayed).then_some(delivery.line),
            }));
        }
    }
}

impl Sink<Message> for EventCollector {
    fn handle_message(&mut self, delivery: &Delivery, message: &Message) {
        self.now_ns = delivery.received_ns;
        self.message(delivery, message, false);
    }

    fn handle_replayed(&mut self, delivery: &Delivery, message: &Message) {
        self.message(delivery, message, true);
    }

    fn handle_gap(&mut self, gap: FeedGap) {
        if self.wanted.has(EventKind::Gap) {
            let (first, last, time) = (gap.first, gap.last(), self.time(self.now_ns));
            self.queue.push(HandlerEvent::Gap(PyGap { first, last, time }));
        }
    }

    fn handle_reset(&mut self, seq_num: u64) {
        self.feed_event("reset", format!("sequence numbers restarted with {seq_num}"));
    }

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        self.now_ns = recovery.now_ns();
        if self.wanted.has(EventKind::Book) {
            let time = self.time(self.now_ns);
            self.queue.push(HandlerEvent::Book(PyBook::new(
                change,
                recovery,
                self.wanted.depth,
                time,
            )));
        }
    }

    fn wants_events(&self) -> bool {
        self.wanted.has(EventKind::Trade) || self.wanted.has(EventKind::FeedEvent)
    }

    fn handle_event(&mut self, delivery: &Delivery, event: &MarketEvent<'_>, recovery: &Recovery) {
        self.now_ns = delivery.received_ns;
        match event {
            MarketEvent::Trade(trade) if self.wanted.has(EventKind::Trade) => {
                let time = self.time(delivery.received_ns);
                self.queue.push(HandlerEvent::Trade(PyTrade::new(
                    trade,
                    recovery,
                    delivery.seq_num,
                    time,
                )));
            }
            MarketEvent::Status(status) => {
                let name = match status.scope {
                    StatusScope::Instrument(instrument) => recovery.instruments().name(instrument),
                    StatusScope::Channel => "all instruments",
                };
                self.feed_event("status", format!("{name}: trading status {}", status.code));
            }
            _ => {}
        }
    }

    fn handle_snapshot(
        &mut self,
        snapshot: &Snapshot<'_>,
        outcome: SnapshotOutcome,
        recovery: &Recovery,
    ) {
        if self.wanted.has(EventKind::FeedEvent) {
            let name = recovery.instruments().name(snapshot.instrument);
            self.feed_event("snapshot", format!("{name}: {outcome}"));
        }
    }

    fn handle_silence(&mut self, is_silent: bool, _: u64) {
        let text = if is_silent { "no line brings anything" } else { "lines speak again" };
        self.feed_event("silence", text.to_owned());
    }

    fn handle_line(&mut self, event: &LineEvent) {
        self.feed_event("line", event.to_string());
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        self.feed_event("fault", fault.to_string());
    }
}
