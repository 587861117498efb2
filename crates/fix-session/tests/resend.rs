//! Resent messages have their original bytes.

mod talk;

use std::sync::Arc;

use talk::{NOW, Talk};
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{Dictionary, FixFramer, FixLimits, FramerStep, Reader, Tag};
use tickwire_fix_session::{
    ApplVersion, BeginString, Dictionaries, OutgoingHeader, SendError, Session, SessionEvent,
};

/// A dictionary with a user-defined data field, `5001` with the length field `5000`.
fn with_own_data(version: BeginString) -> Dictionaries {
    let mut dictionaries = Dictionaries::shipped(version).expect("loads");
    let own = "<field name='OwnDataLen' required='N'/><field name='OwnData' required='N'/>";
    let fields = "<field number='5000' name='OwnDataLen' type='LENGTH'/>\
                  <field number='5001' name='OwnData' type='DATA'/>";
    let text = match version {
        BeginString::Fixt11 => &shipped::FIX50SP2,
        _ => &shipped::FIX44,
    };
    let news = text.find("msgtype='B'").or_else(|| text.find("msgtype=\"B\"")).expect("News");
    let (head, tail) = text.split_at(news + text[news..].find('>').expect("its end") + 1);
    let text = format!("{head}{own}{}", tail.replace("</fields>", &format!("{fields}</fields>")));
    let dictionary = Arc::new(Dictionary::parse(&text).expect("parses"));
    match version {
        BeginString::Fixt11 => {
            let version = ApplVersion::Fix50Sp2;
            dictionaries.application.retain(|(known, _)| *known != version);
            dictionaries.application.push((version, dictionary));
        }
        _ => dictionaries.session = dictionary,
    }
    dictionaries
}

#[test]
fn the_body_of_a_message_that_is_sent_again_keeps_its_bytes() {
    for version in [BeginString::Fix44, BeginString::Fixt11] {
        let mut talk = Talk::logged_on_with(version, |config| {
            config.dictionaries = Some(with_own_data(version));
        });
        // Without the dictionary, `b=` would be parsed as a tag and written as `0=`.
        let data = b"a\x01b=c\x01049=d";
        talk.session
            .send(NOW, &OutgoingHeader::new("B"), |writer| {
                writer.str(Tag(148), "news");
                writer.data(Tag(5000), Tag(5001), data);
            })
            .expect("sent");
        let bytes = talk.session.poll_transmit(NOW).expect("commits").to_vec();
        talk.session.handle_transmitted(bytes.len());
        talk.handle(2, "2", "7=2|16=0|");
        let again = talk.session.poll_transmit(NOW).expect("commits").to_vec();
        let body = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).expect("text");
            let (_, body) = text.split_once("\u{1}148=").expect("the body");
            body.rsplit_once("\u{1}10=").expect("the trailer").0.to_owned()
        };
        assert_eq!(body(&again), body(&bytes), "{version}");
        assert!(String::from_utf8_lossy(&again).contains("\u{1}43=Y\u{1}"));
        // Received messages are parsed with the same data fields.
        let data = String::from_utf8(data.to_vec()).expect("text");
        let fields = format!("148=news|33=1|58=line|5000={}|5001={data}|", data.len());
        let notices = talk.notices.len();
        talk.handle(3, "B", &fields);
        let rejected = talk.notices[notices..]
            .iter()
            .any(|notice| matches!(notice, SessionEvent::Rejected { .. }));
        assert!(!rejected, "{version}: {:?}", &talk.notices[notices..]);
    }
}

#[test]
fn a_message_that_is_accepted_can_be_sent_again() {
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
        config.limits.message_len_max = 1000;
        config.last_seq_num_processed = true;
    });
    let mut sent = Vec::new();
    for len in 700..1000 {
        let text = "x".repeat(len);
        let outcome =
            talk.session.send(NOW, &OutgoingHeader::new("B"), |writer| writer.str(Tag(148), &text));
        match outcome {
            Ok(_) => sent.push(len),
            Err(error) => assert!(matches!(error, SendError::MessageLength), "{error}"),
        }
    }
    assert!((100..299).contains(&sent.len()), "{}", sent.len());
    assert_eq!(talk.answers(false).len(), sent.len());
    talk.handle(2, "2", "7=2|16=0|");
    // The peer has the same limit.
    let limits = FixLimits { message_len_max: 1000, ..FixLimits::default() };
    let (mut reader, mut framer, mut again) =
        (Reader::new().limits(limits), FixFramer::default(), 0);
    loop {
        let bytes = talk.session.poll_transmit(NOW).expect("commits").to_vec();
        talk.session.handle_transmitted(bytes.len());
        let mut at = 0;
        while let FramerStep::Message(message) = framer.step(&bytes[at..]) {
            let decoded = reader.decode(message).expect("within the limit");
            again += usize::from(decoded.msg_type() == b"B");
            at += message.len();
        }
        if bytes.is_empty() {
            break;
        }
    }
    assert_eq!(again, sent.len(), "none is filled over");
}

#[test]
fn a_number_that_is_not_told_any_more_is_sent_again_as_it_was() {
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
        config.last_seq_num_processed = true;
    });
    talk.session
        .send(NOW, &OutgoingHeader::new("B"), |writer| writer.str(Tag(148), "one"))
        .expect("sent");
    assert_eq!(talk.answers(false), ["35=B|369=1|148=one"]);
    let mut config = talk.session.config().clone();
    config.last_seq_num_processed = false;
    talk.session = Session::new(config, talk.session.store().clone());
    talk.session.handle_connected(NOW);
    talk.say(2, "A", "98=0|108=30|");
    assert_eq!(talk.say(3, "2", "7=2|16=2|"), ["35=B|43=Y|369=1|148=one"]);
}
