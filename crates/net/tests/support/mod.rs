//! Functions that several tests need.
#![allow(dead_code, reason = "each test file uses a part")]

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};

use tickwire_net::clock::{KernelTimes, SECOND_NS, monotonic_ns};
use tickwire_net::multicast::{
    Datagram, Endpoint, Receiver, ReceiverOptions, Sender, SenderOptions,
};

static NEXT: AtomicU16 = AtomicU16::new(0);

/// Returns an endpoint on loopback that no other test uses, in this process or another.
pub fn endpoint() -> Endpoint {
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let port = 20_000 + NEXT.fetch_add(1, Ordering::Relaxed);
    Endpoint::loopback(Ipv4Addr::new(239, 255, high, low), port)
}

/// Receives the packets that have arrived, up to one batch, and returns their number.
pub fn receive(receiver: &mut Receiver, mut take: impl FnMut(Datagram<'_>)) -> usize {
    let count = receiver.fill(&mut KernelTimes::new()).unwrap();
    while let Some(datagram) = receiver.take() {
        take(datagram);
    }
    count
}

/// Waits until the kernel stamps packets on arrival. It starts to do so some time after the first
/// socket of the machine has requested it, and until then stamps packets when they are read. The
/// returned socket keeps stamping enabled.
pub fn await_stamps_on_arrival() -> Receiver {
    let endpoint = endpoint();
    let mut receiver = Receiver::open(endpoint, ReceiverOptions::default()).unwrap();
    let sender = Sender::open(endpoint, SenderOptions::default()).unwrap();
    let end_ns = monotonic_ns() + 20 * SECOND_NS;
    let mut stamped_on_arrival = false;
    while !stamped_on_arrival {
        sender.send(&[0]).unwrap();
        let sent_ns = monotonic_ns();
        while monotonic_ns() < sent_ns + 100_000 {}
        receive(&mut receiver, |datagram| stamped_on_arrival |= datagram.received_ns < sent_ns);
        assert!(monotonic_ns() < end_ns, "the kernel stamps no packets as they come");
    }
    receiver
}
