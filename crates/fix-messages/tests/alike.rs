//! Decoding by the shapes of earlier messages has the same result as decoding without them, for all
//! values.

use std::fmt::Debug;
use tickwire_fix::typed::{BODY_START, Room, Shapes, TypedFields};
use tickwire_fix::{FixError, FixMessage, Reader, ReaderEngine};
use tickwire_fix_messages::fix42::{Header, NewOrderSingle};

/// Header and order as text, or the error.
type Outcome = Result<(String, String), FixError>;

/// The fields of an order, with every kind of value that is parsed differently.
const ORDER: [(&str, &str); 15] = [
    ("49", "CLIENT"),
    ("56", "MARKET"),
    ("34", "499650"),
    ("43", "N"),
    ("52", "20260105-11:20:43"),
    ("11", "own509647-500000"),
    ("21", "1"),
    ("55", "XYZ"),
    ("54", "1"),
    ("60", "20260105-11:20:14.125"),
    ("38", "57"),
    ("40", "2"),
    ("44", "298.075"),
    ("59", "4"),
    ("432", "20260301"),
];

/// Number of header fields; an order ignores them.
const HEADER_LEN: usize = 5;

fn framed(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = b"35=D\x01".to_vec();
    for (tag, value) in fields {
        body.extend_from_slice(tag.as_bytes());
        body.push(b'=');
        body.extend_from_slice(value);
        body.push(1);
    }
    let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}", body.len()).into_bytes();
    bytes.extend_from_slice(&body);
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

fn plain(message: &FixMessage<'_, '_>) -> Outcome {
    let (mut header, mut order) =
        (Room::<Header<'_>>::default(), Room::<NewOrderSingle<'_>>::default());
    let (header, start) = header.decode(message, BODY_START)?;
    let (order, _) = order.decode(message, start)?;
    Ok((format!("{header:?}"), format!("{order:?}")))
}

fn alike(message: &FixMessage<'_, '_>, shapes: &mut [Shapes; 2]) -> Outcome {
    let (mut header, mut order) =
        (Room::<Header<'_>>::default(), Room::<NewOrderSingle<'_>>::default());
    let (header, start) = header.decode_alike(&mut shapes[0], message, BODY_START)?;
    let (order, _) = order.decode_alike(&mut shapes[1], message, start)?;
    Ok((format!("{header:?}"), format!("{order:?}")))
}

/// Decodes messages one after the other with remembered shapes, with every engine.
struct Stream(Vec<(Reader, [Shapes; 2])>);

impl Stream {
    fn new() -> Self {
        let engines = ReaderEngine::available();
        let shapes = |engine| [(); 2].map(|()| Shapes::new().engine(engine));
        Self(engines.map(|engine| (Reader::new().engine(engine), shapes(engine))).collect())
    }

    /// Checks that all engines agree on a message. Returns true if it could be decoded.
    fn agrees(&mut self, bytes: &[u8]) -> bool {
        let mut reader = Reader::new();
        let expected = reader.decode(bytes).and_then(|message| plain(&message));
        for (reader, shapes) in &mut self.0 {
            let found = reader.decode(bytes).and_then(|message| alike(&message, shapes));
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(bytes));
        }
        expected.is_ok()
    }
}

fn order() -> Vec<(&'static str, &'static [u8])> {
    ORDER.iter().map(|(tag, value)| (*tag, value.as_bytes())).collect()
}

#[test]
fn every_byte_at_every_place_of_a_value() {
    let (mut stream, good) = (Stream::new(), order());
    let mut refused = 0;
    for (field, (_, value)) in good.iter().enumerate() {
        for at in 0..value.len() {
            for byte in (0..=255).step_by(if value.len() > 8 { 5 } else { 1 }) {
                let (mut other, mut fields) = (value.to_vec(), good.clone());
                other[at] = byte;
                fields[field].1 = &other;
                refused += u32::from(!stream.agrees(&framed(&fields)));
            }
            assert!(stream.agrees(&framed(&good)), "nothing is left of what was refused");
        }
    }
    assert!(refused > 1000);
}

#[test]
fn values_of_every_length() {
    let (mut stream, good) = (Stream::new(), order());
    for field in 0..good.len() {
        for text in [
            "12345678901234567890",
            "123.45678901234567890",
            ".5",
            "-7.25",
            "-",
            "20260105-11:20:60.1",
        ] {
            for len in 0..=text.len() {
                let mut fields = good.clone();
                fields[field].1 = &text.as_bytes()[..len];
                stream.agrees(&framed(&fields));
            }
        }
    }
    assert!(stream.agrees(&framed(&good)));
}

#[test]
fn messages_of_every_number_of_fields() {
    let mut stream = Stream::new();
    for count in 0..70 {
        let mut fields = order();
        // Between the fields of the order, which ignores them.
        fields.splice(12..12, (0..count).map(|_| ("9001", &b"1.5"[..])));
        assert!(stream.agrees(&framed(&fields)));
        let price = fields.iter().position(|(tag, _)| *tag == "44").expect("a price");
        for value in [&b"12345678.5"[..], b"-1", b"1.5.", b"", b"12"] {
            fields[price].1 = value;
            assert_eq!(stream.agrees(&framed(&fields)), !matches!(value, b"1.5." | b""));
        }
    }
}

#[test]
fn other_orders_and_fields_that_come_twice_or_not_at_all() {
    let (mut stream, good) = (Stream::new(), order());
    for at in 0..good.len() {
        for other in 0..good.len() {
            let mut fields = good.clone();
            fields.swap(at, other);
            stream.agrees(&framed(&fields));
            let mut fields = good.clone();
            fields.insert(other, good[at]);
            let is_good = stream.agrees(&framed(&fields));
            assert!(!is_good || at < HEADER_LEN, "a field of the order twice");
        }
        let mut fields = good.clone();
        fields.remove(at);
        stream.agrees(&framed(&fields));
        assert!(stream.agrees(&framed(&good)));
    }
}

#[test]
fn messages_cut_anywhere() {
    let (mut stream, whole) = (Stream::new(), framed(&order()));
    assert!(stream.agrees(&whole));
    for len in 0..whole.len() {
        assert!(!stream.agrees(&whole[..len]));
    }
    assert!(stream.agrees(&whole));
}

#[test]
fn seconds_minutes_and_days_go_on() {
    let (mut stream, good) = (Stream::new(), order());
    let times = [
        ("20241231-23:59:59", true),
        ("20241231-23:59:60", true),
        ("20241231-23:59:61", false),
        ("20241231-23:60:00", false),
        ("20250101-00:00:00", true),
        ("20250101-00:00:00.000001", true),
        ("20250229-00:00:00", false),
        ("20250101-00:00:07.1234567890123", false),
        ("20250101-00:00:70", false),
        ("20250101-00:01:07", true),
        ("20250101 00:01:07", false),
        ("20250101-00:01:0", false),
    ];
    for (time, is_good) in times {
        for field in [4, 9] {
            let mut fields = good.clone();
            fields[field].1 = time.as_bytes();
            assert_eq!(stream.agrees(&framed(&fields)), is_good, "{time}");
        }
    }
}

#[test]
fn what_is_remembered_is_used() {
    for engine in ReaderEngine::available() {
        let mut shapes = [(); 2].map(|()| Shapes::new().engine(engine));
        let mut decode = |bytes: &[u8]| {
            let mut reader = Reader::new();
            let message = reader.decode(bytes).expect("well formed");
            assert!(alike(&message, &mut shapes).is_ok());
            shapes.each_ref().map(|shapes| format!("{shapes:?}"))
        };
        // The minute of a message is remembered only when it is decoded by the shape of an earlier
        // message.
        let [learnt, used] = [(); 2].map(|()| decode(&framed(&order())));
        assert!(learnt.iter().zip(&used).all(|(learnt, used)| learnt != used), "{}", engine.name());
    }
}

fn same_from<'m, S: TypedFields<'m> + Debug>(
    shapes: &mut Shapes,
    message: &FixMessage<'m, '_>,
    start: usize,
) {
    let (mut plain, mut alike) = (Room::<S>::default(), Room::<S>::default());
    let expected = plain.decode(message, start).map(|(_, end)| end);
    let found = alike.decode_alike(shapes, message, start).map(|(_, end)| end);
    assert_eq!((found, format!("{alike:?}")), (expected, format!("{plain:?}")));
}

#[test]
fn places_behind_the_message() {
    let bytes = framed(&order());
    for engine in ReaderEngine::available() {
        let mut shapes = Shapes::new().engine(engine);
        let mut reader = Reader::new().engine(engine);
        let message = reader.decode(&bytes).expect("well formed");
        let len = message.len();
        for start in [BODY_START, len, len + 1, usize::MAX - 3, usize::MAX] {
            same_from::<Header<'_>>(&mut shapes, &message, start);
        }
        for start in [BODY_START + HEADER_LEN, len, len + 1, usize::MAX - 3, usize::MAX] {
            same_from::<NewOrderSingle<'_>>(&mut shapes, &message, start);
        }
    }
}
