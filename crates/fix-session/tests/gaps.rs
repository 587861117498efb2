//! Gaps: the ranges that are requested, and the messages that count as received.

mod talk;

use talk::{NOW, Talk};
use tickwire_fix::Tag;
use tickwire_fix_session::{
    BeginString, DisconnectReason, OutgoingHeader, SessionEvent, SessionRole, Store,
};

#[test]
fn a_large_gap_is_asked_for_in_parts() {
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| config.resend_request_max = 3);
    assert_eq!(talk.say(10, "0", ""), ["35=2|7=2|16=4"]);
    let requests = [(4, "35=2|7=5|16=7"), (7, "35=2|7=8|16=0")];
    for seq_num in 2..=9 {
        let expected = requests.iter().find(|(last, _)| *last == seq_num).map(|(_, text)| *text);
        assert_eq!(talk.say(seq_num, "0", ""), Vec::from_iter(expected), "{seq_num}");
    }
    assert_eq!(talk.numbers().1, 11);
    assert_eq!(talk.session.counters().gaps, 3);
}

#[test]
fn a_gap_fill_to_the_last_number_of_a_part_is_followed_by_the_next_part() {
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| config.resend_request_max = 5);
    assert_eq!(talk.say(15, "0", ""), ["35=2|7=2|16=6"]);
    assert_eq!(talk.say(2, "4", "123=Y|36=6|"), ["35=2|7=6|16=10"]);
    assert_eq!(talk.say(6, "4", "123=Y|36=11|"), ["35=2|7=11|16=0"], "as the standard counts");
    assert!(talk.say(11, "4", "123=Y|36=14|").is_empty(), "14 is still to come");
    assert!(talk.say(14, "0", "").is_empty());
    assert_eq!(talk.numbers().1, 16);
}

#[test]
fn an_end_of_999999_is_an_open_one_before_fix_43() {
    for (version, is_open) in [(BeginString::Fix42, true), (BeginString::Fix43, false)] {
        let mut talk = Talk::new(version, SessionRole::Acceptor, |_| {});
        talk.session.handle_disconnected(NOW);
        talk.session.store_mut().set_next_sender(1_000_005).expect("memory");
        talk.session.handle_connected(NOW);
        talk.say(1, "A", "98=0|108=30|");
        let filled = is_open.then_some("35=4|43=Y|36=1000006|123=Y");
        let answers = talk.say(2, "2", "7=1000003|16=999999|");
        assert_eq!(answers, Vec::from_iter(filled), "{version}");
    }
}

#[test]
fn a_logon_ahead_of_its_turn_is_asked_about_unless_the_peer_will_send_unasked() {
    let expects = |body: &str| {
        let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, |config| {
            config.next_expected_seq_num = true;
        });
        talk.say(5, "A", body)
    };
    let answer = "35=A|98=0|108=30|789=1";
    assert_eq!(expects("98=0|108=30|"), [answer, "35=2|7=1|16=0"]);
    assert_eq!(expects("98=0|108=30|789=1|"), [answer]);
}

#[test]
fn a_sequence_reset_to_the_expected_number_changes_nothing() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    assert!(talk.say(2, "4", "36=2|").is_empty());
    assert_eq!(talk.numbers(), (2, 2));
    let refused = "35=3|45=2|58=Value is incorrect (out of range) for this tag|372=4|373=5";
    assert_eq!(talk.say(2, "4", "36=1|"), [refused]);
    assert_eq!(talk.numbers(), (3, 2));
}

#[test]
fn a_gap_fill_that_fills_nothing_is_refused() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    for new in [2, 1] {
        let refused = "35=3|45=2|58=Value is incorrect (out of range) for this tag|372=4|373=5";
        assert_eq!(talk.say(2, "4", &format!("123=Y|36={new}|")), [refused]);
        assert_eq!(talk.numbers().1, 2);
    }
    assert!(talk.say(2, "4", "123=Y|36=3|").is_empty());
    assert_eq!(talk.numbers().1, 3);
}

#[test]
fn a_logon_that_is_sent_again_is_a_duplicate_and_begins_nothing_anew() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    let again = "43=Y|122=20240229-12:34:50|98=0|108=30|141=Y|";
    assert!(talk.say(1, "A", again).is_empty());
    assert!(talk.notices.contains(&SessionEvent::PossDupIgnored { seq_num: 1 }));
    assert_eq!((talk.numbers(), talk.session.is_logged_on()), ((2, 2), true));
    // A resent Logon that arrives while a gap is being filled counts like any other message.
    assert_eq!(talk.say(4, "1", "112=x|"), ["35=2|7=2|16=0"]);
    assert!(talk.say(2, "A", again).is_empty());
    assert_eq!(talk.say(3, "0", "43=Y|122=20240229-12:34:50|"), ["35=0|112=x"]);
    assert_eq!((talk.numbers(), talk.session.is_logged_on()), ((4, 5), true));
    // A resent Logon does not confirm a reset either.
    talk.session.reset(NOW);
    assert_eq!(talk.answers(false), ["35=A|98=0|108=30|141=Y"]);
    assert!(talk.say(1, "A", again).is_empty());
    assert!(talk.notices.contains(&SessionEvent::BeforeReset { seq_num: 1 }));
    assert!(talk.say(1, "A", "98=0|108=30|141=Y|").is_empty());
    assert_eq!((talk.numbers(), talk.session.is_logged_on()), ((2, 2), true));
}

#[test]
fn a_logout_that_is_sent_again_among_what_was_missing_ends_nothing() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    let again = "43=Y|122=20240229-12:34:50|";
    assert!(talk.say(1, "5", again).is_empty());
    assert_eq!(talk.say(5, "1", "112=x|"), ["35=2|7=2|16=0"]);
    assert!(talk.say(3, "5", again).is_empty(), "held");
    assert!(talk.say(2, "5", again).is_empty());
    assert_eq!(talk.say(4, "0", again), ["35=0|112=x"]);
    assert_eq!((talk.numbers(), talk.session.is_logged_on()), ((4, 6), true));
    // After the missing messages it is a genuine Logout.
    assert_eq!(talk.say(6, "5", again), ["35=5"]);
    assert!(!talk.session.is_logged_on());
}

#[test]
fn an_invalid_message_ahead_of_its_turn_is_refused_and_leaves_its_gap() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    let answers = talk.say(5, "1", "112=x|55=ABC|");
    assert!(answers[0].starts_with("35=3|45=5|"), "{answers:?}");
    assert_eq!(talk.numbers().1, 2, "2 to 4 are still missing");
    // A Sequence Reset without a valid NewSeqNo does not count either.
    let answers = talk.say(2, "4", "36=x|");
    assert!(answers[0].starts_with("35=3|45=2|"), "{answers:?}");
    assert_eq!(talk.numbers().1, 2);
}

#[test]
fn numbers_that_are_not_checked_are_counted_as_they_come() {
    let unchecked =
        || Talk::logged_on_with(BeginString::Fix44, |config| config.check_seq_nums = false);
    let mut talk = unchecked();
    assert_eq!(talk.say(7, "2", "7=1|16=0|"), ["35=4|43=Y|36=2|123=Y"]);
    assert_eq!(talk.numbers().1, 8);
    talk.say(3, "2", "7=1|16=0|");
    assert_eq!(talk.numbers().1, 8, "they do not go back");
    let mut talk = unchecked();
    assert_eq!(talk.say(9, "5", ""), ["35=5"]);
    assert_eq!(talk.numbers().1, 10);
}

#[test]
fn nothing_is_taken_from_a_server_that_has_not_said_logon() {
    for (msg_type, body) in
        [("0", ""), ("1", "112=x|"), ("2", "7=1|16=0|"), ("4", "36=9|"), ("B", "148=x|33=1|58=x|")]
    {
        let mut talk = Talk::new(BeginString::Fix44, SessionRole::Initiator, |_| {});
        assert_eq!(talk.answers(false), ["35=A|98=0|108=30"]);
        assert!(talk.say(1, msg_type, body).is_empty(), "{msg_type}");
        assert_eq!(talk.numbers(), (2, 1), "{msg_type}");
        assert_eq!(talk.session.counters().delivered, 0);
        let told = talk.notices.contains(&SessionEvent::Disconnect(DisconnectReason::NotLoggedOn));
        assert!(
            told || talk.disconnects() == [DisconnectReason::NotLoggedOn],
            "{msg_type}: {:?}",
            talk.notices
        );
    }
    // A Logout may answer a Logon.
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Initiator, |_| {});
    talk.answers(false);
    talk.say(1, "5", "58=unknown user|");
    let why = DisconnectReason::LoggedOut { text: "unknown user".to_owned() };
    let told = talk.notices.contains(&SessionEvent::Disconnect(why.clone()));
    assert!(told || talk.disconnects() == [why], "{:?}", talk.notices);
}

#[test]
fn billions_of_numbers_without_messages_are_filled_over_at_once() {
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, |_| {});
    talk.session.handle_disconnected(NOW);
    let head = OutgoingHeader::new("B");
    talk.session.send(NOW, &head, |writer| writer.str(Tag(148), "one")).expect("kept");
    talk.session.store_mut().set_next_sender(5_000_000_000).expect("memory");
    talk.session.send(NOW, &head, |writer| writer.str(Tag(148), "two")).expect("kept");
    talk.session.handle_connected(NOW);
    talk.say(1, "A", "98=0|108=30|");
    let expected = [
        "35=B|43=Y|148=one",
        "35=4|43=Y|36=5000000000|123=Y",
        "35=B|43=Y|148=two",
        "35=4|43=Y|36=5000000002|123=Y",
    ];
    assert_eq!(talk.say(2, "2", "7=1|16=0|"), expected);
}

#[test]
fn a_message_that_is_sent_again_though_it_is_too_long_ends_the_session_with_words() {
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
        config.limits.message_len_max = 500;
    });
    let long = talk.message(2, "B", &format!("148={}|33=0|", "x".repeat(500)));
    talk.handle_bytes(&long);
    assert!(
        talk.notices.contains(&SessionEvent::TooLong { len: long.len() }),
        "{:?}",
        talk.notices
    );
    assert!(talk.answers(false).is_empty(), "bytes on the wire may be wrong once");
    assert_eq!(talk.say(3, "0", ""), ["35=2|7=2|16=0"]);
    talk.handle_bytes(&long);
    let text = format!("a message of {} bytes exceeds the limit of 500", long.len());
    assert_eq!(talk.answers(false), [format!("35=5|58={text}")]);
    let why = DisconnectReason::TooLong { len: long.len(), len_max: 500 };
    assert!(talk.notices.contains(&SessionEvent::Disconnect(why)), "{:?}", talk.notices);
}

#[test]
fn what_was_asked_for_and_does_not_come_is_asked_for_again() {
    let mut talk =
        Talk::logged_on_with(BeginString::Fix44, |config| config.silence_permille = None);
    let request = ["35=2|7=2|16=0"];
    assert_eq!(talk.say(5, "0", ""), request);
    let mut at_s = 0;
    let mut asked_at_s = Vec::new();
    while at_s < 800 {
        talk.now.steady_ns = NOW.steady_ns + at_s * 1_000_000_000;
        // The peer sends heartbeats but not the missing messages.
        if at_s == 400 {
            talk.handle(2, "0", "43=Y|122=20240229-12:34:56|");
        }
        talk.session.handle_timeout(talk.now);
        if talk.answers(false).iter().any(|said| said.starts_with("35=2|")) {
            asked_at_s.push(at_s);
        }
        at_s += 1;
    }
    // Requests after one, two and four minutes; then one message arrived, and one and two minutes
    // after that.
    assert_eq!(asked_at_s, [60, 180, 460, 580]);
    assert_eq!(talk.session.counters().gaps, 5);
}
