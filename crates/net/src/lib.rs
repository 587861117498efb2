//! Multicast sockets, and the loops that drive feed handlers.
//!
//! Protocol logic is in cores without I/O, here and in `tickwire-feed`. This crate moves bytes and
//! time between them and the operating system. Multicast stays on loopback unless an interface is
//! named.

#[cfg(feature = "feed-files")]
pub mod channel_settings;
pub mod file_watch;
#[cfg(feature = "playback")]
pub mod inject;
pub mod log;
pub mod multicast;
pub mod packets;
#[cfg(feature = "playback")]
pub mod playback;
pub mod reception;
pub mod record;
pub mod replay;
#[cfg(feature = "tcp-replay")]
pub mod replaying;
#[cfg(feature = "tcp-replay")]
pub mod tcp_replay;

pub use tickwire_host::{
    Action, Error, Step, Stop, Wait, Waiting, affinity, clock, histogram, process,
};
