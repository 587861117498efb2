//! FAST messages of FIX market data to what they say about the market.
//!
//! [`MarketDataAdapter`] reads messages that carry entries with MDEntryType (269). Fields are found by
//! FIX tag, once a template; a message is then read through typed slots (dynamic engine) or a visitor
//! whose tags are constants (generated code).

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
