//! Support for tests of sessions over TCP; not every test uses all of it.
#![allow(dead_code)]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tickwire_fix::Tag;
use tickwire_fix_engine::{
    AcceptorOptions, Access, Application, Backoff, BoxStore, Decision, Engine, EngineOptions,
    InitiatorOptions, ListenerKey, LogonAttempt, Peer, RefusedConnection, SessionKey, Sessions,
    TemplateSession, Ticket,
};
use tickwire_fix_session::{
    BeginString, Config, MemoryStore, MessageDelivery, Now, OutgoingHeader, Refusal, SendError,
    SessionEvent, SessionId, SessionRole,
};
use tickwire_host::clock::{monotonic_ns, unix_ns};

/// Longest that a test waits for something.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn now() -> Now {
    Now { wall_ns: unix_ns(), steady_ns: monotonic_ns() }
}

/// Sends numbered messages and checks that those received are in order.
#[derive(Debug, Default)]
pub struct Collector {
    /// Number of messages still to send, by session.
    pub to_send: HashMap<SessionKey, u64>,
    sent: HashMap<SessionKey, u64>,
    last: HashMap<SessionKey, u64>,
    pub received: u64,
    /// True to answer every message with a long one.
    pub answers: bool,
    /// The decision on Logons; if `None`, those with the password `right` are accepted.
    pub decision: Option<Decision>,
    /// Logons that were presented for a decision.
    pub asked: Vec<(SessionId, Peer, Ticket)>,
    /// Notices of the sessions.
    pub notices: Vec<SessionEvent>,
    /// Connections refused.
    pub refused: Vec<(Option<SessionId>, Refusal, String)>,
    /// Reasons of failed connections.
    pub failures: Vec<String>,
}

impl Application for Collector {
    fn handle_message(&mut self, session: SessionKey, mut delivery: MessageDelivery<'_, BoxStore>) {
        let number = delivery.message.field(Tag(148)).expect("there").uint().expect("a number");
        let last = self.last.insert(session, number).unwrap_or(0);
        assert_eq!(number, last + 1, "in order and once");
        self.received += 1;
        if self.answers {
            let sent = delivery.send(&OutgoingHeader::new("B"), |writer| {
                writer.str(Tag(148), "answer");
                writer.bytes(Tag(58), &[b'x'; 1000]);
            });
            // The answers to a peer that does not read are eventually refused.
            assert!(matches!(sent, Ok(_) | Err(SendError::QueueFull)), "{sent:?}");
        }
    }

    fn handle_logon(&mut self, attempt: &LogonAttempt<'_>) -> Decision {
        self.asked.push((attempt.id.clone(), attempt.peer.clone(), attempt.ticket));
        let password = attempt.message.field(Tag(554)).map(|field| field.value);
        let decided = match password {
            Some(b"right") => Decision::Accept,
            _ => Decision::Refuse { text: String::new() },
        };
        self.decision.clone().unwrap_or(decided)
    }

    fn handle_session_event(&mut self, _: SessionKey, notice: &SessionEvent) {
        if *notice != SessionEvent::Handled {
            self.notices.push(notice.clone());
        }
    }

    fn handle_refused(&mut self, refused: &RefusedConnection<'_>) {
        self.refused.push((refused.id.cloned(), refused.refusal, refused.text.to_owned()));
    }

    fn handle_connection_failure(&mut self, _: SessionKey, text: &str) {
        self.failures.push(text.to_owned());
    }

    fn handle_turn(&mut self, sessions: &mut Sessions, now: Now) -> Option<u64> {
        for (key, left) in &mut self.to_send {
            let is_logged_on = sessions.session(*key).is_some_and(|found| found.is_logged_on());
            for _ in 0..(*left).min(20) {
                if !is_logged_on {
                    break;
                }
                let number = self.sent.entry(*key).or_default();
                *number += 1;
                let number = *number;
                let head = OutgoingHeader::new("B");
                let sent = sessions.send(*key, now, &head, |writer| writer.uint(Tag(148), number));
                sent.expect("accepted");
                *left -= 1;
            }
        }
        self.to_send.values().any(|left| *left > 0).then_some(now.steady_ns + 1_000_000)
    }
}

fn config(role: SessionRole, sender: &str, target: &str) -> Config {
    let mut config = Config::new(role, SessionId::new(BeginString::Fix44, sender, target));
    config.heartbeat_s = 5;
    config
}

/// Returns the configuration of the acceptor `A` for a counterparty.
pub fn acceptor_config(target: &str) -> Config {
    config(SessionRole::Acceptor, "A", target)
}

/// Returns the configuration of an initiator that connects to `A`.
pub fn initiator_config(sender: &str) -> Config {
    config(SessionRole::Initiator, sender, "A")
}

pub fn engine() -> Engine<Collector> {
    Engine::new(EngineOptions::default(), Collector::default()).expect("an engine")
}

pub fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Starts a listener. Returns its key and address.
pub fn listen(
    engine: &mut Engine<Collector>,
    options: AcceptorOptions,
) -> (ListenerKey, SocketAddr) {
    let listener = engine.listen(options).expect("listens");
    (listener, engine.address(listener).expect("there"))
}

/// Adds a session with a memory store to a listener.
pub fn accept(engine: &mut Engine<Collector>, listener: ListenerKey, config: Config) -> SessionKey {
    let store = Box::new(MemoryStore::new());
    engine.add_acceptor(listener, config, store, Access::default()).expect("added")
}

/// Returns a template session with a memory store.
pub fn in_memory(config: Config) -> TemplateSession {
    let open = || Ok((Box::new(MemoryStore::new()) as BoxStore, None));
    TemplateSession { config, access: Access::default(), open: Box::new(open) }
}

pub fn quick(address: SocketAddr) -> InitiatorOptions {
    let mut options = InitiatorOptions::new(address);
    options.backoff = Backoff::fixed(Duration::from_millis(10));
    options
}

/// Adds an initiator with a memory store that connects to `A`.
pub fn connect(engine: &mut Engine<Collector>, name: &str, address: SocketAddr) -> SessionKey {
    let store = Box::new(MemoryStore::new());
    engine.add_initiator(initiator_config(name), store, quick(address)).expect("added")
}

/// Runs engines in turn until a condition holds.
pub fn run_until(
    engines: &mut [&mut Engine<Collector>],
    mut is_so: impl FnMut(&[&mut Engine<Collector>]) -> bool,
) {
    let begun = Instant::now();
    while !is_so(engines) {
        assert!(begun.elapsed() < PATIENCE, "it does not come about");
        for engine in engines.iter_mut() {
            engine.turn(Duration::from_millis(1)).expect("a turn");
        }
    }
}

/// A temporary folder, removed on drop.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tickwire-{name}-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Connects from an address of this machine.
pub fn connect_from(from: std::net::IpAddr, to: SocketAddr) -> std::net::TcpStream {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::new(from, 0).into()).expect("bound");
    socket.connect(&to.into()).expect("connects");
    socket.into()
}
