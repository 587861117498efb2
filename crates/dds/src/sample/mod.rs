//! The typed samples: what the IDL files in `idl/` say, as Rust values.

mod complex;
mod done;
mod simple;

use std::fmt::Debug;

use crate::cyclone::Layout;

pub use complex::{MarketData, MarketDataEntry, QuoteRequest, RelatedSymbol};
pub use done::Done;
pub use simple::{Change, New, Quote, Remove};

/// A value that can be written to and read from a topic.
///
/// Closed: a new type needs an IDL file and a descriptor in this crate.
pub trait Sample: Layout + Clone + Default + Debug + PartialEq + Send + 'static {
    /// The type's name on the wire; writer and reader must agree on it.
    const TYPE_NAME: &'static str;

    /// The topic that carries the type where there is one topic for all securities.
    const TOPIC: &'static str;

    /// The security that is the key, `None` for a type without key.
    fn key(&self) -> Option<u32>;
}

/// Name of the topic that holds one security alone, where topics are one a security.
///
/// # Examples
/// ```
/// use tickwire_dds::{MarketData, security_topic};
/// assert_eq!(security_topic::<MarketData>(42), "MarketData/42");
/// ```
#[must_use]
pub fn security_topic<S: Sample>(security_id: u32) -> String {
    format!("{}/{security_id}", S::TOPIC)
}
