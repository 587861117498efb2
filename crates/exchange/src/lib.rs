//! A simulated exchange: reproducible feeds from a seed, and the true order books behind them.
//!
//! [`Options`] describe a feed. [`Generator`] generates it as an iterator of [`GeneratedPacket`]s as sent on
//! the wire, each with its messages before encoding ([`MessageDraft`]). Every feed has the same simulated
//! market behind it: prices move, and orders arrive, shrink, trade and are cancelled.
//! [`Generator::truth`] holds the book of every security after every packet.
//!
//! [`day`] simulates a whole trading day on a channel: updates of levels or orders, snapshots,
//! definitions, status, day changes and heartbeats. [`replay_server`] resends missed messages over
//! TCP.
//!
//! Dictionaries are reset before every packet, so that a lost packet does not affect the next. This
//! crate does not simulate loss, duplication and reordering.
//!
//! # Examples
//!
//! ```
//! use tickwire_exchange::{Generator, Options};
//! use tickwire_fast::{Decoder, DecoderOptions, ResetPolicy};
//!
//! let options = Options { messages: 100, ..Options::simple() };
//! let mut generator = Generator::new(&options)?;
//! let decoder_options = DecoderOptions::default().reset(ResetPolicy::Packet);
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
//! # Ok::<(), tickwire_exchange::ExchangeError>(())
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
pub use draft::{DraftValue, MessageDraft};
pub use error::ExchangeError;
pub use generator::{GeneratedPacket, Generator};
pub use options::{CmeShape, FeedKind, FeedShape, Options};
pub use truth::{BookTruth, TrueBook};
