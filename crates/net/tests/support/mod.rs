//! What several tests need.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};

use tickwire_net::multicast::Endpoint;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// An endpoint on loopback that no other test, here or in a process beside this one, uses.
pub fn endpoint() -> Endpoint {
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let port = 20_000 + NEXT.fetch_add(1, Ordering::Relaxed);
    Endpoint::loopback(Ipv4Addr::new(239, 255, high, low), port)
}
