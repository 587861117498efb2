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
//! use tickwire_distribution::cdr::{Decoder, Encoder, Encoding};
//! use tickwire_distribution::{Fields, Quote, Sample, security_topic};
//!
//! let quote = Quote { order_id: 7, price: 101, ..Quote::default() };
//! let mut bytes = Vec::new();
//! quote.encode_members(&mut Encoder::new(&mut bytes, Encoding::Xcdr1))?;
//!
//! let mut received = Quote::default();
//! received.decode_members(&mut Decoder::new(&bytes, Encoding::Xcdr1))?;
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

pub use delivery::{Delivery, Held, SecurityList, TopicSet, echo_topic, is_echo_topic};
pub use echoes::{EchoSummary, Echoes};
pub use field::{Field, Fields};
pub use ledger::{FromPublisher, Known, Ledger, Standing};
pub use outlets::{OutletError, Outlets};
pub use publisher::{Outlet, Publisher, PublisherCounters};
pub use qos::{Durability, History, Qos, Reliability};
pub use sample::{
    Book, BookLevel, BookTop, Change, Decimal, Definition, Done, EchoMark, MarketData,
    MarketDataEntry, New, Quote, QuoteRequest, RelatedSymbol, Remove, Sample, Status, Total, Trade,
    security_topic,
};
pub use stations::{Arrival, Role, Stations};
pub use subscriber::{Subscriber, SubscriberOptions};
pub use transport::{
    EchoContents, InstanceState, Listener, Participant, ParticipantId, RawReader, RawSample,
    RawWriter, Received, SampleInfo, TransportError, WaitSet,
};
pub use typed::{Reader, Writer};
