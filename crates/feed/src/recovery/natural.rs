//! Rebuilds a book from updates alone.

use super::Continuity;
use super::instrument::LastGap;
use crate::book::{Book, BookUpdate, Level, LevelAction, Side};
use crate::market::Update;

/// The levels that updates have set since the book was lost. A level is known once an update sets
/// all its fields; known levels move with those before them.
#[derive(Clone, Debug)]
pub(super) struct NaturalRefresh {
    sides: [Vec<Option<Level>>; 2],
    /// RptSeq of the last update, and the last gap at that time.
    last: Option<(Option<u64>, LastGap)>,
}

impl NaturalRefresh {
    pub(super) fn new(depth: u32) -> Self {
        let unknown = || vec![None; depth.max(1) as usize];
        Self { sides: [unknown(), unknown()], last: None }
    }

    /// Handles an update; returns the book if it is now complete.
    pub(super) fn take(&mut self, update: &Update, by: Continuity, gap: LastGap) -> Option<Book> {
        let is_counted = by == Continuity::SeqNum || update.rpt_seq.is_some();
        let follows = self.last.is_some_and(|(last, last_gap)| {
            let next = last.and_then(|rpt_seq| rpt_seq.checked_add(1));
            last_gap == gap && next == update.rpt_seq
        });
        self.last = is_counted.then_some((update.rpt_seq, gap));
        if !follows || !is_counted {
            self.forget();
        }
        self.observe(&update.change);
        if is_counted { self.complete() } else { None }
    }

    fn forget(&mut self) {
        self.sides.iter_mut().for_each(|side| side.fill(None));
    }

    fn side(&mut self, side: Side) -> &mut Vec<Option<Level>> {
        match side {
            Side::Bid => &mut self.sides[0],
            Side::Offer => &mut self.sides[1],
        }
    }

    /// Records an update; any update that is not by position makes all levels unknown.
    fn observe(&mut self, update: &BookUpdate) {
        match *update {
            BookUpdate::ByLevel { side, level, action } => {
                let levels = self.side(side);
                match (level as usize).checked_sub(1).filter(|&index| index < levels.len()) {
                    Some(index) => move_levels(levels, index, action),
                    None => levels.fill(None),
                }
            }
            BookUpdate::ByPrice { .. } | BookUpdate::ByOrder { .. } | BookUpdate::Clear => {
                self.forget()
            }
            BookUpdate::Other => {}
        }
    }

    /// Returns the book, if every level of both sides is known and the result is a valid book.
    fn complete(&self) -> Option<Book> {
        if self.sides.iter().flatten().any(Option::is_none) {
            return None;
        }
        let depth = u32::try_from(self.sides[0].len()).ok()?;
        let mut book = Book::with_depth(Some(depth));
        for (side, levels) in Side::ALL.into_iter().zip(&self.sides) {
            for (level, content) in (1..).zip(levels.iter().flatten()) {
                let action = LevelAction::New(*content);
                book.apply(&BookUpdate::ByLevel { side, level, action }).ok()?;
            }
        }
        book.check().is_none().then_some(book)
    }
}

fn move_levels(levels: &mut [Option<Level>], index: usize, action: LevelAction) {
    let known = levels.len();
    match action {
        LevelAction::New(level) => {
            levels[index..].rotate_right(1);
            levels[index] = Some(level);
        }
        LevelAction::Change(level) => levels[index] = Some(level),
        LevelAction::Delete => {
            levels[index..].rotate_left(1);
            levels[known - 1] = None;
        }
        LevelAction::DeleteThru => {
            levels.rotate_left(index + 1);
            levels[known - index - 1..].fill(None);
        }
        LevelAction::DeleteFrom => levels[index..].fill(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Amount;

    fn update(side: Side, level: u32, action: LevelAction) -> BookUpdate {
        BookUpdate::ByLevel { side, level, action }
    }

    fn level(price: i64) -> Level {
        Level { price: Amount::integer(price), size: Amount::integer(1), orders: None }
    }

    #[test]
    fn a_book_is_known_when_every_level_has_been_named() {
        let mut natural = NaturalRefresh::new(2);
        for (side, index, price) in [(Side::Bid, 1, 10), (Side::Bid, 2, 9), (Side::Offer, 2, 12)] {
            natural.observe(&update(side, index, LevelAction::Change(level(price))));
            assert!(natural.complete().is_none());
        }
        natural.observe(&update(Side::Offer, 1, LevelAction::New(level(11))));
        assert!(natural.complete().is_none(), "the level at 12 fell off the end");
        natural.observe(&update(Side::Offer, 2, LevelAction::Change(level(12))));
        let book = natural.complete().unwrap();
        assert!(book.levels(Side::Bid).eq(&[level(10), level(9)]));
    }

    #[test]
    fn a_deleted_level_makes_the_last_unknown() {
        let mut natural = NaturalRefresh::new(1);
        natural.observe(&update(Side::Bid, 1, LevelAction::New(level(1))));
        natural.observe(&update(Side::Offer, 1, LevelAction::New(level(2))));
        assert!(natural.complete().is_some());
        natural.observe(&update(Side::Offer, 1, LevelAction::Delete));
        assert!(natural.complete().is_none());
    }
}
