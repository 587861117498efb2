//! Faults of the packets of a line.

/// A span of time, in nanoseconds since the first packet of an injector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultWindow {
    /// First nanosecond of the span.
    pub start_ns: u64,
    /// First nanosecond after the span; `u64::MAX` for never.
    pub end_ns: u64,
}

impl FaultWindow {
    /// All the time.
    pub const ALWAYS: Self = Self { start_ns: 0, end_ns: u64::MAX };

    /// True if `ns` is inside the span.
    pub const fn contains(&self, ns: u64) -> bool {
        self.start_ns <= ns && ns < self.end_ns
    }
}

/// Faults of the packets of a line. Default: none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// Chance that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Chance that a packet is sent twice, 0 to 1.
    pub duplicate: f64,
    /// Chance that a packet is overtaken by others, 0 to 1.
    pub reorder: f64,
    /// Most packets that may overtake it; their number is drawn evenly from 1 to this. Default 8.
    pub reorder_max: u32,
    /// Longest wait for them, in nanoseconds. Default 1 ms, half of the default hold time of an
    /// arbiter.
    pub reorder_wait_ns: u64,
    /// Delay of every packet, in nanoseconds: the skew of the line.
    pub delay_ns: u64,
    /// Largest additional delay of a packet, drawn evenly, in nanoseconds. Packets stay in order.
    pub jitter_ns: u64,
    /// Largest additional delay by drift, in nanoseconds. It rises from 0 to this in one half of
    /// [`drift_period_ns`](Self::drift_period_ns) and falls back in the other half. Packets stay in
    /// order.
    pub drift_ns: u64,
    /// Time from one minimum of the drift to the next, in nanoseconds. Default 60 s.
    pub drift_period_ns: u64,
    /// Chance that a packet is delayed by [`late_ns`](Self::late_ns) while later packets pass it, 0
    /// to 1.
    pub late: f64,
    /// Additional delay of such a packet, in nanoseconds. Default 1 s.
    pub late_ns: u64,
    /// Time in which the line is silent: packets accepted then are lost.
    pub silence: Option<FaultWindow>,
    /// Time in which the line carries another channel: its own packets are lost then, and packets
    /// of [`Injector::handle_other`](super::Injector::handle_other) replace them.
    pub wrong_line: Option<FaultWindow>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_max: 8,
            reorder_wait_ns: 1_000_000,
            delay_ns: 0,
            jitter_ns: 0,
            drift_ns: 0,
            drift_period_ns: 60_000_000_000,
            late: 0.0,
            late_ns: 1_000_000_000,
            silence: None,
            wrong_line: None,
        }
    }
}

impl Faults {
    /// Returns the additional delay by drift at this time after the first packet.
    pub(super) fn drift_at(&self, since_ns: u64) -> u64 {
        let half = (self.drift_period_ns / 2).max(1);
        let phase = since_ns % (2 * half);
        let rising = if phase < half { phase } else { 2 * half - phase };
        (u128::from(self.drift_ns) * u128::from(rising) / u128::from(half)) as u64
    }
}

/// Counters of an injector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounters {
    /// Packets accepted.
    pub taken: u64,
    /// Packets lost by chance.
    pub lost: u64,
    /// Packets lost because the line was silent or carried another channel.
    pub silenced: u64,
    /// Packets of another channel that the line carried.
    pub other: u64,
    /// Packets sent twice.
    pub duplicated: u64,
    /// Packets that another packet overtook.
    pub reordered: u64,
    /// Packets delayed by [`Faults::late_ns`].
    pub late: u64,
    /// Packets, copies included, that were not sent because too many waited.
    pub overflowed: u64,
    /// Packets returned, copies included.
    pub sent: u64,
}
