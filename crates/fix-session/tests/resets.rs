//! Resets requested by the application: announced once, again after a broken connection, and no
//! message accepted since is lost or sent twice.

mod talk;

use talk::{NOW, Talk};
use tickwire_fix::Tag;
use tickwire_fix_session::{
    BeginString, DisconnectReason, OutgoingHeader, ResetOrigin, Session, SessionEvent, SessionRole,
    Store,
};

const RESET: &str = "35=A|98=0|108=30|141=Y";
const ANSWER: &str = "98=0|108=30|141=Y|";

fn send(session: &mut Session<impl Store>, text: &str) {
    session
        .send(NOW, &OutgoingHeader::new("B"), |writer| writer.str(Tag(148), text))
        .expect("accepted");
}

/// Returns a logged-on initiator with sequence numbers far from 1.
fn initiator() -> Talk {
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Initiator, |_| {});
    talk.session.handle_disconnected(NOW);
    talk.session.store_mut().set_next_sender(50).expect("memory");
    talk.session.store_mut().set_next_target(60).expect("memory");
    talk.session.handle_connected(NOW);
    assert_eq!(talk.answers(false), ["35=A|98=0|108=30"]);
    assert!(talk.say(60, "A", "98=0|108=30|").is_empty());
    talk
}

fn reconnect(talk: &mut Talk) {
    talk.session.handle_disconnected(NOW);
    talk.session.handle_connected(NOW);
}

#[test]
fn a_reset_that_waits_for_its_answer_is_not_said_again() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.session.reset(NOW);
    talk.session.reset(NOW);
    assert_eq!(talk.answers(false), [RESET]);
    assert!(talk.say(1, "A", ANSWER).is_empty());
    assert_eq!(talk.numbers(), (2, 2));
    // The next reset is a new one.
    talk.session.reset(NOW);
    assert_eq!(talk.answers(false), [RESET]);
}

#[test]
fn two_resets_at_once_are_each_the_answer_to_the_other() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.session.reset(NOW);
    assert_eq!(talk.answers(false), [RESET]);
    assert!(talk.say(1, "A", ANSWER).is_empty());
    assert_eq!(talk.say(2, "1", "112=x|"), ["35=0|112=x"]);
    assert_eq!(talk.numbers(), (3, 3));
}

#[test]
fn messages_wait_until_a_reset_is_answered() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.session.reset(NOW);
    send(&mut talk.session, "one");
    talk.session.send_test_request(NOW, "x");
    send(&mut talk.session, "two");
    assert_eq!(talk.answers(false), [RESET]);
    assert!(talk.session.backlog() == 3);
    let answers = talk.say(1, "A", ANSWER);
    assert_eq!(answers, ["35=B|148=one", "35=1|112=x", "35=B|148=two"]);
    assert_eq!(talk.numbers(), (5, 2));
}

#[test]
fn a_reset_that_is_not_answered_ends_the_connection() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.session.reset(NOW);
    talk.session.handle_timeout(NOW.plus(9_000_000_000));
    assert!(talk.disconnects().is_empty());
    talk.session.handle_timeout(NOW.plus(10_000_000_000));
    assert_eq!(talk.disconnects(), [DisconnectReason::LogonTimeout]);
}

#[test]
fn an_initiator_says_a_reset_again_that_was_not_answered() {
    let mut talk = initiator();
    talk.session.reset(NOW);
    send(&mut talk.session, "one");
    assert_eq!(talk.answers(false), [RESET]);
    reconnect(&mut talk);
    assert_eq!(talk.answers(false), [RESET]);
    assert_eq!(talk.numbers(), (3, 1), "the Logon has number 1 again");
    let answers = talk.say(1, "A", ANSWER);
    assert_eq!(answers, ["35=B|43=Y|148=one"]);
    assert_eq!(talk.numbers(), (3, 2));
    // The reset is complete.
    reconnect(&mut talk);
    assert_eq!(talk.answers(false), ["35=A|98=0|108=30"]);
}

#[test]
fn an_acceptor_answers_the_next_logon_by_a_reset_that_was_not_answered() {
    for seq_num in [2, 70] {
        let mut talk = Talk::logged_on(BeginString::Fix44);
        talk.session.reset(NOW);
        send(&mut talk.session, "one");
        assert_eq!(talk.answers(false), [RESET]);
        reconnect(&mut talk);
        assert_eq!(talk.say(seq_num, "A", "98=0|108=30|"), [RESET]);
        // The peer does not know of the reset yet.
        assert!(talk.say(seq_num + 1, "B", "148=old|33=1|58=x|").is_empty());
        assert!(talk.notices.contains(&SessionEvent::BeforeReset { seq_num: seq_num + 1 }));
        assert_eq!(talk.say(1, "A", ANSWER), ["35=B|43=Y|148=one"]);
        assert_eq!(talk.numbers(), (3, 2));
        assert_eq!(talk.say(2, "1", "112=x|"), ["35=0|112=x"]);
    }
}

#[test]
fn a_peer_that_resets_too_makes_ours_needless() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.session.reset(NOW);
    reconnect(&mut talk);
    assert_eq!(talk.say(1, "A", ANSWER), [RESET]);
    assert_eq!(talk.numbers(), (2, 2));
    reconnect(&mut talk);
    assert_eq!(talk.say(2, "A", "98=0|108=30|"), ["35=A|98=0|108=30"]);
}

#[test]
fn a_reset_while_a_logon_is_awaited_is_said_with_the_next() {
    let mut talk = initiator();
    reconnect(&mut talk);
    assert_eq!(talk.answers(false), ["35=A|98=0|108=30"]);
    talk.session.reset(NOW);
    assert_eq!(talk.disconnects(), [DisconnectReason::Reset]);
    reconnect(&mut talk);
    assert_eq!(talk.answers(false), [RESET]);
    assert!(talk.say(1, "A", ANSWER).is_empty());
    assert_eq!(talk.numbers(), (2, 2));
}

#[test]
fn a_reset_behind_our_logout_is_said_with_the_next_logon() {
    let mut talk = initiator();
    talk.session.logout(NOW, "");
    talk.session.reset(NOW);
    assert_eq!(talk.answers(false), ["35=5"]);
    assert!(talk.say(61, "5", "").is_empty());
    // Number 1 is reserved for the Logon.
    send(&mut talk.session, "one");
    reconnect(&mut talk);
    assert_eq!(talk.answers(false), [RESET]);
    assert_eq!(talk.say(1, "A", ANSWER), ["35=B|43=Y|148=one"]);
    assert_eq!(talk.numbers(), (3, 2));
}

#[test]
fn a_reset_while_disconnected_is_not_said() {
    let mut talk = initiator();
    talk.session.handle_disconnected(NOW);
    talk.session.reset(NOW);
    talk.session.handle_connected(NOW);
    assert_eq!(talk.answers(false), ["35=A|98=0|108=30"]);
    assert_eq!(talk.numbers(), (2, 1));
}

#[test]
fn a_logout_in_place_of_the_answer_to_a_reset_is_not_counted() {
    let mut talk = initiator();
    talk.session.reset(NOW);
    assert_eq!(talk.answers(false), [RESET]);
    assert_eq!(talk.say(1, "5", ""), ["35=5"]);
    assert_eq!(talk.numbers().1, 1);
    for _ in 0..2 {
        reconnect(&mut talk);
        assert_eq!(talk.answers(false), [RESET]);
        assert_eq!(talk.say(1, "5", "58=not now|"), ["35=5"]);
    }
    reconnect(&mut talk);
    assert_eq!(talk.answers(false), [RESET]);
    assert_eq!(talk.say(1, "A", ANSWER), ["35=4|43=Y|36=5|123=Y"], "our Logouts");
    assert!(talk.session.is_logged_on());
}

#[test]
fn messages_behind_our_logout_and_a_reset_are_not_counted() {
    let mut talk = initiator();
    talk.session.logout(NOW, "");
    talk.session.reset(NOW);
    assert_eq!(talk.answers(false), ["35=5"]);
    assert!(talk.say(1, "1", "112=x|").is_empty());
    // No message is sent with the new numbers either.
    talk.session.handle_timeout(NOW.plus(31_000_000_000));
    talk.handle_bytes(b"8=FIX.4.4\x019=5\x0135=0\x0110=161\x01");
    assert!(talk.answers(false).is_empty());
    assert_eq!(talk.numbers(), (1, 1));
}

#[test]
fn a_reset_of_the_peer_has_number_1() {
    for seq_num in [0, 2, 500] {
        let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, |_| {});
        talk.session.handle_disconnected(NOW);
        talk.session.store_mut().set_next_sender(50).expect("memory");
        talk.session.handle_connected(NOW);
        assert!(talk.say(seq_num, "A", ANSWER).is_empty());
        assert_eq!(talk.numbers(), (50, 1), "nothing is reset and no number used");
        let mut talk = initiator();
        let answers = talk.say(seq_num, "A", ANSWER);
        assert_eq!(answers, [format!("35=5|58=ResetSeqNumFlag needs MsgSeqNum 1, not {seq_num}")]);
        assert_eq!(talk.numbers(), (52, 61));
    }
}

#[test]
fn a_reset_by_the_logged_on_peer_tells_what_may_be_lost() {
    let mut talk = initiator();
    send(&mut talk.session, "an order");
    assert_eq!(talk.answers(false).len(), 1);
    talk.notices.clear();
    assert_eq!(talk.say(1, "A", ANSWER), [RESET], "the answer has number 1");
    let origin = ResetOrigin::PeerWhileLoggedOn;
    let told = SessionEvent::Reset { origin, last_sent: 51, last_received: 60 };
    assert_eq!(talk.notices, [told, SessionEvent::LoggedOn]);
    assert_eq!(talk.numbers(), (2, 2));
    // The peer's confirmation of a reset by this side does not count as a reset by the peer.
    talk.notices.clear();
    talk.session.reset(NOW);
    assert_eq!(talk.answers(false), [RESET]);
    assert!(talk.say(1, "A", ANSWER).is_empty());
    let origin = ResetOrigin::ThisSide;
    let told = SessionEvent::Reset { origin, last_sent: 1, last_received: 1 };
    assert_eq!(talk.notices, [told, SessionEvent::LoggedOn]);
    // The first Logon of a connection.
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, |_| {});
    assert_eq!(talk.say(1, "A", ANSWER), [RESET]);
    let origin = ResetOrigin::PeerAtLogon;
    let told = SessionEvent::Reset { origin, last_sent: 0, last_received: 0 };
    assert_eq!(talk.notices, [told, SessionEvent::LoggedOn]);
}
