//! Templates that change while a channel runs: a trading day without a restart.

use std::sync::Arc;

use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_feed::arbiter::{ArbiterOptions, Line, UnexpectedPolicy};
use tickwire_feed::book::Side;
use tickwire_feed::framing::{Framing, FramingResetPolicy, Preset};
use tickwire_feed::handler::{
    Delivery, Dynamic, Fault, FeedLine, Handler, HandlerConfigError, HandlerOptions, Replaced,
    Replacement, SeqNumField, SeqNumPeek, SequenceSource, Sink,
};
use tickwire_feed::market::{AdapterOptions, BookKind, InstrumentKey, MarketDataAdapter};
use tickwire_feed::recovery::RecoveryOptions;

const A: FeedLine = FeedLine::Incremental(Line::A);
const SNAPSHOTS: FeedLine = FeedLine::Snapshot(Line::A);

/// Templates of a day: their ids begin with `tens`; the order of price and size may be swapped.
fn templates(tens: u32, is_size_first: bool) -> String {
    let price = r#"<decimal name="MDEntryPx" id="270"/>"#;
    let size = r#"<int32 name="MDEntrySize" id="271"/>"#;
    let values = if is_size_first { [size, price].concat() } else { [price, size].concat() };
    format!(
        r#"<templates>
  <template name="Incremental" id="{tens}1">
    <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
      <uInt32 name="MDUpdateAction" id="279"/><string name="MDEntryType" id="269"/>
      <uInt32 name="SecurityID" id="48"/><uInt32 name="RptSeq" id="83"/>
      <uInt32 name="MDPriceLevel" id="1023"/>{values}
    </sequence>
  </template>
  <template name="Snapshot" id="{tens}2">
    <uInt32 name="LastMsgSeqNumProcessed" id="369"/><uInt32 name="RptSeq" id="83"/>
    <uInt32 name="SecurityID" id="48"/>
    <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
      <string name="MDEntryType" id="269"/><uInt32 name="MDPriceLevel" id="1023"/>{values}
    </sequence>
  </template>
  <template name="SequenceReset" id="{tens}3"><uInt32 name="NewSeqNo" id="36"/></template>
  <template name="Numbered" id="{tens}4">
    {numbered}
  </template>
</templates>"#,
        // The position of the message number changes too.
        numbered = match is_size_first {
            true => r#"<uInt32 name="x"/><uInt32 name="MsgSeqNum" id="34"/>"#,
            false => r#"<uInt32 name="MsgSeqNum" id="34"/><uInt32 name="x"/>"#,
        }
    )
}

/// The templates of one day.
struct Day {
    set: TemplateSet,
    program: Arc<Program>,
    tens: u8,
    is_size_first: bool,
    reset: FramingResetPolicy,
}

impl Day {
    fn new(tens: u8, is_size_first: bool) -> Self {
        let set = TemplateSet::parse(&templates(tens.into(), is_size_first)).unwrap();
        let program = Arc::new(Program::compile(set.clone()).unwrap());
        Self { set, program, tens, is_size_first, reset: FramingResetPolicy::Packet }
    }

    fn first() -> Self {
        Self::new(1, false)
    }

    fn second() -> Self {
        Self::new(2, true)
    }

    fn engine(&self) -> Dynamic {
        let options = DecoderOptions::default().reset(self.reset.into());
        let decoder = Decoder::with_options(self.program.clone(), options);
        Dynamic::new(decoder, &SeqNumField::default())
    }

    fn adapter(&self) -> MarketDataAdapter {
        MarketDataAdapter::new(self.program.clone(), &AdapterOptions::default())
    }

    fn replacement(&self) -> Replacement<Dynamic, MarketDataAdapter> {
        Replacement::new(|| self.engine(), self.adapter(), SequenceSource::Preamble)
    }

    /// Presence map and template id.
    fn head(&self, id: u8) -> [u8; 2] {
        [0xC0, 0x80 | (self.tens * 10 + id)]
    }

    fn values(&self, price: u8) -> [u8; 3] {
        match self.is_size_first {
            true => [0x81, 0x80, 0x80 | price],
            false => [0x80, 0x80 | price, 0x81],
        }
    }

    /// Changes the best bid of instrument 9 to a price.
    fn bid(&self, rpt_seq: u8, price: u8) -> Vec<u8> {
        let action = if rpt_seq == 1 { 0x80 } else { 0x81 };
        let entry = [0x81, action, 0xB0, 0x89, 0x80 | rpt_seq, 0x81];
        [&self.head(1)[..], &entry, &self.values(price)].concat()
    }

    /// A snapshot of instrument 9 with one bid.
    fn snapshot(&self, last_seq_num: u8, rpt_seq: u8, price: u8) -> Vec<u8> {
        let entry = [0x80 | last_seq_num, 0x80 | rpt_seq, 0x89, 0x81, 0xB0, 0x81];
        [&self.head(2)[..], &entry, &self.values(price)].concat()
    }

    fn sequence_reset(&self, next: u8) -> Vec<u8> {
        [&self.head(3)[..], &[0x80 | next]].concat()
    }

    fn numbered(&self, seq_num: u8) -> Vec<u8> {
        let fields = [0x80 | seq_num, 0x80];
        let fields = if self.is_size_first { [fields[1], fields[0]] } else { fields };
        [&self.head(4)[..], &fields].concat()
    }
}

fn packet(seq_num: u32, message: &[u8]) -> Vec<u8> {
    [&seq_num.to_be_bytes()[..], &[0], message].concat()
}

type Tested = Handler<Dynamic, MarketDataAdapter>;

fn options() -> HandlerOptions {
    let unexpected = UnexpectedPolicy::Follow { packets_min: 3 };
    HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: ArbiterOptions { hold_ns: 100, ahead_max: 100, unexpected, ..Default::default() },
        recovery: RecoveryOptions { depth: Some(2), ..Default::default() },
        ..Default::default()
    }
}

fn handler(day: &Day, options: HandlerOptions) -> Tested {
    Handler::new(options, || day.engine(), day.adapter()).unwrap()
}

/// Records ids of the templates of messages, and faults.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn take(&mut self) -> String {
        std::mem::take(&mut self.0).join(" ")
    }
}

impl Sink<Message> for Words {
    fn handle_message(&mut self, _: &Delivery, message: &Message) {
        self.0.push(message.template_id().map_or(0, |id| id.0).to_string());
    }

    fn handle_reset(&mut self, seq_num: u64) {
        self.0.push(format!("R{seq_num}"));
    }

    fn handle_fault(&mut self, _: &Fault<'_>) {
        self.0.push("fault".to_owned());
    }
}

/// The best bid of instrument 9.
fn price(handler: &Tested) -> Option<i64> {
    let recovery = handler.recovery();
    let instrument = recovery.instruments().find(InstrumentKey::Number(9))?;
    let book = recovery.book(instrument, BookKind::Outright).ok()?;
    Some(book.best(Side::Bid)?.price.mantissa)
}

#[test]
fn before_the_first_message_new_templates_take_effect_at_once() {
    let (old, new) = (Day::first(), Day::second());
    let mut handler = handler(&old, options());
    let mut words = Words::default();
    // Messages that the old templates could not decode do not count as decoded.
    handler.handle_packet(0, A, &packet(1, &new.bid(1, 50)), &mut words);
    assert_eq!(handler.replace(new.replacement()).unwrap(), Replaced::AtOnce);
    assert!(!handler.view().is_replacement_waiting);
    handler.handle_packet(1, SNAPSHOTS, &packet(1, &new.snapshot(1, 1, 50)), &mut words);
    // Line B's copy of packet 1 is no longer expected.
    handler.handle_packet(200, A, &packet(2, &new.bid(2, 51)), &mut words);
    assert_eq!(price(&handler), Some(51));
    assert_eq!(handler.counters().replacements, 1);
}

#[test]
fn new_templates_wait_for_the_reset_and_the_old_ones_decode_until_then() {
    let (old, new) = (Day::first(), Day::second());
    let mut handler = handler(&old, options());
    let mut words = Words::default();
    handler.handle_packet(0, A, &packet(1, &old.bid(1, 50)), &mut words);
    assert_eq!(handler.replace(new.replacement()).unwrap(), Replaced::AtReset);
    handler.handle_packet(1, A, &packet(2, &old.bid(2, 51)), &mut words);
    assert!(handler.view().is_replacement_waiting);
    assert_eq!(price(&handler), Some(51));
    // The reset itself still uses the old templates.
    handler.handle_packet(2, A, &packet(3, &old.sequence_reset(1)), &mut words);
    assert_eq!(words.take(), "11 11 13 R1");
    assert!(!handler.view().is_replacement_waiting);
    assert_eq!(price(&handler), None, "a new session");
    handler.handle_packet(3, A, &packet(1, &new.bid(1, 60)), &mut words);
    handler.handle_packet(4, A, &packet(2, &new.bid(2, 61)), &mut words);
    assert_eq!((words.take().as_str(), price(&handler)), ("21 21", Some(61)));
    let long_after_ns = 1_000_000_000_000;
    handler.handle_packet(
        long_after_ns,
        SNAPSHOTS,
        &packet(1, &new.snapshot(2, 2, 61)),
        &mut words,
    );
    assert_eq!(handler.recovery().counters().verified, 1, "snapshots have the new templates too");
    assert_eq!(words.take(), "");
}

#[test]
fn numbers_that_start_again_are_a_reset() {
    let (old, new) = (Day::first(), Day::second());
    let mut handler = handler(&old, options());
    let mut words = Words::default();
    let base = 100_000;
    handler.handle_packet(0, A, &packet(base, &old.bid(1, 50)), &mut words);
    handler.replace(new.replacement()).unwrap();
    for seq_num in 1..=6 {
        handler.handle_packet(
            seq_num.into(),
            A,
            &packet(seq_num, &new.bid(seq_num as u8, 60)),
            &mut words,
        );
    }
    handler.handle_timeout(1_000_000, &mut words);
    assert!(!handler.view().is_replacement_waiting);
    let words = words.take();
    assert!(words.starts_with("11 R") && words.ends_with("21"), "{words}");
    assert!(!words.contains("fault"), "{words}");
}

#[test]
fn a_template_that_only_the_new_set_knows_is_a_change_over() {
    let (old, new) = (Day::first(), Day::second());
    let mut handler = handler(&old, options());
    let mut words = Words::default();
    handler.handle_packet(0, A, &packet(1, &old.bid(1, 50)), &mut words);
    handler.replace(new.replacement()).unwrap();
    // No template set has template 77, and the new templates do not decode a truncated message.
    handler.handle_packet(1, A, &packet(2, &[0xC0, 0x80 | 77]), &mut words);
    let cut = &new.bid(2, 51)[..5];
    handler.handle_packet(200, A, &packet(3, cut), &mut words);
    handler.handle_timeout(1000, &mut words);
    assert!(handler.view().is_replacement_waiting);
    handler.handle_packet(2000, A, &packet(4, &new.bid(2, 52)), &mut words);
    assert!(!handler.view().is_replacement_waiting);
    assert_eq!(
        price(&handler),
        Some(52),
        "the book goes on: its count shows that nothing is missing"
    );
    assert!(words.take().ends_with("fault 21"));
}

#[test]
fn the_number_is_found_by_the_new_templates_too() {
    let (old, new) = (Day::first(), Day::second());
    let source =
        |day: &Day| SequenceSource::Message(SeqNumPeek::new(&day.set, &SeqNumField::default()));
    let options = HandlerOptions {
        framing: Framing::new().reset(FramingResetPolicy::Packet),
        sequence: source(&old),
        ..options()
    };
    let mut handler = handler(&old, options);
    let mut words = Words::default();
    handler.handle_packet(0, A, &old.numbered(1), &mut words);
    let replacement = Replacement::new(|| new.engine(), new.adapter(), source(&new));
    assert_eq!(handler.replace(replacement).unwrap(), Replaced::AtReset);
    handler.handle_packet(1, A, &old.numbered(2), &mut words);
    handler.handle_packet(2, A, &new.numbered(3), &mut words);
    handler.handle_packet(3, A, &new.numbered(4), &mut words);
    assert_eq!(words.take(), "14 14 fault 24 24");
    assert_eq!(handler.counters().messages.undecodable, 0, "it was decoded after all");
    assert_eq!(handler.arbiter().counters().gaps, 0);
}

#[test]
fn templates_with_numbers_elsewhere_are_refused_and_change_nothing() {
    let (old, new) = (Day::first(), Day::second());
    let mut handler = handler(&old, options());
    let peek = SeqNumPeek::new(&new.set, &SeqNumField::default());
    let elsewhere = Replacement::new(|| new.engine(), new.adapter(), SequenceSource::Message(peek));
    assert_eq!(handler.replace(elsewhere), Err(HandlerConfigError::SequenceSourceChanged));
    let mut words = Words::default();
    handler.handle_packet(0, A, &packet(1, &old.bid(1, 50)), &mut words);
    assert_eq!(words.take(), "11");
}

#[test]
fn a_later_replacement_takes_the_place_of_one_that_waits() {
    let (old, new, newest) = (Day::first(), Day::second(), Day::new(3, true));
    let mut handler = handler(&old, options());
    let mut words = Words::default();
    handler.handle_packet(0, A, &packet(1, &old.bid(1, 50)), &mut words);
    handler.replace(new.replacement()).unwrap();
    handler.replace(newest.replacement()).unwrap();
    handler.handle_packet(1, A, &packet(2, &old.sequence_reset(1)), &mut words);
    handler.handle_packet(2, A, &packet(1, &newest.bid(1, 60)), &mut words);
    assert_eq!(words.take(), "11 13 R1 31");
    assert_eq!(price(&handler), Some(60));
}
