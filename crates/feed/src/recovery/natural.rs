//! Rebuilding a book from updates alone.

use crate::book::{Book, BookUpdate, Level, LevelAction, Side};

/// The levels that updates have named since the book was lost. A level is known from the moment an
/// update gives it whole; known levels move with those before them.
#[derive(Clone, Debug)]
pub(super) struct NaturalRefresh {
    sides: [Vec<Option<Level>>; 2],
}

impl NaturalRefresh {
    pub(super) fn new(depth_max: u32) -> Self {
        let unknown = || vec![None; depth_max.max(1) as usize];
        Self { sides: [unknown(), unknown()] }
    }

    pub(super) fn forget(&mut self) {
        self.sides.iter_mut().for_each(|side| side.fill(None));
    }

    fn side(&mut self, side: Side) -> &mut Vec<Option<Level>> {
        match side {
            Side::Bid => &mut self.sides[0],
            Side::Offer => &mut self.sides[1],
        }
    }

    /// Takes an update; anything but updates by position leaves nothing known.
    pub(super) fn observe(&mut self, update: &BookUpdate) {
        match *update {
            BookUpdate::ByLevel { side, level, action } => {
                let levels = self.side(side);
                match (level as usize).checked_sub(1).filter(|&index| index < levels.len()) {
                    Some(index) => move_levels(levels, index, action),
                    None => levels.fill(None),
                }
            }
            BookUpdate::ByPrice { .. } | BookUpdate::Clear => self.forget(),
            BookUpdate::Other => {}
        }
    }

    /// Fills `book` if every level of both sides is known and the result can be a book.
    pub(super) fn complete(&self, book: &mut Book) -> bool {
        if self.sides.iter().flatten().any(Option::is_none) {
            return false;
        }
        book.clear();
        for (side, levels) in Side::ALL.into_iter().zip(&self.sides) {
            for (level, content) in (1..).zip(levels.iter().flatten()) {
                let action = LevelAction::New(*content);
                if book.apply(&BookUpdate::ByLevel { side, level, action }).is_err() {
                    return false;
                }
            }
        }
        book.check().is_none()
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
        let mut book = Book::new(2);
        for (side, index, price) in [(Side::Bid, 1, 10), (Side::Bid, 2, 9), (Side::Offer, 2, 12)] {
            natural.observe(&update(side, index, LevelAction::Change(level(price))));
            assert!(!natural.complete(&mut book));
        }
        natural.observe(&update(Side::Offer, 1, LevelAction::New(level(11))));
        assert!(!natural.complete(&mut book), "the level at 12 fell off the end");
        natural.observe(&update(Side::Offer, 2, LevelAction::Change(level(12))));
        assert!(natural.complete(&mut book));
        assert_eq!(book.levels(Side::Bid), [level(10), level(9)]);
    }

    #[test]
    fn a_deleted_level_makes_the_last_unknown() {
        let mut natural = NaturalRefresh::new(1);
        let mut book = Book::new(1);
        natural.observe(&update(Side::Bid, 1, LevelAction::New(level(1))));
        natural.observe(&update(Side::Offer, 1, LevelAction::New(level(2))));
        assert!(natural.complete(&mut book));
        natural.observe(&update(Side::Offer, 1, LevelAction::Delete));
        assert!(!natural.complete(&mut book));
    }
}
