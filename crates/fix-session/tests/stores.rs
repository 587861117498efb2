//! Calls of a session to its store, and reports of failures.

mod talk;
mod watched;

use std::cell::Cell;

use talk::{NOW, Talk};
use tickwire_fix_session::{
    BeginString, Config, DisconnectReason, Event, MemoryStore, ResetOrigin, Session, SessionEvent,
    SessionId, SessionRole, Store,
};
use watched::{Act, Watched, full};

#[test]
fn a_store_in_a_box_is_the_store_itself() {
    let mut store: Box<dyn Store> = Box::new(MemoryStore::new());
    store.reset(7).expect("memory");
    assert_eq!(store.created_ns(), 7);
    store.append(b"one").expect("memory");
    store.set_next_sender(5).expect("memory");
    store.set_next_target(9).expect("memory");
    assert_eq!((store.next_sender(), store.next_target()), (5, 9));
    let mut out = Vec::new();
    assert!(store.read_next(1, &mut out).expect("memory") == Some(1) && out == b"one");
}

#[test]
fn a_session_hands_its_store_to_the_disk_when_it_is_told_to() {
    let synced = Cell::new(0);
    let watched = Watched::new(MemoryStore::new(), |act, _: &mut MemoryStore| {
        synced.set(synced.get() + u32::from(act == Act::Sync));
        Ok(())
    });
    let store: Box<dyn Store + '_> = Box::new(watched);
    let config =
        Config::new(SessionRole::Acceptor, SessionId::new(BeginString::Fix44, "HERE", "THERE"));
    let mut session = Session::new(config, store);
    session.sync();
    assert_eq!(synced.get(), 1);
}

#[test]
fn a_reset_that_the_store_refuses_is_told_and_not_said() {
    let talk = Talk::logged_on_with(BeginString::Fix44, |config| config.reset_on_disconnect = true);
    let store = Watched::new(MemoryStore::new(), |act, _: &mut MemoryStore| match act {
        Act::Reset => Err(full("begin anew")),
        Act::Commit { .. } | Act::Sync => Ok(()),
    });
    let mut session = Session::new(talk.session.config().clone(), store);
    session.handle_connected(NOW);
    session.handle_bytes(&talk.message(1, "A", "98=0|108=30|"));
    while session.poll_event(NOW).is_some() {}
    let len = session.poll_transmit(NOW).expect("commits").len();
    session.handle_transmitted(len);
    assert!(len > 0 && session.is_logged_on());
    // While connected, the failure disconnects the session, and nothing is sent to the peer.
    session.reset(NOW);
    assert!(session.poll_transmit(NOW).expect("commits").is_empty());
    let mut told = || match session.poll_event(NOW) {
        Some(Event::Session(notice)) => Some(notice),
        _ => None,
    };
    let error = full("begin anew").to_string();
    assert_eq!(told(), Some(SessionEvent::Disconnect(DisconnectReason::Store(error.clone()))));
    assert_eq!(told(), None);
    session.handle_disconnected(NOW);
    let mut told = || match session.poll_event(NOW) {
        Some(Event::Session(notice)) => Some(notice),
        _ => None,
    };
    assert_eq!(told(), Some(SessionEvent::StoreFailed { text: error }));
    assert_eq!(told(), None);
    assert_eq!((session.store().next_sender(), session.store().next_target()), (2, 2));
}

#[test]
fn what_was_found_out_while_it_transmitted_is_told_though_the_connection_goes_first() {
    let talk = Talk::logged_on(BeginString::Fix44);
    let is_full = Cell::new(false);
    let store = Watched::new(MemoryStore::new(), |act, _: &mut MemoryStore| match act {
        Act::Commit { .. } if is_full.get() => Err(full("commit")),
        Act::Commit { .. } | Act::Reset | Act::Sync => Ok(()),
    });
    let mut session = Session::new(talk.session.config().clone(), store);
    session.handle_connected(NOW);
    session.handle_bytes(&talk.message(1, "A", "98=0|108=30|"));
    while session.poll_event(NOW).is_some() {}
    is_full.set(true);
    assert!(session.poll_transmit(NOW).is_err());
    is_full.set(false);
    session.handle_disconnected(NOW);
    let told = match session.poll_event(NOW) {
        Some(Event::Session(notice)) => Some(notice),
        _ => None,
    };
    let why = DisconnectReason::Store(full("commit").to_string());
    assert_eq!(told, Some(SessionEvent::Disconnect(why)));
    assert!(session.poll_event(NOW).is_none());
}

#[test]
fn an_end_that_was_not_polled_is_none_of_the_next_connection_but_a_reset_is_told() {
    let mut talk = Talk::logged_on_with(BeginString::Fix44, |config| {
        config.reset_on_disconnect = true;
    });
    talk.session.disconnect(DisconnectReason::Shutdown);
    talk.session.handle_disconnected(NOW);
    talk.session.handle_connected(NOW);
    talk.notices.clear();
    let logon = talk.message(1, "A", "98=0|108=30|");
    talk.handle_bytes(&logon);
    let (origin, last_sent, last_received) = (ResetOrigin::ThisSide, 1, 1);
    let reset = SessionEvent::Reset { origin, last_sent, last_received };
    assert_eq!(talk.notices, [reset, SessionEvent::LoggedOn]);
    assert!(talk.session.is_logged_on());
}
