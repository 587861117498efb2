//! Compares the writer with text assembled field by field, in buffers of every length.

use proptest::prelude::*;
use tickwire_fix::{Field, FixDecimal, FixErrorKind, Precision, Reader, Tag, Writer};

/// A field and its value.
#[derive(Clone, Debug)]
enum Value {
    Char(u8),
    Data(Vec<u8>),
    Decimal(FixDecimal),
    Int(i64),
    Text(String),
    /// With all twelve digits of the fraction.
    Time(String, Precision),
    Uint(u64),
}

impl Value {
    fn write(&self, tag: Tag, writer: &mut Writer<'_>) {
        match self {
            Self::Char(value) => writer.char(tag, *value),
            Self::Data(value) => writer.data(Tag(95), Tag(96), value),
            Self::Decimal(value) => writer.decimal(tag, *value),
            Self::Int(value) => writer.int(tag, *value),
            Self::Text(value) => writer.str(tag, value),
            Self::Time(text, precision) => {
                let time = Field::new(tag, text.as_bytes()).utc_timestamp().expect("valid");
                writer.utc_timestamp(tag, time, *precision);
            }
            Self::Uint(value) => writer.uint(tag, *value),
        }
    }

    fn print(&self, tag: Tag, out: &mut Vec<u8>) {
        let text = match self {
            Self::Char(value) => char::from(*value).to_string(),
            Self::Data(value) => {
                out.extend_from_slice(format!("95={}\u{1}96=", value.len()).as_bytes());
                out.extend_from_slice(value);
                return out.push(1);
            }
            Self::Decimal(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Text(value) => value.clone(),
            Self::Time(text, precision) => {
                let len = match precision {
                    Precision::Seconds => 17,
                    Precision::Millis => 21,
                    Precision::Micros => 24,
                    Precision::Nanos => 27,
                    Precision::Picos => 30,
                };
                text[..len].to_owned()
            }
            Self::Uint(value) => value.to_string(),
        };
        out.extend_from_slice(format!("{}={text}\u{1}", tag.0).as_bytes());
    }
}

fn edge() -> impl Strategy<Value = u64> {
    (0..20_u32, -2..=2_i64, any::<u64>()).prop_map(|(power, off, any)| match power {
        0 => any,
        power => 10_u64.pow(power).saturating_add_signed(off),
    })
}

fn value() -> impl Strategy<Value = Value> {
    let precision = prop::sample::select(vec![
        Precision::Seconds,
        Precision::Millis,
        Precision::Micros,
        Precision::Nanos,
        Precision::Picos,
    ]);
    prop_oneof![
        (2..=255_u8).prop_filter("one byte of UTF-8", u8::is_ascii).prop_map(Value::Char),
        prop::collection::vec(prop::sample::select(vec![1, 0, b'a', 255]), 1..70)
            .prop_map(Value::Data),
        (edge(), any::<bool>(), prop_oneof![-9..9_i8, any::<i8>()]).prop_map(|(n, minus, e)| {
            let mantissa = if minus { (n as i64).wrapping_neg() } else { n as i64 };
            Value::Decimal(FixDecimal::new(mantissa, e))
        }),
        prop_oneof![Just(i64::MIN), Just(i64::MAX), edge().prop_map(|n| (n as i64).wrapping_neg())]
            .prop_map(Value::Int),
        "[ -~]{1,70}".prop_map(Value::Text),
        (0..10_000_u32, 0..1_000_000_000_000_u64, precision).prop_map(
            |(year, picos, precision)| {
                Value::Time(format!("{year:04}1231-23:59:60.{picos:012}"), precision)
            }
        ),
        edge().prop_map(Value::Uint),
    ]
}

fn tag() -> impl Strategy<Value = Tag> {
    prop_oneof![
        Just(11),
        Just(600),
        Just(9_999),
        Just(10_000),
        Just(999_999),
        Just(1_000_000),
        Just(u32::MAX)
    ]
    .prop_map(Tag)
}

fn expected(begin_string: &str, fields: &[(Tag, Value)]) -> Vec<u8> {
    let mut body = b"35=D\x01".to_vec();
    for (tag, value) in fields {
        value.print(*tag, &mut body);
    }
    let mut message = format!("8={begin_string}\u{1}9={}\u{1}", body.len()).into_bytes();
    message.extend(body);
    let sum = message.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    message.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    message
}

fn written<'b>(
    out: &'b mut [u8],
    begin_string: &str,
    fields: &[(Tag, Value)],
) -> Result<&'b [u8], FixErrorKind> {
    let mut writer = Writer::new(out, begin_string, "D");
    for (tag, value) in fields {
        value.write(*tag, &mut writer);
    }
    writer.finish().map_err(|error| error.kind)
}

proptest! {
    #[test]
    fn what_is_written_is_what_would_be_printed_or_does_not_fit(
        begin_string in "[A-Z.0-9]{1,13}",
        fields in prop::collection::vec((tag(), value()), 0..6),
    ) {
        let expected = expected(&begin_string, &fields);
        for len in 0..expected.len() + 2 * Writer::OVERHEAD {
            // Earlier contents of the buffer are neither sent nor summed.
            let mut out = vec![0xA5; len];
            match written(&mut out, &begin_string, &fields) {
                Ok(message) => prop_assert_eq!(message, &expected),
                Err(kind) => {
                    prop_assert_eq!(kind, FixErrorKind::BufferFull);
                    prop_assert!(len < expected.len() + Writer::OVERHEAD);
                }
            }
        }
    }
}

#[test]
fn body_lengths_of_more_and_more_digits() {
    for power in [100, 1000, 10_000, 100_000, 1_000_000] {
        for body_len in power - 3..=power + 3 {
            let text = "x".repeat(body_len - "35=D|58=|".len());
            let fields = [(Tag(58), Value::Text(text))];
            let expected = expected("FIXT.1.1", &fields);
            let mut out = vec![0xFF; expected.len() + Writer::OVERHEAD];
            let message = written(&mut out, "FIXT.1.1", &fields).expect("room");
            assert!(message == expected, "{body_len}");
            assert!(Reader::new().decode(message).is_ok(), "{body_len}");
        }
    }
}
