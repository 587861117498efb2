//! What a handler counted and keeps, apart from what decodes.

use super::HandlerCounters;
use crate::arbiter::Arbiter;
use crate::recovery::Recovery;

/// Counters, arbiter and books of a [`Handler`](super::Handler), whatever its engine and adapter.
#[derive(Clone, Copy, Debug)]
pub struct HandlerView<'h> {
    /// What was counted besides what arbiter and recovery count.
    pub counters: &'h HandlerCounters,
    /// The arbiter, for its counters.
    pub arbiter: &'h Arbiter,
    /// The books.
    pub recovery: &'h Recovery,
    /// Whether new templates wait for a reset.
    pub is_replacement_waiting: bool,
}
