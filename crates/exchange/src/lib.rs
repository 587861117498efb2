//! A simulated exchange: feeds that are the same for the same seed, and the true order books behind
//! them.
//!
//! [`Options`] say what to make, [`Generator`] makes it: an iterator of [`Packet`]s as they go on the
//! wire, each with the messages as they were made up ([`Draft`]) before any codec saw them. Behind
//! every feed is one exchange: prices wander, orders come, shrink, are cancelled and trade. The
//! generator knows the book of every security after every packet: [`Generator::truth`].
//!
//! [`day`] plays a whole trading day on a channel: updates of levels or orders, snapshots, definitions, status,
//! day changes and heartbeats. [`replay_server`] sends missed messages again by TCP.
//!
//! Dictionaries are reset before every packet, so that a packet can be lost without harm to the
//! next. Loss, duplication and reordering are not made here.
//!
//! # Examples
//!
//! ```
//! use tickwire_exchange::{Generator, Options};
//! use tickwire_fast::{Decoder, DecoderOptions, ResetPolicy};
//!
//! let options = Options { messages: 100, ..Options::simple() };
//! let mut generator = Generator::new(&options)?;
//! let decoder_options = DecoderOptions { reset: ResetPolicy::Packet, ..Default::default() };
//! let mut decoder = Decoder::with_options(generator.program().clone(), decoder_options);
//! while let Some(packet) = generator.next_packet()? {
//!     decoder.begin_packet();
//!     let mut rest = &packet.bytes[..];
//!     for draft in &packet.messages {
//!         let decoded = decoder.decode(rest).expect("packets are right");
//!         assert_eq!(generator.binding().difference(decoded.message, draft), None);
//!         rest = &rest[decoded.len..];
//!     }
//! }
//! // 100 messages and Done.
//! assert_eq!(generator.truth().messages(), 101);
//! # Ok::<(), tickwire_exchange::Error>(())
//! ```

#![forbid(unsafe_code)]

mod binding;
mod cme;
mod complex;
pub mod day;
mod depth;
mod draft;
mod error;
mod fix;
mod generator;
mod market;
mod options;
mod packer;
mod random_cme;
pub mod replay_server;
mod shaped;
mod simple;
mod source;
pub mod templates;
mod truth;

pub use binding::Binding;
pub use draft::{Draft, Value};
pub use error::Error;
pub use generator::{Generator, Packet};
pub use options::{CmeShape, Feed, FeedShape, Options};
pub use truth::{TrueBook, Truth};
