//! Switches of the configuration, and what an application may ask for, in what is answered.

mod talk;

use talk::{NOW, Talk};
use tickwire_fix::{SessionRejectReason, Tag};
use tickwire_fix_session::{BeginString, Config, Notice, Store};

#[test]
fn an_invalid_message_is_handled_and_told_if_it_is_not_to_be_refused() {
    let lenient = |config: &mut Config| config.reject_invalid = false;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, lenient);
    assert_eq!(talk.say(2, "1", "112=here|55=ABC|"), ["35=0|112=here"]);
    let told = Notice::Invalid {
        seq_num: 2,
        reason: SessionRejectReason::TagNotDefinedForMessageType,
        tag: Some(Tag(55)),
    };
    assert!(talk.notices.contains(&told), "{:?}", talk.notices);
    // A message for the application reaches it, whatever is missing.
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
    assert!(talk.notices.contains(&Notice::PossDupIgnored { seq_num: 1 }));
}

#[test]
fn a_sequence_reset_goes_on_with_a_higher_number() {
    let mut talk = Talk::logged_on(BeginString::Fix42);
    assert!(!talk.session.skip_to(NOW, 2), "not higher");
    assert!(talk.session.skip_to(NOW, 100));
    assert_eq!(talk.answers(false), ["35=4|36=100"]);
    assert_eq!(talk.session.store().next_sender(), 100);
    // What lies between is filled over if the peer asks for it after all.
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
