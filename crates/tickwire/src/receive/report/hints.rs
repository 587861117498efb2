//! Hints at the end of a reception: the hold time that late packets needed, lines without packets, what stale
//! books wait for, and the options that help.

use std::time::Duration;
use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, HoldNeeded};
use tickwire_feed::counted;
use tickwire_feed::handler::FeedLine;
use tickwire_feed::recovery::StaleReason;
use tickwire_feed_config::HOLD_MAX;
use tickwire_net::multicast::Endpoint;

/// Returns a sentence with the hold times that would have waited for all late packets; `None` if no packet was
/// late because the hold time was too short.
pub fn hold_hint(arbiter: &Arbiter) -> Option<String> {
    late_text(arbiter.hold_needed(), arbiter.options())
}

fn late_text(needed: HoldNeeded, options: &ArbiterOptions) -> Option<String> {
    let HoldNeeded { two_lines_ns, single_line_ns } = needed;
    let longest_ns = two_lines_ns.max(single_line_ns)?;
    let late = format!(
        "Packets arrived up to {} after the first packet with a higher sequence number, when their sequence numbers were already \
         declared lost",
        time_text(round_up(longest_ns))
    );
    let hold_ns = options.hold_ns.max(two_lines_ns.map_or(0, round_up));
    let single_ns = single_line_ns.map(round_up);
    // --single-line-hold is at most --hold.
    let hold_ns = hold_ns.max(single_ns.unwrap_or(0));
    if Duration::from_nanos(hold_ns) > HOLD_MAX {
        return Some(format!("{late}: no --hold is long enough, the longest is {HOLD_MAX:?}"));
    }
    let option = |name: &str, wanted_ns: u64, now_ns: u64| {
        format!("--{name} {} (now {})", time_text(wanted_ns), time_text(now_ns))
    };
    let hold = (hold_ns > options.hold_ns).then(|| option("hold", hold_ns, options.hold_ns));
    let single = single_ns.map(|ns| option("single-line-hold", ns, options.reorder_ns));
    let wanted: Vec<String> = hold.into_iter().chain(single).collect();
    Some(format!("{late}: {} would have waited for them", wanted.join(" and ")))
}

/// Rounds a time up to two digits.
fn round_up(ns: u64) -> u64 {
    let mut unit = 1_u64;
    while ns / unit >= 100 {
        unit *= 10;
    }
    ns.div_ceil(unit).saturating_mul(unit)
}

/// A time as options take it.
fn time_text(ns: u64) -> String {
    format!("{:?}", Duration::from_nanos(ns)).replace('µ', "u")
}

/// Returns sentences about lines on which no packet arrived: their addresses, and what to check.
pub fn silence_hints(silent: &[(FeedLine, Endpoint)]) -> Vec<String> {
    let line = |(source, endpoint): &(FeedLine, Endpoint)| {
        format!("Nothing arrived on {source}: {endpoint}")
    };
    let mut hints: Vec<String> = silent.iter().map(line).collect();
    if let Some((_, endpoint)) = silent.first() {
        let interface = match endpoint.interface.is_loopback() {
            true => "--interface (127.0.0.1 has only packets that this host sends)",
            false => "--interface, the firewall, and whether the network forwards the group (IGMP)",
        };
        hints.push(format!(
            "Check that the feed is being sent. Check group, port, {interface}; tcpdump -ni any udp port {} \
             shows what reaches this host, `tickwire doctor` examines it",
            endpoint.port
        ));
    }
    hints
}

/// Facts that explain why books are stale at the end.
#[derive(Clone, Copy, Debug)]
pub struct StaleFacts {
    /// Stale books by reason, in the order of [`StaleReason::LABELS`].
    pub books: [usize; StaleReason::LABELS.len()],
    /// True if the channel has a snapshot feed.
    pub has_snapshots: bool,
    /// Decoded messages of the snapshot feed.
    pub snapshots: u64,
    /// Packets of the lines that were delivered.
    pub packets: u64,
    /// Next sequence number of the lines and the one that they have to reach.
    pub awaited: Option<(u64, u64)>,
    /// Largest delay of the lines behind a snapshot.
    pub skew_ns: u64,
    /// True if the packets come from captures.
    pub is_captured: bool,
}

impl StaleFacts {
    /// Returns one sentence for each reason that stale books have: what they wait for, and which option helps.
    pub fn hints(&self) -> Vec<String> {
        let found = StaleReason::LABELS.into_iter().zip(self.books).filter(|(_, books)| *books > 0);
        let sentence = |(label, books): (&str, usize)| {
            let books = counted(books, "book");
            format!("{books} stale, reason {label}: {}", self.explained(label))
        };
        found.map(sentence).collect()
    }

    fn explained(&self, label: &str) -> String {
        match label {
            "ahead" => self.ahead_text(),
            "contradicted" => {
                "a snapshot that may belong to the next session differs from the book; the lines have \
                 not shown that session yet"
                    .to_owned()
            }
            "no_rpt_seq" => {
                "updates have no RptSeq (83); if the feed does not number the updates of each \
                 instrument: --no-rpt-seq"
                    .to_owned()
            }
            "no_snapshot" => self.snapshot_text("the first snapshot has not arrived"),
            "out_of_sequence" => {
                "the last packets have old or unexpected sequence numbers; was the sender restarted?".to_owned()
            }
            "reset" => self.snapshot_text("the exchange began a new session; its first snapshot has not arrived"),
            "silence" => "all lines were silent for longer than --silent-after".to_owned(),
            "unfinished" => "the rest of an update in several messages has not arrived".to_owned(),
            _ => self.snapshot_text("the book waits for a snapshot that includes what it lacks"),
        }
    }

    /// Explains a book that waits for a snapshot.
    fn snapshot_text(&self, state: &str) -> String {
        let advice = match (self.has_snapshots, self.is_captured) {
            (false, true) => {
                "no snapshots are received, add --snapshots with the addresses of their packets, or \
                 --capture-line snapshots=FILE"
                    .to_owned()
            }
            (false, false) => "no snapshots are received, add --snapshots".to_owned(),
            (true, _) if self.snapshots == 0 => {
                "no message of the snapshot feed was decoded, is its address right?".to_owned()
            }
            (true, _) => format!("snapshots received: {}", self.snapshots),
        };
        format!("{state}; {advice}")
    }

    /// Explains a book whose snapshot is ahead of the lines.
    fn ahead_text(&self) -> String {
        let found = match self.awaited {
            _ if self.packets == 0 => {
                return "a snapshot has arrived, but no packet of lines A and B: are their addresses right?"
                    .to_owned();
            }
            Some((next, end)) if end > next => {
                format!(
                    "a snapshot includes all before {end}, the lines have sent all before {next}"
                )
            }
            _ => "a snapshot includes sequence numbers that the lines had not reached".to_owned(),
        };
        let skew = time_text(self.skew_ns);
        let further = match self.is_captured {
            true => {
                "if the lines' captures end before that of the snapshots, the books were fresh until \
                 then: show them without --at-end; otherwise lines and snapshots are of different channels"
            }
            false => "otherwise lines and snapshots are of different channels or times",
        };
        format!(
            "{found}. If the lines are more than {skew} behind the snapshots, raise --skew; {further}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hold_times_that_late_packets_needed_are_told() {
        let options = ArbiterOptions::default();
        let text = |two_lines_ns, single_line_ns| {
            late_text(HoldNeeded { two_lines_ns, single_line_ns }, &options)
        };
        assert_eq!(text(None, None), None);
        let late = text(Some(3_410_001), None).expect("a sentence");
        assert!(
            late.ends_with("lost: --hold 3.5ms (now 2ms) would have waited for them"),
            "{late}"
        );
        let late = text(None, Some(5_000_001)).expect("a sentence");
        let both = "--hold 5.1ms (now 2ms) and --single-line-hold 5.1ms (now 200us)";
        assert!(late.contains(both), "{late}");
        let late = text(Some(11_000_000_000), None).expect("a sentence");
        assert!(late.ends_with("no --hold is long enough, the longest is 10s"), "{late}");
        for option in ["3.5ms", "5.1ms", "410us"] {
            crate::units::hold(option).expect("a time");
        }
    }

    #[test]
    fn silent_lines_are_named_with_what_to_check() {
        use tickwire_feed::arbiter::Line;
        assert!(silence_hints(&[]).is_empty());
        let a = (FeedLine::Incremental(Line::A), Endpoint::default());
        let hints = silence_hints(&[a]).join("\n");
        assert!(hints.contains("line A: 224.1.2.133:13014 on 127.0.0.1"), "{hints}");
        assert!(hints.contains("127.0.0.1 has only packets that this host sends"), "{hints}");
        let interface = std::net::Ipv4Addr::new(10, 0, 0, 1);
        let far = (a.0, Endpoint { interface, ..a.1 });
        assert!(silence_hints(&[far]).join("\n").contains("firewall"));
    }

    #[test]
    fn stale_books_say_what_they_wait_for() {
        let mut facts = StaleFacts {
            books: [0; StaleReason::LABELS.len()],
            has_snapshots: false,
            snapshots: 0,
            packets: 9,
            awaited: None,
            skew_ns: 1_000_000_000,
            is_captured: false,
        };
        assert!(facts.hints().is_empty());
        facts.books[StaleReason::NoSnapshot.index()] = 3;
        facts.books[StaleReason::Ahead.index()] = 1;
        let texts = facts.hints().join("\n");
        assert!(
            texts.contains("3 books stale, reason no_snapshot: ")
                && texts.contains("add --snapshots")
        );
        let with_snapshots = StaleFacts { has_snapshots: true, awaited: Some((12, 40)), ..facts };
        let texts = with_snapshots.hints().join("\n");
        assert!(texts.contains("no message of the snapshot feed was decoded"), "{texts}");
        assert!(
            texts.contains(
                "1 book stale, reason ahead: a snapshot includes all before 40, the lines have sent \
                 all before 12. If the lines are more than 1s behind"
            ),
            "{texts}"
        );
        // Each reason has a different sentence.
        for index in 0..StaleReason::LABELS.len() {
            let mut books = [0; StaleReason::LABELS.len()];
            books[index] = 2;
            assert_eq!(StaleFacts { books, ..facts }.hints().len(), 1);
        }
    }
}
