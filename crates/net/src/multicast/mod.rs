//! UDP multicast, sending and receiving.
//!
//! An [`Endpoint`] is a group, a port and the interface that both ends use. The default interface
//! is loopback, on which multicast works without privileges. [`Sender`] sends to it. [`Receiver`]
//! receives packets in batches, each packet with the time at which the kernel received it, and
//! counts packets that the kernel dropped; [`ReceiveMethod`] selects how it receives. A [`Poller`] waits
//! for any number of receivers.
//!
//! A group that is no multicast address is a host: the same code then sends and receives unicast
//! UDP.

mod endpoint;
mod interface;
mod poller;
mod receiver;
mod sender;

pub use endpoint::{DEFAULT_GROUP, DEFAULT_PORT, Endpoint};
pub use interface::{UnknownInterface, interface_address, interface_index};
pub use poller::Poller;
pub use receiver::{
    Datagram, MEASURE_EVERY_DEFAULT, PACKET_BYTES_MAX_DEFAULT, RECEIVE_BUFFER_BYTES_DEFAULT,
    ReceiveMethod, Receiver, ReceiverCounters, ReceiverOptions, wait_readable,
};
pub use sender::{Sender, SenderOptions};
