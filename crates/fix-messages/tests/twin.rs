//! Typed messages contain what the untyped reader finds, and refuse invalid messages at the same
//! position.

use proptest::prelude::*;
use std::cell::RefCell;
use tickwire_fix::typed::{BODY_START, Room, Shapes, TimeWithPrecision};
use tickwire_fix::value::UtcTimestamp;
use tickwire_fix::{Field, FixError, FixErrorKind, FixMessage, Reader, ReaderEngine};
use tickwire_fix_messages::fix42::{Header, NewOrderSingle};

/// The members of an order in this test: tag, and the check of its value.
const MEMBERS: [(u32, Check); 14] = [
    (49, Check::Text),
    (56, Check::Text),
    (34, Check::Int),
    (52, Check::Timestamp),
    (43, Check::Boolean),
    (11, Check::Text),
    (21, Check::Char),
    (55, Check::Text),
    (54, Check::Char),
    (60, Check::Timestamp),
    (38, Check::Decimal),
    (40, Check::Char),
    (44, Check::Decimal),
    (59, Check::Char),
];
/// Number of header members.
const HEADER: usize = 5;
const REQUIRED_HEADER: [u32; 4] = [49, 56, 34, 52];
const REQUIRED_BODY: [u32; 6] = [11, 21, 55, 54, 60, 40];

#[derive(Clone, Copy, Debug)]
enum Check {
    Boolean,
    Char,
    Decimal,
    Text,
    Timestamp,
    Int,
}

impl Check {
    fn run(self, field: &Field<'_>) -> Result<(), FixError> {
        match self {
            Self::Boolean => field.boolean().map(|_| ()),
            Self::Char => field.char().map(|_| ()),
            Self::Decimal => field.decimal().map(|_| ()),
            Self::Text => Ok(()),
            Self::Timestamp => field.utc_timestamp().map(|_| ()),
            Self::Int => field.int().map(|_| ()),
        }
    }
}

/// Finds the first error, field by field, without types.
fn expected(message: &FixMessage<'_, '_>) -> Result<(), FixError> {
    let header = MEMBERS.split_at(HEADER).0;
    let fields: Vec<Field<'_>> = message.fields().collect();
    let of_header = |field: &&Field<'_>| header.iter().any(|(tag, _)| *tag == field.tag.0);
    let header_len = fields[BODY_START..].iter().take_while(of_header).count();
    let (head, body) = fields[BODY_START..].split_at(header_len);
    judge(message, head, header, &REQUIRED_HEADER)?;
    if let Some(fault) = message.fault() {
        return Err(fault);
    }
    judge(message, body, MEMBERS.split_at(HEADER).1, &REQUIRED_BODY)
}

fn judge(
    message: &FixMessage<'_, '_>,
    fields: &[Field<'_>],
    members: &[(u32, Check)],
    required: &[u32],
) -> Result<(), FixError> {
    for (at, field) in fields.iter().enumerate() {
        let Some((tag, check)) = members.iter().find(|(tag, _)| *tag == field.tag.0) else {
            continue;
        };
        if fields[..at].iter().any(|before| before.tag.0 == *tag) {
            return Err(field.refused(FixErrorKind::RepeatedTag));
        }
        if field.value.is_empty() {
            return Err(field.refused(FixErrorKind::EmptyValue));
        }
        check.run(field)?;
    }
    let is_there = |tag: &&u32| fields.iter().any(|field| field.tag.0 == **tag);
    match required.iter().find(|tag| !is_there(tag)) {
        None => Ok(()),
        // The first one in the dictionary's order, which differs from the order of this list.
        Some(_) => Err(FixError {
            kind: FixErrorKind::RequiredTag,
            tag: None,
            offset: message.bytes().len() as u32,
        }),
    }
}

fn typed<'m>(
    message: &FixMessage<'m, '_>,
    order: &mut Room<NewOrderSingle<'m>>,
) -> Result<Header<'m>, FixError> {
    let (header, start) = Header::decode(message)?;
    order.decode(message, start)?;
    Ok(header)
}

thread_local! {
    /// Shapes of headers and orders together, over all messages of the test; one for each engine.
    static SHAPES: RefCell<Vec<Shapes>> =
        RefCell::new(ReaderEngine::available().map(|engine| Shapes::new().engine(engine)).collect());
}

/// Decodes with the shapes of earlier messages.
fn alike<'m>(
    engine: usize,
    message: &FixMessage<'m, '_>,
    header: &mut Room<Header<'m>>,
    order: &mut Room<NewOrderSingle<'m>>,
) -> Result<usize, FixError> {
    SHAPES.with_borrow_mut(|shapes| {
        let shapes = &mut shapes[engine];
        let (_, start) = header.decode_alike(shapes, message, BODY_START)?;
        order.decode_alike(shapes, message, start).map(|(_, end)| end)
    })
}

fn framed(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

/// A value that is valid or nearly valid.
fn value() -> impl Strategy<Value = String> {
    let text = prop::sample::select(vec![
        "1",
        "Y",
        "N",
        "abc",
        "",
        "-",
        ".",
        "-5",
        "298.075",
        "12345678.90",
        "-0.5",
        "1..2",
        "99999999999999999999",
        "12345678",
        "123456.78",
        "1234567.",
        ".1234567",
        "00000000",
        "1,5",
        "1:5",
        "5.",
        "57",
        "20260105-11:20:43",
        "20260105-11:20:43.125",
        "20260230-11:20:43",
        "20260105-24:20:43",
        "20260105-11:20:4",
        "20260105-11:20:59",
        "20260105-11:20:60",
        "20260105-11:20:60.5",
        "20260105-11:20:61",
        "20260105-11:20:5:",
        "20260106-11:20:43",
        "20260105-11:20:43.",
        "20260105-11:20:43.1234567890123",
        "20260131-23:59:60.123456789012",
        "2026010x-11:20:43",
        "00000000-00:00:00",
        "a|b",
    ]);
    prop_oneof![3 => text.prop_map(str::to_owned), 1 => "[ -{}~]{0,20}"]
}

fn body() -> impl Strategy<Value = String> {
    let good = [
        "CLIENT",
        "MARKET",
        "7",
        "20260105-11:20:43",
        "N",
        "id",
        "1",
        "XYZ",
        "1",
        "20260105-11:20:14.5",
        "57",
        "2",
        "298.075",
        "4",
    ];
    let changes = prop::collection::vec((0..MEMBERS.len(), 0..7_u8, value()), 0..3);
    changes.prop_map(move |changes| {
        let mut fields: Vec<(u32, String)> =
            MEMBERS.iter().zip(good).map(|((tag, _), value)| (*tag, value.to_owned())).collect();
        for (at, action, value) in changes {
            let at = at % fields.len();
            match action {
                0 => _ = fields.remove(at),
                1 => fields.insert(at, (fields[at].0, value)),
                2 => fields.insert(at, (9999, value)),
                3 => fields.swap(at, at.saturating_sub(1)),
                _ => fields[at].1 = value,
            }
        }
        let fields: String = fields.iter().map(|(tag, value)| format!("{tag}={value}|")).collect();
        format!("35=D|{fields}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn typed_and_untyped_agree(body in body()) {
        let bytes = framed(&body);
        let mut reader = Reader::new();
        let Ok(message) = reader.decode(&bytes) else { return Ok(()) };
        let mut room = Room::<NewOrderSingle<'_>>::default();
        let found = typed(&message, &mut room);
        for turn in 0..2 * ReaderEngine::available().count() {
            let (mut header_alike, mut alike_room) = Default::default();
            let found_alike = alike(turn / 2, &message, &mut header_alike, &mut alike_room);
            prop_assert_eq!(found_alike.map(|_| ()), found.as_ref().map(|_| ()).map_err(|e| *e));
            if let Ok(header) = &found {
                prop_assert_eq!(format!("{:?}", alike_room), format!("{:?}", room));
                let expected = format!("Room({:?})", header);
                prop_assert_eq!(format!("{:?}", header_alike), expected);
            }
        }
        let blank = |error: &FixError| match error.kind {
            FixErrorKind::RequiredTag => FixError { tag: None, ..*error },
            _ => *error,
        };
        prop_assert_eq!(found.as_ref().map(|_| ()).map_err(blank), expected(&message), "{}", body);
        let Ok(header) = found else { return Ok(()) };
        let order = NewOrderSingle::decode(&message).expect("as before");
        let field = |tag| message.field(tickwire_fix::Tag(tag));
        let stamp = |tag: u32| -> Option<TimeWithPrecision<UtcTimestamp>> {
            TimeWithPrecision::<UtcTimestamp>::decode(&field(tag)?).ok()
        };
        prop_assert_eq!(Some(header.sending_time()), stamp(52));
        prop_assert_eq!(Some(header.msg_seq_num()), field(34).and_then(|f| f.int().ok()));
        prop_assert_eq!(Some(order.transact_time()), stamp(60));
        prop_assert_eq!(Some(order.cl_ord_id().0), field(11).map(|f| f.value));
        prop_assert_eq!(order.price(), field(44).and_then(|f| f.decimal().ok()));
        prop_assert_eq!(order.order_qty(), field(38).and_then(|f| f.decimal().ok()));
        prop_assert_eq!(Some(order.side().char()), field(54).and_then(|f| f.char().ok()));
        prop_assert_eq!(order.rule80a(), None);
    }
}
