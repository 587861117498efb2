//! Receives many datagrams in one call: `recvmmsg`.
#![allow(unsafe_code)]

use std::fmt;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

use super::{BATCH_MAX, Meta};
use crate::clock::SECOND_NS;

/// Bytes after the last slot that decoders may read ahead into: the maximum of
/// `tickwire_fast::Packet`.
const ROOM_BEHIND: usize = 1024;

/// Room for the control messages of one datagram: a time stamp (16 bytes), three time stamps of
/// card and kernel (48) and a drop count (4), each after a header of 16 bytes, with room to spare.
const CONTROL_BYTES: usize = 192;
/// A `timespec`.
const TIME_BYTES: usize = 16;
/// Length, level and type before each control message, in the layout of 64-bit Linux.
const CONTROL_HEADER_BYTES: usize = size_of::<libc::cmsghdr>();

/// Control messages, aligned like the kernel's headers in them.
#[repr(C, align(8))]
struct ControlMessages([u8; CONTROL_BYTES]);

/// The arguments of `recvmmsg`. They contain pointers to each other and to the slots, so they must
/// not move.
struct Arguments {
    headers: [libc::mmsghdr; BATCH_MAX],
    vectors: [libc::iovec; BATCH_MAX],
    controls: [ControlMessages; BATCH_MAX],
}

/// The memory of one batch, allocated once: the arguments of `recvmmsg`, and a slot for each
/// datagram.
///
/// The kernel writes through the pointers inside `arguments`, so both allocations are held as raw
/// pointers: a `Box` asserts unique access whenever it moves.
struct BatchMemory {
    /// From `Box::into_raw`: `BATCH_MAX` slots of `slot_bytes` and `ROOM_BEHIND` bytes.
    slots: NonNull<[u8]>,
    /// From `Box::into_raw`.
    arguments: NonNull<Arguments>,
}

// SAFETY: a `BatchMemory` owns both allocations like two boxes of plain bytes; nothing else points to them
// between calls. Shared access only reads.
unsafe impl Send for BatchMemory {}
// SAFETY: as above: `&Ring` gives reads only.
unsafe impl Sync for BatchMemory {}

impl BatchMemory {
    fn new(slot_bytes: usize) -> Self {
        let bytes = slot_bytes.saturating_mul(BATCH_MAX).saturating_add(ROOM_BEHIND);
        let slots = Box::into_raw(vec![0_u8; bytes].into_boxed_slice());
        // SAFETY: these are C structs of integers and pointers and arrays of bytes, for which all
        // zeros is a value.
        let arguments = Box::into_raw(Box::new(unsafe { mem::zeroed::<Arguments>() }));
        for index in 0..BATCH_MAX {
            // SAFETY: `arguments` was allocated above and nothing else refers to it; `index` is within
            // its arrays, so the places are within the allocation. `index * slot_bytes` is less than the
            // length of `slots`, which was allocated with `BATCH_MAX` times that: had the product
            // saturated, the allocation would have failed.
            unsafe {
                let vector = &raw mut (*arguments).vectors[index];
                (*vector).iov_base = slots.cast::<u8>().add(index * slot_bytes).cast();
                (*vector).iov_len = slot_bytes;
                let header = &raw mut (*arguments).headers[index].msg_hdr;
                (*header).msg_iov = vector;
                (*header).msg_iovlen = 1;
                (*header).msg_control = (&raw mut (*arguments).controls[index]).cast();
                (*header).msg_controllen = CONTROL_BYTES as _;
            }
        }
        // SAFETY: `Box::into_raw` never returns null.
        unsafe {
            Self {
                slots: NonNull::new_unchecked(slots),
                arguments: NonNull::new_unchecked(arguments),
            }
        }
    }

    /// Prepares the headers for the next call: the kernel has written the lengths of the control
    /// messages into the first `used` of them and changes no other input.
    fn reset(&mut self, used: usize) {
        for index in 0..used.min(BATCH_MAX) {
            // SAFETY: the allocation lives as long as `self`, which is borrowed mutably; `index` is
            // within the array.
            unsafe {
                let header = &raw mut (*self.arguments.as_ptr()).headers[index].msg_hdr;
                (*header).msg_controllen = CONTROL_BYTES as _;
            }
        }
    }

    /// Receives at most `limit` datagrams.
    fn receive(&mut self, socket: BorrowedFd<'_>, limit: usize) -> io::Result<usize> {
        let limit = limit.min(BATCH_MAX);
        // SAFETY: `headers` holds BATCH_MAX headers, and `limit` is not above that. Each has its own vector, slot and control room with
        // their true lengths, set up in `new`; all live as long as `self`, which is borrowed mutably, so
        // nothing else touches them during the call. No address is requested, no timeout given: null
        // is allowed for both. The descriptor is open for as long as it is borrowed.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                (&raw mut (*self.arguments.as_ptr()).headers).cast(),
                limit as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        Ok(received.min(limit))
    }

    fn header(&self, index: usize) -> Option<(&libc::mmsghdr, &ControlMessages)> {
        // SAFETY: the allocation lives as long as `self` and is written only while `self` is borrowed
        // mutably; it was initialised by `new`, and the kernel writes integers and bytes only.
        let arguments = unsafe { self.arguments.as_ref() };
        arguments.headers.get(index).zip(arguments.controls.get(index))
    }

    fn slots(&self) -> &[u8] {
        // SAFETY: as in `header`.
        unsafe { self.slots.as_ref() }
    }
}

impl Drop for BatchMemory {
    fn drop(&mut self) {
        // SAFETY: both came from `Box::into_raw` and are given back once.
        unsafe {
            drop(Box::from_raw(self.slots.as_ptr()));
            drop(Box::from_raw(self.arguments.as_ptr()));
        }
    }
}

/// Buffers of one batch.
pub(super) struct DatagramBatch {
    ring: BatchMemory,
    slot_bytes: usize,
    metas: [Meta; BATCH_MAX],
    received: usize,
}

impl fmt::Debug for DatagramBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slot_bytes, received, .. } = self;
        f.debug_struct("Batch").field("slot_bytes", slot_bytes).field("received", received).finish()
    }
}

impl DatagramBatch {
    pub(super) fn new(packet_bytes_max: usize) -> Self {
        let slot_bytes = packet_bytes_max.max(1);
        Self {
            ring: BatchMemory::new(slot_bytes),
            slot_bytes,
            metas: [Meta::default(); BATCH_MAX],
            received: 0,
        }
    }

    /// Receives the datagrams that have arrived, at most `limit`, without waiting. Returns their
    /// number.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>, limit: usize) -> io::Result<usize> {
        self.ring.reset(mem::take(&mut self.received));
        self.received = self.ring.receive(socket, limit)?;
        for (index, meta) in self.metas.iter_mut().enumerate().take(self.received) {
            let Some((header, ControlMessages(controls))) = self.ring.header(index) else { break };
            *meta = Meta {
                len: (header.msg_len as usize).min(self.slot_bytes),
                is_cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
                ..Meta::default()
            };
            let len = header.msg_hdr.msg_controllen.min(CONTROL_BYTES);
            meta.read_controls(controls.get(..len).unwrap_or_default());
        }
        Ok(self.received)
    }

    /// Returns the metadata of a datagram of the last batch.
    pub(super) fn meta(&self, index: usize) -> Option<&Meta> {
        self.metas.get(..self.received)?.get(index)
    }

    /// Returns a datagram of the last batch, and the buffer from its first byte on, which continues
    /// after it.
    pub(super) fn datagram(&self, index: usize) -> Option<(&Meta, &[u8])> {
        let start = index.checked_mul(self.slot_bytes)?;
        let end = start.checked_add(self.slot_bytes)?.checked_add(ROOM_BEHIND)?;
        Some((self.meta(index)?, self.ring.slots().get(start..end)?))
    }
}

impl Meta {
    /// Reads consecutive control messages, each aligned to 8 bytes.
    fn read_controls(&mut self, mut rest: &[u8]) {
        while let Some((header, behind)) = rest.split_at_checked(CONTROL_HEADER_BYTES) {
            let Some(len) = number::<8>(header, 0).map(usize::from_ne_bytes) else { return };
            let Some(content) = len.checked_sub(CONTROL_HEADER_BYTES) else { return };
            let Some(content) = behind.get(..content) else { return };
            let level = number::<4>(header, 8).map(libc::c_int::from_ne_bytes);
            let kind = number::<4>(header, 12).map(libc::c_int::from_ne_bytes);
            match (level, kind) {
                (Some(libc::SOL_SOCKET), Some(libc::SO_TIMESTAMPNS)) => {
                    // A time stamp of the card, if there is one, is closer to the arrival on the
                    // wire.
                    self.received_unix_ns = self.received_unix_ns.or(time_of(content));
                }
                (Some(libc::SOL_SOCKET), Some(libc::SO_TIMESTAMPING)) => {
                    // Three times: the kernel's, an obsolete one, the card's.
                    let of_card = content.get(2 * TIME_BYTES..).and_then(time_of);
                    if let Some(stamp) = of_card.filter(|stamp| *stamp != 0) {
                        self.received_unix_ns = Some(stamp);
                        self.is_hardware_stamp = true;
                    }
                }
                (Some(libc::SOL_SOCKET), Some(libc::SO_RXQ_OVFL)) => {
                    self.dropped = number::<4>(content, 0).map(u32::from_ne_bytes);
                }
                _ => {}
            }
            let Some(next) = len.checked_next_multiple_of(8) else { return };
            rest = rest.get(next..).unwrap_or_default();
        }
    }
}

fn number<const WIDTH: usize>(bytes: &[u8], offset: usize) -> Option<[u8; WIDTH]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// Converts a `timespec` to nanoseconds.
fn time_of(content: &[u8]) -> Option<u64> {
    let seconds = u64::try_from(i64::from_ne_bytes(number(content, 0)?)).ok()?;
    let nanoseconds = u64::try_from(i64::from_ne_bytes(number(content, 8)?)).ok()?;
    seconds.checked_mul(SECOND_NS)?.checked_add(nanoseconds)
}

const _: () = assert!(
    size_of::<usize>() == 8 && CONTROL_HEADER_BYTES == 16,
    "control messages are read as 64-bit Linux writes them"
);

#[cfg(test)]
mod tests {
    use super::*;

    fn control(kind: i32, content: &[u8]) -> Vec<u8> {
        let mut bytes = (CONTROL_HEADER_BYTES + content.len()).to_ne_bytes().to_vec();
        bytes.extend(libc::SOL_SOCKET.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn read(bytes: &[u8]) -> Meta {
        let mut meta = Meta::default();
        meta.read_controls(bytes);
        meta
    }

    #[test]
    fn time_stamps_and_drops_are_read_in_any_order() {
        let time =
            control(libc::SO_TIMESTAMPNS, &[3_i64.to_ne_bytes(), 7_i64.to_ne_bytes()].concat());
        let drops = control(libc::SO_RXQ_OVFL, &9_u32.to_ne_bytes());
        let other = control(12345, b"something else");
        let expected =
            Meta { received_unix_ns: Some(3_000_000_007), dropped: Some(9), ..Meta::default() };
        assert_eq!(read(&[&time[..], &other, &drops].concat()), expected);
        assert_eq!(read(&[&drops[..], &time].concat()), expected);
    }

    #[test]
    fn a_stamp_of_the_card_counts_and_one_that_is_zero_does_not() {
        let time = |seconds: i64| [seconds.to_ne_bytes(), 7_i64.to_ne_bytes()].concat();
        let none = vec![0; TIME_BYTES];
        let kernel = control(libc::SO_TIMESTAMPNS, &time(3));
        let stamps = |card: &[u8]| {
            let three = [&time(3)[..], &none, card].concat();
            control(libc::SO_TIMESTAMPING, &three)
        };
        let (with, without) = (stamps(&time(2)), stamps(&none));
        for order in [[&kernel, &with], [&with, &kernel]] {
            let meta = read(&order.map(Vec::as_slice).concat());
            assert_eq!(
                (meta.received_unix_ns, meta.is_hardware_stamp),
                (Some(2_000_000_007), true)
            );
        }
        let meta = read(&[&kernel[..], &without].concat());
        assert_eq!((meta.received_unix_ns, meta.is_hardware_stamp), (Some(3_000_000_007), false));
    }

    #[test]
    fn cut_control_messages_are_left_alone() {
        let time =
            control(libc::SO_TIMESTAMPNS, &[3_i64.to_ne_bytes(), 7_i64.to_ne_bytes()].concat());
        for len in 0..time.len() {
            assert_eq!(read(&time[..len]), Meta::default());
        }
        let mut endless = time.clone();
        endless[..8].copy_from_slice(&0_usize.to_ne_bytes());
        assert_eq!(read(&endless), Meta::default());
        endless[..8].copy_from_slice(&usize::MAX.to_ne_bytes());
        assert_eq!(read(&endless), Meta::default());
    }
}
