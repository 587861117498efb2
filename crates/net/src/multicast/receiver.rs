//! Receiving packets of a group.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use hdrhistogram::Histogram;
use nix::poll::{PollFd, PollFlags, ppoll};

use super::Endpoint;
#[cfg(feature = "xdp")]
use super::interface::interface_index;
use crate::clock::{KernelTimes, StampWindow, SystemClocks, monotonic_ns, unix_ns};
use crate::histogram;
use crate::packets::socket::SocketPackets;
#[cfg(feature = "xdp")]
use crate::packets::xdp::{XdpOptions, XdpPackets};
use crate::packets::{BATCH_MAX, PacketSource};
use crate::{HostError, SystemOperation};

/// Default length of the longest packet in bytes: a jumbo frame.
pub const PACKET_BYTES_MAX_DEFAULT: usize = 9216;

/// Default size of the requested receive buffer, in bytes. The kernel's default, 208 KiB, loses
/// packets at rates that a larger buffer can hold.
pub const RECEIVE_BUFFER_BYTES_DEFAULT: usize = 4 << 20;

/// Default of [`ReceiverOptions::measure_every`]: one packet in this many is measured.
pub const MEASURE_EVERY_DEFAULT: u32 = 64;

/// How packets are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverOptions {
    /// Requested receive buffer, in bytes. The kernel gives at most `net.core.rmem_max`.
    pub receive_buffer_bytes: usize,
    /// Longest packet in bytes; a longer one is counted and dropped.
    pub packet_bytes_max: usize,
    /// [`Receiver::delays`] records one packet in this many; 1 records all, 0 none.
    pub measure_every: u32,
    /// Requests time stamps of the network card. They are used if the card provides them and its
    /// clock is synchronised with the host's time; otherwise the kernel's are used.
    /// [`ReceiverCounters::hardware_stamps`] tells which.
    pub hardware_stamps: bool,
    /// Receive method.
    pub back_end: ReceiveMethod,
}

/// Receive method of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiveMethod {
    /// A UDP socket.
    #[default]
    Socket,
    /// AF_XDP at the interface: see [`crate::packets::xdp`], especially which other sockets it
    /// takes packets from.
    #[cfg(feature = "xdp")]
    Xdp(XdpOptions),
}

impl Default for ReceiverOptions {
    fn default() -> Self {
        Self {
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES_DEFAULT,
            packet_bytes_max: PACKET_BYTES_MAX_DEFAULT,
            measure_every: MEASURE_EVERY_DEFAULT,
            hardware_stamps: false,
            back_end: ReceiveMethod::Socket,
        }
    }
}

/// A received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The packet.
    pub bytes: &'a [u8],
    /// Time at which the kernel received it, on the clock of [`monotonic_ns`]. Without a kernel
    /// time stamp, the time at which it was taken from the socket.
    pub received_ns: u64,
    /// The kernel's time stamp itself, in nanoseconds since 1970.
    pub received_unix_ns: u64,
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Calls that returned packets.
    pub batches: u64,
    /// Packets returned.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets dropped because they were longer than the limit.
    pub too_long: u64,
    /// Packets that the kernel dropped because the receive buffer was full. The kernel reports them
    /// only with the next packet that it delivers.
    pub dropped_by_kernel: u64,
    /// Packets whose time stamp could not be converted, because the time of day was stepped more
    /// than once between two batches, or the card's clock is not synchronised with the host's. They
    /// have the time at which they were taken from the socket.
    pub implausible_stamps: u64,
    /// Packets with a time stamp of the network card.
    pub hardware_stamps: u64,
    /// Packets refused by a back end that checks lengths and checksums itself, as the kernel does
    /// for sockets.
    pub refused: u64,
}

/// Receives packets of one endpoint.
#[derive(Debug)]
pub struct Receiver {
    endpoint: Endpoint,
    packets: Box<dyn PacketSource>,
    receive_buffer_bytes: usize,
    counters: ReceiverCounters,
    /// The kernel's drop count at the last packet.
    dropped: u32,
    /// Number of packets in the batch, and the index of the next one.
    count: usize,
    next: usize,
    may_have_more: bool,
    /// Arrival time of each packet of the batch, on the monotonic clock.
    times_ns: [u64; BATCH_MAX],
    /// Time of the last read of the socket, and of the last read that found it empty.
    asked_ns: u64,
    empty_ns: u64,
    /// Time at which the batch was read.
    taken_ns: u64,
    last_packet_ns: u64,
    measure_every: u32,
    delays: Histogram<u64>,
}

impl Receiver {
    /// Opens a socket for `endpoint` and joins the group on its interface. Several receivers may
    /// share an endpoint; each gets every multicast packet.
    ///
    /// # Errors
    /// A [`HostError`] whose action names the operation that the system refused.
    pub fn open(endpoint: Endpoint, options: ReceiverOptions) -> Result<Self, HostError> {
        let socket = SocketPackets::open(endpoint, options)?;
        let given = socket.receive_buffer_bytes();
        let packets: Box<dyn PacketSource> = match options.back_end {
            ReceiveMethod::Socket => Box::new(socket),
            #[cfg(feature = "xdp")]
            ReceiveMethod::Xdp(xdp) => Box::new(redirect(endpoint, xdp, socket)?),
        };
        Ok(Self {
            endpoint,
            packets,
            receive_buffer_bytes: given,
            counters: ReceiverCounters::default(),
            dropped: 0,
            count: 0,
            next: 0,
            may_have_more: false,
            times_ns: [0; BATCH_MAX],
            asked_ns: 0,
            empty_ns: monotonic_ns(),
            taken_ns: 0,
            last_packet_ns: monotonic_ns(),
            measure_every: options.measure_every,
            delays: histogram::latency(),
        })
    }

    /// Returns the endpoint.
    pub const fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// Returns the size of the receive buffer that the kernel gave, in bytes, in the unit of the
    /// request: the kernel reserves as much again for its own data.
    pub const fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes
    }

    /// Returns the number of packets so far.
    pub const fn packets(&self) -> u64 {
        self.counters.packets
    }

    /// Returns the counters; some back ends need a system call.
    pub fn counters(&self) -> ReceiverCounters {
        let told = self.packets.dropped();
        ReceiverCounters {
            dropped_by_kernel: told.unwrap_or(0) + self.counters.dropped_by_kernel,
            refused: self.packets.refused(),
            ..self.counters
        }
    }

    /// Returns the delays of packets in the kernel, in nanoseconds: from its time stamp to the call
    /// that read their batch, for one packet in [`ReceiverOptions::measure_every`].
    pub const fn delays(&self) -> &Histogram<u64> {
        &self.delays
    }

    /// Reads the packets that have arrived, without waiting, up to one batch. Returns their number:
    /// 0 if none had arrived. The rest of the previous batch is dropped.
    ///
    /// # Errors
    /// [`SystemOperation::Receive`] with the operating system's error.
    pub fn fill(&mut self, times: &mut KernelTimes) -> Result<usize, HostError> {
        self.next = 0;
        let asked_ns = monotonic_ns();
        self.count = match self.packets.receive() {
            Ok(count) => count,
            Err(error) if is_nothing_there(&error) => 0,
            Err(source) => {
                (self.count, self.may_have_more) = (0, false);
                return Err(HostError::at(
                    SystemOperation::Receive,
                    self.endpoint.address(),
                    source,
                ));
            }
        };
        if self.packets.has_looked_everywhere() {
            self.asked_ns = asked_ns;
        }
        self.may_have_more = self.packets.may_have_more(self.count);
        if self.count > 0 {
            self.taken_ns = times.check(&SystemClocks);
            self.time_batch(times);
            self.pass_cut();
        }
        if !self.may_have_more && self.packets.has_looked_everywhere() {
            self.empty_ns = asked_ns;
        }
        Ok(self.count)
    }

    /// Returns the time of the last [`fill`](Self::fill) that checked all sources of packets, on
    /// the monotonic clock; 0 before the first.
    pub const fn asked_ns(&self) -> u64 {
        self.asked_ns
    }

    /// Returns the time at which the last packet was received, on the monotonic clock; before the
    /// first packet, the time at which the socket was opened.
    pub const fn last_packet_ns(&self) -> u64 {
        self.last_packet_ns
    }

    /// True if more packets may have arrived than the last batch contains: call
    /// [`fill`](Self::fill) again.
    pub const fn may_have_more(&self) -> bool {
        self.may_have_more
    }

    /// Returns the time at which the kernel received the next packet of the batch; `None` after its
    /// last.
    pub fn front_ns(&self) -> Option<u64> {
        self.times_ns.get(..self.count)?.get(self.next).copied()
    }

    /// Returns the next packet of the batch.
    pub fn take(&mut self) -> Option<Datagram<'_>> {
        let received_ns = self.front_ns()?;
        let index = self.next;
        self.next += 1;
        self.pass_cut();
        let (meta, buffer) = self.packets.datagram(index)?;
        self.last_packet_ns = received_ns;
        self.counters.packets += 1;
        self.counters.bytes += meta.len as u64;
        // With 0 there is no remainder, and the receiver measures nothing.
        if self.counters.packets.checked_rem(self.measure_every.into()) == Some(0) {
            histogram::record(&mut self.delays, self.taken_ns.saturating_sub(received_ns));
        }
        let received_unix_ns = meta.received_unix_ns.unwrap_or_else(unix_ns);
        let bytes = buffer.get(..meta.len).unwrap_or_default();
        Some(Datagram { bytes, received_ns, received_unix_ns })
    }

    /// Converts the time stamps of the batch, and records how many packets the kernel has dropped.
    fn time_batch(&mut self, times: &KernelTimes) {
        self.counters.batches += 1;
        let window = StampWindow { empty_ns: self.empty_ns, taken_ns: self.taken_ns };
        for (index, time_ns) in self.times_ns.iter_mut().enumerate().take(self.count) {
            let Some(meta) = self.packets.meta(index) else { return };
            if let Some(dropped) = meta.dropped {
                let since = dropped.wrapping_sub(self.dropped);
                self.counters.dropped_by_kernel += u64::from(since);
                self.dropped = dropped;
            }
            self.counters.hardware_stamps += u64::from(meta.is_hardware_stamp);
            let stamp = meta.received_unix_ns;
            let stamp_ns = stamp.and_then(|stamp| times.monotonic_ns(stamp, window));
            self.counters.implausible_stamps += u64::from(stamp.is_some() && stamp_ns.is_none());
            *time_ns = stamp_ns.unwrap_or(self.taken_ns);
        }
    }

    /// Skips truncated packets.
    fn pass_cut(&mut self) {
        while self.packets.meta(self.next).is_some_and(|meta| meta.is_cut) {
            self.counters.too_long += 1;
            self.next += 1;
        }
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.packets.descriptor()
    }
}

/// Redirects the packets of an endpoint to AF_XDP sockets, beside the ordinary one.
#[cfg(feature = "xdp")]
fn redirect(
    endpoint: Endpoint,
    options: XdpOptions,
    socket: SocketPackets,
) -> Result<XdpPackets, HostError> {
    let at = |source| HostError::at(SystemOperation::Redirect, endpoint.address(), source);
    let interface = interface_index(endpoint.interface).map_err(at)?;
    XdpPackets::open(interface, endpoint.into(), options, Box::new(socket)).map_err(at)
}

fn is_nothing_there(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Waits until one of the receivers has a packet, for `timeout` at most. Returns true if one has;
/// false early if a signal arrived. In a loop, keep a [`Poller`](super::Poller) instead.
///
/// # Errors
/// [`SystemOperation::Wait`] with the operating system's error.
pub fn wait_readable(receivers: &[Receiver], timeout: Duration) -> Result<bool, HostError> {
    let descriptor = |receiver| PollFd::new(Receiver::as_fd(receiver), PollFlags::POLLIN);
    let mut descriptors: Vec<PollFd<'_>> = receivers.iter().map(descriptor).collect();
    if descriptors.is_empty() {
        return Ok(false);
    }
    match ppoll(&mut descriptors, Some(timeout.into()), None) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::Error::EINTR) => Ok(false),
        Err(error) => Err(HostError::of(SystemOperation::Wait, error.into())),
    }
}
