//! Start and end of sessions: decisions on Logons, resets, timeouts.

mod talk;

use talk::{NOW, TIME, Talk};
use tickwire_fix_session::{
    BeginString, Config, DisconnectReason, OutgoingHeader, Refusal, SendError, SessionEvent,
    SessionRole, Store,
};

const LOGON: &str = "98=0|108=30|";

fn acceptor(tweak: impl FnOnce(&mut Config)) -> Talk {
    Talk::new(BeginString::Fix44, SessionRole::Acceptor, tweak)
}

fn closed(talk: &mut Talk) -> Option<DisconnectReason> {
    let told = talk.notices.iter().find_map(|notice| match notice {
        SessionEvent::Disconnect(why) => Some(why.clone()),
        _ => None,
    });
    told.or_else(|| talk.disconnects().pop())
}

#[test]
fn the_application_decides_on_a_logon_if_it_is_to_be_asked() {
    let asks = |config: &mut Config| config.authenticate = true;
    let mut talk = acceptor(asks);
    assert_eq!(talk.say(1, "A", "98=0|108=30|553=me|554=secret|"), ["35=A|98=0|108=30"]);
    assert!(talk.session.is_logged_on());
    let mut talk = acceptor(asks);
    talk.refusal = Some("unknown user");
    assert_eq!(talk.say(1, "A", LOGON), ["35=5|58=unknown user"]);
    assert!(!talk.session.is_logged_on());
    assert_eq!(closed(&mut talk), Some(DisconnectReason::LogonRefused(Refusal::Credentials)));
    let mut talk = acceptor(asks);
    talk.refusal = Some("");
    assert!(talk.say(1, "A", LOGON).is_empty(), "sent away without a word");
    assert_eq!(closed(&mut talk), Some(DisconnectReason::LogonRefused(Refusal::Credentials)));
}

#[test]
fn numbers_begin_anew_after_a_logout_or_the_end_of_the_connection_if_they_are_to() {
    let numbers = |talk: &Talk| {
        let store = talk.session.store();
        (store.next_sender(), store.next_target())
    };
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |_| {});
    assert_eq!(talk.say(2, "5", ""), ["35=5"]);
    talk.session.handle_disconnected(NOW);
    assert_eq!(numbers(&talk), (3, 3));
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| config.reset_on_logout = true);
    assert_eq!(talk.say(2, "5", ""), ["35=5"]);
    assert_eq!(numbers(&talk), (1, 1));
    let resets = |config: &mut Config| config.reset_on_disconnect = true;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, resets);
    talk.say(2, "0", "");
    assert_eq!(numbers(&talk), (2, 3));
    talk.session.handle_disconnected(NOW);
    assert_eq!(numbers(&talk), (1, 1));
    // A message that would be lost is not accepted.
    let sent = talk.session.send(NOW, &OutgoingHeader::new("B"), |_| {});
    assert!(matches!(sent, Err(SendError::NotLoggedOn)), "{sent:?}");
}

#[test]
fn a_logon_and_the_answer_to_a_logout_are_waited_for_so_long() {
    let at = |seconds: u64| NOW.plus(seconds * 1_000_000_000);
    for role in [SessionRole::Acceptor, SessionRole::Initiator] {
        let quick = |config: &mut Config| config.logon_timeout_s = 5;
        let mut talk = Talk::new(BeginString::Fix44, role, quick);
        talk.session.handle_timeout(at(4));
        assert_eq!(closed(&mut talk), None);
        talk.session.handle_timeout(at(5));
        assert_eq!(closed(&mut talk), Some(DisconnectReason::LogonTimeout), "{role:?}");
    }
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| config.logout_timeout_s = 3);
    talk.session.logout(NOW, "enough");
    assert_eq!(talk.answers(false), ["35=5|58=enough"]);
    talk.session.handle_timeout(at(2));
    assert_eq!(closed(&mut talk), None);
    talk.session.handle_timeout(at(3));
    assert_eq!(closed(&mut talk), Some(DisconnectReason::LogoutTimeout));
}

#[test]
fn times_and_names_are_not_looked_at_if_they_are_not_to_be_checked() {
    let answers = |checks: bool, time: &str, sender: &str| {
        let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
            config.latency_max_s = checks.then_some(120);
            config.check_comp_id = checks;
        });
        talk.handle_from(sender, time, 2, "1", "112=x|");
        talk.answers(false)
    };
    let (late, beat) = ("20240229-12:32:00", ["35=0|112=x"]);
    assert_eq!(answers(true, TIME, "THERE"), beat);
    assert_eq!(
        answers(true, late, "THERE"),
        ["35=3|45=2|58=SendingTime accuracy problem|372=1|373=10", "35=5"]
    );
    assert_eq!(answers(true, TIME, "ELSE"), ["35=3|45=2|58=CompID problem|372=1|373=9", "35=5"]);
    assert_eq!(answers(false, late, "ELSE"), beat);
}

#[test]
fn what_is_not_kept_is_filled_over() {
    let forgets = |config: &mut Config| config.persist_messages = false;
    let mut talk = Talk::logged_on_with(BeginString::Fix44, forgets);
    for _ in 0..3 {
        let sent = talk.session.send(NOW, &OutgoingHeader::new("B"), |writer| {
            writer.str(tickwire_fix::Tag(148), "news");
        });
        sent.expect("sent");
    }
    assert_eq!(talk.answers(false), ["35=B|148=news"; 3]);
    assert_eq!(talk.say(2, "2", "7=1|16=0|"), ["35=4|43=Y|36=5|123=Y"]);
}
