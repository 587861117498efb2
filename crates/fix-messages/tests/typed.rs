//! Typed messages: contents and errors.

use tickwire_fix::typed::{FixText, Room, Shapes};
use tickwire_fix::{
    FixDecimal, FixError, FixErrorKind, Reader, ReaderEngine, SessionRejectReason, Tag, Writer,
};
use tickwire_fix_messages::fix44::{
    AnyMessage, CxlRejResponseTo, ExecutionReport, Header, Heartbeat, Logon, NewOrderSingle,
    OrdStatus, OrdType, OrderCancelReject, OrderCancelRejectRequired, PartyIdSource, Side,
};

/// Writes a message of fields separated by `|` and decodes it.
fn with<T>(body: &str, check: impl for<'m> FnOnce(&tickwire_fix::FixMessage<'m, '_>) -> T) -> T {
    let mut buffer = [0; 2000];
    let mut fields = body.split('|').filter_map(|field| field.split_once('='));
    let (_, msg_type) = fields.next().expect("MsgType first");
    let mut writer = Writer::new(&mut buffer, "FIX.4.4", msg_type);
    for (tag, value) in fields {
        writer.bytes(Tag(tag.parse().expect("a tag")), value.as_bytes());
    }
    let bytes = writer.finish().expect("room");
    check(&Reader::new().decode(bytes).expect("whole"))
}

const ORDER: &str = "35=D|49=A|56=B|34=7|52=20260105-11:20:43.125|11=id-1|453=2|448=P1|447=D|452=1|\
    802=1|523=sub|803=4|448=P2|55=XYZ|54=1|60=20260105-11:20:43|38=57|40=2|44=298.070|18=1 G q|\
    354=3|355=a=b|";

fn refusal(body: &str) -> (FixErrorKind, u32) {
    let error = with(body, |message| NewOrderSingle::decode(message).expect_err("refused"));
    (error.kind, error.tag.map_or(0, |tag| tag.0))
}

#[test]
fn every_field_has_its_type() {
    with(ORDER, |message| {
        let (header, _) = Header::decode(message).expect("a header");
        assert_eq!((header.sender_comp_id(), header.msg_seq_num()), (FixText::from("A"), 7));
        assert_eq!(header.sending_time().value.time.picos(), 125_000_000_000);
        let order = NewOrderSingle::decode(message).expect("an order");
        assert_eq!((order.cl_ord_id().as_str(), order.side()), (Some("id-1"), Side::Buy));
        assert_eq!(
            (order.ord_type(), order.price()),
            (OrdType::Limit, Some(FixDecimal::new(298_070, -3)))
        );
        assert_eq!(order.party_ids.len(), 2);
        let party = &order.party_ids[0];
        assert_eq!(party.party_id(), Some(FixText::from("P1")));
        assert_eq!(party.party_id_source(), Some(PartyIdSource::ProprietaryCustomCode));
        assert_eq!(party.party_sub_ids[0].party_sub_id(), Some(FixText::from("sub")));
        assert_eq!(order.party_ids[1].party_id_source(), None);
        let instructions: Vec<FixText<'_>> =
            order.exec_inst().expect("given").iter().map(|value| value.text()).collect();
        assert_eq!(instructions, ["1", "G", "q"]);
        assert_eq!(order.encoded_text(), Some(&b"a=b"[..]));
    });
}

#[test]
fn values_that_are_not_listed_are_kept() {
    let body =
        ORDER.replace("54=1|", "54=~|").replace("447=D|", "447=~|").replace("803=4", "803=4711");
    with(&body, |message| {
        let order = NewOrderSingle::decode(message).expect("an order");
        assert_eq!(order.side(), Side::Unlisted(b'~'));
        assert_eq!(order.party_ids[0].party_id_source(), Some(PartyIdSource::Unlisted(b'~')));
        let (header, _) = Header::decode(message).expect("a header");
        let mut out = [0; 1000];
        let again = order.encode(&header, &mut out).expect("room");
        let mut reader = Reader::new();
        let again = reader.decode(again).expect("whole");
        for tag in [54, 447, 803] {
            assert_eq!(
                again.field(Tag(tag)).map(|f| f.value),
                message.field(Tag(tag)).map(|f| f.value)
            );
        }
    });
}

#[test]
fn what_is_wrong_has_its_reason() {
    let cases = [
        (ORDER.replace("54=1|", ""), FixErrorKind::RequiredTag, 54, 1),
        (ORDER.replace("54=1|", "54=|"), FixErrorKind::EmptyValue, 54, 4),
        (ORDER.replace("54=1|", "54=12|"), FixErrorKind::ValueFormat, 54, 6),
        (ORDER.replace("44=298.070", "44=1e5"), FixErrorKind::ValueFormat, 44, 6),
        (ORDER.replace("60=20260105-", "60=20260230-"), FixErrorKind::ValueFormat, 60, 6),
        (format!("{ORDER}55=XYZ|"), FixErrorKind::RepeatedTag, 55, 13),
        (ORDER.replace("453=2|", "453=3|"), FixErrorKind::GroupCount, 453, 16),
        (ORDER.replace("802=1|", "802=0|"), FixErrorKind::GroupCount, 802, 16),
        (ORDER.replace("448=P1|447=D|", "447=D|448=P1|"), FixErrorKind::GroupCount, 453, 16),
        (format!("{ORDER}447=D|"), FixErrorKind::GroupOrder, 447, 15),
        (ORDER.replace("448=P1|447=D|", "448=P1|447=D|447=D|"), FixErrorKind::RepeatedTag, 447, 13),
        (ORDER.replace("354=3|", "354=4|"), FixErrorKind::DataLength, 354, 6),
        (ORDER.replace("35=D", "35=8"), FixErrorKind::MsgType, 35, 11),
    ];
    for (body, kind, tag, reason) in cases {
        assert_eq!(refusal(&body), (kind, tag), "{body}");
        let error = with(&body, |message| NewOrderSingle::decode(message).expect_err("refused"));
        assert_eq!(
            error.session_reject_reason().map(SessionRejectReason::code),
            Some(reason),
            "{body}"
        );
    }
    let error = with("35=0|49=A|56=B|52=20260105-11:20:43|", |message| {
        Header::decode(message).expect_err("no MsgSeqNum")
    });
    assert_eq!((error.kind, error.tag), (FixErrorKind::RequiredTag, Some(Tag(34))));
}

#[test]
fn text_that_would_break_the_message_is_not_encoded() {
    let outcome = with("35=0|49=A|56=B|34=7|52=20260105-11:20:43|", |message| {
        let (header, _) = Header::decode(message).expect("a header");
        let kind = |text: &str| {
            let mut beat = Heartbeat::new();
            beat.set_test_req_id(FixText::from(text));
            beat.encode(&header, &mut [0; 300]).map(|_| ()).map_err(|error: FixError| error.kind)
        };
        [kind("fine"), kind("a\u{1}b"), kind("")]
    });
    assert_eq!(outcome, [Ok(()), Err(FixErrorKind::FieldDelimiter), Err(FixErrorKind::EmptyValue)]);
}

#[test]
fn decimals_keep_their_digits_and_the_sign_of_zero() {
    let numbers = [
        "57",
        "-0",
        "-0.00",
        "0.000000000000000001",
        "1234567.123456789012345678",
        "-12345678901234567.123456789012345678",
    ];
    for engine in ReaderEngine::available() {
        let (mut reader, mut shapes) = (Reader::new().engine(engine), Shapes::new());
        // Decoding by a known shape has the same result as the first decoding.
        for number in numbers.into_iter().chain(numbers) {
            let body = ORDER.replace("44=298.070", &format!("44={number}"));
            let bytes = with(&body, |message| message.bytes().to_vec());
            let message = reader.decode(&bytes).expect("whole");
            let (mut heads, mut room) = (Room::<Header<'_>>::default(), Room::default());
            let (header, at) = heads.decode_alike(&mut shapes, &message, 3).expect("a header");
            let order: &mut NewOrderSingle<'_> =
                room.decode_alike(&mut shapes, &message, at).expect("an order").0;
            let price = order.price().expect("given");
            assert_eq!(price.to_string(), number, "{}", engine.name());
            assert_eq!(NewOrderSingle::decode(&message).expect("an order").price(), Some(price));
            let mut out = [0; 1000];
            let again = order.encode(header, &mut out).expect("room");
            let again = String::from_utf8_lossy(again).into_owned();
            assert!(again.contains(&format!("\u{1}44={number}\u{1}")), "{again}");
        }
    }
    let digits = "9".repeat(36);
    assert_eq!(refusal(&ORDER.replace("298.070", &digits)), (FixErrorKind::ValueRange, 44));
}

#[test]
fn a_message_of_a_type_that_is_none_of_the_module_is_refused() {
    let error = with("35=ZZ|49=A|56=B|34=7|52=20260105-11:20:43|", |message| {
        AnyMessage::decode(message).expect_err("no such message")
    });
    assert_eq!((error.kind, error.tag), (FixErrorKind::MsgType, Some(Tag(35))));
    assert_eq!(error.session_reject_reason().map(SessionRejectReason::code), Some(11));
    // `AnyMessage` refuses a message for the same error as its own type.
    let body = ORDER.replace("54=1|", "");
    let error = with(&body, |message| AnyMessage::decode(message).expect_err("refused"));
    assert_eq!((error.kind, error.tag), (FixErrorKind::RequiredTag, Some(Tag(54))));
}

#[test]
fn typed_messages_outlive_the_reader_and_each_other() {
    let bytes = ["id-1", "id-2"]
        .map(|id| with(&ORDER.replace("id-1", id), |message| message.bytes().to_vec()));
    let orders = {
        let mut reader = Reader::new();
        let mut next = |at: usize| {
            let message = reader.decode(&bytes[at]).expect("whole");
            let symbol = message.field(Tag(55)).expect("given");
            (NewOrderSingle::decode(&message).expect("an order"), symbol)
        };
        [next(0), next(1)]
    };
    let ids = orders.each_ref().map(|(order, _)| order.cl_ord_id().as_str());
    assert_eq!(ids, [Some("id-1"), Some("id-2")]);
    assert!(orders.iter().all(|(_, symbol)| symbol.value == b"XYZ"));
}

#[test]
fn required_fields_have_names() {
    let mut reject = OrderCancelReject::new(OrderCancelRejectRequired {
        order_id: "NONE".into(),
        cl_ord_id: "3".into(),
        orig_cl_ord_id: "2".into(),
        ord_status: OrdStatus::Rejected,
        cxl_rej_response_to: CxlRejResponseTo::OrderCancelRequest,
    });
    reject.set_text(FixText::from("too late"));
    let any = AnyMessage::from(reject);
    let mut out = [0; 300];
    let mut writer = Writer::new(&mut out, "FIX.4.4", any.msg_type());
    writer = any.encode_fields(writer);
    let bytes = writer.finish().expect("room");
    let text = String::from_utf8_lossy(bytes).replace('\u{1}', "|");
    assert!(text.contains("35=9|37=NONE|11=3|41=2|39=8|434=1|58=too late|"), "{text}");
}

#[test]
fn what_is_remembered_of_five_shapes_is_four() {
    const HEAD: &str = "35=0|49=A|56=B|34=1|52=20260105-11:20:43|";
    let mut shapes = Shapes::new();
    let mut allocations = |rest: &str| {
        with(&format!("{HEAD}{rest}"), |message| {
            let mut room = Room::<Header<'_>>::default();
            let info = allocation_counter::measure(|| {
                let (header, start) = room.decode_alike(&mut shapes, message, 3).expect("whole");
                assert_eq!(
                    (header.msg_seq_num(), header.poss_dup_flag().is_some()),
                    (1, start > 7)
                );
            });
            info.count_total
        })
    };
    let rests = ["", "112=a|", "43=Y|", "43=Y|112=a|", "43=Y|97=Y|"];
    for rest in &rests[..4] {
        assert!(allocations(rest) > 0, "{rest} is learned");
    }
    for rest in &rests[..4] {
        assert_eq!(allocations(rest), 0, "{rest} is known");
    }
    assert!(allocations(rests[4]) > 0);
    assert_eq!((allocations(rests[4]), allocations(rests[1])), (0, 0));
    assert!(allocations(rests[0]) > 0, "the first was forgotten");
}

#[test]
fn a_warm_message_decodes_without_allocation() {
    with(ORDER, |message| {
        let mut order = NewOrderSingle::decode(message).expect("an order");
        let report = ExecutionReport::decode(message).map_err(|error| error.kind);
        assert_eq!(report.err(), Some(FixErrorKind::MsgType));
        // The nested group has no memory that outlives its entry.
        let info = allocation_counter::measure(|| {
            order.decode_into(message, 3).expect("an order");
        });
        assert_eq!(info.count_total, 1);
    });
    with("35=A|49=A|56=B|34=1|52=20260105-11:20:43|98=0|108=30|", |message| {
        let info = allocation_counter::measure(|| {
            assert_eq!(Logon::decode(message).expect("a logon").heart_bt_int(), 30);
        });
        assert_eq!(info.count_total, 0);
    });
}
