//! Limits repeated log lines.

use crate::clock::SECOND_NS;

/// Lets one event through per interval, by default per second. Pure: time is an argument.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    interval_ns: u64,
    last_ns: Option<u64>,
    held_back: u64,
}

impl Default for Throttle {
    fn default() -> Self {
        Self::every(SECOND_NS)
    }
}

impl Throttle {
    /// Lets one event through per `interval_ns`.
    #[must_use]
    pub const fn every(interval_ns: u64) -> Self {
        Self { interval_ns, last_ns: None, held_back: 0 }
    }

    /// True if an event may pass at `now_ns` and none has been held back. A new throttle would then
    /// behave the same.
    #[must_use]
    pub fn is_idle(&self, now_ns: u64) -> bool {
        !self.is_holding_back() && self.is_free(now_ns)
    }

    /// True if events were held back since the last one that passed.
    #[must_use]
    pub const fn is_holding_back(&self) -> bool {
        self.held_back > 0
    }

    /// Lets an event that was held back through, if one may pass at `now_ns`. Returns the number of
    /// events held back; `None` if none was or none may pass.
    pub fn pass_held_back(&mut self, now_ns: u64) -> Option<u64> {
        if !self.is_holding_back() || !self.is_free(now_ns) {
            return None;
        }
        self.pass(now_ns)
    }

    fn is_free(&self, now_ns: u64) -> bool {
        self.last_ns.is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= self.interval_ns)
    }

    /// Returns the number of events held back since the last one if an event may pass at `now_ns`;
    /// `None` otherwise.
    pub fn pass(&mut self, now_ns: u64) -> Option<u64> {
        if !self.is_free(now_ns) {
            self.held_back += 1;
            return None;
        }
        self.last_ns = Some(now_ns);
        Some(std::mem::take(&mut self.held_back))
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
        assert!(throttle.is_holding_back());
        assert_eq!(throttle.pass_held_back(6 + SECOND_NS), None);
        assert_eq!(throttle.pass_held_back(5 + 2 * SECOND_NS), Some(1));
        assert_eq!(throttle.pass_held_back(9 * SECOND_NS), None, "none is held back");
    }
}
