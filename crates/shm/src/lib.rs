//! Broadcast of samples between the processes of one host, in shared memory.
//!
//! A [`ShmWriter`] publishes samples of up to a fixed size into a ring in a file that any number of [`ShmReader`]s map
//! read-only. Publishing costs the same with 1, 4 and 10 readers, never waits for one, and no reader can change what
//! others read. A writer that has no deadline, such as one that replays a file, may ask before it publishes whether a
//! slow reader has room ([`ShmWriter::has_room`]). A reader that falls a whole ring behind learns exactly which samples it
//! lost ([`ShmEvent::Gap`]).
//!
//! Samples may have keys: a reader that joins late gets the last value of every key and continues from there, with no
//! sample missing or repeated ([`ShmReader::last_values`]).
//!
//! If a writer is killed, the next one continues the channel with the same sequence numbers, and readers get
//! [`ShmEvent::Restarted`]. A writer that ends the channel states the number of its samples ([`ShmEvent::Done`]).
//!
//! The crate runs on 64-bit little-endian Linux. It handles SIGBUS for its own mappings, so that a truncated file is an
//! error instead of a crash; other faults go to the previous handler. See `docs/shared-memory.md` for the layout.
//!
//! # Examples
//! ```
//! use std::time::Duration;
//! use tickwire_shm::{ReaderWait, Schema, ShmChannel, ShmEvent, ShmReader, ShmWriter, Start, WriterOptions};
//!
//! let channel = ShmChannel::new(&format!("example-{}", std::process::id()))?;
//! let schema = Schema::new("Price", b"struct Price { long long value; };")?;
//! let mut writer = ShmWriter::open(&channel, &schema, &WriterOptions::default())?;
//! let mut reader = ShmReader::open(&channel, &schema, Start::Now, ReaderWait::Block)?;
//!
//! let key = writer.key(b"ESZ6")?;
//! writer.publish_keyed(key, &101_i64.to_le_bytes())?;
//! writer.finish()?;
//!
//! let timeout = Duration::from_secs(1);
//! match reader.wait(timeout)? {
//!     Some(ShmEvent::Sample(sample)) => assert_eq!(sample.bytes, 101_i64.to_le_bytes()),
//!     other => panic!("{other:?}"),
//! }
//! assert_eq!(reader.wait(timeout)?, Some(ShmEvent::Done { samples: 1, seq_num: 1 }));
//! # Ok::<(), tickwire_shm::ShmError>(())
//! ```

mod bell;
mod cell;
mod channel;
mod error;
mod fault;
mod identity;
#[cfg(test)]
mod kills;
mod layout;
mod mapping;
mod memory;
#[cfg(test)]
mod models;
mod position;
mod reader;
mod ring;
mod schema;
mod system;
#[cfg(test)]
mod threads;
mod values;
mod wait;
mod writer;

pub use channel::{Readers, ShmChannel, check_directory};
pub use error::{Damage, ShmError, ShmOperation};
pub use reader::{LastValues, ShmEvent, ShmReader, ShmSample, Start};
pub use schema::Schema;
pub use system::effective_user;
pub use wait::ReaderWait;
pub use writer::{Pulse, READERS_COUNTED_MAX, SampleKey, ShmWriter, WriterOptions};
