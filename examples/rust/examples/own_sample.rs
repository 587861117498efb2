//! A sample type of one's own, published and subscribed to in shared memory. With `tickwire_dds::Domain` in place of
//! `ShmParticipant` it goes over DDS. `cargo run -p tickwire-examples --example own_sample`.

use std::error::Error;
use std::thread;
use std::time::Duration;
use tickwire_distribution::{
    DeliverySettings, Publisher, ReceivedSample, Sample, Subscriber, SubscriberOptions, TopicSet,
    fields,
};
use tickwire_shm_transport::{ShmConfig, ShmParticipant};

/// The best prices of a symbol, which is the key.
#[derive(Clone, Debug, Default, PartialEq)]
struct Spread {
    symbol: String,
    bid: f64,
    ask: f64,
}
// Names as in an IDL file, the key first.
fields!("Example::Spread" Spread { symbol "symbol"; bid "bid", ask "ask" });

impl Sample for Spread {
    const TOPIC: &'static str = "Spread";
}

const PATIENCE: Duration = Duration::from_secs(10);

/// Publishes samples; usually this is a separate process.
fn publish(config: ShmConfig) -> Result<(), tickwire_shm_transport::ShmTransportError> {
    let sets = [TopicSet::of::<Spread>()];
    let place = ShmParticipant::join(config);
    let mut publisher =
        Publisher::new(&place, &sets, &DeliverySettings::default(), PATIENCE, || false)?;
    publisher.wait_matched(1, PATIENCE)?;
    for cents in 0..100 {
        let bid = 36.0 + f64::from(cents) / 100.0;
        let spread = Spread { symbol: "TICK".to_owned(), bid, ask: bid + 0.01 };
        publisher.publish(0, &spread)?;
    }
    publisher.finish(true, PATIENCE)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = format!("tickwire-own-sample-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    let config = ShmConfig::in_directory(&directory);
    let sets = [TopicSet::of::<Spread>()];
    let place = ShmParticipant::join(config.clone());
    let options = SubscriberOptions::default();
    let mut subscriber = Subscriber::new(&place, &sets, &DeliverySettings::default(), &options)?;
    let publisher = thread::spawn(move || publish(config));
    let mut spread = ReceivedSample::<Spread>::default();
    while !subscriber.is_over() {
        subscriber.receive(Duration::from_millis(20), |arrival| {
            if let Err(error) = arrival.load(&mut spread) {
                eprintln!("not a Spread: {error}");
            }
        })?;
    }
    publisher.join().expect("no panic")?;
    let Spread { symbol, bid, ask } = &spread.sample;
    let lost: Vec<_> = subscriber.ledger().publishers().iter().map(|one| one.lost).collect();
    println!("the last of {symbol}: {bid:.2} to {ask:.2}; lost: {lost:?}");
    Ok(std::fs::remove_dir_all(directory)?)
}
