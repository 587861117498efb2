//! The market behind the feeds: securities with every order in their books.
//!
//! Prices move; orders arrive near them, shrink, are cancelled and trade. Books never cross. Each
//! feed publishes the events in its own form: by order, or by price level.

mod change;
mod orders;
mod profile;
mod security;

pub(crate) use change::{DepthAction, DepthChange, MarketChange, OrderChangeAction, Tick};
pub(crate) use profile::MarketProfile;
pub(crate) use security::Security;

use fastrand::Rng;

/// All securities and the clock.
#[derive(Clone, Debug)]
pub(crate) struct Market {
    pub(crate) random: Rng,
    pub(crate) profile: MarketProfile,
    pub(crate) securities: Vec<Security>,
    /// Id of the newest order.
    pub(crate) order_id: u32,
    /// Milliseconds since midnight.
    pub(crate) time_ms: u64,
}

/// 09:30:00.000.
const OPENING_MS: u64 = 34_200_000;
/// The clock stops before midnight.
const CLOSING_MS: u64 = 86_399_999;
const FIRST_ORDER_ID: u32 = 1_000_000;

impl Market {
    pub(crate) fn new(profile: MarketProfile, seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let securities = (0..profile.securities)
            .map(|index| Security::new(index, &profile, &mut random))
            .collect();
        Self { random, profile, securities, order_id: FIRST_ORDER_ID, time_ms: OPENING_MS }
    }

    /// Advances the clock to the next message.
    pub(crate) fn advance(&mut self, ms_max: u64) {
        self.time_ms = (self.time_ms + self.random.u64(0..=ms_max)).min(CLOSING_MS);
    }

    /// Returns the index of a random security; low indices are more frequent.
    pub(crate) fn any_security(&mut self) -> usize {
        let count = self.securities.len();
        self.random.usize(0..count).min(self.random.usize(0..count))
    }
}
