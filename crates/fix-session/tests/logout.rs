//! After our Logout no application message is sent, and none is lost.

mod talk;

use talk::{NOW, TIME, Talk};
use tickwire_fix::Tag;
use tickwire_fix_session::{
    BeginString, Config, DisconnectReason, Event, OutgoingHeader, SendError, Session, SessionEvent,
    Store,
};

fn send(session: &mut Session<impl Store>, text: &str) -> Result<u64, SendError> {
    session.send(NOW, &OutgoingHeader::new("B"), |writer| writer.str(Tag(148), text))
}

/// Logs the peer on again with its next number, and requests the messages that it is missing.
fn on_again(talk: &mut Talk, seq_num: u64, missing: u64) -> Vec<String> {
    talk.session.handle_disconnected(NOW);
    talk.session.handle_connected(NOW);
    let logon = talk.say(seq_num, "A", "98=0|108=30|");
    assert_eq!(logon, ["35=A|98=0|108=30"]);
    talk.say(seq_num + 1, "2", &format!("7={missing}|16=0|"))
}

#[test]
fn messages_behind_our_logout_wait_for_the_next_logon() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    assert_eq!(send(&mut talk.session, "before").ok(), Some(2));
    talk.session.logout(NOW, "");
    assert!(!talk.session.is_logged_on() && talk.session.is_logging_out());
    assert_eq!(send(&mut talk.session, "behind").ok(), Some(4), "it is stored");
    assert_eq!(talk.answers(false), ["35=B|148=before", "35=5"]);
    // Session messages are answered until the peer sends Logout.
    assert_eq!(talk.say(2, "1", "112=x|"), ["35=0|112=x"]);
    // No new application message is sent, not even an answer.
    assert!(talk.say(3, "B", "148=x|33=1|58=x|").is_empty());
    talk.session.send_test_request(NOW, "x");
    assert!(talk.answers(false).is_empty());
    assert!(talk.say(4, "5", "").is_empty());
    let again = on_again(&mut talk, 5, 4);
    assert_eq!(again[..2], ["35=B|43=Y|148=behind", "35=4|43=Y|36=6|123=Y"]);
    assert!(again[2].starts_with("35=j|43=Y|45=3|"), "{again:?}");
    assert_eq!(again[3..], ["35=4|43=Y|36=8|123=Y"]);
}

#[test]
fn a_backlog_does_not_go_out_behind_our_logout_unless_it_is_asked_for() {
    let small = |config: &mut Config| config.limits.transmit_len_max = 0;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, small);
    for text in ["one", "two", "three"] {
        send(&mut talk.session, text).expect("stored");
    }
    assert_eq!(talk.session.backlog(), 2);
    talk.session.logout(NOW, "");
    assert_eq!(talk.session.backlog(), 0);
    // The Logout overtakes the queued messages: the peer sees the gap.
    assert_eq!(talk.answers(false), ["35=B|148=one", "35=5"]);
    let again = talk.say(2, "2", "7=3|16=0|");
    assert_eq!(again, ["35=B|43=Y|148=two", "35=B|43=Y|148=three", "35=4|43=Y|36=6|123=Y"]);
    // During a resend, session messages are not queued without limit: further ones are omitted.
    let bytes = talk.session.store().next_sender();
    talk.handle(3, "2", "7=3|16=0|");
    for seq_num in 4..=9 {
        talk.handle(seq_num, "1", "112=x|");
    }
    assert_eq!(talk.session.store().next_sender(), bytes);
    assert_eq!(talk.answers(false).len(), 3);
}

#[test]
fn a_session_that_would_forget_a_message_behind_its_logout_does_not_take_it() {
    for tweak in [(|config| config.persist_messages = false) as fn(&mut Config), |config| {
        config.reset_on_logout = true
    }] {
        let mut talk = Talk::logged_on_with(BeginString::Fix44, tweak);
        talk.session.logout(NOW, "");
        let sent = send(&mut talk.session, "behind");
        assert!(matches!(sent, Err(SendError::NotLoggedOn)), "{sent:?}");
        assert_eq!(talk.answers(false), ["35=5"]);
    }
}

#[test]
fn a_reset_behind_our_logout_is_no_logon() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.session.logout(NOW, "");
    assert_eq!(talk.answers(false), ["35=5"]);
    talk.session.reset(NOW);
    assert!(!talk.session.skip_to(NOW, 20));
    assert!(talk.answers(false).is_empty());
    talk.handle_from("THERE", TIME, 2, "5", "");
    assert!(talk.answers(false).is_empty());
    let store = talk.session.store();
    assert_eq!((store.next_sender(), store.next_target()), (1, 1));
}

#[test]
fn what_a_peer_asks_for_before_it_answers_our_logout_begins_the_wait_anew() {
    let at = |seconds: u64| NOW.plus(seconds * 1_000_000_000);
    let mut talk = Talk::logged_on(BeginString::Fix44);
    send(&mut talk.session, "one").expect("sent");
    talk.session.logout(NOW, "");
    assert_eq!(talk.answers(false), ["35=B|148=one", "35=5"]);
    for (seq_num, second) in (2..).zip(1..=59) {
        talk.now = at(second);
        assert_eq!(talk.say(seq_num, "2", "7=2|16=2|"), ["35=B|43=Y|148=one"], "{second}");
        talk.session.handle_timeout(at(second + 1));
        // The wait is limited.
        let told = if second < 59 { Vec::new() } else { vec![DisconnectReason::LogoutTimeout] };
        assert_eq!(talk.disconnects(), told, "{second}");
    }
}

#[test]
fn a_logout_right_behind_a_resend_request_is_answered_behind_what_was_asked_for() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    send(&mut talk.session, "one").expect("sent");
    talk.answers(false);
    let mut bytes = talk.message(2, "2", "7=2|16=0|");
    bytes.extend(talk.message(3, "5", "58=bye|"));
    talk.handle_bytes(&bytes);
    assert_eq!(talk.answers(false), ["35=B|43=Y|148=one", "35=5"]);
    assert_eq!(talk.session.poll_timeout(), Some(0), "the end is to be told");
    assert_eq!(talk.disconnects(), [DisconnectReason::LoggedOut { text: "bye".to_owned() }]);
    assert_eq!(talk.numbers(), (4, 4));
}

#[test]
fn a_logout_ahead_of_its_turn_waits_for_what_is_missing() {
    let at = |seconds: u64| NOW.plus(seconds * 1_000_000_000);
    let early = || {
        let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
            config.reset_on_logout = true;
        });
        assert_eq!(talk.say(4, "5", "58=bye|"), ["35=2|7=2|16=0", "35=5"]);
        assert!(
            talk.disconnects().is_empty(),
            "the peer began the Logout and closes the connection"
        );
        talk
    };
    let told = [DisconnectReason::LoggedOut { text: "bye".to_owned() }];
    let mut talk = early();
    let mut bytes = talk.message(2, "0", "");
    bytes.extend(talk.message(3, "B", &format!("43=Y|122={TIME}|148=x|33=1|58=x|")));
    talk.session.handle_bytes(&bytes);
    let mut delivered = 0;
    while let Some(event) = talk.session.poll_event(NOW) {
        delivered += u32::from(matches!(event, Event::Application(_)));
    }
    assert_eq!(delivered, 1, "nothing is lost by the reset of a Logout");
    assert!(talk.answers(false).is_empty());
    assert_eq!(talk.disconnects(), told);
    assert_eq!(talk.numbers(), (1, 1));
    // A peer that does not resend does not delay the Logout.
    let mut talk = early();
    talk.session.handle_timeout(at(1));
    assert!(talk.disconnects().is_empty());
    talk.session.handle_timeout(at(2));
    assert_eq!(talk.disconnects(), told);
    // If the numbers continue, the next Logon shows the gap.
    let mut talk = Talk::logged_on(BeginString::Fix44);
    assert_eq!(talk.say(4, "5", "58=bye|"), ["35=5"]);
    assert_eq!(talk.numbers().1, 2);
    // A Logout that answers ours ends the session, whatever its number.
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.session.logout(NOW, "");
    assert_eq!(talk.answers(false), ["35=5"]);
    assert!(talk.say(4, "5", "58=bye|").is_empty());
    assert!(
        talk.notices.contains(&SessionEvent::Disconnect(told[0].clone()))
            || talk.disconnects() == told
    );
}
