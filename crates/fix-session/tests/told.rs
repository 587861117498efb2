//! Events and counters of a session for rejects, garbage and duplicates, and its answers to
//! malformed fields.

mod talk;

use talk::{NOW, TIME, Talk};
use tickwire_fix::{SessionRejectReason, Tag};
use tickwire_fix_session::{
    BeginString, DisconnectReason, Event, OutgoingHeader, Refusal, SessionEvent, SessionRole,
};

#[test]
fn rejects_of_the_peer_are_told_and_counted() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.say(2, "3", "45=7|58=why|");
    let told = SessionEvent::RejectReceived { seq_num: 7, text: "why".to_owned() };
    assert!(talk.notices.contains(&told), "{:?}", talk.notices);
    talk.say(3, "j", "45=8|58=no|372=D|380=3|");
    let told = SessionEvent::RejectReceived { seq_num: 8, text: "no".to_owned() };
    assert!(talk.notices.contains(&told), "{:?}", talk.notices);
    assert_eq!(talk.session.counters().refused, 2);
    talk.say(4, "B", "148=x|33=1|58=x|");
    let counters = talk.session.counters();
    assert_eq!((counters.refused, counters.delivered), (2, 2), "News refuses nothing");
}

#[test]
fn rejects_name_the_tag_only_where_there_is_one() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    assert_eq!(talk.say(2, "ZZ", ""), ["35=3|45=2|58=Invalid MsgType|372=ZZ|373=11"]);
    let text = "58=Invalid tag number";
    assert_eq!(talk.say(3, "0", "0=x|"), [format!("35=3|45=3|{text}|371=0|372=0|373=0")]);
    assert_eq!(talk.say(4, "0", "-5=x|"), [format!("35=3|45=4|{text}|371=-5|372=0|373=0")]);
    assert_eq!(talk.say(5, "0", "abc=x|"), [format!("35=3|45=5|{text}|372=0|373=0")]);
}

#[test]
fn garbage_between_messages_is_counted_and_hides_none() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    let mut garbled = talk.message(9, "0", "");
    let place = garbled.len() - 2;
    garbled[place] ^= 1;
    let first = talk.message(2, "1", "112=a|");
    let last = talk.message(3, "1", "112=b|");
    talk.handle_bytes(&[&first[..], b"GET / HTTP", &garbled, &last].concat());
    assert_eq!(talk.answers(false), ["35=0|112=a", "35=0|112=b"]);
    assert!(talk.notices.contains(&SessionEvent::Garbage { len: 10 }), "{:?}", talk.notices);
    assert_eq!(talk.session.counters().garbled, 2);
    assert!(talk.session.is_logged_on());
}

#[test]
fn garbage_before_the_logon_ends_the_connection() {
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, |_| {});
    talk.handle_bytes(b"GET / HTTP/1.1\r\n\r\n");
    assert!(
        talk.notices.contains(&SessionEvent::Disconnect(DisconnectReason::NotLoggedOn)),
        "{:?}",
        talk.notices
    );
    assert_eq!(talk.session.counters().garbled, 1);
}

#[test]
fn possible_duplicates_that_are_ignored_are_counted() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    for _ in 0..2 {
        assert!(talk.say(1, "0", &format!("43=Y|122={TIME}|")).is_empty());
    }
    assert_eq!(talk.session.counters().duplicates, 2);
}

#[test]
fn an_answer_from_within_a_delivery_is_a_message_of_the_session() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    let news = talk.message(2, "B", "148=x|33=1|58=x|");
    talk.session.handle_bytes(&news);
    let Some(Event::Application(mut delivery)) = talk.session.poll_event(NOW) else {
        panic!("no delivery")
    };
    let sent = delivery.send(&OutgoingHeader::new("B"), |writer| writer.str(Tag(148), "answer"));
    assert_eq!(sent.expect("sent"), 2);
    assert_eq!(talk.answers(false), ["35=B|148=answer"]);
    assert_eq!(talk.numbers(), (3, 3));
}

#[test]
fn an_initiator_is_told_what_is_wrong_with_the_answer_to_its_logon() {
    let invalid =
        |tag: Option<u32>, reason| SessionEvent::Invalid { seq_num: 1, reason, tag: tag.map(Tag) };
    let late = SessionRejectReason::SendingTimeAccuracy;
    for (time, body, refusal, notice) in [
        (
            TIME,
            "98=0|",
            Refusal::Invalid,
            invalid(Some(108), SessionRejectReason::RequiredTagMissing),
        ),
        ("20240101-00:00:00", "98=0|108=30|", Refusal::SendingTime, invalid(None, late)),
    ] {
        let mut talk = Talk::new(BeginString::Fix44, SessionRole::Initiator, |_| {});
        talk.answers(false);
        talk.handle_from("THERE", time, 1, "A", body);
        assert!(talk.answers(false).is_empty());
        let ended = SessionEvent::Disconnect(DisconnectReason::LogonRefused(refusal));
        assert!(talk.notices.contains(&notice), "{:?}", talk.notices);
        let ends = talk.disconnects().into_iter().map(SessionEvent::Disconnect);
        assert!(
            talk.notices.iter().cloned().chain(ends).any(|told| told == ended),
            "{:?}",
            talk.notices
        );
    }
}
