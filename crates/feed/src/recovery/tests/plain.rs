//! Updates of levels as plain values.

use super::*;
use crate::book::LevelChange;

/// Everything that a recovery returns about its instruments.
fn shown(recovery: &mut Recovery) -> String {
    recovery.end_message(false);
    let changes: Vec<_> = std::iter::from_fn(|| recovery.next_change()).collect();
    let books: Vec<_> = [ONE, TWO]
        .into_iter()
        .flat_map(|id| BookKind::ALL.map(|kind| (id, kind)))
        .map(|(id, kind)| (recovery.state(id), recovery.last_known_book(id, kind).cloned()))
        .map(|(state, book)| (state, book.map(|book| Side::ALL.map(|side| levels(&book, side)))))
        .collect();
    format!("{changes:?} {books:?} {:?}", recovery.counters())
}

fn levels(book: &Book, side: Side) -> Vec<Level> {
    book.levels(side).copied().collect()
}

/// Correct and wrong updates, gaps and resets: plain values have the same effect as the equivalent
/// update.
#[test]
fn plain_values_do_what_updates_do() {
    let mut random = fastrand::Rng::with_seed(3);
    let kinds = BookKinds::OutrightAndImplied;
    for (continuity, checks) in
        [(Continuity::RptSeq, true), (Continuity::RptSeq, false), (Continuity::SeqNum, true)]
    {
        let options = RecoveryOptions { continuity, kinds, checks, ..Default::default() };
        let [mut plain, mut usual] = [recovery(options), recovery(options)];
        let mut rpt_seqs = [0; 2];
        for seq_num in 1..20_000 {
            if random.u16(0..400) == 0 {
                let gap = Gap { first: seq_num, count: 1 };
                plain.handle_gap(gap);
                usual.handle_gap(gap);
            }
            if random.u16(0..40) == 0 {
                plain.handle_reset();
                usual.handle_reset();
                rpt_seqs = [0; 2];
            }
            for _ in 0..random.u8(1..4) {
                let instrument = *random.choice(&[ONE, TWO]).unwrap();
                let rpt_seq = &mut rpt_seqs[instrument.index()];
                *rpt_seq += if random.u16(0..500) == 0 { 2 } else { 1 };
                let kind =
                    if random.u8(0..9) == 0 { BookKind::Implied } else { BookKind::Outright };
                let side = *random.choice(&Side::ALL).unwrap();
                let book = plain.last_known_book(instrument, kind);
                let len = book.map_or(0, |book| book.len(side)) as u32;
                let position =
                    if random.u16(0..200) == 0 { len + 2 } else { random.u32(1..len + 2) };
                let away = i64::from(position * 10 + random.u32(0..9));
                let content = level(if side == Side::Bid { 500 - away } else { 501 + away });
                let changes = [
                    LevelChange::New,
                    LevelChange::New,
                    LevelChange::Change,
                    LevelChange::Change,
                    LevelChange::Delete,
                    LevelChange::DeleteThru,
                    LevelChange::DeleteFrom,
                ];
                let update = LevelUpdate {
                    number: instrument.index() as u64 + 1,
                    kind,
                    seq_num,
                    rpt_seq: *rpt_seq,
                    side,
                    level: position,
                    change: match *random.choice(&changes).unwrap() {
                        _ if position > len && random.u8(0..99) > 0 => LevelChange::New,
                        change => change,
                    },
                    content,
                };
                plain.handle_level_update(update);
                usual.handle_update(&update.of(instrument));
            }
            assert_eq!(shown(&mut plain), shown(&mut usual), "{seq_num}");
        }
        let applied = plain.counters().applied;
        assert!(applied > 2_000 || continuity == Continuity::SeqNum, "{applied} were applied");
    }
}
