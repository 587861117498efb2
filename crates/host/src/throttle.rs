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

    /// True if an event may pass at `now_ns` and none has been held back: a new throttle does the same.
    #[must_use]
    pub fn is_idle(&self, now_ns: u64) -> bool {
        self.held_back == 0
            && self.last_ns.is_none_or(|last| now_ns.saturating_sub(last) >= self.interval_ns)
    }

    /// Returns the number of events held back since the last one if an event may pass at `now_ns`;
    /// `None` otherwise.
    pub fn pass(&mut self, now_ns: u64) -> Option<u64> {
        let is_free =
            self.last_ns.is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= self.interval_ns);
        if !is_free {
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
    }
}
