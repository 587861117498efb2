//! A generated module inside a private module of a program compiles without warnings, and absent
//! values cannot be read.
#![deny(warnings)]

mod prices {
    include!(concat!(env!("OUT_DIR"), "/included.rs"));
}

use prices::{Decoder, Encoder, Message, Price};
use std::sync::Arc;
use tickwire_fast::generated;
use tickwire_fast::{Decimal, EncoderOptions, FastErrorKind, Limits, Program, TemplateSet};

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
