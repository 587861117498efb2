//! Transport of samples between the processes of one host, in shared memory.
//!
//! Each writer has a channel of its own ([`tickwire_shm`]), in a file whose name states topic, partition and
//! participant. A reader reads all channels of its topic. It finds writers by the names of the files in a directory.
//!
//! Differences from DDS:
//!
//! | aspect | shared memory |
//! |---|---|
//! | reliability | A writer never waits, unless it keeps all samples: then it waits, for at most `max_blocking`, for reliable readers that keep all samples too. A reader that falls a whole ring behind loses samples: [`lost`](tickwire_distribution::RawReader::lost) counts them, and sequence numbers show them. With transient local durability it then gets the last lost sample of each key. |
//! | acknowledgement | None: samples stay readable while they are in the ring. |
//! | last values | One for each key, for readers with transient local durability, even if the depth of the history is above 1. |
//! | sizes | A sample longer than the slots of its ring is an error that names the setting; a key longer than 256 bytes is an error too. |
//! | unreadable channels | Skipped and reported by [`take_refusals`](tickwire_distribution::RawReader::take_refusals); the others are read. |
//! | partitions | A writer has at most one; names have no wildcards. |
//! | matching | A participant looks for new writers every 20 ms and checks every 100 ms whether writers live. A writer in another PID namespace counts as gone after 3 s without a heartbeat. |
//! | listeners | Each runs on a thread of its own. |
//!
//! # Examples
//! ```
//! use std::time::Duration;
//! use tickwire_distribution::{Participant, Qos, Quote, ReceivedSample};
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
//! let mut received = ReceivedSample::default();
//! assert!(reader.wait(Duration::from_secs(5))?);
//! assert!(reader.take(&mut received)?);
//! assert_eq!(received.sample, quote);
//! # Ok::<(), tickwire_shm_transport::ShmTransportError>(())
//! ```

mod beats;
mod config;
mod directory;
mod error;
mod left;
mod listener;
mod name;
mod participant;
mod reader;
mod sample;
mod search;
mod sources;
mod wait_set;
mod writer;

pub use config::{RingSize, ShmConfig};
pub use error::ShmTransportError;
pub use left::LeftChannels;
pub use listener::ShmListener;
pub use participant::ShmParticipant;
pub use reader::ShmRawReader;
pub use search::PublisherSearch;
pub use wait_set::ShmWaitSet;
pub use writer::ShmRawWriter;
