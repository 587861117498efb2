//! FAST messages to updates, snapshots and resets.

use std::sync::Arc;

use tickwire_fast::{Decoder, DecoderOptions, Program, ResetPolicy, TemplateSet};
use tickwire_feed::book::{Amount, BookUpdate, Level, LevelAction, PriceAction, Side};
use tickwire_feed::market::{
    Adapt, AdapterOptions, BookKind, BookModel, ClearScope, Instrument, InstrumentKey, Instruments,
    LevelName, MarketDataAdapter, MarketDataError, MarketEvent, MarketSink, Snapshot,
    SnapshotFragment, SnapshotLevel, Trade, Update,
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

/// NULL of an optional integer. An integer below 63 takes one byte; an optional one is sent as its
/// value plus 1.
const NULL: u8 = 0x80;

/// Content of a message.
struct Said {
    instruments: Instruments,
    updates: Vec<Update>,
    trades: Vec<(Instrument, Option<Amount>, Option<Amount>)>,
    clears: usize,
    snapshots: Vec<(u64, Option<u64>, Vec<SnapshotLevel>)>,
    resets: Vec<u64>,
    ends: usize,
}

impl Said {
    fn new() -> Self {
        Self {
            instruments: Instruments::new(10),
            updates: Vec::new(),
            trades: Vec::new(),
            clears: 0,
            snapshots: Vec::new(),
            resets: Vec::new(),
            ends: 0,
        }
    }

    /// The instrument with SecurityID 20, which all messages here name.
    fn twenty(&self) -> Instrument {
        self.instruments.find(InstrumentKey::Number(20)).expect("a message named it")
    }
}

impl MarketSink for Said {
    fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
        self.instruments.intern(key)
    }

    fn update(&mut self, update: &Update) {
        self.updates.push(*update);
    }

    fn clear(&mut self, clear: &tickwire_feed::market::Clear<'_>) {
        assert_eq!(clear.scope, ClearScope::Channel);
        self.clears += 1;
    }

    fn snapshot(&mut self, snapshot: &Snapshot<'_>) {
        assert_eq!(
            (snapshot.instrument, snapshot.fragment),
            (self.twenty(), SnapshotFragment::Whole)
        );
        let levels = snapshot.levels.to_vec();
        self.snapshots.push((snapshot.last_seq_num, snapshot.rpt_seq, levels));
    }

    fn event(&mut self, event: &MarketEvent<'_>) {
        let MarketEvent::Trade(Trade { instrument, price, size, .. }) = event else {
            panic!("{event:?}");
        };
        self.trades.push((*instrument, *price, *size));
    }

    fn sequence_reset(&mut self, next_seq_num: u64, sending_time: Option<u64>) {
        assert_eq!(sending_time, None);
        self.resets.push(next_seq_num);
    }

    fn end_message(&mut self, continues: bool) {
        assert!(!continues);
        self.ends += 1;
    }
}

fn program() -> Arc<Program> {
    Arc::new(Program::compile(TemplateSet::parse_bytes(TEMPLATES.as_bytes()).unwrap()).unwrap())
}

/// Decodes one message of packet 99 and returns its content.
fn adapt(model: BookModel, body: &[u8]) -> (Said, Result<(), MarketDataError>) {
    let program = program();
    let options = DecoderOptions::default().reset(ResetPolicy::Packet);
    let mut decoder = Decoder::with_options(program.clone(), options);
    let options = AdapterOptions { model: Some(model), ..Default::default() };
    let mut adapter = MarketDataAdapter::new(program, &options);
    let bytes = [&[0xC0], body].concat();
    let decoded = decoder.decode(&bytes).unwrap();
    assert_eq!(decoded.len, bytes.len());
    let mut said = Said::new();
    let result = adapter.adapt(decoded.message, 99, &mut said);
    (said, result)
}

fn level() -> Level {
    let price = Amount { mantissa: 7, exponent: 1 };
    Level { price, size: Amount::integer(4), orders: None }
}

/// Sequence number 5, then a new bid of instrument 20 and a trade of the same instrument.
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
fn entries_become_updates_by_level_and_trades() {
    let (said, result) = adapt(BookModel::ByLevel, &INCREMENTAL);
    assert_eq!((result, said.ends), (Ok(()), 1));
    let [bid, trade] = said.updates[..] else { panic!("{:?}", said.updates) };
    let expected = (said.twenty(), BookKind::Outright, 99, Some(10));
    assert_eq!((bid.instrument, bid.kind, bid.seq_num, bid.rpt_seq), expected);
    let action = LevelAction::New(level());
    assert_eq!(bid.change, BookUpdate::ByLevel { side: Side::Bid, level: 2, action });
    assert_eq!((trade.instrument, trade.rpt_seq), (said.twenty(), Some(11)));
    assert_eq!(trade.change, BookUpdate::Other);
    let (price, size) = (Amount::integer(7), Amount::integer(4));
    assert_eq!(said.trades, [(said.twenty(), Some(price), Some(size))]);
}

#[test]
fn entries_become_updates_by_price() {
    let (said, result) = adapt(BookModel::ByPrice, &INCREMENTAL);
    assert_eq!((result, said.updates.len()), (Ok(()), 2));
    let action = PriceAction::New;
    let change = BookUpdate::ByPrice { side: Side::Bid, action, level: level() };
    assert_eq!(said.updates[0].change, change);
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
        let (said, result) = adapt(BookModel::ByLevel, &body);
        assert_eq!(result, Err(MarketDataError::FieldAbsent { tag }));
        assert!(said.updates.is_empty());
    }
    let mut body = INCREMENTAL.to_vec();
    body[3] = 0x87;
    let (_, result) = adapt(BookModel::ByLevel, &body);
    assert_eq!(result, Err(MarketDataError::FieldValue { tag: 279 }));
}

#[test]
fn snapshots_resets_and_the_rest_are_told_apart() {
    let snapshot = [0x82, 0xA8, 0x8C, 0x94, 0x81, b'1' | 0x80, 0x82, 0x82, 0x87, 0x85];
    let (said, result) = adapt(BookModel::ByLevel, &snapshot);
    assert_eq!((result, said.updates.len(), said.resets.len()), (Ok(()), 0, 0));
    let kind = BookKind::Outright;
    let (side, name, content) = (Side::Offer, LevelName::Level(1), level());
    let levels = vec![SnapshotLevel { kind, side, name, content }];
    assert_eq!(said.snapshots, [(40, Some(12), levels)]);

    let empty = [0x82, 0xA8, 0x8C, 0x94, 0x81, b'J' | 0x80, NULL, NULL, NULL];
    let (said, result) = adapt(BookModel::ByLevel, &empty);
    assert_eq!((result, said.clears), (Ok(()), 0));
    assert_eq!(said.snapshots, [(40, Some(12), vec![])]);

    let (said, result) = adapt(BookModel::ByLevel, &[0x83, 0x81]);
    assert_eq!((result, &said.resets[..]), (Ok(()), &[1][..]));

    let (said, result) = adapt(BookModel::ByLevel, &[0x84, 0x81]);
    assert_eq!((result, said.instruments.len(), said.ends), (Ok(()), 0, 0));
}

#[test]
fn messages_of_another_program_are_refused() {
    let mut decoder = Decoder::new(program());
    let mut adapter = MarketDataAdapter::new(program(), &AdapterOptions::default());
    let decoded = decoder.decode(&[0xC0, 0x84, 0x81]).unwrap();
    let result = adapter.adapt(decoded.message, 1, &mut Said::new());
    assert_eq!(result, Err(MarketDataError::OtherProgram));
}
