//! All engines, including the portable one, find the same fields, faults and errors as the
//! byte-by-byte scanner.

use proptest::prelude::*;
use tickwire_fix::{DataFields, Field, FixError, Reader, ReaderEngine, Tag};

type Outcome = Result<(Vec<(u32, u32, Vec<u8>)>, Option<FixError>), FixError>;

fn outcome(engine: ReaderEngine, reader: &mut Reader, bytes: &[u8]) -> Outcome {
    assert_eq!(reader.clone().engine(engine).decode(bytes).is_ok(), reader.decode(bytes).is_ok());
    reader.decode(bytes).map(|message| {
        let own = |field: Field<'_>| (field.tag.0, field.offset, field.value.to_vec());
        (message.fields().map(own).collect(), message.fault())
    })
}

fn agree(bytes: &[u8]) {
    let mut engines = ReaderEngine::available();
    let portable = engines.next().expect("there always is one");
    let expected = outcome(portable, &mut Reader::new().engine(portable), bytes);
    for engine in engines {
        let found = outcome(engine, &mut Reader::new().engine(engine), bytes);
        assert_eq!(found, expected, "{} on {}", engine.name(), String::from_utf8_lossy(bytes));
    }
    // `examine` uses the byte-by-byte scanner.
    if let Ok(expected) = &expected {
        let mut reader = Reader::new();
        let (message, faults) = reader.examine(bytes).expect("it is right");
        let own = |field: Field<'_>| (field.tag.0, field.offset, field.value.to_vec());
        let found = (message.fields().map(own).collect(), message.fault());
        assert_eq!((&found, faults), (expected, vec![]), "{}", String::from_utf8_lossy(bytes));
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(0x20_u8..0x7F, 0..12),
        proptest::collection::vec(any::<u8>(), 0..4),
        proptest::collection::vec(0x20_u8..0x7F, 60..140),
    ]
}

fn tag() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => (1_u32..2000).prop_map(|tag| tag.to_string()),
        4 => (1_u32..2_000_000).prop_map(|tag| tag.to_string()),
        2 => (1_u32..2_000_000_000).prop_map(|tag| tag.to_string()),
        2 => prop::sample::select(vec!["95", "96", "93", "89", "212", "213"]).prop_map(String::from),
        1 => "[0-9=a-]{0,6}",
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec((tag(), value()), 0..60).prop_map(|fields| {
        let mut body = b"35=D\x01".to_vec();
        for (tag, value) in fields {
            body.extend_from_slice(tag.as_bytes());
            body.push(b'=');
            body.extend_from_slice(&value);
            body.push(1);
        }
        body
    })
}

/// The fields of an order, shifted across the blocks by the length of the first field.
#[test]
fn on_every_place_of_a_field_in_its_block() {
    for len in 1..200 {
        let body = format!(
            "35=D\x0149={}\x0111=order\x011=a\x0155=XYZ\x011234=5\x0144=1.5\x0195=2\x0196=xy\x01",
            "s".repeat(len)
        );
        let whole = framed(body.as_bytes());
        agree(&whole);
        // One wrong byte at each position from the first shifted field on.
        for at in 22 + len..whole.len() {
            for wrong in [1, b'=', b'0', b'x'] {
                let mut bytes = whole.clone();
                bytes[at] = wrong;
                let sum: u32 = bytes[..bytes.len() - 7].iter().map(|byte| u32::from(*byte)).sum();
                let end = bytes.len() - 4;
                bytes[end..end + 3].copy_from_slice(format!("{:03}", sum & 0xFF).as_bytes());
                agree(&bytes);
            }
        }
    }
}

/// Tags of one to ten digits in every lane, one or all of them.
#[test]
fn on_long_tags() {
    let tags = ["7", "77", "777", "7777", "77777", "777777", "7777777", "77777777", "777777777"];
    for tag in tags.into_iter().chain(["7777777777", "07777", "7777x7", "00000", "+77777", "7 777"])
    {
        for count in 0..40 {
            let other = |at: usize| format!("{}=v\u{1}", 100 + at);
            let before: String = (0..count).map(other).collect();
            let after: String = (0..20).map(other).collect();
            agree(&framed(format!("35=D\u{1}{before}{tag}=value\u{1}{after}").as_bytes()));
            agree(&framed(
                format!("35=D\u{1}{}", format!("{tag}=v\u{1}").repeat(count)).as_bytes(),
            ));
            agree(&framed(format!("35=D\u{1}{before}{tag}\u{1}{after}").as_bytes()));
        }
    }
}

#[test]
fn data_fields_may_have_long_tags() {
    let mut data_fields = DataFields::none();
    data_fields.add(12345, 1_234_567);
    for data in ["abc", "a\u{1}b", "a\u{1}10=000\u{1}b"] {
        let body = format!("35=D\u{1}12345={}\u{1}1234567={data}\u{1}58=x\u{1}", data.len());
        let bytes = framed(body.as_bytes());
        for engine in ReaderEngine::available() {
            let mut reader = Reader::new().engine(engine).data_fields(data_fields.clone());
            let message = reader.decode(&bytes).expect("well formed");
            let found = message.field(Tag(1_234_567)).map(|field| field.value);
            assert_eq!(found, Some(data.as_bytes()), "{}", engine.name());
            assert_eq!(message.fault(), None);
        }
    }
}

proptest! {
    #[test]
    fn on_framed_messages(body in body()) {
        agree(&framed(&body));
    }

    #[test]
    fn on_data_fields(data in proptest::collection::vec(any::<u8>(), 0..100), wrong in -2_i32..3) {
        let len = data.len() as i32 + if wrong == 2 { 1 } else { 0 };
        let mut body = format!("35=B\x0195={len}\x0196=").into_bytes();
        body.extend_from_slice(&data);
        body.extend_from_slice(b"\x0158=text\x01");
        agree(&framed(&body));
    }

    #[test]
    fn on_changed_messages(body in body(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = framed(&body);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        agree(&bytes);
        agree(&bytes[..at]);
        agree(&bytes[at..]);
    }

    #[test]
    fn on_any_bytes(bytes in proptest::collection::vec(
        prop_oneof![Just(1), Just(b'='), Just(b'1'), any::<u8>()], 0..300,
    )) {
        agree(&bytes);
        agree(&framed(&bytes));
    }
}
