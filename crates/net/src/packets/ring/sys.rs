//! The system calls and the shared memory of a packet ring.
#![allow(unsafe_code)]

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::RingOptions;
use super::block::STATUS_OFFSET;

/// The ring's memory, shared with the kernel: consecutive blocks.
pub(super) struct Mapping {
    socket: OwnedFd,
    base: NonNull<u8>,
    block_bytes: usize,
    blocks: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for Mapping {}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block_bytes, blocks, .. } = self;
        f.debug_struct("Mapping").field("block_bytes", block_bytes).field("blocks", blocks).finish()
    }
}

impl Mapping {
    /// Opens the socket and maps its ring before it binds the socket to the interface: before that
    /// no packets arrive.
    pub(super) fn open(
        interface: u32,
        filter: &[libc::sock_filter],
        options: RingOptions,
    ) -> io::Result<Self> {
        let RingOptions { block_bytes, blocks, retire } = options;
        // SAFETY: a plain system call. Protocol 0 receives nothing until `bind` names one.
        let socket =
            unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &libc::tpacket_versions::TPACKET_V3)?;
        // Packets that this host sends pass the interface too; on loopback each packet would arrive
        // twice.
        set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32)?;
        let program = libc::sock_fprog {
            len: u16::try_from(filter.len()).map_err(io::Error::other)?,
            // The kernel copies the program and does not write to it.
            filter: filter.as_ptr().cast_mut(),
        };
        set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        let request = libc::tpacket_req3 {
            tp_block_size: u32::try_from(block_bytes).map_err(io::Error::other)?,
            tp_block_nr: u32::try_from(blocks).map_err(io::Error::other)?,
            // Packets of any length follow one another; the frame size only has to divide the block
            // size.
            tp_frame_size: FRAME_BYTES,
            tp_frame_nr: u32::try_from(block_bytes.saturating_mul(blocks) / FRAME_BYTES as usize)
                .map_err(io::Error::other)?,
            tp_retire_blk_tov: u32::try_from(retire.as_millis().max(1))
                .map_err(io::Error::other)?,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let bytes = block_bytes.saturating_mul(blocks);
        // SAFETY: asks for a new mapping of the ring, whose length the kernel has just accepted, at an address
        // of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base =
            NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        let mapping = Self { socket, base, block_bytes, blocks };
        mapping.bind(interface)?;
        Ok(mapping)
    }

    /// Starts receiving IPv4 packets of the interface.
    fn bind(&self, interface: u32) -> io::Result<()> {
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: (libc::ETH_P_IP as u16).to_be(),
            sll_ifindex: i32::try_from(interface).map_err(io::Error::other)?,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: the address is a `sockaddr_ll` of that length, read during the call only.
        let bound = unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(super) const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns the bytes of a block that the kernel has handed over; `None` while the kernel owns
    /// it.
    pub(super) fn block(&self, index: usize) -> Option<&[u8]> {
        let status = self.status(index)?;
        if status.load(Ordering::Relaxed) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // The kernel writes packets before the status: the fence makes them visible after it.
        fence(Ordering::Acquire);
        // SAFETY: the block lies within the mapping (`status` has checked the index), which lives as long as
        // `self`. The kernel writes to a block only while it owns it; it owns this one again after `release`
        // alone, which borrows `self` mutably and so ends the life of this slice.
        Some(unsafe {
            std::slice::from_raw_parts(
                self.base.as_ptr().add(index * self.block_bytes),
                self.block_bytes,
            )
        })
    }

    /// Returns a block to the kernel.
    pub(super) fn release(&mut self, index: usize) {
        if let Some(status) = self.status(index) {
            // All reads of the block precede the kernel's next writes to it.
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
    }

    /// Returns the status word of a block, which tells its owner.
    fn status(&self, index: usize) -> Option<&AtomicU32> {
        if index >= self.blocks {
            return None;
        }
        // SAFETY: within the mapping, which lives as long as `self`; blocks begin at pages, so the word is
        // aligned. Kernel and process both access it as one word of 32 bits.
        Some(unsafe {
            AtomicU32::from_ptr(
                self.base.as_ptr().add(index * self.block_bytes + STATUS_OFFSET).cast(),
            )
        })
    }

    /// Returns how many packets found no free block since the last call.
    pub(super) fn drops(&self) -> io::Result<u32> {
        let mut statistics =
            libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut len = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes to a struct of that size.
        let told = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut len,
            )
        };
        if told == 0 { Ok(statistics.tp_drops) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for Mapping {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open` with this length; no slice of it outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.block_bytes * self.blocks) };
    }
}

/// Sets an option of the socket.
fn set<T>(socket: &OwnedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the value lives during the call, and the length is its own. What it points to (the program of a
    // filter) is borrowed by the caller.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Any divisor of a block suffices; this one divides every page size.
const FRAME_BYTES: u32 = 2048;
/// `PACKET_IGNORE_OUTGOING` of `linux/if_packet.h`.
const PACKET_IGNORE_OUTGOING: i32 = 23;
