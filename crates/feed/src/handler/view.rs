//! Counters and books of a handler, without its decoders.

use super::HandlerCounters;
use crate::arbiter::Arbiter;
use crate::recovery::Recovery;

/// Counters, arbiter and books of a [`Handler`](super::Handler), whatever its engine and adapter.
#[derive(Clone, Copy, Debug)]
pub struct HandlerView<'h> {
    /// Counters of the handler, in addition to those of arbiter and recovery.
    pub counters: &'h HandlerCounters,
    /// The arbiter, for its counters.
    pub arbiter: &'h Arbiter,
    /// The books.
    pub recovery: &'h Recovery,
    /// True if new templates wait for a reset.
    pub is_replacement_waiting: bool,
}
