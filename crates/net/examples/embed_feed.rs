//! The feed handler inside a program: lines A and B of a feed in CME's framing, every message printed.
//!
//! `embed_feed TEMPLATES.xml GROUP_A GROUP_B PORT`

use std::error::Error;
use std::sync::Arc;

use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_feed::arbiter::Line;
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{Delivery, Dynamic, Handler, HandlerOptions};
use tickwire_feed::handler::{SeqNumField, Sink, Source};
use tickwire_feed::market::NoBooks;
use tickwire_net::Stop;
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions};
use tickwire_net::reception::{Reception, Wait};

/// Receives until `stop` is set. `sink` is shown each message once, in order.
pub(crate) fn receive<S: Sink<Message>>(
    templates: &str,
    lines: [Endpoint; 2],
    stop: &Stop,
    sink: S,
) -> Result<(), Box<dyn Error>> {
    let program = Arc::new(Program::compile(TemplateSet::parse(templates)?)?);
    let framing = Preset::Cme.framing();
    let engine = || {
        let options = DecoderOptions { reset: framing.reset_policy().into(), ..Default::default() };
        Dynamic::new(Decoder::with_options(program.clone(), options), &SeqNumField::default())
    };
    let handler = Handler::new(HandlerOptions { framing, ..Default::default() }, engine, NoBooks)?;
    let mut inputs = Vec::new();
    for (line, endpoint) in Line::ALL.into_iter().zip(lines) {
        let receiver = Receiver::open(endpoint, ReceiverOptions::default())?;
        inputs.push((Source::Incremental(line), receiver));
    }
    let mut reception = Reception::new(Wait::Block)?;
    reception.add_channel(handler, sink, inputs)?;
    Ok(reception.run(stop, |_, _| {})?)
}

/// Run by the test `embed_example` too, which has no use for this function.
#[allow(dead_code)]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [templates, group_a, group_b, port] = &arguments[..] else {
        return Err("usage: embed_feed TEMPLATES.xml GROUP_A GROUP_B PORT".into());
    };
    let port = port.parse()?;
    let lines =
        [Endpoint::loopback(group_a.parse()?, port), Endpoint::loopback(group_b.parse()?, port)];
    let print = |delivery: &Delivery, message: &Message| {
        println!("{:?} {:?}: {}", delivery.line, delivery.seq_num, message.template_name());
    };
    receive(&std::fs::read_to_string(templates)?, lines, &Stop::on_signals()?, print)
}
