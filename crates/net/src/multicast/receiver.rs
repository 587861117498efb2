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
use crate::packets::{BATCH_MAX, Packets};
use crate::{Action, Error};

/// Longest packet received unless set otherwise, in bytes: a jumbo frame.
pub const PACKET_BYTES_MAX_DEFAULT: usize = 9216;

/// Receive buffer asked for unless set otherwise, in bytes. The kernel's own default, 208 KiB, loses
/// packets at rates it could hold otherwise.
pub const RECEIVE_BUFFER_BYTES_DEFAULT: usize = 4 << 20;

/// One packet in this many is measured unless set otherwise.
pub const MEASURE_EVERY_DEFAULT: u32 = 64;

/// How packets are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverOptions {
    /// Receive buffer asked for, in bytes. The kernel gives at most `net.core.rmem_max`.
    pub receive_buffer_bytes: usize,
    /// Longest packet in bytes; a longer one is counted and dropped.
    pub packet_bytes_max: usize,
    /// [`Receiver::delays`] records one packet in this many; 1 records all, 0 none.
    pub measure_every: u32,
    /// Asks the network card for its stamps. They count where the card gives any and its clock keeps the host's
    /// time; the kernel's do else. [`ReceiverCounters::hardware_stamps`] tells which.
    pub hardware_stamps: bool,
    /// Receive method.
    pub back_end: BackEnd,
}

/// Receive method of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackEnd {
    /// A UDP socket.
    #[default]
    Socket,
    /// AF_XDP at the interface: see [`crate::packets::xdp`], above all whom it takes packets from.
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
            back_end: BackEnd::Socket,
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
    /// The same in nanoseconds since 1970, as the kernel stamped it.
    pub received_unix_ns: u64,
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Calls that brought packets.
    pub batches: u64,
    /// Packets returned.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets dropped because they were longer than the limit.
    pub too_long: u64,
    /// Packets the kernel dropped because the receive buffer was full, as far as it has said: it
    /// does so with the next packet it delivers.
    pub dropped_by_kernel: u64,
    /// Packets whose stamp could not be converted: the time of day was stepped more than once between
    /// two batches, or the card's clock does not keep the host's time. Their time is that at which they were taken.
    pub implausible_stamps: u64,
    /// Packets with a time stamp of the network card.
    pub hardware_stamps: u64,
    /// Packets refused by a back end that checks what the kernel checks for sockets: lengths, checksums.
    pub refused: u64,
}

/// Receives packets of one endpoint.
#[derive(Debug)]
pub struct Receiver {
    endpoint: Endpoint,
    packets: Box<dyn Packets>,
    receive_buffer_bytes: usize,
    counters: ReceiverCounters,
    /// The kernel's own count of drops at the last packet.
    dropped: u32,
    /// Packets in the batch, and the one returned next.
    count: usize,
    next: usize,
    may_have_more: bool,
    /// When each packet of the batch arrived, on the monotonic clock.
    times_ns: [u64; BATCH_MAX],
    /// When the socket was asked last, and when it was last found empty.
    asked_ns: u64,
    empty_ns: u64,
    /// When the batch was taken.
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
    /// An [`Error`] whose action says what the system refused.
    pub fn open(endpoint: Endpoint, options: ReceiverOptions) -> Result<Self, Error> {
        let socket = SocketPackets::open(endpoint, options)?;
        let given = socket.receive_buffer_bytes();
        let packets: Box<dyn Packets> = match options.back_end {
            BackEnd::Socket => Box::new(socket),
            #[cfg(feature = "xdp")]
            BackEnd::Xdp(xdp) => Box::new(redirect(endpoint, xdp, socket)?),
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

    /// Returns the address that is received.
    pub const fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// The receive buffer the kernel gave, in bytes, in the unit it was requested: the kernel keeps
    /// as much again for its own bookkeeping.
    pub const fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes
    }

    /// Packets returned so far.
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

    /// How long packets lay in the kernel: from its stamp to the call that took their batch, in
    /// nanoseconds, of one packet in [`ReceiverOptions::measure_every`].
    pub const fn delays(&self) -> &Histogram<u64> {
        &self.delays
    }

    /// Takes the packets that have arrived, without waiting, up to one batch, and returns how many
    /// arrived: 0 if none had arrived. What is left of the batch before is gone.
    ///
    /// # Errors
    /// [`Action::Receive`] with what the system says.
    pub fn fill(&mut self, times: &mut KernelTimes) -> Result<usize, Error> {
        self.next = 0;
        let asked_ns = monotonic_ns();
        self.count = match self.packets.receive() {
            Ok(count) => count,
            Err(error) if is_nothing_there(&error) => 0,
            Err(source) => {
                (self.count, self.may_have_more) = (0, false);
                return Err(Error::at(Action::Receive, self.endpoint.address(), source));
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

    /// When [`fill`](Self::fill) last looked everywhere that packets arrive, on the monotonic clock; 0 before the first
    /// time.
    pub const fn asked_ns(&self) -> u64 {
        self.asked_ns
    }

    /// When the last packet was received, on the monotonic clock; when the socket was opened before the first.
    pub const fn last_packet_ns(&self) -> u64 {
        self.last_packet_ns
    }

    /// True if more packets may have arrived than the last batch took: call [`fill`](Self::fill) again.
    pub const fn may_have_more(&self) -> bool {
        self.may_have_more
    }

    /// When the kernel received the next packet of the batch; `None` after its last.
    pub fn front_ns(&self) -> Option<u64> {
        self.times_ns.get(..self.count)?.get(self.next).copied()
    }

    /// Takes the next packet of the batch.
    pub fn take(&mut self) -> Option<Datagram<'_>> {
        let received_ns = self.front_ns()?;
        let index = self.next;
        self.next += 1;
        self.pass_cut();
        let (meta, buffer) = self.packets.datagram(index)?;
        self.last_packet_ns = received_ns;
        self.counters.packets += 1;
        self.counters.bytes += meta.len as u64;
        // A remainder by 0 there is none: such a receiver measures nothing.
        if self.counters.packets.checked_rem(self.measure_every.into()) == Some(0) {
            histogram::record(&mut self.delays, self.taken_ns.saturating_sub(received_ns));
        }
        let received_unix_ns = meta.received_unix_ns.unwrap_or_else(unix_ns);
        let bytes = buffer.get(..meta.len).unwrap_or_default();
        Some(Datagram { bytes, received_ns, received_unix_ns })
    }

    /// Converts the stamps of the batch and notes what the kernel has dropped.
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

    /// Passes over packets that were cut.
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
) -> Result<XdpPackets, Error> {
    let at = |source| Error::at(Action::Redirect, endpoint.address(), source);
    let interface = interface_index(endpoint.interface).map_err(at)?;
    XdpPackets::open(interface, endpoint.into(), options, Box::new(socket)).map_err(at)
}

fn is_nothing_there(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Waits until one of the receivers has a packet, for `timeout` at most. Returns whether one has;
/// `false` early if a signal arrived. Loops keep a [`Poller`](super::Poller) instead.
///
/// # Errors
/// [`Action::Wait`] with what the system says.
pub fn wait_readable(receivers: &[Receiver], timeout: Duration) -> Result<bool, Error> {
    let descriptor = |receiver| PollFd::new(Receiver::as_fd(receiver), PollFlags::POLLIN);
    let mut descriptors: Vec<PollFd<'_>> = receivers.iter().map(descriptor).collect();
    if descriptors.is_empty() {
        return Ok(false);
    }
    match ppoll(&mut descriptors, Some(timeout.into()), None) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::Error::EINTR) => Ok(false),
        Err(error) => Err(Error::of(Action::Wait, error.into())),
    }
}
