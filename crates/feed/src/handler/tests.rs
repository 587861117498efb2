use std::sync::Arc;

use proptest::prelude::*;
use tickwire_fast::{
    Decoder, DecoderOptions, FieldValue, Message, Program, TemplateId, TemplateSet,
};

use super::*;
use crate::Endian;
use crate::arbiter::{ArbiterOptions, Gap, UnexpectedPolicy};
use crate::framing::{Framing, NumberField, Preset, ResetPolicy};
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

/// A handler on which silence is not watched.
fn handler_of(options: HandlerOptions) -> Tested {
    silent_handler_of(HandlerOptions { heartbeat_ns: None, ..options })
}

fn silent_handler_of(options: HandlerOptions) -> Tested {
    let set = TemplateSet::parse(TEMPLATES).unwrap().with_reset_template(TemplateId(120));
    let program = Arc::new(Program::compile(set).unwrap());
    let reset = options.framing.reset_policy().into();
    let engine = || {
        let options = DecoderOptions { reset, ..Default::default() };
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

/// The same, where unexpected numbers are never followed.
fn cme_that_keeps_numbers() -> Tested {
    let arbiter = ArbiterOptions { unexpected: UnexpectedPolicy::Drop, ..arbiter_options() };
    let recovery = RecoveryOptions { depth: Some(2), ..Default::default() };
    let framing = Preset::Cme.framing();
    handler_of(HandlerOptions { framing, arbiter, recovery, ..Default::default() })
}

/// A feed with numbers inside messages, several to a packet.
fn numbered_inside() -> Tested {
    let set = TemplateSet::parse(TEMPLATES).unwrap();
    let peek = SeqNumPeek::new(&set, &SeqNumField::default());
    handler_of(HandlerOptions {
        framing: Framing::new().reset(crate::framing::ResetPolicy::Packet),
        sequence: SequenceSource::Message(peek),
        arbiter: arbiter_options(),
        ..Default::default()
    })
}

/// What came out, a word each: `4@1a` is a message of template 4 in packet 1 of line A.
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

const A: Source = Source::Incremental(Line::A);
const B: Source = Source::Incremental(Line::B);

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

#[test]
fn lines_become_one_and_books_follow() {
    let (mut handler, mut words) = (cme(), Words::default());
    let from = Source::Snapshot(Line::B);
    handler.handle_packet(0, from, &framed(1, &snapshot(9, 3, 50)), &mut words);
    assert_eq!(words.take(), "Ahead", "no line has brought anything yet");
    assert_eq!(best_bid(&handler), Err(StaleReason::Ahead));
    handler.handle_packet(10, A, &framed(10, &bid(4, 51)), &mut words);
    handler.handle_packet(20, A, &framed(12, &bid(6, 53)), &mut words);
    assert_eq!((words.take().as_str(), handler.poll_timeout()), ("1@10a", Some(120)));
    assert_eq!(best_bid(&handler), Ok(51));
    handler.handle_packet(30, B, &framed(10, &bid(4, 51)), &mut words);
    handler.handle_packet(40, B, &framed(11, &bid(5, 52)), &mut words);
    assert_eq!(words.take(), "1@11b 1@12a");
    assert_eq!(best_bid(&handler), Ok(53));
    handler.handle_packet(50, from, &framed(2, &snapshot(12, 6, 53)), &mut words);
    assert_eq!(words.take(), "Mismatch", "two levels are in the book, one in the snapshot");
    let counters = handler.counters();
    assert_eq!((counters.messages.decoded, counters.snapshots.decoded), (3, 2));
    assert_eq!((counters.lines[0].packets, counters.lines[1].packets), (2, 2));
}

#[test]
fn lost_packets_make_books_stale_until_a_snapshot() {
    let (mut handler, mut words) = (cme(), Words::default());
    let from = Source::Snapshot(Line::A);
    handler.handle_packet(0, from, &framed(1, &snapshot(1, 1, 50)), &mut words);
    handler.handle_packet(1, A, &framed(2, &bid(2, 51)), &mut words);
    handler.handle_packet(2, A, &framed(4, &bid(4, 53)), &mut words);
    words.take();
    handler.handle_timeout(102, &mut words);
    assert_eq!(words.take(), "G3+1 1@4a");
    assert!(best_bid(&handler).is_err());
    handler.handle_packet(103, from, &framed(2, &snapshot(3, 3, 52)), &mut words);
    assert_eq!((words.take().as_str(), best_bid(&handler)), ("Recovered", Ok(53)));
}

#[test]
fn what_cannot_be_decoded_is_a_gap_and_the_next_packet_goes_on() {
    let mut handler = handler_of(HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: ArbiterOptions { lines: [true, false], ..arbiter_options() },
        ..Default::default()
    });
    let mut words = Words::default();
    let from = Source::Snapshot(Line::A);
    handler.handle_packet(0, from, &framed(1, &snapshot(0, 1, 50)), &mut words);
    words.take();
    let cut = &bid(2, 51)[..5];
    for (seq_num, body) in [(1, cut), (2, &[0xC0, 0xE3][..]), (3, &bid(2, 51))] {
        handler.handle_packet(u64::from(seq_num), A, &framed(seq_num, body), &mut words);
        if seq_num < 3 {
            assert_eq!(best_bid(&handler), Err(StaleReason::Gap));
        }
    }
    let text = words.take();
    assert!(text.starts_with("[packet 1: message at 0: "), "{text}");
    assert!(text.contains("G1+1") && text.contains("G2+1") && text.ends_with("1@3a"), "{text}");
    assert_eq!(best_bid(&handler), Ok(51), "its update follows: nothing was lost");
    let messages = handler.counters().messages;
    assert_eq!((messages.undecodable, messages.unknown_template, messages.decoded), (2, 1, 1));
}

#[test]
fn a_packet_cut_behind_its_first_message_makes_the_book_of_that_message_stale() {
    for continuity in [Continuity::RptSeq, Continuity::SeqNum] {
        let mut handler = handler_of(HandlerOptions {
            framing: Preset::Cme.framing(),
            arbiter: ArbiterOptions { lines: [true, false], ..arbiter_options() },
            recovery: RecoveryOptions { continuity, ..Default::default() },
            ..Default::default()
        });
        let mut words = Words::default();
        let from = Source::Snapshot(Line::A);
        handler.handle_packet(0, from, &framed(1, &snapshot(1, 1, 50)), &mut words);
        let two = [bid(2, 51), bid(3, 52)].concat();
        handler.handle_packet(1, A, &framed(2, &two[..two.len() - 1]), &mut words);
        assert_eq!(handler.counters().messages.decoded, 1);
        assert_eq!(best_bid(&handler), Err(StaleReason::Gap));
        words.take();
        handler.handle_packet(2, from, &framed(2, &snapshot(2, 3, 52)), &mut words);
        assert_eq!((words.take().as_str(), best_bid(&handler)), ("Recovered", Ok(52)));
    }
}

#[test]
fn a_packet_that_is_bad_on_one_line_comes_from_the_other() {
    for (is_bad_first, bad_len) in [(true, 3), (true, 8), (true, 20), (false, 3)] {
        let (mut handler, mut words) = (cme(), Words::default());
        let from = Source::Snapshot(Line::A);
        handler.handle_packet(0, from, &framed(1, &snapshot(1, 1, 50)), &mut words);
        for line in [A, B] {
            handler.handle_packet(0, line, &framed(1, &[0xC0, 0x85]), &mut words);
        }
        words.take();
        let good = [bid(2, 51), bid(3, 52)].concat();
        let [first, second] =
            if is_bad_first { [&good[..bad_len], &good] } else { [&good[..], &good[..bad_len]] };
        handler.handle_packet(10, A, &framed(2, first), &mut words);
        handler.handle_packet(20, A, &framed(3, &[0xC0, 0x85]), &mut words);
        handler.handle_packet(30, B, &framed(2, second), &mut words);
        handler.handle_packet(40, B, &framed(3, &[0xC0, 0x85]), &mut words);
        let text = words.take();
        let told: Vec<&str> = text.split(' ').filter(|word| word.contains('@')).collect();
        let lines: Vec<&str> = told.iter().map(|word| &word[..3]).collect();
        assert_eq!(lines, ["1@2", "1@2", "5@3"], "{text}");
        assert!(!text.contains('G'), "{text}");
        assert_eq!(best_bid(&handler), Ok(52), "nothing was lost");
        assert_eq!(handler.counters().messages.decoded, 4);
        assert_eq!(handler.counters().messages.undecodable, u64::from(is_bad_first));
        assert_eq!(handler.poll_timeout(), None);
    }
}

#[test]
fn a_packet_of_a_preamble_alone_comes_from_the_other_line_or_is_a_gap() {
    let (mut handler, mut words) = (cme(), Words::default());
    handler.handle_packet(0, A, &framed(1, &bid(1, 50)), &mut words);
    handler.handle_packet(0, B, &framed(1, &bid(1, 50)), &mut words);
    handler.handle_packet(1, A, &framed(2, &[]), &mut words);
    assert_eq!(words.take(), "1@1a [line A: offset 5: the packet ends behind its preamble]");
    handler.handle_packet(2, A, &framed(3, &bid(3, 52)), &mut words);
    handler.handle_packet(3, B, &framed(2, &bid(2, 51)), &mut words);
    assert_eq!(words.take(), "1@2b 1@3a");
    handler.handle_packet(4, A, &framed(4, &[]), &mut words);
    handler.handle_packet(5, B, &framed(4, &[]), &mut words);
    handler.handle_packet(6, A, &framed(5, &bid(5, 54)), &mut words);
    handler.handle_timeout(110, &mut words);
    assert!(words.take().ends_with("G4+1 1@5a"));
    assert!(matches!(best_bid(&handler), Err(StaleReason::RptSeqGap { .. })));
    assert_eq!(handler.counters().lines.map(|line| line.malformed), [2, 1]);
}

/// Packet 20 of line A says that it is packet 21: line B brings both.
#[test]
fn a_packet_whose_number_is_not_that_of_its_message_comes_from_the_other_line() {
    let (mut handler, mut words) = (cme(), Words::default());
    let numbered = |seq_num: u32, own: u8| framed(seq_num, &[0xE0, 0x84, 0x80 | own]);
    for seq_num in 1..=30 {
        let on_a = if seq_num == 20 { 21 } else { u32::from(seq_num) };
        handler.handle_packet(seq_num.into(), A, &numbered(on_a, seq_num), &mut words);
        handler.handle_packet(seq_num.into(), B, &numbered(seq_num.into(), seq_num), &mut words);
    }
    let told = words.take();
    let told: Vec<&str> = told.split(' ').filter(|word| word.starts_with("4:")).collect();
    let numbers: Vec<String> = (1..=30).map(|n| format!("4:{n}@{n}")).collect();
    assert_eq!(told.len(), 30, "{told:?}");
    assert!(told.iter().zip(&numbers).all(|(told, number)| told.starts_with(number)), "{told:?}");
    assert_eq!(handler.counters().messages.undecodable, 1);
}

/// Numbers of packets begin anew, or far ahead, several in a row: those of messages go on, and none is lost.
#[test]
fn packets_whose_numbers_part_from_those_of_messages_where_they_begin_anew_are_told() {
    for first in [1, 100_000] {
        let (mut handler, mut words) = (cme(), Words::default());
        for own in 60..100_u8 {
            let on_packet = if own < 80 { own.into() } else { first + u32::from(own - 80) };
            let packet = framed(on_packet, &[0xE0, 0x84, 0x80 | own]);
            let now_ns = 1_000 * u64::from(own);
            handler.handle_packet(now_ns, A, &packet, &mut words);
            handler.handle_packet(now_ns, B, &packet, &mut words);
            handler.handle_timeout(now_ns + 500, &mut words);
        }
        let told = words.take();
        let told: Vec<&str> = told.split(' ').filter(|word| word.starts_with("4:")).collect();
        assert_eq!(told.len(), 40, "{told:?}");
        assert_eq!(handler.counters().messages.undecodable, 0);
    }
}

#[test]
fn a_packet_that_is_bad_on_both_lines_is_a_gap_at_once() {
    let (mut handler, mut words) = (cme(), Words::default());
    for line in [A, B] {
        handler.handle_packet(0, line, &framed(1, &[0xC0, 0x85]), &mut words);
    }
    for (now_ns, line) in [(10, A), (20, B)] {
        handler.handle_packet(now_ns, line, &framed(2, &[0xC0, 0xFF]), &mut words);
        handler.handle_packet(now_ns, line, &framed(3, &[0xC0, 0x85]), &mut words);
    }
    let text = words.take();
    assert!(text.starts_with("5@1a [packet 2") && text.ends_with("G2+1 5@3a"), "{text}");
    assert_eq!(handler.counters().messages.undecodable, 1, "the copy was known to be the same");
}

#[test]
fn messages_with_numbers_are_told_once_whatever_copy_they_come_from() {
    for copy_comes in [true, false] {
        let (mut handler, mut words) = (numbered_inside(), Words::default());
        for line in [A, B] {
            handler.handle_packet(0, line, &[0xE0, 0x84, 0x81], &mut words);
        }
        // Numbers 2 to 4, and the copy of line A is cut behind 3.
        let good = [0xE0, 0x84, 0x82, 0x80, 0x80];
        let bad = [0xE0, 0x84, 0x82, 0x80, 0x00];
        handler.handle_packet(10, A, &bad, &mut words);
        handler.handle_packet(20, A, &[0xE0, 0x84, 0x85], &mut words);
        if copy_comes {
            handler.handle_packet(30, B, &good, &mut words);
        }
        handler.handle_timeout(200, &mut words);
        let text = words.take();
        let end = if copy_comes { "4:4@2b 4:5@5a" } else { "G2+1 G4+1 4:5@5a" };
        assert!(text.starts_with("4:1@1a 4:2@2a 4:3@2a [packet 2: "), "{text}");
        assert!(text.ends_with(&format!("] {end}")), "{text}");
        assert_eq!(handler.poll_timeout(), None);
    }
}

#[test]
fn foreign_numbers_and_random_bytes_are_counted_and_dropped() {
    let (mut handler, mut words) = (cme(), Words::default());
    handler.handle_packet(0, A, &framed(1, &bid(1, 50)), &mut words);
    handler.handle_packet(1, A, &framed(4_000_000_000, &bid(9, 99)), &mut words);
    handler.handle_packet(2, B, b"abc", &mut words);
    handler.handle_packet(3, A, &framed(2, &bid(2, 51)), &mut words);
    let text = words.take();
    assert_eq!(text.split(' ').next(), Some("1@1a"));
    assert!(text.contains("[line B: offset 0: a preamble") && text.ends_with("1@2a"), "{text}");
    assert_eq!(handler.arbiter().line_counters(Line::A).unexpected, 1);
    assert_eq!(handler.counters().lines[1].malformed, 1);
}

#[test]
fn a_new_numbering_forgets_the_books() {
    let (mut handler, mut words) = (cme(), Words::default());
    let from = Source::Snapshot(Line::A);
    handler.handle_packet(0, A, &framed(40, &[0xC0, 0x85]), &mut words);
    handler.handle_packet(0, from, &framed(1, &snapshot(40, 1, 50)), &mut words);
    assert_eq!((words.take().as_str(), best_bid(&handler)), ("5@40a Recovered", Ok(50)));
    handler.handle_packet(1, A, &framed(41, &[0xC0, 0x83, 0x81]), &mut words);
    assert_eq!(words.take(), "3@41a R1");
    assert_eq!(best_bid(&handler), Err(StaleReason::Reset));
    handler.handle_packet(2, B, &framed(41, &[0xC0, 0x83, 0x81]), &mut words);
    assert_eq!((words.take().as_str(), handler.poll_timeout()), ("", None), "its copy");
    handler.handle_packet(2, A, &framed(1, &[0xC0, 0x85]), &mut words);
    assert_eq!(words.take(), "5@1a");
    handler.handle_packet(3, A, &framed(2, &[0xC0, 0x83, 0x83]), &mut words);
    assert_eq!(words.take(), "3@2a R3", "the numbers go on");
}

/// Each packet tells something that the books never hear of.
#[test]
fn books_are_stale_while_packets_come_whose_numbers_follow_nothing() {
    for (mut handler, number) in [(cme(), 120), (cme_that_keeps_numbers(), 7)] {
        let mut words = Words::default();
        handler.handle_packet(0, A, &framed(120, &bid(1, 50)), &mut words);
        assert_eq!(best_bid(&handler), Ok(50));
        for step in 0..3 {
            assert_eq!(best_bid(&handler), Ok(50), "{step} strays");
            handler.handle_packet(1, A, &framed(number, &bid(2 + step, 51)), &mut words);
        }
        assert_eq!(best_bid(&handler), Err(StaleReason::OutOfSequence));
        handler.handle_packet(
            2,
            Source::Snapshot(Line::A),
            &framed(1, &snapshot(120, 4, 60)),
            &mut words,
        );
        assert_eq!(best_bid(&handler), Err(StaleReason::OutOfSequence));
        handler.handle_packet(3, A, &framed(121, &[0xC0, 0x85]), &mut words);
        assert_eq!(best_bid(&handler), Err(StaleReason::Gap), "the snapshot may lack some of them");
        handler.handle_packet(4, A, &framed(122, &bid(5, 61)), &mut words);
        assert_eq!(best_bid(&handler), Ok(61), "the next one follows");
    }
}

/// Whether the book was fresh, each time it was told of.
#[derive(Default)]
struct Freshness(Vec<bool>);

impl Sink<Message> for Freshness {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}

    fn handle_book(&mut self, change: &crate::recovery::BookChange, recovery: &Recovery) {
        self.0.push(recovery.state(change.instrument).is_ok());
    }
}

/// 103 came before a packet that follows nothing yet, and is delivered after it.
#[test]
fn an_older_packet_makes_no_book_fresh_while_later_ones_follow_nothing() {
    let (mut handler, mut told) = (cme(), Freshness::default());
    for (now_ns, seq_num, rpt_seq) in [(0, 100, 1), (0, 103, 2), (10, 400, 3)] {
        let packet = framed(seq_num, &bid(rpt_seq, 50 + rpt_seq));
        handler.handle_packet(now_ns, A, &packet, &mut told);
    }
    assert_eq!(std::mem::take(&mut told.0), [true]);
    handler.handle_timeout(150, &mut told);
    assert!(!told.0.is_empty() && !told.0.contains(&true), "{:?}", told.0);
    assert_eq!(best_bid(&handler), Err(StaleReason::OutOfSequence));
}

#[test]
fn a_line_that_lags_in_the_old_numbering_does_not_disturb_the_new_one() {
    let (mut handler, mut words) = (cme(), Words::default());
    let reset = [0xC0, 0x83, 0x81];
    let other = [0xC0, 0x85];
    for (seq_num, line) in [(39, A), (39, B), (40, A)] {
        handler.handle_packet(0, line, &framed(seq_num, &other), &mut words);
    }
    handler.handle_packet(1, A, &framed(41, &reset), &mut words);
    handler.handle_packet(2, A, &framed(1, &other), &mut words);
    handler.handle_packet(3, B, &framed(40, &other), &mut words);
    handler.handle_packet(4, B, &framed(41, &reset), &mut words);
    handler.handle_packet(5, B, &framed(1, &other), &mut words);
    handler.handle_packet(6, B, &framed(2, &other), &mut words);
    handler.handle_timeout(500, &mut words);
    assert_eq!(words.take(), "5@39a 5@40a 3@41a R1 5@1a 5@2b");
    let old_epoch = Line::ALL.map(|line| handler.arbiter().line_counters(line).old_epoch);
    assert_eq!(old_epoch, [0, 2]);
    for (now_ns, line, seq_num) in [(600, B, 4), (900, A, 6)] {
        handler.handle_packet(now_ns, line, &framed(seq_num, &other), &mut words);
        handler.handle_timeout(now_ns + 100, &mut words);
    }
    assert_eq!(words.take(), "G3+1 5@4b G5+1 5@6a", "both lines are in the new numbering");
}

#[test]
fn a_line_whose_first_packets_of_a_new_numbering_are_lost_goes_on_alone() {
    for is_reset_on_b in [false, true] {
        let (mut handler, mut words) = (cme(), Words::default());
        let (reset, other) = ([0xC0, 0x83, 0x81], [0xC0, 0x85]);
        handler.handle_packet(1, A, &framed(41, &reset), &mut words);
        // A line B that never agreed on a packet counts when line A has been silent for long.
        let mut wait_ns = ArbiterOptions::default().silent_after_ns;
        if is_reset_on_b {
            handler.handle_packet(2, B, &framed(41, &reset), &mut words);
            wait_ns = 100;
        }
        handler.handle_packet(3, B, &framed(3, &other), &mut words);
        handler.handle_timeout(wait_ns - 1, &mut words);
        assert_eq!(words.take(), "3@41a R1");
        handler.handle_timeout(wait_ns + 200, &mut words);
        assert_eq!(words.take(), "G1+2 5@3b");
    }
}

#[test]
fn a_lost_snapshot_packet_loses_the_dictionaries_it_would_have_left() {
    let framing = Preset::Cme.framing().reset(ResetPolicy::Template);
    let mut handler = handler_of(HandlerOptions { framing, ..Default::default() });
    let mut words = Words::default();
    let from = Source::Snapshot(Line::A);
    // Template 4 counts on from the message before.
    let reset = [0xC0, 0xF8];
    let (five, on) = ([0xE0, 0x84, 0x85], [0xC0, 0x84]);
    handler.handle_packet(0, from, &framed(6, &[&reset[..], &five].concat()), &mut words);
    handler.handle_packet(1, from, &framed(7, &on), &mut words);
    assert_eq!(handler.counters().snapshots.undecodable, 0, "{:?}", words.0);
    handler.handle_packet(2, from, &framed(9, &on), &mut words);
    assert_eq!(handler.counters().snapshots.undecodable, 1);
    handler.handle_packet(3, from, &framed(10, &on), &mut words);
    assert_eq!(handler.counters().snapshots.undecodable, 2);
    handler.handle_packet(4, from, &framed(11, &[&reset[..], &five].concat()), &mut words);
    assert_eq!(handler.counters().snapshots.undecodable, 2);
}

#[test]
fn numbers_inside_messages_count_messages() {
    let (mut handler, mut words) = (numbered_inside(), Words::default());
    // Three messages from 1, from 4 and from 7: only the first number is on the wire.
    let three = |first: u8| [0xE0, 0x84, 0x80 | first, 0x80, 0x80];
    handler.handle_packet(0, A, &three(1), &mut words);
    handler.handle_packet(0, B, &three(1), &mut words);
    handler.handle_packet(1, A, &three(7), &mut words);
    assert_eq!(words.take(), "4:1@1a 4:2@1a 4:3@1a");
    handler.handle_packet(2, B, &three(4), &mut words);
    let expected = "4:4@4b 4:5@4b 4:6@4b 4:7@7a 4:8@7a 4:9@7a";
    assert_eq!((words.take().as_str(), handler.poll_timeout()), (expected, None));
    handler.handle_packet(3, A, &three(13), &mut words);
    handler.handle_timeout(103, &mut words);
    assert_eq!(words.take(), "G10+3 4:13@13a 4:14@13a 4:15@13a");
    handler.handle_packet(104, A, b"\x80", &mut words);
    assert_eq!(words.take(), "[line A: 1 bytes without a sequence number, dropped]");
}

#[test]
fn a_number_further_on_than_a_packet_has_bytes_is_not_believed() {
    let (mut handler, mut words) = (numbered_inside(), Words::default());
    // Numbers 1 and 1000 in six bytes.
    handler.handle_packet(0, A, &[0xE0, 0x84, 0x81, 0xA0, 0x07, 0xE8], &mut words);
    handler.handle_packet(1, A, &[0xE0, 0x84, 0x82], &mut words);
    assert_eq!(words.take(), "4:1@1a 4:1000@1a 4:2@2a");
}

#[test]
fn an_update_with_a_number_without_sense_does_not_hide_later_gaps() {
    let mut handler = cme();
    let mut words = Words::default();
    handler.handle_packet(0, A, &framed(1, &bid(1, 5)), &mut words);
    // The number of the message is 2^32 - 1.
    let number = [0x0F, 0x7F, 0x7F, 0x7F, 0xFF];
    let nonsense = [&[0xC0, 0x86][..], &number, &bid(2, 6)[2..]].concat();
    handler.handle_packet(1, A, &framed(2, &nonsense), &mut words);
    assert_eq!(best_bid(&handler), Ok(6));
    assert_eq!(handler.counters().messages.seq_num_not_trusted, 1);
    handler.handle_packet(2, A, &framed(4, &[0xC0, 0x85]), &mut words);
    handler.handle_timeout(200, &mut words);
    assert_eq!(words.take(), "1@1a 6@2a G3+1 5@4a");
    assert_eq!(best_bid(&handler), Err(StaleReason::Gap));
}

#[test]
fn a_last_message_without_number_waits_for_those_before_it_and_comes_once() {
    let (mut handler, mut words) = (numbered_inside(), Words::default());
    let one = |number: u8| [0xE0, 0x84, 0x80 | number];
    let done = [0xC0, 0x85];
    handler.handle_packet(0, A, &one(1), &mut words);
    handler.handle_packet(0, B, &one(1), &mut words);
    handler.handle_packet(1, A, &done, &mut words);
    handler.handle_packet(2, B, &done, &mut words);
    handler.handle_packet(2, B, &[], &mut words);
    assert_eq!((words.take().as_str(), handler.poll_timeout()), ("4:1@1a", Some(101)));
    handler.handle_packet(3, B, &one(2), &mut words);
    handler.handle_timeout(101, &mut words);
    assert_eq!(words.take(), "4:2@2b 5@-a");
    handler.handle_packet(102, B, &done, &mut words);
    handler.handle_timeout(300, &mut words);
    assert_eq!((words.take().as_str(), handler.poll_timeout()), ("", None));
    assert_eq!(
        (handler.counters().lines[0].unnumbered, handler.counters().lines[1].unnumbered),
        (1, 3)
    );
}

#[test]
fn feeds_without_numbers_are_taken_as_they_come() {
    let mut handler = handler_of(HandlerOptions {
        framing: Framing::new().reset(crate::framing::ResetPolicy::Packet),
        sequence: SequenceSource::None,
        ..Default::default()
    });
    let mut words = Words::default();
    for _ in 0..2 {
        handler.handle_packet(0, A, &[0xC0, 0x85], &mut words);
    }
    assert_eq!(words.take(), "5@-a 5@-a");
}

#[test]
fn blocks_in_fixt_messages_are_handled_and_heartbeats_between_them_are_nothing() {
    let fixt = |body: &[u8]| [b"8=FIXT.1.1\x019=1\x01", body, b"\x0110=000\x01"].concat();
    let block = fixt(b"35=UA\x0134=2\x0195=2\x0196=\xC0\x85");
    let mut handler = handler_of(HandlerOptions {
        framing: Preset::SzseStep.framing(),
        sequence: SequenceSource::None,
        ..Default::default()
    });
    let mut words = Words::default();
    for packet in [block.clone(), fixt(b"35=0\x0134=3"), [&block[..], &block].concat()] {
        handler.handle_packet(0, A, &packet, &mut words);
    }
    assert_eq!(words.take(), "5@-a 5@-a 5@-a");
    assert_eq!(handler.counters().lines[0].malformed, 0);
    handler.handle_packet(1, A, &block[..block.len() - 12], &mut words);
    assert_eq!(handler.counters().lines[0].malformed, 1, "a part of one");
}

#[test]
fn feeds_that_cannot_be_handled_are_refused() {
    let set = TemplateSet::parse(r#"<templates><template name="T" id="1"/></templates>"#).unwrap();
    let peek = SeqNumPeek::new(&set, &SeqNumField::default());
    let number = NumberField::new(0, 4, Endian::Big).unwrap();
    let parts = Framing::new().preamble(4).unwrap().length(number).unwrap();
    for (framing, sequence, expected) in [
        (Framing::new(), SequenceSource::Preamble, HandlerConfigError::PreambleWithoutSeqNum),
        (Framing::new(), SequenceSource::Message(peek), HandlerConfigError::SeqNumNotFound),
        (parts, SequenceSource::None, HandlerConfigError::PartsShareDictionaries),
    ] {
        let options = HandlerOptions { framing, sequence, ..Default::default() };
        assert_eq!(options.check(), Err(expected));
    }
    for preset in [Preset::Cme, Preset::B3Umdf, Preset::MoexAsts] {
        let options = HandlerOptions { framing: preset.framing(), ..Default::default() };
        assert_eq!(options.check(), Ok(()));
    }
}

#[test]
fn chunks_are_put_together_by_number_from_both_lines() {
    let chunk = |seq_num: u32, count: u16, number: u16, bytes: &[u8]| {
        let mut packet = seq_num.to_be_bytes().to_vec();
        let fields = [count, number, bytes.len() as u16];
        packet.extend(fields.into_iter().flat_map(u16::to_be_bytes));
        packet.extend(bytes);
        packet
    };
    let mut handler = handler_of(HandlerOptions {
        framing: Preset::B3Umdf.framing(),
        arbiter: arbiter_options(),
        ..Default::default()
    });
    let mut words = Words::default();
    let mut feed = |now_ns, source, packet: &[u8]| {
        handler.handle_packet(now_ns, source, packet, &mut words);
        words.take()
    };
    // A message of template 4, whose number is 5: in three chunks of a byte each.
    let message = [0xe0, 0x84, 0x85];
    let of =
        |seq_num, number: u16| chunk(seq_num, 3, number, &message[usize::from(number) - 1..][..1]);
    assert_eq!(feed(0, A, &chunk(1, 1, 1, &message)), "4:5@1a");
    assert_eq!(feed(0, B, &chunk(1, 1, 1, &message)), "", "it agrees");
    // Line A lacks the first chunk and B the last.
    assert_eq!(feed(1, A, &of(2, 2)), "");
    assert_eq!(feed(2, A, &of(2, 3)), "");
    assert_eq!(feed(3, B, &of(2, 1)), "4:5@2b");
    assert_eq!(feed(4, B, &of(2, 2)), "");
    // One line has them in another order.
    assert_eq!(feed(5, A, &of(3, 3)), "");
    assert_eq!(feed(6, A, &of(3, 1)), "");
    assert_eq!(feed(7, A, &of(3, 2)), "4:5@3a");
    // In order as before, and the other line's copy is nothing new.
    for (number, expected) in [(1, ""), (2, ""), (3, "4:5@4a")] {
        assert_eq!(feed(8, A, &of(4, number)), expected);
    }
    assert!((1..=3).all(|number| feed(9, B, &of(4, number)).is_empty()));
}

/// A packet of B3 with one chunk of a message.
fn b3_chunk(seq_num: u32, count: u16, number: u16, bytes: &[u8]) -> Vec<u8> {
    let mut packet = seq_num.to_be_bytes().to_vec();
    let fields = [count, number, bytes.len() as u16];
    packet.extend(fields.into_iter().flat_map(u16::to_be_bytes));
    packet.extend(bytes);
    packet
}

fn b3() -> Tested {
    handler_of(HandlerOptions {
        framing: Preset::B3Umdf.framing(),
        arbiter: arbiter_options(),
        ..Default::default()
    })
}

/// Line B carries another channel, in which message 30 has other bytes.
#[test]
fn chunks_of_a_line_that_is_put_aside_are_joined_with_none_of_the_other() {
    let (mut handler, mut words) = (b3(), Words::default());
    let number = |n: u8| [0xe0, 0x84, 0x80 | n];
    for seq_num in 1..30 {
        handler.handle_packet(0, A, &b3_chunk(seq_num, 1, 1, &number(5)), &mut words);
        let on_b = number(if seq_num < 10 { 5 } else { 6 });
        handler.handle_packet(0, B, &b3_chunk(seq_num, 1, 1, &on_b), &mut words);
    }
    assert!(handler.arbiter().is_put_aside(Line::B));
    words.take();
    handler.handle_packet(1, B, &b3_chunk(30, 2, 1, &number(6)[..2]), &mut words);
    handler.handle_packet(1, A, &b3_chunk(30, 2, 2, &number(5)[2..]), &mut words);
    assert_eq!(words.take(), "");
    // What one line brings out of order is still put together.
    handler.handle_packet(1, A, &b3_chunk(30, 2, 1, &number(5)[..2]), &mut words);
    assert_eq!(words.take(), "4:5@30a");
}

/// Line B is still in the old epoch: its chunk of message 2 is not one of the new message 2.
#[test]
fn chunks_of_two_epochs_are_not_joined() {
    let (mut handler, mut words) = (b3(), Words::default());
    let number = |n: u8| [0xe0, 0x84, 0x80 | n];
    for source in [A, B] {
        handler.handle_packet(0, source, &b3_chunk(1, 1, 1, &number(5)), &mut words);
    }
    handler.handle_packet(1, B, &b3_chunk(2, 2, 2, &number(9)[2..]), &mut words);
    let two = b3_chunk(2, 1, 1, &number(6));
    handler.handle_packet(1, A, &two, &mut words);
    handler.handle_packet(2, A, &b3_chunk(3, 1, 1, &[0xC0, 0x83, 0x81]), &mut words);
    handler.handle_packet(3, A, &b3_chunk(1, 1, 1, &number(7)), &mut words);
    assert_eq!(words.take(), "4:5@1a 4:6@2a 3@3a R1 4:7@1a");
    handler.handle_packet(4, A, &b3_chunk(2, 2, 1, &number(8)[..2]), &mut words);
    assert_eq!(words.take(), "");
}

proptest! {
    #[test]
    fn nothing_that_comes_in_stops_it(
        packets in proptest::collection::vec(
            (0_u8..4, any::<bool>(), 0_u8..40, proptest::collection::vec(any::<u8>(), 0..30)),
            0..60,
        ),
    ) {
        for mut handler in [cme(), numbered_inside()] {
            let mut words = Words::default();
            for (index, (source, is_framed, number, bytes)) in packets.iter().enumerate() {
                let line = if source % 2 == 0 { Line::A } else { Line::B };
                let source = if *source < 2 { Source::Incremental(line) } else { Source::Snapshot(line) };
                let good = bid(*number, 50);
                let packet = match is_framed {
                    true => framed(u32::from(*number), if bytes.len() % 2 == 0 { &good } else { bytes }),
                    false => bytes.clone(),
                };
                handler.handle_packet(index as u64 * 20, source, &packet, &mut words);
            }
            handler.handle_timeout(u64::MAX, &mut words);
            prop_assert_eq!(handler.arbiter().packets_held(), 0);
            prop_assert_eq!(handler.poll_timeout(), None);
        }
    }
}

/// What lines bring around a reset: numbers 1 to `last`, the last of them a SequenceReset to 1, then 1 to 200
/// of the new session.
fn around_a_reset(last: u32) -> Vec<Vec<u8>> {
    let body = [0xC0, 0x85];
    let old = (1..last).map(move |number| framed(number, &body));
    let reset = framed(last, &[0xC0, 0x83, 0x81]);
    let new = (1..=200).map(|number| framed(number, &[body, body].concat()));
    old.chain([reset]).chain(new).collect()
}

#[test]
fn nothing_is_lost_or_doubled_around_a_reset_while_line_b_is_behind() {
    for (last, lag_ns) in [(11, 3_000_000), (11, 900_000_000), (50_000, 3_000_000)] {
        let mut handler = handler_of(HandlerOptions {
            framing: Preset::Cme.framing(),
            arbiter: ArbiterOptions::default(),
            ..Default::default()
        });
        let packets = around_a_reset(last);
        let arrivals = |lag_ns: u64, source| {
            let times = (0..).map(move |slot| slot * 50_000 + lag_ns);
            times.zip(&packets).map(move |(at_ns, packet)| (at_ns, source, packet))
        };
        let mut all: Vec<_> = arrivals(0, A).chain(arrivals(lag_ns, B)).collect();
        all.sort_by_key(|(at_ns, ..)| *at_ns);
        let mut delivered = Vec::new();
        let mut sink = |delivery: &Delivery, _: &Message| {
            delivered.extend(delivery.seq_num.filter(|_| delivery.index == 0));
        };
        for (at_ns, source, packet) in all {
            handler.handle_packet(at_ns, source, packet, &mut sink);
        }
        let expected: Vec<u64> = (1..=u64::from(last)).chain(1..=200).collect();
        assert_eq!(delivered, expected, "{last} old numbers, {lag_ns} ns behind");
        let lines = Line::ALL.map(|line| handler.arbiter().line_counters(line));
        assert_eq!(lines.map(|line| (line.late, line.unexpected, line.differing)), [(0, 0, 0); 2]);
        let counters = handler.arbiter().counters();
        assert_eq!((counters.resets, counters.gaps), (1, 0));
        assert_eq!(handler.counters().messages.undecodable, 0);
    }
}

#[test]
fn a_channel_on_which_nothing_comes_is_silent_until_a_packet_is_delivered() {
    #[derive(Default)]
    struct Silences(Vec<(bool, u64)>);
    impl Sink<Message> for Silences {
        fn handle_message(&mut self, _: &Delivery, _: &Message) {}
        fn handle_silence(&mut self, is_silent: bool, since_ns: u64) {
            self.0.push((is_silent, since_ns));
        }
    }
    let mut handler = silent_handler_of(HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: arbiter_options(),
        heartbeat_ns: Some(500),
        ..Default::default()
    });
    let mut sink = Silences::default();
    let from = Source::Snapshot(Line::A);
    handler.handle_packet(0, from, &framed(1, &snapshot(0, 1, 50)), &mut sink);
    handler.handle_packet(10, A, &framed(1, &bid(2, 51)), &mut sink);
    assert_eq!(best_bid(&handler), Ok(51));
    assert_eq!(handler.poll_timeout(), Some(1_010));
    handler.handle_timeout(1_009, &mut sink);
    assert_eq!(best_bid(&handler), Ok(51));
    handler.handle_timeout(1_010, &mut sink);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
    assert_eq!((handler.poll_timeout(), &sink.0[..]), (None, &[(true, 10)][..]));
    // A packet behind a gap proves nothing; the next in order does.
    handler.handle_packet(5_000, A, &framed(3, &bid(4, 53)), &mut sink);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
    handler.handle_packet(5_010, A, &framed(2, &bid(3, 52)), &mut sink);
    assert_eq!((best_bid(&handler), sink.0.last()), (Ok(53), Some(&(false, 5_010))));
    // Nor does a line that brings nothing new.
    handler.handle_packet(5_400, B, &framed(2, &bid(3, 52)), &mut sink);
    assert_eq!(handler.poll_timeout(), Some(6_010));
    handler.handle_timeout(6_010, &mut sink);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
}

/// A feed whose heartbeat is a preamble alone.
#[test]
fn a_channel_on_which_preambles_come_is_not_silent() {
    let mut handler = silent_handler_of(HandlerOptions {
        framing: Preset::Cme.framing(),
        arbiter: arbiter_options(),
        heartbeat_ns: Some(500),
        ..Default::default()
    });
    let mut words = Words::default();
    let from = Source::Snapshot(Line::A);
    handler.handle_packet(0, from, &framed(1, &snapshot(0, 1, 50)), &mut words);
    handler.handle_packet(10, A, &framed(1, &bid(2, 51)), &mut words);
    for now_ns in [900, 1_800, 2_700] {
        handler.handle_packet(now_ns, A, &framed(1, &[]), &mut words);
        handler.handle_timeout(now_ns, &mut words);
        assert_eq!((best_bid(&handler), handler.poll_timeout()), (Ok(51), Some(now_ns + 1_000)));
    }
    assert_eq!(handler.counters().lines[0].malformed, 3);
    // The snapshot feed's say nothing of the lines, and none ends a silence.
    handler.handle_packet(3_600, from, &framed(2, &[]), &mut words);
    handler.handle_timeout(3_700, &mut words);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
    handler.handle_packet(3_800, A, &framed(1, &[]), &mut words);
    assert_eq!(best_bid(&handler), Err(StaleReason::Silence));
    handler.handle_packet(3_900, A, &framed(2, &bid(3, 52)), &mut words);
    assert_eq!((best_bid(&handler), handler.poll_timeout()), (Ok(52), Some(4_900)));
}

/// One entry of instrument 9 as update `rpt_seq`: an action and a side's code, a price; and LastFragment.
fn part(action: u8, side: u8, rpt_seq: u8, price: u8, is_last: bool) -> Vec<u8> {
    let entry = [0x80 | action, side | 0x80, 0x89, 0x80 | rpt_seq, 0x81, 0x80, 0x80 | price, 0x81];
    [&[0xC0, 0x87, 0x81], &entry[..], &[0x80 | u8::from(is_last)]].concat()
}

/// A transaction of the exchange that crosses the book on its way, in two packets.
#[test]
fn a_transaction_may_go_on_in_the_next_packet() {
    let mut handler = cme();
    let mut words = Words::default();
    handler.handle_packet(0, A, &framed(1, &part(0, b'0', 1, 50, true)), &mut words);
    handler.handle_packet(1, A, &framed(2, &part(0, b'1', 2, 52, true)), &mut words);
    handler.handle_packet(2, A, &framed(3, &part(1, b'0', 3, 54, false)), &mut words);
    // A snapshot in between is no end of it.
    handler.handle_packet(
        3,
        Source::Snapshot(Line::A),
        &framed(1, &snapshot(2, 2, 50)),
        &mut words,
    );
    assert_eq!(handler.recovery().counters().inconsistent, 0);
    handler.handle_packet(4, A, &framed(4, &part(1, b'1', 4, 56, true)), &mut words);
    assert_eq!((best_bid(&handler), handler.recovery().counters().inconsistent), (Ok(54), 0));
    handler.handle_packet(5, A, &framed(5, &part(1, b'0', 5, 58, true)), &mut words);
    assert!(matches!(best_bid(&handler), Err(StaleReason::Inconsistent(_))), "it ends crossed");
}
