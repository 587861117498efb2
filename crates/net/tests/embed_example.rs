//! The example that embeds the feed handler, run over sockets.

#[path = "../examples/embed_feed.rs"]
mod embed_feed;
mod support;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use support::endpoint;
use tickwire_fast::{FieldValue, Message};
use tickwire_feed::handler::Delivery;
use tickwire_net::Stop;
use tickwire_net::multicast::{Sender, SenderOptions};

const TEMPLATES: &str =
    r#"<templates><template name="T" id="1"><uInt32 name="n"/></template></templates>"#;

#[test]
fn the_example_shows_each_message_once_and_in_order() {
    assert!(include_str!("../examples/embed_feed.rs").lines().count() < 60);
    let lines = [endpoint(), endpoint()];
    let (shown, messages) = mpsc::channel();
    let stop = Stop::new();
    let stopped = stop.clone();
    let receiving = thread::spawn(move || {
        let show = |_: &Delivery, message: &Message| {
            let Some(FieldValue::UInt(n)) = message.root().field("n") else { panic!("a number") };
            shown.send(n).unwrap();
        };
        embed_feed::receive(TEMPLATES, lines, &stopped, show).map_err(|error| error.to_string())
    });
    let [a, b] = lines.map(|line| Sender::open(line, SenderOptions::default()).unwrap());
    let packet = |seq_num: u8| [0, 0, 0, seq_num, 0, 0xC0, 0x81, 0x80 | seq_num];
    let patience = Duration::from_secs(20);
    // The first message shows that both sockets are open: before, packets are lost.
    while messages.recv_timeout(Duration::from_millis(20)) != Ok(1) {
        a.send(&packet(1)).unwrap();
    }
    for seq_num in 2..=100 {
        // Each is lost on one line, or on none.
        if seq_num % 3 != 0 {
            a.send(&packet(seq_num)).unwrap();
        }
        if seq_num % 3 != 1 {
            b.send(&packet(seq_num)).unwrap();
        }
    }
    for expected in 2..=100 {
        assert_eq!(messages.recv_timeout(patience), Ok(expected));
    }
    stop.set();
    assert_eq!(receiving.join().unwrap(), Ok(()));
}
