//! The examples of FIX applications, run against each other.

#[path = "../examples/fix_acceptor.rs"]
#[allow(dead_code)]
mod fix_acceptor;
#[path = "../examples/fix_drop_copy.rs"]
#[allow(dead_code)]
mod fix_drop_copy;
#[path = "../examples/fix_initiator.rs"]
#[allow(dead_code)]
mod fix_initiator;
#[path = "../examples/fix_market_data.rs"]
#[allow(dead_code)]
mod fix_market_data;
#[path = "../examples/step_feed.rs"]
#[allow(dead_code)]
mod step_feed;

use tickwire_host::Stop;

#[test]
fn they_are_short() {
    for text in [
        include_str!("../examples/fix_acceptor.rs"),
        include_str!("../examples/fix_drop_copy.rs"),
        include_str!("../examples/fix_initiator.rs"),
        include_str!("../examples/fix_market_data.rs"),
        include_str!("../examples/step_feed.rs"),
    ] {
        assert!(text.lines().count() < 100, "{}", text.lines().next().unwrap_or_default());
    }
}

#[test]
fn an_order_is_accepted_replaced_and_canceled() {
    let (mut venue, address) =
        fix_acceptor::listen("127.0.0.1:0".parse().expect("an address")).expect("listens");
    let stop = Stop::new();
    let until = stop.clone();
    let handle = venue.handle();
    let running = std::thread::spawn(move || venue.run(&until).expect("runs"));
    assert_eq!(
        fix_initiator::trade(address).expect("trades"),
        ["New 1", "Replace 2", "Canceled 3"]
    );
    stop.set();
    handle.wake().expect("wakes");
    running.join().expect("no panic");
}

#[test]
fn a_snapshot_and_an_update_come() {
    let entries = fix_market_data::entries().expect("runs");
    assert_eq!(entries, ["bid 99 10", "offer 101 20", "Change bid 100 5"]);
}

#[test]
fn blocks_of_fast_come_over_a_session() {
    let messages = step_feed::messages().expect("runs");
    let prices = [("000001", 1250), ("000001", 1251), ("300750", 18000), ("300750", 18001)];
    assert_eq!(messages.len(), prices.len());
    for (message, (security, price)) in messages.iter().zip(prices) {
        assert!(message.contains(security) && message.contains(&price.to_string()), "{message}");
    }
}

#[test]
fn a_watcher_that_comes_late_gets_all_copies() {
    let wanted: Vec<String> = (0..30).map(|number| format!("order-{number}")).collect();
    assert_eq!(fix_drop_copy::copies(30).expect("runs"), wanted);
}
