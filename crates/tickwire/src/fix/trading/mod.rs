//! `tickwire fix server` and `client`: a benchmark of a trading system that sends orders and receives
//! execution reports.

pub mod client;
mod dialect;
mod journal;
mod kills;
mod ledger;
mod menu;
mod order;
mod report;
pub mod server;
mod sessions;
pub mod soak;
mod spans;
mod times;
mod watch;
