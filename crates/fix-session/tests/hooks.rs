//! Hooks: messages that are signed or withheld before sending, and the peer's answers.

mod talk;

use std::sync::{Arc, Mutex};

use talk::{NOW, Talk};
use tickwire_fix::{FixMessage, Tag};
use tickwire_fix_session::{
    AdditionalFields, BeginString, DisconnectReason, Hooks, OutgoingHeader, OutgoingMessage,
    SendDecision, SendError, SessionEvent, SessionId, SessionRole, Store,
};

/// Signs Logons, adds a field to messages or withholds them, and records received messages.
#[derive(Debug, Default)]
struct House {
    heard: Mutex<Vec<String>>,
    refuses: Option<&'static str>,
}

fn value<'m>(message: &FixMessage<'m, '_>, tag: u32) -> &'m str {
    let field = message.field(Tag(tag)).map_or(&b""[..], |field| field.value);
    std::str::from_utf8(field).expect("text")
}

impl Hooks for House {
    fn before_admin(&self, outgoing: &OutgoingMessage<'_>, added: &mut AdditionalFields) {
        let message = &outgoing.message;
        match message.msg_type() {
            b"A" => {
                let parts = [52, 35, 34, 49, 56, 554].map(|tag| value(message, tag));
                added.data(Tag(95), Tag(96), parts.join("\u{1}").as_bytes());
                added.text(Tag(554), "replaced");
            }
            b"0" => added.text(Tag(58), "alive"),
            b"1" => added.text(Tag(58), "bad\u{1}49=EVIL"),
            _ => {}
        }
    }

    fn before_application(
        &self,
        outgoing: &OutgoingMessage<'_>,
        added: &mut AdditionalFields,
    ) -> SendDecision {
        let text = value(&outgoing.message, 148);
        if !outgoing.is_resend {
            added.text(Tag(7001), "stamped");
        }
        let is_old = outgoing.is_resend && text == "stale";
        if is_old || text == "secret" { SendDecision::Withhold } else { SendDecision::Send }
    }

    fn admin_received(&self, _: &SessionId, message: &FixMessage<'_, '_>) -> Result<(), String> {
        let msg_type = String::from_utf8_lossy(message.msg_type()).into_owned();
        let is_refused = self.refuses == Some(msg_type.as_str());
        self.heard
            .lock()
            .expect("not poisoned")
            .push(format!("{msg_type} {}", value(message, 112)));
        if is_refused { Err(format!("no {msg_type}\u{1}please")) } else { Ok(()) }
    }
}

#[test]
fn a_logon_is_signed_over_its_own_header() {
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Initiator, |config| {
        config.hooks = Some(Arc::new(House::default()));
        config.password = Some("phrase".into());
    });
    let signed = "20240229-12:34:56.789\u{1}A\u{1}1\u{1}HERE\u{1}THERE\u{1}phrase";
    let expected = format!("35=A|98=0|108=30|95={}|96={signed}|554=replaced", signed.len());
    assert_eq!(talk.answers(false), [expected]);
}

#[test]
fn messages_are_stamped_withheld_and_withheld_again() {
    let house = Arc::new(House::default());
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
        config.hooks = Some(house.clone());
    });
    let mut send = |text: &str| {
        talk.session.send(NOW, &OutgoingHeader::new("B"), |writer| writer.str(Tag(148), text))
    };
    assert_eq!([send("one").ok(), send("stale").ok()], [Some(2), Some(3)]);
    assert!(matches!(send("secret"), Err(SendError::Withheld)));
    assert_eq!(send("two").ok(), Some(4));
    let sent = ["one", "stale", "two"].map(|text| format!("35=B|148={text}|7001=stamped"));
    assert_eq!(talk.answers(false), sent);
    let again = talk.say(2, "2", "7=2|16=0|");
    let expected = [
        "35=B|43=Y|148=one|7001=stamped",
        "35=4|43=Y|36=4|123=Y",
        "35=B|43=Y|148=two|7001=stamped",
    ];
    assert_eq!(again, expected);
    assert_eq!(talk.say(3, "1", "112=x|"), ["35=0|112=x|58=alive"]);
    assert_eq!(talk.session.store().next_sender(), 6);
}

#[test]
fn a_hook_hears_each_message_of_the_session_once_and_may_end_it() {
    let house = Arc::new(House { refuses: Some("3"), ..House::default() });
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
        config.hooks = Some(house.clone());
    });
    talk.say(2, "0", "");
    talk.say(4, "0", "112=early|");
    talk.say(3, "B", "148=x|33=0|");
    talk.say(5, "B", "148=x|33=0|");
    talk.say(2, "0", "43=Y|122=20240229-12:34:56|");
    assert_eq!(*house.heard.lock().expect("not poisoned"), ["0 ", "0 early"]);
    assert_eq!(talk.say(6, "3", "45=2|58=why|"), ["35=5|58=no 3 please"]);
    let why = DisconnectReason::Hook("no 3\u{1}please".to_owned());
    assert!(talk.notices.contains(&SessionEvent::Disconnect(why)), "{:?}", talk.notices);
}

#[test]
fn a_hook_that_breaks_a_message_ends_the_session_and_nothing_leaves() {
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
        config.hooks = Some(Arc::new(House::default()));
    });
    talk.session.send_test_request(NOW, "x");
    assert!(talk.answers(false).is_empty());
    assert!(matches!(talk.disconnects().as_slice(), [DisconnectReason::Unsendable(_)]));
}

/// A peer may request very many messages of which none is to be resent. Other sessions must not
/// wait for that.
#[test]
fn messages_that_are_withheld_are_looked_at_some_at_a_time() {
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
        config.hooks = Some(Arc::new(House::default()));
    });
    let padding = "x".repeat(4000);
    for number in 0..1000 {
        let sent = talk.session.send(NOW, &OutgoingHeader::new("B"), |writer| {
            writer.str(Tag(148), "stale");
            writer.str(Tag(58), &padding);
        });
        assert_eq!(sent.ok(), Some(number + 2));
    }
    while !talk.answers(false).is_empty() {}
    assert!(talk.say(2, "2", "7=2|16=0|").is_empty(), "not all in one call");
    let mut calls = 1;
    let answers = loop {
        assert_eq!(talk.session.poll_timeout(), Some(0), "it wants to go on");
        talk.session.handle_timeout(NOW);
        calls += 1;
        let answers = talk.answers(false);
        if !answers.is_empty() {
            break answers;
        }
    };
    assert_eq!(answers, ["35=4|43=Y|36=1002|123=Y"]);
    assert!((3..10).contains(&calls), "{calls}");
    assert_ne!(talk.session.poll_timeout(), Some(0));
}
