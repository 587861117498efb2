//! Typed samples: Rust types for the IDL files of the crate `tickwire-dds`.

mod complex;
mod done;
mod market;
mod simple;

use std::fmt::Debug;

use crate::field::SampleFields;

pub use complex::{MarketData, MarketDataEntry, QuoteRequest, RelatedSymbol};
pub use done::{Done, EchoMark, Total};
pub use market::{
    BookLevel, BookSample, BookTop, DefinitionSample, SampleDecimal, StatusSample, TradeSample,
};
pub use simple::{Change, New, Quote, Remove};

/// A sample type, whose values can be written to a topic and read from it.
pub trait Sample: SampleFields + Clone + Debug + PartialEq + Send + 'static {
    /// The topic of the type, if one topic has all securities.
    const TOPIC: &'static str;

    /// Returns the security id if that is the key; `None` for a type without key or with another key.
    fn security(&self) -> Option<u32> {
        None
    }
}

/// Returns the name of the topic of one security, if each security has its own topic.
///
/// # Examples
/// ```
/// use tickwire_distribution::{MarketData, security_topic};
/// assert_eq!(security_topic::<MarketData>(42), "MarketData/42");
/// ```
#[must_use]
pub fn security_topic<S: Sample>(security_id: u32) -> String {
    format!("{}/{security_id}", S::TOPIC)
}
