//! The levels of one side, best first.
//!
//! The best [`INLINE`] levels lie in slots that never move. `order` is a permutation whose nibble
//! `i` is the slot of the level at position `i`, so inserting or deleting a level rotates some
//! nibbles of one word and writes at most one slot. Deeper levels lie in a vector, deepest first,
//! so that a level crosses the boundary at the vector's end.
//!
//! A book by level may hold more levels than the exchange publishes: while the depth of the feed is
//! unknown, a level pushed down by a new one may no longer be published. Levels are *certain* down
//! to the deepest position that the exchange has named since; only those are shown.

use super::{BookFault, Level, LevelChange, Side};

/// Levels in slots. A power of two, so that a slot fits a nibble.
pub(crate) const INLINE: usize = 16;
/// Deepest level of a book, by position or by price.
pub const LEVELS_MAX: u32 = 10_000;
/// Nibble `i` is `i`.
const IDENTITY: u64 = 0xFEDC_BA98_7654_3210;

/// The best levels of a side in their slots.
pub(crate) struct PublishedSide<'a> {
    /// Nibble `i`: the slot of the level at position `i`.
    pub(crate) order: u64,
    /// Levels shown, at most [`INLINE`].
    pub(crate) len: u64,
    /// Slots written since the last call, one bit each.
    pub(crate) dirty: u16,
    pub(crate) slots: &'a [Level; INLINE],
}

/// Levels of one side; a failed update changes nothing. The fields that every update reads come
/// first, together.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Ladder {
    order: u64,
    /// Positions to be compared with the one before, one bit each: they were out of order on
    /// arrival, or lie deep. The last bit stands for all positions from [`TAIL`] on.
    unchecked: u64,
    /// Depth of the feed, if known.
    depth: Option<u32>,
    /// Deepest position an update or a snapshot has named, from 1.
    named: u32,
    /// Number of levels.
    len: u32,
    /// Number of first levels that the exchange is known to publish.
    certain: u32,
    /// Number of first levels that can be changed without other checks: they are in slots, named
    /// and certain.
    plain: u32,
    /// Slots written since they were last published.
    dirty: u16,
    pub(super) side: Side,
    slots: [Level; INLINE],
    /// Positions from [`INLINE`] on, deepest first.
    deep: Vec<Level>,
}

/// Positions from here on share one bit of `unchecked`.
const TAIL: u32 = 63;
const TAIL_BIT: u64 = 1 << TAIL;

/// The bits of positions below `position`, which is at most [`TAIL`].
const fn positions_below(position: u32) -> u64 {
    if position > TAIL { u64::MAX } else { (1 << position) - 1 }
}

/// The bits of nibbles below `position`.
const fn below(position: u32) -> u64 {
    if position >= 16 { u64::MAX } else { (1 << (position * 4)) - 1 }
}

impl Ladder {
    pub(super) fn new(side: Side, depth: Option<u32>) -> Self {
        Self {
            side,
            depth,
            named: 0,
            len: 0,
            certain: 0,
            plain: 0,
            order: IDENTITY,
            dirty: u16::MAX,
            unchecked: 0,
            slots: [Level::NONE; INLINE],
            deep: Vec::new(),
        }
    }

    /// Returns the number of levels shown.
    #[inline]
    pub(super) fn shown(&self) -> u32 {
        self.certain
    }

    /// Returns the levels for readers on other threads, and the slots written since the last call.
    #[inline]
    pub(super) fn publish(&mut self) -> PublishedSide<'_> {
        let dirty = std::mem::take(&mut self.dirty);
        let len = u64::from(self.certain.min(INLINE as u32));
        PublishedSide { order: self.order, len, dirty, slots: &self.slots }
    }

    /// True if more levels are held than are certain.
    pub(super) fn is_partly_uncertain(&self) -> bool {
        self.certain < self.len
    }

    /// Sets the depth of the feed and deletes deeper levels. Remaining levels that were pushed down
    /// while the depth was unknown stay uncertain.
    pub(super) fn set_depth(&mut self, depth: u32) {
        if self.depth != Some(depth) {
            self.depth = Some(depth);
            self.truncate(depth.min(self.len));
            self.note_plain();
        }
    }

    /// Updates the number of plain levels after another count changed.
    #[inline(always)]
    fn note_plain(&mut self) {
        // Certain levels exist, and no existing level is beyond the depth.
        self.plain = self.certain.min(self.named).min(INLINE as u32);
    }

    pub(super) fn depth(&self) -> Option<u32> {
        self.depth
    }

    /// Empties this side and keeps the known depth of `other`.
    pub(super) fn clear_to_depth_of(&mut self, other: &Self) {
        self.clear();
        self.depth = other.depth;
        self.named = other.named;
        self.note_plain();
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.certain = 0;
        self.plain = 0;
        self.unchecked = 0;
        self.deep.clear();
    }

    #[inline(always)]
    fn slot(&self, position: u32) -> usize {
        (self.order >> (position % 16 * 4)) as usize % INLINE
    }

    /// Returns the level at a position from 0, whether it is shown or not.
    #[inline]
    fn at(&self, position: u32) -> Option<&Level> {
        if position >= self.len {
            None
        } else if (position as usize) < INLINE {
            Some(&self.slots[self.slot(position)])
        } else {
            let behind = position as usize - INLINE;
            self.deep.len().checked_sub(behind + 1).and_then(|index| self.deep.get(index))
        }
    }

    /// The best level shown.
    #[inline]
    pub(super) fn best(&self) -> Option<&Level> {
        if self.certain > 0 { Some(&self.slots[self.slot(0)]) } else { None }
    }

    /// The level shown at a position from 0.
    #[inline]
    pub(super) fn get(&self, position: u32) -> Option<&Level> {
        if position < self.certain { self.at(position) } else { None }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Level> {
        (0..self.certain).filter_map(|position| self.at(position))
    }

    /// Checks a level named by the exchange and returns its position.
    #[inline(always)]
    pub(super) fn position(&self, level: u32) -> Result<u32, BookFault> {
        let depth_max = self.depth.unwrap_or(LEVELS_MAX);
        match level.checked_sub(1) {
            Some(position) if position < depth_max => Ok(position),
            _ => Err(BookFault::LevelOutOfRange { side: self.side, level, depth_max }),
        }
    }

    /// Checks that a named level exists and returns its position. The exchange has it, so all
    /// levels down to it are certain.
    #[inline(always)]
    pub(super) fn present(&mut self, level: u32) -> Result<u32, BookFault> {
        let position = self.position(level)?;
        if position >= self.len {
            return Err(BookFault::NoSuchLevel { side: self.side, level, levels: self.len });
        }
        self.named = self.named.max(level);
        if level > self.certain {
            self.show(level);
        }
        self.note_plain();
        Ok(position)
    }

    /// Replaces a plain level. Returns false, with nothing changed, if the level is not plain.
    #[inline(always)]
    pub(super) fn set_plain(&mut self, level: u32, new: &Level) -> bool {
        let position = level.wrapping_sub(1);
        if position >= self.plain {
            return false;
        }
        self.set_in_slot(position, new);
        true
    }

    /// Makes all levels down to this one certain. Levels that become certain must be checked again,
    /// because faults of hidden levels are not reported.
    #[cold]
    fn show(&mut self, level: u32) {
        let revealed = positions_below(level.min(TAIL)) & !positions_below(self.certain.min(TAIL));
        self.unchecked |= revealed | if level > TAIL { TAIL_BIT } else { 0 };
        self.certain = level;
    }

    /// Inserts a level by its position and drops levels beyond the feed's depth. Not inlined, like
    /// `remove`: most updates change a level and can then keep their values in registers.
    #[inline(never)]
    pub(super) fn insert_by_level(&mut self, level: u32, new: &Level) -> Result<(), BookFault> {
        let position = self.position(level)?;
        if position > self.len {
            return Err(BookFault::Hole { side: self.side, level, levels: self.len });
        }
        self.named = self.named.max(level);
        let kept = self.depth.unwrap_or(self.named.max(INLINE as u32));
        if self.len >= kept {
            self.truncate(kept - 1);
        }
        self.insert(position, new);
        if position > self.certain {
            self.show(position);
        }
        // A level pushed below every position named so far may no longer be published.
        let published = self.depth.unwrap_or(self.named);
        self.certain = (self.certain + 1).min(published);
        self.note_plain();
        Ok(())
    }

    /// Inserts a level by its price.
    pub(super) fn insert_by_price(&mut self, position: u32, new: Level) {
        self.insert(position, &new);
        self.certain = self.len;
        self.note_plain();
    }

    #[inline(always)]
    fn insert(&mut self, position: u32, new: &Level) {
        let last = INLINE as u32 - 1;
        if position > last {
            self.insert_deep(position, *new);
        } else {
            if self.len > last {
                self.move_last_deep();
            }
            // The slot behind the last level, or the one just moved out, becomes `position`.
            let free_at = self.len.min(last);
            let free = self.slot(free_at);
            let moved = self.order & below(free_at) & !below(position);
            let kept = self.order & (below(position) | !below(free_at + 1));
            self.order = kept | moved << 4 | (free as u64) << (position * 4);
            self.write(free, new);
        }
        self.len += 1;
        if self.unchecked != 0 {
            self.move_unchecked_away(position);
        }
        self.note_price(position);
    }

    #[cold]
    fn insert_deep(&mut self, position: u32, new: Level) {
        let index = self.deep.len().saturating_sub(position as usize - INLINE);
        self.deep.insert(index, new);
    }

    /// Moves the level in the last of the slots to the vector.
    #[cold]
    fn move_last_deep(&mut self) {
        self.deep.push(self.slots[self.slot(INLINE as u32 - 1)]);
    }

    /// Moves the check bits of this position and all behind it one position further, as the levels
    /// move.
    #[cold]
    fn move_unchecked_away(&mut self, position: u32) {
        let moved = if position < TAIL { self.unchecked & !positions_below(position) } else { 0 };
        self.unchecked = self.unchecked & positions_below(position) | moved << 1 | moved & TAIL_BIT;
    }

    /// Moves the check bits of the positions behind this one up by one, as the levels move.
    #[cold]
    fn move_unchecked_up(&mut self, position: u32) {
        if position < TAIL {
            let below = self.unchecked & positions_below(position);
            let moved = self.unchecked & !positions_below(position + 1);
            self.unchecked = below | (moved & !TAIL_BIT) >> 1 | moved & TAIL_BIT;
        }
    }

    /// Fills a slot field by field: a copy of the whole level would load more bytes at once than
    /// were just stored, which prevents store forwarding.
    #[inline(always)]
    fn write(&mut self, slot: usize, new: &Level) {
        let level = &mut self.slots[slot];
        level.price.mantissa = new.price.mantissa;
        level.price.exponent = new.price.exponent;
        level.size.mantissa = new.size.mantissa;
        level.size.exponent = new.size.exponent;
        level.orders = new.orders;
        self.dirty |= 1 << slot;
    }

    /// Replaces an existing level.
    #[inline(always)]
    pub(super) fn set(&mut self, position: u32, new: &Level) {
        if position as usize >= INLINE {
            return self.set_deep(position, *new);
        }
        self.set_in_slot(position, new);
    }

    #[inline(always)]
    fn set_in_slot(&mut self, position: u32, new: &Level) {
        let slot = self.slot(position);
        let Level { price, .. } = self.slots[slot];
        self.write(slot, new);
        if price.mantissa != new.price.mantissa || price.exponent != new.price.exponent {
            self.note_price(position);
        }
    }

    #[cold]
    fn set_deep(&mut self, position: u32, new: Level) {
        let behind = position as usize - INLINE;
        let index = self.deep.len().checked_sub(behind + 1);
        if let Some(level) = index.and_then(|index| self.deep.get_mut(index)) {
            *level = new;
        }
        self.note_price(position);
    }

    /// Marks a level with a new price, and the level behind it, for comparison with the levels
    /// before them.
    #[inline(never)]
    fn note_price(&mut self, position: u32) {
        self.note_order(position);
        self.note_order(position + 1);
    }

    /// Compares a level with the one before it, and marks it for the check after the message unless
    /// it is clearly worse. Usually nothing is marked, and no branch depends on the position of the
    /// level.
    #[inline(always)]
    fn note_order(&mut self, position: u32) {
        if position as usize >= INLINE {
            self.unchecked |= 1 << position.min(TAIL);
            return;
        }
        let before = self.slots[self.slot(position.wrapping_sub(1))].price;
        let level = self.slots[self.slot(position)].price;
        let (better, worse) = match self.side {
            Side::Bid => (before.mantissa, level.mantissa),
            Side::Offer => (level.mantissa, before.mantissa),
        };
        let is_in_order = (better > worse) & (before.exponent == level.exponent);
        let has_both = (position > 0) & (position < self.len);
        self.unchecked |= u64::from(has_both & !is_in_order) << position;
    }

    /// Deletes a level named by its position.
    #[inline(never)]
    pub(super) fn remove_by_level(&mut self, level: u32) -> Result<(), BookFault> {
        let position = self.present(level)?;
        self.remove(position);
        Ok(())
    }

    /// Changes a level that is not plain, or deletes several.
    #[cold]
    #[inline(never)]
    pub(super) fn change_any(
        &mut self,
        level: u32,
        change: LevelChange,
        new: &Level,
    ) -> Result<(), BookFault> {
        let position = self.present(level)?;
        match change {
            LevelChange::DeleteThru => (0..=position).for_each(|_| self.remove(0)),
            LevelChange::DeleteFrom => self.truncate(position),
            _ => self.set(position, new),
        }
        Ok(())
    }

    /// Deletes an existing level.
    #[inline]
    pub(super) fn remove(&mut self, position: u32) {
        let last = INLINE as u32 - 1;
        if position > last {
            self.remove_deep(position);
        } else {
            let freed = self.slot(position);
            let end = self.len.min(last + 1);
            let moved = self.order & below(end) & !below(position + 1);
            let kept = self.order & (below(position) | !below(end));
            self.order = kept | moved >> 4 | (freed as u64) << ((end - 1) * 4);
            if self.len > last + 1 {
                self.move_deep_to(freed);
            }
        }
        self.len -= 1;
        self.certain -= u32::from(position < self.certain);
        self.note_plain();
        if self.unchecked != 0 {
            self.move_unchecked_up(position);
        }
        self.note_order(position);
    }

    #[cold]
    fn remove_deep(&mut self, position: u32) {
        let behind = position as usize - INLINE;
        if let Some(index) = self.deep.len().checked_sub(behind + 1) {
            self.deep.remove(index);
        }
    }

    /// Moves the best level of the vector to a slot.
    #[cold]
    fn move_deep_to(&mut self, slot: usize) {
        if let Some(level) = self.deep.pop() {
            self.slots[slot] = level;
            self.dirty |= 1 << slot;
        }
    }

    /// Keeps the best `len` levels.
    pub(super) fn truncate(&mut self, len: u32) {
        if len >= self.len {
            return;
        }
        let deep = (len as usize).saturating_sub(INLINE);
        let gone = self.deep.len().saturating_sub(deep);
        self.deep.drain(..gone);
        self.len = len;
        self.certain = self.certain.min(len);
        self.note_plain();
    }

    /// Records that the levels held are those of the exchange, as after a snapshot.
    pub(super) fn note_complete(&mut self) {
        self.named = self.named.max(self.len);
        self.certain = self.len;
        self.note_plain();
    }

    /// Returns the position of a price, or `Err` with the position at which it would be inserted.
    pub(super) fn find(&self, price: super::Amount) -> Result<u32, u32> {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(level) = self.at(middle) else { break };
            match level.price.cmp(&price) {
                std::cmp::Ordering::Equal => return Ok(middle),
                _ if self.side.is_better(level.price, price) => low = middle + 1,
                _ => high = middle,
            }
        }
        Err(low)
    }

    /// Returns the first level shown that is not worse than the one before it.
    pub(super) fn disorder(&self) -> Option<BookFault> {
        self.disorder_in(0, self.certain)
    }

    /// Returns the positions to be checked, and clears them.
    #[inline(always)]
    pub(super) fn take_unchecked(&mut self) -> u64 {
        std::mem::take(&mut self.unchecked)
    }

    /// True if no position is to be checked.
    #[inline(always)]
    pub(super) fn is_checked(&self) -> bool {
        self.unchecked == 0
    }

    /// Compares the levels at these positions with those before them.
    #[inline]
    pub(super) fn disorder_at(&self, unchecked: u64) -> Option<BookFault> {
        if unchecked >> INLINE != 0 && self.certain as usize > INLINE {
            return self.deep_disorder_at(unchecked);
        }
        // The best level has no level before it.
        let mut unchecked = unchecked & positions_below(self.certain) & !1;
        while unchecked != 0 {
            let position = unchecked.trailing_zeros();
            unchecked &= unchecked - 1;
            let before = &self.slots[self.slot(position - 1)];
            let level = &self.slots[self.slot(position)];
            if !self.side.is_better(before.price, level.price) {
                return Some(BookFault::Disordered { side: self.side, level: position + 1 });
            }
        }
        None
    }

    #[cold]
    fn deep_disorder_at(&self, mut unchecked: u64) -> Option<BookFault> {
        if unchecked & TAIL_BIT != 0 && self.certain > TAIL {
            return self.disorder();
        }
        while unchecked != 0 {
            let position = unchecked.trailing_zeros();
            unchecked &= unchecked - 1;
            if let fault @ Some(_) = self.disorder_in(position, position + 1) {
                return fault;
            }
        }
        None
    }

    /// Compares each of these positions with the one before it.
    fn disorder_in(&self, first: u32, end: u32) -> Option<BookFault> {
        let mut before = self.get(first.checked_sub(1).unwrap_or(first))?;
        for position in first.max(1)..end.min(self.certain) {
            let level = self.get(position)?;
            if !self.side.is_better(before.price, level.price) {
                return Some(BookFault::Disordered { side: self.side, level: position + 1 });
            }
            before = level;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Amount;

    fn level(price: i64) -> Level {
        Level { price: Amount::integer(price), size: Amount::integer(1), orders: None }
    }

    fn prices(ladder: &Ladder) -> Vec<i64> {
        ladder.iter().map(|level| level.price.mantissa).collect()
    }

    /// Compares every operation with a plain vector, across the boundary of slots and vector.
    #[test]
    fn a_ladder_does_what_a_vector_does() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut next = |bound: usize| random.usize(..bound);
        let mut ladder = Ladder::new(Side::Bid, None);
        let mut model: Vec<i64> = Vec::new();
        for step in 0..50_000 {
            let len = model.len();
            match next(8) {
                0..=3 if len < 40 => {
                    let at = next(len + 1);
                    ladder.insert_by_price(at as u32, level(step));
                    model.insert(at, step);
                }
                4..=5 if len > 0 => {
                    let at = next(len);
                    ladder.remove(at as u32);
                    model.remove(at);
                }
                6 if len > 0 => {
                    let at = next(len);
                    ladder.set(at as u32, &level(step));
                    model[at] = step;
                }
                7 if next(20) == 0 => {
                    let to = next(len + 1);
                    ladder.truncate(to as u32);
                    model.truncate(to);
                }
                _ => {}
            }
            assert_eq!(prices(&ladder), model, "step {step}");
        }
    }

    #[test]
    fn a_level_pushed_below_those_named_is_not_shown() {
        let mut ladder = Ladder::new(Side::Bid, None);
        for price in 1..=5 {
            ladder.insert_by_level(price as u32, &level(100 - price)).unwrap();
        }
        ladder.insert_by_level(1, &level(100)).unwrap();
        assert_eq!(prices(&ladder), [100, 99, 98, 97, 96], "the level at 95 may be gone");
        let first = ladder.present(1).unwrap();
        ladder.remove(first);
        assert_eq!(prices(&ladder), [99, 98, 97, 96], "and may not come back");
        ladder.insert_by_level(5, &level(95)).unwrap();
        assert_eq!(prices(&ladder), [99, 98, 97, 96, 95]);
    }

    #[test]
    fn naming_a_deeper_level_makes_those_above_it_certain() {
        let mut ladder = Ladder::new(Side::Bid, None);
        for price in 1..=4 {
            ladder.insert_by_level(1, &level(price)).unwrap();
        }
        assert_eq!(prices(&ladder), [4]);
        let third = ladder.present(3).unwrap();
        ladder.set(third, &level(2));
        assert_eq!(prices(&ladder), [4, 3, 2]);
    }

    #[test]
    fn levels_pushed_down_before_the_depth_was_known_stay_uncertain() {
        let mut ladder = Ladder::new(Side::Bid, None);
        // The exchange publishes 3 levels: price 1 is dropped when 4 arrives, and does not return.
        for (position, price) in [(1, 3), (2, 2), (3, 1), (1, 4)] {
            ladder.insert_by_level(position, &level(price)).unwrap();
        }
        ladder.remove(0);
        ladder.set_depth(3);
        assert_eq!(prices(&ladder), [3, 2], "whether 1 is published is not known");
        assert!(ladder.is_partly_uncertain());
        ladder.insert_by_level(3, &level(0)).unwrap();
        assert_eq!(prices(&ladder), [3, 2, 0]);
        assert!(!ladder.is_partly_uncertain());
    }

    /// A level that is not shown is not compared until the exchange names it, or a deeper one.
    #[test]
    fn levels_out_of_order_are_found_when_they_become_visible() {
        let hidden = || {
            let mut ladder = Ladder::new(Side::Bid, None);
            for price in [1, 5, 9] {
                ladder.insert_by_level(1, &level(price)).unwrap();
            }
            let second = ladder.slot(1);
            ladder.slots[second] = level(0);
            assert_eq!(prices(&ladder), [9]);
            let unchecked = ladder.take_unchecked();
            assert_eq!(ladder.disorder_at(unchecked), None, "9, and 0 and 1 behind it");
            ladder
        };
        let found = |mut ladder: Ladder| {
            let unchecked = ladder.take_unchecked();
            ladder.disorder_at(unchecked)
        };
        let disordered = Some(BookFault::Disordered { side: Side::Bid, level: 3 });
        let mut named = hidden();
        named.present(3).unwrap();
        assert_eq!(found(named), disordered);
        let mut behind = hidden();
        behind.insert_by_level(4, &level(-1)).unwrap();
        assert_eq!(found(behind), disordered);
    }

    #[test]
    fn a_known_depth_drops_what_is_pushed_below_it() {
        let mut ladder = Ladder::new(Side::Bid, Some(2));
        for price in 1..=3 {
            ladder.insert_by_level(1, &level(price)).unwrap();
        }
        assert_eq!(prices(&ladder), [3, 2]);
        ladder.remove(0);
        assert_eq!(prices(&ladder), [2]);
        assert!(ladder.insert_by_level(3, &level(1)).is_err());
    }
}
