//! Hostile messages through reader, validator, groups and printer: no panic, and the engines agree.

use proptest::prelude::*;
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{
    Checks, Dictionary, FixFramer, FixLimits, FramerStep, Printed, Reader, Tag, Validator,
};

fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

fn dictionary() -> &'static Dictionary {
    static DICTIONARY: std::sync::OnceLock<Dictionary> = std::sync::OnceLock::new();
    DICTIONARY.get_or_init(|| Dictionary::parse_quickfix(&shipped::FIX44).expect("loads"))
}

proptest! {
    #[test]
    fn any_fields_are_judged_without_panic(
        fields in proptest::collection::vec(
            (prop_oneof![
                Just(453_u32), Just(448), Just(447), Just(452), Just(802), Just(523), Just(803),
                Just(54), Just(40), Just(60), Just(78), Just(79), 1_u32..1000,
            ], "[0-9A-Z.: -]{0,4}|[1-3]"),
            0..40,
        ),
    ) {
        let mut body = b"35=D\x01".to_vec();
        for (tag, value) in fields {
            body.extend_from_slice(format!("{tag}={value}\x01").as_bytes());
        }
        let bytes = framed(&body);
        let mut reader = Reader::new();
        if let Ok(message) = reader.decode(&bytes) {
            let lenient = Checks {
                fields_have_values: false,
                fields_in_order: false,
                group_fields_in_order: false,
                required_fields: false,
                message_fields: false,
                user_defined_fields: false,
                listed_values: false,
                ..Checks::default()
            };
            for checks in [Checks::default(), lenient] {
                if let Err(error) = Validator::new(checks).validate(&message, dictionary()) {
                    prop_assert!(checks.reason(&error).is_some());
                    prop_assert!(error.offset as usize <= bytes.len());
                }
            }
            for count in [453, 78] {
                let Some(entries) = dictionary().entries(&message, Tag(count)) else { continue };
                for entry in entries {
                    prop_assert!(entry.range().end <= message.len());
                    entry.group(Tag(802)).map(Iterator::count);
                }
            }
            let printed = Printed::new(message, dictionary()).to_string();
            prop_assert!(printed.lines().count() >= message.len());
        }
    }

    #[test]
    fn a_stream_is_consumed_whatever_it_holds(
        pieces in proptest::collection::vec(prop_oneof![
            Just(b"8=FIX.4.2\x019=5\x0135=0\x0110=161\x01".to_vec()),
            Just(b"8=FIX".to_vec()),
            Just(b"9=".to_vec()),
            Just(b"\x0110=".to_vec()),
            Just(vec![1]),
            proptest::collection::vec(any::<u8>(), 0..20),
        ], 0..30),
    ) {
        let stream = pieces.concat();
        let mut framer = FixFramer::new(FixLimits { message_len_max: 200, ..FixLimits::default() });
        let mut at = 0;
        loop {
            match framer.step(&stream[at..]) {
                FramerStep::Message(message) => at += message.len(),
                FramerStep::Garbage(len) => {
                    prop_assert!(len > 0);
                    at += len;
                }
                FramerStep::NeedMore(len) => {
                    prop_assert!(len > stream.len() - at && stream.len() - at <= 200);
                    break;
                }
            }
        }
    }
}
