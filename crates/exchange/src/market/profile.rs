//! Properties of the securities of a feed.

use fastrand::Rng;
use std::ops::RangeInclusive;

/// Properties of the securities of a feed.
#[derive(Clone, Debug)]
pub(crate) struct MarketProfile {
    /// Number of securities.
    pub(crate) securities: u32,
    /// SecurityID of the first.
    pub(crate) first_id: u32,
    /// Step from one SecurityID to the next.
    pub(crate) id_step: u32,
    /// Published levels per side.
    pub(crate) depth: usize,
    /// Range of the initial prices, in ticks.
    pub(crate) price_ticks: RangeInclusive<i64>,
    /// Mantissa of one tick.
    pub(crate) tick: i64,
    /// Exponent of the prices of a security, by its index.
    pub(crate) exponent: fn(u32) -> i32,
    /// Size of a new order in lots.
    pub(crate) lots: RangeInclusive<u32>,
    /// Size of a lot.
    pub(crate) lot: u32,
}

impl MarketProfile {
    pub(crate) fn size(&self, random: &mut Rng) -> u32 {
        self.lot * random.u32(self.lots.clone())
    }
}
