//! A queue of an interface: frames, which all endpoints share, and the socket of each endpoint.
//!
//! The sockets of one queue share one area of frames (`XDP_SHARED_UMEM`) and one ring with the frames
//! that the kernel may fill. Each has its own ring of filled frames, so the endpoints may be read by
//! different threads.
#![allow(unsafe_code)]

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::super::BATCH_MAX;
use super::bpf::Mode;

/// Mapped memory, which is unmapped when this value is dropped.
struct Mapped {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for Mapped {}
// SAFETY: a shared reference gives only addresses; every read or write there justifies its
// exclusive access.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps `bytes` of `socket` at `offset`, or anonymous memory without a socket.
    fn new(bytes: usize, socket: Option<(&OwnedFd, libc::off_t)>) -> io::Result<Self> {
        let (descriptor, offset) =
            socket.map_or((-1, 0), |(socket, offset)| (socket.as_raw_fd(), offset));
        let kind = if socket.is_some() {
            libc::MAP_SHARED
        } else {
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS
        };
        // SAFETY: asks for a new mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                kind | libc::MAP_POPULATE,
                descriptor,
                offset,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base =
            NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { base, bytes })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; only other fields of the same struct point into
        // it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// A ring of `T` that kernel and process share: one produces, the other consumes. Both counts only
/// increase, and wrap at 2^32; the slot of a count is the count modulo the size, a power of two.
struct XdpRing<T> {
    mapped: Mapped,
    offsets: libc::xdp_ring_offset,
    size: u32,
    /// The count that this process advances: entries produced, or consumed.
    count: u32,
    entries: std::marker::PhantomData<T>,
}

impl<T: Copy> XdpRing<T> {
    fn map(
        socket: &OwnedFd,
        offsets: libc::xdp_ring_offset,
        size: u32,
        page_offset: libc::off_t,
    ) -> io::Result<Self> {
        let bytes = offsets.desc as usize + size as usize * size_of::<T>();
        let mapped = Mapped::new(bytes, Some((socket, page_offset)))?;
        Ok(Self { mapped, offsets, size, count: 0, entries: std::marker::PhantomData })
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel gave the offset of a word of this mapping, aligned as a word; both sides access it
        // as one word of 32 bits. It lives as long as `self`.
        unsafe { AtomicU32::from_ptr(self.mapped.base.as_ptr().add(offset as usize).cast()) }
    }

    fn produced(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }

    fn consumed(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }

    /// Returns the slot of a count.
    fn entry(&self, count: u32) -> *mut T {
        let index = (count & (self.size - 1)) as usize;
        // SAFETY: the remainder is below the size, and `map` has mapped as many entries after `desc`.
        unsafe { self.mapped.base.as_ptr().add(self.offsets.desc as usize).cast::<T>().add(index) }
    }
}

/// Attempts, and their interval, to bind a queue that another socket still holds: the kernel closes
/// a socket some time after its process has ended.
const BIND_ATTEMPTS: u32 = 50;
const BIND_PAUSE: Duration = Duration::from_millis(10);

/// The frames of a queue, and the socket that owns them. It receives no packets itself.
pub(super) struct QueueFrames {
    // Fields are dropped in order: the socket before the memory that the kernel uses through it.
    socket: OwnedFd,
    /// Frames that the kernel may fill; this process produces.
    fill: Mutex<XdpRing<u64>>,
    frames: Mapped,
    frame_bytes: usize,
    /// Number of frames.
    count: u32,
    interface: u32,
    queue: u32,
}

impl fmt::Debug for QueueFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueFrames").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl QueueFrames {
    /// Binds a queue with `count` frames, a power of two, of `frame_bytes` each: 2048 or 4096.
    pub(super) fn open(
        interface: u32,
        queue: u32,
        (count, frame_bytes): (u32, usize),
        mode: Mode,
    ) -> io::Result<Self> {
        let socket = socket()?;
        let frames = Mapped::new(count as usize * frame_bytes, None)?;
        let area = libc::xdp_umem_reg {
            addr: frames.base.as_ptr().addr() as u64,
            len: frames.bytes as u64,
            chunk_size: frame_bytes as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set(&socket, libc::XDP_UMEM_REG, &area)?;
        set(&socket, libc::XDP_UMEM_FILL_RING, &count)?;
        // The kernel requires both of these; nothing is sent, and nothing is redirected to this socket.
        set(&socket, libc::XDP_UMEM_COMPLETION_RING, &UNUSED)?;
        set(&socket, libc::XDP_RX_RING, &UNUSED)?;
        let fill = libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t;
        let mut fill = XdpRing::map(&socket, offsets(&socket)?.fr, count, fill)?;
        (0..count).for_each(|frame| offer(&mut fill, u64::from(frame) * frame_bytes as u64));
        publish_offers(&fill);
        let fill = Mutex::new(fill);
        let opened = Self { socket, fill, frames, frame_bytes, count, interface, queue };
        // A generic program has no driver, which could fill frames without a copy.
        let flags = if mode == Mode::Generic { libc::XDP_COPY } else { 0 };
        for _ in 1..BIND_ATTEMPTS {
            match bind(&opened.socket, interface, queue, flags, 0) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    thread::sleep(BIND_PAUSE)
                }
                bound => return bound.map(|()| opened),
            }
        }
        bind(&opened.socket, interface, queue, flags, 0)?;
        Ok(opened)
    }

    /// Returns the frames of these packets to the kernel.
    fn give_back(&self, packets: &[libc::xdp_desc]) {
        let mut fill = self.fill.lock().unwrap_or_else(PoisonError::into_inner);
        for packet in packets {
            // Frames begin at multiples of their size, a power of two; packets somewhat later.
            offer(&mut fill, packet.addr & !(self.frame_bytes as u64 - 1));
        }
        publish_offers(&fill);
    }
}

/// Writes a frame into the fill ring. It never overflows, because it has room for all frames.
fn offer(fill: &mut XdpRing<u64>, frame: u64) {
    // SAFETY: `entry` points into the ring, and the kernel reads entries only below the produced count,
    // which is moved afterwards.
    unsafe { fill.entry(fill.count).write(frame) };
    fill.count = fill.count.wrapping_add(1);
}

fn publish_offers(fill: &XdpRing<u64>) {
    fill.produced().store(fill.count, Ordering::Release);
}

/// The socket of an endpoint at a queue.
pub(super) struct XdpQueue {
    // Fields are dropped in order: the socket before the memory that the kernel uses through it.
    socket: OwnedFd,
    /// Frames that the kernel has filled; this process consumes.
    filled: XdpRing<libc::xdp_desc>,
    shared: Arc<QueueFrames>,
    /// Frames taken by the last `receive`; the next call returns them.
    held: [libc::xdp_desc; BATCH_MAX],
    held_count: usize,
}

impl fmt::Debug for XdpQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("held", &self.held_count).finish_non_exhaustive()
    }
}

impl XdpQueue {
    /// Opens another socket at the queue of these frames.
    pub(super) fn open(shared: Arc<QueueFrames>) -> io::Result<Self> {
        let socket = socket()?;
        // Half of the frames: an endpoint that is not read leaves the other half to the others.
        let entries = (shared.count / 2).max(1);
        set(&socket, libc::XDP_RX_RING, &entries)?;
        let rx = offsets(&socket)?.rx;
        let filled = XdpRing::map(&socket, rx, entries, libc::XDP_PGOFF_RX_RING)?;
        let owner = shared.socket.as_raw_fd() as u32;
        bind(&socket, shared.interface, shared.queue, libc::XDP_SHARED_UMEM, owner)?;
        let none = libc::xdp_desc { addr: 0, len: 0, options: 0 };
        Ok(Self { socket, filled, shared, held: [none; BATCH_MAX], held_count: 0 })
    }

    /// Returns the frames of the last call to the kernel, takes the filled ones, and returns their
    /// number.
    pub(super) fn receive(&mut self) -> usize {
        if self.held_count > 0 {
            self.shared.give_back(&self.held[..self.held_count]);
        }
        // The kernel writes entries before it advances its count.
        let arrived =
            self.filled.produced().load(Ordering::Acquire).wrapping_sub(self.filled.count);
        self.held_count = (arrived as usize).min(BATCH_MAX);
        for held in &mut self.held[..self.held_count] {
            // SAFETY: `entry` points into the ring. The kernel has produced this entry and does not touch it
            // until the consumed count, which is moved below, has passed it.
            *held = unsafe { self.filled.entry(self.filled.count).read() };
            self.filled.count = self.filled.count.wrapping_add(1);
        }
        if self.held_count > 0 {
            self.filled.consumed().store(self.filled.count, Ordering::Release);
        }
        self.held_count
    }

    /// Returns a packet of the last batch.
    pub(super) fn packet(&self, index: usize) -> Option<&[u8]> {
        let held = self.held.get(..self.held_count)?.get(index)?;
        let (offset, len) = (usize::try_from(held.addr).ok()?, held.len as usize);
        let frames = &self.shared.frames;
        if offset.checked_add(len)? > frames.bytes {
            return None;
        }
        // SAFETY: within the frames, as just checked. The kernel writes to a frame only while it is on offer;
        // this one is held until the next `receive`, which borrows `self` mutably and so ends the life of the
        // slice. Other sockets of the queue hold other frames.
        Some(unsafe { std::slice::from_raw_parts(frames.base.as_ptr().add(offset), len) })
    }

    /// Returns how many packets found no frame or no room so far.
    pub(super) fn dropped(&self) -> io::Result<u64> {
        // SAFETY: a C struct of integers, for which all zeros is a value.
        let mut statistics: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        get(&self.socket, libc::XDP_STATISTICS, &mut statistics)?;
        Ok(statistics.rx_dropped + statistics.rx_ring_full)
    }
}

impl AsFd for XdpQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for XdpQueue {
    /// Returns all frames to the kernel, for the other endpoints. A packet that is redirected here
    /// later keeps its frame. Only processors that are running the old program at this moment can
    /// redirect one, because the program was replaced before.
    fn drop(&mut self) {
        while self.receive() > 0 {}
    }
}

/// Entries of a ring that stays empty.
const UNUSED: u32 = 2;

fn socket() -> io::Result<OwnedFd> {
    // SAFETY: a plain system call.
    let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Binds a socket to a queue. `owner` is the socket whose frames it shares, with the flag that says so.
fn bind(socket: &OwnedFd, interface: u32, queue: u32, flags: u16, owner: u32) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: owner,
    };
    // SAFETY: the address is a `sockaddr_xdp` of that length, read during the call only.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_xdp>() as libc::socklen_t,
        )
    };
    if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn offsets(socket: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: a C struct of integers, for which all zeros is a value.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    get(socket, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    Ok(offsets)
}

/// Sets an option of the socket.
fn set<T>(socket: &OwnedFd, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the value lives during the call, and the length is its own.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            name,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option of the socket.
fn get<T>(socket: &OwnedFd, name: i32, value: &mut T) -> io::Result<()> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, as many as the value has; it writes integers only.
    let told = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            name,
            ptr::from_mut(value).cast(),
            &raw mut len,
        )
    };
    if told == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
