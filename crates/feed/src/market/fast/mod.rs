//! Interprets FAST messages of FIX market data.
//!
//! [`MarketDataAdapter`] reads messages that carry entries with MDEntryType (269). It finds fields
//! by FIX tag once per template. It then reads each message through typed slots (dynamic engine) or
//! through a visitor whose tags are constants (generated code).

mod bind;
mod entries;
mod error;
mod messages;
mod options;
mod orders;
mod quick;
mod row;
mod tags;
mod visit;

pub use error::MarketDataError;
pub use messages::MarketDataAdapter;
pub(super) use options::has_entries;
pub use options::{AdapterOptions, BookModel, KEY_FIELDS_MAX};
pub use orders::{OrderAdapter, OrderFields};

#[cfg(test)]
mod tests;
