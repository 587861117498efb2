//! Differences between protocol versions: the form of rejects and resend requests, the precision of
//! times, the fields of a Logon.

mod talk;

use talk::{NOW, TIME, Talk};
use tickwire_fix::Tag;
use tickwire_fix_session::{BeginString, Config, OutgoingHeader, SessionRole};

/// Runs a check with each version and compares the results.
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
    // The session dictionary of FIXT lacks application fields.
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

/// Returns the body of a News in this version: FIX 4.1 added Headline.
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
            let head = OutgoingHeader::new("B");
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
        talk.session.send(NOW, &OutgoingHeader::new("B"), |_| {}).expect("accepted");
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
        // The rest differs between versions.
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
    // FIX 4.2 added TransactTime to orders; ClOrdID is missing in all versions.
    let old: &[&str] = &["35=3|45=2|58=Required tag missing (11)"];
    let new: &[&str] = &["35=3|45=2|58=Required tag missing|371=11|372=D|373=1"];
    let order = format!("60={TIME}|21=1|38=5|40=1|54=1|55=ABC|");
    let check = |version| Talk::logged_on(version).say(2, "D", &order);
    by_version(check, [old, old, new, new, new, new]);
}

#[test]
fn a_logon_says_reset_from_41_on_and_the_application_version_over_fixt_only() {
    let tweak = |config: &mut Config| config.reset_on_logon = true;
    let check = |version| Talk::new(version, SessionRole::Initiator, tweak).answers(false);
    let old: &[&str] = &["35=A|98=0|108=30"];
    let new: &[&str] = &["35=A|98=0|108=30|141=Y"];
    let fixt: &[&str] = &["35=A|98=0|108=30|141=Y|1137=9"];
    by_version(check, [old, new, new, new, new, fixt]);
}

#[test]
fn the_next_number_expected_is_said_from_44_on() {
    let tweak = |config: &mut Config| config.next_expected_seq_num = true;
    let check = |version| Talk::new(version, SessionRole::Initiator, tweak).answers(false);
    let old: &[&str] = &["35=A|98=0|108=30"];
    let new: &[&str] = &["35=A|98=0|108=30|789=1"];
    let fixt: &[&str] = &["35=A|98=0|108=30|789=1|1137=9"];
    by_version(check, [old, old, old, old, new, fixt]);
}
