//! Market-data samples on their way from one process to many.
//!
//! The crate is free of any transport: it has the [samples](Sample), their [bytes](cdr), what
//! [fills](fill) them from decoded FAST messages, [types made of templates](templates), a [`Publisher`] and a
//! [`Subscriber`], and the traits that a [transport] implements. The crate `tickwire-dds` carries samples over DDS.

pub mod cdr;
mod delivery;
mod field;
pub mod fill;
mod ledger;
#[cfg(feature = "market")]
pub mod market;
mod publisher;
mod qos;
mod sample;
mod stations;
mod subscriber;
pub mod templates;
pub mod transport;
mod typed;
pub mod types;

pub use delivery::{Delivery, Held, SecurityList, TopicSet, echo_topic};
pub use field::{Field, Fields};
pub use ledger::{FromPublisher, Known, Ledger, Standing};
pub use publisher::{Outlet, Publisher, PublisherCounters};
pub use qos::{Durability, History, Qos, Reliability};
pub use sample::{
    Book, BookLevel, BookTop, Change, Decimal, Definition, Done, MarketData, MarketDataEntry, New,
    Quote, QuoteRequest, RelatedSymbol, Remove, Sample, Status, Total, Trade, security_topic,
};
pub use stations::{Arrival, Role, Stations};
pub use subscriber::{Subscriber, SubscriberOptions};
pub use transport::{
    InstanceState, Listener, Participant, ParticipantId, RawReader, RawSample, RawWriter, Received,
    SampleInfo, TransportError, WaitSet,
};
pub use typed::{Reader, Writer};
