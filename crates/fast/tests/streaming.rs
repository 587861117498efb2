//! Counts the work that a stream causes if it arrives byte by byte, and checks that incomplete
//! messages leave no state behind.

use std::sync::Arc;
use tickwire_fast::{
    Conformance, Decoder, DecoderOptions, EngineUnderTest, FastError, FastErrorKind, Limits,
    MissingBytes, Program, ResetPolicy, Step, TemplateSet,
};

/// Length of the messages: the default limit.
const BYTES: usize = 64 << 10;

fn decoder(fields: &str) -> Decoder {
    let xml = format!("<templates><template name='T' id='1'>{fields}</template></templates>");
    let set = TemplateSet::parse(&xml).expect("valid");
    let options = DecoderOptions::default().conformance(Conformance::Lenient);
    Decoder::with_options(Arc::new(Program::compile(set).expect("compiles")), options)
}

/// Result of a stream.
#[derive(Debug)]
struct Outcome {
    /// Length of the message, or its error.
    end: Result<usize, FastErrorKind>,
    /// Number of decoding attempts.
    tries: usize,
    /// Bytes passed to the decoder in all attempts together.
    bytes: usize,
}

/// Feeds bytes one by one until there is a message or an error. When `may_go_on` returns false, a
/// copy of the decoder sometimes decodes anyway, to check that this fails.
fn feed(decoder: &mut Decoder, bytes: &[u8]) -> Outcome {
    let mut missing = MissingBytes::default();
    let (mut tries, mut given) = (0, 0);
    for end in 1..=bytes.len() {
        let input = &bytes[..end];
        if !missing.may_go_on(input) {
            if end.is_multiple_of(997) {
                let step = decoder.clone().decode_stream(input).map(|step| match step {
                    Step::Message(decoded) => Some(decoded.len),
                    Step::NeedMore(_) => None,
                });
                assert_eq!(step, Ok(None), "{end} bytes were enough");
            }
            continue;
        }
        tries += 1;
        given += end;
        match decoder.decode_stream(input) {
            Ok(Step::Message(decoded)) => {
                return Outcome { end: Ok(decoded.len), tries, bytes: given };
            }
            Ok(Step::NeedMore(more)) => {
                assert!(more.bytes_min() > end);
                missing = more;
            }
            Err(error) => return Outcome { end: Err(error.kind()), tries, bytes: given },
        }
    }
    panic!("neither a message nor an error after {tries} tries");
}

/// Encodes an unsigned integer in four bytes.
fn four_bytes(value: usize) -> [u8; 4] {
    std::array::from_fn(|at| {
        let bits = (value >> (7 * (3 - at))) as u8 & 0x7f;
        if at == 3 { bits | 0x80 } else { bits }
    })
}

#[test]
fn a_long_vector_is_tried_once_its_length_is_there_and_once_it_is() {
    let mut bytes = vec![0xc0, 0x81];
    bytes.extend(four_bytes(BYTES - 6));
    bytes.extend([0x80].repeat(BYTES - 6));
    let outcome = feed(&mut decoder("<byteVector name='v'/>"), &bytes);
    assert_eq!((outcome.end, outcome.tries), (Ok(BYTES), 4));
}

#[test]
fn a_long_string_is_tried_as_often_as_it_doubles() {
    let mut bytes = vec![0xc0, 0x81];
    bytes.extend([b'x'].repeat(BYTES - 3));
    bytes.push(b'x' | 0x80);
    let outcome = feed(&mut decoder("<string name='s'/>"), &bytes);
    assert_eq!(outcome.end, Ok(BYTES));
    assert!(outcome.tries <= 20 && outcome.bytes < 3 * BYTES, "{outcome:?}");
}

#[test]
fn entries_are_counted_among_what_is_missing() {
    // Entries of one byte, of one four-byte field, and of several fields.
    for (fields, entry) in [
        ("<uInt32 name='a'/>", &[0x81_u8][..]),
        ("<uInt32 name='a'/>", &[1, 1, 1, 0x81]),
        ("<uInt32 name='a'/><string name='b'/><uInt32 name='c'/>", &[0x81, b'x' | 0x80, 0x82]),
    ] {
        let count = (BYTES - 6) / entry.len();
        let mut bytes = vec![0xc0, 0x81];
        bytes.extend(four_bytes(count));
        bytes.extend(entry.repeat(count));
        let outcome =
            feed(&mut decoder(&format!("<sequence name='s'>{fields}</sequence>")), &bytes);
        assert_eq!(outcome.end, Ok(bytes.len()));
        assert!(outcome.tries <= 60 && outcome.bytes < 50 * BYTES, "{outcome:?}");
    }
}

#[test]
fn sequences_in_sequences_are_too() {
    let inner = "<sequence name='t'><uInt32 name='a'/></sequence>";
    let mut decoder = decoder(&format!("<sequence name='s'>{inner}</sequence>"));
    let mut bytes = vec![0xc0, 0x81];
    bytes.extend(four_bytes(200));
    for _ in 0..200 {
        bytes.extend(four_bytes(320));
        bytes.extend([0x85].repeat(320));
    }
    let outcome = feed(&mut decoder, &bytes);
    assert_eq!(outcome.end, Ok(bytes.len()));
    assert!(outcome.tries <= 500 && outcome.bytes < 300 * BYTES, "{outcome:?}");
}

#[test]
fn an_integer_without_end_is_an_error_once_the_limit_is_passed() {
    let mut bytes = vec![0xc0, 0x81];
    bytes.extend([0].repeat(BYTES));
    let outcome = feed(&mut decoder("<uInt32 name='a'/>"), &bytes);
    assert_eq!(outcome.end, Err(FastErrorKind::MessageTooLarge));
    assert!(outcome.tries <= 20 && outcome.bytes < 4 * BYTES, "{outcome:?}");
}

#[test]
fn a_message_that_says_to_be_longer_than_the_limit_is_not_waited_for() {
    let mut vector = vec![0xc0, 0x81];
    vector.extend(four_bytes(BYTES));
    let mut decoder_of_vectors = decoder("<byteVector name='v'/>");
    let outcome = feed(&mut decoder_of_vectors, &vector);
    assert_eq!(outcome.end, Err(FastErrorKind::MessageTooLarge));
    let mut entries = vec![0xc0, 0x81];
    entries.extend(four_bytes(Limits::default().entries_max as usize));
    entries.push(0x81);
    let mut decoder_of_entries = decoder(
        "<uInt32 name='n'><constant value='1'/></uInt32><sequence name='s'><uInt32 name='a'/></sequence>",
    );
    let outcome = feed(&mut decoder_of_entries, &entries);
    assert_eq!(outcome.end, Err(FastErrorKind::MessageTooLarge));
}

/// Templates for every engine: runs, a sequence of runs, a long string and a byte vector; two of
/// them reset. Each template has its own dictionary, so that plain templates have ranges of entries and machine
/// code.
const TEMPLATES: &str = r#"<templates dictionary="template">
    <template name="Runs" id="1"><uInt32 name="a" presence="optional"><copy/></uInt32>
        <uInt32 name="b" presence="optional"><increment/></uInt32></template>
    <template name="Entries" id="2" reset="yes"><uInt32 name="a" presence="optional"><copy/></uInt32>
        <sequence name="s"><uInt32 name="b" presence="optional"><copy/></uInt32>
            <uInt32 name="c"><delta/></uInt32></sequence></template>
    <template name="Tree" id="3"><string name="t" presence="optional"><copy/></string>
        <byteVector name="v" presence="optional"><copy/></byteVector>
        <uInt32 name="a" presence="optional"><copy/></uInt32></template>
    <template name="Reset" id="4" reset="yes"><string name="t" presence="optional"><copy/></string>
        <byteVector name="v" presence="optional"><copy/></byteVector>
        <uInt32 name="c"><delta/></uInt32></template></templates>"#;
/// A message of each template with all fields, and one that repeats previous values.
const MESSAGES: [&[u8]; 8] = [
    &[0xf0, 0x81, 0x85, 0x86],
    &[0xc0, 0x81],
    &[0xe0, 0x82, 0x87, 0x82, 0xc0, 0x88, 0x81, 0x80, 0x82],
    &[0xc0, 0x82, 0x81, 0x80, 0x83],
    &[0xf8, 0x83, b'A', b'B', b'C', b'D', b'E', b'F', b'G', b'H', 0xc9, 0x83, 1, 2, 0x89],
    &[0xc0, 0x83],
    &[0xf0, 0x84, b'Z', b'Y', b'X', b'W', b'V', b'U', b'T', b'S', 0xd2, 0x82, 3, 0x84],
    &[0xc0, 0x84, 0x85],
];
/// A message without template id and fields: of the last template, if it has no mandatory field.
const WITHOUT_ID: &[u8] = &[0x80];

/// Decodes a message of a stream; returns its length and text, or `None` if it is incomplete.
fn take(decoder: &mut Decoder, bytes: &[u8]) -> Result<Option<(usize, String)>, FastError> {
    Ok(match decoder.decode_stream(bytes)? {
        Step::Message(decoded) => Some((decoded.len, decoded.message.to_string())),
        Step::NeedMore(_) => None,
    })
}

#[test]
fn an_incomplete_message_leaves_no_trace_even_if_it_resets() {
    let program = Program::compile(TemplateSet::parse(TEMPLATES).expect("valid"));
    let program = Arc::new(program.expect("compiles"));
    for engine in EngineUnderTest::ALL {
        for reset in [ResetPolicy::Never, ResetPolicy::Template, ResetPolicy::Message] {
            let options = DecoderOptions::default().engine_under_test(engine).reset(reset);
            let mut warm = Decoder::with_options(program.clone(), options);
            // Not decoded as a stream: the decoder would back off from machine code and runs after
            // some of these messages.
            for message in [MESSAGES; 3].concat() {
                warm.decode(message).expect("valid");
            }
            for (first, cut) in [0, 2, 4, 6].iter().flat_map(|&m| MESSAGES.map(|cut| (m, cut))) {
                // Two messages of the same template, so that its plain code has decoded one of
                // them.
                let mut before = warm.clone();
                before.decode(MESSAGES[first]).expect("valid");
                before.decode(MESSAGES[first]).expect("valid");
                for len in 1..cut.len() {
                    let mut disturbed = before.clone();
                    assert_eq!(take(&mut disturbed, &cut[..len]), Ok(None));
                    let mut plain = before.clone();
                    for message in [WITHOUT_ID, MESSAGES[1], MESSAGES[5], MESSAGES[3], WITHOUT_ID] {
                        assert_eq!(
                            take(&mut disturbed, message),
                            take(&mut plain, message),
                            "{engine:?} {reset:?}: {first}, {len} bytes of {cut:02x?}"
                        );
                    }
                }
            }
        }
    }
}
