//! Receiving packets of a group.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use hdrhistogram::Histogram;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};

use super::Endpoint;
use super::batch::{BATCH_MAX, Batch};
use crate::clock::{KernelTimes, monotonic_ns};
use crate::histogram;
use crate::{Action, Error};

/// Longest packet received unless set otherwise, in bytes: a jumbo frame.
pub const PACKET_BYTES_MAX_DEFAULT: usize = 9216;

/// Receive buffer asked for unless set otherwise, in bytes. The kernel's own default, 208 KiB, loses
/// packets at rates it could hold otherwise.
pub const RECEIVE_BUFFER_BYTES_DEFAULT: usize = 4 << 20;

/// How packets are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverOptions {
    /// Receive buffer asked for, in bytes. The kernel gives at most `net.core.rmem_max`.
    pub receive_buffer_bytes: usize,
    /// Longest packet in bytes; a longer one is counted and dropped.
    pub packet_bytes_max: usize,
}

impl Default for ReceiverOptions {
    fn default() -> Self {
        Self {
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES_DEFAULT,
            packet_bytes_max: PACKET_BYTES_MAX_DEFAULT,
        }
    }
}

/// One packet received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The packet.
    pub bytes: &'a [u8],
    /// When the kernel received it, on the clock of [`monotonic_ns`]; when it was taken, if the
    /// kernel did not say.
    pub received_ns: u64,
}

/// What a receiver counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Calls that brought packets.
    pub batches: u64,
    /// Packets handed out.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets dropped because they were longer than the limit.
    pub too_long: u64,
    /// Packets the kernel dropped because the receive buffer was full, as far as it has said: it
    /// does so with the next packet it delivers.
    pub dropped_by_kernel: u64,
}

/// Receives packets of one endpoint.
#[derive(Debug)]
pub struct Receiver {
    socket: Socket,
    endpoint: Endpoint,
    batch: Batch,
    receive_buffer_bytes: usize,
    counters: ReceiverCounters,
    /// The kernel's own count of drops at the last packet.
    dropped: u32,
    /// Packets in the batch, and the one handed out next.
    count: usize,
    next: usize,
    front_ns: Option<u64>,
    /// When the batch was taken.
    now_ns: u64,
    delays: Histogram<u64>,
}

impl Receiver {
    /// Opens a socket for `endpoint` and joins the group on its interface. Several receivers may
    /// share an endpoint; each gets every multicast packet.
    ///
    /// # Errors
    /// An [`Error`] whose action says what the system refused.
    pub fn open(endpoint: Endpoint, options: ReceiverOptions) -> Result<Self, Error> {
        let address = endpoint.address();
        let at = |action| move |source| Error::at(action, address, source);
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))
            .map_err(at(Action::Open))?;
        let given = configure(&socket, options).map_err(at(Action::Configure))?;
        socket.bind(&address.into()).map_err(at(Action::Bind))?;
        if endpoint.group.is_multicast() {
            socket
                .join_multicast_v4(&endpoint.group, &endpoint.interface)
                .map_err(at(Action::Join))?;
        }
        Ok(Self {
            socket,
            endpoint,
            batch: Batch::new(options.packet_bytes_max),
            receive_buffer_bytes: given,
            counters: ReceiverCounters::default(),
            dropped: 0,
            count: 0,
            next: 0,
            front_ns: None,
            now_ns: 0,
            delays: histogram::latency(),
        })
    }

    /// What is received from.
    pub const fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// The receive buffer the kernel gave, in bytes, in the unit it was asked for: the kernel keeps
    /// as much again for its own bookkeeping.
    pub const fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes
    }

    /// What was received so far.
    pub const fn counters(&self) -> ReceiverCounters {
        self.counters
    }

    /// How long packets lay in the kernel: from its stamp to the call that took their batch, in
    /// nanoseconds.
    pub const fn delays(&self) -> &Histogram<u64> {
        &self.delays
    }

    /// Takes the packets that have arrived, without waiting, up to one batch, and returns how many
    /// came: 0 if none had arrived. What is left of the batch before is gone.
    ///
    /// # Errors
    /// [`Action::Receive`] with what the system says.
    pub fn fill(&mut self, times: &KernelTimes) -> Result<usize, Error> {
        self.next = 0;
        self.front_ns = None;
        self.count = match self.batch.receive(self.socket.as_fd()) {
            Ok(count) => count,
            Err(error) if is_nothing_there(&error) => 0,
            Err(source) => {
                self.count = 0;
                return Err(Error::at(Action::Receive, self.endpoint.address(), source));
            }
        };
        if self.count > 0 {
            self.counters.batches += 1;
            self.now_ns = monotonic_ns();
            self.settle(times);
        }
        Ok(self.count)
    }

    /// Whether the last batch was as large as it can be, so that more has probably arrived.
    pub const fn was_full(&self) -> bool {
        self.count == BATCH_MAX
    }

    /// When the kernel received the next packet of the batch; `None` after its last.
    pub const fn front_ns(&self) -> Option<u64> {
        self.front_ns
    }

    /// Takes the next packet of the batch.
    pub fn take(&mut self, times: &KernelTimes) -> Option<Datagram<'_>> {
        let received_ns = self.front_ns?;
        let index = self.next;
        self.next += 1;
        self.settle(times);
        let (_, bytes) = self.batch.datagram(index)?;
        self.counters.packets += 1;
        self.counters.bytes += bytes.len() as u64;
        histogram::record(&mut self.delays, self.now_ns.saturating_sub(received_ns));
        Some(Datagram { bytes, received_ns })
    }

    /// Passes over packets that were cut, and notes what the kernel says of the next one.
    fn settle(&mut self, times: &KernelTimes) {
        self.front_ns = None;
        while let Some((meta, _)) = self.batch.datagram(self.next) {
            if let Some(dropped) = meta.dropped {
                let since = dropped.wrapping_sub(self.dropped);
                self.counters.dropped_by_kernel += u64::from(since);
                self.dropped = dropped;
            }
            if !meta.is_cut {
                let stamp_ns = meta.received_unix_ns.map(|ns| times.monotonic_ns(ns));
                // Never in the future, as it would be if the time of day was set in between.
                self.front_ns = Some(stamp_ns.unwrap_or(self.now_ns).min(self.now_ns));
                return;
            }
            self.counters.too_long += 1;
            self.next += 1;
        }
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sets the options and returns the receive buffer given, without the kernel's doubling.
fn configure(socket: &Socket, options: ReceiverOptions) -> io::Result<usize> {
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    // Without this a socket gets every group that any process of this host has joined.
    socket.set_multicast_all_v4(false)?;
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(socket, sockopt::RxqOvfl, &1)?;
    socket.set_recv_buffer_size(options.receive_buffer_bytes)?;
    Ok(socket.recv_buffer_size()? / 2)
}

fn is_nothing_there(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Most receivers that [`wait_readable`] waits for at once.
pub const RECEIVERS_MAX: usize = 8;

/// Waits until one of the receivers has a packet, for `timeout` at most. Returns whether one has;
/// `false` early if a signal came. Receivers beyond [`RECEIVERS_MAX`] are not waited for.
///
/// # Errors
/// [`Action::Wait`] with what the system says.
pub fn wait_readable(receivers: &[Receiver], timeout: Duration) -> Result<bool, Error> {
    let Some((last, _)) = receivers.split_last() else { return Ok(false) };
    let descriptor = |index| {
        let receiver = receivers.get(index).unwrap_or(last);
        PollFd::new(receiver.as_fd(), PollFlags::POLLIN)
    };
    let mut descriptors: [PollFd<'_>; RECEIVERS_MAX] = std::array::from_fn(descriptor);
    let count = receivers.len().min(RECEIVERS_MAX);
    match ppoll(&mut descriptors[..count], Some(timeout.into()), None) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::Error::EINTR) => Ok(false),
        Err(error) => Err(Error::of(Action::Wait, error.into())),
    }
}
