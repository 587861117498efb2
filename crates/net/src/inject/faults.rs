//! Faults of the packets of a line.

/// A span of time, in nanoseconds since the first packet that an injector took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First nanosecond inside.
    pub start_ns: u64,
    /// First nanosecond behind; `u64::MAX` for never.
    pub end_ns: u64,
}

impl Window {
    /// All the time.
    pub const ALWAYS: Self = Self { start_ns: 0, end_ns: u64::MAX };

    /// True if a moment is inside.
    pub const fn contains(&self, ns: u64) -> bool {
        self.start_ns <= ns && ns < self.end_ns
    }
}

/// Faults of the packets of a line. Default: none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// Chance that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Chance that a packet comes twice, 0 to 1.
    pub duplicate: f64,
    /// Chance that a packet is overtaken by others, 0 to 1.
    pub reorder: f64,
    /// How many packets may overtake it, from 1; as many as this, evenly drawn. Default 8.
    pub reorder_max: u32,
    /// How long it waits for them at most, in nanoseconds. Default 1 ms, half of what an arbiter
    /// waits for a missing packet by default.
    pub reorder_wait_ns: u64,
    /// How long every packet is held back, in nanoseconds: the skew of the line.
    pub delay_ns: u64,
    /// Most that a packet is held back besides, evenly drawn, in nanoseconds. Packets stay in order.
    pub jitter_ns: u64,
    /// Most that drift adds to the delay, in nanoseconds: it grows from 0 to this in half a
    /// [`drift_period_ns`](Self::drift_period_ns) and falls back in the other half. Packets stay in order.
    pub drift_ns: u64,
    /// Time from one smallest drift to the next, in nanoseconds. Default 60 s.
    pub drift_period_ns: u64,
    /// Chance that a packet is held back by [`late_ns`](Self::late_ns) while those behind it pass, 0 to 1.
    pub late: f64,
    /// How long such a packet is held back besides, in nanoseconds. Default 1 s.
    pub late_ns: u64,
    /// When the line is silent: packets taken then are lost.
    pub silence: Option<Window>,
    /// When the line carries another channel: its own packets are lost then, and those given to
    /// [`Injector::handle_other`](super::Injector::handle_other) take their place.
    pub wrong_line: Option<Window>,
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
    /// Additional delay by drift at this time after the first packet.
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
    /// Packets taken.
    pub taken: u64,
    /// Packets lost by chance.
    pub lost: u64,
    /// Packets lost because the line was silent or carried another channel.
    pub silenced: u64,
    /// Packets of another channel that the line carried.
    pub other: u64,
    /// Packets sent twice.
    pub duplicated: u64,
    /// Packets that another overtook.
    pub reordered: u64,
    /// Packets held back by [`Faults::late_ns`].
    pub late: u64,
    /// Packets, copies included, that were not sent because too many waited.
    pub overflowed: u64,
    /// Packets returned, copies included.
    pub sent: u64,
}
