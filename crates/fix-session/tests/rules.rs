//! Rules for sequence numbers and times, by the standard's test cases.

mod talk;

use talk::{NOW, TIME, Talk};
use tickwire_fix::Tag;
use tickwire_fix_session::{
    BeginString, Config, DisconnectReason, OutgoingHeader, SessionEvent, SessionRole, Store,
};

const LOGON: &str = "98=0|108=30|";

fn numbers(talk: &Talk) -> (u64, u64) {
    let store = talk.session.store();
    (store.next_sender(), store.next_target())
}

/// Returns the numbers of delivered messages, taken from the rejects that the test application
/// sends.
fn delivered(answers: &[String]) -> Vec<&str> {
    answers.iter().filter_map(|answer| answer.strip_prefix("35=j|45=")?.split('|').next()).collect()
}

#[test]
fn nothing_is_held_between_our_reset_and_its_answer() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    // One message is held and others are in flight when the numbers restart.
    talk.say(5, "0", "");
    talk.session.reset(NOW);
    assert_eq!(talk.answers(false), ["35=A|98=0|108=30|141=Y"]);
    for (seq_num, msg_type, body) in
        [(2, "B", "148=old|33=1|58=x|"), (6, "B", "148=old|33=1|58=x|"), (7, "1", "112=old|")]
    {
        assert!(talk.say(seq_num, msg_type, body).is_empty(), "{seq_num}");
    }
    let ignored =
        talk.notices.iter().filter(|notice| matches!(notice, SessionEvent::BeforeReset { .. }));
    assert_eq!(ignored.count(), 3);
    assert!(talk.say(1, "A", "98=0|108=30|141=Y|").is_empty());
    assert_eq!(numbers(&talk), (2, 2));
    // New messages that have the numbers of old ones are delivered.
    for seq_num in 2..=8 {
        let answers = talk.say(seq_num, "B", "148=new|33=1|58=x|");
        assert_eq!(delivered(&answers), [seq_num.to_string()], "{answers:?}");
    }
    assert!(talk.session.is_logged_on());
}

#[test]
fn the_answer_to_our_reset_has_its_flag_and_number_1() {
    for (seq_num, body, is_answer) in [
        (1, "98=0|108=30|141=Y|", true),
        (1, "98=0|108=30|", false),
        (1, "98=0|108=30|141=N|", false),
        (2, "98=0|108=30|141=Y|", false),
    ] {
        let mut inside = Talk::logged_on(BeginString::Fix44);
        inside.session.reset(NOW);
        let resets = |config: &mut Config| config.reset_on_logon = true;
        let first = Talk::new(BeginString::Fix44, SessionRole::Initiator, resets);
        for mut talk in [inside, first] {
            assert!(talk.answers(false)[0].ends_with("|141=Y"));
            let answers = talk.say(seq_num, "A", body);
            assert_eq!(answers.is_empty(), is_answer, "{seq_num} {body}: {answers:?}");
            assert_eq!(talk.session.is_logged_on(), is_answer, "{seq_num} {body}");
            if !is_answer {
                assert!(answers[0].starts_with("35=5|58=the answer"), "{answers:?}");
                let why = SessionEvent::Disconnect(DisconnectReason::SeqNum);
                assert!(
                    talk.notices.contains(&why) || talk.disconnects() == [DisconnectReason::SeqNum]
                );
            }
        }
    }
}

#[test]
fn what_is_held_is_checked_logged_and_counted_when_it_comes_and_then_no_more() {
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| config.log_messages = true);
    talk.session.take_log(|_| {});
    for seq_num in 3..=5 {
        talk.say(seq_num, "B", "148=early|33=1|58=x|");
    }
    // The gap is filled after minutes.
    let later = NOW.plus(600_000_000_000);
    let late = "20240229-12:44:56";
    talk.now = later;
    talk.handle_from("THERE", late, 2, "B", "148=late|33=1|58=x|");
    let answers = talk.answers(false);
    assert_eq!(delivered(&answers), ["2", "3", "4", "5"], "{answers:?}");
    assert_eq!(talk.session.counters().received, 5, "the Logon and four");
    let mut log = Vec::new();
    talk.session.take_log(|lines| log.extend_from_slice(lines));
    let lines = String::from_utf8(log).expect("text");
    assert_eq!(lines.lines().filter(|line| line.contains(" < ")).count(), 4, "{lines}");
    // A message whose SendingTime is too old on arrival is rejected.
    talk.handle_from("THERE", TIME, 6, "B", "148=x|33=1|58=x|");
    let answers = talk.answers(false);
    assert!(answers[0].contains("58=SendingTime accuracy problem"), "{answers:?}");
}

#[test]
fn possible_duplicates_say_when_they_were_sent_first() {
    // Expected and lower numbers alike: test cases 2f and 2g.
    for seq_num in [2, 1] {
        let body = "148=x|33=1|58=x|";
        let mut talk = Talk::logged_on(BeginString::Fix44);
        let answers = talk.say(seq_num, "B", &format!("43=Y|{body}"));
        let reject = format!("35=3|45={seq_num}|58=Required tag missing|371=122|372=B|373=1");
        assert_eq!(answers, [reject]);
        assert_eq!(numbers(&talk).1, if seq_num == 2 { 3 } else { 2 });
        let mut talk = Talk::logged_on(BeginString::Fix44);
        let answers = talk.say(seq_num, "B", &format!("43=Y|122=20240229-12:34:57|{body}"));
        let reject = format!("35=3|45={seq_num}|58=SendingTime accuracy problem|372=B|373=10");
        assert_eq!(answers, [reject, "35=5".to_owned()]);
        let lenient = |config: &mut Config| config.requires_orig_sending_time = false;
        let mut talk = Talk::logged_on_with(BeginString::Fix44, lenient);
        let answers = talk.say(seq_num, "B", &format!("43=Y|{body}"));
        assert_eq!(delivered(&answers).len(), usize::from(seq_num == 2), "{answers:?}");
        let mut talk = Talk::logged_on(BeginString::Fix44);
        let answers = talk.say(seq_num, "B", &format!("43=Y|122={TIME}|{body}"));
        assert_eq!(delivered(&answers).len(), usize::from(seq_num == 2), "{answers:?}");
    }
    // A gap fill has no OrigSendingTime.
    let mut talk = Talk::logged_on(BeginString::Fix44);
    assert!(talk.say(2, "4", "43=Y|123=Y|36=9|").is_empty());
    assert_eq!(numbers(&talk).1, 9);
}

#[test]
fn an_expectation_of_what_was_never_sent_is_answered_by_logout_alone() {
    let expects = |authenticate: bool| {
        Talk::new(BeginString::Fix44, SessionRole::Acceptor, |config| {
            config.next_expected_seq_num = true;
            config.authenticate = authenticate;
        })
    };
    let mut talk = expects(true);
    let answers = talk.say(1, "A", "98=0|108=30|789=2|");
    let text = "NextExpectedMsgSeqNum too high, expecting at most 1 but received 2";
    assert_eq!(answers, [format!("35=5|58={text}")]);
    let mut talk = expects(false);
    assert!(talk.say(1, "A", "98=0|108=30|789=2|").is_empty());
    assert_eq!(numbers(&talk), (1, 1), "nobody has authenticated it");
    let mut talk = expects(false);
    assert_eq!(talk.say(1, "A", "98=0|108=30|789=1|"), ["35=A|98=0|108=30|789=2"]);
}

#[test]
fn a_resend_request_with_a_number_too_high_is_answered_and_followed_by_ours() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.session
        .send(NOW, &OutgoingHeader::new("B"), |writer| writer.str(Tag(148), "one"))
        .expect("sent");
    talk.answers(false);
    let answers = talk.say(5, "2", "7=2|16=0|");
    assert_eq!(answers, ["35=B|43=Y|148=one", "35=2|7=2|16=0"]);
    // One resend is enough.
    assert_eq!(talk.say(6, "2", "7=2|16=2|"), ["35=B|43=Y|148=one"]);
    for seq_num in 2..=4 {
        talk.say(seq_num, "0", &format!("43=Y|122={TIME}|"));
    }
    assert_eq!(numbers(&talk).1, 7);
}

#[test]
fn numbers_that_are_none_are_badly_written_and_not_missing() {
    for dictionaries in [true, false] {
        for (msg_type, body, tag) in [
            ("2", "7=-1|16=0|", 7),
            ("2", "7=1|16=-1|", 16),
            ("2", "7=x|16=0|", 7),
            ("4", "36=-5|", 36),
        ] {
            let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
                if !dictionaries {
                    config.dictionaries = None;
                }
            });
            let answers = talk.say(2, msg_type, body);
            let text = "Incorrect data format for value";
            let expected = format!("35=3|45=2|58={text}|371={tag}|372={msg_type}|373=6");
            assert_eq!(answers, [expected], "{body} {dictionaries}");
        }
    }
}

#[test]
fn a_new_connection_begins_with_a_new_message() {
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, |_| {});
    // An incomplete message or garbage, then the connection closes.
    for half in [&b"8=FIX.4.4\x019=5\x0135=0\x01x"[..], b"8=FIX.4.4\x019=x\x01zzz", b"GET / HTTP"] {
        talk.session.handle_connected(NOW);
        talk.session.handle_bytes(half);
        while talk.session.poll_event(NOW).is_some() {}
        talk.session.handle_disconnected(NOW);
    }
    talk.session.handle_connected(NOW);
    assert_eq!(talk.say(1, "A", LOGON), ["35=A|98=0|108=30"]);
}

#[test]
fn an_invalid_reject_is_not_answered_by_a_reject() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    assert!(talk.say(2, "3", "45=x|").is_empty());
    assert!(talk.say(3, "3", "58=no RefSeqNum|").is_empty());
    assert_eq!(numbers(&talk), (2, 4), "they are counted");
    let told = talk.notices.iter().filter(|notice| matches!(notice, SessionEvent::Invalid { .. }));
    assert_eq!(told.count(), 2);
    // Anything else is rejected.
    assert!(talk.say(4, "0", "55=x|")[0].starts_with("35=3|45=4|"));
}

#[test]
fn a_logon_whose_application_version_nobody_knows_is_refused() {
    for (version, is_known) in
        [("9", true), ("10", true), ("7", true), ("33", false), ("x", false), ("2", false)]
    {
        let mut talk = Talk::new(BeginString::Fixt11, SessionRole::Acceptor, |_| {});
        let answers = talk.say(1, "A", &format!("98=0|108=30|1137={version}|"));
        assert_eq!(!answers.is_empty(), is_known, "{version}: {answers:?}");
        assert_eq!(talk.session.is_logged_on(), is_known, "{version}");
    }
}

#[test]
fn a_logon_without_application_version_is_refused_whatever_is_validated() {
    let tweaks: [fn(&mut Config); 3] =
        [|_| {}, |config| config.dictionaries = None, |config| config.reject_invalid = false];
    for tweak in tweaks {
        let mut talk = Talk::new(BeginString::Fixt11, SessionRole::Acceptor, tweak);
        assert!(talk.say(1, "A", "98=0|108=30|").is_empty());
        assert!(!talk.session.is_connected() || !talk.session.is_logged_on());
        assert_eq!(talk.numbers(), (1, 1));
    }
}
