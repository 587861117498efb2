//! Books after a pause in which no client requested them.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::common::{feed, get, wait};
use serde_json::Value;
use tickwire_feed::book::{Amount, BookUpdate, Level, LevelAction, Side};
use tickwire_feed::market::{
    BookKind, Instrument, InstrumentKey, LevelName, Snapshot, SnapshotFragment, SnapshotLevel,
    Update,
};
use tickwire_feed::recovery::{Recovery, SnapshotOutcome};

/// Longer than a book counts as viewed after its last request.
const PAUSE: Duration = Duration::from_millis(2300);
const PUBLISH: Duration = Duration::from_millis(50);

fn level(price: i64) -> Level {
    Level { price: Amount::integer(price), size: Amount::integer(1), orders: None }
}

/// Returns books of the instruments 101, 102 and 103, each with a bid of 50.
pub fn books() -> (Recovery, [Instrument; 3]) {
    let mut books = Recovery::new(Default::default());
    let ids = [101, 102, 103].map(|number| books.instrument(InstrumentKey::Number(number)));
    let ids = ids.map(|id| id.expect("a new instrument"));
    books.handle_progress(11);
    for instrument in ids {
        recover(&mut books, instrument, 100);
    }
    books.end_message(false);
    (books, ids)
}

/// Makes a book fresh by a snapshot with a bid of 50.
pub fn recover(books: &mut Recovery, instrument: Instrument, rpt_seq: u64) {
    let levels = [SnapshotLevel {
        kind: BookKind::Outright,
        side: Side::Bid,
        name: LevelName::Level(1),
        content: level(50),
    }];
    let snapshot = Snapshot {
        instrument,
        last_seq_num: 10,
        rpt_seq: Some(rpt_seq),
        sending_time: None,
        seq_num: None,
        fragment: SnapshotFragment::Whole,
        depth: None,
        levels: &levels,
    };
    assert_eq!(books.handle_snapshot(0, &snapshot), SnapshotOutcome::Recovered);
}

/// Changes the bid to 51.
pub fn change(books: &mut Recovery, instrument: Instrument, rpt_seq: u64) {
    let action = LevelAction::Change(level(51));
    books.handle_update(&Update {
        instrument,
        kind: BookKind::Outright,
        seq_num: 11,
        rpt_seq: Some(rpt_seq),
        depth: None,
        change: BookUpdate::ByLevel { side: Side::Bid, level: 1, action },
    });
}

/// Returns the first event of a stream.
fn first_event(address: SocketAddr, query: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!("GET /api/v1/stream?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    serde_json::from_str(&data.expect("an event")).unwrap()
}

#[test]
fn a_look_after_a_pause_gets_no_old_book() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    let (books, [first, second, third]) = books();
    feed.books = Some(books);
    let (end, is_over) = channel::<()>();
    let (changes, changed) = channel::<fn(&mut Recovery, [Instrument; 3])>();
    thread::scope(|scope| {
        // Ends the thread also if this one panics.
        let _end = end;
        scope.spawn(move || {
            while is_over.recv_timeout(PUBLISH) == Err(RecvTimeoutError::Timeout) {
                let books = feed.books.as_mut().unwrap();
                changed.try_iter().for_each(|change| change(books, [first, second, third]));
                feed.publish();
            }
        });
        wait(address, |state| state["channels"][0]["books"]["fresh"] == 3);
        let list = get(address, "/api/v1/books").json();
        assert_eq!(list["is_ready"], true);
        for book in list["books"].as_array().unwrap() {
            assert_eq!((&book["bid"]["price"], &book["status"]), (&"50".into(), &"fresh".into()));
        }

        thread::sleep(PAUSE);
        changes
            .send(|books, [first, second, third]| {
                change(books, first, 101);
                change(books, second, 101);
                // An update is missing.
                change(books, third, 102);
                books.end_message(false);
            })
            .unwrap();
        wait(address, |state| state["channels"][0]["books"]["stale"]["rpt_seq_gap"] == 1);
        let is_told = |event: &Value| event["kind"] == "stale";
        let told = wait(address, |state| {
            state["channels"][0]["events"].as_array().unwrap().iter().any(is_told)
        });
        let channel = &told["channels"][0];
        let events: Vec<&Value> =
            channel["events"].as_array().unwrap().iter().filter(|of| is_told(of)).collect();
        assert_eq!(events.len(), 1, "{events:?}");
        let text = events[0]["text"].as_str().unwrap();
        assert!(text.starts_with("the book of ") && text.ends_with("rpt seq gap"), "{text}");
        assert_eq!(channel["books"]["stale_books"][0]["since_ms"], events[0]["at_ms"]);

        let event = first_event(address, "of=books&search=103");
        let book = &event["books"][0];
        assert_eq!(book["status"], "rpt_seq_gap", "{event:#}");
        assert_eq!(book["stale_since_ms"], events[0]["at_ms"], "{event:#}");
        let list = get(address, "/api/v1/books?search=101&watch=0").json();
        let (best, ladder) = (&list["books"][0], &list["ladders"][0]);
        assert_eq!((&list["is_ready"], &best["status"]), (&true.into(), &"fresh".into()));
        assert_eq!(best["bid"]["price"], "51", "{list:#}");
        assert!(best["stale_since_ms"].is_null(), "{list:#}");
        assert_eq!(ladder["bids"][0]["price"], "51", "{list:#}");
        let book = get(address, "/api/v1/books/1").json();
        assert_eq!(book["bid"]["price"], "51", "{book:#}");
        assert_eq!(book["status"], "fresh");
    });
}
