//! FAST messages into updates, snapshots and resets.

use std::sync::Arc;

use tickwire_fast::{Decoder, DecoderOptions, Program, ResetPolicy, TemplateSet};
use tickwire_feed::book::{Amount, BookUpdate, Level, LevelAction, PriceAction, Side};
use tickwire_feed::recovery::{
    InstrumentId, LevelNaming, MarketData, MarketDataAdapter, MarketDataError,
};

const TEMPLATES: &str = r#"<templates>
  <template name="Incremental" id="1">
    <uInt32 name="MsgSeqNum" id="34"/>
    <sequence name="MDEntries">
      <length name="NoMDEntries" id="268"/>
      <uInt32 name="MDUpdateAction" id="279"/>
      <string name="MDEntryType" id="269"/>
      <uInt32 name="SecurityID" id="48" presence="optional"/>
      <uInt32 name="RptSeq" id="83"/>
      <uInt32 name="MDPriceLevel" id="1023" presence="optional"/>
      <decimal name="MDEntryPx" id="270" presence="optional"/>
      <int32 name="MDEntrySize" id="271" presence="optional"/>
    </sequence>
  </template>
  <template name="Snapshot" id="2">
    <uInt32 name="LastMsgSeqNumProcessed" id="369"/>
    <uInt32 name="RptSeq" id="83"/>
    <uInt32 name="SecurityID" id="48"/>
    <sequence name="MDEntries">
      <length name="NoMDEntries" id="268"/>
      <string name="MDEntryType" id="269"/>
      <uInt32 name="MDPriceLevel" id="1023" presence="optional"/>
      <decimal name="MDEntryPx" id="270" presence="optional"/>
      <int32 name="MDEntrySize" id="271" presence="optional"/>
    </sequence>
  </template>
  <template name="SequenceReset" id="3"><uInt32 name="NewSeqNo" id="36"/></template>
  <template name="Heartbeat" id="4"><uInt32 name="MsgSeqNum" id="34"/></template>
</templates>"#;

/// Bytes of mandatory or present integers below 63 are one byte; an optional one is sent one higher.
const NULL: u8 = 0x80;

fn program() -> Arc<Program> {
    Arc::new(Program::compile(TemplateSet::parse_bytes(TEMPLATES.as_bytes()).unwrap()).unwrap())
}

/// Decodes one message and shows what it says.
fn adapt(
    naming: LevelNaming,
    body: &[u8],
    check: impl FnOnce(Result<MarketData, MarketDataError>),
) {
    let program = program();
    let options = DecoderOptions { reset: ResetPolicy::Packet, ..Default::default() };
    let mut decoder = Decoder::with_options(program.clone(), options);
    let mut adapter = MarketDataAdapter::new(program, naming);
    let bytes = [&[0xC0], body].concat();
    let decoded = decoder.decode(&bytes).unwrap();
    assert_eq!(decoded.len, bytes.len());
    check(adapter.adapt(decoded.message, 99));
}

fn level() -> Level {
    let price = Amount { mantissa: 7, exponent: 1 };
    Level { price, size: Amount::integer(4), orders: None }
}

/// Sequence number 5, then a new bid of instrument 20 and a trade of the same.
const INCREMENTAL: [u8; 19] = [
    0x81,
    0x85,
    0x82, // template, MsgSeqNum, entries
    0x80,
    b'0' | 0x80,
    0x95,
    0x8A,
    0x83,
    0x82,
    0x87,
    0x85, // new bid, level 2, 7 x 10^1, 4
    0x80,
    b'2' | 0x80,
    NULL,
    0x8B,
    NULL,
    0x81,
    0x87,
    0x85, // trade, 7 x 10^0, 4
];

#[test]
fn entries_become_updates_by_level() {
    adapt(LevelNaming::ByLevel, &INCREMENTAL, |data| {
        let Ok(MarketData::Incremental([bid, trade])) = data else { panic!("{data:?}") };
        assert_eq!((bid.instrument, bid.seq_num, bid.rpt_seq), (InstrumentId(20), 5, Some(10)));
        let action = LevelAction::New(level());
        assert_eq!(bid.update, BookUpdate::ByLevel { side: Side::Bid, level: 2, action });
        assert_eq!((trade.instrument, trade.rpt_seq), (InstrumentId(20), Some(11)));
        assert_eq!(trade.update, BookUpdate::Other);
    });
}

#[test]
fn entries_become_updates_by_price() {
    adapt(LevelNaming::ByPrice, &INCREMENTAL, |data| {
        let Ok(MarketData::Incremental([bid, _])) = data else { panic!("{data:?}") };
        let action = PriceAction::New;
        assert_eq!(bid.update, BookUpdate::ByPrice { side: Side::Bid, action, level: level() });
    });
}

#[test]
fn what_is_needed_and_absent_is_an_error() {
    let cases = [(5, NULL, 48), (8, NULL, 270), (10, NULL, 271)];
    for (offset, byte, tag) in cases {
        let mut body = INCREMENTAL.to_vec();
        body[offset] = byte;
        if tag == 270 {
            body.remove(9);
        }
        adapt(LevelNaming::ByLevel, &body, |data| {
            assert_eq!(data.unwrap_err(), MarketDataError::FieldAbsent { tag });
        });
    }
    let mut body = INCREMENTAL.to_vec();
    body[3] = 0x87;
    adapt(LevelNaming::ByLevel, &body, |data| {
        assert_eq!(data.unwrap_err(), MarketDataError::FieldValue { tag: 279 });
    });
}

#[test]
fn snapshots_resets_and_the_rest_are_told_apart() {
    let snapshot = [0x82, 0xA8, 0x8C, 0x94, 0x81, b'1' | 0x80, 0x82, 0x82, 0x87, 0x85];
    adapt(LevelNaming::ByLevel, &snapshot, |data| {
        let Ok(MarketData::Snapshot(snapshot)) = data else { panic!("{data:?}") };
        assert_eq!((snapshot.instrument, snapshot.last_seq_num), (InstrumentId(20), 40));
        assert_eq!(snapshot.rpt_seq, Some(12));
        assert_eq!(snapshot.levels[0].side, Side::Offer);
        assert_eq!((snapshot.levels[0].level, snapshot.levels[0].content), (Some(1), level()));
    });
    adapt(
        LevelNaming::ByLevel,
        &[0x82, 0xA8, 0x8C, 0x94, 0x81, b'J' | 0x80, NULL, NULL, NULL],
        |data| {
            assert!(
                matches!(data, Ok(MarketData::Snapshot(snapshot)) if snapshot.levels.is_empty())
            );
        },
    );
    adapt(LevelNaming::ByLevel, &[0x83, 0x81], |data| {
        assert_eq!(data, Ok(MarketData::SequenceReset { next_seq_num: 1 }));
    });
    adapt(LevelNaming::ByLevel, &[0x84, 0x81], |data| assert_eq!(data, Ok(MarketData::Other)));
}

#[test]
fn messages_of_another_program_are_refused() {
    let mut decoder = Decoder::new(program());
    let mut adapter = MarketDataAdapter::new(program(), LevelNaming::ByLevel);
    let decoded = decoder.decode(&[0xC0, 0x84, 0x81]).unwrap();
    assert_eq!(adapter.adapt(decoded.message, 1), Err(MarketDataError::OtherProgram));
}
