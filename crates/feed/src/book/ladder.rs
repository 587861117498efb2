//! The levels of one side, best first.

use super::{Amount, BookFault, Level, LevelAction, PriceAction, Side};

/// Levels of one side, at most `depth_max`; an update that fails changes nothing.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    side: Side,
    levels: Vec<Level>,
    depth_max: usize,
}

impl Ladder {
    pub(super) fn new(side: Side, depth_max: usize) -> Self {
        Self { side, levels: Vec::new(), depth_max }
    }

    pub(super) fn levels(&self) -> &[Level] {
        &self.levels
    }

    pub(super) fn clear(&mut self) {
        self.levels.clear();
    }

    /// Empties the side and gives it the depth of another.
    pub(super) fn clear_to_depth_of(&mut self, other: &Self) {
        self.levels.clear();
        self.depth_max = other.depth_max;
    }

    fn count(&self) -> u32 {
        self.levels.len() as u32
    }

    /// The index of a level inside the depth.
    fn index(&self, level: u32) -> Result<usize, BookFault> {
        match (level as usize).checked_sub(1) {
            Some(index) if index < self.depth_max => Ok(index),
            _ => {
                let depth_max = self.depth_max as u32;
                Err(BookFault::LevelOutOfRange { side: self.side, level, depth_max })
            }
        }
    }

    /// The index of a level that is there.
    fn index_present(&self, level: u32) -> Result<usize, BookFault> {
        let index = self.index(level)?;
        if index < self.levels.len() {
            return Ok(index);
        }
        Err(BookFault::NoSuchLevel { side: self.side, level, levels: self.count() })
    }

    pub(super) fn apply_level(&mut self, level: u32, action: LevelAction) -> Result<(), BookFault> {
        match action {
            LevelAction::New(new) => self.insert(level, new)?,
            LevelAction::Change(new) => {
                let index = self.index_present(level)?;
                self.levels[index] = new;
            }
            LevelAction::Delete => {
                let index = self.index_present(level)?;
                self.levels.remove(index);
            }
            LevelAction::DeleteThru => {
                let index = self.index_present(level)?;
                self.levels.drain(..=index);
            }
            LevelAction::DeleteFrom => {
                let index = self.index_present(level)?;
                self.levels.truncate(index);
            }
        }
        Ok(())
    }

    fn insert(&mut self, level: u32, new: Level) -> Result<(), BookFault> {
        let index = self.index(level)?;
        if index > self.levels.len() {
            return Err(BookFault::Hole { side: self.side, level, levels: self.count() });
        }
        self.levels.truncate(self.depth_max - 1);
        self.levels.insert(index, new);
        Ok(())
    }

    pub(super) fn apply_price(
        &mut self,
        action: PriceAction,
        level: Level,
    ) -> Result<(), BookFault> {
        let (side, price) = (self.side, level.price);
        match (action, self.find(price)) {
            (PriceAction::New, Ok(_)) => return Err(BookFault::PriceExists { side, price }),
            (PriceAction::New, Err(_)) if self.levels.len() >= self.depth_max => {
                let depth_max = self.depth_max as u32;
                return Err(BookFault::TooManyLevels { side, depth_max });
            }
            (PriceAction::New, Err(index)) => self.levels.insert(index, level),
            (_, Err(_)) => return Err(BookFault::NoSuchPrice { side, price }),
            (PriceAction::Change, Ok(index)) => self.levels[index] = level,
            (PriceAction::Delete, Ok(index)) => {
                self.levels.remove(index);
            }
        }
        Ok(())
    }

    /// Where a price is, or where it belongs.
    fn find(&self, price: Amount) -> Result<usize, usize> {
        self.levels.binary_search_by(|level| match self.side {
            Side::Bid => price.cmp(&level.price),
            Side::Offer => level.price.cmp(&price),
        })
    }

    /// The first level that is not worse than the one before it.
    pub(super) fn disorder(&self) -> Option<BookFault> {
        let is_wrong = |pair: &[Level]| !self.side.is_better(pair[0].price, pair[1].price);
        let index = self.levels.windows(2).position(is_wrong)?;
        Some(BookFault::Disordered { side: self.side, level: index as u32 + 2 })
    }
}
