//! Unauthenticated peers change nothing: no sequence number is used, no store is cleared.

mod talk;

use talk::{NOW, Talk};
use tickwire_fix_session::{
    BeginString, Config, DisconnectReason, OutgoingHeader, Refusal, SendError, Session,
    SessionEvent, SessionRole, Store,
};

const LOGON: &str = "98=0|108=30|";

/// Returns an acceptor that has sent five messages and received three.
fn acceptor(tweak: impl FnOnce(&mut Config)) -> Talk {
    let mut talk = Talk::new(BeginString::Fix44, SessionRole::Acceptor, tweak);
    talk.session.handle_disconnected(NOW);
    let store = talk.session.store_mut();
    store.set_next_sender(5).expect("memory");
    store.append(b"8=FIX.4.4\x01").expect("memory");
    store.set_next_target(4).expect("memory");
    talk.session.handle_connected(NOW);
    talk
}

/// Returns both sequence numbers, and true if the last sent message is still stored.
fn state(talk: &mut Talk) -> (u64, u64, bool) {
    let store = talk.session.store_mut();
    let kept = store.read_next(5, &mut Vec::new()).expect("memory") == Some(5);
    (store.next_sender(), store.next_target(), kept)
}

fn why(talk: &mut Talk) -> Option<DisconnectReason> {
    let told = talk.notices.iter().find_map(|notice| match notice {
        SessionEvent::Disconnect(why) => Some(why.clone()),
        _ => None,
    });
    told.or_else(|| talk.disconnects().pop())
}

#[test]
fn a_logon_with_a_low_number_is_closed_without_a_message_and_uses_no_number() {
    for body in [LOGON.to_owned(), format!("43=Y|122=20240229-12:34:56|{LOGON}")] {
        let mut talk = acceptor(|_| {});
        assert!(talk.say(1, "A", &body).is_empty(), "{body}");
        assert_eq!(state(&mut talk), (6, 4, true));
        assert_eq!(why(&mut talk), Some(DisconnectReason::LogonRefused(Refusal::MsgSeqNum)));
    }
}

#[test]
fn an_authenticated_logon_with_a_low_number_is_told_what_is_expected() {
    let mut talk = acceptor(|config| config.authenticate = true);
    let expected = "35=5|58=MsgSeqNum too low, expecting 4 but received 1";
    assert_eq!(talk.say(1, "A", LOGON), [expected]);
    assert_eq!(state(&mut talk), (7, 4, true));
}

#[test]
fn a_reset_with_wrong_credentials_empties_nothing() {
    let mut talk = acceptor(|config| config.authenticate = true);
    talk.refusal = Some("unknown user");
    let answers = talk.say(1, "A", "98=0|108=30|141=Y|553=me|554=wrong|");
    assert_eq!(answers, ["35=5|58=unknown user"]);
    assert_eq!(state(&mut talk), (6, 4, true), "the Logout took no number");
    assert_eq!(why(&mut talk), Some(DisconnectReason::LogonRefused(Refusal::Credentials)));
}

#[test]
fn a_replayed_reset_empties_nothing() {
    let mut talk = acceptor(|_| {});
    talk.handle_from("THERE", "20240229-11:34:56", 1, "A", "98=0|108=30|141=Y|");
    assert!(talk.answers(false).is_empty());
    assert_eq!(state(&mut talk), (6, 4, true));
    assert_eq!(why(&mut talk), Some(DisconnectReason::LogonRefused(Refusal::SendingTime)));
}

#[test]
fn an_acceptor_that_resets_with_each_logon_does_so_for_accepted_ones_only() {
    let resets = |config: &mut Config| {
        config.reset_on_logon = true;
        config.reset_on_disconnect = true;
        config.authenticate = true;
    };
    let mut talk = acceptor(|_| {});
    let mut config = talk.session.config().clone();
    resets(&mut config);
    talk.session = Session::new(config, talk.session.store().clone());
    talk.session.handle_connected(NOW);
    talk.refusal = Some("");
    assert!(talk.say(4, "A", LOGON).is_empty());
    talk.session.handle_disconnected(NOW);
    assert_eq!(state(&mut talk), (6, 4, true), "the end of the connection changes nothing either");
    talk.refusal = None;
    talk.session.handle_connected(NOW);
    assert_eq!(talk.say(1, "A", LOGON), ["35=A|98=0|108=30"]);
    assert_eq!(state(&mut talk), (2, 2, false));
}

#[test]
fn what_else_a_first_message_can_be_changes_nothing() {
    for (msg_type, body, refusal) in [
        ("0", "", Refusal::NotLogon),
        ("5", "", Refusal::NotLogon),
        ("2", "7=1|16=0|", Refusal::NotLogon),
        ("4", "36=100|", Refusal::NotLogon),
        ("A", "98=0|", Refusal::Invalid),
        ("A", "98=0|108=x|", Refusal::Invalid),
        ("A", "98=0|108=30|9999=x|", Refusal::Invalid),
    ] {
        let mut talk = acceptor(|_| {});
        assert!(talk.say(4, msg_type, body).is_empty(), "{msg_type} {body}");
        assert_eq!(state(&mut talk), (6, 4, true), "{msg_type} {body}");
        assert_eq!(
            why(&mut talk),
            Some(DisconnectReason::LogonRefused(refusal)),
            "{msg_type} {body}"
        );
    }
    let mut talk = acceptor(|config| config.dictionaries = None);
    assert!(talk.say(4, "A", "98=0|").is_empty(), "no HeartBtInt");
    assert_eq!(state(&mut talk), (6, 4, true));
    assert_eq!(why(&mut talk), Some(DisconnectReason::LogonRefused(Refusal::HeartBtInt)));
}

#[test]
fn a_stranger_does_not_begin_the_session_of_a_new_day() {
    let daily = |config: &mut Config| {
        let schedule = tickwire_fix_session::Schedule::daily("UTC", "08:00:00", "16:00:00");
        config.schedule = Some(schedule.expect("well written"));
        config.authenticate = true;
    };
    let mut talk = acceptor(daily);
    assert_eq!(state(&mut talk), (6, 4, true), "a connection alone changes nothing");
    talk.refusal = Some("");
    assert!(talk.say(1, "A", LOGON).is_empty());
    assert_eq!(state(&mut talk), (6, 4, true));
    talk.session.handle_disconnected(NOW);
    talk.session.handle_connected(NOW);
    talk.refusal = None;
    assert_eq!(talk.say(1, "A", LOGON), ["35=A|98=0|108=30"]);
    assert_eq!(state(&mut talk), (2, 2, false), "the old numbering has ended");
}

#[test]
fn fields_of_the_application_cannot_add_others() {
    use tickwire_fix::Tag;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
        config.target_sub_id = Some("DESK".to_owned());
    });
    type Fields = &'static [(Tag, &'static [u8])];
    let cases: [(&str, Fields); 16] = [
        ("B", &[(Tag(50), b"x\x0149=EVIL")]),
        ("B", &[(Tag(50), b"")]),
        ("B", &[(Tag(49), b"EVIL")]),
        ("B", &[(Tag(34), b"7")]),
        ("B", &[(Tag(43), b"Y")]),
        ("B", &[(Tag(52), b"20240229-12:34:56")]),
        ("B", &[(Tag(57), b"twice")]),
        ("B", &[(Tag(58), b"no header field")]),
        ("B", &[(Tag(115), b"out of"), (Tag(50), b"order")]),
        ("B", &[(Tag(50), b"a"), (Tag(50), b"b")]),
        ("B", &[(Tag(212), b"3"), (Tag(213), b"too long")]),
        ("B", &[(Tag(213), b"a\x01b")]),
        ("B\u{1}49=EVIL", &[]),
        ("", &[]),
        ("A", &[]),
        ("5", &[]),
    ];
    for (msg_type, fields) in cases {
        let head = OutgoingHeader { msg_type, fields };
        let sent = talk.session.send(NOW, &head, |writer| writer.str(Tag(148), "x"));
        assert!(matches!(sent, Err(SendError::Header(_))), "{msg_type} {fields:?}: {sent:?}");
    }
    let body =
        talk.session.send(NOW, &OutgoingHeader::new("B"), |writer| writer.str(Tag(148), "x\u{1}y"));
    assert!(matches!(body, Err(SendError::Value)), "{body:?}");
    assert!(talk.answers(false).is_empty());
    assert_eq!(talk.session.store().next_sender(), 2);
    let fields: Fields =
        &[(Tag(50), b"me"), (Tag(212), b"3"), (Tag(213), b"a\x01b"), (Tag(5001), b"own")];
    let head = OutgoingHeader { msg_type: "B", fields };
    talk.session.send(NOW, &head, |writer| writer.str(Tag(148), "x")).expect("accepted");
    assert_eq!(talk.answers(false), ["35=B|50=me|57=DESK|212=3|213=a\u{1}b|5001=own|148=x"]);
}

#[test]
fn words_of_the_application_cannot_add_fields() {
    let mut talk = Talk::logged_on(BeginString::Fix44);
    talk.session.send_test_request(NOW, "id\u{1}49=EVIL");
    talk.session.logout(NOW, "done\u{1}49=EVIL");
    assert_eq!(talk.answers(false), ["35=1|112=id 49=EVIL", "35=5|58=done 49=EVIL"]);
}

#[test]
fn a_configured_password_is_wanted_before_anything_is_stored() {
    let guarded = |config: &mut Config| {
        config.required_username = Some("me".to_owned());
        config.required_password = Some("secret".into());
    };
    for body in [
        "",
        "553=me|",
        "553=me|554=Secret|",
        "554=secret|",
        "553=me|554=secrets|",
        "553=you|554=secret|",
    ] {
        let mut talk = acceptor(guarded);
        assert!(talk.say(1, "A", &format!("98=0|108=30|141=Y|{body}")).is_empty(), "{body}");
        assert_eq!(state(&mut talk), (6, 4, true), "{body}");
        assert_eq!(
            why(&mut talk),
            Some(DisconnectReason::LogonRefused(Refusal::Credentials)),
            "{body}"
        );
    }
    let mut talk = acceptor(guarded);
    let right = "98=0|108=30|553=me|554=secret|";
    assert_eq!(talk.say(4, "A", right), ["35=A|98=0|108=30"]);
    // An authenticated peer is told what is wrong with its sequence number.
    let mut talk = acceptor(guarded);
    let expected = "35=5|58=MsgSeqNum too low, expecting 4 but received 1";
    assert_eq!(talk.say(1, "A", right), [expected]);
}

#[test]
fn a_logon_that_the_application_has_accepted_before_is_not_asked_about_again() {
    let mut talk = acceptor(|config| config.authenticate = true);
    talk.refusal = Some("asked twice");
    talk.session.handle_disconnected(NOW);
    talk.session.handle_authenticated(NOW);
    assert_eq!(talk.say(4, "A", LOGON), ["35=A|98=0|108=30"]);
    assert!(talk.session.is_logged_on());
    // The next connection is checked again.
    talk.session.handle_disconnected(NOW);
    talk.session.handle_connected(NOW);
    assert_eq!(talk.say(5, "A", LOGON), ["35=5|58=asked twice"]);
}

#[test]
fn refusals_have_names_of_their_own() {
    let mut names: Vec<&str> = Refusal::ALL.iter().map(|refusal| refusal.as_str()).collect();
    for refusal in Refusal::ALL {
        assert_eq!(refusal.to_string(), refusal.as_str());
        let is_label = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(!refusal.as_str().is_empty() && refusal.as_str().bytes().all(is_label));
    }
    assert_eq!(Refusal::CompId.as_str(), "comp_id");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Refusal::ALL.len());
}

#[test]
fn header_fields_that_the_configuration_gives_are_not_the_applications() {
    use tickwire_fix::Tag;
    type Give = fn(&mut Config);
    let given: [(Tag, Give); 5] = [
        (Tag(50), |config| config.sender_sub_id = Some("x".to_owned())),
        (Tag(57), |config| config.target_sub_id = Some("x".to_owned())),
        (Tag(142), |config| config.sender_location_id = Some("x".to_owned())),
        (Tag(143), |config| config.target_location_id = Some("x".to_owned())),
        (Tag(369), |config| config.last_seq_num_processed = true),
    ];
    for (tag, give) in given {
        let send = |tweak: Give| {
            let mut talk = Talk::logged_on_with(BeginString::Fix44, tweak);
            let head = OutgoingHeader { msg_type: "B", fields: &[(tag, b"1")] };
            talk.session.send(NOW, &head, |writer| writer.str(Tag(148), "x"))
        };
        assert!(matches!(send(give), Err(SendError::Header(own)) if own == tag), "{tag}");
        assert_eq!(send(|_| {}).expect("nobody else's"), 2, "{tag}");
    }
}

/// FIX 4.2 has neither field, but they are used if the configuration requires them.
#[test]
fn a_logon_of_an_early_version_has_the_credentials_that_are_asked_for() {
    let said = |body: &str| {
        let mut talk = Talk::new(BeginString::Fix42, SessionRole::Acceptor, |config| {
            config.required_password = Some("open".into());
        });
        let answers = talk.say(1, "A", body);
        (answers, talk.disconnects())
    };
    let (answers, _) = said("98=0|108=30|553=me|554=open|");
    assert_eq!(answers, ["35=A|98=0|108=30"]);
    let (answers, why) = said("98=0|108=30|553=me|554=shut|");
    assert_eq!((answers.len(), why.len()), (0, 0), "told while it was handled");
    let (answers, _) = said("98=0|108=30|554=open|789=1|");
    assert!(answers.is_empty(), "other fields are still unknown");
}
