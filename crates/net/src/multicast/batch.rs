//! Many datagrams by one call: `recvmmsg`, the only `unsafe` of this crate.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use crate::clock::SECOND_NS;

/// Datagrams taken by one call at most.
pub(super) const BATCH_MAX: usize = 32;

/// Room for the control messages of one datagram, in words: a time stamp (16 bytes) and a drop
/// count (4), each behind a header of 16 bytes, with room to spare.
const CONTROL_WORDS: usize = 16;
const CONTROL_BYTES: usize = CONTROL_WORDS * size_of::<u64>();
/// Length, level and type in front of each control message, as 64-bit Linux has them.
const CONTROL_HEADER_BYTES: usize = size_of::<libc::cmsghdr>();

/// What the kernel says of one datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meta {
    /// Bytes in the buffer.
    pub(super) len: usize,
    /// Whether the datagram was longer than the buffer.
    pub(super) is_cut: bool,
    /// When the kernel received it, nanoseconds since 1970.
    pub(super) received_unix_ns: Option<u64>,
    /// Datagrams the socket has dropped so far, modulo 2^32; said only once some are.
    pub(super) dropped: Option<u32>,
}

/// Buffers for one batch.
#[derive(Debug)]
pub(super) struct Batch {
    bytes: Box<[u8]>,
    packet_bytes_max: usize,
    controls: Box<[[u64; CONTROL_WORDS]; BATCH_MAX]>,
    metas: [Meta; BATCH_MAX],
    received: usize,
}

impl Batch {
    pub(super) fn new(packet_bytes_max: usize) -> Self {
        let packet_bytes_max = packet_bytes_max.max(1);
        Self {
            bytes: vec![0; packet_bytes_max.saturating_mul(BATCH_MAX)].into_boxed_slice(),
            packet_bytes_max,
            controls: Box::new([[0; CONTROL_WORDS]; BATCH_MAX]),
            metas: [Meta::default(); BATCH_MAX],
            received: 0,
        }
    }

    /// Takes what has arrived without waiting and returns how many datagrams that is.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.received = 0;
        // SAFETY: these are C structs of integers and pointers, for which all zeros is a value.
        let mut vectors: [libc::iovec; BATCH_MAX] = unsafe { mem::zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; BATCH_MAX] = unsafe { mem::zeroed() };
        let buffers = self.bytes.chunks_exact_mut(self.packet_bytes_max);
        let parts = headers.iter_mut().zip(&mut vectors).zip(buffers).zip(self.controls.iter_mut());
        for (((header, vector), buffer), control) in parts {
            vector.iov_base = buffer.as_mut_ptr().cast();
            vector.iov_len = buffer.len();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        // SAFETY: `headers` holds BATCH_MAX headers. Each has its own vector, buffer and control
        // room with their true lengths; they are borrowed mutably or owned here, so they outlive
        // the call and nothing else touches them during it. No address is asked for, no timeout
        // given: null is allowed for both. The descriptor is open for as long as it is borrowed.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH_MAX as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        self.received = received.min(BATCH_MAX);
        let answers = headers.iter().zip(self.controls.iter()).zip(&mut self.metas);
        for ((header, control), meta) in answers.take(self.received) {
            let control_len = header.msg_hdr.msg_controllen.min(CONTROL_BYTES);
            *meta = Meta {
                len: (header.msg_len as usize).min(self.packet_bytes_max),
                is_cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
                ..Meta::default()
            };
            let words = control.map(u64::to_ne_bytes);
            meta.read_controls(words.as_flattened().get(..control_len).unwrap_or_default());
        }
        Ok(self.received)
    }

    /// A datagram of the last batch, with what is known of it.
    pub(super) fn datagram(&self, index: usize) -> Option<(&Meta, &[u8])> {
        let meta = self.metas.get(..self.received)?.get(index)?;
        let start = index.checked_mul(self.packet_bytes_max)?;
        Some((meta, self.bytes.get(start..)?.get(..meta.len)?))
    }
}

impl Meta {
    /// Takes what is known from control messages, one behind the other, each aligned to 8 bytes.
    fn read_controls(&mut self, mut rest: &[u8]) {
        while let Some((header, behind)) = rest.split_at_checked(CONTROL_HEADER_BYTES) {
            let Some(len) = number::<8>(header, 0).map(usize::from_ne_bytes) else { return };
            let Some(content) = len.checked_sub(CONTROL_HEADER_BYTES) else { return };
            let Some(content) = behind.get(..content) else { return };
            let level = number::<4>(header, 8).map(libc::c_int::from_ne_bytes);
            let kind = number::<4>(header, 12).map(libc::c_int::from_ne_bytes);
            match (level, kind) {
                (Some(libc::SOL_SOCKET), Some(libc::SO_TIMESTAMPNS)) => {
                    self.received_unix_ns = time_of(content);
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

/// Nanoseconds of a `timespec`.
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
