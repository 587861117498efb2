//! Messages of the dynamic writer are decoded to types and encoded again, byte for byte.

mod support;

use fastrand::Rng;
use support::fill;
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{Dictionary, FixMessage, Reader, Validator, Writer};

/// Generates messages of one type, decodes and encodes them, and compares.
fn round_trip(
    texts: (&str, &str),
    name: &str,
    typed: impl for<'m> Fn(&FixMessage<'m, '_>, &mut Vec<u8>),
) {
    let application = Dictionary::parse_quickfix(texts.0).expect("loads");
    let session = Dictionary::parse_quickfix(texts.1).expect("loads");
    let definition =
        application.messages().iter().find(|message| message.name() == name).expect(name);
    let mut data_fields = application.data_fields();
    for pair in [(93, 89), (90, 91), (95, 96), (212, 213)] {
        data_fields.add(pair.0, pair.1);
    }
    let mut reader = Reader::new().data_fields(data_fields);
    let mut validator = Validator::default();
    let mut buffer = vec![0; 1 << 18];
    let mut encoded = Vec::new();
    for seed in 0..45 {
        let mut random = Rng::with_seed(seed);
        let often = [2, 5, 30][seed as usize % 3];
        let mut writer = Writer::new(&mut buffer, session.begin_string(), definition.msg_type());
        fill(&mut random, &session, session.header(), &mut writer, often);
        fill(&mut random, &application, definition.members(), &mut writer, often);
        let bytes = writer.finish().expect("room");
        let message = reader.decode(bytes).expect("whole");
        assert_eq!(message.fault(), None, "{name} {seed}");
        validator.validate_fixt(&message, &session, &application).unwrap_or_else(|error| {
            panic!("{name} {seed}: {error}\n{}", String::from_utf8_lossy(bytes));
        });
        typed(&message, &mut encoded);
        assert_eq!(
            String::from_utf8_lossy(&encoded).replace('\u{1}', "|"),
            String::from_utf8_lossy(bytes).replace('\u{1}', "|"),
            "{name} {seed}"
        );
        assert_eq!(encoded, bytes);
    }
}

macro_rules! round_trips {
    ($($test:ident $version:ident ($application:ident, $session:ident): $($name:ident)+;)+) => {$(
        #[test]
        fn $test() {
            $(round_trip((&shipped::$application, &shipped::$session), stringify!($name), |message, out| {
                use tickwire_fix_messages::$version::{AnyMessage, Header, $name};
                let (header, body) = Header::decode(message).expect("a header");
                let decoded = $name::decode(message).expect("a body");
                let mut warm = decoded.clone();
                warm.decode_into(message, body).expect("a body");
                assert_eq!(warm, decoded);
                out.resize(1 << 18, 0);
                let bytes = decoded.encode(&header, out).expect("room").to_vec();
                let any = AnyMessage::decode(message).expect("one of them");
                assert!(matches!(&any, AnyMessage::$name(found) if **found == decoded), "{any:?}");
                assert_eq!(any, AnyMessage::from(decoded));
                assert_eq!(any.msg_type(), $name::MSG_TYPE);
                assert_eq!(any.encode(&header, out).expect("room"), bytes);
                *out = bytes;
            });)+
        }
    )+};
}

round_trips! {
    version_40 fix40 (FIX40, FIX40):
        NewOrderSingle ExecutionReport OrderCancelRequest OrderCancelReplaceRequest OrderCancelReject
        QuoteRequest Quote Allocation AllocationInstructionAck
        Heartbeat Logon TestRequest ResendRequest Reject SequenceReset Logout;
    version_41 fix41 (FIX41, FIX41):
        NewOrderSingle ExecutionReport OrderCancelRequest OrderCancelReplaceRequest OrderCancelReject
        QuoteRequest Quote Allocation AllocationInstructionAck
        Heartbeat Logon TestRequest ResendRequest Reject SequenceReset Logout;
    version_42 fix42 (FIX42, FIX42):
        NewOrderSingle ExecutionReport OrderCancelRequest OrderCancelReplaceRequest OrderCancelReject
        MarketDataRequest MarketDataSnapshotFullRefresh MarketDataIncrementalRefresh MarketDataRequestReject QuoteRequest Quote QuoteCancel QuoteStatusRequest QuoteAcknowledgement MassQuote Allocation AllocationInstructionAck
        Heartbeat Logon TestRequest ResendRequest Reject SequenceReset Logout;
    version_43 fix43 (FIX43, FIX43):
        NewOrderSingle ExecutionReport OrderCancelRequest OrderCancelReplaceRequest OrderCancelReject
        MarketDataRequest MarketDataSnapshotFullRefresh MarketDataIncrementalRefresh MarketDataRequestReject QuoteRequest Quote QuoteCancel QuoteStatusRequest QuoteRequestReject QuoteStatusReport MassQuoteAcknowledgement MassQuote Allocation AllocationAck
        Heartbeat Logon TestRequest ResendRequest Reject SequenceReset Logout;
    version_44 fix44 (FIX44, FIX44):
        NewOrderSingle ExecutionReport OrderCancelRequest OrderCancelReplaceRequest OrderCancelReject
        MarketDataRequest MarketDataSnapshotFullRefresh MarketDataIncrementalRefresh MarketDataRequestReject QuoteRequest Quote QuoteCancel QuoteStatusRequest QuoteRequestReject QuoteStatusReport QuoteResponse MassQuoteAcknowledgement MassQuote AllocationInstruction AllocationInstructionAck AllocationReport AllocationReportAck
        Heartbeat Logon TestRequest ResendRequest Reject SequenceReset Logout;
    version_50 fix50 (FIX50, FIXT11):
        NewOrderSingle ExecutionReport OrderCancelRequest OrderCancelReplaceRequest OrderCancelReject
        MarketDataRequest MarketDataSnapshotFullRefresh MarketDataIncrementalRefresh MarketDataRequestReject QuoteRequest Quote QuoteCancel QuoteStatusRequest QuoteRequestReject QuoteStatusReport QuoteResponse MassQuoteAcknowledgement MassQuote AllocationInstruction AllocationInstructionAck AllocationReport AllocationReportAck AllocationInstructionAlert;
    version_50_sp1 fix50sp1 (FIX50SP1, FIXT11):
        NewOrderSingle ExecutionReport OrderCancelRequest OrderCancelReplaceRequest OrderCancelReject
        MarketDataRequest MarketDataSnapshotFullRefresh MarketDataIncrementalRefresh MarketDataRequestReject QuoteRequest Quote QuoteCancel QuoteStatusRequest QuoteRequestReject QuoteStatusReport QuoteResponse MassQuoteAcknowledgement MassQuote AllocationInstruction AllocationInstructionAck AllocationReport AllocationReportAck AllocationInstructionAlert;
    version_50_sp2 fix50sp2 (FIX50SP2, FIXT11):
        NewOrderSingle ExecutionReport OrderCancelRequest OrderCancelReplaceRequest OrderCancelReject
        MarketDataRequest MarketDataSnapshotFullRefresh MarketDataIncrementalRefresh MarketDataRequestReject QuoteRequest Quote QuoteCancel QuoteStatusRequest QuoteRequestReject QuoteStatusReport QuoteResponse MassQuoteAcknowledgement MassQuote AllocationInstruction AllocationInstructionAck AllocationReport AllocationReportAck AllocationInstructionAlert;
    version_t11 fixt11 (FIXT11, FIXT11):
        Heartbeat Logon TestRequest ResendRequest Reject SequenceReset Logout;
}
