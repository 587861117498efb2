//! FIX messages: arbitrary bytes are framed, decoded alike by every engine, validated, printed and
//! decoded to types.

use crate::fix_typed::fix_typed;
use std::sync::LazyLock;
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{
    Checks, Dictionary, FixError, FixFramer, FixLimits, FixMessage, FramerStep, Printed, Reader,
    ReaderEngine, Validator,
};
use tickwire_fix_messages::fix44::{ExecutionReport, Header, NewOrderSingle};

static FIX44: LazyLock<Dictionary> =
    LazyLock::new(|| Dictionary::parse(&shipped::FIX44).expect("the shipped dictionary loads"));

/// Decodes the bytes as a stream, and as the body of a message with correct BodyLength and
/// CheckSum.
///
/// # Panics
/// In any of these cases:
/// - Engines disagree.
/// - A stream in pieces gives other messages.
/// - An error has no reject reason.
/// - A typed message differs from its fields, or is encoded to a different one.
pub fn fix_message(data: &[u8]) {
    let whole = messages(data, data.len().max(1));
    assert_eq!(messages(data, 7), whole, "pieces of seven bytes");
    for message in &whole {
        read(message);
    }
    read(&framed(data));
}

/// Returns the messages that a framer finds if `piece` bytes arrive at a time.
fn messages(data: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let limits = FixLimits { message_len_max: 4096, ..FixLimits::default() };
    let (mut framer, mut held, mut found) = (FixFramer::new(limits), Vec::new(), Vec::new());
    for piece in data.chunks(piece) {
        held.extend_from_slice(piece);
        let mut at = 0;
        while at < held.len() {
            match framer.step(&held[at..]) {
                FramerStep::Message(message) => {
                    found.push(message.to_vec());
                    at += message.len();
                }
                FramerStep::Garbage(len) => {
                    assert!(len > 0 && at + len <= held.len());
                    at += len;
                }
                FramerStep::NeedMore(len) => {
                    assert!(len > held.len() - at);
                    break;
                }
            }
        }
        held.drain(..at);
        assert!(held.len() <= limits.message_len_max);
    }
    found
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

type Fields = (Vec<(u32, u32, Vec<u8>)>, Option<FixError>);

fn fields(message: &FixMessage<'_, '_>) -> Fields {
    let fields = message.fields().map(|field| (field.tag.0, field.offset, field.value.to_vec()));
    (fields.collect(), message.fault())
}

fn read(bytes: &[u8]) {
    let mut reader = Reader::new().engine(ReaderEngine::portable());
    let expected = reader.decode(bytes).map(|message| fields(&message));
    for engine in ReaderEngine::available() {
        let mut reader = Reader::new().engine(engine);
        let found = reader.decode(bytes).map(|message| fields(&message));
        assert_eq!(found, expected, "{}", engine.name());
    }
    if let Ok(expected) = &expected {
        // The byte-by-byte scanner.
        let (message, faults) = reader.examine(bytes).expect("it is right");
        assert_eq!((&fields(&message), faults), (expected, vec![]));
    }
    let Ok(message) = reader.decode(bytes) else { return };
    let checks = Checks::default();
    let verdict = Validator::new(checks).validate(&message, &FIX44);
    if let Err(error) = &verdict {
        assert!(checks.reason(error).is_some(), "{error}");
    }
    assert!(Printed::new(message, &FIX44).to_string().lines().count() > message.len());
    for field in message.fields() {
        _ = (field.int(), field.decimal(), field.utc_timestamp(), field.month_year());
        _ = (field.tz_timestamp(), field.tz_time());
    }
    fix_typed(&message, &FIX44);
    typed(&message);
}

/// Encodes a typed message and decodes it to the same values.
fn typed(message: &FixMessage<'_, '_>) {
    let Ok((header, _)) = Header::decode(message) else { return };
    let mut out = vec![0; 1 << 16];
    let mut again = Reader::new();
    if let Ok(order) = NewOrderSingle::decode(message)
        && let Ok(bytes) = order.encode(&header, &mut out)
    {
        let second = again.decode(bytes).expect("what is written can be read");
        assert_eq!(NewOrderSingle::decode(&second).as_ref(), Ok(&order));
    }
    let mut out = vec![0; 1 << 16];
    let mut again = Reader::new();
    if let Ok(report) = ExecutionReport::decode(message)
        && let Ok(bytes) = report.encode(&header, &mut out)
    {
        let second = again.decode(bytes).expect("what is written can be read");
        assert_eq!(ExecutionReport::decode(&second).as_ref(), Ok(&report));
    }
}
