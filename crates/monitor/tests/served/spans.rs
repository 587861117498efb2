//! Spans of gaps, replays and the recovery of books.

use std::thread;
use std::time::Duration;

use crate::common::{Feed, serve, wait};
use crate::looks::{books, change, recover};
use tickwire_feed::arbiter::Gap;
use tickwire_monitor::MonitorBuilder;
use tickwire_telemetry::metrics::Metrics;
use tickwire_telemetry::spans::{CompletedSpan, SpanSink, SpanValue};

const STEP: Duration = Duration::from_millis(30);
const STEP_NS: u64 = 30_000_000;
/// The feed's offset to nanoseconds since 1970.
const EPOCH_NS: u64 = 1_000_000_000_000_000_000;

fn value<'s>(span: &'s CompletedSpan, name: &str) -> &'s SpanValue {
    let found = span.attributes.iter().find(|(known, _)| *known == name);
    &found.unwrap_or_else(|| panic!("{name} is not in {span:?}")).1
}

#[test]
fn gaps_replays_and_books_end_in_spans() {
    let mut builder = MonitorBuilder::new("test", "0.0.0");
    let (sink, spans) = SpanSink::new(64, &Metrics::new());
    builder.set_spans(sink);
    let mut feed = Feed::new(&mut builder);
    let served = serve(builder, None);
    let (fresh, [first, _, third]) = books();
    feed.books = Some(fresh);
    feed.publish();

    // A gap makes a book stale. Its replay does not help, a snapshot does.
    let gap = Gap { first: 4, count: 2 };
    feed.tap.gap(gap);
    feed.tap.replay_begun(gap);
    let recovery = feed.books.as_mut().unwrap();
    change(recovery, third, 102);
    recovery.end_message(false);
    feed.publish();
    thread::sleep(STEP);
    feed.publish();
    feed.tap.replay_done(gap);
    thread::sleep(STEP);
    let recovery = feed.books.as_mut().unwrap();
    recover(recovery, third, 101);
    recovery.end_message(false);
    feed.publish();

    let address = served.server.address();
    wait(address, |state| state["channels"][0]["gaps"][0]["status"] == "filled");
    let ended: Vec<CompletedSpan> = spans.try_iter().collect();
    let [replay, recovered, book] = &ended[..] else { panic!("{ended:#?}") };
    assert_eq!(
        [replay.name, recovered.name, book.name],
        ["replay", "gap recovery", "book recovery"]
    );
    for span in &ended {
        assert_eq!(*value(span, "feed.channel"), "futures".into());
        assert_eq!(span.error, None);
        assert!(span.start_ns > EPOCH_NS, "{span:?}");
    }
    for span in [replay, recovered] {
        assert_eq!(*value(span, "feed.gap.first_seq_num"), 4.into());
        assert_eq!(*value(span, "feed.gap.seq_num_count"), 2.into());
    }
    let length = |span: &CompletedSpan| span.end_ns - span.start_ns;
    assert!((STEP_NS..10 * STEP_NS).contains(&length(replay)), "{replay:?}");
    assert!(length(recovered) >= length(replay) + STEP_NS, "{recovered:?}");
    assert_eq!(*value(recovered, "feed.gap.filled_by"), "snapshots".into());
    assert_eq!(*value(book, "feed.books.stale_max"), 1.into());
    assert_eq!(*value(book, "feed.books.recovered"), 1.into());
    assert_eq!(*value(book, "feed.books.recovered_by_snapshot"), 1.into());
    // The replay is a child of the gap's recovery.
    assert!(replay.identity.is_child_of(recovered.identity), "{ended:#?}");
    assert!(!book.identity.is_child_of(recovered.identity), "{ended:#?}");

    // A recovery that is unfinished at the end has failed.
    let recovery = feed.books.as_mut().unwrap();
    change(recovery, first, 150);
    recovery.end_message(false);
    feed.tap.gap(Gap { first: 9, count: 1 });
    feed.publish();
    drop(served);
    let ended: Vec<CompletedSpan> = spans.try_iter().collect();
    let [lost, book] = &ended[..] else { panic!("{ended:#?}") };
    assert_eq!((lost.name, book.name), ("gap recovery", "book recovery"));
    assert_eq!(*value(lost, "feed.gap.filled_by"), "none".into());
    assert_eq!(lost.error.as_deref(), Some("the gap was not filled"));
    assert_eq!(book.error.as_deref(), Some("books are stale"));
}
