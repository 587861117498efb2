//! Server and client are killed under load at random moments: no order and no report is lost or duplicated.

mod trading;

use std::thread::sleep;
use std::time::{Duration, Instant};
use trading::{CLIENT, SERVER, Stage};

/// Number of kills, of a randomly chosen side.
const KILLS: usize = 100;
/// Total number of orders. Their rate is chosen so that all kills happen while orders are sent.
const ORDERS: u64 = 6_000;
const RATE: &str = "700";
/// Time limit.
const TIME_MAX: Duration = Duration::from_secs(180);

#[test]
fn nothing_is_lost_or_doubled_by_a_hundred_kills() {
    let begun = Instant::now();
    let mut stage = Stage::new(ORDERS, &["--rate", RATE]);
    stage.start(SERVER);
    stage.start(CLIENT);
    let mut random = fastrand::Rng::with_seed(20_260_101);
    let mut kills = 0;
    while kills < KILLS {
        sleep(Duration::from_millis(random.u64(5..120)));
        let side = random.usize(0..2);
        if stage.ended(CLIENT).is_some() {
            break;
        }
        stage.kill(side);
        kills += 1;
        stage.start(side);
    }
    assert!(kills >= KILLS / 2, "the client was done after {kills} kills: more orders are needed");
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
    eprintln!("{kills} kills, {reports} reports, {:.1?}", begun.elapsed());
}
