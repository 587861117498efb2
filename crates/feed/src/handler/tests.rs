//! Tests of the handler.

mod bad_packets;
mod chunks;
mod epochs;
mod lines;
mod misnumbered;
mod numbers;
mod silence;
mod snapshots;
mod transactions;

use std::sync::Arc;

use proptest::prelude::*;
use tickwire_fast::{
    Decoder, DecoderOptions, FieldValue, Message, Program, TemplateId, TemplateSet,
};

use super::*;
use crate::Endian;
use crate::arbiter::{ArbiterOptions, Gap, LineEvent, UnexpectedPolicy};
use crate::framing::{Framing, FramingResetPolicy, NumberField, Preset};
use crate::market::{AdapterOptions, BookKind, InstrumentKey, MarketDataAdapter, Snapshot};
use crate::recovery::{Continuity, RecoveryOptions, SnapshotOutcome, StaleReason};

const TEMPLATES: &str = r#"<templates>
  <template name="Incremental" id="1">
    <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
      <uInt32 name="MDUpdateAction" id="279"/><string name="MDEntryType" id="269"/>
      <uInt32 name="SecurityID" id="48"/><uInt32 name="RptSeq" id="83"/>
      <uInt32 name="MDPriceLevel" id="1023"/><decimal name="MDEntryPx" id="270"/>
      <int32 name="MDEntrySize" id="271"/>
    </sequence>
  </template>
  <template name="Snapshot" id="2">
    <uInt32 name="LastMsgSeqNumProcessed" id="369"/><uInt32 name="RptSeq" id="83"/>
    <uInt32 name="SecurityID" id="48"/>
    <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
      <string name="MDEntryType" id="269"/><uInt32 name="MDPriceLevel" id="1023"/>
      <decimal name="MDEntryPx" id="270"/><int32 name="MDEntrySize" id="271"/>
    </sequence>
  </template>
  <template name="SequenceReset" id="3"><uInt32 name="NewSeqNo" id="36"/></template>
  <template name="Number" id="4"><uInt32 name="n" id="34"><increment/></uInt32></template>
  <template name="Done" id="5"><string name="d"><constant value="99"/></string></template>
  <template name="Transaction" id="7">
    <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
      <uInt32 name="MDUpdateAction" id="279"/><string name="MDEntryType" id="269"/>
      <uInt32 name="SecurityID" id="48"/><uInt32 name="RptSeq" id="83"/>
      <uInt32 name="MDPriceLevel" id="1023"/><decimal name="MDEntryPx" id="270"/>
      <int32 name="MDEntrySize" id="271"/>
    </sequence>
    <uInt32 name="LastFragment" id="893"/>
  </template>
  <template name="NumberedIncremental" id="6">
    <uInt32 name="MsgSeqNum" id="34"/>
    <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
      <uInt32 name="MDUpdateAction" id="279"/><string name="MDEntryType" id="269"/>
      <uInt32 name="SecurityID" id="48"/><uInt32 name="RptSeq" id="83"/>
      <uInt32 name="MDPriceLevel" id="1023"/><decimal name="MDEntryPx" id="270"/>
      <int32 name="MDEntrySize" id="271"/>
    </sequence>
  </template>
</templates>"#;

type Tested = Handler<Dynamic, MarketDataAdapter>;

/// A handler that does not watch for silence.
fn handler_of(options: HandlerOptions) -> Tested {
    silent_handler_of(HandlerOptions { heartbeat_ns: None, ..options })
}

fn silent_handler_of(options: HandlerOptions) -> Tested {
    let set = TemplateSet::parse(TEMPLATES).unwrap().with_reset_template(TemplateId(120));
    let program = Arc::new(Program::compile(set).unwrap());
    let reset = options.framing.reset_policy().into();
    let engine = || {
        let options = DecoderOptions::default().reset(reset);
        Dynamic::new(Decoder::with_options(program.clone(), options), &SeqNumField::default())
    };
    let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    Handler::new(options, engine, adapter).unwrap()
}

fn arbiter_options() -> ArbiterOptions {
    let unexpected = UnexpectedPolicy::Follow { packets_min: 3 };
    ArbiterOptions { hold_ns: 100, ahead_max: 100, unexpected, ..Default::default() }
}

/// A feed with numbers in the preamble, dictionaries reset before every packet.
fn cme() -> Tested {
    handler_of(HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: arbiter_options(),
        recovery: RecoveryOptions { depth: Some(2), ..Default::default() },
        ..Default::default()
    })
}

/// A handler as from [`cme`] that never follows unexpected numbers.
fn cme_that_keeps_numbers() -> Tested {
    let arbiter = ArbiterOptions { unexpected: UnexpectedPolicy::Drop, ..arbiter_options() };
    let recovery = RecoveryOptions { depth: Some(2), ..Default::default() };
    let framing = Preset::Cme.framing();
    handler_of(HandlerOptions { framing, arbiter, recovery, ..Default::default() })
}

/// A feed with numbers inside messages, several per packet.
fn numbered_inside() -> Tested {
    let set = TemplateSet::parse(TEMPLATES).unwrap();
    let peek = SeqNumPeek::new(&set, &SeqNumField::default());
    handler_of(HandlerOptions {
        framing: Framing::new().reset(crate::framing::FramingResetPolicy::Packet),
        sequence: SequenceSource::Message(peek),
        arbiter: arbiter_options(),
        ..Default::default()
    })
}

/// Outputs, one word each: `4@1a` is a message of template 4 in packet 1 of line A.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn take(&mut self) -> String {
        std::mem::take(&mut self.0).join(" ")
    }
}

impl Sink<Message> for Words {
    fn handle_message(&mut self, delivery: &Delivery, message: &Message) {
        let id = message.template_id().map_or(0, |id| id.0);
        let line = if delivery.line == Line::A { 'a' } else { 'b' };
        let seq_num = delivery.seq_num.map_or("-".to_owned(), |seq_num| seq_num.to_string());
        let n = match message.root().field("n") {
            Some(FieldValue::UInt(n)) => format!(":{n}"),
            _ => String::new(),
        };
        self.0.push(format!("{id}{n}@{seq_num}{line}"));
    }

    fn handle_gap(&mut self, gap: Gap) {
        self.0.push(format!("G{}+{}", gap.first, gap.count));
    }

    fn handle_reset(&mut self, seq_num: u64) {
        self.0.push(format!("R{seq_num}"));
    }

    fn handle_snapshot(&mut self, _: &Snapshot<'_>, outcome: SnapshotOutcome, _: &Recovery) {
        self.0.push(format!("{outcome:?}"));
    }

    fn handle_fault(&mut self, fault: &Fault<'_>) {
        self.0.push(format!("[{fault}]"));
    }
}

const A: FeedLine = FeedLine::Incremental(Line::A);
const B: FeedLine = FeedLine::Incremental(Line::B);

fn framed(seq_num: u32, body: &[u8]) -> Vec<u8> {
    [&seq_num.to_be_bytes()[..], &[0], body].concat()
}

/// A new best bid of instrument 9 at a price, as its update number `rpt_seq`.
fn bid(rpt_seq: u8, price: u8) -> Vec<u8> {
    let entry = [0x80, 0xB0, 0x89, 0x80 | rpt_seq, 0x81, 0x80, 0x80 | price, 0x81];
    [&[0xC0, 0x81, 0x81], &entry[..]].concat()
}

/// A snapshot of instrument 9 with one bid.
fn snapshot(last_seq_num: u8, rpt_seq: u8, price: u8) -> Vec<u8> {
    let head = [0xC0, 0x82, 0x80 | last_seq_num, 0x80 | rpt_seq, 0x89, 0x81];
    [&head[..], &[0xB0, 0x81, 0x80, 0x80 | price, 0x81]].concat()
}

fn best_bid(handler: &Tested) -> Result<i64, StaleReason> {
    let instrument = handler.recovery().instruments().find(InstrumentKey::Number(9));
    let instrument = instrument.ok_or(StaleReason::NoSnapshot)?;
    let book = handler.recovery().book(instrument, BookKind::Outright)?;
    Ok(book.best(crate::book::Side::Bid).map_or(0, |level| level.price.mantissa))
}
