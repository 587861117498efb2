//! UDP multicast, in and out.
//!
//! An [`Endpoint`] is a group, a port and the interface that both ends use: loopback unless another
//! is named, where multicast works without any privilege. [`Sender`] sends to it; [`Receiver`] takes
//! what comes in batches, each packet with the time that the kernel received it, and counts what
//! the kernel dropped; [`BackEnd`] says where it takes them. A [`Poller`] waits for any number of receivers.
//!
//! A group that is no multicast address is a plain host: the same code then speaks unicast UDP.

mod endpoint;
mod interface;
mod poller;
mod receiver;
mod sender;

pub use endpoint::{DEFAULT_GROUP, DEFAULT_PORT, Endpoint};
pub use interface::{UnknownInterface, interface_address, interface_index};
pub use poller::Poller;
pub use receiver::{
    BackEnd, Datagram, MEASURE_EVERY_DEFAULT, PACKET_BYTES_MAX_DEFAULT,
    RECEIVE_BUFFER_BYTES_DEFAULT, Receiver, ReceiverCounters, ReceiverOptions, wait_readable,
};
pub use sender::{Sender, SenderOptions};
