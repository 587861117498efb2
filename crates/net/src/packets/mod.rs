//! Back ends of reception: sockets, packet rings and AF_XDP behind one trait.
//!
//! | back end | what it takes | what it needs |
//! |---|---|---|
//! | [`socket`] | datagrams of its own socket, 32 a call | nothing |
//! | [`ring`] | copies of packets, block by block: least CPU, a millisecond late | `CAP_NET_RAW` |
//! | `xdp` (feature `xdp`) | packets themselves, before the kernel's network stack | `CAP_NET_ADMIN`, `CAP_NET_RAW`, `CAP_BPF` |

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

/// Datagrams taken by one call at most.
pub const BATCH_MAX: usize = 32;

/// Metadata of one datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Bytes in the buffer.
    pub len: usize,
    /// True if the datagram was longer than the buffer.
    pub is_cut: bool,
    /// When the kernel or the card received it, nanoseconds since 1970.
    pub received_unix_ns: Option<u64>,
    /// True if that time stamp is the card's.
    pub is_hardware_stamp: bool,
    /// Datagrams dropped so far for lack of buffer space, modulo 2^32; told only once some are.
    pub dropped: Option<u32>,
}

/// Datagrams of one endpoint, taken in batches.
pub trait Packets: fmt::Debug + Send {
    /// Receives the datagrams that have arrived, at most [`BATCH_MAX`], without waiting, and
    /// returns their number. The previous batch is overwritten.
    ///
    /// # Errors
    /// The operating system's error; `WouldBlock` if nothing has arrived.
    fn receive(&mut self) -> io::Result<usize>;

    /// Metadata of a datagram of the last batch.
    fn meta(&self, index: usize) -> Option<&Meta>;

    /// A datagram of the last batch, and the buffer from its first byte on, which may continue behind it.
    fn datagram(&self, index: usize) -> Option<(&Meta, &[u8])>;

    /// Whether more may have arrived than the last call took, which was `count` datagrams.
    fn may_have_more(&self, count: usize) -> bool {
        count == BATCH_MAX
    }

    /// Whether the last call looked everywhere that datagrams arrive: what it left had not arrived then.
    fn has_looked_everywhere(&self) -> bool {
        true
    }

    /// Becomes readable when something has arrived.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Packets that were refused so far: wrong lengths, fragments, wrong checksums. The kernel counts those of
    /// sockets.
    fn refused(&self) -> u64 {
        0
    }

    /// Datagrams dropped for lack of buffer space so far, where the back end is asked; `None` where it tells with a datagram
    /// ([`Meta::dropped`]).
    fn dropped(&self) -> Option<u64> {
        None
    }
}
