//! `tickwire fix server` and `client`: the measurement of a trading system, orders one way, execution
//! reports the other.

pub mod client;
mod journal;
mod kills;
mod ledger;
mod menu;
mod order;
mod report;
pub mod server;
mod sessions;
pub mod soak;
mod times;
