//! Feeds that are seen from their first number.

use super::*;

/// Books that were carried over from the day before are not empty before number 1.
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
