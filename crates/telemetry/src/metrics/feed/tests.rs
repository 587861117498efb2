//! Tests that every count of a feed is published in the Prometheus text.

use super::*;
use tickwire_feed::handler::MessageCounters;

/// Publishes a group of counts and returns the Prometheus text.
fn published<C: 'static>(named: &'static [NamedCounter<C>], counts: &C) -> String {
    let metrics = Metrics::new();
    CounterGroup::new(&metrics, named, &[]).publish(counts);
    metrics.encode()
}

/// Asserts that each of these counts is the value of one metric. The tests spell out every member of a struct, so that
/// a new count must be published, or be left out with a reason.
fn assert_each_published<C: 'static>(
    named: &'static [NamedCounter<C>],
    counts: &C,
    expected: &[u64],
) {
    let text = published(named, counts);
    let mut values: Vec<u64> = text
        .lines()
        .filter(|line| line.contains("_total{"))
        .filter_map(|line| line.rsplit_once(' ')?.1.parse().ok())
        .collect();
    values.sort_unstable();
    assert_eq!(values, expected, "{text}");
}

fn messages(first: u64) -> MessageCounters {
    MessageCounters {
        decoded: first,
        undecodable: first + 1,
        unknown_template: first + 2,
        not_understood: first + 3,
        seq_num_not_trusted: first + 4,
    }
}

#[test]
fn every_count_of_a_line_and_of_arbitration_is_published() {
    let socket = ReceiverCounters {
        // Not published: counts system calls, not packets.
        batches: 0,
        packets: 1,
        bytes: 2,
        too_long: 3,
        dropped_by_kernel: 4,
        implausible_stamps: 5,
        hardware_stamps: 6,
        refused: 7,
    };
    assert_each_published(&SOCKET, &socket, &[1, 2, 3, 4, 5, 6, 7]);
    // Packets and bytes are published from the socket.
    let input = InputCounters { packets: 0, bytes: 0, malformed: 1, no_seq_num: 2, unnumbered: 3 };
    assert_each_published(&INPUT, &input, &[1, 2, 3]);
    let line = LineCounters {
        // Not published: the sum of the other counts.
        received: 0,
        first: 1,
        duplicate: 2,
        replacement: 3,
        late: 4,
        old_epoch: 5,
        unexpected: 6,
        excluded: 7,
        differing: 8,
        too_long: 9,
        not_polled: 10,
        out_of_order: 11,
        // Published as a gauge.
        out_of_order_by_max: 0,
        lost: 0,
    };
    assert_each_published(&LINE, &line, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    // `held_peak` is published as a gauge.
    let arbiter =
        ArbiterCounters { delivered: 1, gaps: 2, gap_seq_nums: 3, resets: 4, held_peak: 0 };
    assert_each_published(&ARBITER, &arbiter, &[1, 2, 3, 4]);
}

#[test]
fn every_count_of_messages_and_books_is_published() {
    let handler = HandlerCounters {
        // Published by line.
        lines: Default::default(),
        definition_lines: Default::default(),
        snapshot_lines: Default::default(),
        messages: messages(10),
        // On these feeds, sequence numbers of messages are not compared with those of packets.
        definitions: MessageCounters { seq_num_not_trusted: 0, ..messages(20) },
        snapshots: MessageCounters { seq_num_not_trusted: 0, ..messages(30) },
        replays: MessageCounters { seq_num_not_trusted: 0, ..messages(40) },
        replays_not_awaited: 5,
        replays_refused: 6,
        replacements: 7,
    };
    let (unknown, misunderstood) = (12 + 22 + 32 + 42, 13 + 23 + 33 + 43);
    let expected = [5, 6, 7, 10, 11, 14, 20, 21, 30, 31, 40, 41, unknown, misunderstood];
    assert_each_published(&MESSAGES, &handler, &expected);
    let recovery = RecoveryCounters {
        applied: 1,
        held: 2,
        dropped: 3,
        old: 4,
        replayed: 5,
        too_many_instruments: 6,
        // Published from the arbiter.
        gaps: 0,
        broken: 7,
        inconsistent: 8,
        recovered: 9,
        recovered_by_snapshot: 16,
        verified: 10,
        mismatches: 11,
        faulty_snapshots: 12,
        old_session_snapshots: 13,
        ahead_snapshots: 14,
        incomplete_snapshots: 15,
    };
    assert_each_published(
        &RECOVERY,
        &recovery,
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
    );
}

#[test]
fn every_count_of_replay_recording_and_events_is_published() {
    let replay = ReplayCounters { gaps: 1, requests: 2, replayed: 3, abandoned: 4, failures: 5 };
    assert_each_published(&REPLAY, &replay, &[1, 2, 3, 4, 5]);
    let record = RecordCounters {
        recorded: 1,
        unrecorded: 2,
        refused: 3,
        bytes: 4,
        files: 5,
        waits: 6,
        // Published as a gauge.
        waited_ns: 0,
    };
    assert_each_published(&RECORD, &record, &[1, 2, 3, 4, 5, 6]);
    let events = EventCounters { trades: 1, statistics: 2, statuses: 3, definitions: 4, others: 5 };
    assert_eq!(EVENTS.map(|(_, count)| count(&events)), [1, 2, 3, 4, 5]);
}

#[test]
fn gauges_tell_books_by_reason_and_lines_by_age() {
    let metrics = Metrics::new();
    let sources = [FeedLine::Incremental(Line::A), FeedLine::Snapshot(Line::B)];
    let _feed = FeedMetrics::new(&metrics, Some("x"), sources);
    let text = metrics.encode();
    for reason in StaleReason::LABELS {
        let wanted = format!("tickwire_book_stale_books{{channel=\"x\",reason=\"{reason}\"}} 0\n");
        assert!(text.contains(&wanted), "{text}");
    }
    for name in [
        "feed_line_age_seconds",
        "feed_line_excluded",
        "feed_lost_seq_nums",
        "feed_out_of_order_max",
    ] {
        let line = "{channel=\"x\",feed=\"incremental\",line=\"a\"}";
        assert!(text.contains(&format!("tickwire_{name}{line} 0")), "{name}: {text}");
    }
    for name in
        ["book_fresh_books", "book_waiting_updates", "feed_held_packets", "feed_held_packets_max"]
    {
        assert!(text.contains(&format!("tickwire_{name}{{channel=\"x\"}} 0\n")), "{name}: {text}");
    }
}
