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
    /// Exponent of the prices of a security, by its index.
    pub(crate) exponent: fn(u32) -> i32,
    /// Lots of a new order.
    pub(crate) lots: RangeInclusive<u32>,
    /// Size of a lot.
    pub(crate) lot: u32,
}

impl Profile {
    pub(crate) fn size(&self, random: &mut Rng) -> u32 {
        self.lot * random.u32(self.lots.clone())
    }
}
