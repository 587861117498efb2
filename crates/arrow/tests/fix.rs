//! FIX columns: every value of a message is in its column or in `other`, unless its field was not
//! selected.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int64Type, Time64NanosecondType,
    TimestampNanosecondType, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use tickwire_arrow::Decimals;
use tickwire_arrow::fix::{FixBatchBuilder, LogPlace, MessageTable, UnknownMsgType};
use tickwire_fix::{Reader, Tag};
use tickwire_fix_text::Versions;

fn sealed(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

fn builder(msg_type: &str, decimals: Decimals, wanted: &dyn Fn(Tag) -> bool) -> FixBatchBuilder {
    let versions = Versions::default();
    let (session, application) = versions.of_version(b"FIX.4.4", None).expect("shipped");
    let msg_type = msg_type.as_bytes();
    FixBatchBuilder::new(&MessageTable { session, application, msg_type, decimals, wanted })
        .expect("a message of FIX 4.4")
}

fn push(builder: &mut FixBatchBuilder, bytes: &[u8]) {
    let mut reader = Reader::new();
    let (message, _) = reader.examine(bytes).expect("a message");
    builder.push(&LogPlace::default(), &message);
}

fn batch(msg_type: &str, messages: &[&str]) -> RecordBatch {
    let mut builder = builder(msg_type, Decimals::Exact, &|_| true);
    messages.iter().for_each(|message| push(&mut builder, &sealed(message)));
    assert_eq!(builder.rows(), messages.len());
    builder.take_batch().expect("fits")
}

/// Returns the content of the column `other` in a row.
fn other(batch: &RecordBatch, row: usize) -> Vec<(u32, String)> {
    let list = batch.column_by_name("other").expect("there").as_list::<i32>().value(row);
    let list = list.as_struct();
    let (tags, values) =
        (list.column(0).as_primitive::<UInt32Type>(), list.column(1).as_binary::<i32>());
    let text = |at: usize| String::from_utf8_lossy(values.value(at)).into_owned();
    (0..list.len()).map(|at| (tags.value(at), text(at))).collect()
}

#[test]
fn values_have_the_types_of_the_dictionary() {
    let batch = batch(
        "D",
        &[
            "35=D|34=7|52=20260105-12:30:01.123456789|11=id|114=N|432=20260106|44=-10.50|38=00100|",
            "35=D|34=8|",
            "35=D|34=9|44=0.000000000000000001|355=2|",
        ],
    );
    let column = |name: &str| batch.column_by_name(name).expect("a column").clone();
    assert_eq!(column("MsgSeqNum").as_primitive::<Int64Type>().values(), &[7, 8, 9]);
    let price = column("Price");
    let price = price.as_primitive::<Decimal128Type>();
    assert_eq!((price.precision(), price.scale()), (38, 18));
    assert_eq!((price.value(0), price.value(2)), (-10_500_000_000_000_000_000, 1));
    assert!(price.is_null(1));
    assert_eq!(column("OrderQty").as_primitive::<Decimal128Type>().value(0), 100 * 10_i128.pow(18));
    let time = column("SendingTime");
    assert_eq!(time.as_primitive::<TimestampNanosecondType>().value(0), 1_767_616_201_123_456_789);
    assert_eq!(column("ExpireDate").as_primitive::<Date32Type>().value(0), 20_459);
    assert!(!column("LocateReqd").as_boolean().value(0) && column("LocateReqd").is_null(1));
    assert_eq!(column("ClOrdID").as_string::<i32>().value(0), "id");
    assert_eq!(column("Text").null_count(), 3);
    assert_eq!((other(&batch, 0), other(&batch, 2)), (vec![], vec![]));
}

#[test]
fn groups_are_lists_of_structs_within_lists_of_structs() {
    let parties = "453=2|448=X|452=3|802=2|523=a|803=1|523=b|448=Y|452=1|";
    let batch = batch("D", &["35=D|11=1|", &format!("35=D|{parties}11=2|"), "35=D|453=0|11=3|"]);
    let lists = batch.column_by_name("NoPartyIDs").expect("a column").as_list::<i32>();
    assert_eq!(
        [0, 1, 2].map(|row| (lists.is_null(row), lists.value_length(row))),
        [(true, 0), (false, 2), (false, 0)]
    );
    let entries = lists.value(1);
    let entries = entries.as_struct();
    let ids = entries.column_by_name("PartyID").expect("there").as_string::<i32>();
    assert_eq!([ids.value(0), ids.value(1)], ["X", "Y"]);
    let inner = entries.column_by_name("NoPartySubIDs").expect("there").as_list::<i32>();
    assert_eq!((inner.value_length(0), inner.is_null(1)), (2, true));
    let subs = inner.value(0);
    let subs = subs.as_struct();
    assert_eq!(subs.column_by_name("PartySubID").expect("there").as_string::<i32>().value(1), "b");
    assert_eq!(
        subs.column_by_name("PartySubIDType").expect("there").as_primitive::<Int64Type>().value(0),
        1
    );
    assert_eq!(other(&batch, 1), vec![]);
}

#[test]
fn what_has_no_column_is_kept_with_its_tag() {
    let texts = [
        // Values that are invalid for their type, or do not fit the column.
        "35=D|44=1,5|38=1e3|114=x|60=20260105-12:30:60|432=20260231|34=-x|",
        "35=D|44=0.0000000000000000001|38=100000000000000000000|60=20260105-12:30:01.0000000001|",
        // Unknown to the dictionary or in this message, repeated, and counts that differ from the number of
        // entries.
        "35=D|9999=x|1=A|1=B|262=q|448=alone|453=3|448=X|",
    ];
    let batch = batch("D", &texts);
    let tags = |row| other(&batch, row).iter().map(|(tag, _)| *tag).collect::<Vec<_>>();
    assert_eq!(tags(0), [44, 38, 114, 60, 432, 34]);
    assert_eq!(other(&batch, 0)[0], (44, "1,5".to_owned()));
    assert_eq!(tags(1), [44, 38, 60]);
    assert_eq!(other(&batch, 2)[0], (9999, "x".to_owned()));
    assert_eq!(tags(2), [9999, 1, 262, 448, 453]);
    let price = batch.column_by_name("Price").expect("a column");
    assert_eq!(price.null_count(), 3);
    let account = batch.column_by_name("Account").expect("a column").as_string::<i32>();
    assert_eq!(account.value(2), "A");
}

#[test]
fn times_of_day_binary_and_far_tags() {
    let batch = batch("W", &["35=W|55=A|268=1|269=0|273=12:30:00.5|95=3|96=a|b|212=1|"]);
    let entries = batch.column_by_name("NoMDEntries").expect("a column").as_list::<i32>().value(0);
    let time = entries.as_struct().column_by_name("MDEntryTime").expect("there").clone();
    assert_eq!(time.as_primitive::<Time64NanosecondType>().value(0), 45_000_500_000_000);
    let mut builder = builder("B", Decimals::Exact, &|_| true);
    push(&mut builder, &sealed("35=B|148=x|95=3|96=a\u{1}b|"));
    let batch = builder.take_batch().expect("fits");
    let data = batch.column_by_name("RawData").expect("a column").as_binary::<i32>();
    assert_eq!(data.value(0), b"a\x01b");
}

#[test]
fn columns_may_be_chosen_and_decimals_be_floats() {
    let wanted = |tag: Tag| matches!(tag.0, 44 | 448);
    let mut builder = builder("D", Decimals::Float64, &wanted);
    for body in ["35=D|44=10.25|453=1|448=X|447=D|1=A|", "35=D|9999=1|44=+5|"] {
        push(&mut builder, &sealed(body));
    }
    let batch = builder.take_batch().expect("fits");
    let names: Vec<String> =
        batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    let places = ["line", "off", "pkt", "time", "source", "destination"];
    assert_eq!(names, [&places[..], &["NoPartyIDs", "Price", "other"]].concat());
    let prices = batch.column_by_name("Price").expect("a column").as_primitive::<Float64Type>();
    assert_eq!((prices.value(0), prices.is_null(1)), (10.25, true));
    let entries = batch.column_by_name("NoPartyIDs").expect("a column").as_list::<i32>().value(0);
    assert_eq!(entries.as_struct().num_columns(), 1);
    // Unwanted fields are skipped; fields that can never have a column are kept in `other`.
    assert_eq!(other(&batch, 0), vec![]);
    assert_eq!(other(&batch, 1), vec![(9999, "1".to_owned()), (44, "+5".to_owned())]);
}

#[test]
fn a_group_of_which_nothing_is_wanted_but_the_count_is_a_number() {
    let mut builder = builder("D", Decimals::Exact, &|tag| tag.0 == 453);
    for body in ["35=D|453=1|448=X|", "35=D|1=A|", "35=D|453=x|"] {
        push(&mut builder, &sealed(body));
    }
    let batch = builder.take_batch().expect("fits");
    let counts = batch.column_by_name("NoPartyIDs").expect("a column").as_primitive::<Int64Type>();
    assert_eq!((counts.value(0), counts.null_count()), (1, 2));
    assert_eq!((other(&batch, 0), other(&batch, 2)), (vec![], vec![(453, "x".to_owned())]));
}

#[test]
fn batches_begin_anew_and_places_are_columns() {
    let mut builder = builder("D", Decimals::Exact, &|tag| tag.0 == 453 || tag.0 == 448);
    let bytes = sealed("35=D|453=1|448=X|1=A|78=1|79=L|");
    let mut reader = Reader::new();
    for row in 0..3 {
        let message = reader.decode(&bytes).expect("right");
        let source = (row == 1).then(|| "10.0.0.1:5001".parse().expect("an address"));
        let place = LogPlace { line: Some(row), packet: Some(9), source, ..Default::default() };
        builder.push(&place, &message);
        assert_eq!(builder.bytes(), bytes.len());
        let batch = builder.take_batch().expect("fits");
        assert_eq!((batch.num_rows(), builder.rows(), builder.bytes()), (1, 0, 0));
        assert_eq!(batch.column(0).as_primitive::<UInt64Type>().value(0), row);
        assert_eq!((batch.column(1).null_count(), batch.column(2).null_count()), (1, 0));
        let sources = batch.column_by_name("source").expect("there").as_string::<i32>();
        assert_eq!(sources.iter().next(), Some((row == 1).then_some("10.0.0.1:5001")));
        assert_eq!(other(&batch, 0), vec![]);
        assert_eq!(
            batch.column_by_name("NoPartyIDs").expect("there").as_list::<i32>().value_length(0),
            1
        );
    }
    assert_eq!(builder.take_batch().expect("fits").num_rows(), 0);
}

#[test]
fn a_row_does_not_depend_on_the_messages_around_it() {
    let fields = [
        "34=7|",
        "52=20260105-12:30:01.123|",
        "52=20260105-12:30:02|",
        "52=20260105-25:30:02|",
        "1=ACC1|",
        "1=é|",
        "1=|",
        "11=an id of more than thirty-two characters|",
        "44=-10.50|",
        "44=1,5|",
        "38=100|",
        "114=Y|",
        "432=20260106|",
        "9999=x|",
        "453=2|448=X|452=3|802=1|523=a|448=Y|452=x|",
        "453=9|448=é|",
        "78=0|",
    ];
    let mut random = fastrand::Rng::with_seed(44);
    let (mut together, mut alone) =
        (builder("D", Decimals::Exact, &|_| true), builder("D", Decimals::Exact, &|_| true));
    let mut batches = Vec::new();
    for row in 0..2_000 {
        // Some messages are longer than a block.
        let mut body = match row % 700 {
            699 => format!("35=D|58={}|", "long ".repeat(5_000)),
            _ => "35=D|".to_owned(),
        };
        for _ in 0..random.usize(..8) {
            body += fields[random.usize(..fields.len())];
        }
        push(&mut together, &sealed(&body));
        push(&mut alone, &sealed(&body));
        batches.push(alone.take_batch().expect("fits"));
    }
    let together = together.take_batch().expect("fits");
    let alone = arrow_select::concat::concat_batches(alone.schema(), &batches).expect("fits");
    assert_eq!(together, alone);
}

#[test]
fn unknown_types_are_errors() {
    let versions = Versions::default();
    let (session, application) = versions.of_version(b"FIX.4.4", None).expect("shipped");
    let table = MessageTable {
        session,
        application,
        msg_type: b"none",
        decimals: Decimals::Exact,
        wanted: &|_| true,
    };
    assert_eq!(FixBatchBuilder::new(&table).err(), Some(UnknownMsgType("none".to_owned())));
}
