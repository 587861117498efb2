//! A warm arbiter and warm books do not allocate.

use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, ArbiterOutput, Line};
use tickwire_feed::book::{Amount, BookUpdate, Level, LevelAction, Side};
use tickwire_feed::market::{
    BookKind, InstrumentKey, LevelName, Snapshot, SnapshotFragment, SnapshotLevel, Update,
};
use tickwire_feed::recovery::{Recovery, RecoveryOptions};

/// Sends `count` numbers from `first`, every pair swapped and every tenth number on neither line,
/// and requests the changes after each. Returns how many changes there were.
fn run(arbiter: &mut Arbiter, recovery: &mut Recovery, first: u64, count: u64) -> u64 {
    let content = Level { price: Amount::integer(5), size: Amount::integer(1), orders: None };
    let (kind, name) = (BookKind::Outright, LevelName::Level(1));
    let levels = [SnapshotLevel { kind, side: Side::Bid, name, content }];
    let mut changes = 0;
    for seq_num in (first..first + count).map(|n| n ^ 1).filter(|n| n % 10 != 0) {
        let mut take = |output: ArbiterOutput<'_>| {
            match output {
                ArbiterOutput::Deliver { seq_num, .. } => {
                    let key = InstrumentKey::Number(seq_num % 5);
                    let instrument = recovery.instrument(key).expect("room");
                    let action = LevelAction::Change(content);
                    let change = BookUpdate::ByLevel { side: Side::Bid, level: 1, action };
                    let (rpt_seq, depth) = (Some(seq_num), None);
                    let update = Update { instrument, kind, seq_num, rpt_seq, depth, change };
                    recovery.handle_update(&update);
                    recovery.handle_progress(seq_num + 1);
                    if (5..10).contains(&(seq_num % 50)) {
                        recovery.handle_snapshot(
                            0,
                            &Snapshot {
                                instrument,
                                last_seq_num: seq_num,
                                rpt_seq,
                                sending_time: None,
                                seq_num: None,
                                fragment: SnapshotFragment::Whole,
                                depth,
                                levels: &levels,
                            },
                        );
                    }
                }
                ArbiterOutput::Gap(gap) => recovery.handle_gap(gap),
                ArbiterOutput::Reset { .. } => return,
            }
            recovery.end_message(false);
            changes += std::iter::from_fn(|| recovery.next_change()).count() as u64;
        };
        for line in Line::ALL {
            let bytes = [3; 200].as_slice();
            arbiter
                .handle_packet(seq_num * 10, line, seq_num, bytes)
                .into_iter()
                .for_each(&mut take);
        }
        while let Some(output) = arbiter.poll_output() {
            take(output);
        }
    }
    changes
}

#[test]
fn a_warm_handler_allocates_nothing() {
    let mut arbiter = Arbiter::new(ArbiterOptions { hold_ns: 50, ..Default::default() });
    let mut recovery = Recovery::new(RecoveryOptions::default());
    run(&mut arbiter, &mut recovery, 0, 2_000);
    let delivered = arbiter.counters().delivered;
    let mut changes = 0;
    let counted = allocation_counter::measure(|| {
        changes = run(&mut arbiter, &mut recovery, 2_000, 10_000);
    });
    assert!(arbiter.counters().delivered > delivered + 5_000);
    assert!(arbiter.counters().gaps > 0 && recovery.counters().held > 0);
    assert!(changes > 1_000, "{changes}");
    assert_eq!(counted.count_total, 0);
}
