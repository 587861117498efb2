//! Liveness: which messages end the silence of a peer, and the answers to a message with a low
//! number.

mod talk;

use talk::{NOW, TIME, Talk};
use tickwire_fix_session::{BeginString, Config, DisconnectReason, Now, SessionEvent};

fn at(seconds: u64) -> Now {
    NOW.plus(seconds * 1_000_000_000)
}

/// A session that sends a Test Request after 36 seconds of silence and disconnects after 60.
fn talk() -> Talk {
    Talk::logged_on_with(BeginString::Fix44, |config: &mut Config| {
        config.heartbeat_s = 30;
        config.test_request_permille = 1200;
        config.silence_permille = Some(2000);
        // Longer than the permitted silence: the answer to a reset is awaited as long as that to a
        // Logon.
        config.logon_timeout_s = 100;
    })
}

/// Returns true if the session disconnects at that time.
fn is_given_up(talk: &mut Talk, seconds: u64) -> bool {
    talk.session.handle_timeout(at(seconds));
    talk.disconnects().contains(&DisconnectReason::Silence)
}

#[test]
fn every_message_of_the_peer_is_a_sign_of_life() {
    let mut silent = talk();
    assert!(!is_given_up(&mut silent, 59) && is_given_up(&mut silent, 60));
    let duplicate = format!("43=Y|122={TIME}|");
    for (what, seq_num, msg_type, body) in [
        ("a Heartbeat", 2, "0", ""),
        ("a message for the application", 2, "B", "148=x|33=1|58=x|"),
        ("a message ahead of its turn", 5, "0", ""),
        ("a possible duplicate", 1, "0", duplicate.as_str()),
        ("a Resend Request", 2, "2", "7=1|16=0|"),
        ("a gap fill", 2, "4", "123=Y|36=4|"),
        ("an invalid message", 2, "0", "55=ABC|"),
    ] {
        let mut talk = talk();
        talk.now = at(25);
        talk.handle(seq_num, msg_type, body);
        assert!(!is_given_up(&mut talk, 84), "{what}");
        assert!(is_given_up(&mut talk, 85), "{what}");
    }
}

#[test]
fn a_message_of_the_numbers_before_a_reset_is_a_sign_of_life() {
    let mut talk = talk();
    talk.session.reset(NOW);
    talk.now = at(25);
    talk.handle(2, "0", "");
    assert!(talk.notices.contains(&SessionEvent::BeforeReset { seq_num: 2 }), "{:?}", talk.notices);
    assert!(!is_given_up(&mut talk, 84) && is_given_up(&mut talk, 85));
}

#[test]
fn a_message_answers_a_test_request() {
    let mut talk = talk();
    talk.session.handle_timeout(at(30));
    talk.now = at(30);
    assert_eq!(talk.answers(false), ["35=0"]);
    talk.session.handle_timeout(at(36));
    assert_eq!(talk.answers(false), ["35=1|112=TEST"]);
    // No Heartbeat is due while the answer is awaited.
    talk.now = at(40);
    assert!(talk.say(2, "0", "112=TEST|").is_empty());
    talk.session.handle_timeout(at(66));
    assert_eq!(talk.answers(false), ["35=0"], "30 seconds after the Test Request");
    talk.session.handle_timeout(at(76));
    assert_eq!(talk.answers(false), ["35=1|112=TEST"], "36 seconds after the answer");
}

#[test]
fn a_low_number_without_poss_dup_ends_the_session() {
    for (msg_type, body) in [("0", ""), ("B", "148=x|33=1|58=x|"), ("1", "112=x|")] {
        let mut talk = talk();
        let logout = "35=5|58=MsgSeqNum too low, expecting 2 but received 1";
        assert_eq!(talk.say(1, msg_type, body), [logout], "{msg_type}");
        let numbers = SessionEvent::SeqNumTooLow { expected: 2, received: 1 };
        assert!(talk.notices.contains(&numbers), "{:?}", talk.notices);
        let why = SessionEvent::Disconnect(DisconnectReason::SeqNum);
        assert!(
            talk.notices.contains(&why) || talk.disconnects() == [DisconnectReason::SeqNum],
            "{msg_type}"
        );
        assert_eq!((talk.numbers().1, talk.session.counters().delivered), (2, 0), "{msg_type}");
        assert!(!talk.session.is_logged_on());
    }
}
