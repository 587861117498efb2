//! Input without sense: nothing panics, and what is held stays bounded.

use proptest::prelude::*;
use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, ForeignPolicy, Gap, Line, Output};
use tickwire_feed::book::{Amount, BookUpdate, Level, LevelAction, PriceAction, Side};
use tickwire_feed::recovery::{
    Continuity, Incremental, InstrumentId, Recovery, RecoveryOptions, Snapshot, SnapshotLevel,
};

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..40, any::<u64>(), Just(u64::MAX), Just(u64::MAX / 2)]
}

fn arbiter_options() -> impl Strategy<Value = ArbiterOptions> {
    let foreign = prop_oneof![
        Just(ForeignPolicy::Drop),
        (0_u32..4).prop_map(|packets_min| ForeignPolicy::Follow { packets_min })
    ];
    let limits = (0_usize..20, 0_usize..20, 0_u64..30, 0_usize..30);
    (number(), limits, foreign, proptest::option::of(number())).prop_map(
        |(hold_ns, (held, bytes, ahead_max, behind_max), foreign, first_seq_num)| ArbiterOptions {
            hold_ns,
            packets_held_max: held,
            packet_bytes_max: bytes,
            ahead_max,
            behind_max,
            foreign,
            first_seq_num,
        },
    )
}

/// One thing done to an arbiter.
#[derive(Clone, Debug)]
enum Step {
    Packet(u64, Line, u64, usize),
    Timeout(u64),
    Reset(u64),
    Advance(u64),
    Poll,
}

fn step() -> impl Strategy<Value = Step> {
    let line = prop_oneof![Just(Line::A), Just(Line::B)];
    prop_oneof![
        8 => (number(), line, number(), 0_usize..24)
            .prop_map(|(now_ns, line, seq_num, len)| Step::Packet(now_ns, line, seq_num, len)),
        1 => number().prop_map(Step::Timeout),
        1 => number().prop_map(Step::Reset),
        1 => (0_u64..6).prop_map(Step::Advance),
        6 => Just(Step::Poll),
    ]
}

/// Polls everything; numbers must follow one another between resets. Packets of odd length are
/// rejected, and where a copy is waited for their number comes once more.
fn poll_all(arbiter: &mut Arbiter, expected: &mut Option<u64>) {
    while let Some(output) = arbiter.poll_output() {
        let (first, count) = match output {
            Output::Deliver { seq_num, bytes, .. } if bytes.len() % 2 == 1 => {
                assert_eq!(seq_num, expected.unwrap_or(seq_num));
                (seq_num, u64::from(!arbiter.reject()))
            }
            Output::Deliver { seq_num, .. } => (seq_num, 1),
            Output::Gap(gap) => {
                assert!(gap.count > 0);
                (gap.first, gap.count)
            }
            Output::Reset { seq_num } => {
                *expected = Some(seq_num);
                continue;
            }
        };
        assert_eq!(first, expected.unwrap_or(first));
        *expected = Some(first + count);
    }
}

proptest! {
    #[test]
    fn an_arbiter_survives_anything(
        options in arbiter_options(),
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        let mut arbiter = Arbiter::new(options);
        let mut expected = None;
        for step in steps {
            match step {
                Step::Packet(now_ns, line, seq_num, len) => {
                    arbiter.handle_packet(now_ns, line, seq_num, &[7; 24][..len]);
                }
                Step::Timeout(now_ns) => arbiter.handle_timeout(now_ns),
                Step::Reset(seq_num) => arbiter.reset(seq_num),
                Step::Advance(count) => {
                    let before = arbiter.next_seq_num();
                    arbiter.advance_to(before.unwrap_or(0).saturating_add(count));
                    if arbiter.next_seq_num() != before {
                        expected = arbiter.next_seq_num();
                    }
                }
                Step::Poll => poll_all(&mut arbiter, &mut expected),
            }
            prop_assert!(arbiter.packets_held() <= options.packets_held_max.max(1) + 1);
        }
        poll_all(&mut arbiter, &mut expected);
        arbiter.handle_timeout(u64::MAX);
        poll_all(&mut arbiter, &mut expected);
        prop_assert_eq!(arbiter.packets_held(), 0);
        for line in Line::ALL {
            let c = arbiter.line_counters(line);
            let taken = c.won + c.substitute;
            let fates = taken + c.duplicate + c.late + c.foreign + c.too_long + c.not_polled;
            prop_assert_eq!(c.received, fates);
        }
    }
}

fn level() -> impl Strategy<Value = Level> {
    (0_i64..6, any::<i32>()).prop_map(|(mantissa, exponent)| Level {
        price: Amount { mantissa, exponent },
        size: Amount::integer(mantissa),
        orders: None,
    })
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Bid), Just(Side::Offer)]
}

fn update() -> impl Strategy<Value = BookUpdate> {
    let action = (0_u8..5, level()).prop_map(|(action, level)| match action {
        0 => LevelAction::New(level),
        1 => LevelAction::Change(level),
        2 => LevelAction::Delete,
        3 => LevelAction::DeleteThru,
        _ => LevelAction::DeleteFrom,
    });
    let by_price =
        prop_oneof![Just(PriceAction::New), Just(PriceAction::Change), Just(PriceAction::Delete)];
    prop_oneof![
        4 => (side(), 0_u32..5, action)
            .prop_map(|(side, level, action)| BookUpdate::ByLevel { side, level, action }),
        2 => (side(), by_price, level())
            .prop_map(|(side, action, level)| BookUpdate::ByPrice { side, action, level }),
        1 => Just(BookUpdate::Clear),
        1 => Just(BookUpdate::Other),
    ]
}

/// One thing told to a recovery.
#[derive(Clone, Debug)]
enum Told {
    Incremental(Incremental),
    Snapshot(InstrumentId, u64, Option<u64>, Vec<SnapshotLevel>),
    Gap(Gap),
    Reset,
}

fn told() -> impl Strategy<Value = Told> {
    let instrument = || (0_u64..4).prop_map(InstrumentId);
    let small = || prop_oneof![6 => 0_u64..12, 1 => any::<u64>()];
    let rpt_seq = || proptest::option::weighted(0.9, small());
    let levels = (side(), proptest::option::of(0_u32..4), level())
        .prop_map(|(side, level, content)| SnapshotLevel { side, level, content });
    let incremental = (instrument(), small(), rpt_seq(), update());
    prop_oneof![
        8 => incremental.prop_map(|(instrument, seq_num, rpt_seq, update)| Told::Incremental(
            Incremental { instrument, seq_num, rpt_seq, update }
        )),
        4 => (instrument(), small(), rpt_seq(), proptest::collection::vec(levels, 0..4)).prop_map(
            |(instrument, last, rpt_seq, levels)| Told::Snapshot(instrument, last, rpt_seq, levels)
        ),
        1 => (small(), small()).prop_map(|(first, count)| Told::Gap(Gap { first, count })),
        1 => Just(Told::Reset),
    ]
}

proptest! {
    #[test]
    fn a_recovery_survives_anything(
        by_rpt_seq: bool,
        natural_refresh: bool,
        told in proptest::collection::vec(told(), 0..200),
    ) {
        let options = RecoveryOptions {
            continuity: if by_rpt_seq { Continuity::RptSeq } else { Continuity::SeqNum },
            depth_max: 3,
            instruments_max: 3,
            updates_held_max: 4,
            updates_held_total_max: 7,
            natural_refresh,
        };
        let mut recovery = Recovery::new(options);
        for told in &told {
            match told {
                Told::Incremental(update) => {
                    recovery.handle_incremental(update);
                }
                Told::Snapshot(instrument, last_seq_num, rpt_seq, levels) => {
                    recovery.handle_snapshot(&Snapshot {
                        instrument: *instrument,
                        last_seq_num: *last_seq_num,
                        rpt_seq: *rpt_seq,
                        levels,
                    });
                }
                Told::Gap(gap) => recovery.handle_gap(*gap),
                Told::Reset => recovery.handle_reset(),
            }
            prop_assert!(recovery.updates_held() <= 7);
            prop_assert!(recovery.instruments().count() <= 3);
        }
    }
}
