//! Real captures through arbiter, books and recovery.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use tickwire_fast::{Decoder, DecoderOptions, FieldValue, Message, Program, ResetPolicy};
use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, Line, Output};
use tickwire_feed::book::{Book, Side};
use tickwire_feed::recovery::{
    IncrementalOutcome, InstrumentId, LevelNaming, MarketData, MarketDataAdapter, Recovery,
    RecoveryOptions, Snapshot, SnapshotOutcome, StaleReason,
};

fn file(path: &str) -> Option<Vec<u8>> {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus").join(path);
    if full.is_file() {
        return Some(std::fs::read(full).unwrap());
    }
    println!("SKIPPED: {} is not there, so no real capture was handled", full.display());
    None
}

fn packets(file: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    let mut rest = file;
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let (packet, tail) = tail.split_at(u32::from_be_bytes(*len) as usize);
        packets.push(packet);
        rest = tail;
    }
    packets
}

fn decoder(templates: &[u8], reset: ResetPolicy) -> Decoder {
    let set = tickwire_fast::TemplateSet::parse_bytes(templates).unwrap();
    let program = Arc::new(Program::compile(set).unwrap());
    Decoder::with_options(program, DecoderOptions { reset, ..Default::default() })
}

/// Decodes every message of a packet and shows it.
fn decode_packet(decoder: &mut Decoder, packet: &[u8], mut show: impl FnMut(&Message)) {
    decoder.begin_packet();
    let mut rest = packet;
    while !rest.is_empty() {
        let decoded = decoder.decode(rest).unwrap();
        show(decoded.message);
        rest = &rest[decoded.len..];
    }
}

fn seq_num_of(decoder: &mut Decoder, packet: &[u8]) -> u64 {
    let mut seq_num = 0;
    decode_packet(decoder, packet, |message| {
        if let Some(FieldValue::UInt(value)) = message.root().field("MsgSeqNum") {
            seq_num = value;
        }
    });
    seq_num
}

/// The three feeds of the Moscow derivatives market, ready to be handled.
struct Forts {
    decoder: Decoder,
    adapter: MarketDataAdapter,
    a: Vec<u8>,
    b: Vec<u8>,
    snapshots: Vec<u8>,
}

/// What handling them gave.
#[derive(Default)]
struct Handled {
    /// By instrument, the snapshots that stood where the book stood: all were equal.
    equal: HashMap<InstrumentId, usize>,
    /// Instruments that updates came for.
    updated: HashSet<InstrumentId>,
}

impl Handled {
    /// Equal snapshots of instruments with updates, and of those without.
    fn equal(&self) -> (usize, usize) {
        let mut counts = (0, 0);
        for (instrument, count) in &self.equal {
            let is_updated = self.updated.contains(instrument);
            *(if is_updated { &mut counts.0 } else { &mut counts.1 }) += count;
        }
        counts
    }
}

impl Forts {
    fn load() -> Option<Self> {
        let stem = "moex_forts/moex_forts_2013";
        let decoder = decoder(&file("moex_forts/templates.xml")?, ResetPolicy::Template);
        Some(Self {
            adapter: MarketDataAdapter::new(decoder.program().clone(), LevelNaming::ByLevel),
            decoder,
            a: file(&format!("{stem}.increment_a.bin"))?,
            b: file(&format!("{stem}.increment_b.bin"))?,
            snapshots: file(&format!("{stem}.snapshot.bin"))?,
        })
    }

    /// The packets of the lines with their numbers, in the order of numbers, A before B.
    fn arrivals(&mut self, lines: &[Line]) -> Vec<(u64, Line, Vec<u8>)> {
        let mut arrivals = Vec::new();
        for &line in lines {
            let file = if line == Line::A { &self.a } else { &self.b };
            for packet in packets(file) {
                let seq_num = seq_num_of(&mut self.decoder, packet);
                arrivals.push((seq_num, line, packet.to_vec()));
            }
        }
        arrivals.sort_by_key(|(seq_num, line, _)| (*seq_num, line.index()));
        arrivals
    }

    /// Handles the arrivals, one each microsecond, and every snapshot as soon as the packets that it
    /// includes have come. Books that may be believed must never be crossed or differ.
    fn handle(
        &mut self,
        arrivals: &[(u64, Line, Vec<u8>)],
        arbiter: &mut Arbiter,
        recovery: &mut Recovery,
    ) -> Handled {
        let mut handled = Handled::default();
        let snapshots = self.snapshots.clone();
        let mut snapshots = packets(&snapshots).into_iter().peekable();
        let mut now_ns = 0;
        for (seq_num, line, packet) in arrivals {
            now_ns += 1_000;
            arbiter.handle_packet(now_ns, *line, *seq_num, packet);
            self.drain(arbiter, recovery, &mut handled);
            let position = arbiter.next_seq_num().unwrap();
            while let Some(packet) = snapshots.peek() {
                if !self.handle_snapshot(packet, position, recovery, &mut handled) {
                    break;
                }
                snapshots.next();
            }
        }
        arbiter.handle_timeout(u64::MAX);
        self.drain(arbiter, recovery, &mut handled);
        for packet in snapshots {
            self.handle_snapshot(packet, u64::MAX, recovery, &mut handled);
        }
        handled
    }

    fn drain(&mut self, arbiter: &mut Arbiter, recovery: &mut Recovery, handled: &mut Handled) {
        while let Some(output) = arbiter.poll_output() {
            let packet = match output {
                Output::Deliver { bytes, .. } => bytes,
                Output::Gap(gap) => {
                    recovery.handle_gap(gap);
                    continue;
                }
                Output::Reset { .. } => panic!("the numbers of the capture go on"),
            };
            let adapter = &mut self.adapter;
            decode_packet(&mut self.decoder, packet, |message| {
                let MarketData::Incremental(updates) = adapter.adapt(message, 0).unwrap() else {
                    return;
                };
                for update in updates {
                    recovery.handle_incremental(update);
                    handled.updated.insert(update.instrument);
                }
                for update in updates {
                    let fault = recovery.book(update.instrument).ok().and_then(Book::check);
                    assert_eq!(fault, None, "{:?}", update.instrument);
                }
            });
        }
    }

    /// Handles a packet of the snapshot feed unless it includes numbers from `position` on.
    fn handle_snapshot(
        &mut self,
        packet: &[u8],
        position: u64,
        recovery: &mut Recovery,
        handled: &mut Handled,
    ) -> bool {
        let adapter = &mut self.adapter;
        let mut is_due = true;
        decode_packet(&mut self.decoder, packet, |message| {
            let MarketData::Snapshot(snapshot) = adapter.adapt(message, 0).unwrap() else { return };
            is_due = snapshot.last_seq_num < position;
            if is_due {
                check_snapshot(&snapshot, recovery, handled);
            }
        });
        is_due
    }
}

fn check_snapshot(snapshot: &Snapshot<'_>, recovery: &mut Recovery, handled: &mut Handled) {
    let outcome = recovery.handle_snapshot(snapshot);
    assert!(
        !matches!(outcome, SnapshotOutcome::Mismatch | SnapshotOutcome::Faulty(_)),
        "{outcome:?} {snapshot:?}"
    );
    let Ok(book) = recovery.book(snapshot.instrument) else { return };
    if recovery.rpt_seq(snapshot.instrument) != snapshot.rpt_seq {
        return;
    }
    for side in Side::ALL {
        let levels: Vec<_> = snapshot.levels.iter().filter(|entry| entry.side == side).collect();
        assert_eq!(book.levels(side).len(), levels.len());
        for (level, entry) in book.levels(side).iter().zip(levels) {
            assert_eq!(*level, entry.content);
        }
    }
    *handled.equal.entry(snapshot.instrument).or_default() += 1;
}

fn forts_recovery() -> Recovery {
    Recovery::new(RecoveryOptions { depth_max: 5, ..Default::default() })
}

fn forts_arbiter() -> Arbiter {
    Arbiter::new(ArbiterOptions { hold_ns: 100_000, ..Default::default() })
}

/// Nine instruments are updated: 6367 snapshots after their first stand at an update of line A, and
/// the nine first must survive being loaded. Two more instruments never change.
#[test]
fn books_of_line_a_equal_every_later_snapshot() {
    let Some(mut forts) = Forts::load() else { return };
    let arrivals = forts.arrivals(&[Line::A]);
    let (mut arbiter, mut recovery) = (forts_arbiter(), forts_recovery());
    let handled = forts.handle(&arrivals, &mut arbiter, &mut recovery);
    let counters = recovery.counters();
    assert_eq!(handled.equal(), (6_376, 1_466));
    assert_eq!((counters.verified, counters.recovered), (6_376 + 1_466 - 11, 11));
    assert_eq!((counters.broken, counters.gaps, counters.dropped), (0, 0, 0));
    assert_eq!(recovery.instruments().filter(|id| recovery.book(*id).is_ok()).count(), 11);
    println!("moex_forts, line A: {:?} snapshots equal", handled.equal());
}

#[test]
fn what_one_line_lacks_the_other_fills() {
    let Some(mut forts) = Forts::load() else { return };
    let mut arrivals = forts.arrivals(&Line::ALL);
    let (first_b, last_a) = (482_751, 490_827);
    arrivals.retain(|(seq_num, line, _)| {
        let is_on_both = (first_b..=last_a).contains(seq_num);
        !is_on_both || seq_num % 10 != 3 + 4 * line.index() as u64
    });
    let (mut arbiter, mut recovery) = (forts_arbiter(), forts_recovery());
    let handled = forts.handle(&arrivals, &mut arbiter, &mut recovery);
    let (updated, silent) = handled.equal();
    assert!(updated >= 6_376 && silent == 1_466, "{updated} {silent}");
    assert_eq!(recovery.counters().broken, 0);
    assert_eq!(arbiter.counters().gaps, 0);
    assert_eq!(arbiter.counters().delivered, 490_838 - 482_727 + 1);
    let [a, b] = Line::ALL.map(|line| arbiter.line_counters(line));
    assert_eq!((a.won + b.won, a.late + b.late), (arbiter.counters().delivered, 0));
    assert_eq!((a.lost, b.lost), (808 + 11, 808 + 24));
    println!("moex_forts, lines A and B: {updated} + {silent} snapshots equal");
}

/// Packets lost on both lines: books are stale until a snapshot, never wrong.
#[test]
fn what_both_lines_lack_a_snapshot_recovers() {
    let Some(mut forts) = Forts::load() else { return };
    let mut arrivals = forts.arrivals(&[Line::A]);
    arrivals.retain(|(seq_num, ..)| seq_num % 97 != 0);
    let mut arbiter = Arbiter::new(ArbiterOptions { hold_ns: 2_000, ..Default::default() });
    let mut recovery = forts_recovery();
    let handled = forts.handle(&arrivals, &mut arbiter, &mut recovery);
    let counters = recovery.counters();
    println!("moex_forts with losses: {:?} snapshots equal, {counters:?}", handled.equal());
    assert_eq!(counters.gaps, 84);
    assert!(counters.broken > 50 && counters.mismatches == 0);
    assert!(handled.equal().0 > 6_000);
    assert_eq!(recovery.updates_held(), 0);
}

#[test]
fn cme_duplicates_disorder_and_gaps_are_counted() {
    let Some(capture) = file("cme_2012/cme_2012_sampleMD.bin") else { return };
    for (hold_ns, late) in [(100_000, 0), (0, 1)] {
        let mut arbiter = Arbiter::new(ArbiterOptions { hold_ns, ..Default::default() });
        let mut expected = None;
        let mut delivered = 0;
        for (index, packet) in packets(&capture).into_iter().enumerate() {
            let seq_num = u32::from_be_bytes(*packet.first_chunk().unwrap());
            arbiter.handle_packet(index as u64 * 1_000, Line::A, u64::from(seq_num), packet);
            while let Some(output) = arbiter.poll_output() {
                let (first, count) = match output {
                    Output::Deliver { seq_num, bytes, .. } => {
                        assert_eq!(bytes[..4], (seq_num as u32).to_be_bytes());
                        delivered += 1;
                        (seq_num, 1)
                    }
                    Output::Gap(gap) => (gap.first, gap.count),
                    Output::Reset { .. } => panic!("the numbers of the capture go on"),
                };
                assert_eq!(first, expected.unwrap_or(first));
                expected = Some(first + count);
            }
        }
        let line = arbiter.line_counters(Line::A);
        assert_eq!(expected, Some(3_584_344));
        assert_eq!((line.received, line.duplicate, line.late), (10_000, 1_625, late));
        assert_eq!((line.out_of_order, line.out_of_order_by_max), (1_129, 8));
        assert_eq!((delivered, line.won), (8_375 - late, 8_375 - late));
        assert_eq!(arbiter.counters().gap_seq_nums, 1_567 + late);
        assert_eq!(line.lost, 1_567);
    }
}

#[test]
fn cme_books_come_back_by_updates_alone() {
    let (Some(templates), Some(capture)) =
        (file("cme_2012/templates.xml"), file("cme_2012/cme_2012_sampleMD.bin"))
    else {
        return;
    };
    let mut decoder = decoder(&templates, ResetPolicy::Packet);
    let mut adapter = MarketDataAdapter::new(decoder.program().clone(), LevelNaming::ByLevel);
    let mut arbiter = Arbiter::new(ArbiterOptions { hold_ns: 10_000, ..Default::default() });
    let options = RecoveryOptions { natural_refresh: true, ..Default::default() };
    let mut recovery = Recovery::new(options);
    for (index, packet) in packets(&capture).into_iter().enumerate() {
        let seq_num = u64::from(u32::from_be_bytes(*packet.first_chunk().unwrap()));
        arbiter.handle_packet(index as u64 * 1_000, Line::A, seq_num, packet);
        while let Some(output) = arbiter.poll_output() {
            let Output::Deliver { seq_num, bytes, .. } = output else {
                if let Output::Gap(gap) = output {
                    recovery.handle_gap(gap);
                }
                continue;
            };
            decode_packet(&mut decoder, &bytes[5..], |message| {
                let MarketData::Incremental(updates) = adapter.adapt(message, seq_num).unwrap()
                else {
                    return;
                };
                for update in updates {
                    let outcome = recovery.handle_incremental(update);
                    let is_fault =
                        matches!(outcome, IncrementalOutcome::Held(StaleReason::Fault(_)));
                    assert!(!is_fault, "{outcome:?} {update:?}");
                }
                for update in updates {
                    let fault = recovery.book(update.instrument).ok().and_then(Book::check);
                    assert_eq!(fault, None, "{update:?}");
                }
            });
        }
    }
    let counters = recovery.counters();
    println!("cme_2012 by updates alone: {counters:?}");
    assert!(counters.recovered > 0 && counters.applied > 9_000);
}
