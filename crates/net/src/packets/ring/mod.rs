//! A packet ring (`AF_PACKET`, `TPACKET_V3`): copies of the datagrams of one endpoint, block by block.
//!
//! The kernel writes consecutive packets into blocks of memory that it shares with the process, and
//! hands over a block when it is full or [`RingOptions::retire`] old. A packet takes no system call
//! of its own, and the kernel stamps it; but it may be delayed by up to [`RingOptions::retire`].
//! The ring has copies: other sockets of the host still receive their packets. The checks that the
//! kernel makes for sockets are made here ([`super::datagram`]); fragments are refused, because
//! they are not yet reassembled.
//!
//! A ring joins no group and changes nothing at the interface: another socket, such as a
//! [`Receiver`](crate::multicast::Receiver), must have joined. Needs `CAP_NET_RAW`.

mod block;
mod filter;
mod sys;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::datagram::{DatagramFilter, Verified, datagram};
use super::{BATCH_MAX, Meta, PacketSource};
use block::RingEntry;
use sys::Mapping;

/// Options of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingOptions {
    /// Bytes of a block, a multiple of the page size. The longest packet must fit. Default 1 MiB.
    pub block_bytes: usize,
    /// Number of blocks. Default 32.
    pub blocks: usize,
    /// Age at which a block that is not full is handed over, in whole milliseconds. Default 1 ms.
    pub retire: Duration,
}

impl Default for RingOptions {
    fn default() -> Self {
        Self { block_bytes: 1 << 20, blocks: 32, retire: Duration::from_millis(1) }
    }
}

/// Position of a datagram of the batch.
#[derive(Clone, Copy, Debug, Default)]
struct RingDatagram {
    meta: Meta,
    offset: usize,
}

/// Receives copies of the datagrams of one endpoint.
#[derive(Debug)]
pub struct PacketRing {
    mapping: Mapping,
    wanted: DatagramFilter,
    /// The block that is being read, or will be handed over next.
    block: usize,
    /// Position of the next packet of the block, and the number of packets left; `None` while the
    /// kernel owns the block.
    reading: Option<BlockPosition>,
    places: [RingDatagram; BATCH_MAX],
    count: usize,
    refused: u64,
    /// Drops that the kernel has reported so far.
    dropped: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct BlockPosition {
    offset: usize,
    left: u32,
}

impl PacketRing {
    /// Opens a ring for the `wanted` packets at the interface with this index.
    ///
    /// # Errors
    /// The operating system's error; `PermissionDenied` without `CAP_NET_RAW`.
    pub fn open(interface: u32, wanted: DatagramFilter, options: RingOptions) -> io::Result<Self> {
        let mapping = Mapping::open(interface, &filter::datagrams(&wanted), options)?;
        Ok(Self {
            mapping,
            wanted,
            block: 0,
            reading: None,
            places: [RingDatagram::default(); BATCH_MAX],
            count: 0,
            refused: 0,
            dropped: AtomicU64::new(0),
        })
    }

    /// Starts reading the next block if the kernel has handed it over, after returning a block that
    /// has been read.
    fn begin_block(&mut self) -> bool {
        if let Some(BlockPosition { left: 0, .. }) = self.reading {
            self.mapping.release(self.block);
            self.block = (self.block + 1) % self.mapping.blocks();
            self.reading = None;
        }
        if self.reading.is_none()
            && let Some(bytes) = self.mapping.block(self.block)
        {
            let (offset, left) = block::packets(bytes);
            self.reading = Some(BlockPosition { offset, left });
        }
        self.reading.is_some()
    }

    /// Adds packets of the block to the batch, as far as there is room.
    fn read_block(&mut self) {
        let Some(reading) = &mut self.reading else { return };
        let Some(bytes) = self.mapping.block(self.block) else { return };
        while reading.left > 0 && self.count < BATCH_MAX {
            let Some(entry) = block::entry(bytes, reading.offset) else {
                // The kernel never writes this; the rest of the block cannot be found.
                self.refused += u64::from(reading.left);
                reading.left = 0;
                return;
            };
            reading.left -= 1;
            reading.offset += entry.next_offset;
            match place(bytes, &entry, &self.wanted) {
                Some(found) => {
                    self.places[self.count] = found;
                    self.count += 1;
                }
                None => self.refused += u64::from(!entry.is_for_others),
            }
        }
    }
}

/// Returns the position of a packet's datagram, if it is selected and valid.
fn place(block: &[u8], entry: &RingEntry, wanted: &DatagramFilter) -> Option<RingDatagram> {
    let packet = block.get(entry.packet..)?.get(..entry.captured_bytes)?;
    let verified = if entry.is_verified { Verified::Yes } else { Verified::No };
    if entry.is_for_others {
        return None;
    }
    let payload = datagram(packet, wanted, verified).ok()?;
    let offset = payload.as_ptr().addr().checked_sub(block.as_ptr().addr())?;
    let meta = Meta {
        len: payload.len(),
        received_unix_ns: Some(entry.received_unix_ns),
        ..Meta::default()
    };
    Some(RingDatagram { meta, offset })
}

impl PacketSource for PacketRing {
    fn receive(&mut self) -> io::Result<usize> {
        self.count = 0;
        // A block may contain no selected packets.
        while self.count == 0 && self.begin_block() {
            self.read_block();
        }
        if self.count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(self.count)
    }

    fn meta(&self, index: usize) -> Option<&Meta> {
        self.places.get(..self.count)?.get(index).map(|place| &place.meta)
    }

    fn datagram(&self, index: usize) -> Option<(&Meta, &[u8])> {
        let RingDatagram { meta, offset } = self.places.get(..self.count)?.get(index)?;
        Some((meta, self.mapping.block(self.block)?.get(*offset..)?))
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.mapping.as_fd()
    }

    fn refused(&self) -> u64 {
        self.refused
    }

    fn dropped(&self) -> Option<u64> {
        // The kernel resets its counter when it is read.
        let since = self.mapping.drops().ok()?;
        Some(self.dropped.fetch_add(since.into(), Ordering::Relaxed) + u64::from(since))
    }
}
