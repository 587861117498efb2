//! Admission: a listener admits peers only to its own sessions, and nothing changes before all
//! checks have passed.

mod peers;

use peers::{Collector, Folder, accept, acceptor_config, engine, in_memory, listen, loopback};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tickwire_fix::{Precision, Tag, UtcTimestamp, Writer};
use tickwire_fix_engine::{
    AcceptorOptions, Access, AddError, AddressRange, BoxStore, ConfigureError, Decision, Engine,
    SessionKey, Sessions, TemplateSession,
};
use tickwire_fix_session::settings::Settings;
use tickwire_fix_session::{Fsync, MemoryStore, Refusal, SessionId, Store, cut_store};
use tickwire_host::clock::unix_ns;

/// Returns a message from `sender` to `A`.
fn message(msg_type: &str, sender: &str, seq_num: u64, body: &[(u32, &str)]) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let mut writer = Writer::new(&mut buffer, "FIX.4.4", msg_type);
    writer.uint(Tag(34), seq_num);
    writer.str(Tag(49), sender);
    writer.utc_timestamp(Tag(52), UtcTimestamp::from_unix_nanos(unix_ns()), Precision::Millis);
    writer.str(Tag(56), "A");
    body.iter().for_each(|(tag, value)| writer.str(Tag(*tag), value));
    writer.finish().expect("room").to_vec()
}

fn logon(sender: &str, password: &str) -> Vec<u8> {
    message("A", sender, 1, &[(98, "0"), (108, "30"), (554, password)])
}

/// The bytes that a peer receives until the connection is closed, or until `wanted` has arrived.
struct Observed {
    text: String,
    is_closed: bool,
}

fn turn_until_seen(
    engine: &mut Engine<Collector>,
    stream: &mut TcpStream,
    wanted: &str,
) -> Observed {
    let (begun, mut seen, mut buffer) = (Instant::now(), Vec::new(), [0; 4096]);
    stream.set_nonblocking(true).expect("set");
    loop {
        let text = String::from_utf8_lossy(&seen).replace('\u{1}', "|");
        if !wanted.is_empty() && text.contains(wanted) {
            return Observed { text, is_closed: false };
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "neither {wanted:?} nor closed: {text}");
        match stream.read(&mut buffer) {
            Ok(0) => return Observed { text, is_closed: true },
            Ok(len) => seen.extend_from_slice(&buffer[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                engine.turn(Duration::from_millis(1)).expect("a turn");
            }
            Err(_) => return Observed { text, is_closed: true },
        }
    }
}

/// Sends a first message and returns the peer's view of the result.
fn attempt(engine: &mut Engine<Collector>, address: SocketAddr, bytes: &[u8]) -> Observed {
    let mut stream = TcpStream::connect(address).expect("connects");
    stream.write_all(bytes).expect("writes");
    turn_until_seen(engine, &mut stream, "|35=A|")
}

fn numbers(engine: &Engine<Collector>, key: SessionKey) -> (u64, u64) {
    let store = engine.sessions().session(key).expect("there").store();
    (store.next_sender(), store.next_target())
}

#[test]
fn nobody_who_connects_is_logged_on_to_an_initiator() {
    let mut both = engine();
    let (listener, address) = listen(&mut both, AcceptorOptions::new(loopback()));
    accept(&mut both, listener, acceptor_config("CLIENT"));
    // The initiator has credentials, and its peer's address has no listener.
    let mut config = peers::initiator_config("US");
    config.id = SessionId::new(tickwire_fix_session::BeginString::Fix44, "A", "VENUE");
    config.username = Some("me".to_owned());
    config.password = Some("secret".into());
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let store = Box::new(MemoryStore::new());
    let key = both.add_initiator(config, store, peers::quick(nobody)).expect("added");
    let seen = attempt(&mut both, address, &logon("VENUE", "x"));
    assert!(seen.is_closed && seen.text.is_empty(), "{}", seen.text);
    assert_eq!(both.refusals(Refusal::CompId), 1);
    assert!(!both.sessions().session(key).expect("there").is_logged_on());
    assert_eq!(numbers(&both, key), (1, 1));
    let seen = attempt(&mut both, address, &logon("CLIENT", "x"));
    assert!(!seen.is_closed, "those of the listener are let in");
}

#[test]
fn an_unknown_comp_id_is_told_from_another_version() {
    let mut acceptor = engine();
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    let mut config = acceptor_config("OLD");
    config.id.begin_string = tickwire_fix_session::BeginString::Fix42;
    accept(&mut acceptor, listener, config);
    for name in ["OLD", "NEW"] {
        assert!(attempt(&mut acceptor, address, &logon(name, "x")).is_closed);
    }
    let refused = acceptor.application().refused.iter();
    let refused: Vec<_> = refused.map(|(_, reason, text)| (*reason, text.as_str())).collect();
    let version = (Refusal::BeginString, "the session with these CompIDs has FIX.4.2");
    let unknown = (Refusal::CompId, "no session has these CompIDs");
    assert_eq!(refused, [version, unknown]);
}

#[test]
fn another_version_than_that_of_a_template_is_told() {
    let text = TEMPLATES.replace("FIX.4.4", "FIX.4.2").replace("=*", "=OLD");
    let settings = Settings::parse(&text).expect("well written");
    let mut acceptor = engine();
    let address = acceptor.configure(&settings, Fsync::None).expect("set up").addresses[0];
    for name in ["OLD", "NEW"] {
        assert!(attempt(&mut acceptor, address, &logon(name, "x")).is_closed);
    }
    let refused = acceptor.application().refused.iter();
    let refused: Vec<_> = refused.map(|(_, reason, text)| (*reason, text.as_str())).collect();
    let version = (Refusal::BeginString, "the session with these CompIDs has FIX.4.2");
    let unknown = (Refusal::CompId, "no session or template has these CompIDs");
    assert_eq!(refused, [version, unknown]);
}

#[test]
fn a_session_is_logged_on_through_its_own_listener_only() {
    let mut acceptor = engine();
    let (open, open_address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    let (guarded, guarded_address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    accept(&mut acceptor, open, acceptor_config("OPEN"));
    let key = accept(&mut acceptor, guarded, acceptor_config("GUARDED"));
    for (address, name) in [(open_address, "GUARDED"), (guarded_address, "OPEN")] {
        let seen = attempt(&mut acceptor, address, &logon(name, "x"));
        assert!(seen.is_closed && seen.text.is_empty(), "{name}: {}", seen.text);
    }
    assert_eq!((acceptor.refusals(Refusal::CompId), numbers(&acceptor, key)), (2, (1, 1)));
    assert!(!attempt(&mut acceptor, guarded_address, &logon("GUARDED", "x")).is_closed);
}

#[test]
fn a_number_that_is_too_low_is_counted_as_a_refusal() {
    let mut acceptor = engine();
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    let key = accept(&mut acceptor, listener, acceptor_config("LOW"));
    acceptor.sessions_mut().set_numbers(key, None, Some(7)).expect("set");
    let seen = attempt(&mut acceptor, address, &logon("LOW", "x"));
    assert!(seen.is_closed && seen.text.is_empty(), "{}", seen.text);
    assert_eq!((acceptor.refusals(Refusal::MsgSeqNum), numbers(&acceptor, key)), (1, (1, 7)));
    let of_session: Vec<_> = acceptor.sessions().refusals_of(key).collect();
    assert_eq!(of_session, [(Refusal::MsgSeqNum, 1)]);

    // A peer that sent the right password receives an answer.
    let mut config = acceptor_config("KNOWN");
    config.required_password = Some("secret".into());
    let key = accept(&mut acceptor, listener, config);
    acceptor.sessions_mut().set_numbers(key, None, Some(7)).expect("set");
    let seen = attempt(&mut acceptor, address, &logon("KNOWN", "secret"));
    assert!(seen.is_closed && seen.text.contains("MsgSeqNum too low"), "{}", seen.text);
    let of_session: Vec<_> = acceptor.sessions().refusals_of(key).collect();
    assert_eq!(of_session, [(Refusal::MsgSeqNum, 1)]);
}

#[test]
fn the_addresses_of_a_session_are_its_own() {
    let mut acceptor = engine();
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    let range = |text| vec![AddressRange::parse(text).expect("well written")];
    for (name, allowed) in [("HERE", "127.0.0.0/8"), ("ELSEWHERE", "192.0.2.0/24")] {
        let access = Access { addresses: range(allowed), certificates: Vec::new() };
        let store = Box::new(MemoryStore::new());
        let added = acceptor.add_acceptor(listener, acceptor_config(name), store, access);
        added.expect("added");
    }
    let seen = attempt(&mut acceptor, address, &logon("ELSEWHERE", "x"));
    assert!(seen.is_closed && seen.text.is_empty());
    assert_eq!(acceptor.refusals(Refusal::Address), 1);
    assert!(!attempt(&mut acceptor, address, &logon("HERE", "x")).is_closed);
}

#[test]
fn sessions_are_added_once_and_in_their_role() {
    let mut acceptor = engine();
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    accept(&mut acceptor, listener, acceptor_config("I"));
    let mut add = |config| {
        let store = Box::new(MemoryStore::new());
        acceptor.add_acceptor(listener, config, store, Access::default()).map(drop)
    };
    let id = acceptor_config("I").id;
    assert_eq!(add(acceptor_config("I")), Err(AddError::Duplicate(id)));
    assert_eq!(add(peers::initiator_config("X")), Err(AddError::Role));
    let mut second = acceptor_config("I");
    second.id.qualifier = "second".to_owned();
    assert!(add(second).is_err(), "a Logon has no qualifier");
    let store = Box::new(MemoryStore::new());
    let added = acceptor.add_initiator(acceptor_config("Y"), store, peers::quick(address));
    assert_eq!(added, Err(AddError::Role));
}

/// A template that counts its stores, for counterparties that need a password.
fn counting_template(
    acceptor: &mut Engine<Collector>,
    template_sessions_max: usize,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let opened = Arc::new(AtomicUsize::new(0));
    let mut options = AcceptorOptions::new(loopback());
    options.template_sessions_max = template_sessions_max;
    let (listener, address) = listen(acceptor, options);
    let count = opened.clone();
    let template = move |id: &SessionId| {
        let mut config = acceptor_config(&id.target_comp_id);
        config.authenticate = true;
        let count = count.clone();
        let open = move || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok((Box::new(MemoryStore::new()) as BoxStore, None))
        };
        Some(TemplateSession { config, access: Access::default(), open: Box::new(open) })
    };
    acceptor.set_template(listener, Box::new(template)).expect("set");
    (address, opened)
}

#[test]
fn sessions_of_a_template_are_opened_and_counted_only_when_let_in() {
    let mut acceptor = engine();
    let (address, opened) = counting_template(&mut acceptor, 2);
    for number in 0..10 {
        let name = format!("INVENTED{number}");
        let seen = attempt(&mut acceptor, address, &logon(&name, "wrong"));
        assert!(seen.is_closed && seen.text.is_empty(), "{}", seen.text);
    }
    assert_eq!((opened.load(Ordering::Relaxed), acceptor.sessions().len()), (0, 0));
    assert_eq!(acceptor.refusals(Refusal::Credentials), 10);
    let mut streams = Vec::new();
    for name in ["ONE", "TWO"] {
        let mut stream = TcpStream::connect(address).expect("connects");
        stream.write_all(&logon(name, "right")).expect("writes");
        assert!(!turn_until_seen(&mut acceptor, &mut stream, "|35=A|").is_closed);
        streams.push(stream);
    }
    assert!(attempt(&mut acceptor, address, &logon("THREE", "right")).is_closed);
    assert_eq!((acceptor.refusals(Refusal::Limit), opened.load(Ordering::Relaxed)), (1, 2));
    // A closed connection makes room.
    drop(streams.remove(0));
    let begun = Instant::now();
    while attempt(&mut acceptor, address, &logon("THREE", "right")).is_closed {
        assert!(begun.elapsed() < Duration::from_secs(20), "room is not given back");
    }
    assert_eq!(acceptor.sessions().len(), 2);
    assert!(acceptor.sessions().find(&acceptor_config("ONE").id).is_none());
}

#[test]
fn a_store_that_cannot_be_opened_is_told_and_lets_nobody_in() {
    let mut acceptor = engine();
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    let template = |id: &SessionId| {
        let broken = TemplateSession {
            open: Box::new(|| Err("the disk is gone".to_owned())),
            ..in_memory(acceptor_config(&id.target_comp_id))
        };
        Some(broken)
    };
    acceptor.set_template(listener, Box::new(template)).expect("set");
    assert!(attempt(&mut acceptor, address, &logon("ONE", "x")).is_closed);
    let refused = acceptor.application().refused.last().cloned().expect("told");
    assert_eq!((refused.1, refused.2.as_str()), (Refusal::Store, "the disk is gone"));
    assert!(acceptor.sessions().is_empty());
}

/// An acceptor with one session whose Logons the application decides on.
fn asking(tweak: impl FnOnce(&mut AcceptorOptions)) -> (Engine<Collector>, SessionKey, SocketAddr) {
    let mut acceptor = engine();
    let mut options = AcceptorOptions::new(loopback());
    tweak(&mut options);
    let (listener, address) = listen(&mut acceptor, options);
    let mut config = acceptor_config("I");
    config.authenticate = true;
    let key = accept(&mut acceptor, listener, config);
    (acceptor, key, address)
}

#[test]
fn a_wrong_password_changes_nothing_whatever_else_the_logon_says() {
    let (mut acceptor, key, address) = asking(|_| {});
    let sessions = acceptor.sessions_mut();
    let store = sessions.session_mut(key).expect("there").store_mut();
    store.set_next_target(7).expect("memory");
    store.append(b"8=FIX.4.4\x01").expect("memory");
    let reset = [(98, "0"), (108, "30"), (141, "Y"), (554, "wrong")];
    let attempts = [
        message("A", "I", 1, &reset),
        message("A", "I", 3, &reset[..2]),
        message("A", "I", 100, &reset[..2]),
        message("5", "I", 7, &[]),
    ];
    for bytes in attempts {
        let seen = attempt(&mut acceptor, address, &bytes);
        assert!(seen.is_closed && seen.text.is_empty(), "{}", seen.text);
        assert_eq!(numbers(&acceptor, key), (2, 7));
    }
    acceptor.application_mut().decision = Some(Decision::Refuse { text: "go away".to_owned() });
    let seen = attempt(&mut acceptor, address, &logon("I", "wrong"));
    assert!(seen.is_closed && seen.text.contains("|34=2|") && seen.text.contains("|58=go away|"));
    assert_eq!(numbers(&acceptor, key), (2, 7), "the Logout used no number");
    acceptor.application_mut().decision = None;
    let right = [(98, "0"), (108, "30"), (141, "Y"), (554, "right")];
    assert!(!attempt(&mut acceptor, address, &message("A", "I", 1, &right)).is_closed);
    assert_eq!(numbers(&acceptor, key), (2, 2), "now it is reset");
}

#[test]
fn the_application_may_decide_later_and_from_another_thread() {
    let (mut acceptor, key, address) = asking(|_| {});
    acceptor.application_mut().decision = Some(Decision::Later);
    let mut stream = TcpStream::connect(address).expect("connects");
    let beat = message("0", "I", 2, &[]);
    stream.write_all(&[logon("I", "x"), beat].concat()).expect("writes");
    let peer = stream.local_addr().expect("bound");
    while acceptor.application().asked.is_empty() {
        acceptor.turn(Duration::from_millis(1)).expect("a turn");
    }
    let (id, asked_peer, ticket) = acceptor.application().asked[0].clone();
    assert_eq!((id, asked_peer.address), (acceptor_config("I").id, peer));
    assert!(asked_peer.certificates.is_empty());
    assert_eq!(numbers(&acceptor, key), (1, 1));
    // Another thread decides later, as after a database query, and wakes the engine.
    let handle = acceptor.handle();
    let database = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        let decide = move |sessions: &mut Sessions, _| sessions.decide(ticket, Decision::Accept);
        handle.call(decide).expect("there").wait()
    });
    let begun = Instant::now();
    acceptor.turn(Duration::from_secs(1)).expect("a turn");
    assert!(begun.elapsed() < Duration::from_millis(900), "it was woken");
    assert_eq!(database.join().expect("no panic"), Ok(()));
    assert!(!turn_until_seen(&mut acceptor, &mut stream, "|35=A|").is_closed);
    while numbers(&acceptor, key) != (2, 3) {
        acceptor.turn(Duration::from_millis(1)).expect("a turn");
    }
    // A second decision has no effect.
    acceptor.decide(ticket, Decision::Refuse { text: String::new() });
    acceptor.turn(Duration::from_millis(1)).expect("a turn");
    assert!(acceptor.sessions().session(key).expect("there").is_logged_on());
}

#[test]
fn pending_decisions_are_bounded_in_number_and_time() {
    let limit = |options: &mut AcceptorOptions| {
        options.decisions_max = 2;
        options.decision_timeout_s = 1;
    };
    let (mut acceptor, key, address) = asking(limit);
    acceptor.application_mut().decision = Some(Decision::Later);
    let mut waiting: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = TcpStream::connect(address).expect("connects");
            stream.write_all(&logon("I", "x")).expect("writes");
            stream
        })
        .collect();
    while acceptor.application().asked.len() < 2 {
        acceptor.turn(Duration::from_millis(1)).expect("a turn");
    }
    assert!(attempt(&mut acceptor, address, &logon("I", "x")).is_closed, "one too many");
    let begun = Instant::now();
    for stream in &mut waiting {
        let seen = turn_until_seen(&mut acceptor, stream, "|35=A|");
        assert!(seen.is_closed && seen.text.is_empty(), "{}", seen.text);
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(acceptor.refusals(Refusal::Undecided), 3);
    assert_eq!(numbers(&acceptor, key), (1, 1));
    // There is room again, and a peer that disconnects releases it at once.
    for _ in 0..5 {
        let asked = acceptor.application().asked.len();
        let mut stream = TcpStream::connect(address).expect("connects");
        stream.write_all(&logon("I", "x")).expect("writes");
        while acceptor.application().asked.len() == asked {
            acceptor.turn(Duration::from_millis(1)).expect("a turn");
        }
        drop(stream);
        acceptor.turn(Duration::from_millis(20)).expect("a turn");
    }
    assert_eq!(acceptor.refusals(Refusal::Undecided), 3);
}

#[test]
fn idle_connections_of_one_address_lock_nobody_out() {
    let (mut acceptor, key, address) = asking(|_| {});
    let mut idle = Vec::new();
    for _ in 0..128 {
        idle.push(TcpStream::connect(address).expect("connects"));
        acceptor.turn(Duration::ZERO).expect("a turn");
    }
    for _ in 0..40 {
        // From another address, and from the same one.
        for bind in [Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::LOCALHOST] {
            let socket = peers::connect_from(IpAddr::V4(bind), address);
            let mut stream = socket;
            stream.write_all(&logon("I", "right")).expect("writes");
            let seen = turn_until_seen(&mut acceptor, &mut stream, "|35=A|");
            assert!(!seen.is_closed, "locked out by idle connections");
            drop(stream);
            while acceptor.sessions().session(key).expect("there").is_connected() {
                acceptor.turn(Duration::from_millis(1)).expect("a turn");
            }
            acceptor.sessions_mut().session_mut(key).expect("there").reset(peers::now());
        }
    }
    let is_open = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).expect("set");
        matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    let open = idle.iter_mut().map(is_open).filter(|open| *open).count();
    assert!(open <= 32, "an address has its share, not {open}");
}

#[test]
fn a_flood_of_one_address_leaves_the_others_their_rate() {
    let limit = |options: &mut AcceptorOptions| {
        options.connection_rate = tickwire_fix_engine::Rate { per_second: 40 };
        options.connection_rate_per_address = tickwire_fix_engine::Rate { per_second: 10 };
    };
    let (mut acceptor, _, address) = asking(limit);
    let mut flood = Vec::new();
    for _ in 0..200 {
        flood.push(TcpStream::connect(address).expect("connects"));
        acceptor.turn(Duration::ZERO).expect("a turn");
    }
    let mut stream = peers::connect_from(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), address);
    stream.write_all(&logon("I", "right")).expect("writes");
    assert!(!turn_until_seen(&mut acceptor, &mut stream, "|35=A|").is_closed);
}

/// Sets up two acceptor sections of one file.
fn sections(first: &str, second: &str) -> Result<(), ConfigureError> {
    let base = "ConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nUseDataDictionary=N\n\
                SocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\n";
    let text = format!("[DEFAULT]\n{base}[SESSION]\nTargetCompID=ONE\n{first}[SESSION]\n{second}");
    let settings = Settings::parse(&text).expect("well written");
    engine().configure(&settings, Fsync::None).map(drop)
}

#[test]
fn sessions_that_want_different_things_of_a_listener_are_an_error_with_both_lines() {
    let tls = "SERVER_CERTIFICATE_FILE=a.pem\nSERVER_CERTIFICATE_KEY_FILE=a.key\n";
    let cases = [
        ("", format!("TargetCompID=TWO\n{tls}"), "different TLS"),
        ("MaxConnections=5\n", "TargetCompID=TWO\nMaxConnections=6\n".to_owned(), "MaxConnections"),
        ("", "TargetCompID=ONE\nSessionQualifier=Q\n".to_owned(), "SessionQualifier"),
    ];
    for (first, second, wanted) in cases {
        let error = sections(first, &second).expect_err(wanted);
        let line = 10 + first.lines().count() as u32;
        assert_eq!((error.line, error.other), (8, Some(line)), "{error}");
        let text = error.to_string();
        assert!(text.contains(wanted) && text.contains("line 8"), "{text}");
    }
    assert_eq!(sections("MaxConnections=5\n", "TargetCompID=TWO\n"), Ok(()));
    assert_eq!(
        sections("", "TargetCompID=ONE\nSessionQualifier=Q\nSocketAcceptAddress=127.0.0.2\n"),
        Ok(())
    );
    let error = sections(
        "SocketAcceptPort=47113\n",
        "TargetCompID=TWO\nSocketAcceptPort=47113\nSocketAcceptAddress=0.0.0.0\n",
    );
    assert_eq!(error.expect_err("overlap").other, Some(11));
}

#[test]
fn the_allow_list_of_a_later_section_holds_too() {
    let text = "[DEFAULT]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\n\
                UseDataDictionary=N\nSocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\n\
                [SESSION]\nTargetCompID=ONE\n[SESSION]\nTargetCompID=TWO\n\
                AllowedRemoteAddresses=192.0.2.0/24\n[SESSION]\nTargetCompID=OPEN*\nAcceptorTemplate=N\n";
    let settings = Settings::parse(text).expect("well written");
    let mut acceptor = engine();
    let address = acceptor.configure(&settings, Fsync::None).expect("set up").addresses[0];
    assert!(attempt(&mut acceptor, address, &logon("TWO", "x")).is_closed);
    assert!(!attempt(&mut acceptor, address, &logon("ONE", "x")).is_closed);
}

#[test]
fn strangers_leave_no_files_behind() {
    let folder = Folder::new("no-files");
    let (store, log) = (folder.path("store"), folder.path("log"));
    let text = format!(
        "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=*\n\
         AcceptorTemplate=Y\nSocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\nUseDataDictionary=N\n\
         FileStorePath={}\nFileLogPath={}\n",
        store.display(),
        log.display()
    );
    let mut settings = Settings::parse(&text).expect("well written");
    settings.sessions[0].config.authenticate = true;
    let mut acceptor = engine();
    let address = acceptor.configure(&settings, Fsync::None).expect("set up").addresses[0];
    for name in ["INVENTED1", "INVENTED2", "../../EVIL"] {
        assert!(attempt(&mut acceptor, address, &logon(name, "wrong")).is_closed);
    }
    assert!(!store.exists() && !log.exists(), "files before anybody was let in");
    assert!(!attempt(&mut acceptor, address, &logon("KNOWN", "right")).is_closed);
    let files = std::fs::read_dir(&store).expect("there").count();
    assert_eq!(files, 1, "the journal of one session");
    use std::os::unix::fs::PermissionsExt;
    let log = log.join("FIX.4.4-A-KNOWN.messages.log");
    drop(acceptor);
    let mode = std::fs::metadata(&log).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&log).expect("text");
    assert!(text.contains("\u{1}554=***\u{1}") && !text.contains("right"), "{text}");
}

const TEMPLATES: &str = "[DEFAULT]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\n\
    UseDataDictionary=N\nSocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\n\
    [SESSION]\nTargetCompID=*\nAcceptorTemplate=Y\n";

#[test]
fn a_template_of_one_counterparty_goes_before_that_of_anybody() {
    let own = "[SESSION]\nTargetCompID=ONE\nAcceptorTemplate=Y\nRequiredPassword=right\n";
    let settings = Settings::parse(&format!("{TEMPLATES}{own}")).expect("well written");
    let mut acceptor = engine();
    let address = acceptor.configure(&settings, Fsync::None).expect("set up").addresses[0];
    assert!(attempt(&mut acceptor, address, &logon("ONE", "wrong")).is_closed);
    assert_eq!(acceptor.refusals(Refusal::Credentials), 1);
    assert!(!attempt(&mut acceptor, address, &logon("ONE", "right")).is_closed);
    assert!(!attempt(&mut acceptor, address, &logon("TWO", "wrong")).is_closed);
}

#[test]
fn templates_of_two_listeners_guard_a_counterparty_alike() {
    let other = "[SESSION]\nTargetCompID=ONE\nAcceptorTemplate=Y\nSocketAcceptAddress=127.0.0.2\n";
    let configure = |keys: &str| {
        let settings = Settings::parse(&format!("{TEMPLATES}{other}{keys}")).expect("well written");
        engine().configure(&settings, Fsync::None).map(drop)
    };
    assert_eq!(configure(""), Ok(()));
    assert_eq!(configure("SenderCompID=B\nRequiredPassword=right\n"), Ok(()), "others");
    for key in ["RequiredPassword=right", "RequiredUsername=me", "AllowedRemoteAddresses=192.0.2.1"]
    {
        let error = configure(&format!("{key}\n")).expect_err(key);
        assert_eq!((error.line, error.other), (8, Some(11)), "{error}");
        assert!(error.to_string().contains("through the other"), "{error}");
    }
}

#[test]
fn the_name_of_a_session_elsewhere_leaves_no_files_behind() {
    let folder = Folder::new("elsewhere");
    let store = folder.path("store");
    let text = format!(
        "{TEMPLATES}FileStorePath={}\n[SESSION]\nTargetCompID=ONE\nSocketAcceptAddress=127.0.0.2\n",
        store.display()
    );
    let settings = Settings::parse(&text).expect("well written");
    let mut acceptor = engine();
    let address = acceptor.configure(&settings, Fsync::None).expect("set up").addresses[0];
    assert!(attempt(&mut acceptor, address, &logon("ONE", "x")).is_closed);
    assert!(!store.exists());
}

#[test]
fn a_settings_file_may_want_a_password() {
    let text = "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=I\n\
                SocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\nRequiredPassword=right\n";
    let settings = Settings::parse(text).expect("well written");
    assert_eq!(settings.warnings, []);
    let mut acceptor = engine();
    let configured = acceptor.configure(&settings, Fsync::None).expect("set up");
    let (address, key) = (configured.addresses[0], configured.sessions[0]);
    let reset = [(98, "0"), (108, "30"), (141, "Y"), (554, "wrong")];
    let seen = attempt(&mut acceptor, address, &message("A", "I", 1, &reset));
    assert!(seen.is_closed && seen.text.is_empty(), "{}", seen.text);
    assert_eq!((acceptor.refusals(Refusal::Credentials), numbers(&acceptor, key)), (1, (1, 1)));
    assert!(!attempt(&mut acceptor, address, &logon("I", "right")).is_closed);
}

/// An acceptor's settings with a session per counterparty and journals in `store`.
fn stored(store: &std::path::Path, names: &[&str]) -> Settings {
    let base = "ConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nUseDataDictionary=N\n\
                SocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\n";
    let sessions: String =
        names.iter().map(|name| format!("[SESSION]\nTargetCompID={name}\n")).collect();
    let text = format!("[DEFAULT]\n{base}FileStorePath={}\n{sessions}", store.display());
    Settings::parse(&text).expect("well written")
}

#[test]
fn a_damaged_journal_refuses_its_session_alone_until_it_is_repaired() {
    let folder = Folder::new("damaged");
    let store = folder.path("store");
    let journal = store.join("FIX.4.4-A-ONE.journal");
    let settings = stored(&store, &["ONE", "TWO"]);
    let again = |name: &str| message("A", name, 1, &[(98, "0"), (108, "30"), (141, "Y")]);
    let mut acceptor = engine();
    let address = acceptor.configure(&settings, Fsync::None).expect("set up").addresses[0];
    for name in ["ONE", "TWO"] {
        assert!(!attempt(&mut acceptor, address, &again(name)).is_closed);
    }
    drop(acceptor);
    let mut bytes = std::fs::read(&journal).expect("a journal");
    bytes[40] ^= 4;
    std::fs::write(&journal, &bytes).expect("written");

    let mut acceptor = engine();
    let configured = acceptor.configure(&settings, Fsync::None).expect("set up");
    let (address, told) = (configured.addresses[0], configured.unopened[0].to_string());
    assert_eq!((configured.sessions.len(), configured.unopened.len()), (1, 1));
    let line = settings.sessions[0].line;
    assert!(told.starts_with(&format!("session of line {line}: ")), "{told}");
    assert_eq!(acceptor.sessions().counters().unopened, 1);
    let unopened = acceptor.sessions().to_json()["unopened"][0].clone();
    assert_eq!(unopened["name"], "FIX.4.4-A-ONE");
    assert!(told.ends_with(unopened["text"].as_str().expect("text")), "{told} {unopened}");
    for wanted in ["FIX.4.4-A-ONE.journal", "damaged from offset 24", "tickwire fix store cut"] {
        assert!(told.contains(wanted), "{told}");
    }
    assert!(!attempt(&mut acceptor, address, &again("TWO")).is_closed);
    for _ in 0..2 {
        assert!(attempt(&mut acceptor, address, &again("ONE")).is_closed);
    }
    assert_eq!(acceptor.refusals(Refusal::Store), 2);
    let (_, refusal, text) = acceptor.application().refused.last().expect("refused");
    assert_eq!(*refusal, Refusal::Store);
    assert!(text.contains("damaged from offset 24"), "{text}");

    cut_store(&journal).expect("cut").expect("something");
    assert!(!attempt(&mut acceptor, address, &again("ONE")).is_closed);
    assert_eq!(acceptor.sessions().unopened().count(), 0);
}

#[test]
fn an_acceptor_without_a_store_that_opens_is_an_error() {
    let folder = Folder::new("all-damaged");
    let store = folder.path("store");
    std::fs::create_dir(&store).expect("made");
    std::fs::write(store.join("FIX.4.4-A-ONE.journal"), "x").expect("written");
    let settings = stored(&store, &["ONE"]);
    let error = engine().configure(&settings, Fsync::None).expect_err("nothing to serve");
    assert_eq!(error.line, settings.sessions[0].line);
    let two = stored(&store, &["ONE", "TWO"]);
    assert_eq!(engine().configure(&two, Fsync::None).expect("set up").unopened.len(), 1);
}
