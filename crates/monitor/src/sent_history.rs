//! The history of the lines that a process sends to: the last hour, second by second.

use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;

use crate::activity::grown;
use crate::history::BoundedHistory;
use crate::sender::{SenderState, SentState};

/// One second of a line that the process sends to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SentLineSecond {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets that were not sent because the kernel had no room.
    pub no_room: u64,
    /// Packets dropped on purpose.
    pub lost: u64,
    /// Packets sent twice on purpose.
    pub duplicated: u64,
    /// Packets sent late on purpose.
    pub overtaken: u64,
}

/// One second of all lines that the process sends to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SentSecond {
    /// The second, in seconds since 1970.
    pub t: u64,
    /// The lines, in the order of the state.
    pub lines: Vec<SentLineSecond>,
}

/// The history of the lines, and their counts at the end of the last second.
#[derive(Debug, Default)]
pub(crate) struct SentHistory {
    /// Empty before the first second, whose counts are all since the start.
    before: Vec<SentLineSecond>,
    lines: Vec<String>,
    seconds: BoundedHistory<SentSecond>,
}

fn totals(line: &SentState) -> SentLineSecond {
    SentLineSecond {
        packets: line.sent_packets,
        bytes: line.sent_bytes,
        no_room: line.no_room_packets,
        lost: line.lost_packets,
        duplicated: line.duplicated_packets,
        overtaken: line.overtaken_packets,
    }
}

impl SentHistory {
    /// Completes the second `t`.
    pub(crate) fn end_second(&mut self, t: u64, sender: &SenderState) {
        self.lines = sender.lines.iter().map(|line| line.line.clone()).collect();
        let now: Vec<SentLineSecond> = sender.lines.iter().map(totals).collect();
        self.before.resize_with(now.len(), SentLineSecond::default);
        let line = |(before, now): (&SentLineSecond, &SentLineSecond)| SentLineSecond {
            packets: grown(before.packets, now.packets),
            bytes: grown(before.bytes, now.bytes),
            no_room: grown(before.no_room, now.no_room),
            lost: grown(before.lost, now.lost),
            duplicated: grown(before.duplicated, now.duplicated),
            overtaken: grown(before.overtaken, now.overtaken),
        };
        let lines = self.before.iter().zip(&now).map(line).collect();
        self.before = now;
        self.seconds.push(SentSecond { t, lines });
    }

    /// Returns the names of the lines, and their last `count` seconds.
    pub(crate) fn seconds(&self, count: usize) -> (Vec<String>, Vec<Arc<SentSecond>>) {
        (self.lines.clone(), self.seconds.seconds(count))
    }
}

/// Returns the seconds as CSV with a header line: six columns for each line.
pub(crate) fn sent_csv(lines: &[String], seconds: &[Arc<SentSecond>]) -> String {
    let mut out = String::from("unix_seconds");
    for line in lines {
        for name in ["packets", "bytes", "no_room", "lost", "duplicated", "overtaken"] {
            // Writing to a string does not fail.
            let _ = write!(out, ",{line}_{name}");
        }
    }
    out.push('\n');
    for second in seconds {
        let _ = write!(out, "{}", second.t);
        for of in &second.lines {
            let SentLineSecond { packets, bytes, no_room, lost, duplicated, overtaken } = of;
            let _ = write!(out, ",{packets},{bytes},{no_room},{lost},{duplicated},{overtaken}");
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::{SenderTap, SentFacts};
    use tickwire_telemetry::metrics::Distribution;

    #[test]
    fn each_second_has_what_was_sent_in_it() {
        let lines = ["A", "B"].map(|line| (line.to_owned(), String::new())).to_vec();
        let tap = SenderTap::new(lines, Distribution::default());
        let mut history = SentHistory::default();
        for (t, packets) in [(7, 10), (8, 25), (9, 26)] {
            let a = SentFacts { packets, bytes: 10 * packets, lost: t, ..SentFacts::default() };
            let b = SentFacts { packets: 2 * packets, no_room: t, ..SentFacts::default() };
            tap.publish(t, vec![a, b]);
            history.end_second(t, &tap.state(t));
        }
        let (lines, seconds) = history.seconds(3);
        let csv = sent_csv(&lines, &seconds);
        let rows: Vec<&str> = csv.lines().collect();
        assert_eq!(rows[0].split(',').count(), 13, "{csv}");
        let wanted = [
            "7,10,100,0,7,0,0,20,0,7,0,0,0",
            "8,15,150,0,1,0,0,30,0,1,0,0,0",
            "9,1,10,0,1,0,0,2,0,1,0,0,0",
        ];
        assert_eq!(rows[1..], wanted);
    }
}
