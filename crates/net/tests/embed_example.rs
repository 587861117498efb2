//! The example that embeds the feed handler, run over sockets.

#[path = "../examples/embed_feed.rs"]
mod embed_feed;
mod support;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use support::endpoint;
use tickwire_fast::Message;
use tickwire_feed::book::Side;
use tickwire_feed::handler::{Delivery, Sink};
use tickwire_feed::market::BookKind;
use tickwire_feed::recovery::{BookChange, Recovery};
use tickwire_net::Stop;
use tickwire_net::multicast::{Sender, SenderOptions};

const TEMPLATES: &str = r#"<templates>
  <template name="Incremental" id="1">
    <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
      <uInt32 name="MDUpdateAction" id="279"/><string name="MDEntryType" id="269"/>
      <uInt32 name="SecurityID" id="48"/><uInt32 name="RptSeq" id="83"/>
      <uInt32 name="MDPriceLevel" id="1023"/><decimal name="MDEntryPx" id="270"/>
      <int32 name="MDEntrySize" id="271"/>
    </sequence>
  </template>
</templates>"#;

/// Sends the size of the best bid whenever a book changes.
struct Sizes(mpsc::Sender<i64>);

impl Sink<Message> for Sizes {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}

    fn handle_book(&mut self, change: &BookChange, recovery: &Recovery) {
        let book = recovery.book(change.instrument, BookKind::Outright).expect("fresh");
        let best = book.best(Side::Bid).expect("a bid");
        self.0.send(best.size.mantissa).expect("a receiver");
    }
}

/// Packet `number`, below 128, which adds a new best bid of this size.
fn packet(number: u8) -> Vec<u8> {
    let head = [0, 0, 0, number, 0, 0xC0, 0x81, 0x81];
    let entry = [
        0x80,
        0xB0,
        0x89,
        0x80 | number,
        0x81,
        0x80,
        0x80 | (number & 0x3F),
        0x80 | (number & 0x3F),
    ];
    [&head[..], &entry[..]].concat()
}

#[test]
fn the_example_shows_each_change_of_a_book_and_lets_other_threads_read_it() {
    assert!(include_str!("../examples/embed_feed.rs").lines().count() < 60);
    let lines = [endpoint(), endpoint()];
    let (shown, sizes) = mpsc::channel();
    let (shared, boards) = mpsc::channel();
    let stop = Stop::new();
    let stopped = stop.clone();
    let receiving = thread::spawn(move || {
        let share = |board| shared.send(board).expect("a receiver");
        embed_feed::receive((TEMPLATES, lines), &stopped, Sizes(shown), share)
            .map_err(|error| error.to_string())
    });
    let [a, b] = lines.map(|line| Sender::open(line, SenderOptions::default()).unwrap());
    let patience = Duration::from_secs(20);
    // The first change shows that both sockets are open: packets sent before are lost.
    while sizes.recv_timeout(Duration::from_millis(20)) != Ok(1) {
        a.send(&packet(1)).unwrap();
    }
    for number in 2..=60 {
        // Each packet is lost on one line or on none.
        if number % 3 != 0 {
            a.send(&packet(number)).unwrap();
        }
        if number % 3 != 1 {
            b.send(&packet(number)).unwrap();
        }
    }
    for expected in 2..=60 {
        assert_eq!(sizes.recv_timeout(patience), Ok(expected));
    }
    let board = boards.recv_timeout(patience).unwrap();
    let top = board.read(0).expect("a book");
    assert!(top.is_fresh());
    assert_eq!(top.best(Side::Bid).map(|level| level.size.mantissa), Some(60));
    stop.set();
    assert_eq!(receiving.join().unwrap(), Ok(()));
}
