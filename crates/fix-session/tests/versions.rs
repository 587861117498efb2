//! What depends on the version of the protocol: the form of rejects, how resends are asked for, the
//! precision of times, which fields a Logon has.

use std::sync::OnceLock;

use tickwire_fix::{BusinessRejectReason, Framer, Reader, Step, Tag};
use tickwire_fix_session::{
    BeginString, Config, Dictionaries, Event, Head, MemoryStore, Now, Role, Session, SessionId,
};

const NOW: Now = Now { wall_ns: 1_709_210_096_789_000_000, steady_ns: 1 };
const TIME: &str = "20240229-12:34:56";

/// The dictionaries of a version, loaded once for all tests.
fn dictionaries(version: BeginString) -> Dictionaries {
    static LOADED: [OnceLock<Dictionaries>; 6] = [const { OnceLock::new() }; 6];
    let load = || Dictionaries::shipped(version).expect("loads");
    LOADED[version as usize].get_or_init(load).clone()
}

/// A session and the peer that talks to it.
struct Talk {
    version: BeginString,
    session: Session<MemoryStore>,
}

/// MsgType and fields as text: each message of the session without header, times and trailer.
fn readable(bytes: &[u8], with_times: bool) -> Vec<String> {
    let (mut framer, mut reader) = (Framer::default(), Reader::new());
    let (mut messages, mut at) = (Vec::new(), 0);
    while let Step::Message(found) = framer.step(&bytes[at..]) {
        let message = reader.decode(found).expect("whole");
        let text = |at| {
            let field = message.field_at(at).expect("there");
            (field.tag.0, format!("{}={}", field.tag, String::from_utf8_lossy(field.value)))
        };
        let is_told = |tag: u32| !matches!(tag, 8..=10 | 34 | 49 | 52 | 56 | 122);
        let fields = (0..message.len()).map(text);
        let fields =
            fields.filter(|(tag, _)| is_told(*tag) || with_times && matches!(tag, 52 | 122));
        messages.push(fields.map(|(_, text)| text).collect::<Vec<_>>().join("|"));
        at += found.len();
    }
    messages
}

impl Talk {
    fn new(version: BeginString, role: Role, tweak: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(role, SessionId::new(version, "HERE", "THERE"));
        config.dictionaries = Some(dictionaries(version));
        config.default_appl_ver_id = Some("9".to_owned());
        tweak(&mut config);
        let mut session = Session::new(config, MemoryStore::new());
        session.handle_connected(NOW);
        Self { version, session }
    }

    fn logged_on(version: BeginString) -> Self {
        let mut talk = Self::new(version, Role::Acceptor, |_| {});
        let logon = talk.say(1, "A", talk.logon());
        assert_eq!(logon.len(), 1, "{logon:?}");
        talk
    }

    const fn logon(&self) -> &'static str {
        match self.version {
            BeginString::Fixt11 => "98=0|108=30|1137=9|",
            _ => "98=0|108=30|",
        }
    }

    /// Says a message, whose header may go on at the start of `body`, and returns the answers.
    fn say(&mut self, seq_num: u64, msg_type: &str, body: &str) -> Vec<String> {
        self.handle(seq_num, msg_type, body);
        self.answers(false)
    }

    fn handle(&mut self, seq_num: u64, msg_type: &str, body: &str) {
        let head = format!("35={msg_type}|34={seq_num}|49=THERE|52={TIME}|56=HERE|");
        let body = (head + body).replace('|', "\u{1}");
        let version = self.version.as_str();
        let mut bytes = format!("8={version}\u{1}9={}\u{1}{body}", body.len()).into_bytes();
        let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
        bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
        self.session.handle_bytes(&bytes);
        while let Some(event) = self.session.poll_event(NOW) {
            if let Event::Application(mut delivery) = event {
                let reason = BusinessRejectReason::UnsupportedMessageType;
                delivery.reject_business(reason, Some(b"my id")).expect("answers");
            }
        }
    }

    fn answers(&mut self, with_times: bool) -> Vec<String> {
        let bytes = self.session.poll_transmit(NOW).expect("commits").to_vec();
        self.session.handle_transmitted(bytes.len());
        readable(&bytes, with_times)
    }
}

/// Runs a check on each version and compares what it gives.
fn by_version(check: impl Fn(BeginString) -> Vec<String>, expected: [&[&str]; 6]) {
    for (version, expected) in BeginString::ALL.into_iter().zip(expected) {
        assert_eq!(check(version), expected, "{version:?}");
    }
}

#[test]
fn a_reject_names_the_tag_in_its_text_before_42_and_in_fields_from_then_on() {
    let old: &[&str] = &["35=3|45=2|58=Tag not defined for this message type (55)"];
    let new: &[&str] = &["35=3|45=2|58=Tag not defined for this message type|371=55|372=0|373=2"];
    let check = |version| Talk::logged_on(version).say(2, "0", "55=ABC|");
    // The session's dictionary of FIXT does not know the fields of applications.
    let fixt: &[&str] = &["35=3|45=2|58=Invalid tag number|371=55|372=0|373=0"];
    by_version(check, [old, old, new, new, new, fixt]);
}

#[test]
fn reasons_above_11_came_after_42() {
    let old: &[&str] = &["35=3|45=2|58=Tag appears more than once (112)"];
    let without: &[&str] = &["35=3|45=2|58=Tag appears more than once|371=112|372=0"];
    let new: &[&str] = &["35=3|45=2|58=Tag appears more than once|371=112|372=0|373=13"];
    let check = |version| Talk::logged_on(version).say(2, "0", "112=a|112=b|");
    by_version(check, [old, old, without, new, new, new]);
}

/// A News in the version's fields: Headline came with FIX 4.1.
const fn news(version: BeginString) -> &'static str {
    match version {
        BeginString::Fix40 => "33=1|58=heard|",
        _ => "148=Rumour|33=1|58=heard|",
    }
}

#[test]
fn an_unsupported_message_is_rejected_by_a_plain_reject_before_42() {
    let old: &[&str] = &["35=3|45=2|58=Unsupported message type"];
    let new: &[&str] = &["35=j|45=2|58=Unsupported Message Type|372=B|379=my id|380=3"];
    let check = |version| Talk::logged_on(version).say(2, "B", news(version));
    by_version(check, [old, old, new, new, new, new]);
}

#[test]
fn all_that_is_missing_is_asked_for_up_to_999999_before_42_and_to_0_from_then_on() {
    let (old, new): (&[&str], &[&str]) = (&["35=2|7=2|16=999999"], &["35=2|7=2|16=0"]);
    by_version(|version| Talk::logged_on(version).say(5, "0", ""), [old, old, new, new, new, new]);
}

#[test]
fn a_request_without_end_is_understood_in_both_forms() {
    for (version, end) in [
        (BeginString::Fix40, 999_999),
        (BeginString::Fix41, 0),
        (BeginString::Fix42, 999_999),
        (BeginString::Fix44, 0),
        (BeginString::Fixt11, 0),
    ] {
        let mut talk = Talk::logged_on(version);
        for text in ["first", "second"] {
            let head = Head::new("B");
            talk.session.send(NOW, &head, |writer| writer.str(Tag(148), text)).expect("accepted");
        }
        assert_eq!(talk.answers(false), ["35=B|148=first", "35=B|148=second"]);
        let again = talk.say(2, "2", &format!("7=1|16={end}|"));
        let expected = ["35=4|43=Y|36=2|123=Y", "35=B|43=Y|148=first", "35=B|43=Y|148=second"];
        assert_eq!(again, expected, "{version:?}");
    }
}

#[test]
fn times_have_milliseconds_from_42_on_in_what_is_sent_again_too() {
    let check = |version| {
        let mut talk = Talk::logged_on(version);
        talk.session.send(NOW, &Head::new("B"), |_| {}).expect("accepted");
        let mut times = talk.answers(true);
        talk.handle(2, "2", "7=2|16=2|");
        times.append(&mut talk.answers(true));
        times
    };
    let old: &[&str] =
        &["35=B|52=20240229-12:34:56", "35=B|43=Y|52=20240229-12:34:56|122=20240229-12:34:56"];
    let new: &[&str] = &[
        "35=B|52=20240229-12:34:56.789",
        "35=B|43=Y|52=20240229-12:34:56.789|122=20240229-12:34:56.789",
    ];
    by_version(check, [old, old, new, new, new, new]);
}

#[test]
fn the_way_back_has_location_ids_from_41_on() {
    let wrong = "115=OUT|116=DESK|144=TOWN|112=a|112=b|";
    let old: &[&str] = &["35=3|128=OUT|129=DESK|45=2|58=Invalid tag number (144)"];
    let check = |version| {
        let mut answers = Talk::logged_on(version).say(2, "0", wrong);
        // What follows is told in each version's own form.
        if version > BeginString::Fix40 {
            answers.iter_mut().for_each(|answer| answer.truncate(35));
        }
        answers
    };
    let new: &[&str] = &["35=3|128=OUT|129=DESK|145=TOWN|45=2"];
    by_version(check, [old, new, new, new, new, new]);
}

#[test]
fn a_missing_field_is_told_before_one_that_the_version_does_not_have() {
    // TransactTime came to orders with FIX 4.2; ClOrdID is missing in all versions.
    let old: &[&str] = &["35=3|45=2|58=Required tag missing (11)"];
    let new: &[&str] = &["35=3|45=2|58=Required tag missing|371=11|372=D|373=1"];
    let order = format!("60={TIME}|21=1|38=5|40=1|54=1|55=ABC|");
    let check = |version| Talk::logged_on(version).say(2, "D", &order);
    by_version(check, [old, old, new, new, new, new]);
}

#[test]
fn a_logon_says_reset_from_41_on_and_the_application_version_over_fixt_only() {
    let tweak = |config: &mut Config| config.reset_on_logon = true;
    let check = |version| Talk::new(version, Role::Initiator, tweak).answers(false);
    let old: &[&str] = &["35=A|98=0|108=30"];
    let new: &[&str] = &["35=A|98=0|108=30|141=Y"];
    let fixt: &[&str] = &["35=A|98=0|108=30|141=Y|1137=9"];
    by_version(check, [old, new, new, new, new, fixt]);
}

#[test]
fn the_next_number_expected_is_said_from_44_on() {
    let tweak = |config: &mut Config| config.next_expected_seq_num = true;
    let check = |version| Talk::new(version, Role::Initiator, tweak).answers(false);
    let old: &[&str] = &["35=A|98=0|108=30"];
    let new: &[&str] = &["35=A|98=0|108=30|789=1"];
    let fixt: &[&str] = &["35=A|98=0|108=30|789=1|1137=9"];
    by_version(check, [old, old, old, old, new, fixt]);
}
