//! The floor of the path from a datagram to a subscriber: one system call that receives a datagram with its time stamp,
//! no decoding, and a ring of sequence locks.

use crate::bare_ring::{BareRing, Polled};
use crate::{GAP, pin, unix_ns};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use std::io::{ErrorKind, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tickwire_net::multicast::{Endpoint, Sender, SenderOptions};

/// Bytes that are published for each datagram: a sample of the Simple feed and its header.
const SAMPLE_BYTES: usize = 48;

/// Sends the packets and returns their times from the kernel's stamp to the subscriber, in nanoseconds, and how many were
/// lost. As in the other runs, sender and subscriber are on CPU 0, the receiver is on CPU 1.
pub fn datagrams(packets: &[Vec<u8>], endpoint: Endpoint, receiver_spins: bool) -> (Vec<u64>, u64) {
    let (ring, over, is_ready) =
        (BareRing::new(SAMPLE_BYTES, 1 << 16), AtomicBool::new(false), Barrier::new(2));
    let (mut times, mut lost) = (Vec::new(), 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let socket = open(endpoint, receiver_spins);
            pin(1);
            is_ready.wait();
            receive(&socket, &ring, &over);
        });
        pin(0);
        is_ready.wait();
        let sender = Sender::open(endpoint, SenderOptions::default()).expect("a socket");
        let (mut next, mut buffer, begun) = (0, [0; 8], Instant::now());
        for (number, packet) in (0..).zip(packets) {
            while begun.elapsed() < GAP * number {
                match ring.poll(&mut next, &mut buffer) {
                    Polled::Sample(stamp_ns) => times.push(unix_ns().saturating_sub(stamp_ns)),
                    Polled::Lost(samples) => lost += samples,
                    Polled::Nothing => {}
                }
            }
            sender.send(packet).expect("sent");
        }
        over.store(true, Ordering::Relaxed);
    });
    (times, lost)
}

fn open(endpoint: Endpoint, spins: bool) -> UdpSocket {
    let socket = UdpSocket::bind(endpoint.address()).expect("a port");
    socket.join_multicast_v4(&endpoint.group, &endpoint.interface).expect("joined");
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).expect("time stamps");
    socket.set_nonblocking(spins).expect("a socket");
    // A timeout, so that the end of the run is noticed.
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
    socket
}

/// Receives and publishes until `over` is set.
fn receive(socket: &UdpSocket, ring: &BareRing, over: &AtomicBool) {
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let (mut bytes, mut seq_num) = ([0; 2048], 0);
    let mut sample = [0x5a; SAMPLE_BYTES];
    while !over.load(Ordering::Relaxed) {
        let mut buffers = [IoSliceMut::new(&mut bytes)];
        let received =
            recvmsg::<()>(socket.as_raw_fd(), &mut buffers, Some(&mut control), MsgFlags::empty());
        let received = match received.map_err(std::io::Error::from) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            received => received.expect("a datagram"),
        };
        let stamp = received.cmsgs().expect("room for it").find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
            _ => None,
        });
        let stamp_ns = stamp.expect("a time stamp").as_nanos() as u64;
        sample[..8].copy_from_slice(&stamp_ns.to_le_bytes());
        ring.publish(seq_num, &sample);
        seq_num += 1;
    }
}
