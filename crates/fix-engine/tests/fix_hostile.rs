//! Hostile peers: floods of connections and logons, garbage, absurd lengths, a peer that does not read.
//! The engine stays bounded, and a session beside them continues undisturbed.

mod peers;

use peers::{Collector, accept, acceptor_config, connect, listen, loopback, run_until};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tickwire_fix::{Precision, Tag, UtcTimestamp, Writer};
use tickwire_fix_engine::{
    AcceptorOptions, Access, AddressRange, Engine, EngineOptions, ListenerKey, Rate, SessionKey,
};
use tickwire_fix_session::{MemoryStore, OutgoingHeader};
use tickwire_host::clock::unix_ns;

/// Messages of the honest session while others attack.
const HONEST: u64 = 2_000;

/// An acceptor and an honest initiator, whose session must continue.
struct Stage {
    acceptor: Engine<Collector>,
    honest: Engine<Collector>,
    honest_key: SessionKey,
    listener: ListenerKey,
    address: SocketAddr,
}

impl Stage {
    fn new(tweak: impl FnOnce(&mut AcceptorOptions), engine: EngineOptions) -> Self {
        let mut acceptor = Engine::new(engine, Collector::default()).expect("an engine");
        let mut honest =
            Engine::new(EngineOptions::default(), Collector::default()).expect("an engine");
        let mut options = AcceptorOptions::new(loopback());
        tweak(&mut options);
        let (listener, address) = listen(&mut acceptor, options);
        accept(&mut acceptor, listener, acceptor_config("HONEST"));
        let honest_key = connect(&mut honest, "HONEST", address);
        Self { acceptor, honest, honest_key, listener, address }
    }

    /// Waits until the honest session is logged on.
    fn begin(&mut self) {
        let key = self.honest_key;
        run_until(&mut [&mut self.acceptor, &mut self.honest], |engines| {
            engines[1].sessions().session(key).expect("there").is_logged_on()
        });
    }

    /// Lets the honest session send, and checks that everything arrives without a second logon.
    fn honest_goes_on(&mut self) {
        let expected = self.acceptor.application().received + HONEST;
        self.honest.application_mut().to_send.insert(self.honest_key, HONEST);
        run_until(&mut [&mut self.acceptor, &mut self.honest], |engines| {
            engines[0].application().received >= expected
        });
        let session = self.honest.sessions().session(self.honest_key).expect("there");
        assert_eq!(session.counters().logons, 1, "the honest session was disturbed");
    }

    fn turn(&mut self) {
        self.acceptor.turn(Duration::from_millis(1)).expect("a turn");
        self.honest.turn(Duration::ZERO).expect("a turn");
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connects");
        stream.set_nonblocking(true).expect("set");
        stream
    }

    /// Runs until the acceptor has closed a connection.
    fn is_closed(&mut self, stream: &mut TcpStream) -> bool {
        let begun = Instant::now();
        let mut buffer = [0; 65_536];
        while begun.elapsed() < Duration::from_secs(20) {
            match stream.read(&mut buffer) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.turn(),
                Err(_) => return true,
            }
        }
        false
    }
}

/// Returns a message from `sender` to the acceptor.
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

fn logon(sender: &str) -> Vec<u8> {
    message("A", sender, 1, &[(98, "0"), (108, "30")])
}

/// Returns the resident memory of this process in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = text.split(' ').nth(1).expect("resident").parse().expect("a number");
    pages * 4096
}

#[test]
fn a_flood_of_connections_leaves_room_for_others() {
    let limit = |options: &mut AcceptorOptions| {
        options.pending_max = 16;
        options.connections_max = 32;
        options.first_message_timeout_s = 1;
    };
    let mut stage = Stage::new(limit, EngineOptions::default());
    stage.begin();
    let before = resident();
    let mut flood = Vec::new();
    for _ in 0..300 {
        flood.push(stage.connect());
        stage.turn();
    }
    stage.honest_goes_on();
    assert!(
        flood.iter_mut().all(|stream| stage.is_closed(stream)),
        "unauthenticated peers are disconnected"
    );
    assert!(resident() < before + (96 << 20), "memory grew");
}

#[test]
fn a_flood_of_logons_is_bounded_and_gets_nowhere() {
    let limit = |options: &mut AcceptorOptions| {
        options.logon_rate = Rate { per_second: 50 };
        options.connection_rate = Rate::UNLIMITED;
    };
    let mut stage = Stage::new(limit, EngineOptions::default());
    stage.begin();
    for index in 0..300 {
        let mut stream = stage.connect();
        let name = if index % 2 == 0 { "HONEST".to_owned() } else { format!("NOBODY{index}") };
        stream.write_all(&logon(&name)).expect("writes");
        assert!(stage.is_closed(&mut stream), "{name} is sent away");
    }
    stage.honest_goes_on();
    assert_eq!(stage.acceptor.sessions().len(), 1);
}

#[test]
fn garbage_and_absurd_lengths_cost_nothing() {
    let mut stage = Stage::new(|_| {}, EngineOptions::default());
    stage.begin();
    let before = resident();
    let huge = b"8=FIX.4.4\x019=2147483647\x0135=A\x01";
    let not_huge = b"8=FIX.4.4\x019=900000\x0135=A\x01";
    let attacks: [&[u8]; 5] = [
        huge,
        not_huge,
        b"GET / HTTP/1.1\r\n\r\n",
        &[0; 5000],
        b"8=FIX.4.4\x019=5\x0135=0\x0110=161\x01",
    ];
    for attack in attacks {
        let mut stream = stage.connect();
        // The acceptor may close the connection before everything is written.
        let _ = stream.write_all(attack);
        for _ in 0..200 {
            let _ = stream.write(&[b'x'; 4096]);
            stage.turn();
        }
        assert!(stage.is_closed(&mut stream), "{}", String::from_utf8_lossy(attack));
    }
    stage.honest_goes_on();
    assert!(resident() < before + (64 << 20), "memory grew");
}

#[test]
fn a_session_that_turns_hostile_is_bounded_too() {
    let mut stage = Stage::new(|_| {}, EngineOptions::default());
    accept(&mut stage.acceptor, stage.listener, acceptor_config("EVIL"));
    stage.begin();
    let before = resident();
    let mut stream = stage.connect();
    stream.write_all(&logon("EVIL")).expect("writes");
    // Messages far ahead of the expected number are held, but not without limit.
    let long = "x".repeat(3000);
    for seq_num in 0..20_000 {
        let bytes = message("B", "EVIL", 1_000 + seq_num, &[(148, "1"), (58, &long)]);
        assert!(stage.write_all(&mut stream, &bytes), "closed");
    }
    stage.honest_goes_on();
    assert!(resident() < before + (80 << 20), "memory grew");
}

impl Stage {
    /// Writes all bytes, however long it takes. Returns false if the peer disconnected.
    fn write_all(&mut self, stream: &mut TcpStream, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(len) => bytes = &bytes[len..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.turn(),
                Err(_) => return false,
            }
        }
        true
    }

    /// Runs until the bytes read contain `wanted`.
    fn reads(&mut self, stream: &mut TcpStream, wanted: &[u8]) -> bool {
        let (begun, mut seen, mut buffer) = (Instant::now(), Vec::new(), [0; 65_536]);
        while begun.elapsed() < Duration::from_secs(20) {
            match stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(len) => seen.extend_from_slice(&buffer[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.turn(),
                Err(_) => return false,
            }
            if seen.windows(wanted.len()).any(|found| found == wanted) {
                return true;
            }
        }
        false
    }
}

#[test]
fn absurd_lengths_and_garbage_after_the_logon_cost_nothing_and_the_session_goes_on() {
    let mut stage = Stage::new(|_| {}, EngineOptions::default());
    accept(&mut stage.acceptor, stage.listener, acceptor_config("EVIL"));
    stage.begin();
    let before = resident();
    let mut stream = stage.connect();
    stream.write_all(&logon("EVIL")).expect("writes");
    let huge: &[u8] = b"8=FIX.4.4\x019=2147483647\x0135=0\x01";
    let long: &[u8] = b"8=FIX.4.4\x019=1048000\x0135=0\x01";
    let starts = [huge, long, b"GET / HTTP/1.1\r\n\r\n", &[0; 5000], b"8=FIX.4.4\x019=\x01"];
    for (seq_num, start) in (2..).zip(starts) {
        assert!(stage.write_all(&mut stream, start));
        for _ in 0..256 {
            assert!(stage.write_all(&mut stream, &[b'x'; 16_384]));
        }
        // The framer resynchronizes.
        let id = format!("alive{seq_num}");
        let question = message("1", "EVIL", seq_num, &[(112, &id)]);
        assert!(stage.write_all(&mut stream, &question));
        let answer = format!("\u{1}112={id}\u{1}");
        assert!(stage.reads(&mut stream, answer.as_bytes()), "after {start:?}");
    }
    stage.honest_goes_on();
    assert!(resident() < before + (96 << 20), "memory grew");
}

#[test]
fn a_flood_of_requests_by_a_peer_that_does_not_read_is_bounded() {
    let options = EngineOptions { slow_reader_s: 2, ..EngineOptions::default() };
    let mut stage = Stage::new(|_| {}, options);
    let key = accept(&mut stage.acceptor, stage.listener, acceptor_config("EVIL"));
    stage.begin();
    // The resend is large.
    let long = "x".repeat(1000);
    let now = peers::now();
    for _ in 0..20_000 {
        let sent =
            stage.acceptor.sessions_mut().send(key, now, &OutgoingHeader::new("B"), |writer| {
                writer.str(Tag(148), "kept");
                writer.str(Tag(58), &long);
            });
        sent.expect("stored");
    }
    let before = resident();
    let mut stream = stage.connect();
    stream.write_all(&logon("EVIL")).expect("writes");
    let begun = Instant::now();
    for seq_num in 2.. {
        let request = match seq_num % 2 {
            0 => message("2", "EVIL", seq_num, &[(7, "1"), (16, "0")]),
            _ => message("1", "EVIL", seq_num, &[(112, &long)]),
        };
        if !stage.write_all(&mut stream, &request) {
            break;
        }
        if seq_num % 64 == 0 {
            stage.turn();
        }
        assert!(begun.elapsed() < Duration::from_secs(50), "it is never disconnected");
    }
    stage.honest_goes_on();
    assert!(resident() < before + (96 << 20), "memory grew");
}

#[test]
fn a_peer_that_does_not_read_is_disconnected_and_harms_nobody() {
    let options = EngineOptions { slow_reader_s: 1, ..EngineOptions::default() };
    let mut stage = Stage::new(|_| {}, options);
    let store = Box::new(MemoryStore::with_bytes_max(4 << 20));
    let mut config = acceptor_config("SLEEPER");
    config.limits.backlog_bytes_max = 2 << 20;
    let access = Access::default();
    let key = stage.acceptor.add_acceptor(stage.listener, config, store, access).expect("added");
    stage.acceptor.application_mut().answers = true;
    stage.begin();
    let before = resident();
    let mut stream = stage.connect();
    stream.write_all(&logon("SLEEPER")).expect("writes");
    let mut seq_num = 2;
    // Every message is answered with a long one; none of them is read.
    let begun = Instant::now();
    loop {
        let number = (seq_num - 1).to_string();
        let mut bytes = message("B", "SLEEPER", seq_num, &[(148, &number)]);
        let mut gone = false;
        while !bytes.is_empty() && !gone {
            match stream.write(&bytes) {
                Ok(len) => drop(bytes.drain(..len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => gone = true,
            }
            stage.turn();
        }
        seq_num += 1;
        let session = stage.acceptor.sessions().session(key).expect("there");
        if gone || seq_num > 10 && !session.is_connected() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(50), "it is never disconnected");
    }
    stage.acceptor.application_mut().answers = false;
    stage.honest_goes_on();
    assert!(resident() < before + (64 << 20), "memory grew");
}

#[test]
fn a_peer_that_ends_right_after_a_message_is_gone_at_once() {
    let mut stage = Stage::new(|_| {}, EngineOptions::default());
    let key = accept(&mut stage.acceptor, stage.listener, acceptor_config("BRIEF"));
    let mut stream = stage.connect();
    // With this interval, silence is not detected during the test.
    let logon = message("A", "BRIEF", 1, &[(98, "0"), (108, "3600")]);
    stream.write_all(&logon).expect("writes");
    let mut acceptor = stage.acceptor;
    run_until(&mut [&mut acceptor], |engines| {
        engines[0].sessions().session(key).expect("there").is_logged_on()
    });
    // Message and end of the stream arrive together.
    stream.write_all(&message("B", "BRIEF", 2, &[(148, "1")])).expect("writes");
    stream.shutdown(Shutdown::Write).expect("ends");
    run_until(&mut [&mut acceptor], |engines| {
        !engines[0].sessions().session(key).expect("there").is_connected()
    });
    assert_eq!(acceptor.application().received, 1);
}

/// Returns true if TCP keep-alive is active on a connection (proc(5), tcp).
fn is_kept_alive(local: SocketAddr, peer: SocketAddr) -> bool {
    let port = |address: SocketAddr| format!(":{:04X}", address.port());
    let table = std::fs::read_to_string("/proc/net/tcp").expect("of this system");
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row[1].ends_with(&port(local)) && row[2].ends_with(&port(peer)));
    row.expect("a connection")[5].starts_with("02:")
}

#[test]
fn a_machine_that_vanishes_is_noticed_though_no_heartbeats_are_agreed() {
    let mut stage = Stage::new(|_| {}, EngineOptions::default());
    let key = accept(&mut stage.acceptor, stage.listener, acceptor_config("QUIET"));
    let mut stream = stage.connect();
    stream.write_all(&message("A", "QUIET", 1, &[(98, "0"), (108, "0")])).expect("writes");
    run_until(&mut [&mut stage.acceptor], |engines| {
        engines[0].sessions().session(key).expect("there").is_logged_on()
    });
    assert!(is_kept_alive(stage.address, stream.local_addr().expect("connected")));
}

#[test]
fn addresses_that_are_not_allowed_are_turned_away() {
    let limit = |options: &mut AcceptorOptions| {
        options.allowed = vec![AddressRange::parse("192.0.2.0/24").expect("well written")];
    };
    let mut stage = Stage::new(limit, EngineOptions::default());
    let mut stream = stage.connect();
    assert!(stage.is_closed(&mut stream));
}
