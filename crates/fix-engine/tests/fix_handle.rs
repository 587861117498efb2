//! Sessions used from threads other than the engine's.

mod peers;
#[path = "../../fix-session/tests/watched/mod.rs"]
mod watched;

use peers::{
    Collector, accept, acceptor_config, connect, engine, initiator_config, listen, loopback,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use tickwire_fix::{Tag, Writer};
use tickwire_fix_engine::{
    AcceptorOptions, Access, AddError, Answer, BoxStore, Decision, Engine, EngineHandle,
    EngineOptions, HandleError, NumbersError, SessionKey, Sessions, TemplateSession,
};
use tickwire_fix_session::{
    DisconnectReason, MemoryStore, OutgoingHeader, Refusal, SendError, SessionEvent, Store,
};
use tickwire_host::Stop;
use watched::{Act, Watched, full};

/// Sends a message with this number.
fn send(
    handle: &EngineHandle,
    session: SessionKey,
    number: u64,
) -> Result<Answer<Result<u64, SendError>>, HandleError> {
    handle.send(session, "B", move |mut writer: Writer<'_>| {
        writer.uint(Tag(148), number);
        writer
    })
}

#[test]
fn messages_of_other_threads_go_out_at_once_in_order_and_are_acknowledged() {
    let (mut acceptor, mut initiator) = (engine(), engine());
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    accept(&mut acceptor, listener, acceptor_config("I"));
    let calling = connect(&mut initiator, "I", address);
    peers::run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[1].sessions().session(calling).expect("there").is_logged_on()
    });
    let (handle, stop) = (initiator.handle(), Stop::new());
    let running = thread::spawn({
        let stop = stop.clone();
        move || initiator.run(&stop).expect("runs")
    });
    // The engine sleeps; each message wakes it.
    let begun = Instant::now();
    let mut last = 0;
    for number in 1..=20 {
        let seq_num = send(&handle, calling, number).expect("taken").wait().expect("answered");
        assert!(last < seq_num.as_ref().copied().expect("stored"));
        last = seq_num.expect("stored");
    }
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    // Requests of one thread keep their order, even if it does not wait for answers.
    let answers: Vec<_> =
        (21..=3000).map(|number| send(&handle, calling, number).expect("taken")).collect();
    peers::run_until(&mut [&mut acceptor], |engines| engines[0].application().received == 3000);
    for answer in answers {
        last += 1;
        assert_eq!(answer.wait().expect("answered").expect("stored"), last);
    }
    // A request can run any function on the engine's thread.
    let next = handle.call(move |sessions, _| {
        sessions.session(calling).map(|session| session.store().next_sender())
    });
    assert_eq!(next.expect("taken").wait(), Ok(Some(last + 1)));
    stop.set();
    handle.wake().expect("wakes");
    while !running.is_finished() {
        acceptor.turn(Duration::from_millis(1)).expect("a turn");
    }
}

#[test]
fn a_task_can_wait_for_an_answer() {
    let mut engine = engine();
    let answer = engine.handle().call(|sessions, _| sessions.len()).expect("taken");
    let mut answer = std::pin::pin!(answer.received());
    let mut context = Context::from_waker(Waker::noop());
    assert!(answer.as_mut().poll(&mut context).is_pending());
    engine.turn(Duration::ZERO).expect("a turn");
    assert_eq!(answer.as_mut().poll(&mut context), Poll::Ready(Ok(0)));
}

#[test]
fn what_waits_is_bounded_and_ends_with_the_engine() {
    let options = EngineOptions { requests_max: 2, ..EngineOptions::default() };
    let mut engine = Engine::new(options, Collector::default()).expect("an engine");
    let handle = engine.handle();
    let first = handle.call(|_, _| 1).expect("taken");
    let second = handle.call(|_, _| 2).expect("taken");
    assert_eq!(handle.call(|_, _| 3).err(), Some(HandleError::Full));
    engine.turn(Duration::ZERO).expect("a turn");
    assert_eq!((first.wait(), second.wait()), (Ok(1), Ok(2)));
    let third = handle.call(|_, _| 3).expect("taken");
    drop(engine);
    assert_eq!(third.wait(), Err(HandleError::Ended));
    assert_eq!(handle.call(|_, _| 4).err(), Some(HandleError::Ended));
}

#[test]
fn a_message_that_the_store_does_not_take_is_not_acknowledged() {
    let mut initiator = engine();
    // Not connected: the message waits for the next Logon.
    let is_full = |act, _: &mut MemoryStore| match act {
        Act::Commit { .. } => Err(full("commit")),
        Act::Reset | Act::Sync => Ok(()),
    };
    let store = Box::new(Watched::new(MemoryStore::new(), is_full));
    let address = "127.0.0.1:1".parse().expect("an address");
    let key = initiator
        .add_initiator(initiator_config("I"), store, peers::quick(address))
        .expect("added");
    let answer = send(&initiator.handle(), key, 1).expect("taken");
    initiator.turn(Duration::ZERO).expect("a turn");
    let error = answer.wait().expect("answered").expect_err("not stored");
    assert!(matches!(error, SendError::Store(_)), "{error}");
}

#[test]
fn sessions_are_switched_off_and_on_and_removed_while_their_engine_runs() {
    let (mut acceptor, mut initiator) = (engine(), engine());
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    let accepting = accept(&mut acceptor, listener, acceptor_config("I"));
    let calling = connect(&mut initiator, "I", address);
    let logged_on = |engine: &Engine<Collector>, key| {
        engine.sessions().session(key).is_some_and(|session| session.is_logged_on())
    };
    let connected = |engine: &Engine<Collector>, key| {
        engine.sessions().session(key).is_some_and(|session| session.is_connected())
    };
    let mut engines = [&mut acceptor, &mut initiator];
    peers::run_until(&mut engines, |engines| logged_on(engines[1], calling));
    assert_eq!(engines[1].sessions().peer(calling), Some(address));
    assert!(engines[0].sessions().peer(accepting).is_some());
    // Sequence numbers cannot be set while a peer is connected.
    let changed = engines[0].sessions_mut().set_numbers(accepting, Some(7), None);
    assert!(matches!(changed, Err(NumbersError::Connected)), "{changed:?}");
    // A disabled session is logged out and refuses Logons.
    engines[0].sessions_mut().set_enabled(accepting, false, peers::now());
    peers::run_until(&mut engines, |engines| {
        let refused = engines[0].sessions().refusals_of(accepting).collect::<Vec<_>>();
        matches!(refused[..], [(Refusal::Disabled, 2..)])
    });
    let store = |engine: &Engine<Collector>, key| {
        let store = engine.sessions().session(key).expect("there").store();
        (store.next_sender(), store.next_target())
    };
    assert_eq!(store(engines[0], accepting), (3, 3), "a refused Logon uses no number");
    // A disabled initiator stops connecting.
    engines[1].sessions_mut().set_enabled(calling, false, peers::now());
    peers::run_until(&mut engines, |engines| !connected(engines[1], calling));
    let refused = |engine: &Engine<Collector>| engine.refusals(Refusal::Disabled);
    let until_now = refused(engines[0]);
    for _ in 0..50 {
        engines.iter_mut().for_each(|engine| engine.turn(Duration::from_millis(1)).expect("runs"));
    }
    assert!(refused(engines[0]) <= until_now + 1, "it calls no more");
    for (next_sender, next_target) in [(Some(0), None), (Some(9), Some(0))] {
        let set = engines[0].sessions_mut().set_numbers(accepting, next_sender, next_target);
        assert!(matches!(set, Err(NumbersError::Range)), "{set:?}");
    }
    assert_eq!(store(engines[0], accepting), (3, 3));
    engines[0].sessions_mut().set_numbers(accepting, Some(20), Some(30)).expect("set");
    engines[1].sessions_mut().set_numbers(calling, Some(30), Some(20)).expect("set");
    // Enabled again, both agree on their new numbers.
    let handle = engines[0].handle();
    let _ = handle.call(move |sessions, now| sessions.set_enabled(accepting, true, now));
    engines[1].sessions_mut().set_enabled(calling, true, peers::now());
    peers::run_until(&mut engines, |engines| {
        logged_on(engines[0], accepting) && logged_on(engines[1], calling)
    });
    assert_eq!(store(engines[0], accepting), (21, 31));
    // A removed session is logged out first; its id is free only afterwards.
    engines[1].sessions_mut().remove(calling, peers::now());
    let again = |engine: &mut Engine<Collector>| {
        let store = Box::new(MemoryStore::new());
        let options = peers::quick(address);
        engine.sessions_mut().add_initiator(initiator_config("I"), store, options)
    };
    assert!(matches!(again(engines[1]), Err(AddError::Duplicate(_))));
    peers::run_until(&mut engines, |engines| engines[1].sessions().is_empty());
    assert_eq!(store(engines[0], accepting), (22, 32), "both said Logout");
    engines[0].sessions_mut().remove(accepting, peers::now());
    peers::run_until(&mut engines, |engines| engines[0].sessions().is_empty());
    let new = engines[0].sessions_mut().add_acceptor(
        listener,
        acceptor_config("I"),
        Box::new(MemoryStore::new()),
        Access::default(),
    );
    new.expect("the name is free");
    let key = again(engines[1]).expect("the name is free");
    peers::run_until(&mut engines, |engines| logged_on(engines[1], key));
    // The key of a removed session matches no other.
    assert!(!engines[1].sessions().is_enabled(calling));
    let set = engines[1].sessions_mut().set_numbers(calling, Some(2), None);
    assert!(matches!(set, Err(NumbersError::Unknown)));
    let answer = send(&engines[1].handle(), calling, 2).expect("taken");
    engines[1].turn(Duration::ZERO).expect("a turn");
    assert!(matches!(answer.wait(), Ok(Err(SendError::NotLoggedOn))));
}

/// A store whose commits fail a given number of times.
fn failing(failures: Arc<AtomicU32>) -> impl Store + Send {
    Watched::new(MemoryStore::new(), move |act, _: &mut MemoryStore| {
        let count = |left: u32| left.checked_sub(1);
        let order = Ordering::SeqCst;
        let commits = matches!(act, Act::Commit { .. });
        match commits && failures.fetch_update(order, order, count).is_ok() {
            true => Err(full("commit")),
            false => Ok(()),
        }
    })
}

#[test]
fn a_failure_of_the_store_is_told_even_if_the_next_commit_succeeds() {
    for by_call in [false, true] {
        let (mut acceptor, mut initiator) = (engine(), engine());
        let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
        accept(&mut acceptor, listener, acceptor_config("I"));
        let failures = Arc::new(AtomicU32::new(0));
        let store = failing(failures.clone());
        let options = peers::quick(address);
        let key = initiator
            .add_initiator(initiator_config("I"), Box::new(store), options)
            .expect("added");
        peers::run_until(&mut [&mut acceptor, &mut initiator], |engines| {
            engines[1].sessions().session(key).expect("there").is_logged_on()
        });
        // The failure disconnects the session; later commits succeed.
        failures.store(1, Ordering::SeqCst);
        if by_call {
            let write = |writer: &mut Writer<'_>| writer.uint(Tag(148), 1);
            let call = initiator.handle().call(move |sessions, now| {
                sessions.send(key, now, &OutgoingHeader::new("B"), write).map(drop).map_err(drop)
            });
            initiator.turn(Duration::ZERO).expect("a turn");
            assert_eq!(call.expect("taken").wait(), Err(HandleError::Store));
        } else {
            let answer = send(&initiator.handle(), key, 1).expect("taken");
            initiator.turn(Duration::ZERO).expect("a turn");
            let error = answer.wait().expect("answered").expect_err("not stored");
            assert!(matches!(error, SendError::Store(_)), "{error}");
        }
        assert_eq!(failures.load(Ordering::SeqCst), 0);
        // The application learns the reason of the disconnection although the connection closed at
        // once.
        let why = DisconnectReason::Store(full("commit").to_string());
        let notices = &initiator.application().notices;
        assert!(notices.contains(&SessionEvent::Disconnect(why)), "{notices:?}");
    }
}

#[test]
fn a_failure_of_a_dropped_store_is_told_to_who_used_it() {
    let (mut acceptor, mut first, mut second) = (engine(), engine(), engine());
    let mut options = AcceptorOptions::new(loopback());
    options.template_sessions_max = 1;
    let (listener, address) = listen(&mut acceptor, options);
    let failures = Arc::new(AtomicU32::new(0));
    let left = failures.clone();
    acceptor
        .set_template(
            listener,
            Box::new(move |id| {
                let mut config = acceptor_config(&id.target_comp_id);
                config.authenticate = config.id.target_comp_id == "TWO";
                let store = failing(left.clone());
                let open = move || Ok((Box::new(store) as BoxStore, None));
                Some(TemplateSession { config, access: Access::default(), open: Box::new(open) })
            }),
        )
        .expect("set");
    acceptor.application_mut().decision = Some(Decision::Later);
    let calling = connect(&mut first, "ONE", address);
    peers::run_until(&mut [&mut acceptor, &mut first], |engines| {
        engines[1].sessions().session(calling).expect("there").is_logged_on()
    });
    let key = acceptor.sessions().find(&acceptor_config("ONE").id).expect("made");
    drop(first);
    connect(&mut second, "TWO", address);
    peers::run_until(&mut [&mut acceptor, &mut second], |engines| {
        let is_connected = engines[0].sessions().session(key).expect("there").is_connected();
        !is_connected && !engines[0].application().asked.is_empty()
    });
    // In one turn the session accepts a message and is then removed to make room for another, which
    // closes its store.
    let (_, _, ticket) = acceptor.application().asked[0].clone();
    failures.store(1, Ordering::SeqCst);
    let answer = send(&acceptor.handle(), key, 1).expect("taken");
    let other = acceptor.handle().call(|_, _| ()).expect("taken");
    acceptor.decide(ticket, Decision::Accept);
    acceptor.turn(Duration::ZERO).expect("a turn");
    assert!(acceptor.sessions().session(key).is_none(), "it is gone");
    assert_eq!(failures.load(Ordering::SeqCst), 0);
    let error = answer.wait().expect("answered").expect_err("not stored");
    assert!(matches!(error, SendError::Store(_)), "{error}");
    assert_eq!(other.wait(), Err(HandleError::Store));
    // The failure is reported once.
    let next = acceptor.handle().call(|_, _| ()).expect("taken");
    acceptor.turn(Duration::ZERO).expect("a turn");
    assert_eq!(next.wait(), Ok(()));
}

#[test]
fn a_failure_while_a_removed_session_is_dropped_is_not_told_to_the_requests_of_the_next_turn() {
    let mut initiator = engine();
    let failures = Arc::new(AtomicU32::new(0));
    let store = failing(failures.clone());
    let options = peers::quick("127.0.0.1:1".parse().expect("an address"));
    let key =
        initiator.add_initiator(initiator_config("I"), Box::new(store), options).expect("added");
    initiator.sessions_mut().remove(key, peers::now());
    // The changes are committed first, which fails; then the store is closed, which fails too.
    failures.store(2, Ordering::SeqCst);
    let same_turn = initiator.handle().call(|_, _| ()).expect("taken");
    initiator.turn(Duration::ZERO).expect("a turn");
    assert_eq!(same_turn.wait(), Err(HandleError::Store));
    assert!(initiator.sessions().is_empty());
    assert_eq!(failures.load(Ordering::SeqCst), 0);
    let next = initiator.handle().call(|_, _| ()).expect("taken");
    initiator.turn(Duration::ZERO).expect("a turn");
    assert_eq!(next.wait(), Ok(()));
}

#[test]
fn a_session_that_is_switched_off_while_it_connects_does_not_log_on() {
    let (mut acceptor, mut initiator) = (engine(), engine());
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    let accepting = accept(&mut acceptor, listener, acceptor_config("I"));
    let calling = connect(&mut initiator, "I", address);
    initiator.turn(Duration::ZERO).expect("a turn");
    initiator.sessions_mut().set_enabled(calling, false, peers::now());
    for _ in 0..50 {
        acceptor.turn(Duration::from_millis(1)).expect("a turn");
        initiator.turn(Duration::from_millis(1)).expect("a turn");
    }
    assert_eq!(acceptor.sessions().session(accepting).expect("there").store().next_target(), 1);
    assert!(!initiator.sessions().session(calling).expect("there").is_connected());
}

#[test]
fn requests_of_an_engine_that_was_stopped_are_done_or_refused() {
    let mut engine = engine();
    let (handle, stop) = (engine.handle(), Stop::new());
    let before = handle.call(|_, _| 1).expect("taken");
    stop.set();
    engine.run(&stop).expect("ends");
    assert_eq!(before.wait(), Ok(1));
    assert_eq!(handle.call(|_, _| 2).err(), Some(HandleError::Ended));
    // An engine that runs again accepts requests again, and executes none that it refused.
    let executed = Arc::new(AtomicBool::new(false));
    let flag = executed.clone();
    let refused = handle.call(move |_, _| flag.store(true, Ordering::Relaxed));
    assert_eq!(refused.err(), Some(HandleError::Ended));
    engine.turn(Duration::ZERO).expect("a turn");
    let again = handle.call(|_, _| 3).expect("taken");
    engine.turn(Duration::ZERO).expect("a turn");
    assert_eq!(again.wait(), Ok(3));
    assert!(!executed.load(Ordering::Relaxed));
}

#[test]
fn an_initiator_added_by_a_handle_connects_at_once() {
    let (mut acceptor, mut initiator) = (engine(), engine());
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    accept(&mut acceptor, listener, acceptor_config("I"));
    initiator.turn(Duration::ZERO).expect("a turn");
    let begun = Instant::now();
    let added = initiator.handle().call(move |sessions, _| {
        let store = Box::new(MemoryStore::new());
        sessions.add_initiator(initiator_config("I"), store, peers::quick(address)).expect("added")
    });
    initiator.turn(Duration::ZERO).expect("a turn");
    let key = added.expect("taken").wait().expect("answered");
    let (handle, stop) = (initiator.handle(), Stop::new());
    let until = stop.clone();
    let running = thread::spawn(move || initiator.run(&until).expect("runs"));
    peers::run_until(&mut [&mut acceptor], |_| {
        let is_logged_on = move |sessions: &mut Sessions, _| {
            sessions.session(key).is_some_and(|session| session.is_logged_on())
        };
        // The other side runs between two checks.
        handle.call(is_logged_on).is_ok_and(|answer| answer.wait() == Ok(true))
    });
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    stop.set();
    handle.wake().expect("wakes");
    while !running.is_finished() {
        acceptor.turn(Duration::from_millis(1)).expect("a turn");
    }
}
