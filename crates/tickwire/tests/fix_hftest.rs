//! A hundred thousand orders over loopback: no message is lost, and the records of both sides agree.

mod trading;

use std::thread::sleep;
use std::time::{Duration, Instant};
use trading::{CLIENT, SERVER, Stage};

const ORDERS: u64 = 100_000;
/// Time limit, on a busy machine and without optimisation.
const TIME_MAX: Duration = Duration::from_secs(300);

#[test]
fn a_hundred_thousand_orders_arrive_and_stores_agree() {
    let begun = Instant::now();
    let mut stage = Stage::new(ORDERS, &["--window", "20000"]);
    stage.start(SERVER);
    stage.start(CLIENT);
    let client = loop {
        match stage.ended(CLIENT) {
            Some(success) => break success,
            None => assert!(begun.elapsed() < TIME_MAX, "not done in time"),
        }
        sleep(Duration::from_millis(20));
    };
    assert!(client, "the client failed");
    stage.kill(SERVER);
    let reports = stage.check_stores(ORDERS);
    eprintln!("{ORDERS} orders, {reports} reports, {:.1?}", begun.elapsed());
}
