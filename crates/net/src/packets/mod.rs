//! Back ends of reception: sockets, packet rings and AF_XDP, behind one trait.
//!
//! | back end | packets | needs |
//! |---|---|---|
//! | [`socket`] | datagrams of its own socket, 32 per call | nothing |
//! | [`ring`] | copies of packets, block by block: least CPU, up to a millisecond late | `CAP_NET_RAW` |
//! | `xdp` (feature `xdp`) | the packets themselves, before the kernel's network stack | `CAP_NET_ADMIN`, `CAP_NET_RAW`, `CAP_BPF`, `CAP_IPC_LOCK` |

mod batch;
pub mod datagram;
pub mod frames;
pub mod ring;
pub mod socket;
#[cfg(feature = "xdp")]
pub mod xdp;

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

/// Most datagrams received by one call.
pub const BATCH_MAX: usize = 32;

/// Metadata of one datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Bytes in the buffer.
    pub len: usize,
    /// True if the datagram was longer than the buffer.
    pub is_cut: bool,
    /// Time at which the kernel or the card received it, in nanoseconds since 1970.
    pub received_unix_ns: Option<u64>,
    /// True if that time stamp is the card's.
    pub is_hardware_stamp: bool,
    /// Datagrams dropped so far for lack of buffer space, modulo 2^32; present only after the first
    /// drop.
    pub dropped: Option<u32>,
}

/// Source of the datagrams of one endpoint, in batches.
pub trait PacketSource: fmt::Debug + Send {
    /// Receives the datagrams that have arrived, at most [`BATCH_MAX`], without waiting, and
    /// returns their number. The previous batch is overwritten.
    ///
    /// # Errors
    /// The operating system's error; `WouldBlock` if nothing has arrived.
    fn receive(&mut self) -> io::Result<usize>;

    /// Returns the metadata of a datagram of the last batch.
    fn meta(&self, index: usize) -> Option<&Meta>;

    /// Returns a datagram of the last batch, and the buffer from its first byte on, which may
    /// continue after it.
    fn datagram(&self, index: usize) -> Option<(&Meta, &[u8])>;

    /// True if more datagrams may have arrived than the last call returned, which was `count`.
    fn may_have_more(&self, count: usize) -> bool {
        count == BATCH_MAX
    }

    /// True if the last call checked all sources of datagrams, so that nothing else had arrived
    /// then.
    fn has_looked_everywhere(&self) -> bool {
        true
    }

    /// Returns a descriptor that becomes readable when something has arrived.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Returns how many packets were refused so far: wrong lengths, fragments, wrong checksums. For
    /// sockets the kernel counts them.
    fn refused(&self) -> u64 {
        0
    }

    /// Returns how many datagrams were dropped so far for lack of buffer space; `None` if the back
    /// end reports drops with a datagram ([`Meta::dropped`]).
    fn dropped(&self) -> Option<u64> {
        None
    }
}
