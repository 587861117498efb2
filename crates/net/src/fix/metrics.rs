//! What the sessions of an engine add up to.

use super::sessions::Sessions;

/// What the sessions of an engine add up to. Counts grow; the others are as they are now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixMetrics {
    /// Sessions there are.
    pub sessions: u64,
    /// Sessions that are logged on.
    pub logged_on: u64,
    /// Messages received that were not garbled.
    pub received: u64,
    /// Messages received for the application.
    pub delivered: u64,
    /// Messages sent, each once.
    pub sent: u64,
    /// Messages sent again.
    pub resent: u64,
    /// Messages refused.
    pub rejected: u64,
    /// Garbled messages and stretches of garbage.
    pub garbled: u64,
    /// Resend requests sent.
    pub gaps: u64,
    /// Messages with a number used before, ignored.
    pub duplicates: u64,
    /// Logons completed.
    pub logons: u64,
    /// Messages that wait for peers to read.
    pub queued: u64,
}

impl Sessions {
    /// Adds up what all sessions have counted.
    pub fn metrics(&self) -> FixMetrics {
        let mut sum = FixMetrics { sessions: self.len() as u64, ..FixMetrics::default() };
        for session in self.keys().filter_map(|key| self.session(key)) {
            let counters = session.counters();
            sum.logged_on += u64::from(session.is_logged_on());
            sum.received += counters.received;
            sum.delivered += counters.delivered;
            sum.sent += counters.sent;
            sum.resent += counters.resent;
            sum.rejected += counters.rejected;
            sum.garbled += counters.garbled;
            sum.gaps += counters.gaps;
            sum.duplicates += counters.duplicates;
            sum.logons += counters.logons;
            sum.queued += session.backlog();
        }
        sum
    }
}
