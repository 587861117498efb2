//! A feed over sockets: lines A and B on loopback, each with faults, and datagrams of unrelated senders.

mod support;

use std::collections::BTreeSet;
use std::io::{Cursor, Read};
use std::thread;
use std::time::Duration;

use support::endpoint;
use tickwire_exchange::{Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Message};
use tickwire_feed::Endian;
use tickwire_feed::arbiter::{ArbiterOptions, Gap, Line};
use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader, PrefixedWriter};
use tickwire_feed::framing::{Framing, FramingResetPolicy, Preset};
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, FeedLine, Handler, HandlerOptions, SeqNumField, SeqNumPeek,
    SequenceSource, Sink,
};
use tickwire_feed::market::NoBooks;
use tickwire_net::inject::{Faults, Injector};
use tickwire_net::log::Logged;
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions};
use tickwire_net::playback::{Playback, PlaybackLine, Track};
use tickwire_net::reception::{LoopState, Reception, Wait};
use tickwire_net::replay::{Pace, ReplaySchedule, Waiter};
use tickwire_net::{Stop, clock};

/// Long enough for packets that a busy machine reads late.
const HOLD_NS: u64 = 3_000_000_000;

/// The packets of a feed as a length-prefixed file.
fn file(packets: &[Vec<u8>]) -> CaptureReader<Box<dyn Read>> {
    let mut writer = PrefixedWriter::new(Vec::new(), Endian::Big);
    packets.iter().for_each(|packet| writer.write_packet(packet).unwrap());
    let input: Box<dyn Read> = Box::new(Cursor::new(writer.into_inner()));
    CaptureReader::open(input, CaptureOptions::new().format(CaptureFormat::U32Be)).unwrap()
}

/// Returns the indexes of packets that get through a line with these faults.
fn survivors(faults: Faults, seed: u64, count: usize) -> BTreeSet<usize> {
    let mut injector = Injector::new(faults, seed);
    let mut survivors = BTreeSet::new();
    for index in 0..count {
        injector.handle_packet(0, &index.to_be_bytes());
    }
    while let Some(packet) = injector.poll_packet(u64::MAX) {
        survivors.insert(usize::from_be_bytes(packet.try_into().unwrap()));
    }
    survivors
}

/// Plays packets to both lines from its own thread.
fn play(packets: &[Vec<u8>], ends: [Endpoint; 2], faults: Faults) -> thread::JoinHandle<()> {
    let packets = packets.to_vec();
    thread::spawn(move || {
        let line = |endpoint, seed| {
            let sender = Sender::open(endpoint, SenderOptions::default()).unwrap();
            PlaybackLine::new(sender, Injector::new(faults, seed))
        };
        let lines = vec![line(ends[0], 1), line(ends[1], 2)];
        let schedule = ReplaySchedule::new(Pace::Gap { gap_ns: 50_000 }, None);
        let mut playback =
            Playback::new(lines, vec![Track::new(file(&packets), schedule, [0, 1])]).unwrap();
        let stop = Stop::new();
        playback.run(&Waiter::new(stop.clone()), &stop, |_| {}).unwrap();
    })
}

type Tests = Reception<Tested, Logged<Counted>>;

fn reception(ends: [Endpoint; 2], wait: Wait, handler: Tested) -> Tests {
    let inputs = Line::ALL.into_iter().zip(ends).map(|(line, endpoint)| {
        let receiver = Receiver::open(endpoint, ReceiverOptions::default()).unwrap();
        (FeedLine::Incremental(line), receiver)
    });
    let mut reception = Reception::new(wait).unwrap();
    let sink = Logged::new(Counted::default());
    reception.add_channel(handler, sink, inputs).unwrap();
    reception
}

/// Collects the numbers of messages; each message must come once and in order.
#[derive(Default)]
struct Counted {
    seq_nums: Vec<u64>,
    lost: u64,
    faults: u64,
    done: bool,
}

impl Sink<Message> for Counted {
    fn handle_message(&mut self, delivery: &Delivery, message: &Message) {
        self.done |= message.template_name() == "Done";
        self.seq_nums.extend(delivery.seq_num);
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.lost += gap.count;
    }

    fn handle_fault(&mut self, _: &Fault<'_>) {
        self.faults += 1;
    }
}

type Tested = Handler<Dynamic, NoBooks>;

/// Receives until the feed has ended, at most for half a minute.
fn receive(reception: &mut Tests) {
    let stop = Stop::new();
    let end_ns = clock::monotonic_ns() + 30 * clock::SECOND_NS;
    let stopper = stop.clone();
    let observe = |reception: &mut Tests, moment: LoopState| {
        let is_done = reception.channels()[0].sink.inner().done;
        if is_done && moment.is_idle || moment.now_ns > end_ns {
            stopper.set();
        }
    };
    reception.run(&stop, observe).unwrap();
}

fn handler(generator: &Generator, framing: Framing, sequence: SequenceSource) -> Tested {
    let engine = || {
        let reset = framing.reset_policy().into();
        let options = DecoderOptions::default().reset(reset);
        let decoder = Decoder::with_options(generator.program().clone(), options);
        Dynamic::new(decoder, &SeqNumField::Tag(200))
    };
    let arbiter = ArbiterOptions {
        hold_ns: HOLD_NS,
        packets_held_max: 8192,
        first_seq_num: Some(1),
        ..Default::default()
    };
    let options = HandlerOptions { framing, sequence, arbiter, ..Default::default() };
    Handler::new(options, engine, NoBooks).unwrap()
}

/// Packets of a feed with numbers in preambles; each has the same number of messages.
fn numbered_packets(generator: &mut Generator) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    while let Some(packet) = generator.next_packet().unwrap() {
        packets.push(packet.bytes);
    }
    packets
}

#[test]
fn whatever_comes_on_either_line_is_delivered_once_and_in_order() {
    let framing = Preset::Cme.framing();
    let options = Options { messages: 3_000, framing: Some(framing), ..Options::complex() };
    let faults =
        Faults { loss: 0.02, duplicate: 0.05, reorder: 0.05, reorder_max: 8, ..Faults::default() };
    for wait in [Wait::Block, Wait::Spin] {
        let mut generator = Generator::new(&options).unwrap();
        let packets = numbered_packets(&mut generator);
        let ends = [endpoint(), endpoint()];
        let handler = handler(&generator, framing, SequenceSource::Preamble);
        let mut reception = reception(ends, wait, handler);
        let player = play(&packets, ends, faults);
        receive(&mut reception);
        let channel = &reception.channels()[0];
        let counted = channel.sink.inner();
        player.join().unwrap();
        let [on_a, on_b] = [1, 2].map(|seed| survivors(faults, seed, packets.len()));
        let expected: Vec<u64> = on_a.union(&on_b).map(|index| *index as u64 + 1).collect();
        assert_eq!(counted.seq_nums, expected, "{wait:?}");
        assert_eq!(counted.lost, packets.len() as u64 - expected.len() as u64);
        assert_eq!(counted.faults, 0);
        let dropped = channel.inputs().map(|(_, receiver)| receiver.counters().dropped_by_kernel);
        assert_eq!(dropped.sum::<u64>(), 0);
    }
}

#[test]
fn numbers_inside_messages_need_no_preamble() {
    let options = Options { messages: 20_000, ..Options::simple() };
    let mut generator = Generator::new(&options).unwrap();
    let packets = numbered_packets(&mut generator);
    let field = SeqNumField::Name("SequenceNumber".to_owned());
    let peek = SeqNumPeek::new(generator.program().set(), &field);
    let framing = Framing::new().reset(FramingResetPolicy::Packet);
    let handler = handler(&generator, framing, SequenceSource::Message(peek));
    let ends = [endpoint(), endpoint()];
    let mut reception = reception(ends, Wait::Block, handler);
    let faults = Faults { loss: 0.02, duplicate: 0.1, reorder: 0.1, ..Faults::default() };
    let player = play(&packets, ends, faults);
    receive(&mut reception);
    let channel = &reception.channels()[0];
    let (handler, counted) = (&channel.handler, channel.sink.inner());
    player.join().unwrap();
    let [on_a, on_b] = [1, 2].map(|seed| survivors(faults, seed, packets.len()));
    let is_all_there = on_a.union(&on_b).count() == packets.len();
    assert!(is_all_there, "these seeds lose nothing on both lines");
    assert_eq!((counted.lost, counted.faults), (0, 0));
    assert_eq!(handler.counters().messages.decoded, 20_001);
}

#[test]
fn strangers_on_the_group_are_counted_and_harm_nothing() {
    let framing = Preset::Cme.framing();
    let options = Options { messages: 500, framing: Some(framing), ..Options::complex() };
    let mut generator = Generator::new(&options).unwrap();
    let packets = numbered_packets(&mut generator);
    let ends = [endpoint(), endpoint()];
    let handler = handler(&generator, framing, SequenceSource::Preamble);
    let mut reception = reception(ends, Wait::Block, handler);
    let strangers = thread::spawn(move || {
        let sender = Sender::open(ends[0], SenderOptions::default()).unwrap();
        for number in 0..200_u32 {
            // The numbers are scattered, because numbers that rise step by step would look like a
            // new epoch.
            let unexpected = 1_000_000_000 + number.wrapping_mul(2_654_435_761) % 2_000_000_000;
            sender.send(&unexpected.to_be_bytes()).unwrap();
            sender.send(&[&unexpected.to_be_bytes()[..], b"\0junk"].concat()).unwrap();
            thread::sleep(Duration::from_micros(100));
        }
    });
    let player = play(&packets, ends, Faults::default());
    receive(&mut reception);
    let channel = &reception.channels()[0];
    let (handler, counted) = (&channel.handler, channel.sink.inner());
    player.join().unwrap();
    strangers.join().unwrap();
    assert_eq!(counted.seq_nums, (1..=packets.len() as u64).collect::<Vec<_>>());
    assert_eq!(counted.lost, 0);
    let unexpected = handler.arbiter().line_counters(Line::A).unexpected;
    assert!(unexpected > 0 && handler.counters().lines[0].malformed > 0);
    assert_eq!(counted.faults, handler.counters().lines[0].malformed);
}
