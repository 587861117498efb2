//! What several tests need.
#![allow(dead_code, reason = "each test file uses a part")]

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};

use tickwire_net::clock::KernelTimes;
use tickwire_net::multicast::{Datagram, Endpoint, Receiver};

static NEXT: AtomicU16 = AtomicU16::new(0);

/// An endpoint on loopback that no other test, here or in a process beside this one, uses.
pub fn endpoint() -> Endpoint {
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let port = 20_000 + NEXT.fetch_add(1, Ordering::Relaxed);
    Endpoint::loopback(Ipv4Addr::new(239, 255, high, low), port)
}

/// Takes what has arrived, up to one batch, and returns how many came.
pub fn receive(receiver: &mut Receiver, mut take: impl FnMut(Datagram<'_>)) -> usize {
    let times = KernelTimes::new();
    let count = receiver.fill(&times).unwrap();
    while let Some(datagram) = receiver.take(&times) {
        take(datagram);
    }
    count
}
