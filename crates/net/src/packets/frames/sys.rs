//! `sendmmsg` on an `AF_PACKET` socket.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use super::FRAMES_MAX;

/// A socket that sends whole frames.
#[derive(Debug)]
pub(super) struct FrameSocket(OwnedFd);

impl FrameSocket {
    pub(super) fn open(interface: u32) -> io::Result<Self> {
        // SAFETY: a plain system call. Protocol 0 receives nothing.
        let socket =
            unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let bypass = 1_i32;
        // SAFETY: the value lives during the call, and the length is its own.
        let set = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                (&raw const bypass).cast(),
                size_of::<i32>() as libc::socklen_t,
            )
        };
        if set != 0 {
            return Err(io::Error::last_os_error());
        }
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: 0,
            sll_ifindex: i32::try_from(interface).map_err(io::Error::other)?,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: the address is a `sockaddr_ll` of that length, read during the call only.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if bound == 0 { Ok(Self(socket)) } else { Err(io::Error::last_os_error()) }
    }

    pub(super) fn send(&self, frames: &[&[u8]]) -> io::Result<usize> {
        let count = frames.len().min(FRAMES_MAX);
        // SAFETY: C structs of integers and pointers, for which all zeros is a value.
        let mut vectors: [libc::iovec; FRAMES_MAX] = unsafe { mem::zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; FRAMES_MAX] = unsafe { mem::zeroed() };
        for ((frame, vector), header) in frames.iter().zip(&mut vectors).zip(&mut headers) {
            // The kernel only reads frames that it sends.
            vector.iov_base = frame.as_ptr().cast_mut().cast();
            vector.iov_len = frame.len();
            header.msg_hdr.msg_iov = ptr::from_mut(vector);
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: `count` headers were filled in above: each has one vector, which points at a borrowed frame
        // with its length; all of them live during the call.
        let sent = unsafe {
            libc::sendmmsg(self.0.as_raw_fd(), headers.as_mut_ptr(), count as libc::c_uint, 0)
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}
