//! Multicast sockets, and the loops that drive feed handlers.
//!
//! This crate moves bytes and time between the operating system and protocol logic without I/O: its
//! own and that of `tickwire-feed`. Multicast stays on loopback unless an interface is named.
//!
//! # Examples
//!
//! This example sends a packet to a multicast group on the loopback interface and receives it. In a
//! program, a [`Reception`](reception::Reception) drives the handlers of channels;
//! `examples/embed_feed.rs` in the repository is a complete example.
//!
//! ```
//! use std::time::Duration;
//! use tickwire_net::clock::KernelTimes;
//! use tickwire_net::multicast::{
//!     Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions, wait_readable,
//! };
//!
//! let endpoint = Endpoint::loopback("239.1.2.3".parse()?, 31_337);
//! let mut receivers = [Receiver::open(endpoint, ReceiverOptions::default())?];
//! Sender::open(endpoint, SenderOptions::default())?.send(b"a packet")?;
//!
//! assert!(wait_readable(&receivers, Duration::from_secs(5))?);
//! let [receiver] = &mut receivers;
//! receiver.fill(&mut KernelTimes::new())?;
//! let datagram = receiver.take().ok_or("a packet is there")?;
//! assert_eq!(datagram.bytes, b"a packet");
//! println!("received {} ns after 1970", datagram.received_unix_ns);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `playback`, on by default | Plays captures to multicast lines, optionally with injected faults. |
//! | `tcp-replay`, on by default | Fills gaps from a TCP replay service. |
//! | `xdp` | AF_XDP: receives packets before the network stack, by a BPF program at the interface. |
//! | `feed-files` | Converts channels of feed files to endpoints and options, using the fields of the templates. |

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
    HostError, Stop, SystemOperation, Wait, WaitPolicy, WaitStep, affinity, clock, histogram,
    process,
};
