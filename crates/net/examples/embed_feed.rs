//! The feed handler inside a program: lines A and B of a feed in CME's framing. Books are printed as they change; another
//! thread reads the best bid of the first one. `embed_feed TEMPLATES.xml GROUP_A GROUP_B PORT`
use std::{error::Error, sync::Arc, thread, time::Duration};
use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_feed::handler::{Delivery, Dynamic, Handler, HandlerOptions, SeqNumField};
use tickwire_feed::handler::{FeedLine, Sink};
use tickwire_feed::market::{AdapterOptions, MarketDataAdapter};
use tickwire_feed::recovery::{BookChange, Recovery};
use tickwire_feed::{arbiter::Line, board::BoardReader, book::Side, framing::Preset};
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions};
use tickwire_net::{Stop, reception::Reception, reception::Wait};

/// Receives until `stop` is set. `share` receives a reader of the books, for other threads.
pub(crate) fn receive<S: Sink<Message>>(
    (templates, lines): (&str, [Endpoint; 2]),
    stop: &Stop,
    sink: S,
    share: impl FnOnce(BoardReader),
) -> Result<(), Box<dyn Error>> {
    let program = Arc::new(Program::compile(TemplateSet::parse(templates)?)?);
    let framing = Preset::Cme.framing();
    let engine = || {
        let options = DecoderOptions::default().reset(framing.reset_policy().into());
        Dynamic::new(Decoder::with_options(program.clone(), options), &SeqNumField::default())
    };
    let books = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let options = HandlerOptions { framing, ..Default::default() };
    let mut handler = Handler::new(options, engine, books)?;
    share(handler.recovery_mut().reader());
    let open = |endpoint| Receiver::open(endpoint, ReceiverOptions::default());
    let inputs =
        Line::ALL.map(FeedLine::Incremental).into_iter().zip([open(lines[0])?, open(lines[1])?]);
    let mut reception = Reception::new(Wait::Block)?;
    reception.add_channel(handler, sink, inputs)?;
    Ok(reception.run(stop, |_, _| {})?)
}

struct Print;
impl Sink<Message> for Print {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}
    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        let name = recovery.instruments().name(change.instrument);
        println!("{name}: {:?}", recovery.book(change.instrument, change.kind));
    }
}

#[allow(dead_code, reason = "the test `embed_example` runs `receive` alone")]
fn main() -> Result<(), Box<dyn Error>> {
    let [templates, a, b, port] =
        [1, 2, 3, 4].map(|nth| std::env::args().nth(nth).expect("an argument"));
    let (templates, port) = (std::fs::read_to_string(templates)?, port.parse()?);
    let lines = [Endpoint::loopback(a.parse()?, port), Endpoint::loopback(b.parse()?, port)];
    let watch = |board: BoardReader| loop {
        println!("best bid: {:?}", board.read(0).map(|top| top.best(Side::Bid).copied()));
        thread::sleep(Duration::from_secs(1));
    };
    let share = |board| drop(thread::spawn(move || watch(board)));
    receive((&templates, lines), &Stop::on_signals()?, Print, share)
}
