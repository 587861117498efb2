//! The mix of messages agrees with published measurements of the feeds.

mod support;

use std::collections::BTreeMap;
use support::packets;
use tickwire_exchange::{CmeShape, DraftValue, FeedKind, FeedShape, MessageDraft, Options};
use tickwire_fast::TemplateSet;

/// Averages of a feed.
struct Figures {
    entries: f64,
    entries_max: usize,
    bytes: f64,
    securities: f64,
}

fn entries(draft: &MessageDraft) -> &[Vec<DraftValue>] {
    match draft.fields.last() {
        Some(DraftValue::Sequence(entries)) => entries,
        _ => &[],
    }
}

/// Returns the averages over the messages of one template. `security_at` is the index of SecurityID
/// in an entry.
fn figures(options: &Options, template: &str, security_at: usize) -> Figures {
    let packets = packets(options);
    let mut figures = Figures { entries: 0.0, entries_max: 0, bytes: 0.0, securities: 0.0 };
    let mut count = 0.0;
    for packet in packets.iter().filter(|packet| packet.messages[0].template == template) {
        let [message] = &packet.messages[..] else { panic!("one message a packet") };
        let entries = entries(message);
        let mut securities: Vec<_> = entries.iter().map(|entry| &entry[security_at]).collect();
        securities.dedup();
        count += 1.0;
        figures.entries += entries.len() as f64;
        figures.entries_max = figures.entries_max.max(entries.len());
        figures.bytes += packet.bytes.len() as f64;
        figures.securities += securities.len() as f64;
    }
    figures.entries /= count;
    figures.bytes /= count;
    figures.securities /= count;
    figures
}

#[test]
fn cme_has_4_8_entries_a_packet_and_116_at_most() {
    for seed in 1..=3 {
        let options = Options { seed, messages: 10_000, ..Options::cme(CmeShape::Average) };
        let figures = figures(&options, "MDIncrementalRefresh", 4);
        assert!((figures.entries - 4.83).abs() < 0.06, "{} entries", figures.entries);
        assert!((90..=117).contains(&figures.entries_max), "{}", figures.entries_max);
        // 9.5 seconds for 34 million packets at more than 200 MB/s.
        assert!((60.0..80.0).contains(&figures.bytes), "{} bytes", figures.bytes);
    }
}

#[test]
fn channel_11_has_one_entry_and_36_bytes() {
    for seed in 1..=3 {
        let options = Options { seed, messages: 4_000, ..Options::cme(CmeShape::Channel11) };
        let figures = figures(&options, "MDIncrementalRefresh", 4);
        assert_eq!((figures.entries, figures.entries_max), (1.0, 1));
        assert!((figures.bytes - 36.0).abs() < 0.5, "{} bytes", figures.bytes);
    }
}

#[test]
fn channel_9_has_four_entries_and_79_bytes() {
    for seed in 1..=3 {
        let options = Options { seed, messages: 4_000, ..Options::cme(CmeShape::Channel9) };
        let figures = figures(&options, "MDIncrementalRefresh", 4);
        assert_eq!((figures.entries, figures.entries_max), (4.0, 4));
        assert!((figures.bytes - 79.0).abs() < 0.5, "{} bytes", figures.bytes);
    }
}

#[test]
fn complex_has_three_entries_of_1_4_securities() {
    let options = Options { messages: 10_000, ..Options::complex() };
    let figures = figures(&options, "MarketData", 5);
    assert!((figures.entries - 3.0).abs() < 0.05, "{} entries", figures.entries);
    assert!((figures.securities - 1.4).abs() < 0.08, "{} securities", figures.securities);
}

#[test]
fn complex_messages_are_as_long_as_asked_and_of_one_security_unless_split() {
    for entries_mean in [1, 2, 10, 60] {
        let feed = FeedKind::Complex { entries_mean, split: false };
        let options = Options { feed, messages: 2_000, ..Options::complex() };
        let figures = figures(&options, "MarketData", 5);
        let mean = f64::from(entries_mean);
        assert!((figures.entries / mean - 1.0).abs() < 0.05, "{} entries", figures.entries);
        assert_eq!(figures.securities, 1.0);
    }
}

#[test]
fn random_messages_have_2_9_entries_and_58_bytes_of_any_length() {
    let options = Options { messages: 10_000, ..Options::random_cme() };
    let figures = figures(&options, "MarketData", 5);
    assert!((figures.entries - 2.9).abs() < 0.1, "{} entries", figures.entries);
    assert_eq!(figures.entries_max, 12);
    assert!((figures.bytes - 58.0).abs() < 2.0, "{} bytes", figures.bytes);
}

#[test]
fn one_in_a_hundred_complex_messages_is_a_quote_request() {
    let counts = counts(&Options::complex());
    assert!((200..400).contains(&counts["QuoteRequest"]), "{counts:?}");
    assert_eq!(counts["QuoteRequest"] + counts["MarketData"], 30_000);
}

#[test]
fn simple_messages_are_of_four_kinds_about_equally() {
    let counts = counts(&Options::simple());
    for template in ["Quote", "New", "Change", "Remove"] {
        assert!((6_500..9_000).contains(&counts[template]), "{counts:?}");
    }
    assert_eq!(counts["Done"], 1);
}

#[test]
fn shaped_feeds_send_every_template_in_messages_of_the_right_size() {
    // Bytes per message.
    let wanted = [
        (FeedShape::Asts, 150..180),
        (FeedShape::B3, 100..125),
        (FeedShape::Bse, 40..55),
        (FeedShape::Eurex, 40..55),
        (FeedShape::Mcx, 40..60),
        (FeedShape::Szse, 40..55),
    ];
    for (shape, bytes_wanted) in wanted {
        let options = Options { messages: 3_000, ..Options::shaped(shape) };
        let counts = counts(&options);
        let set = TemplateSet::parse(FeedKind::Shaped(shape).templates()).expect("valid");
        assert_eq!(counts.len(), set.templates().len(), "{shape:?}: {counts:?}");
        let bytes: usize = packets(&options).iter().map(|packet| packet.bytes.len()).sum();
        let mean = bytes / 3_000;
        assert!(bytes_wanted.contains(&mean), "{shape:?}: {mean} bytes a message");
    }
}

fn counts(options: &Options) -> BTreeMap<&'static str, u32> {
    let mut counts = BTreeMap::new();
    for draft in packets(options).iter().flat_map(|packet| &packet.messages) {
        *counts.entry(draft.template).or_default() += 1;
    }
    counts
}
