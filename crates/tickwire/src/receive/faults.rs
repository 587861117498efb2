//! The first faults of a capture in the log: as many on each run.

use std::fmt::Display;
use tickwire_feed::arbiter::{Gap, LineEvent};
use tickwire_feed::handler::{Delivery, Fault, Sink};
use tickwire_feed::market::{MarketEvent, Snapshot};
use tickwire_feed::recovery::{BookChange, Recovery, SnapshotOutcome};

/// Faults, gaps and resets of each kind that are logged.
const LOGGED_MAX: u32 = 10;

/// Passes everything on and logs the first gaps, resets and faults.
#[derive(Debug)]
pub struct FaultLog<S> {
    inner: S,
    gaps: u32,
    resets: u32,
    faults: u32,
    lines: u32,
}

impl<S> FaultLog<S> {
    /// A log around `inner`.
    pub const fn new(inner: S) -> Self {
        Self { inner, gaps: 0, resets: 0, faults: 0, lines: 0 }
    }

    /// The sink inside.
    pub const fn inner(&self) -> &S {
        &self.inner
    }

    /// The sink inside.
    pub const fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }
}

fn warn(logged: &mut u32, text: impl Display) {
    *logged = logged.saturating_add(1);
    if *logged <= LOGGED_MAX {
        tracing::warn!("{text}");
    }
    if *logged == LOGGED_MAX {
        tracing::warn!("more of this kind are counted and not logged");
    }
}

impl<M: ?Sized, S: Sink<M>> Sink<M> for FaultLog<S> {
    fn handle_message(&mut self, delivery: &Delivery, message: &M) {
        self.inner.handle_message(delivery, message);
    }

    fn handle_gap(&mut self, gap: Gap) {
        let Gap { first, count } = gap;
        warn(&mut self.gaps, format_args!("{count} lost from sequence number {first}"));
        self.inner.handle_gap(gap);
    }

    fn handle_reset(&mut self, seq_num: u64) {
        warn(&mut self.resets, format_args!("sequence numbers restart at {seq_num}"));
        self.inner.handle_reset(seq_num);
    }

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        self.inner.handle_book(change, recovery);
    }

    fn handle_event(&mut self, delivery: &Delivery, event: &MarketEvent<'_>, recovery: &Recovery) {
        self.inner.handle_event(delivery, event, recovery);
    }

    fn handle_snapshot(
        &mut self,
        snapshot: &Snapshot<'_>,
        outcome: SnapshotOutcome,
        recovery: &Recovery,
    ) {
        self.inner.handle_snapshot(snapshot, outcome, recovery);
    }

    fn handle_silence(&mut self, is_silent: bool, since_ns: u64) {
        let text =
            if is_silent { "the channel is silent" } else { "the channel is no longer silent" };
        warn(&mut self.resets, text);
        self.inner.handle_silence(is_silent, since_ns);
    }

    fn handle_line(&mut self, event: &LineEvent) {
        warn(&mut self.lines, event);
        self.inner.handle_line(event);
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        warn(&mut self.faults, fault);
        self.inner.handle_fault(fault);
    }
}
