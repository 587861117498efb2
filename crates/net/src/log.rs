//! What is wrong with a feed, in the log, at most once a second.

use std::fmt::Display;

use tickwire_feed::arbiter::Gap;
use tickwire_feed::handler::{Delivery, Fault, Sink};
use tickwire_feed::recovery::{Incremental, Recovery, Snapshot, SnapshotOutcome};

use crate::clock::{SECOND_NS, monotonic_ns};

/// Lets one of many through each second. Pure: time is an argument.
#[derive(Clone, Copy, Debug, Default)]
pub struct Throttle {
    last_ns: Option<u64>,
    held_back: u64,
}

impl Throttle {
    /// Whether one may pass at `now_ns`: with how many were held back since the last that did.
    pub fn pass(&mut self, now_ns: u64) -> Option<u64> {
        let is_free =
            self.last_ns.is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= SECOND_NS);
        if !is_free {
            self.held_back += 1;
            return None;
        }
        self.last_ns = Some(now_ns);
        Some(std::mem::take(&mut self.held_back))
    }
}

/// A sink that passes everything on and logs gaps, resets and faults, each kind at most once a second.
#[derive(Debug)]
pub struct Logged<S> {
    inner: S,
    gaps: Throttle,
    resets: Throttle,
    faults: Throttle,
}

impl<S> Logged<S> {
    /// A sink around `inner`.
    pub fn new(inner: S) -> Self {
        let (gaps, resets, faults) = Default::default();
        Self { inner, gaps, resets, faults }
    }

    /// The sink inside.
    pub const fn inner(&self) -> &S {
        &self.inner
    }

    /// The sink inside.
    pub const fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The sink inside.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

fn warn(throttle: &mut Throttle, text: impl Display) {
    if let Some(held_back) = throttle.pass(monotonic_ns()) {
        tracing::warn!(held_back, "{text}");
    }
}

impl<M: ?Sized, S: Sink<M>> Sink<M> for Logged<S> {
    fn handle_message(&mut self, delivery: &Delivery, message: &M) {
        self.inner.handle_message(delivery, message);
    }

    fn handle_gap(&mut self, gap: Gap) {
        let Gap { first, count } = gap;
        warn(&mut self.gaps, format_args!("{count} lost from sequence number {first}"));
        self.inner.handle_gap(gap);
    }

    fn handle_reset(&mut self, seq_num: u64) {
        warn(&mut self.resets, format_args!("the numbering begins anew at {seq_num}"));
        self.inner.handle_reset(seq_num);
    }

    fn handle_updates(&mut self, updates: &[Incremental], recovery: &Recovery) {
        self.inner.handle_updates(updates, recovery);
    }

    fn handle_snapshot(
        &mut self,
        snapshot: &Snapshot<'_>,
        outcome: SnapshotOutcome,
        recovery: &Recovery,
    ) {
        self.inner.handle_snapshot(snapshot, outcome, recovery);
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        warn(&mut self.faults, fault);
        self.inner.handle_fault(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_second_passes_and_the_rest_is_counted() {
        let mut throttle = Throttle::default();
        assert_eq!(throttle.pass(5), Some(0));
        assert_eq!((throttle.pass(6), throttle.pass(SECOND_NS)), (None, None));
        assert_eq!(throttle.pass(5 + SECOND_NS), Some(2));
        assert_eq!(throttle.pass(5 + SECOND_NS), None);
    }
}
