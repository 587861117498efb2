//! Market-data samples on their way from one process to many.
//!
//! The crate is free of any transport: it has the [samples](Sample), their [bytes](cdr), what
//! [fills](fill) them from decoded FAST messages, and the traits that a [transport] implements. The crate
//! `tickwire-dds` carries samples over DDS.

pub mod cdr;
mod field;
pub mod fill;
mod qos;
mod sample;
pub mod transport;
mod typed;
pub mod types;

pub use field::{Field, Fields};
pub use qos::{Durability, History, Qos, Reliability};
pub use sample::{
    Book, BookLevel, BookTop, Change, Decimal, Definition, Done, MarketData, MarketDataEntry, New,
    Quote, QuoteRequest, RelatedSymbol, Remove, Sample, Status, Trade, security_topic,
};
pub use transport::{
    InstanceState, Listener, Participant, ParticipantId, RawReader, RawSample, RawWriter, Received,
    SampleInfo, TransportError, WaitSet,
};
pub use typed::{Reader, Writer};
