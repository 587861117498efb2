//! Logs the hold time that late packets would have needed: the first time, and whenever it has doubled.

use super::report::hold_hint;
use tickwire_feed::arbiter::Arbiter;

/// Warns of late packets on a live channel.
#[derive(Debug, Default)]
pub struct LateWatch {
    /// The hold time, in nanoseconds, that the last warning named; 0 before the first.
    warned_ns: u64,
}

impl LateWatch {
    /// Logs the hold time that late packets needed, the first time and whenever it has doubled.
    pub fn observe(&mut self, label: Option<&str>, arbiter: &Arbiter) {
        let needed = arbiter.hold_needed();
        let longest_ns = needed.two_lines_ns.max(needed.single_line_ns).unwrap_or(0);
        if longest_ns <= self.warned_ns.saturating_mul(2) {
            return;
        }
        self.warned_ns = longest_ns;
        if let Some(hint) = hold_hint(arbiter) {
            let separator = if label.is_some() { ": " } else { "" };
            tracing::warn!("{}{separator}{hint}", label.unwrap_or_default());
        }
    }
}
