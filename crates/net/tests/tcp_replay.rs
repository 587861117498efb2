//! The replay client against the server of the simulated exchange, over TCP on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tickwire_exchange::replay_server::{ReplayServer, ReplayServerOptions};
use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Message};
use tickwire_feed::arbiter::{ArbiterOptions, Gap, Line};
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{
    Delivery, Dynamic, FeedLine, Handler, HandlerOptions, PacketHandler, Peeked, SeqNumField,
    SeqNumPeek, Sink,
};
use tickwire_feed::market::{AdapterOptions, BookKind, InstrumentKey, MarketDataAdapter};
use tickwire_feed::recovery::RecoveryOptions;
use tickwire_feed::replay::{ReplayFailure, ReplayOptions};
use tickwire_net::clock::unix_ns;
use tickwire_net::replaying::Replaying;
use tickwire_net::tcp_replay::{Replayed, TcpReplay};

/// A message of the tests is its number as a u32, then padding.
fn number(bytes: &[u8]) -> Option<u64> {
    Some(u32::from_be_bytes(*bytes.first_chunk()?).into())
}

fn message(seq_num: u32) -> Vec<u8> {
    [seq_num.to_be_bytes().as_slice(), &vec![7; seq_num as usize % 300]].concat()
}

/// A server process on its own port.
struct Served {
    server: Arc<Mutex<ReplayServer>>,
    address: String,
    is_stopped: Arc<AtomicBool>,
}

impl Served {
    fn new(options: ReplayServerOptions, numbers: std::ops::RangeInclusive<u32>) -> Self {
        let mut server = ReplayServer::new(options);
        for seq_num in numbers {
            assert!(server.publish(seq_num.into(), &message(seq_num)));
        }
        let server = Arc::new(Mutex::new(server));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (shared, stopped) = (server.clone(), is_stopped.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Acquire) {
                    return;
                }
                serve(&shared, stream.unwrap());
            }
        });
        Self { server, address, is_stopped }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Release);
        let _ = TcpStream::connect(&self.address);
    }
}

fn serve(server: &Mutex<ReplayServer>, mut stream: TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut connection = server.lock().unwrap().connect();
    let mut buffer = [0; 1000];
    loop {
        let bytes = connection.take_bytes();
        if stream.write_all(&bytes).is_err() || connection.is_closed() {
            return;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => {
                connection.handle_bytes(unix_ns(), &mut server.lock().unwrap(), &buffer[..read]);
            }
        }
    }
}

fn options() -> ReplayOptions {
    ReplayOptions {
        username: "user".to_owned(),
        password: "password".to_owned(),
        backoff_ns: 1_000_000,
        backoff_max_ns: 5_000_000,
        attempts_max: 50,
        ..ReplayOptions::default()
    }
}

/// Returns everything that arrives until a gap is done.
fn drain(replay: &TcpReplay) -> Vec<Replayed> {
    let mut found = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        match replay.poll() {
            Some(event) => {
                let is_done = matches!(event, Replayed::Done(_));
                found.push(event);
                if is_done {
                    return found;
                }
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    panic!("the gap is not done after a minute: {} events", found.len());
}

fn numbers(events: &[Replayed]) -> Vec<u32> {
    let number = |event: &Replayed| match event {
        Replayed::Message { seq_num, bytes } => {
            let seq_num = u32::try_from(*seq_num).unwrap();
            assert_eq!(*bytes, message(seq_num));
            Some(seq_num)
        }
        _ => None,
    };
    events.iter().filter_map(number).collect()
}

#[test]
fn a_gap_longer_than_a_request_and_the_queue_comes_whole_and_in_order() {
    let server = Served::new(ReplayServerOptions::default(), 1..=20_000);
    let options = ReplayOptions { gap_max: 20_000, ..options() };
    let replay = TcpReplay::start(options, vec![server.address.clone()], number).unwrap();
    let gap = Gap { first: 101, count: 9_900 };
    replay.request(gap).unwrap();
    // More events than fit into the queue: the thread waits until they are polled.
    std::thread::sleep(Duration::from_millis(300));
    let found = drain(&replay);
    assert_eq!(numbers(&found), (101..=10_000).collect::<Vec<_>>());
    assert_eq!(found.last(), Some(&Replayed::Done(gap)));
    assert_eq!(server.server.lock().unwrap().counters().requests, 10);
}

#[test]
fn connections_that_break_at_any_byte_lose_nothing() {
    for seed in 1..=5 {
        println!("seed {seed}");
        let faults = ReplayServerOptions { disconnect: 0.5, seed, ..Default::default() };
        let server = Served::new(faults, 1..=500);
        let replay = TcpReplay::start(options(), vec![server.address.clone()], number).unwrap();
        replay.request(Gap { first: 1, count: 500 }).unwrap();
        assert_eq!(numbers(&drain(&replay)), (1..=500).collect::<Vec<_>>());
    }
}

#[test]
fn the_next_server_is_tried_where_one_does_not_answer() {
    let server = Served::new(ReplayServerOptions::default(), 1..=10);
    // No server listens at a port that was just freed.
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let replay = TcpReplay::start(options(), vec![dead, server.address.clone()], number).unwrap();
    replay.request(Gap { first: 3, count: 4 }).unwrap();
    assert_eq!(numbers(&drain(&replay)), [3, 4, 5, 6]);
    assert!(replay.counters().failures >= 1);
}

#[test]
fn refusals_come_back_with_their_reasons() {
    let limited = ReplayServerOptions { requests_per_day_max: 1, ..Default::default() };
    let server = Served::new(limited, 1..=10);
    let replay = TcpReplay::start(options(), vec![server.address.clone()], number).unwrap();
    let first = Gap { first: 1, count: 2 };
    replay.request(first).unwrap();
    assert_eq!(numbers(&drain(&replay)), [1, 2]);
    let gap = Gap { first: 3, count: 2 };
    replay.request(gap).unwrap();
    let reason = ReplayFailure::RequestLimit;
    assert_eq!(drain(&replay), [Replayed::Abandoned { gap, reason }, Replayed::Done(gap)]);
    // The server's refusal is known, so the server is not asked again.
    replay.request(gap).unwrap();
    assert_eq!(drain(&replay).len(), 2);
    assert_eq!((replay.refused(), replay.counters().requests), (1, 2));

    let wrong = ReplayOptions { password: "x".to_owned(), ..options() };
    let replay = TcpReplay::start(wrong, vec![server.address.clone()], number).unwrap();
    replay.request(gap).unwrap();
    let reason = ReplayFailure::Credentials;
    assert_eq!(drain(&replay)[0], Replayed::Abandoned { gap, reason });
}

#[test]
fn nothing_of_an_old_epoch_comes_after_a_reset() {
    let server = Served::new(ReplayServerOptions::default(), 1..=1000);
    let mut replay = TcpReplay::start(options(), vec![server.address.clone()], number).unwrap();
    replay.request(Gap { first: 1, count: 900 }).unwrap();
    while replay.counters().replayed == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    replay.begin_epoch().unwrap();
    replay.request(Gap { first: 950, count: 3 }).unwrap();
    assert_eq!(numbers(&drain(&replay)), [950, 951, 952]);
}

fn generator() -> Generator {
    let options = Options {
        messages: 300,
        securities: 10,
        first_seq_num: 1,
        framing: Some(Preset::Cme.framing()),
        ..Options::cme(CmeShape::Average)
    };
    Generator::new(&options).unwrap()
}

/// Creates a handler of the generator's feed; gaps are filled by the server at `address`.
fn replaying(
    generator: &Generator,
    options: ReplayOptions,
    address: &str,
) -> Replaying<Dynamic, MarketDataAdapter> {
    let program = generator.program().clone();
    let framing = Preset::Cme.framing();
    let engine = || {
        let reset = framing.reset_policy().into();
        let options = DecoderOptions::default().reset(reset);
        Dynamic::new(Decoder::with_options(program.clone(), options), &SeqNumField::default())
    };
    let arbiter =
        ArbiterOptions { hold_ns: 1000, first_seq_num: Some(1), ..ArbiterOptions::default() };
    let recovery = RecoveryOptions { depth: Some(10), ..RecoveryOptions::default() };
    let handler_options = HandlerOptions { framing, arbiter, recovery, ..Default::default() };
    let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let handler = Handler::new(handler_options, engine, adapter).unwrap();
    let peek = SeqNumPeek::new(program.set(), &SeqNumField::default());
    let number = move |bytes: &[u8]| match peek.peek(bytes) {
        Peeked::Number(seq_num) => Some(seq_num),
        _ => None,
    };
    let replay = TcpReplay::start(options, vec![address.to_owned()], number).unwrap();
    Replaying::new(handler, engine(), replay)
}

/// Counts abandoned replays and their ends.
#[derive(Default)]
struct Ends {
    abandoned: Vec<(Gap, ReplayFailure)>,
    done: Vec<Gap>,
}

impl Sink<Message> for Ends {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}

    fn handle_replay_abandoned(&mut self, gap: Gap, reason: ReplayFailure) {
        self.abandoned.push((gap, reason));
    }

    fn handle_replay_done(&mut self, gap: Gap) {
        self.done.push(gap);
    }
}

#[test]
fn a_sink_learns_why_a_gap_is_not_replayed() {
    let mut generator = generator();
    let server = Served::new(ReplayServerOptions::default(), std::ops::RangeInclusive::new(1, 0));
    let wrong = ReplayOptions { password: "x".to_owned(), ..options() };
    let mut handler = replaying(&generator, wrong, &server.address);
    let mut ends = Ends::default();
    for index in 0..4 {
        let packet = generator.next_packet().unwrap().unwrap();
        if index != 2 {
            let now_ns = 10_000 * (index + 1);
            handler.handle_packet(now_ns, FeedLine::Incremental(Line::A), &packet.bytes, &mut ends);
            handler.handle_timeout(now_ns + 5000, &mut ends);
        }
    }
    let begun = Instant::now();
    while ends.done.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{handler:?}");
        handler.handle_timeout(100_000, &mut ends);
        std::thread::sleep(Duration::from_millis(1));
    }
    let [gap] = ends.done[..] else { panic!("{:?}", ends.done) };
    assert_eq!(ends.abandoned, [(gap, ReplayFailure::Credentials)]);
}

/// Every seventh packet of a line is lost; the server's copies make all books fresh, without snapshots.
#[test]
fn a_handler_with_a_replay_service_ends_with_fresh_books() {
    let mut generator = generator();
    let server = Served::new(ReplayServerOptions::default(), std::ops::RangeInclusive::new(1, 0));
    let mut handler = replaying(&generator, options(), &server.address);
    let framing = Preset::Cme.framing();
    let mut sink = |_: &Delivery, _: &Message| {};
    let mut now_ns = 0;
    let mut packets = Vec::new();
    while let Some(packet) = generator.next_packet().unwrap() {
        let fast = &packet.bytes[framing.preamble_bytes()..];
        assert!(server.server.lock().unwrap().publish(packet.seq_num, fast));
        packets.push(packet.bytes);
    }
    let last = packets.len() - 1;
    for (index, bytes) in packets.iter().enumerate() {
        now_ns += 10_000;
        if index == last || index % 7 != 3 {
            handler.handle_packet(now_ns, FeedLine::Incremental(Line::A), bytes, &mut sink);
        }
        handler.handle_timeout(now_ns, &mut sink);
    }
    let begun = Instant::now();
    while handler.open_gaps() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{handler:?}");
        let due_ns = PacketHandler::<fn(&Delivery, &Message)>::poll_timeout(&handler);
        now_ns = due_ns.expect("gaps are open");
        handler.handle_timeout(now_ns, &mut sink);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(handler.replay().counters().replayed > 10);
    let recovery = handler.handler().recovery();
    for truth in generator.truth().books().filter(|truth| truth.rpt_seq > 0) {
        let key = InstrumentKey::Number(truth.security.into());
        let instrument = recovery.instruments().find(key).unwrap();
        assert!(truth.is(recovery.book(instrument, BookKind::Outright).unwrap()), "{truth:?}");
    }
}
