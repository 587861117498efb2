//! What the securities of a feed are like.

use fastrand::Rng;
use std::ops::RangeInclusive;

/// What the securities of a feed are like.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// How many there are.
    pub(crate) securities: u32,
    /// SecurityID of the first.
    pub(crate) first_id: u32,
    /// From one SecurityID to the next.
    pub(crate) id_step: u32,
    /// Levels a side that the feed shows.
    pub(crate) depth: usize,
    /// Where prices begin, in ticks.
    pub(crate) price_ticks: RangeInclusive<i64>,
    /// Mantissa of one tick.
    pub(crate) tick: i64,
    /// One in so many securities has prices with two decimals; 0 for none.
    pub(crate) decimals_every: u32,
    /// Lots of a new order.
    pub(crate) lots: RangeInclusive<u32>,
    /// Size of a lot.
    pub(crate) lot: u32,
}

impl Profile {
    pub(crate) fn exponent_of(&self, index: u32) -> i32 {
        let has_decimals =
            self.decimals_every > 0 && (index + 1).is_multiple_of(self.decimals_every);
        if has_decimals { -2 } else { 0 }
    }

    pub(crate) fn size(&self, random: &mut Rng) -> u32 {
        self.lot * random.u32(self.lots.clone())
    }
}
