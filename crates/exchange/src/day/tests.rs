//! The messages of a day build the books of its truth.

use super::*;
use crate::draft::DraftValue;
use std::collections::BTreeMap;
use tickwire_fast::{Decoder, DecoderOptions, ResetPolicy};
use tickwire_feed::book::{Amount, Level, Side};
use tickwire_feed::framing::{Framing, Preset};

/// Builds books from messages as simply as possible.
#[derive(Default)]
struct Naive {
    levels: BTreeMap<(String, DayBookKind, bool), Vec<Level>>,
    orders: BTreeMap<(String, u64), (bool, Level)>,
    rpt_seq: BTreeMap<String, u64>,
}

/// Index of fields in an entry of MDIncrementalRefresh.
mod at {
    pub(super) const ACTION: usize = 0;
    pub(super) const TYPE: usize = 1;
    pub(super) const ORDER: usize = 2;
    pub(super) const NAME: usize = 3;
    pub(super) const RPT_SEQ: usize = 6;
    pub(super) const LEVEL: usize = 7;
    pub(super) const PRICE: usize = 8;
    pub(super) const SIZE: usize = 9;
    pub(super) const COUNT: usize = 10;
    pub(super) const CONDITION: usize = 11;
}

fn uint(value: &DraftValue) -> Option<u64> {
    match value {
        DraftValue::UInt(value) => Some(*value),
        DraftValue::Name(text) => Some(text[1..].parse().unwrap()),
        _ => None,
    }
}

fn amount(value: &DraftValue) -> Option<Amount> {
    match value {
        DraftValue::Decimal(mantissa, exponent) => {
            Some(Amount { mantissa: *mantissa, exponent: *exponent })
        }
        DraftValue::Int(value) => Some(Amount::integer(*value)),
        _ => None,
    }
}

fn name(fields: &[DraftValue], key: InstrumentKeyKind) -> Option<String> {
    match (key, &fields[0], &fields[1], &fields[2]) {
        (InstrumentKeyKind::SecurityId, DraftValue::UInt(id), ..) => Some(id.to_string()),
        (
            InstrumentKeyKind::SymbolAndSession,
            _,
            DraftValue::Name(symbol),
            DraftValue::Text(session),
        ) => Some(format!("{symbol}:{session}")),
        _ => None,
    }
}

impl Naive {
    fn entry(&mut self, entry: &[DraftValue], day: &Day) {
        let key = day.options().key;
        let name = name(&entry[at::NAME..], key);
        let DraftValue::Text(entry_type) = entry[at::TYPE] else { panic!("a type") };
        if let (Some(name), Some(rpt_seq)) = (&name, uint(&entry[at::RPT_SEQ])) {
            let before = self.rpt_seq.insert(name.clone(), rpt_seq);
            assert!(before.is_none_or(|before| before + 1 == rpt_seq), "{name} {rpt_seq}");
        }
        if entry_type == "J" {
            let session = match &entry[at::NAME + 2] {
                DraftValue::Text(session) if key == InstrumentKeyKind::SymbolAndSession => *session,
                _ => "",
            };
            let is_other = |other: &String| match &name {
                Some(name) => other != name,
                None => !other.ends_with(session),
            };
            self.levels.retain(|(other, ..), _| is_other(other));
            self.orders.retain(|(other, _), _| is_other(other));
            return;
        }
        let Some(side) = ["0", "1"].iter().position(|known| *known == entry_type) else { return };
        let name = name.expect("levels have an instrument");
        let content = Level {
            price: amount(&entry[at::PRICE]).unwrap_or(Amount::integer(0)),
            size: amount(&entry[at::SIZE]).unwrap_or(Amount::integer(0)),
            orders: uint(&entry[at::COUNT]).map(|count| count as u32),
        };
        let action = uint(&entry[at::ACTION]).expect("an action");
        if let Some(id) = uint(&entry[at::ORDER]) {
            self.order(action, (name, id), side == 0, content);
            return;
        }
        let kind = match entry[at::CONDITION] {
            DraftValue::Text("K") => DayBookKind::Implied,
            _ => DayBookKind::Outright,
        };
        let index = name.parse::<usize>().map_or(0, |number| (number - 20_000) / 7);
        let depth = match kind {
            DayBookKind::Outright => day.options().depth_of(index),
            DayBookKind::Implied => Some(2),
        };
        let depth = depth.map_or(usize::MAX, |depth| depth as usize);
        let levels = self.levels.entry((name, kind, side == 0)).or_default();
        match uint(&entry[at::LEVEL]) {
            Some(level) => by_level(levels, action, level as usize - 1, content, depth),
            None => by_price(levels, action, content, side == 0),
        }
    }

    fn order(&mut self, action: u64, key: (String, u64), is_bid: bool, content: Level) {
        let before = match action {
            2 => self.orders.remove(&key),
            _ => self.orders.insert(key, (is_bid, content)),
        };
        assert_eq!(before.is_none(), action == 0);
        assert!(before.is_none_or(|(side, _)| side == is_bid));
    }

    fn levels(&self, name: &str, kind: DayBookKind, is_bid: bool, by_order: bool) -> Vec<Level> {
        if !by_order {
            let key = (name.to_owned(), kind, is_bid);
            return self.levels.get(&key).cloned().unwrap_or_default();
        }
        let mut sums: BTreeMap<i64, Level> = BTreeMap::new();
        for ((of, _), (side, order)) in &self.orders {
            if of != name || *side != is_bid {
                continue;
            }
            let key = if is_bid { -order.price.mantissa } else { order.price.mantissa };
            let zero = Level { size: Amount::integer(0), orders: Some(0), ..*order };
            let sum = sums.entry(key).or_insert(zero);
            sum.size.mantissa += order.size.mantissa;
            sum.orders = sum.orders.map(|orders| orders + 1);
        }
        sums.into_values().collect()
    }
}

fn by_level(levels: &mut Vec<Level>, action: u64, at: usize, content: Level, depth: usize) {
    match action {
        0 => {
            levels.insert(at, content);
            levels.truncate(depth);
        }
        1 | 5 => levels[at] = content,
        2 => {
            assert_eq!(levels.remove(at).price, content.price);
        }
        3 => drop(levels.drain(..=at)),
        4 => levels.truncate(at),
        other => panic!("action {other}"),
    }
}

fn by_price(levels: &mut Vec<Level>, action: u64, content: Level, is_bid: bool) {
    let found = levels.iter().position(|level| level.price == content.price);
    match (action, found) {
        (0, None) => levels.push(content),
        (1, Some(at)) => levels[at] = content,
        (2, Some(at)) => drop(levels.remove(at)),
        other => panic!("{other:?}"),
    }
    levels.sort_by(|a, b| if is_bid { b.price.cmp(&a.price) } else { a.price.cmp(&b.price) });
}

/// Returns one day of each kind.
fn days() -> Vec<DayOptions> {
    let small = DayOptions {
        instruments: 6,
        packets: 900,
        has_status: true,
        empty_book: 0.01,
        keeps_history: true,
        ..DayOptions::futures()
    };
    let reset = |new_seq_no, restarts_rpt_seq| DayChange { new_seq_no, restarts_rpt_seq };
    vec![
        small.clone(),
        DayOptions {
            books: BookForm::Levels { depths: vec![5, 10, 1] },
            has_implied: true,
            messages_per_packet_max: 3,
            day_changes: vec![reset(1, true), reset(5_000, false)],
            ..small.clone()
        },
        DayOptions {
            books: BookForm::Prices { depth: Some(4) },
            has_implied: true,
            sequence: SequenceNumbers::Messages,
            messages_per_packet_max: 4,
            heartbeats: Heartbeats::Unnumbered,
            heartbeat_interval_ns: 2_000_000,
            fragment_entries_max: Some(3),
            ..small.clone()
        },
        DayOptions {
            books: BookForm::Prices { depth: None },
            has_rpt_seq: false,
            has_order_counts: false,
            mid_session: true,
            first_seq_num: 900_000,
            framing: Preset::MoexSpectra.framing(),
            ..small.clone()
        },
        DayOptions {
            instruments: 7,
            packets: 900,
            empty_book: 0.01,
            heartbeat_interval_ns: 2_000_000,
            day_changes: vec![reset(1, true)],
            resets_snapshots: true,
            has_snapshot_depth: true,
            ..DayOptions::shares()
        },
        DayOptions {
            transaction_entries_max: Some(2),
            events_per_message_max: 6,
            messages_per_packet_max: 3,
            has_unused_fields: true,
            ..small.clone()
        },
        DayOptions {
            transaction_entries_max: Some(1),
            sequence: SequenceNumbers::Messages,
            messages_per_packet_max: 3,
            books: BookForm::Orders,
            ..small
        },
    ]
}

fn decode_all(decoder: &mut Decoder, day: &Day, packet: &DayPacket) {
    decoder.begin_packet();
    let mut rest = &packet.bytes[packet.preamble_bytes..];
    for draft in &packet.messages {
        let decoded = decoder.decode(rest).expect("a right message");
        assert_eq!(day.binding().difference(decoded.message, draft), None);
        rest = &rest[decoded.len..];
    }
    assert_eq!(rest, []);
}

fn decoder(day: &Day) -> Decoder {
    let options = DecoderOptions::default().reset(ResetPolicy::Packet);
    Decoder::with_options(day.program().clone(), options)
}

fn check(naive: &Naive, day: &Day, name: &str, kind: DayBookKind) {
    let Some(truth) = day.truth().book(name, kind) else { return };
    let by_order = day.options().books == BookForm::Orders;
    for side in Side::ALL {
        let built = naive.levels(name, kind, side == Side::Bid, by_order);
        assert_eq!(built, truth.levels(side), "{name} {kind:?} {:?}", day.truth().moment());
    }
    let is_crossed = truth.bids.first().zip(truth.offers.first());
    let is_crossed = is_crossed.is_some_and(|(bid, offer)| bid.price >= offer.price);
    assert!(!is_crossed || day.truth().status(name) == Some(TradingStatus::PreOpen.code()));
}

#[test]
fn updates_build_the_true_books() {
    for options in days().into_iter().filter(|options| !options.mid_session) {
        let mut day = Day::new(&options).unwrap();
        let mut decoder = decoder(&day);
        let mut naive = Naive::default();
        let (mut epoch, mut crossed) = (0, 0);
        while let Some(packet) = day.next_packet().unwrap() {
            decode_all(&mut decoder, &day, &packet);
            if packet.channel != DayChannel::Updates {
                continue;
            }
            if std::mem::replace(&mut epoch, packet.epoch) != packet.epoch {
                let restarts = options.day_changes[epoch as usize - 1].restarts_rpt_seq;
                let rpt_seq = if restarts { BTreeMap::new() } else { naive.rpt_seq };
                naive = Naive { rpt_seq, ..Naive::default() };
            }
            for draft in packet.messages.iter().filter(|d| d.template == "MDIncrementalRefresh") {
                let Some(DraftValue::Sequence(entries)) = draft.fields.last() else {
                    panic!("entries")
                };
                entries.iter().for_each(|entry| naive.entry(entry, &day));
            }
            if packet.messages.iter().any(|draft| draft.template == "SequenceReset")
                || packet.messages.last().is_some_and(continues)
            {
                continue;
            }
            for name in day.truth().names() {
                let rpt_seq = naive.rpt_seq.get(&**name).copied().unwrap_or(0);
                let book = day.truth().book(name, DayBookKind::Outright).unwrap();
                assert!(rpt_seq == book.rpt_seq || rpt_seq == 0, "{name}");
                check(&naive, &day, name, DayBookKind::Outright);
                check(&naive, &day, name, DayBookKind::Implied);
                let best = book.bids.first().zip(book.offers.first());
                crossed += u32::from(best.is_some_and(|(bid, offer)| bid.price > offer.price));
            }
        }
        assert!(crossed > 0, "auctions cross books");
    }
}

/// True if a transaction continues in the next message.
fn continues(draft: &MessageDraft) -> bool {
    draft.template == "MDIncrementalRefresh" && uint(&draft.fields[3]) == Some(0)
}

/// Each event is in the message of its moment, and books become valid with the last fragment.
#[test]
fn a_transaction_comes_in_fragments_of_one_packet_or_of_several() {
    for options in days().into_iter().filter(|day| day.transaction_entries_max.is_some()) {
        let mut day = Day::new(&options).unwrap();
        let (mut events, mut fragments, mut within_packets) = (BTreeMap::new(), 0, 0);
        let mut ends = Vec::new();
        while let Some(packet) = day.next_packet().unwrap() {
            let Some(seq_num) = packet.seq_num.filter(|_| packet.channel == DayChannel::Updates)
            else {
                continue;
            };
            for (index, draft) in (0..).zip(&packet.messages) {
                let at = UpdatePosition { epoch: packet.epoch, seq_num, index };
                match draft.template {
                    "MDIncrementalRefresh" => events.insert(at, messages::events_in(draft)),
                    "SecurityStatus" => events.insert(at, 1),
                    _ => None,
                };
                let Some(DraftValue::Sequence(entries)) = draft.fields.last() else { continue };
                assert!(Some(entries.len()) <= options.transaction_entries_max);
                fragments += u32::from(continues(draft));
                if !continues(draft) {
                    ends.push(at);
                }
            }
            within_packets +=
                u32::from(packet.messages.len() > 1 && continues(&packet.messages[0]));
        }
        assert!(fragments > 2 * within_packets && within_packets > 10);
        let mut told: BTreeMap<UpdatePosition, usize> = BTreeMap::new();
        day.truth().events().iter().for_each(|(at, _)| *told.entry(*at).or_default() += 1);
        events.retain(|_, count| *count > 0);
        assert_eq!(told, events);
        let history = day.truth().history("20000", DayBookKind::Outright);
        let first = UpdatePosition::default();
        assert!(history.iter().all(|(at, _)| *at == first || ends.binary_search(at).is_ok()));
    }
}

#[test]
fn snapshots_hold_the_true_books() {
    for options in days() {
        let mut day = Day::new(&options).unwrap();
        let mut decoder = decoder(&day);
        let (mut entries, mut snapshots, mut fragments) = (Vec::new(), 0, 0);
        while let Some(packet) = day.next_packet().unwrap() {
            decode_all(&mut decoder, &day, &packet);
            let draft = &packet.messages[0];
            if packet.channel != DayChannel::Snapshots || draft.template != "MDSnapshotFullRefresh"
            {
                continue;
            }
            fragments += 1;
            let Some(DraftValue::Sequence(piece)) = draft.fields.last() else { panic!("entries") };
            entries.extend(piece.iter().cloned());
            if uint(&draft.fields[4]) == Some(0) {
                continue;
            }
            snapshots += 1;
            let name = name(&draft.fields[6..], options.key).expect("an instrument");
            let mut naive = Naive::default();
            for entry in entries.drain(..) {
                let mut update = vec![DraftValue::UInt(0), entry[0].clone(), entry[1].clone()];
                update.extend_from_slice(&draft.fields[6..9]);
                update.extend([DraftValue::Absent, DraftValue::Absent]);
                update.extend_from_slice(&entry[3..7]);
                naive.entry(&update, &day);
            }
            for kind in [DayBookKind::Outright, DayBookKind::Implied] {
                check(&naive, &day, &name, kind);
            }
        }
        assert!(snapshots > 100);
        assert_eq!(fragments > snapshots, options.fragment_entries_max.is_some());
    }
}

#[test]
fn the_truth_of_any_moment_is_kept() {
    let options = days().remove(1);
    let mut day = Day::new(&options).unwrap();
    let mut seen = Vec::new();
    while let Some(packet) = day.next_packet().unwrap() {
        let truth = day.truth();
        if packet.channel == DayChannel::Updates && truth.moment().epoch == packet.epoch {
            let book = truth.book("20007", DayBookKind::Outright).unwrap().clone();
            seen.push((truth.moment(), book));
        }
    }
    assert!(seen.len() > 800);
    for (moment, book) in seen {
        assert_eq!(day.truth().book_at(moment, "20007", DayBookKind::Outright), Some(&book));
    }
    assert!(day.truth().events().is_sorted_by_key(|(moment, _)| *moment));
}

#[test]
fn the_same_seed_gives_the_same_day_and_packets_come_in_order() {
    for options in days() {
        let play = |seed| {
            let day = Day::new(&DayOptions { seed, packets: 200, ..options.clone() }).unwrap();
            day.collect::<Result<Vec<_>, _>>().unwrap()
        };
        let packets = play(3);
        assert!(packets.is_sorted_by_key(|packet| packet.sent_ns));
        assert_eq!(packets, play(3));
        assert_ne!(packets, play(4));
    }
}

#[test]
fn numbers_count_packets_or_messages_and_start_again() {
    for options in days() {
        let mut day = Day::new(&options).unwrap();
        let mut next = BTreeMap::new();
        next.insert(DayChannel::Updates as u8, options.first_seq_num);
        let mut silence = 0;
        let (mut last_ns, mut heartbeats) = (options.start_ns, 0);
        while let Some(packet) = day.next_packet().unwrap() {
            let expected = next.entry(packet.channel as u8).or_insert(1);
            if let Some(seq_num) = packet.seq_num {
                assert_eq!(seq_num, *expected);
                let by_message = options.sequence == SequenceNumbers::Messages;
                *expected += if by_message { packet.messages.len() as u64 } else { 1 };
            }
            for draft in packet.messages.iter().filter(|draft| draft.template == "SequenceReset") {
                *expected = uint(&draft.fields[3]).unwrap();
            }
            if packet.channel == DayChannel::Updates {
                silence = silence.max(packet.sent_ns - last_ns);
                last_ns = packet.sent_ns;
                heartbeats += u32::from(packet.messages[0].template == "Heartbeat");
            }
        }
        if options.heartbeats != Heartbeats::None {
            assert!(heartbeats > 10, "{heartbeats}");
            assert!(silence <= options.heartbeat_interval_ns + 1_000, "{silence}");
        }
        assert_eq!(day.epoch as usize, options.day_changes.len());
    }
}

#[test]
fn templates_have_the_fields_of_the_feed_alone() {
    let has = |options: &DayOptions, tag: u32| {
        Day::new(options).unwrap().templates().contains(&format!("id=\"{tag}\""))
    };
    let [plain, _, _, _, shares, all, _] = &days()[..] else { panic!("some days") };
    for (tag, in_plain, in_shares) in [
        (48, true, false),
        (336, false, true),
        (1023, true, false),
        (278, false, true),
        (893, false, true),
    ] {
        assert_eq!((has(plain, tag), has(shares, tag)), (in_plain, in_shares), "{tag}");
    }
    let text = Day::new(shares).unwrap().templates().to_owned();
    assert!(text.contains("<string name=\"MDEntryID\""));
    assert!(!text.contains("<!-- always -->"));
    assert!([48, 336, 1023, 278, 893].into_iter().all(|tag| has(all, tag)));
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let base = DayOptions::futures();
    let wrong = [
        DayOptions { heartbeats: Heartbeats::Unnumbered, ..base.clone() },
        DayOptions { books: BookForm::Orders, has_implied: true, ..base.clone() },
        DayOptions { books: BookForm::Levels { depths: vec![] }, ..base.clone() },
        DayOptions { books: BookForm::Prices { depth: Some(0) }, ..base.clone() },
        DayOptions { fragment_entries_max: Some(0), ..base.clone() },
        DayOptions { gap_ns: 0, ..base.clone() },
        DayOptions { instruments: 0, ..base.clone() },
        DayOptions { first_seq_num: u64::from(u32::MAX), ..base.clone() },
        DayOptions { framing: Framing::new(), ..base },
    ];
    for options in wrong {
        assert!(Day::new(&options).is_err(), "{options:?}");
    }
}
