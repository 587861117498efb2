//! Distribution of market-data samples from one process to many.
//!
//! The crate contains no transport. It defines the [samples](Sample) and their [encoding](cdr), [fills](fill) samples
//! from decoded FAST messages, and generates [types from templates](templates). It has a [`Publisher`], a
//! [`Subscriber`], publishers over several transports at once ([`Outlets`]), the [`Echoes`] of subscribers, and the traits
//! that a [transport] implements. The crate `tickwire-dds` carries samples over DDS,
//! `tickwire-shm-transport` over shared memory.
//!
//! # Examples
//!
//! A sample in the encoding of DDS (CDR), which every transport carries:
//!
//! ```
//! use tickwire_distribution::cdr::{CdrEncoding, SampleDecoder, SampleEncoder};
//! use tickwire_distribution::{Quote, Sample, SampleFields, security_topic};
//!
//! let quote = Quote { order_id: 7, price: 101, ..Quote::default() };
//! let mut bytes = Vec::new();
//! quote.encode_members(&mut SampleEncoder::new(&mut bytes, CdrEncoding::Xcdr1))?;
//!
//! let mut received = Quote::default();
//! received.decode_members(&mut SampleDecoder::new(&bytes, CdrEncoding::Xcdr1))?;
//! assert_eq!(received, quote);
//!
//! // One topic for all securities, or one for each.
//! assert_eq!((Quote::TOPIC, security_topic::<Quote>(42).as_str()), ("Quote", "Quote/42"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `market` | Samples of the feed handler's books and events. |

pub mod cdr;
mod delivery;
mod echoes;
mod field;
pub mod fill;
mod ledger;
#[cfg(feature = "market")]
pub mod market;
mod outlets;
mod publisher;
mod qos;
mod sample;
mod stations;
mod subscriber;
pub mod templates;
pub mod transport;
mod typed;
pub mod types;

pub use delivery::{
    DeliverySettings, HistoryDepth, SecurityList, TopicSet, echo_topic, is_echo_topic,
};
pub use echoes::{EchoSummary, Echoes};
pub use field::{SampleField, SampleFields};
pub use ledger::{FromPublisher, Known, PublisherStatus, SampleLedger};
pub use outlets::{OutletError, Outlets};
pub use publisher::{Outlet, Publisher, PublisherCounters};
pub use qos::{Durability, History, Qos, Reliability};
pub use sample::{
    BookLevel, BookSample, BookTop, Change, DefinitionSample, Done, EchoMark, MarketData,
    MarketDataEntry, New, Quote, QuoteRequest, RelatedSymbol, Remove, Sample, SampleDecimal,
    StatusSample, Total, TradeSample, security_topic,
};
pub use stations::{SampleArrival, StationRole, Stations};
pub use subscriber::{Subscriber, SubscriberOptions};
pub use transport::{
    EchoContents, InstanceState, Listener, Participant, ParticipantId, RawReader, RawSample,
    RawWriter, ReceivedSample, SampleInfo, TransportError, WaitSet,
};
pub use typed::{SampleReader, SampleWriter};
