//! A feed with books over sockets, while unrelated senders use its groups: the books equal the
//! exchange's.

mod support;

use std::thread;
use std::time::Duration;

use fastrand::Rng;
use support::endpoint;
use tickwire_exchange::{CmeShape, Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Message};
use tickwire_feed::arbiter::{ArbiterOptions, Gap, Line, UnexpectedPolicy};
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, FeedLine, Handler, HandlerOptions, SeqNumField, Sink,
};
use tickwire_feed::market::{AdapterOptions, BookKind, InstrumentKey, MarketDataAdapter};
use tickwire_feed::recovery::RecoveryOptions;
use tickwire_net::log::Logged;
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions};
use tickwire_net::reception::{Reception, Wait};
use tickwire_net::{Stop, clock};

/// Long enough for packets that a busy machine reads late.
const HOLD_NS: u64 = 3_000_000_000;
const PAUSE: Duration = Duration::from_micros(50);

/// Counts the output.
#[derive(Default)]
struct Counted {
    last: u64,
    lost: u64,
    resets: u64,
    faults: u64,
}

impl Sink<Message> for Counted {
    fn handle_message(&mut self, delivery: &Delivery, _: &Message) {
        self.last = delivery.seq_num.unwrap_or(self.last);
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.lost += gap.count;
    }

    fn handle_reset(&mut self, _: u64) {
        self.resets += 1;
    }

    fn handle_fault(&mut self, _: &Fault<'_>) {
        self.faults += 1;
    }
}

fn generator(seed: u64, messages: u64) -> Generator {
    let framing = Some(Preset::Cme.framing());
    let options = Options { seed, messages, framing, ..Options::cme(CmeShape::Average) };
    Generator::new(&options).unwrap()
}

fn packets(generator: &mut Generator) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    while let Some(packet) = generator.next_packet().unwrap() {
        packets.push(packet.bytes);
    }
    packets
}

/// Random datagrams, truncated packets, and whole packets of another feed whose numbers are far
/// from ours: scattered or consecutive.
fn strange(rng: &mut Rng, is_scattered: bool) -> Vec<Vec<u8>> {
    let others = packets(&mut generator(99, 500));
    let mut strange = Vec::new();
    for (index, other) in (0..).zip(others) {
        let number = if is_scattered { rng.u32(1 << 24..) } else { 3_000_000_000 + index };
        let unexpected = [&number.to_be_bytes()[..], &other[4..]].concat();
        strange.push(unexpected[..rng.usize(..unexpected.len())].to_vec());
        strange.push(unexpected);
        let len = rng.usize(..300);
        let mut junk: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(len).collect();
        // A packet with our feed's next number could not be distinguished from it.
        if let Some(first) = junk.first_mut() {
            *first |= 0x80;
        }
        strange.push(junk);
    }
    strange
}

fn send(datagrams: Vec<Vec<u8>>, ends: [Endpoint; 2]) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let senders = ends.map(|end| Sender::open(end, SenderOptions::default()).unwrap());
        for datagram in datagrams {
            senders.iter().for_each(|sender| sender.send(&datagram).unwrap());
            thread::sleep(PAUSE);
        }
    })
}

/// Receives our feed among unrelated senders, and compares books.
fn run(unexpected: UnexpectedPolicy, is_scattered: bool) {
    let framing = Preset::Cme.framing();
    let mut generator = generator(1, 2_000);
    let ours = packets(&mut generator);
    let engine = || {
        let reset = framing.reset_policy().into();
        let options = DecoderOptions::default().reset(reset);
        let decoder = Decoder::with_options(generator.program().clone(), options);
        Dynamic::new(decoder, &SeqNumField::default())
    };
    let arbiter = ArbiterOptions {
        hold_ns: HOLD_NS,
        first_seq_num: Some(1),
        unexpected,
        ..Default::default()
    };
    let recovery = RecoveryOptions { depth: Some(10), ..Default::default() };
    let options = HandlerOptions { framing, arbiter, recovery, ..Default::default() };
    let adapter = MarketDataAdapter::new(generator.program().clone(), &AdapterOptions::default());
    let handler = Handler::new(options, engine, adapter).unwrap();

    let ends = [endpoint(), endpoint()];
    let inputs = Line::ALL.into_iter().zip(ends).map(|(line, end)| {
        let receiver = Receiver::open(end, ReceiverOptions::default()).unwrap();
        (FeedLine::Incremental(line), receiver)
    });
    let mut reception = Reception::new(Wait::Block).unwrap();
    let sink = Logged::new(Counted::default());
    reception.add_channel(handler, sink, inputs).unwrap();
    let last = ours.len() as u64;
    let strangers = send(strange(&mut Rng::with_seed(5), is_scattered), ends);
    let player = send(ours, ends);
    let (stop, end_ns) = (Stop::new(), clock::monotonic_ns() + 30 * clock::SECOND_NS);
    let stopper = stop.clone();
    let observed = reception.run(&stop, |reception, moment| {
        let counted = reception.channels()[0].sink.inner();
        let is_over = counted.last >= last && strangers.is_finished() && moment.is_idle;
        if is_over || moment.now_ns > end_ns {
            stopper.set();
        }
    });
    observed.unwrap();
    player.join().unwrap();
    strangers.join().unwrap();

    let channel = &reception.channels()[0];
    let (handler, counted) = (&channel.handler, channel.sink.inner());
    assert_eq!((counted.last, counted.lost, counted.resets), (last, 0, 0));
    assert!(counted.faults > 0 && handler.arbiter().line_counters(Line::A).unexpected > 500);
    let mut updates = 0;
    for truth in generator.truth().books().filter(|truth| truth.rpt_seq > 0) {
        let recovery = handler.recovery();
        let key = InstrumentKey::Number(truth.security.into());
        let instrument = recovery.instruments().find(key).unwrap();
        assert_eq!(recovery.rpt_seq(instrument), Some(truth.rpt_seq));
        let book = recovery.book(instrument, BookKind::Outright).unwrap();
        assert!(truth.is(book), "{instrument:?}: {truth:?} {book:?}");
        updates += truth.rpt_seq;
    }
    assert_eq!(updates, handler.recovery().counters().applied);
    assert!(updates > 5_000, "{updates}");
}

#[test]
fn random_datagrams_and_scattered_strangers_do_not_touch_the_books() {
    run(UnexpectedPolicy::Follow { packets_min: 3 }, true);
}

#[test]
fn a_whole_other_feed_on_the_group_does_not_touch_the_books_where_numbering_is_kept() {
    run(UnexpectedPolicy::Drop, false);
}
