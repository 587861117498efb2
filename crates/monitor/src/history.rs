//! The history: the last hour, second by second.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

use crate::state::{Quantiles, Second};

/// Number of seconds kept.
pub const SECONDS_MAX: usize = 3600;

/// A bounded history; a new second replaces the oldest.
#[derive(Debug)]
pub(crate) struct BoundedHistory<S = Second> {
    seconds: VecDeque<Arc<S>>,
}

impl<S> Default for BoundedHistory<S> {
    fn default() -> Self {
        Self { seconds: VecDeque::new() }
    }
}

impl<S> BoundedHistory<S> {
    pub(crate) fn push(&mut self, second: S) {
        if self.seconds.len() == SECONDS_MAX {
            self.seconds.pop_front();
        }
        self.seconds.push_back(Arc::new(second));
    }

    pub(crate) fn last(&self) -> Option<&S> {
        self.seconds.back().map(|second| &**second)
    }

    /// Returns the last `count` seconds, the oldest first.
    pub(crate) fn seconds(&self, count: usize) -> Vec<Arc<S>> {
        let skipped = self.seconds.len().saturating_sub(count);
        self.seconds.iter().skip(skipped).cloned().collect()
    }
}

/// Returns the seconds as CSV with a header line, without the buckets.
pub(crate) fn csv(seconds: &[Arc<Second>]) -> String {
    let mut out = String::from(
        "unix_seconds,packets_a,packets_b,lost_a,lost_b,messages,failed_packets,missing_seq_nums,\
         fresh_books,stale_books",
    );
    for name in ["receive_delay", "decode_time", "book_time", "publish_time"] {
        // Writing to a string does not fail.
        let _ =
            write!(out, ",{name}_count,{name}_p50_ns,{name}_p99_ns,{name}_p999_ns,{name}_max_ns");
    }
    out.push('\n');
    for second in seconds {
        let Second { t, packets: [a, b], lost: [lost_a, lost_b], messages, failed, .. } = &**second;
        let Second { missing, fresh, stale, .. } = &**second;
        let _ = write!(
            out,
            "{t},{a},{b},{lost_a},{lost_b},{messages},{failed},{missing},{fresh},{stale}"
        );
        let Second { receive_delay, decode_time, book_time, publish_time, .. } = &**second;
        for times in [receive_delay, decode_time, book_time, publish_time] {
            let Quantiles { count, p50_ns, p99_ns, p999_ns, max_ns } = times;
            let _ = write!(out, ",{count},{p50_ns},{p99_ns},{p999_ns},{max_ns}");
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(t: u64) -> Second {
        Second {
            t,
            packets: [1, 2],
            lost: [0, 3],
            messages: 4,
            failed: 0,
            missing: 0,
            fresh: 5,
            stale: 6,
            receive_delay: Quantiles { count: 3, ..Quantiles::default() },
            decode_time: Quantiles::default(),
            book_time: Quantiles { count: 7, ..Quantiles::default() },
            publish_time: Quantiles::default(),
            receive_buckets: vec![3],
            decode_buckets: Vec::new(),
            book_buckets: Vec::new(),
            publish_buckets: Vec::new(),
        }
    }

    #[test]
    fn an_hour_is_kept() {
        let mut history = BoundedHistory::<Second>::default();
        (0..5000).for_each(|t| history.push(second(t)));
        let all = history.seconds(usize::MAX);
        assert_eq!((all.len(), all[0].t, history.last().unwrap().t), (SECONDS_MAX, 1400, 4999));
        assert_eq!(history.seconds(2).len(), 2);
        let csv = csv(&history.seconds(1));
        let lines: Vec<_> = csv.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(lines, [30, 30], "{csv}");
        assert!(
            csv.ends_with("4999,1,2,0,3,4,0,0,5,6,3,0,0,0,0,0,0,0,0,0,7,0,0,0,0,0,0,0,0,0\n"),
            "{csv}"
        );
    }
}
