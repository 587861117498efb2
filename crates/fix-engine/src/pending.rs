//! Shares of pending connections: a peer that floods a listener displaces its own connections
//! first.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};

use super::rate::{Bucket, Rate};

/// Addresses remembered only for their rate.
const REMEMBERED_MAX: usize = 4096;
/// Network part of an IPv6 address: each customer has its own /64 network.
const NETWORK_MASK: u128 = !0 << 64;

/// The pending connections of one address.
#[derive(Debug)]
struct Share {
    /// Indices of connections, oldest first.
    connections: VecDeque<usize>,
    rate: Bucket,
}

/// The pending connections of a listener, by address.
#[derive(Debug, Default)]
pub(super) struct PendingConnections {
    shares: HashMap<IpAddr, Share>,
    count: usize,
}

/// Returns the address or network to which a connection is attributed.
fn sharer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK_MASK).into(),
        address => address,
    }
}

impl PendingConnections {
    /// Returns the number of pending connections.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Takes a token of an address's connection rate. Returns false if there is none.
    pub fn take_rate(&mut self, address: IpAddr, rate: Rate, now_ns: u64) -> bool {
        if self.shares.len() >= REMEMBERED_MAX {
            self.shares.retain(|_, share| !share.connections.is_empty());
        }
        let new = || Share { connections: VecDeque::new(), rate: Bucket::new(rate, now_ns) };
        self.shares.entry(sharer(address)).or_insert_with(new).rate.take(now_ns)
    }

    /// Returns the number of connections of an address.
    pub fn of(&self, address: IpAddr) -> usize {
        self.shares.get(&sharer(address)).map_or(0, |share| share.connections.len())
    }

    /// Returns the connections of an address, oldest first.
    pub fn oldest_of(&self, address: IpAddr) -> Vec<usize> {
        let share = self.shares.get(&sharer(address));
        share.map(|share| share.connections.iter().copied().collect()).unwrap_or_default()
    }

    /// Returns the connections of the address that has the most, oldest first.
    pub fn oldest_of_largest(&self) -> Vec<usize> {
        let largest = self.shares.values().max_by_key(|share| share.connections.len());
        largest.map(|share| share.connections.iter().copied().collect()).unwrap_or_default()
    }

    pub fn add(&mut self, address: IpAddr, connection: usize) {
        let new = || Share { connections: VecDeque::new(), rate: Bucket::new(Rate::UNLIMITED, 0) };
        let share = self.shares.entry(sharer(address)).or_insert_with(new);
        share.connections.push_back(connection);
        self.count += 1;
    }

    pub fn remove(&mut self, address: IpAddr, connection: usize) {
        let Some(share) = self.shares.get_mut(&sharer(address)) else { return };
        let before = share.connections.len();
        share.connections.retain(|known| *known != connection);
        self.count -= before - share.connections.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_largest_share_is_that_of_whoever_has_most() {
        let mut pending = PendingConnections::default();
        pending.add(ip("192.0.2.1"), 7);
        pending.add(ip("2001:db8::1"), 1);
        pending.add(ip("2001:db8::2"), 2);
        pending.add(ip("::ffff:192.0.2.1"), 8);
        pending.add(ip("2001:db8::ffff:0:0:3"), 3);
        assert_eq!(pending.oldest_of_largest(), [1, 2, 3], "one network");
        assert_eq!(pending.oldest_of(ip("192.0.2.1")), [7, 8]);
        pending.remove(ip("2001:db8::9"), 2);
        pending.remove(ip("2001:db8::9"), 2);
        assert_eq!((pending.len(), pending.of(ip("2001:db8::"))), (4, 2));
    }

    #[test]
    fn addresses_have_rates_of_their_own_and_are_not_remembered_without_bound() {
        let mut pending = PendingConnections::default();
        let rate = Rate { per_second: 1 };
        let mut take = |address: &str| pending.take_rate(ip(address), rate, 5);
        assert!(take("192.0.2.1") && !take("192.0.2.1") && take("192.0.2.2"));
        pending.add(ip("192.0.2.1"), 1);
        for number in 0..100_000_u32 {
            pending.take_rate(IpAddr::V4(number.to_be().into()), rate, 5);
        }
        assert!(pending.shares.len() <= REMEMBERED_MAX);
        assert!(!pending.take_rate(ip("192.0.2.1"), rate, 5), "who is there is remembered");
    }
}
