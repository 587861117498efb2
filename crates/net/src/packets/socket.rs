//! Datagrams of a socket, by `recvmmsg`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::{TimestampingFlag, setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};

use super::batch::DatagramBatch;
use super::{BATCH_MAX, Meta, PacketSource};
use crate::multicast::{Endpoint, ReceiverOptions};
use crate::{HostError, SystemOperation};

/// A UDP socket that has joined its group.
#[derive(Debug)]
pub struct SocketPackets {
    socket: Socket,
    batch: DatagramBatch,
    batch_max: usize,
    /// Most datagrams of the last call, and of the next one.
    asked: usize,
    next_asked: usize,
    receive_buffer_bytes: usize,
}

impl SocketPackets {
    /// Opens a socket for `endpoint` and joins the group on its interface.
    ///
    /// # Errors
    /// A [`HostError`] whose action names the operation that the system refused.
    pub fn open(endpoint: Endpoint, options: ReceiverOptions) -> Result<Self, HostError> {
        let address = endpoint.address();
        let at = |action| move |source| HostError::at(action, address, source);
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))
            .map_err(at(SystemOperation::Open))?;
        let given =
            configure(&socket, endpoint, options).map_err(at(SystemOperation::Configure))?;
        socket.bind(&address.into()).map_err(at(SystemOperation::Bind))?;
        join(&socket, endpoint).map_err(at(SystemOperation::Join))?;
        let batch = DatagramBatch::new(options.packet_bytes_max);
        Ok(Self {
            socket,
            batch,
            batch_max: BATCH_MAX,
            asked: BATCH_MAX,
            next_asked: BATCH_MAX,
            receive_buffer_bytes: given,
        })
    }

    /// Sets the most datagrams per call, at least one.
    #[must_use]
    pub fn batch_max(self, batch_max: usize) -> Self {
        Self { batch_max: batch_max.clamp(1, BATCH_MAX), ..self }
    }

    /// Returns the size of the receive buffer that the kernel gave, in bytes, in the unit of the
    /// request: the kernel reserves as much again for its own data.
    pub const fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes
    }
}

impl SocketPackets {
    /// Sets the size of the next batch by the result of the last call.
    ///
    /// If a call requests more datagrams than are queued, its last attempt finds none, which takes
    /// 0.2 to 0.3 us. A full batch therefore doubles the next one. Any other batch halves it, but
    /// not below the number that arrived. While datagrams arrive one by one, each call requests
    /// one.
    fn adapt(&mut self, received: &io::Result<usize>) {
        let count = *received.as_ref().unwrap_or(&0);
        self.next_asked = match count == self.asked {
            true => (2 * self.asked).min(self.batch_max),
            false => (self.asked / 2).max(count).max(1),
        };
    }
}

impl PacketSource for SocketPackets {
    fn receive(&mut self) -> io::Result<usize> {
        self.asked = self.next_asked.min(self.batch_max);
        let received = self.batch.receive(self.socket.as_fd(), self.asked);
        self.adapt(&received);
        received
    }

    fn may_have_more(&self, count: usize) -> bool {
        count == self.asked
    }

    fn meta(&self, index: usize) -> Option<&Meta> {
        self.batch.meta(index)
    }

    fn datagram(&self, index: usize) -> Option<(&Meta, &[u8])> {
        self.batch.datagram(index)
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sets the options; returns the size of the receive buffer, without the kernel's doubling.
fn configure(socket: &Socket, endpoint: Endpoint, options: ReceiverOptions) -> io::Result<usize> {
    // Any number of sockets may receive a group. With two sockets on a port of a host, one would
    // receive nothing, so the second is refused.
    socket.set_reuse_address(endpoint.group.is_multicast())?;
    socket.set_nonblocking(true)?;
    // Without this option a socket receives every group that any process of this host has joined.
    socket.set_multicast_all_v4(false)?;
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)?;
    if options.hardware_stamps {
        let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_HARDWARE
            | TimestampingFlag::SOF_TIMESTAMPING_RAW_HARDWARE;
        setsockopt(socket, sockopt::Timestamping, &flags)?;
    }
    setsockopt(socket, sockopt::RxqOvfl, &1)?;
    socket.set_recv_buffer_size(options.receive_buffer_bytes)?;
    Ok(socket.recv_buffer_size()? / 2)
}

/// Joins the group: for packets of one source if the endpoint names it (SSM), else of any.
fn join(socket: &Socket, endpoint: Endpoint) -> io::Result<()> {
    let Endpoint { group, interface, source, .. } = endpoint;
    match source {
        Some(source) if group.is_multicast() => socket.join_ssm_v4(&source, &group, &interface),
        Some(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "a source needs a group")),
        None if group.is_multicast() => socket.join_multicast_v4(&group, &interface),
        None => Ok(()),
    }
}
