//! Lost packets are replayed and make books fresh, without a snapshot.

use std::sync::Arc;

use tickwire_fast::{Decoder, DecoderOptions, Message, Program, TemplateSet};
use tickwire_feed::arbiter::{ArbiterOptions, Gap, Line};
use tickwire_feed::book::Side;
use tickwire_feed::framing::Preset;
use tickwire_feed::handler::{
    Delivery, Dynamic, FeedLine, Handler, HandlerOptions, ReplayLoss, SeqNumField, Sink,
};
use tickwire_feed::market::{AdapterOptions, BookKind, InstrumentKey, MarketDataAdapter};
use tickwire_feed::recovery::{Continuity, RecoveryOptions};

const A: FeedLine = FeedLine::Incremental(Line::A);

const TEMPLATES: &str = r#"<templates>
  <template name="Incremental" id="1">
    <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
      <uInt32 name="MDUpdateAction" id="279"/><string name="MDEntryType" id="269"/>
      <uInt32 name="SecurityID" id="48"/><uInt32 name="RptSeq" id="83"/>
      <uInt32 name="MDPriceLevel" id="1023"/><decimal name="MDEntryPx" id="270"/>
      <int32 name="MDEntrySize" id="271"/>
    </sequence>
  </template>
  <template name="SequenceReset" id="3"><uInt32 name="NewSeqNo" id="36"/></template>
</templates>"#;

type Tested = Handler<Dynamic, MarketDataAdapter>;

fn handler() -> Tested {
    handler_of(RecoveryOptions { depth: Some(1), ..Default::default() })
}

fn handler_of(recovery: RecoveryOptions) -> Tested {
    handler_with(TEMPLATES, recovery, None)
}

fn handler_with(templates: &str, recovery: RecoveryOptions, first_seq_num: Option<u64>) -> Tested {
    let program = Arc::new(Program::compile(TemplateSet::parse(templates).unwrap()).unwrap());
    let framing = Preset::Cme.framing();
    let engine = || {
        let reset = framing.reset_policy().into();
        let options = DecoderOptions::default().reset(reset);
        Dynamic::new(Decoder::with_options(program.clone(), options), &SeqNumField::default())
    };
    let options = HandlerOptions {
        framing,
        arbiter: ArbiterOptions { hold_ns: 100, first_seq_num, ..Default::default() },
        recovery,
        ..Default::default()
    };
    let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    Handler::new(options, engine, adapter).unwrap().with_replay(engine())
}

/// Changes the best bid of an instrument to a price, as update number `rpt_seq`.
fn bid(instrument: u8, rpt_seq: u8, price: u8) -> Vec<u8> {
    let action = if rpt_seq == 1 { 0x80 } else { 0x81 };
    let entry = [action, 0xB0, 0x80 | instrument, 0x80 | rpt_seq, 0x81, 0x80, 0x80 | price, 0x81];
    [&[0xC0, 0x81, 0x81], &entry[..]].concat()
}

fn packet(seq_num: u32, message: &[u8]) -> Vec<u8> {
    [&seq_num.to_be_bytes()[..], &[0], message].concat()
}

#[derive(Default)]
struct Observed {
    replayed: Vec<u64>,
    done: Vec<Gap>,
    faults: usize,
}

impl Sink<Message> for Observed {
    fn handle_message(&mut self, _: &Delivery, _: &Message) {}

    fn handle_replayed(&mut self, delivery: &Delivery, _: &Message) {
        self.replayed.extend(delivery.seq_num);
    }

    fn handle_replay_done(&mut self, gap: Gap) {
        self.done.push(gap);
    }

    fn handle_fault(&mut self, _: &tickwire_feed::handler::Fault<'_>) {
        self.faults += 1;
    }
}

fn price(handler: &Tested, instrument: u64) -> Option<i64> {
    let recovery = handler.recovery();
    let instrument = recovery.instruments().find(InstrumentKey::Number(instrument))?;
    let book = recovery.book(instrument, BookKind::Outright).ok()?;
    Some(book.best(Side::Bid)?.price.mantissa)
}

/// The bids of a fresh book.
fn bids(handler: &Tested, instrument: u64) -> Option<Vec<i64>> {
    let recovery = handler.recovery();
    let instrument = recovery.instruments().find(InstrumentKey::Number(instrument))?;
    let book = recovery.book(instrument, BookKind::Outright).ok()?;
    Some(book.levels(Side::Bid).map(|level| level.price.mantissa).collect())
}

/// Packets 1 and 2 arrive, 3 and 4 are lost, 5 arrives.
fn with_a_gap(seen: &mut Observed) -> (Tested, Gap) {
    let mut handler = handler();
    handler.handle_packet(0, A, &packet(1, &bid(9, 1, 10)), seen);
    handler.handle_packet(1, A, &packet(2, &bid(8, 1, 20)), seen);
    handler.handle_packet(2, A, &packet(5, &bid(9, 4, 13)), seen);
    handler.handle_timeout(1000, seen);
    let gap = Gap { first: 3, count: 2 };
    assert_eq!(handler.poll_lost(), Some(ReplayLoss::Gap(gap)));
    assert_eq!(handler.poll_lost(), None);
    assert_eq!((price(&handler, 9), price(&handler, 8)), (None, None));
    (handler, gap)
}

#[test]
fn a_replayed_gap_makes_all_books_fresh() {
    let mut seen = Observed::default();
    let (mut handler, gap) = with_a_gap(&mut seen);
    handler.handle_replayed(2000, 3, &bid(9, 2, 11), &mut seen);
    assert_eq!(price(&handler, 9), None);
    handler.handle_replayed(2001, 4, &bid(9, 3, 12), &mut seen);
    assert_eq!((price(&handler, 9), price(&handler, 8)), (Some(13), None));
    handler.handle_replay_done(gap, &mut seen);
    assert_eq!((price(&handler, 9), price(&handler, 8)), (Some(13), Some(20)));
    assert_eq!(seen.replayed, [3, 4]);
    assert_eq!(handler.counters().replays.decoded, 2);
    // A live packet again.
    handler.handle_packet(3000, A, &packet(6, &bid(8, 2, 21)), &mut seen);
    assert_eq!(price(&handler, 8), Some(21));
}

#[test]
fn a_gap_that_was_replayed_in_part_proves_nothing_of_other_books() {
    let mut seen = Observed::default();
    let (mut handler, gap) = with_a_gap(&mut seen);
    handler.handle_replayed(2000, 4, &bid(9, 3, 12), &mut seen);
    handler.handle_replay_done(gap, &mut seen);
    assert_eq!((price(&handler, 9), price(&handler, 8)), (None, None));
    // As always, its own RptSeq proves a book complete.
    handler.handle_packet(3000, A, &packet(6, &bid(8, 2, 21)), &mut seen);
    assert_eq!((price(&handler, 9), price(&handler, 8)), (None, Some(21)));
}

/// Without RptSeq nothing in an update shows whether it was already applied: a service that answers
/// twice, or out of order, would make a wrong book.
#[test]
fn a_packet_is_replayed_once_and_in_order() {
    for (numbers, expected) in [
        (&[2, 3][..], Some(vec![13, 12, 11, 10])),
        (&[2, 2, 3], Some(vec![13, 12, 11, 10])),
        (&[2, 3, 2, 3], Some(vec![13, 12, 11, 10])),
        (&[3, 2], None),
    ] {
        let recovery = RecoveryOptions {
            continuity: Continuity::SeqNum,
            starts_empty: true,
            depth: Some(9),
            ..Default::default()
        };
        let (mut seen, mut handler) =
            (Observed::default(), handler_with(TEMPLATES, recovery, Some(1)));
        handler.handle_packet(0, A, &packet(1, &bid(9, 1, 10)), &mut seen);
        handler.handle_packet(2, A, &packet(4, &bid(9, 1, 13)), &mut seen);
        handler.handle_timeout(1000, &mut seen);
        let gap = Gap { first: 2, count: 2 };
        assert_eq!(handler.poll_lost(), Some(ReplayLoss::Gap(gap)));
        for seq_num in numbers {
            let price = 9 + *seq_num as u8;
            handler.handle_replayed(2000, *seq_num, &bid(9, 1, price), &mut seen);
        }
        handler.handle_replay_done(gap, &mut seen);
        assert_eq!(bids(&handler, 9), expected, "{numbers:?}");
        let again = numbers.len() - seen.replayed.len();
        assert_eq!(handler.counters().replays_not_awaited, again as u64, "{numbers:?}");
    }
}

#[test]
fn a_replayed_packet_that_cannot_be_decoded_leaves_the_gap_open() {
    let mut seen = Observed::default();
    let (mut handler, gap) = with_a_gap(&mut seen);
    handler.handle_replayed(2000, 3, &bid(9, 2, 11), &mut seen);
    handler.handle_replayed(2001, 4, &[&bid(9, 3, 12)[..], &[0xC0, 0xFF]].concat(), &mut seen);
    handler.handle_replay_done(gap, &mut seen);
    assert_eq!(seen.faults, 1);
    assert_eq!(price(&handler, 9), Some(13), "its count shows that it has everything");
    assert_eq!(price(&handler, 8), None);
}

/// The first messages of packet 2 were decoded and reported at its first arrival, the others at its
/// second, although line B sent fewer of them.
#[test]
fn messages_known_from_copies_that_were_cut_are_not_applied_again() {
    let mut handler = handler_of(RecoveryOptions {
        continuity: Continuity::SeqNum,
        depth: Some(5),
        starts_empty: true,
        ..Default::default()
    });
    let mut seen = Observed::default();
    let b = FeedLine::Incremental(Line::B);
    let messages = [bid(9, 1, 11), bid(9, 1, 12), bid(9, 1, 13)];
    let whole = messages.concat();
    let cut_behind = |len| packet(2, &[&messages[..len].concat()[..], &[0xC0, 0xFF]].concat());
    for line in [A, b] {
        handler.handle_packet(0, line, &packet(1, &bid(9, 1, 10)), &mut seen);
    }
    handler.handle_packet(1, A, &cut_behind(2), &mut seen);
    handler.handle_packet(2, b, &cut_behind(1), &mut seen);
    handler.handle_timeout(1_000, &mut seen);
    let gap = Gap { first: 2, count: 1 };
    assert_eq!((handler.poll_lost(), price(&handler, 9)), (Some(ReplayLoss::Gap(gap)), None));
    handler.handle_replayed(2_000, 2, &whole, &mut seen);
    handler.handle_replay_done(gap, &mut seen);
    let instrument = handler.recovery().instruments().find(InstrumentKey::Number(9)).unwrap();
    let book = handler.recovery().book(instrument, BookKind::Outright).unwrap();
    let prices: Vec<i64> = book.levels(Side::Bid).map(|level| level.price.mantissa).collect();
    assert_eq!((prices, seen.replayed), (vec![13, 12, 11, 10], vec![2]));
}

#[test]
fn a_reset_is_told_and_ends_the_gaps() {
    let mut seen = Observed::default();
    let (mut handler, gap) = with_a_gap(&mut seen);
    handler.handle_packet(3000, A, &packet(6, &[0xC0, 0x83, 0x81]), &mut seen);
    assert_eq!(handler.poll_lost(), Some(ReplayLoss::Reset));
    handler.handle_replayed(3001, 3, &bid(9, 2, 11), &mut seen);
    handler.handle_replay_done(gap, &mut seen);
    assert_eq!((price(&handler, 9), price(&handler, 8)), (None, None));
    assert_eq!((handler.counters().replays_not_awaited, seen.replayed.len()), (1, 0));
}

/// The 65th gap is requested while the first one is still being answered.
#[test]
fn an_answer_counts_however_many_gaps_are_awaited() {
    let mut seen = Observed::default();
    let mut handler = timed_handler();
    handler.handle_packet(0, A, &packet(1, &bid_at(20, 1, 10)), &mut seen);
    for odd in 0..65 {
        let (at_ns, seq_num) = (1_000 * u64::from(odd), 3 + 2 * u32::from(odd));
        handler.handle_packet(at_ns, A, &packet(seq_num, &bid_at(22, odd + 3, 12)), &mut seen);
        handler.handle_timeout(at_ns + 500, &mut seen);
        let gap = Gap { first: u64::from(seq_num) - 1, count: 1 };
        assert_eq!(handler.poll_lost(), Some(ReplayLoss::Gap(gap)));
    }
    handler.handle_replayed(90_000, 2, &bid_at(19, 2, 11), &mut seen);
    assert_eq!(handler.counters().replays_refused, 1);
    handler.handle_replayed(90_000, 2, &bid_at(21, 2, 11), &mut seen);
    assert_eq!((seen.replayed, price(&handler, 9)), (vec![2], None));
}

/// A handler of messages that have a SendingTime.
fn timed_handler() -> Tested {
    timed_handler_from(None)
}

/// As [`timed_handler`], for a feed whose first number may be known.
fn timed_handler_from(first_seq_num: Option<u64>) -> Tested {
    let time = r#"<template name="Incremental" id="1"><uInt64 name="SendingTime" id="52"/>"#;
    let templates = TEMPLATES.replace(r#"<template name="Incremental" id="1">"#, time);
    let recovery = RecoveryOptions { depth: Some(1), ..Default::default() };
    handler_with(&templates, recovery, first_seq_num)
}

/// As [`bid`], sent at `sent`.
fn bid_at(sent: u8, rpt_seq: u8, price: u8) -> Vec<u8> {
    let mut message = bid(9, rpt_seq, price);
    message.insert(2, 0x80 | sent);
    message
}

/// Packets 1 and 3 arrive, sent at 20 and 22; packet 2 is lost.
fn with_a_timed_gap(handler: &mut Tested, seen: &mut Observed) -> Gap {
    handler.handle_packet(0, A, &packet(1, &bid_at(20, 1, 10)), seen);
    handler.handle_packet(2, A, &packet(3, &bid_at(22, 3, 12)), seen);
    handler.handle_timeout(1000, seen);
    let gap = Gap { first: 2, count: 1 };
    assert_eq!(handler.poll_lost(), Some(ReplayLoss::Gap(gap)));
    gap
}

/// The service may still be in the previous session.
#[test]
fn packets_of_a_past_session_fill_no_gap() {
    for (sent, is_of_gap) in [(19, false), (20, true), (21, true), (22, true)] {
        let (mut seen, mut handler) = (Observed::default(), timed_handler());
        let gap = with_a_timed_gap(&mut handler, &mut seen);
        handler.handle_replayed(2000, 2, &bid_at(sent, 2, 11), &mut seen);
        handler.handle_replay_done(gap, &mut seen);
        let expected = is_of_gap.then_some(12);
        assert_eq!(price(&handler, 9), expected, "sent at {sent}");
        assert_eq!(seen.replayed.len(), usize::from(is_of_gap), "sent at {sent}");
        assert_eq!(handler.counters().replays_refused, u64::from(!is_of_gap), "sent at {sent}");
    }
}

/// Packets with lower numbers that were sent before the first arrived packet belong to the session
/// too, but not packets sent before the end of the previous session.
#[test]
fn the_first_packets_of_a_session_may_be_replayed() {
    let (mut seen, mut handler) = (Observed::default(), timed_handler_from(Some(1)));
    handler.handle_packet(0, A, &packet(2, &bid_at(22, 2, 11)), &mut seen);
    handler.handle_timeout(1000, &mut seen);
    let gap = Gap { first: 1, count: 1 };
    assert_eq!(handler.poll_lost(), Some(ReplayLoss::Gap(gap)));
    handler.handle_replayed(2000, 1, &bid_at(21, 1, 10), &mut seen);
    assert_eq!((price(&handler, 9), handler.counters().replays_refused), (Some(11), 0));

    handler.handle_packet(3000, A, &packet(3, &[0xC0, 0x83, 0x81]), &mut seen);
    assert_eq!(handler.poll_lost(), Some(ReplayLoss::Reset));
    handler.handle_packet(3001, A, &packet(2, &bid_at(42, 2, 13)), &mut seen);
    handler.handle_timeout(5000, &mut seen);
    assert_eq!(handler.poll_lost(), Some(ReplayLoss::Gap(gap)));
    handler.handle_replayed(6000, 1, &bid_at(21, 1, 10), &mut seen);
    assert_eq!((price(&handler, 9), handler.counters().replays_refused), (None, 1));
    handler.handle_replayed(6001, 1, &bid_at(41, 1, 12), &mut seen);
    assert_eq!((price(&handler, 9), handler.counters().replays_refused), (Some(13), 1));
}

/// The service may already be in the next session, which has packets with the same numbers.
#[test]
fn packets_of_the_next_session_fill_no_gap() {
    let (mut seen, mut handler) = (Observed::default(), timed_handler());
    let gap = with_a_timed_gap(&mut handler, &mut seen);
    handler.handle_replayed(2000, 2, &bid_at(40, 2, 11), &mut seen);
    handler.handle_replay_done(gap, &mut seen);
    assert_eq!((price(&handler, 9), handler.counters().replays_refused), (None, 0));
    handler.handle_packet(3000, A, &packet(4, &[0xC0, 0x83, 0x81]), &mut seen);
    handler.handle_packet(3001, A, &packet(1, &bid_at(41, 1, 10)), &mut seen);
    assert_eq!((seen.replayed, seen.done), (vec![], vec![]));
    assert_eq!(handler.counters().replays_refused, 1);
}

/// A service that stamps SendingTime again, or sender threads whose clocks differ.
#[test]
fn a_packet_sent_later_than_the_lines_have_shown_counts_once_they_have() {
    let (mut seen, mut handler) = (Observed::default(), timed_handler());
    let gap = with_a_timed_gap(&mut handler, &mut seen);
    handler.handle_replayed(2000, 2, &bid_at(23, 2, 11), &mut seen);
    handler.handle_replay_done(gap, &mut seen);
    assert_eq!((price(&handler, 9), seen.done.len()), (None, 0));
    handler.handle_packet(3000, A, &packet(4, &bid_at(23, 4, 13)), &mut seen);
    assert_eq!((price(&handler, 9), seen.replayed, seen.done), (Some(13), vec![2], vec![gap]));
}

/// Times of day of yesterday's service may be later than any time on the lines today.
#[test]
fn a_packet_of_a_time_that_the_lines_never_come_to_fills_no_gap() {
    let (mut seen, mut handler) = (Observed::default(), timed_handler());
    let gap = with_a_timed_gap(&mut handler, &mut seen);
    handler.handle_replayed(2000, 2, &bid_at(40, 2, 11), &mut seen);
    handler.handle_replay_done(gap, &mut seen);
    handler.handle_packet(3000, A, &packet(4, &bid_at(23, 4, 13)), &mut seen);
    handler.handle_timeout(2000 + 2 * ArbiterOptions::default().skew_ns, &mut seen);
    assert_eq!((price(&handler, 9), handler.counters().replays_refused), (None, 1));
    assert_eq!((seen.replayed, seen.done), (vec![], vec![gap]));
}

#[test]
fn a_packet_sent_later_counts_if_the_lines_are_silent_for_twice_the_skew_bound() {
    let (mut seen, mut handler) = (Observed::default(), timed_handler());
    with_a_timed_gap(&mut handler, &mut seen);
    handler.handle_replayed(2000, 2, &bid_at(40, 2, 11), &mut seen);
    let due_ns = 2000 + 2 * ArbiterOptions::default().skew_ns;
    assert_eq!(handler.poll_timeout(), Some(due_ns));
    handler.handle_timeout(due_ns - 1, &mut seen);
    assert_eq!(price(&handler, 9), None);
    handler.handle_timeout(due_ns, &mut seen);
    assert_eq!(price(&handler, 9), Some(12));
    assert!(handler.poll_timeout() > Some(due_ns));
}

#[test]
fn a_packet_says_when_it_was_sent_first() {
    let times = r#"<template name="Incremental" id="1"><uInt64 name="OrigSendingTime" id="122" presence="optional"/>
        <uInt64 name="SendingTime" id="52"/>"#;
    let templates = TEMPLATES.replace(r#"<template name="Incremental" id="1">"#, times);
    let recovery = RecoveryOptions { depth: Some(1), ..Default::default() };
    let first_sent_at = |original: Option<u8>, sent, rpt_seq, price| {
        let mut message = bid_at(sent, rpt_seq, price);
        message.insert(2, original.map_or(0x80, |original| 0x81 + original));
        message
    };
    for (original, expected) in [(19, None), (21, Some(12))] {
        let (mut seen, mut handler) =
            (Observed::default(), handler_with(&templates, recovery, None));
        handler.handle_packet(0, A, &packet(1, &first_sent_at(None, 20, 1, 10)), &mut seen);
        handler.handle_packet(2, A, &packet(3, &first_sent_at(None, 22, 3, 12)), &mut seen);
        handler.handle_timeout(1000, &mut seen);
        assert_eq!(handler.poll_lost(), Some(ReplayLoss::Gap(Gap { first: 2, count: 1 })));
        handler.handle_replayed(2000, 2, &first_sent_at(Some(original), 40, 2, 11), &mut seen);
        assert_eq!(price(&handler, 9), expected, "first sent at {original}");
    }
}

#[test]
fn nothing_is_applied_of_a_packet_with_a_message_of_another_session() {
    let (mut seen, mut handler) = (Observed::default(), timed_handler());
    with_a_timed_gap(&mut handler, &mut seen);
    let message = [bid_at(21, 2, 11), bid_at(19, 2, 11)].concat();
    handler.handle_replayed(2000, 2, &message, &mut seen);
    assert_eq!(
        (price(&handler, 9), seen.replayed, handler.counters().replays_refused),
        (None, vec![], 1)
    );
}

/// Packet 2 is damaged: its first message has a wrong time, its second one cannot be decoded.
#[test]
fn the_time_of_a_damaged_copy_refuses_no_replay() {
    let (mut seen, mut handler) = (Observed::default(), timed_handler());
    let damaged = [&bid_at(120, 2, 11)[..], &[0xC0, 0xFF]].concat();
    handler.handle_packet(0, A, &packet(1, &bid_at(20, 1, 10)), &mut seen);
    handler.handle_packet(1, A, &packet(2, &damaged), &mut seen);
    handler.handle_timeout(1000, &mut seen);
    assert_eq!(handler.poll_lost(), Some(ReplayLoss::Gap(Gap { first: 2, count: 1 })));
    let whole = [bid_at(20, 2, 11), bid_at(20, 3, 12)].concat();
    handler.handle_replayed(2000, 2, &whole, &mut seen);
    assert_eq!((seen.replayed, handler.counters().replays_refused), (vec![2], 0));
}
