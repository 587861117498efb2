//! Samples of the distribution between the processes of one host, in shared memory.
//!
//! Each writer has a channel of its own ([`tickwire_shm`]), in a file whose name says topic, partition and participant, and a
//! reader reads all channels of its topic: writers are discovered by the names in a directory.
//! What differs from DDS:
//!
//! | | here |
//! |---|---|
//! | reliability | a writer never waits. A reader that falls a ring behind loses samples, which [`lost`](tickwire_distribution::RawReader::lost) counts and sequence numbers show; with transient local durability it gets the last one of each key |
//! | acknowledgement | there is none: readers have what is in the ring |
//! | last values | one a key, for readers that ask for transient local durability; a depth above 1 gives one |
//! | sizes | a sample longer than its ring's slots, or a key of more than 256 bytes, is an error that names the setting |
//! | a channel that cannot be read | is left out and told by [`take_refusals`](tickwire_distribution::RawReader::take_refusals); the others are read |
//! | partitions | a writer has at most one; names have no wildcards |
//! | matching | a reader looks for writers every 20 ms, and every 100 ms whether they live. A writer in another process namespace is not seen to end |
//! | listeners | run on a thread of their own |
//!
//! # Examples
//! ```
//! use std::time::Duration;
//! use tickwire_distribution::{Participant, Qos, Quote, Received};
//! use tickwire_shm_transport::{ShmConfig, ShmParticipant};
//!
//! let directory = std::env::temp_dir().join(format!("tickwire-example-{}", std::process::id()));
//! let participant = ShmParticipant::join(ShmConfig::in_directory(directory));
//! let mut reader = participant.reader::<Quote>("Quote", &Qos::reliable())?;
//! let mut writer = participant.writer::<Quote>("Quote", &Qos::reliable())?;
//!
//! let quote = Quote { order_id: 7, price: 101, ..Quote::default() };
//! writer.write(&quote)?;
//!
//! let mut received = Received::default();
//! assert!(reader.wait(Duration::from_secs(5))?);
//! assert!(reader.take(&mut received)?);
//! assert_eq!(received.sample, quote);
//! # Ok::<(), tickwire_shm_transport::Error>(())
//! ```

mod beats;
mod config;
mod error;
mod listener;
mod name;
mod participant;
mod reader;
mod sample;
mod sources;
mod wait_set;
mod writer;

pub use config::{Room, ShmConfig};
pub use error::Error;
pub use listener::ShmListener;
pub use participant::ShmParticipant;
pub use reader::ShmRawReader;
pub use wait_set::ShmWaitSet;
pub use writer::ShmRawWriter;
