//! Sockets, clocks and the loops that drive the engines.
//!
//! Everything that decides lies in cores without I/O, here and in `tickwire-feed`; this crate moves
//! bytes and time between them and the operating system. Nothing leaves the machine unless an
//! interface is named: multicast stays on loopback by default.

pub mod affinity;
pub mod channel_settings;
pub mod clock;
mod error;
pub mod file_watch;
pub mod fix;
pub mod histogram;
pub mod http;
pub mod inject;
pub mod latency;
pub mod log;
pub mod metrics;
pub mod multicast;
pub mod playback;
pub mod process;
pub mod reception;
pub mod record;
pub mod replay;
pub mod replaying;
mod stop;
pub mod tcp_replay;
pub mod timed;

pub use error::{Action, Error};
pub use stop::Stop;
