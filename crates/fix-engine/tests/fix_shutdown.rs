//! Shutdown of an engine, and the resources of many sessions.

mod peers;

use peers::{Folder, accept, acceptor_config, connect, engine, listen, loopback, run_until};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickwire_fix_engine::AcceptorOptions;
use tickwire_fix_session::settings::Settings;
use tickwire_fix_session::{DisconnectReason, Fsync, SessionEvent};
use tickwire_host::Stop;

#[test]
fn an_engine_that_is_stopped_says_logout_and_waits_for_the_answer() {
    for acceptor_ends in [true, false] {
        let (mut acceptor, mut initiator) = (engine(), engine());
        let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
        let accepting = accept(&mut acceptor, listener, acceptor_config("I"));
        let calling = connect(&mut initiator, "I", address);
        run_until(&mut [&mut acceptor, &mut initiator], |engines| {
            engines[1].sessions().session(calling).expect("there").is_logged_on()
        });
        let (mut ending, mut other, key) = match acceptor_ends {
            true => (acceptor, initiator, calling),
            false => (initiator, acceptor, accepting),
        };
        let stop = Stop::new();
        stop.set();
        let begun = Instant::now();
        let ended = std::thread::spawn(move || {
            ending.run(&stop).expect("runs");
            ending
        });
        let is_told = |notices: &[SessionEvent]| {
            let is_logout = |notice: &SessionEvent| {
                matches!(notice, SessionEvent::Disconnect(DisconnectReason::LoggedOut { .. }))
            };
            notices.iter().any(is_logout)
        };
        while !is_told(&other.application().notices) {
            assert!(begun.elapsed() < Duration::from_secs(20), "no Logout came");
            other.turn(Duration::from_millis(1)).expect("a turn");
        }
        while !ended.is_finished() {
            other.turn(Duration::from_millis(1)).expect("a turn");
        }
        let ending = ended.join().expect("no panic");
        assert!(is_told(&ending.application().notices), "the answer was waited for");
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        let store = other.sessions().session(key).expect("there").store();
        assert_eq!((store.next_sender(), store.next_target()), (3, 3));
    }
}

#[test]
fn a_peer_that_does_not_answer_is_not_waited_for_without_end() {
    let (mut acceptor, mut initiator) = (engine(), engine());
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    let mut config = acceptor_config("I");
    config.logout_timeout_s = 1;
    accept(&mut acceptor, listener, config);
    let calling = connect(&mut initiator, "I", address);
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[1].sessions().session(calling).expect("there").is_logged_on()
    });
    let begun = Instant::now();
    acceptor.shutdown().expect("ends");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn sessions_of_an_engine_share_their_dictionaries() {
    let folder = Folder::new("dictionaries");
    folder.write("own.xml", &tickwire_fix::dictionary::shipped::FIX44);
    let mut text =
        "[DEFAULT]\nConnectionType=acceptor\nSenderCompID=A\nSocketAcceptAddress=127.0.0.1\n\
                    SocketAcceptPort=0\nDefaultApplVerID=9\n"
            .to_owned();
    for number in 0..3 {
        text += &format!("[SESSION]\nBeginString=FIXT.1.1\nTargetCompID=T{number}\n");
        text += &format!("[SESSION]\nBeginString=FIX.4.4\nTargetCompID=F{number}\n");
        text += &format!("DataDictionary={}\n", folder.path("own.xml").display());
    }
    let mut acceptor = engine();
    let settings = Settings::parse(&text).expect("well written");
    let keys = acceptor.configure(&settings, Fsync::None).expect("set up").sessions;
    let dictionaries = |index: usize| {
        let session = acceptor.sessions().session(keys[index]).expect("there");
        session.config().dictionaries.clone().expect("used")
    };
    for kind in [0, 1] {
        let first = dictionaries(kind);
        for other in [dictionaries(kind + 2), dictionaries(kind + 4)] {
            assert!(Arc::ptr_eq(&first.session, &other.session));
            let pairs = first.application.iter().zip(&other.application);
            assert!(pairs.into_iter().all(|(one, other)| Arc::ptr_eq(&one.1, &other.1)));
        }
    }
}

#[test]
fn names_and_files_that_other_engines_take_are_taken() {
    let text = "[DEFAULT]\nSenderCompID=A\nSocketAcceptAddress=localhost\nSocketAcceptPort=0\n\
                [SESSION]\nBeginString=FIX.4.4\nTargetCompID=I\nDataDictionary=no/such/FIX44.xml\n";
    let settings = Settings::parse(text).expect("well written");
    let mut acceptor = engine();
    let address = acceptor.configure(&settings, Fsync::None).expect("set up").addresses[0];
    assert!(address.ip().is_loopback());
    let session = acceptor.sessions().keys().next().expect("there");
    let session = acceptor.sessions().session(session).expect("there");
    assert!(session.config().dictionaries.is_some(), "the built-in one");
    // The host is looked up again after its first, outdated address has failed.
    let mut initiator = engine();
    let mut options = peers::quick("127.0.0.1:1".parse().expect("an address"));
    options.hosts = vec![("localhost".to_owned(), address.port())];
    let store = Box::new(tickwire_fix_session::MemoryStore::new());
    let key = initiator.add_initiator(peers::initiator_config("I"), store, options).expect("added");
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[1].sessions().session(key).expect("there").is_logged_on()
    });
}
