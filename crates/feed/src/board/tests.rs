use super::*;
use crate::book::{BookUpdate, LevelAction};
use std::sync::atomic::{AtomicU64, Ordering};

fn level(price: i64, size: i64) -> Level {
    let (price, size) = (Amount { mantissa: price, exponent: -2 }, Amount::integer(size));
    Level { price, size, orders: u32::try_from(size.mantissa).ok() }
}

fn apply(book: &mut Book, side: Side, level: u32, action: LevelAction) {
    book.apply(&BookUpdate::ByLevel { side, level, action }).unwrap();
}

#[test]
fn indexes_have_places_of_their_own_in_growing_chunks() {
    let mut places: Vec<_> = (0..10_000).map(BoardEntries::place).collect();
    assert_eq!(places[63], (0, 63));
    assert_eq!(places[64], (1, 0));
    assert_eq!(places[191], (1, 127));
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 10_000);
    let mut board = Board::new();
    board.publish(usize::MAX, &mut Book::new(), true, 0);
    assert!(board.reader().read(usize::MAX).is_none());
}

#[test]
fn an_observer_s_board_tells_when_a_change_was_found() {
    let mut board = Board::new();
    let reader = board.reader();
    let mut book = Book::with_depth(Some(20));
    apply(&mut book, Side::Bid, 1, LevelAction::New(level(10, 1)));
    apply(&mut book, Side::Bid, 2, LevelAction::New(level(9, 1)));
    assert!(board.publish_if_changed(5, &book, true, 100));
    assert_eq!(reader.read(5).unwrap().time_ns(), 0, "no change was found yet");
    assert!(!board.publish_if_changed(5, &book, true, 200));
    apply(&mut book, Side::Bid, 1, LevelAction::Delete);
    assert!(board.publish_if_changed(5, &book, true, 300));
    let top = reader.read(5).unwrap();
    assert_eq!((top.time_ns(), top.levels(Side::Bid)), (300, &[level(9, 1)][..]));
    assert!(!board.publish_if_changed(5, &book, true, 400));
    assert!(board.publish_if_changed(5, &book, false, 500));
    let top = reader.read(5).unwrap();
    assert!(!top.is_fresh() && top.time_ns() == 500);
    apply(&mut book, Side::Bid, 1, LevelAction::New(level(10, 1)));
    assert!(board.publish_if_changed(5, &book, false, 600));
    assert_eq!(reader.read(5).unwrap().levels(Side::Bid), [level(10, 1), level(9, 1)]);
    assert!(!board.publish_if_changed(usize::MAX, &book, true, 0));
}

/// Random updates are published one by one; the board equals the book.
#[test]
fn what_is_read_is_what_was_published() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut board = Board::new();
    let reader = board.reader();
    let mut book = Book::with_depth(Some(20));
    for step in 0..20_000_u64 {
        for _ in 0..random.usize(1..4) {
            let side = Side::ALL[random.usize(0..2)];
            let len = book.len(side) as u32;
            let content = level(random.i64(1..1_000), random.i64(1..50));
            match random.u8(0..5) {
                0 if len > 0 => apply(&mut book, side, random.u32(1..=len), LevelAction::Delete),
                1 if len > 0 => {
                    let action = LevelAction::Change(content);
                    apply(&mut book, side, random.u32(1..=len), action);
                }
                2 if random.u8(0..50) == 0 => book.clear(),
                _ => {
                    let at = random.u32(1..=(len + 1).min(20));
                    apply(&mut book, side, at, LevelAction::New(content));
                }
            }
        }
        let is_fresh = random.bool();
        board.publish(5, &mut book, is_fresh, step);
        let top = reader.read(5).unwrap();
        assert_eq!((top.is_fresh(), top.time_ns()), (is_fresh, step));
        for side in Side::ALL {
            assert!(top.levels(side).iter().eq(book.levels(side).take(TOP_LEVELS)), "step {step}");
        }
    }
}

/// Reads of [`no_reader_sees_two_states_mixed`], unless the environment variable gives another
/// number.
const READS: u64 = 100_000;
const READS_VARIABLE: &str = "TICKWIRE_BOARD_READS";

/// Every level of a published book carries the number of the publication: a torn read would mix two.
#[test]
fn no_reader_sees_two_states_mixed() {
    let reads_min = match std::env::var(READS_VARIABLE) {
        Ok(reads) => reads.parse().expect("a number of reads"),
        Err(_) => READS,
    };
    let mut board = Board::new();
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (reader, reads) = (board.reader(), &reads);
            scope.spawn(move || read_until(&reader, reads, reads_min));
        }
        let mut book = Book::with_depth(Some(3));
        let mut turn = 0;
        while reads.load(Ordering::Relaxed) < reads_min {
            turn += 1;
            for side in Side::ALL {
                // The last level is deleted, the others move, and all get the new size.
                apply(&mut book, side, 1, LevelAction::New(level(turn, turn)));
                for at in 2..=book.len(side) as u32 {
                    apply(&mut book, side, at, LevelAction::Change(level(turn - 1, turn)));
                }
            }
            if book.len(Side::Bid) == 3 {
                board.publish(0, &mut book, true, turn as u64);
            }
        }
        println!("{turn} writes");
    });
    println!("{} reads", reads.into_inner());
}

/// Reads until all readers together have `reads_min` correct reads, counted in `reads`.
fn read_until(reader: &BoardReader, reads: &AtomicU64, reads_min: u64) {
    let mut last = 0;
    while reads.load(Ordering::Relaxed) < reads_min {
        for _ in 0..1_000 {
            let Some(top) = reader.read(0) else { continue };
            let turn = top.time_ns() as i64;
            assert!(turn >= last, "time does not go back");
            last = turn;
            for side in Side::ALL {
                assert_eq!(top.levels(side).len(), 3);
                assert!(top.levels(side).iter().all(|level| level.size.mantissa == turn));
            }
            reads.fetch_add(1, Ordering::Relaxed);
        }
    }
}
