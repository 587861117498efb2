//! Typed market-data samples over OMG DDS.
//!
//! A program opens a [`Domain`], joins it with a participant, and creates a [`SampleWriter`] or [`SampleReader`] for each
//! topic. The middleware is Eclipse Cyclone DDS, linked statically, which speaks DDSI-RTPS: subscribers of
//! other vendors that compile the IDL files in `idl/` receive the same values. Other code uses the traits of
//! `tickwire-distribution`, which this crate implements; only one module calls Cyclone.
//!
//! Unless the configuration says otherwise, nothing leaves the machine.
//!
//! Building needs cmake, gcc and g++. Cyclone DDS is used under its BSD-3-Clause licence (Eclipse
//! Distribution License 1.0); a program that links it must carry that notice.
//!
//! # Examples
//! ```
//! use std::time::Duration;
//! use tickwire_dds::{Domain, DomainConfig, Participant, Qos, Quote, ReceivedSample};
//!
//! let domain = Domain::open(41, &DomainConfig::default())?;
//! let participant = domain.join()?;
//! let mut reader = participant.reader::<Quote>("Quote", &Qos::reliable())?;
//! let mut writer = participant.writer::<Quote>("Quote", &Qos::reliable())?;
//! writer.wait_matched(1, Duration::from_secs(5))?;
//!
//! let quote = Quote { order_id: 7, price: 101, ..Quote::default() };
//! writer.write(&quote)?;
//!
//! let mut received = ReceivedSample::default();
//! assert!(reader.wait(Duration::from_secs(5))?);
//! assert!(reader.take(&mut received)?);
//! assert_eq!(received.sample, quote);
//! # Ok::<(), tickwire_dds::DdsError>(())
//! ```

mod config;
mod cyclone;
mod error;

pub use config::{DOMAIN_ID_MAX, DomainConfig, DomainNetwork};
pub use cyclone::{
    CycloneListener, CycloneParticipant, CycloneRawReader, CycloneRawWriter, Domain, ReaderWaitSet,
    middleware_complaints,
};
pub use error::{DdsError, DdsOperation};
pub use tickwire_distribution::cdr::CdrEncoding;
pub use tickwire_distribution::types::{MemberType, StructType};
pub use tickwire_distribution::{
    BookLevel, BookSample, BookTop, Change, DefinitionSample, Done, Durability, History,
    InstanceState, Listener, MarketData, MarketDataEntry, New, Participant, ParticipantId, Qos,
    Quote, QuoteRequest, RawReader, RawSample, RawWriter, ReceivedSample, RelatedSymbol,
    Reliability, Remove, Sample, SampleDecimal, SampleFields, SampleInfo, SampleReader,
    SampleWriter, StatusSample, TradeSample, TransportError, WaitSet, security_topic,
};

/// Writes samples of one type to one topic.
pub type CycloneWriter<S> = tickwire_distribution::SampleWriter<S, CycloneRawWriter>;
/// Reads samples of one type from one topic.
pub type CycloneReader<S> = tickwire_distribution::SampleReader<S, CycloneRawReader>;
