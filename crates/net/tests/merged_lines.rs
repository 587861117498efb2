//! Packets of several sockets, passed on in the order in which they arrived.

mod support;

use std::sync::Arc;

use support::{await_stamps_on_arrival, endpoint};
use tickwire_fast::{
    Decoder, DecoderOptions, FieldValue, Message, Program, ResetPolicy, TemplateSet,
};
use tickwire_feed::arbiter::Line;
use tickwire_feed::framing::{self, Framing};
use tickwire_feed::handler::{
    Delivery, Dynamic, FeedLine, Handler, HandlerOptions, SeqNumField, SequenceSource,
};
use tickwire_feed::market::NoBooks;
use tickwire_net::affinity::pin_current_thread;
use tickwire_net::multicast::{Receiver, ReceiverOptions, Sender, SenderOptions};
use tickwire_net::reception::{LoopState, Reception, Wait};
use tickwire_net::{Stop, clock};

/// Packets received by one call.
const BATCH: u8 = 32;

fn handler() -> Handler<Dynamic, NoBooks> {
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="n"/></template></templates>"#;
    let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
    let engine = || {
        let options = DecoderOptions::default().reset(ResetPolicy::Packet);
        Dynamic::new(Decoder::with_options(program.clone(), options), &SeqNumField::default())
    };
    let framing = Framing::new().reset(framing::FramingResetPolicy::Packet);
    let options = HandlerOptions { framing, sequence: SequenceSource::None, ..Default::default() };
    Handler::new(options, engine, NoBooks).unwrap()
}

#[test]
fn a_socket_found_empty_is_asked_again_before_a_packet_that_came_later() {
    // Each core has its own queue before the sockets: only with one core the order of sending is
    // kept.
    assert!((0..1024).any(|cpu| pin_current_thread(cpu).is_ok()), "no core to run on");
    let _stamping = await_stamps_on_arrival();
    let ends = [endpoint(), endpoint()];
    let inputs: Vec<_> = Line::ALL
        .into_iter()
        .zip(ends)
        .map(|(line, endpoint)| {
            let receiver = Receiver::open(endpoint, ReceiverOptions::default()).unwrap();
            (FeedLine::Incremental(line), receiver)
        })
        .collect();
    let [a, b] = ends.map(|endpoint| Sender::open(endpoint, SenderOptions::default()).unwrap());
    let packet = |number: u8| [0xC0, 0x81, 0x80 | number];
    (1..=BATCH).for_each(|number| a.send(&packet(number)).unwrap());

    let mut seen = Vec::new();
    let stop = Stop::new();
    let sink = |delivery: &Delivery, message: &Message| {
        let Some(FieldValue::UInt(n)) = message.root().field("n") else { panic!("a number") };
        seen.push((delivery.line, n));
        if n == 1 {
            // B was found empty before; A's next batch has a packet that arrived after B's.
            b.send(&packet(100)).unwrap();
            a.send(&packet(101)).unwrap();
        }
    };
    let end_ns = clock::monotonic_ns() + 10 * clock::SECOND_NS;
    let mut reception = Reception::new(Wait::Block).unwrap();
    reception.add_channel(handler(), sink, inputs).unwrap();
    let observe = |reception: &mut Reception<_, _>, moment: LoopState| {
        let inputs = reception.channels()[0].inputs();
        let packets: u64 = inputs.map(|(_, receiver)| receiver.counters().packets).sum();
        if packets == u64::from(BATCH) + 2 || moment.now_ns > end_ns {
            stop.set();
        }
    };
    reception.run(&stop, observe).unwrap();
    drop(reception);
    let expected = (1..=u64::from(BATCH)).map(|n| (Line::A, n));
    let expected = expected.chain([(Line::B, 100), (Line::A, 101)]);
    assert_eq!(seen, expected.collect::<Vec<_>>());
}
