//! Encoding with every engine: the bytes are equal and decode to the original messages.

use proptest::prelude::*;
use tickwire_opra::bottom_up::BottomUpEngine;
use tickwire_opra::{
    Category, Chars, Decode, Field, OpraEncodeErrorKind, OpraEncoder, OpraEntry, OpraFieldKind,
    OpraMessageDraft, OpraVersion, json, reference,
};

/// Values whose encoded lengths are about equally likely.
fn number() -> impl Strategy<Value = u32> {
    (any::<u32>(), 0..=32_u32).prop_map(|(bits, len)| bits.checked_shr(32 - len).unwrap_or(0))
}

/// Categories of numbers and a symbol only, and BBO codes that announce appendages.
fn message() -> impl Strategy<Value = (u8, u8, Vec<Option<u32>>, Option<u64>, Option<String>)> {
    (
        prop::sample::select(&b"kkkkkadfOUF"[..]),
        prop::sample::select(&b"AACGMNO "[..]),
        prop::collection::vec(prop::option::weighted(0.4, number()), 50),
        prop::option::weighted(0.3, 0..1_u64 << 35),
        prop::option::weighted(0.7, "[\0-\x7f]{1,5}"),
    )
}

fn apply(
    draft: &mut OpraMessageDraft,
    (category, bbo, numbers, seq_num, symbol): &(
        u8,
        u8,
        Vec<Option<u32>>,
        Option<u64>,
        Option<String>,
    ),
) {
    for (field, number) in Field::ALL.into_iter().zip(numbers) {
        if let (Some(number), OpraFieldKind::Character | OpraFieldKind::Number(_)) =
            (number, field.kind(OpraVersion::V2))
        {
            draft.set_number(field, *number);
        }
    }
    draft.set_number(Field::Category, (*category).into());
    draft.set_number(Field::Bbo, (*bbo).into());
    seq_num.iter().for_each(|seq_num| draft.set_seq_num(*seq_num));
    if let Some(symbol) = symbol {
        draft.set_symbol(Chars::new(symbol.as_bytes()).expect("five characters"));
    }
}

/// Returns a draft in which every number has a value.
fn full_draft() -> OpraMessageDraft {
    let mut draft = OpraMessageDraft::new(OpraVersion::V2);
    Field::ALL.into_iter().for_each(|field| draft.set_number(field, 32));
    draft.set_seq_num(1);
    draft
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn engines_give_the_same_bytes_and_those_decode_to_the_messages(
        messages in prop::collection::vec(message(), 1..12),
    ) {
        let mut packets = Vec::new();
        for engine in BottomUpEngine::available() {
            let mut draft = full_draft();
            let mut encoder = OpraEncoder::with_engine(OpraVersion::V2, engine).expect("available");
            encoder.begin(1);
            let mut expected = Vec::new();
            for message in &messages {
                apply(&mut draft, message);
                let message = draft.message().expect("complete");
                expected.push(json::to_string(&message));
                encoder.push(&message).expect("encodes");
            }
            let packet = encoder.finish().expect("finishes").to_vec();
            let mut decoded = Vec::new();
            let result = reference::ReferenceDecoder::new()
                .decode_packet(&packet, |message| decoded.push(json::to_string(&message)));
            prop_assert!(result.is_ok(), "{engine:?}: {result:?} on {packet:02x?}");
            prop_assert_eq!(decoded, expected);
            packets.push(packet);
        }
        prop_assert!(packets.windows(2).all(|pair| pair[0] == pair[1]), "{:02x?}", packets);
    }
}

/// Returns a draft of `category` whose other values are all 32, without symbol and text.
fn empty_of(category: u8) -> OpraMessageDraft {
    let mut draft = full_draft();
    draft.set_number(Field::Category, category.into());
    draft
}

#[test]
fn an_empty_string_is_left_out_and_decodes_as_empty() {
    // The format cannot express an empty string, except before the packet has sent one.
    for category in *b"kCH?" {
        for engine in BottomUpEngine::available() {
            let mut encoder = OpraEncoder::with_engine(OpraVersion::V2, engine).expect("available");
            encoder.begin(1);
            encoder.push(&empty_of(category).message().expect("complete")).expect("encodes");
            let packet = encoder.finish().expect("finishes").to_vec();
            let decoded = reference::ReferenceDecoder::new().decode_packet(&packet, |message| {
                assert_eq!(message.category(), Category::from_code(category.into()));
                assert!(message.symbol().unwrap_or_default().is_empty());
                assert!(message.text().unwrap_or_default().is_empty());
            });
            assert_eq!(decoded.expect("decodes").messages, 1);
        }
    }
}

#[test]
fn a_string_cannot_become_empty_within_a_packet() {
    for category in *b"kC" {
        let mut encoder = OpraEncoder::new(OpraVersion::V2);
        encoder.begin(1);
        let mut draft = empty_of(category);
        draft.set_symbol(Chars::new(b"IBM  ").expect("short"));
        draft.set_text(Field::Text, "HALT").expect("short");
        encoder.push(&draft.message().expect("complete")).expect("encodes");
        let before = encoder.len_bytes();
        let refused = encoder.push(&empty_of(category).message().expect("complete"));
        assert_eq!(refused.map_err(|error| error.kind), Err(OpraEncodeErrorKind::EmptyString));
        assert_eq!(encoder.len_bytes(), before);
    }
}

#[test]
fn a_string_of_the_longest_that_its_field_has_is_encoded_and_a_longer_one_refused() {
    let longest = Field::Symbol.bytes_max();
    for len in 1..=Chars::LEN_MAX {
        let mut encoder = OpraEncoder::new(OpraVersion::V2);
        encoder.begin(1);
        let mut draft = empty_of(b'k');
        draft.set_symbol(Chars::new(&b"SYMBOLIC"[..len]).expect("short"));
        let pushed = encoder.push(&draft.message().expect("complete"));
        let expected = if len <= longest { Ok(()) } else { Err(OpraEncodeErrorKind::FieldTooLong) };
        assert_eq!(pushed.map(drop).map_err(|error| error.kind), expected, "{len}");
    }
}

#[test]
fn numbers_of_groups_that_change_within_a_packet_are_sent() {
    let spots = [(1, 100), (1, 100), (1, 7), (2, 7)];
    let entry = |(decimal_placement, spot)| OpraEntry {
        symbol: Chars::new(b"EUR").expect("short"),
        decimal_placement,
        spot,
        ..OpraEntry::default()
    };
    let mut encoder = OpraEncoder::new(OpraVersion::V2);
    encoder.begin(1);
    for spot in spots {
        let mut draft = empty_of(b'Y');
        draft.set_number(Field::MessageType, b'F'.into());
        draft.set_number(Field::SpotCount, 1);
        draft.set_entries(&[entry(spot)]);
        encoder.push(&draft.message().expect("complete")).expect("encodes");
    }
    let packet = encoder.finish().expect("finishes").to_vec();
    let mut found = Vec::new();
    let decoded = reference::ReferenceDecoder::new().decode_packet(&packet, |message| {
        found.extend(message.entries().iter().map(|entry| (entry.decimal_placement, entry.spot)));
    });
    assert_eq!(decoded.expect("decodes").messages, spots.len() as u32);
    assert_eq!(found, spots);
}

#[test]
fn a_packet_of_the_old_version_never_looks_like_the_new_one() {
    let mut draft = OpraMessageDraft::new(OpraVersion::V1);
    draft.set_number(Field::Category, u32::from(b'?'));
    let mut encoder = OpraEncoder::new(OpraVersion::V1);
    encoder.begin(0);
    let refused = encoder.push(&draft.message().expect("complete"));
    assert_eq!(refused.map_err(|error| error.kind), Err(OpraEncodeErrorKind::LooksLikeV2));

    draft.set_text(Field::DefaultMessage, "A").expect("short");
    encoder.push(&draft.message().expect("complete")).expect("encodes");
    let decoded = reference::ReferenceDecoder::new().decode_packet(
        encoder.finish().expect("finishes"),
        |message| {
            assert_eq!(message.text().unwrap_or_default().to_string(), "A");
        },
    );
    assert_eq!(
        decoded.map(|summary| (summary.version, summary.messages)),
        Ok((OpraVersion::V1, 1))
    );
}

#[test]
fn the_header_has_ten_digits_for_its_sequence_number() {
    let finished = |seq_num: u64| {
        let mut encoder = OpraEncoder::new(OpraVersion::V2);
        encoder.begin(seq_num);
        encoder.finish().map(<[u8]>::to_vec).map_err(|error| error.kind)
    };
    for seq_num in [0, 7, 9_999_999_999] {
        let header = format!("\u{1}\u{2}{seq_num:010}000\u{3}");
        assert_eq!(finished(seq_num), Ok(header.into_bytes()));
    }
    for seq_num in [10_000_000_000, u64::MAX] {
        assert_eq!(finished(seq_num), Err(OpraEncodeErrorKind::FieldTooLong));
    }
}

#[test]
fn reserved_fields_of_the_old_version_are_sent_only_if_they_were_set() {
    let mut with_reserved = 0;
    for category in 0x20..0x7F_u8 {
        let fields = |reserved: Option<Field>| {
            let mut draft = OpraMessageDraft::new(OpraVersion::V1);
            Field::ALL.into_iter().for_each(|field| draft.set_number(field, 32));
            draft.set_seq_num(1);
            draft.set_number(Field::Category, category.into());
            if let Some(field) = reserved {
                draft.set_chars(field, Chars::new(b"x").expect("short"));
            }
            let message = draft.message().expect("all numbers are set");
            let is_sent = |field: Field| message.fields() & field.bit() != 0;
            [Field::Reserved1, Field::Reserved2].map(is_sent)
        };
        assert_eq!(fields(None), [false, false], "{}", char::from(category));
        let [first, _] = fields(Some(Field::Reserved1));
        with_reserved += u32::from(first);
    }
    assert!(with_reserved > 0, "a category has such a field");
}

#[test]
fn messages_show_themselves_as_json() {
    let mut draft = full_draft();
    draft.set_number(Field::Category, b'k'.into());
    draft.set_symbol(Chars::new(b"IBM").expect("short"));
    let message = draft.message().expect("complete");
    assert_eq!(format!("{message:?}"), json::to_string(&message));
    assert!(format!("{message:?}").contains("IBM"));
}
