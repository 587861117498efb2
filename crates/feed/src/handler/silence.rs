//! A channel that is silent for longer than its heartbeats allow.

/// Heartbeat intervals without a packet that make a channel silent.
const INTERVALS: u64 = 2;

/// Watches the time since the last delivered packet of the incremental feed.
#[derive(Debug)]
pub(super) struct Silence {
    /// Time without packets after which the channel is silent; `None` for never.
    after_ns: Option<u64>,
    last_ns: Option<u64>,
    is_silent: bool,
}

impl Silence {
    pub(super) fn new(heartbeat_ns: Option<u64>) -> Self {
        let after_ns = heartbeat_ns.map(|interval_ns| interval_ns.saturating_mul(INTERVALS));
        Self { after_ns, last_ns: None, is_silent: false }
    }

    /// True if silence is watched for at all.
    pub(super) const fn is_watched(&self) -> bool {
        self.after_ns.is_some()
    }

    /// Records a delivered packet that arrived at `now_ns`.
    pub(super) fn note_packet(&mut self, now_ns: u64) {
        self.last_ns = self.last_ns.max(Some(now_ns));
    }

    /// Returns the arrival time of the last packet if silence begins by `now_ns`.
    pub(super) fn begin(&mut self, now_ns: u64) -> Option<u64> {
        let last_ns = self.last_ns.filter(|_| self.due_ns().is_some_and(|due_ns| now_ns >= due_ns));
        self.is_silent |= last_ns.is_some();
        last_ns
    }

    /// Ends a silence after a packet was delivered in order; returns true if there was one.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.is_silent)
    }

    /// Returns the time at which the channel becomes silent.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let due_ns = self.last_ns?.saturating_add(self.after_ns?);
        Some(due_ns).filter(|_| !self.is_silent)
    }
}
