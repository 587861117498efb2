//! A publisher over DDS on this machine, for the example `subscriber`: `cargo run --release -p tickwire-dds
//! --example publisher`.

use std::error::Error;
use std::time::Duration;
use tickwire_dds::{Domain, DomainConfig, Quote};
use tickwire_distribution::{DeliverySettings, Publisher, TopicSet};

const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let place = Domain::open(0, &DomainConfig::default())?.join()?;
    let sets = [TopicSet::of::<Quote>()];
    let mut publisher =
        Publisher::new(&place, &sets, &DeliverySettings::default(), PATIENCE, || false)?;
    if !publisher.wait_matched(1, PATIENCE)? {
        println!("Nobody subscribes: publishing anyway.");
    }
    for sequence_number in 1..=1000 {
        let quote = Quote { sequence_number, price: 13_331, volume: 5, ..Quote::default() };
        publisher.publish(0, &quote)?;
    }
    // Sends the number of samples to the subscribers, so that they can count losses.
    let has_all = publisher.finish(true, PATIENCE)?;
    println!("{} quotes; subscribers have all: {has_all}", publisher.counters().written());
    Ok(())
}
