//! Switches of the configuration and requests of the application, observed in the answers.

mod talk;

use talk::{NOW, Talk};
use tickwire_fix::{SessionRejectReason, Tag};
use tickwire_fix_session::{
    BeginString, Config, DisconnectReason, OutgoingHeader, SendError, SessionEvent, SessionRole,
    Store,
};

#[test]
fn an_invalid_message_is_handled_and_told_if_it_is_not_to_be_refused() {
    let lenient = |config: &mut Config| config.reject_invalid = false;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, lenient);
    assert_eq!(talk.say(2, "1", "112=here|55=ABC|"), ["35=0|112=here"]);
    let told = SessionEvent::Invalid {
        seq_num: 2,
        reason: SessionRejectReason::TagNotDefinedForMessageType,
        tag: Some(Tag(55)),
    };
    assert!(talk.notices.contains(&told), "{:?}", talk.notices);
    // The application receives the message despite its faults.
    let answer = talk.say(3, "D", "11=1|");
    assert_eq!(answer, ["35=j|45=3|58=Unsupported Message Type|372=D|379=my id|380=3"]);
    assert_eq!(talk.session.store().next_target(), 4);
    assert_eq!(talk.session.counters().delivered, 1);
}

#[test]
fn what_the_session_itself_needs_is_refused_all_the_same() {
    let lenient = |config: &mut Config| config.reject_invalid = false;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, lenient);
    let answer = talk.say(2, "2", "7=1|");
    assert_eq!(answer, ["35=3|45=2|58=Required tag missing|371=16|372=2|373=1"]);
    let answer = talk.say(3, "4", "123=Y|");
    assert_eq!(answer, ["35=3|45=3|58=Required tag missing|371=36|372=4|373=1"]);
}

#[test]
fn a_possible_duplicate_without_its_first_time_is_ignored_if_it_needs_none() {
    let mut strict = Talk::logged_on(BeginString::Fix44);
    let refused = ["35=3|45=1|58=Required tag missing|371=122|372=0|373=1"];
    assert_eq!(strict.say(1, "0", "43=Y|"), refused);
    let lenient = |config: &mut Config| config.requires_orig_sending_time = false;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, lenient);
    assert!(talk.say(1, "0", "43=Y|").is_empty());
    assert!(talk.notices.contains(&SessionEvent::PossDupIgnored { seq_num: 1 }));
}

#[test]
fn a_sequence_reset_goes_on_with_a_higher_number() {
    let mut talk = Talk::logged_on(BeginString::Fix42);
    assert!(!talk.session.skip_to(NOW, 2), "not higher");
    assert!(talk.session.skip_to(NOW, 100));
    assert_eq!(talk.answers(false), ["35=4|36=100"]);
    assert_eq!(talk.session.store().next_sender(), 100);
    // The skipped numbers are gap-filled if the peer requests them anyway.
    assert_eq!(talk.say(2, "2", "7=2|16=0|"), ["35=4|43=Y|36=100|123=Y"]);
    assert_eq!(talk.say(3, "1", "112=x|"), ["35=0|112=x"]);
    assert_eq!(talk.session.store().next_sender(), 101);
}

#[test]
fn however_late_a_heartbeat_comes_before_the_test_request_that_was_due_after_it() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    // HeartBtInt is 30 s: a heartbeat after that time, a test request after 36 s.
    let late = NOW.plus(50_000_000_000);
    talk.session.handle_timeout(late);
    assert_eq!(talk.answers(false), ["35=0"]);
    assert!(talk.session.poll_timeout().is_some_and(|at| at <= late.steady_ns));
    talk.session.handle_timeout(late);
    assert_eq!(talk.answers(false), ["35=1|112=TEST"]);
    talk.session.handle_timeout(late);
    assert!(talk.answers(false).is_empty());
}

#[test]
fn what_is_missing_is_asked_for_with_its_end_if_the_interval_is_to_be_closed() {
    let closed = |config: &mut Config| config.closed_resend_interval = true;
    for version in [BeginString::Fix41, BeginString::Fix44] {
        let mut talk = Talk::logged_on_with(version, closed);
        assert_eq!(talk.say(5, "0", ""), ["35=2|7=2|16=4"]);
    }
}

#[test]
fn without_a_check_of_numbers_every_message_is_handled_when_it_comes() {
    let unchecked = |config: &mut Config| config.check_seq_nums = false;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, unchecked);
    // Number too high: nothing is requested, and the session continues from it.
    assert_eq!(talk.say(9, "1", "112=early|"), ["35=0|112=early"]);
    assert_eq!(talk.session.store().next_target(), 10);
    // Number too low: no Logout, and the expected number stays.
    assert_eq!(talk.say(3, "1", "112=late|"), ["35=0|112=late"]);
    assert_eq!(talk.session.store().next_target(), 10);
    // Possible duplicates reach the application.
    talk.say(4, "B", "43=Y|122=20240229-12:34:56|148=again|33=1|58=heard|");
    assert_eq!(talk.session.counters().delivered, 1);
    assert_eq!(
        talk.say(12, "2", "7=1|16=0|"),
        [
            "35=4|43=Y|36=4|123=Y",
            "35=j|43=Y|45=4|58=Unsupported Message Type|372=B|379=my id|380=3"
        ]
    );
    assert_eq!((talk.session.counters().gaps, talk.session.counters().duplicates), (0, 0));
}

#[test]
fn a_logon_with_a_higher_number_asks_for_nothing_if_numbers_are_not_checked() {
    let unchecked = |config: &mut Config| {
        config.check_seq_nums = false;
        config.next_expected_seq_num = true;
    };
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, unchecked);
    // NextExpectedMsgSeqNum is used only if sequence numbers are checked.
    assert_eq!(talk.say(7, "A", "98=0|108=30|"), ["35=A|98=0|108=30"]);
    assert_eq!(talk.session.store().next_target(), 8);
}

#[test]
fn the_answer_to_a_logon_expects_the_number_after_it() {
    let next = |config: &mut Config| config.next_expected_seq_num = true;
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, next);
    assert_eq!(talk.say(1, "A", "98=0|108=30|789=1|"), ["35=A|98=0|108=30|789=2"]);
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, next);
    assert_eq!(talk.say(4, "A", "98=0|108=30|789=1|"), ["35=A|98=0|108=30|789=1"]);
}

#[test]
fn the_last_number_handled_stands_in_every_header_from_42_on() {
    let last = |config: &mut Config| config.last_seq_num_processed = true;
    for version in BeginString::ALL {
        let mut talk = Talk::logged_on_with(version, last);
        let tag = if version >= BeginString::Fix42 { "369=2|" } else { "" };
        assert_eq!(talk.say(2, "1", "112=x|"), [format!("35=0|{tag}112=x")], "{version}");
    }
    let mut talk = Talk::logged_on_with(BeginString::Fix44, last);
    let news = "148=Rumour|33=1|58=heard|";
    assert_eq!(
        talk.say(2, "B", news),
        ["35=j|369=2|45=2|58=Unsupported Message Type|372=B|379=my id|380=3"]
    );
    // A message after a gap is not handled yet.
    assert_eq!(talk.say(7, "0", ""), ["35=2|369=2|7=3|16=0"]);
    assert!(talk.say(3, "4", "43=Y|122=20240229-12:34:56|123=Y|36=7|").is_empty());
    // A resent message has the current LastMsgSeqNumProcessed.
    assert_eq!(
        talk.say(8, "2", "7=2|16=2|"),
        ["35=j|43=Y|369=8|45=2|58=Unsupported Message Type|372=B|379=my id|380=3"]
    );
}

#[test]
fn a_peer_may_be_silent_for_as_long_as_the_multiplier_says() {
    let patient = |config: &mut Config| {
        config.test_request_permille = 1500;
        config.silence_permille = Some(4000);
    };
    let mut talk = Talk::logged_on_with(BeginString::Fix44, patient);
    let at = |seconds: u64| NOW.plus(seconds * 1_000_000_000);
    let mut wait = |seconds| {
        talk.session.handle_timeout(at(seconds));
        talk.answers(false)
    };
    // HeartBtInt is 30 s.
    assert_eq!(wait(30), ["35=0"]);
    assert!(wait(44).is_empty());
    assert_eq!(wait(45), ["35=1|112=TEST"]);
    assert!(wait(89).is_empty());
    assert_eq!(wait(90), ["35=1|112=TEST"]);
    assert!(wait(119).is_empty());
    assert!(talk.disconnects().is_empty());
    talk.session.handle_timeout(at(120));
    assert_eq!(talk.disconnects(), [DisconnectReason::Silence]);
}

#[test]
fn a_silent_peer_is_neither_asked_nor_left_if_heartbeats_are_not_checked() {
    let trusting = |config: &mut Config| config.silence_permille = None;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, trusting);
    for minute in 1..=60 {
        talk.session.handle_timeout(NOW.plus(minute * 60_000_000_000));
        assert_eq!(talk.answers(false), ["35=0"], "own heartbeats go on");
    }
    assert!(talk.disconnects().is_empty() && talk.session.is_logged_on());
}

#[test]
fn a_logon_has_the_fields_and_every_header_the_locations_that_are_configured() {
    let more = |config: &mut Config| {
        config.logon_fields = vec![(Tag(95), "3".into()), (Tag(96), "abc".into())];
        config.sender_location_id = Some("LDN".to_owned());
        config.target_location_id = Some("NYC".to_owned());
    };
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Initiator, more);
    assert_eq!(talk.answers(false), ["35=A|142=LDN|143=NYC|98=0|108=30|95=3|96=abc"]);
}

#[test]
fn messages_that_wait_for_a_slow_peer_are_bounded_in_number_and_in_bytes() {
    let accepted = |backlog_max: u64, backlog_bytes_max: u64| {
        let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
            config.limits.transmit_len_max = 0;
            config.limits.backlog_max = backlog_max;
            config.limits.backlog_bytes_max = backlog_bytes_max;
        });
        let mut send = || {
            talk.session.send(NOW, &OutgoingHeader::new("B"), |writer| writer.str(Tag(148), "news"))
        };
        let accepted = (0..9).take_while(|_| send().is_ok()).count();
        assert!(accepted == 9 || matches!(send(), Err(SendError::QueueFull)));
        accepted
    };
    // The first message goes to the connection, which accepts nothing; the others are queued.
    assert_eq!(accepted(u64::MAX, u64::MAX), 9);
    assert_eq!(accepted(2, u64::MAX), 3);
    assert_eq!(accepted(u64::MAX, 1), 2);
}
