//! Time as an argument.

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// A moment on both clocks.
///
/// Intervals use the steady clock, so that a correction of the time of day neither ends nor delays
/// a session. Messages and schedules use the time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Nanoseconds since 1970-01-01 UTC.
    pub wall_ns: u64,
    /// Nanoseconds since an arbitrary moment; never goes back.
    pub steady_ns: u64,
}

impl Now {
    /// Returns the moment `ns` nanoseconds later on both clocks.
    #[must_use]
    pub const fn plus(self, ns: u64) -> Self {
        Self {
            wall_ns: self.wall_ns.saturating_add(ns),
            steady_ns: self.steady_ns.saturating_add(ns),
        }
    }
}
