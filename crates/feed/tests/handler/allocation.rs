//! A warm arbiter and warm books allocate nothing.

use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, Line, Output};
use tickwire_feed::book::{Amount, BookUpdate, Level, LevelAction, Side};
use tickwire_feed::recovery::{
    Incremental, InstrumentId, Recovery, RecoveryOptions, Snapshot, SnapshotLevel,
};

/// Sends `count` numbers from `first`, every pair swapped and every tenth number on neither line.
fn run(arbiter: &mut Arbiter, recovery: &mut Recovery, first: u64, count: u64) {
    let content = Level { price: Amount::integer(5), size: Amount::integer(1), orders: None };
    let levels = [SnapshotLevel { side: Side::Bid, level: Some(1), content }];
    for seq_num in (first..first + count).map(|n| n ^ 1).filter(|n| n % 10 != 0) {
        for line in Line::ALL {
            arbiter.handle_packet(seq_num * 10, line, seq_num, &[3; 200]);
        }
        while let Some(output) = arbiter.poll_output() {
            let (seq_num, instrument) = match output {
                Output::Deliver { seq_num, .. } => (seq_num, InstrumentId(seq_num % 5)),
                Output::Gap(gap) => {
                    recovery.handle_gap(gap);
                    continue;
                }
                Output::Reset { .. } => continue,
            };
            let action = LevelAction::Change(content);
            let update = BookUpdate::ByLevel { side: Side::Bid, level: 1, action };
            let rpt_seq = Some(seq_num);
            recovery.handle_incremental(&Incremental { instrument, seq_num, rpt_seq, update });
            if (5..10).contains(&(seq_num % 50)) {
                let last_seq_num = seq_num;
                let snapshot = Snapshot { instrument, last_seq_num, rpt_seq, levels: &levels };
                recovery.handle_snapshot(&snapshot);
            }
        }
    }
}

#[test]
fn a_warm_handler_allocates_nothing() {
    let mut arbiter = Arbiter::new(ArbiterOptions { hold_ns: 50, ..Default::default() });
    let mut recovery = Recovery::new(RecoveryOptions::default());
    run(&mut arbiter, &mut recovery, 0, 2_000);
    let delivered = arbiter.counters().delivered;
    let counted = allocation_counter::measure(|| run(&mut arbiter, &mut recovery, 2_000, 10_000));
    assert!(arbiter.counters().delivered > delivered + 5_000);
    assert!(arbiter.counters().gaps > 0 && recovery.counters().held > 0);
    assert_eq!(counted.count_total, 0);
}
