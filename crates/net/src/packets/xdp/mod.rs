//! AF_XDP: receives the datagrams of endpoints before the kernel's network stack.
//!
//! A small program at the interface (`program.rs`) redirects the packets of each endpoint to sockets
//! that share their memory with the kernel, so a packet takes no system call and passes no network
//! stack. All endpoints of a process at an interface share its program and its frames
//! (`interface.rs`); each has sockets of its own, so each may have its own thread. It pays where the
//! driver supports it; in generic mode the kernel copies each packet first. In exchange:
//!
//! - **No other socket of this host receives these packets**, for example a second subscriber of
//!   the same feed. A packet ring ([`super::ring`]) copies instead.
//! - There are no kernel time stamps: a packet's time is that at which the process took it.
//! - Checksums and lengths are checked here ([`super::datagram`]). Fragments, and packets with IP
//!   options or a VLAN tag, continue through the kernel to the endpoint's ordinary socket. That
//!   socket stays open, keeps the group joined, and is read beside the rings.
//! - An interface can be received by one process at a time, and each group and port by one endpoint.
//! - The program compares a packet with the endpoints in turn, two comparisons for each.
//!
//! It needs `CAP_NET_ADMIN`, `CAP_NET_RAW`, `CAP_BPF`, and `CAP_IPC_LOCK` or a limit of locked memory above
//! its rings (64 MiB per queue): otherwise the kernel answers `ENOBUFS`. The program is detached when the process
//! ends.

mod bpf;
mod interface;
mod program;
mod queue;

pub use bpf::Mode;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

use super::datagram::{DatagramFilter, Verified, datagram};
use super::{BATCH_MAX, Meta, PacketSource};
use interface::XdpInterface;
use queue::XdpQueue;

/// Bytes of an Ethernet header.
const ETHERNET_BYTES: usize = 14;
/// The ordinary socket is read once per this many empty checks of the queues: a system call each
/// time would slow down spinning.
const LOOKS_A_SOCKET: u32 = 16;

/// Fewest frames of a queue: an endpoint gets half of them, which is room for a batch.
const FRAMES_MIN: u32 = 2 * BATCH_MAX as u32;

/// Options of AF_XDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XdpOptions {
    /// Frames of each queue, a power of two from 64, which all endpoints share. A packet that finds no free frame
    /// is lost. The packets of a batch keep their frames until the next batch is taken, and the unread packets of
    /// one endpoint take at most half of the frames. Default 32,768: 64 MiB.
    pub frames: u32,
    /// Bytes of a frame, 2048 or 4096, of which the kernel uses 256. Default 2048, for packets of
    /// 1500 bytes.
    pub frame_bytes: usize,
    /// Hook of the program; `None` uses the driver, or the generic mode if the driver does not
    /// support it.
    pub mode: Option<Mode>,
}

impl Default for XdpOptions {
    fn default() -> Self {
        Self { frames: 1 << 15, frame_bytes: 2048, mode: None }
    }
}

/// Position of a datagram of the batch: the packet of the queue, and the offset in it.
#[derive(Clone, Copy, Debug, Default)]
struct XdpDatagram {
    meta: Meta,
    packet: usize,
    offset: usize,
}

/// Source of the last batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchSource {
    Queue(usize),
    Socket,
}

/// Receives the datagrams of one endpoint from all queues of its interface.
#[derive(Debug)]
pub struct XdpPackets {
    interface: Arc<XdpInterface>,
    /// Its number among the endpoints of the interface.
    slot: usize,
    queues: Vec<XdpQueue>,
    /// Keeps the group joined, and receives the packets that the program passes on.
    socket: Box<dyn PacketSource>,
    wanted: DatagramFilter,
    /// Readable when a queue or the socket is readable.
    poller: Epoll,
    batch: BatchSource,
    places: [XdpDatagram; BATCH_MAX],
    count: usize,
    looks: u32,
    refused: u64,
}

impl XdpPackets {
    /// Redirects the `wanted` packets at the interface with this index. `socket` receives the same
    /// endpoint.
    ///
    /// # Errors
    /// The operating system's error and the action that failed: for example no privilege, another
    /// program at the interface, or another receiver of this process for the same group and port.
    /// `InvalidInput` for options other than those of this process's first receiver at the interface.
    pub fn open(
        interface: u32,
        wanted: DatagramFilter,
        options: XdpOptions,
        socket: Box<dyn PacketSource>,
    ) -> io::Result<Self> {
        let XdpOptions { frames, frame_bytes, .. } = options;
        if !frames.is_power_of_two() || frames < FRAMES_MIN || !matches!(frame_bytes, 2048 | 4096) {
            let text = "frames must be a power of two from 64 in number, and of 2048 or 4096 bytes";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let poller = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        poller.add(socket.descriptor(), EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        let interface = XdpInterface::shared(interface, options)?;
        let (slot, queues) = interface.add(wanted)?;
        // From here on, dropping `opened` removes the endpoint from the interface.
        let opened = Self {
            interface,
            slot,
            queues,
            socket,
            wanted,
            poller,
            batch: BatchSource::Socket,
            places: [XdpDatagram::default(); BATCH_MAX],
            count: 0,
            looks: 0,
            refused: 0,
        };
        for queue in &opened.queues {
            opened.poller.add(queue, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        }
        Ok(opened)
    }

    /// Returns the hook of the program.
    pub fn mode(&self) -> Mode {
        self.interface.mode()
    }

    /// Takes a batch from one queue. Returns true if it had packets, refused ones included.
    fn receive_from(&mut self, number: usize) -> bool {
        let queue = &mut self.queues[number];
        let arrived = queue.receive();
        self.batch = BatchSource::Queue(number);
        for index in 0..arrived {
            match place(queue, index, &self.wanted) {
                Some(place) => {
                    self.places[self.count] = place;
                    self.count += 1;
                }
                None => self.refused += 1,
            }
        }
        arrived > 0
    }
}

/// Returns the position of a packet's datagram, if it is valid.
fn place(queue: &XdpQueue, index: usize, wanted: &DatagramFilter) -> Option<XdpDatagram> {
    let frame = queue.packet(index)?;
    let payload = datagram(frame.get(ETHERNET_BYTES..)?, wanted, Verified::No).ok()?;
    let offset = payload.as_ptr().addr().checked_sub(frame.as_ptr().addr())?;
    let meta = Meta { len: payload.len(), ..Meta::default() };
    Some(XdpDatagram { meta, packet: index, offset })
}

/// Adds the attempted action to the system's error.
fn told(tried: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {tried}: {error}"))
}

impl PacketSource for XdpPackets {
    fn receive(&mut self) -> io::Result<usize> {
        self.count = 0;
        // Queues take turns: the search begins after the one that was served last.
        let first = match self.batch {
            BatchSource::Queue(number) => number + 1,
            BatchSource::Socket => 0,
        };
        for step in 0..self.queues.len() {
            let number = (first + step) % self.queues.len();
            while self.count == 0 && self.receive_from(number) {}
            if self.count > 0 {
                // The next check that finds the queues empty also reads the socket.
                self.looks = LOOKS_A_SOCKET - 1;
                return Ok(self.count);
            }
        }
        self.looks += 1;
        if self.looks < LOOKS_A_SOCKET {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.looks = 0;
        self.batch = BatchSource::Socket;
        self.socket.receive()
    }

    fn meta(&self, index: usize) -> Option<&Meta> {
        match self.batch {
            BatchSource::Queue(_) => {
                self.places.get(..self.count)?.get(index).map(|place| &place.meta)
            }
            BatchSource::Socket => self.socket.meta(index),
        }
    }

    fn datagram(&self, index: usize) -> Option<(&Meta, &[u8])> {
        let BatchSource::Queue(number) = self.batch else { return self.socket.datagram(index) };
        let XdpDatagram { meta, packet, offset } = self.places.get(..self.count)?.get(index)?;
        let packet = self.queues.get(number)?.packet(*packet)?;
        Some((meta, packet.get(*offset..)?))
    }

    fn may_have_more(&self, count: usize) -> bool {
        match self.batch {
            // The other queues and the socket were not checked.
            BatchSource::Queue(_) => count > 0,
            BatchSource::Socket => self.socket.may_have_more(count),
        }
    }

    fn has_looked_everywhere(&self) -> bool {
        matches!(self.batch, BatchSource::Socket)
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.poller.0.as_fd()
    }

    fn refused(&self) -> u64 {
        self.refused
    }

    fn dropped(&self) -> Option<u64> {
        self.queues.iter().map(|queue| queue.dropped().ok()).sum()
    }
}

impl Drop for XdpPackets {
    fn drop(&mut self) {
        self.interface.remove(self.slot);
    }
}
