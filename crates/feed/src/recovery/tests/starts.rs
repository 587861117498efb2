//! Feeds that are received from their first number.

use super::*;

/// Books with orders carried over from the previous day are not empty before number 1.
#[test]
fn a_feed_that_begins_with_number_1_does_not_make_books_empty_unless_it_is_said_so() {
    let first = Update { rpt_seq: None, ..bid(1, 0, 1, LevelAction::New(level(50))) };
    let mut channel = by_seq_num();
    channel.handle_update(&first);
    assert_eq!(channel.state(ONE), Err(StaleReason::NoSnapshot));
    let options = RecoveryOptions {
        continuity: Continuity::SeqNum,
        starts_empty: true,
        ..RecoveryOptions::default()
    };
    let mut channel = recovery(options);
    channel.handle_update(&first);
    assert_eq!(channel.state(ONE), Ok(()));
}

/// RptSeq may begin at 1 each day while the books contain orders of the previous day.
#[test]
fn rpt_seq_1_begins_no_book_that_is_said_to_hold_more() {
    let first = bid(1, 1, 1, LevelAction::New(level(50)));
    for carries_over in [false, true] {
        let mut channel = recovery(RecoveryOptions { carries_over, ..Default::default() });
        channel.handle_update(&first);
        let expected = if carries_over { Err(StaleReason::NoSnapshot) } else { Ok(()) };
        assert_eq!(channel.state(ONE), expected);
        channel.handle_reset();
        channel.handle_update(&first);
        let expected = if carries_over { Err(StaleReason::Reset) } else { Ok(()) };
        assert_eq!(channel.state(ONE), expected);
        snapshot(&mut channel, 1, 1, 50);
        assert_eq!(channel.state(ONE), Ok(()));
    }
}

/// Updates sent between a snapshot and the first packet have not arrived.
#[test]
fn a_snapshot_from_before_the_first_packet_lacks_what_came_between() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        assert_eq!(early_snapshot(&mut recovery, 12, 102, 7), SnapshotOutcome::Ahead);
        recovery.handle_progress(20);
        recovery.handle_update(&Update { instrument: TWO, ..change(20, 5, 1) });
        recovery.handle_progress(21);
        assert!(price(&recovery).is_err());
        early_snapshot(&mut recovery, 18, 102, 7);
        assert!(price(&recovery).is_err(), "packet 19 is missing");
        early_snapshot(&mut recovery, 19, 102, 8);
        assert_eq!(price(&recovery), Ok(8));
    }
}

/// A packet has several messages: the books equal the snapshot after the last of them.
#[test]
fn a_snapshot_that_includes_a_packet_is_used_behind_its_last_message() {
    for mut recovery in [by_rpt_seq(), by_seq_num()] {
        recovery.handle_progress(12);
        assert_eq!(early_snapshot(&mut recovery, 12, 102, 7), SnapshotOutcome::Ahead);
        recovery.handle_update(&change(12, 101, 6));
        recovery.end_message(false);
        assert!(price(&recovery).is_err());
        recovery.handle_update(&change(12, 102, 7));
        recovery.end_message(false);
        recovery.handle_progress(13);
        assert_eq!(price(&recovery), Ok(7));
    }
}
