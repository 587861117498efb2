//! Warns once if a channel has received nothing some seconds after its sockets were opened.

use super::report::silence_hints;
use tickwire_feed::handler::FeedLine;
use tickwire_net::clock::SECOND_NS;
use tickwire_net::multicast::Endpoint;

/// Time without any packet after which the warning is logged.
const PATIENCE_NS: u64 = 5 * SECOND_NS;

/// Watches the first seconds of a live channel.
#[derive(Debug, Default)]
pub struct NothingWatch {
    begun_ns: Option<u64>,
    is_over: bool,
}

impl NothingWatch {
    /// Logs the addresses of the channel's lines and what to check, if no packet arrived in the first
    /// seconds. `packets` is the number received so far.
    pub fn observe(
        &mut self,
        now_ns: u64,
        packets: u64,
        label: Option<&str>,
        endpoints: impl Iterator<Item = (FeedLine, Endpoint)>,
    ) {
        if !self.is_due(now_ns, packets) {
            return;
        }
        let endpoints: Vec<_> = endpoints.collect();
        let separator = if label.is_some() { ": " } else { "" };
        for hint in silence_hints(&endpoints) {
            tracing::warn!("{}{separator}{hint}", label.unwrap_or_default());
        }
    }

    fn is_due(&mut self, now_ns: u64, packets: u64) -> bool {
        if self.is_over {
            return false;
        }
        let begun_ns = *self.begun_ns.get_or_insert(now_ns);
        let is_late = now_ns.saturating_sub(begun_ns) >= PATIENCE_NS;
        self.is_over = is_late || packets > 0;
        is_late && packets == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_told_once_and_only_before_the_first_packet() {
        let mut watch = NothingWatch::default();
        let due = [7, 8, 7 + PATIENCE_NS, 8 + PATIENCE_NS].map(|now_ns| watch.is_due(now_ns, 0));
        assert_eq!(due, [false, false, true, false]);
        let mut watch = NothingWatch::default();
        assert!(!watch.is_due(7, 0) && !watch.is_due(8, 1) && !watch.is_due(8 + PATIENCE_NS, 0));
    }
}
