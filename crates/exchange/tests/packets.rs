//! Packets: the same for the same seed, bounded in length, and decoded to the original messages.

mod support;

use proptest::prelude::*;
use support::{Receiver, feeds, packets};
use tickwire_exchange::{
    CmeShape, DraftValue, ExchangeError, FeedKind, Generator, Options, templates,
};
use tickwire_fast::TemplateSet;
use tickwire_feed::framing::Preset;

const FRAMINGS: [Option<Preset>; 5] = [
    None,
    Some(Preset::Cme),
    Some(Preset::MoexAsts),
    Some(Preset::MoexSpectra),
    Some(Preset::B3Umdf),
];

#[test]
fn the_same_seed_gives_the_same_packets_and_another_does_not() {
    for options in feeds() {
        let first = packets(&options);
        assert_eq!(first, packets(&options), "{:?}", options.feed);
        let other = packets(&Options { seed: 2, ..options.clone() });
        assert_ne!(first[..10], other[..10], "{:?}", options.feed);
    }
}

#[test]
fn packets_decode_to_what_was_made_up_in_every_framing() {
    for options in feeds() {
        for preset in FRAMINGS {
            let framing = preset.map(Preset::framing);
            let options = Options { framing, messages: 500, ..options.clone() };
            assert_eq!(check_all(&options), 500 + u64::from(has_done(&options)));
        }
    }
}

fn has_done(options: &Options) -> bool {
    !matches!(options.feed, FeedKind::Cme { .. } | FeedKind::RandomCme | FeedKind::Shaped(_))
}

/// Decodes every packet and compares every value. Returns the number of messages.
fn check_all(options: &Options) -> u64 {
    let mut generator = Generator::new(options).expect("options that can be");
    let mut receiver = Receiver::new(&generator, options.framing);
    let mut seq_num = options.first_seq_num;
    let mut messages = 0;
    while let Some(packet) = generator.next_packet().expect("a packet") {
        assert_eq!(packet.seq_num, seq_num);
        assert!(packet.bytes.len() <= options.packet_bytes_max);
        assert!(packet.messages.len() <= options.messages_per_packet_max);
        let mut drafts = packet.messages.iter();
        let found = receiver.receive(&packet.bytes, |message| {
            let draft = drafts.next().expect("no message more than was made up");
            assert_eq!(generator.binding().difference(message, draft), None);
            messages += 1;
        });
        assert!(drafts.next().is_none(), "a message did not come back");
        assert_eq!(found, options.framing.map(|_| seq_num));
        seq_num += 1;
    }
    assert_eq!(messages, generator.truth().messages());
    messages
}

#[test]
fn a_value_that_differs_is_named() {
    let options = Options { messages: 1, ..Options::complex() };
    let mut generator = Generator::new(&options).expect("options");
    let mut receiver = Receiver::new(&generator, None);
    let packet = generator.next_packet().expect("a packet").expect("one message");
    let mut draft = packet.messages[0].clone();
    let Some(DraftValue::Sequence(entries)) = draft.fields.last_mut() else { panic!("no entries") };
    entries[0][7] = DraftValue::Decimal(1, 0);
    receiver.receive(&packet.bytes, |message| {
        let difference = generator.binding().difference(message, &draft);
        assert_eq!(difference.as_deref(), Some("MDEntries/MDEntryPx"));
    });
}

#[test]
fn done_ends_the_feeds_that_have_it_and_can_be_left_out() {
    for options in feeds().into_iter().filter(has_done) {
        let last = packets(&options).pop().expect("a packet");
        assert_eq!(last.messages.last().map(|draft| draft.template), Some("Done"));
        let last = packets(&Options { done: false, ..options }).pop().expect("a packet");
        assert_ne!(last.messages.last().map(|draft| draft.template), Some("Done"));
    }
}

#[test]
fn a_feed_without_messages_is_done_or_nothing() {
    let options = Options { messages: 0, ..Options::simple() };
    assert_eq!(packets(&options).len(), 1);
    assert_eq!(packets(&Options { done: false, ..options }).len(), 0);
}

#[test]
fn packets_too_small_for_a_message_are_refused_with_the_least_size() {
    for options in feeds() {
        for preset in FRAMINGS {
            let framing = preset.map(Preset::framing);
            let options = Options { framing, packet_bytes_max: 0, ..options.clone() };
            let Err(ExchangeError::PacketTooSmall { bytes: 0, bytes_min }) =
                Generator::new(&options)
            else {
                panic!("no error for {:?}", options.feed);
            };
            let below = Options { packet_bytes_max: bytes_min - 1, ..options.clone() };
            assert!(Generator::new(&below).is_err());
            // The longest message of shaped feeds is known except for a few bytes; see
            // `Shaped::largest`.
            let spare = if matches!(options.feed, FeedKind::Shaped(_)) { 16 } else { 0 };
            let least = Options { packet_bytes_max: bytes_min + spare, ..options };
            check_all(&Options { messages: 300, messages_per_packet_max: usize::MAX, ..least });
        }
    }
}

#[test]
fn long_messages_end_where_their_packet_does() {
    let feed = FeedKind::Complex { entries_mean: 500, split: true };
    let options = Options { feed, messages: 50, packet_bytes_max: 500, ..Options::complex() };
    check_all(&options);
    let longest = packets(&options).iter().map(|packet| packet.bytes.len()).max();
    assert!(longest.is_some_and(|bytes| bytes > 470), "{longest:?}");
}

#[test]
fn options_that_cannot_be_are_refused_in_words() {
    let complex = |entries_mean| Options {
        feed: FeedKind::Complex { entries_mean, split: true },
        ..Options::complex()
    };
    let simple = Options::simple;
    let cases = [
        (Options { securities: 0, ..simple() }, "0 securities: 1 to 10000"),
        (Options { securities: 10_001, ..simple() }, "10001 securities: 1 to 10000"),
        (Options { packet_bytes_max: 70_000, ..simple() }, "a datagram has at most 65507"),
        (Options { first_seq_num: 4_294_967_290, ..simple() }, "do not fit 32 bits"),
        (Options { messages: u64::MAX, ..simple() }, "do not fit 32 bits"),
        (complex(0), "average of 0 entries per message: 1 to 500"),
        (complex(501), "average of 501 entries per message: 1 to 500"),
        (
            Options { framing: Some(Preset::Cqg.framing()), ..simple() },
            "no place for a sequence number: choose cme",
        ),
        (
            Options { framing: Some(Preset::MoexForts.framing()), ..simple() },
            "no place for a sequence number: choose cme",
        ),
    ];
    for (options, expected) in cases {
        let error = Generator::new(&options).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn other_templates_encode_by_name() {
    let xml = templates::SIMPLE
        .replace(r#"<template name="Quote" id="1">"#, r#"<template name="Quote" id="71">"#)
        .replace("<increment/>", "<delta/>")
        .replace(r#"<uInt8 name="SessionId" id="1000"><copy/></uInt8>"#, "")
        .replace(r#"value="12""#, r#"value="112""#)
        .replace(
            r#"<uInt32 name="Price" id="600"><copy/></uInt32>"#,
            r#"<uInt32 name="Note" presence="optional"/><uInt64 name="Price" id="6"/>"#,
        );
    let set = TemplateSet::parse(&xml).expect("templates");
    let options = Options { messages: 300, ..Options::simple() };
    let mut generator = Generator::with_templates(&options, set).expect("templates that fit");
    let mut receiver = Receiver::new(&generator, None);
    let mut quotes = 0;
    while let Some(packet) = generator.next_packet().expect("a packet") {
        let mut drafts = packet.messages.iter();
        receiver.receive(&packet.bytes, |message| {
            let draft = drafts.next().expect("a draft");
            assert_eq!(generator.binding().difference(message, draft), None);
            quotes += u32::from(message.template_id().is_some_and(|id| id.0 == 71));
        });
    }
    assert!(quotes > 0);
}

#[test]
fn templates_that_do_not_fit_are_refused_by_name() {
    let options = Options::simple();
    let refused = |xml: &str| {
        let set = TemplateSet::parse(xml).expect("templates");
        let error = Generator::with_templates(&options, set).expect_err("no fit");
        error.to_string()
    };
    let without_done = templates::SIMPLE.replace(r#"name="Done""#, r#"name="End""#);
    assert!(refused(&without_done).contains("lacks template Done"));
    let more = r#"<uInt32 name="Tax"/><uInt32 name="Price" id="600">"#;
    let with_more = templates::SIMPLE.replacen(r#"<uInt32 name="Price" id="600">"#, more, 1);
    assert!(refused(&with_more).contains("template Quote has the mandatory field Tax"));
    let narrow = r#"<uInt8 name="OrderId" id="400"><copy/></uInt8>"#;
    let wide = r#"<uInt32 name="OrderId" id="400"><copy/></uInt32>"#;
    let with_narrow = templates::SIMPLE.replace(wide, narrow);
    let error = refused(&with_narrow);
    assert!(error.contains("a New message does not fit") && error.contains("OrderId"), "{error}");
}

fn any_options() -> impl Strategy<Value = Options> {
    let feed = prop_oneof![
        Just(Options::simple()),
        Just(Options::random_cme()),
        (1_u32..40, any::<bool>()).prop_map(|(entries_mean, split)| Options {
            feed: FeedKind::Complex { entries_mean, split },
            ..Options::complex()
        }),
        (0_usize..3, any::<bool>()).prop_map(|(shape, mid_session)| {
            let shapes = [CmeShape::Average, CmeShape::Channel9, CmeShape::Channel11];
            let feed = FeedKind::Cme { shape: shapes[shape], mid_session };
            Options { feed, ..Options::cme(shapes[shape]) }
        }),
    ];
    let framing = prop::sample::select(FRAMINGS.to_vec());
    // The generator takes a seed, so only the other options shrink.
    (feed, 0_u64..1_000, 150_usize..3_000, 1_usize..50, 1_u32..200, framing).prop_map(
        |(options, seed, bytes, messages_per_packet_max, securities, framing)| Options {
            seed,
            messages: 200,
            packet_bytes_max: bytes + if options.feed == FeedKind::RandomCme { 600 } else { 0 },
            messages_per_packet_max,
            securities,
            framing: framing.map(Preset::framing),
            ..options
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_options_give_packets_that_are_bounded_and_right(options in any_options()) {
        check_all(&options);
    }
}
