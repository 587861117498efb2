//! A generated module inside a private module of a program compiles without warnings, and absent
//! values cannot be read.
#![deny(warnings)]

mod prices {
    include!(concat!(env!("OUT_DIR"), "/included.rs"));
}

use prices::{Decoder, Encoder, Message, Price};
use std::sync::Arc;
use tickwire_fast::generated;
use tickwire_fast::{
    Conformance, Decimal, DecoderOptions, EncoderOptions, FastErrorKind, Limits, MessageBuilder,
    Program, TemplateSet,
};
use tickwire_fast_codegen_check::make;

const XML: &str = include_str!("support/included.xml");

fn program() -> Arc<Program> {
    Arc::new(Program::compile(TemplateSet::parse(XML).expect("valid")).expect("compiles"))
}

fn decode<'d>(decoder: &'d mut Decoder, bytes: &[u8]) -> &'d Price {
    match decoder.decode(bytes).expect("decodes").message {
        generated::ModuleMessage::Known(Message::Price(price)) => price,
        other => panic!("{other:?}"),
    }
}

#[test]
fn constants_of_64_bits_compile_and_decode() {
    let mut decoder = Decoder::new(program()).expect("the module's set");
    let price = decode(&mut decoder, &[0xc0, 0x81, 0x80, 0x80]);
    assert_eq!(price.tick, Decimal { mantissa: 5_000_000_000, exponent: -2 });
    assert_eq!(price.floor(), Some(Decimal { mantissa: -5_000_000_000, exponent: -9 }));
    assert_eq!(price.cap, Decimal { mantissa: i64::MAX, exponent: 63 });
    assert_eq!((price.lot, price.low), (u64::MAX, i64::MIN));
}

#[test]
fn an_absent_member_has_no_value() {
    let mut decoder = Decoder::new(program()).expect("the module's set");
    // Size 4 is in the stream and Venue has its default; in the second message Size is NULL.
    let price = decode(&mut decoder, &[0xc2, 0x81, 0x85, 0x80]);
    assert_eq!(price.size(), Some(4));
    assert_eq!(price.venue().map(|venue| price.text(&venue).to_vec()), Some(b"XETRA".to_vec()));
    let shown = format!("{price:?}");
    assert!(shown.contains("size: Some(4)") && shown.contains("venue: Some(\"XETRA\")"), "{shown}");
    let price = decode(&mut decoder, &[0xc3, 0x81, 0x80, 0x80, 0x80]);
    assert_eq!((price.size(), price.venue().is_none()), (None, true));
    assert!(price.extra().is_none() && price.orders().is_none());
    let shown = format!("{price:?}");
    for absent in ["size: None", "venue: None", "extra: None", "orders: None"] {
        assert!(shown.contains(absent), "{absent}: {shown}");
    }
}

#[test]
fn what_is_built_by_setters_is_encoded() {
    let mut decoder = Decoder::new(program()).expect("the module's set");
    let mut price = decode(&mut decoder, &[0xc0, 0x81, 0x80, 0x80]).clone();
    price.set_size(Some(7));
    price.set_extra(true).depth = 3;
    let owner = price.new_text(b"a long name").expect("short enough");
    let order = price.set_orders(true).push();
    order.set_id(Some(1));
    order.owner = owner;
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(program()).expect("complete");
    encoder.encode(Message::Price(&price), &mut bytes).expect("encodes");
    let price = decode(&mut decoder, &bytes);
    assert_eq!((price.size(), price.extra().map(|extra| extra.depth)), (Some(7), Some(3)));
    let orders = price.orders().expect("present");
    assert_eq!((orders[0].id(), price.text(&orders[0].owner)), (Some(1), &b"a long name"[..]));
}

#[test]
fn strings_longer_than_the_limit_are_not_encoded() {
    let mut decoder = Decoder::new(program()).expect("the module's set");
    let limits = Limits::default().string_max(8);
    let options = EncoderOptions::default().limits(limits);
    for (bytes_len, text_len) in [(0, 0), (7, 8), (8, 7), (8, 8), (9, 8), (8, 9), (20, 20)] {
        let mut bytes = vec![0xc0, 0x83];
        for len in [bytes_len, text_len] {
            bytes.push(0x80 | len);
            bytes.extend(std::iter::repeat_n(b'x', len.into()));
        }
        let note = match decoder.decode(&bytes).expect("decodes").message {
            generated::ModuleMessage::Known(Message::Note(note)) => note,
            other => panic!("{other:?}"),
        };
        let mut encoder = Encoder::with_options(program(), options).expect("complete");
        let mut again = Vec::new();
        let encoded = encoder.encode(Message::Note(note), &mut again);
        if bytes_len.max(text_len) <= 8 {
            assert_eq!(encoded.expect("short enough"), again.len());
            assert_eq!((again, encoder.left_over()), (bytes, 0), "by generated code");
        } else {
            assert_eq!(encoded.expect_err("too long").kind(), FastErrorKind::StringTooLong);
            assert!(again.is_empty());
        }
    }
}

/// A frame with the values 1, 7 and "Frankfurt", and content with 3, "Headlines" and "x".
const FIRST: &[&[u8]] =
    &[&[0xd8, 0x84, 0x87], b"Frankfur\xf4", &[0xf0, 0x85, 0x83], b"Headline\xf3", b"\xf8"];
/// A frame with the next count and without its other fields, so with their previous values; then such
/// content with "y".
const NEXT: &[&[u8]] = &[&[0xc0, 0x84, 0xc0, 0x85], b"\xf9"];
/// As [`FIRST`], with other values; the body begins with zero bytes, which only the dynamic engine decodes.
const REFUSED: &[&[u8]] = &[
    &[0xd8, 0x84, 0x88],
    b"Paris and Rom\xe5",
    &[0xf0, 0x85, 0x84],
    b"Subtitle\xf3",
    &[0, 0, 0x81],
];

/// A message inside a reference resets all entries when it fails; the message around it then restores
/// them.
#[test]
fn entries_are_restored_if_a_message_inside_a_reference_fails() {
    let text = |count: u32, body: &str| {
        let content = format!("#Content{{0:3 1:\"Headlines\" 2:\"{body}\" }}");
        format!("Frame 0:{count} 1:7 2:\"Frankfurt\" 3:{content} ")
    };
    let (first, next, refused) = (FIRST.concat(), NEXT.concat(), REFUSED.concat());
    // Entries of a template that takes no part.
    let (price, price_again) = ([0xc6, 0x81, 0x85, 0x85, 0x80], [0xc0, 0x81, 0x80]);
    let begin = || {
        let options = DecoderOptions::default().conformance(Conformance::Lenient);
        let mut engine = make::<prices::Templates>(program(), options);
        let shown = engine.decode(&price).expect("decodes").0;
        assert_eq!(engine.decode(&first), Ok((text(1, "x"), first.len())));
        assert_eq!(engine.left_over(), 0, "by generated code");
        (engine, shown)
    };
    // Streams that end anywhere in the second message.
    for cut in [&next, &refused].iter().flat_map(|all| (1..all.len()).map(|len| &all[..len])) {
        let (mut engine, shown) = begin();
        assert_eq!(engine.decode_stream(cut), Ok(None), "{cut:02x?}");
        assert_eq!(engine.decode(&next), Ok((text(2, "y"), next.len())), "after {cut:02x?}");
        assert_eq!(engine.decode(&price_again).expect("decodes").0, shown, "after {cut:02x?}");
    }
    // The dynamic engine decodes the message again, from the same previous values.
    let (mut engine, shown) = begin();
    let (told, len) = engine.decode(&refused).expect("decodes");
    assert_eq!((len, engine.left_over()), (refused.len(), 1), "by the dynamic engine");
    assert!(told.starts_with("Frame 0:2 1:8 2:\"Paris and Rome\" "), "{told}");
    assert_eq!(engine.decode(&price_again).expect("decodes").0, shown);
}

/// As above, for the encoder, which fails at the content's body: it exceeds the limit.
#[test]
fn entries_are_as_before_if_a_message_inside_a_reference_cannot_be_encoded() {
    let limits = Limits::default().string_max(20);
    let mut engine = make::<prices::Templates>(program(), DecoderOptions::default().limits(limits));
    let mut encode = |count: u64, kind: u64, texts: [&str; 3], rank: u64| {
        let mut builder = MessageBuilder::new(program());
        builder.begin(3).expect("a template");
        builder.set_u64("Count", count).expect("a field");
        builder.set_u64("Kind", kind).expect("a field");
        builder.set_str("Venue", texts[0]).expect("a field");
        builder.begin_dynamic("#dyn", 4).expect("a reference");
        builder.set_u64("Rank", rank).expect("a field");
        builder.set_str("Title", texts[1]).expect("a field");
        builder.set_str("Body", texts[2]).expect("a field");
        builder.end().expect("a reference");
        let mut bytes = Vec::new();
        let encoded = engine.encode(builder.finish().expect("complete"), &mut bytes);
        (encoded.map(|_| bytes).map_err(|error| error.kind()), engine.encoded_left_over())
    };
    let first = encode(1, 7, ["Frankfurt", "Headlines", "x"], 3);
    assert_eq!(first, (Ok(FIRST.concat()), 0));
    let refused = encode(5, 8, ["Paris and Rome", "Subtitles", "more than twenty bytes"], 4);
    assert_eq!(refused, (Err(FastErrorKind::StringTooLong), 1));
    let next = encode(2, 7, ["Frankfurt", "Headlines", "y"], 3);
    assert_eq!(next, (Ok(NEXT.concat()), 1));
}
