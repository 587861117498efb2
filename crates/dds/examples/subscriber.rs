//! A subscriber over DDS on this machine, for the example `publisher`: `cargo run --release -p tickwire-dds
//! --example subscriber`.

use std::error::Error;
use std::time::Duration;
use tickwire_dds::{Domain, DomainConfig, Quote, ReceivedSample};
use tickwire_distribution::{DeliverySettings, Subscriber, SubscriberOptions, TopicSet};

const TICK: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let place = Domain::open(0, &DomainConfig::default())?.join()?;
    let sets = [TopicSet::of::<Quote>()];
    // `every: Some(time)` conflates: it delivers the last sample of each key, at most once per `time`.
    let options = SubscriberOptions::default();
    let mut subscriber = Subscriber::new(&place, &sets, &DeliverySettings::default(), &options)?;
    let mut quote = ReceivedSample::<Quote>::default();
    let mut volume = 0;
    while !subscriber.is_over() {
        subscriber.receive(TICK, |arrival| {
            if arrival.load(&mut quote).is_ok() {
                volume += u64::from(quote.sample.volume);
            }
        })?;
        for publisher in subscriber.take_gone() {
            println!("Publisher {publisher} has disappeared.");
        }
    }
    let ledger = subscriber.ledger();
    for publisher in ledger.publishers() {
        let lost = publisher.lost;
        println!("{} quotes, volume {volume}, lost: {lost:?}", publisher.received());
    }
    Ok(())
}
