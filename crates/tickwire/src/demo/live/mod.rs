//! The demo's live part: exchange, multicast, publisher and subscriber, each a process of its own.

mod chain;
mod place;
mod process;
mod report;
mod soak;
mod udp;

pub use report::Live;
pub use soak::soak;

use super::DemoArgs;
use crate::failure::Failure;
use chain::{Chain, Plan};
use tickwire_exchange::Options;
use tickwire_net::Stop;

/// Runs both feeds through the chain, and plain UDP beside them. What was there when the user stopped
/// it is in what is returned.
pub fn run(args: &DemoArgs, stop: &Stop) -> Result<Live, Failure> {
    let mut live = Live::default();
    let messages = args.live_messages;
    let options = |options: Options| Options {
        messages,
        seed: args.seed,
        messages_per_packet_max: 1,
        ..options
    };
    for (name, options) in
        [("Simple", options(Options::simple())), ("Complex", options(Options::complex()))]
    {
        if stop.is_set() {
            break;
        }
        anstream::eprintln!(
            "{name}: {messages} messages at {} a second, subscriber, publisher and multicaster as \
             processes",
            args.rate
        );
        let plan = Plan {
            name,
            options,
            packets_per_second: args.rate,
            loss: args.loss,
            seed: args.seed,
            echo: true,
        };
        live.runs.push(Chain::start(&plan, stop)?.finish(stop)?);
    }
    if !stop.is_set() {
        live.plain_udp = Some(udp::measure(args.rate, stop)?);
    }
    Ok(live)
}
