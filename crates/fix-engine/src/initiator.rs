//! Options of outgoing connections: addresses and back-off.

use std::net::SocketAddr;
use std::time::Duration;

use super::tls::ClientTls;

/// Exponential back-off between attempts: `first`, then twice as long each time, up to `longest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Wait after the first failure.
    pub first: Duration,
    /// Longest wait.
    pub longest: Duration,
}

impl Backoff {
    /// Creates a back-off with the same wait after every failure.
    pub const fn fixed(wait: Duration) -> Self {
        Self { first: wait, longest: wait }
    }

    /// Returns the wait after this many consecutive failures, from 1.
    pub fn wait(&self, failures: u32) -> Duration {
        let factor = 1_u32 << failures.saturating_sub(1).min(20);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

/// Options of an initiator's connection.
#[derive(Clone, Debug)]
pub struct InitiatorOptions {
    /// Addresses, tried in turn, each with the host name that its certificate must contain.
    pub addresses: Vec<(SocketAddr, String)>,
    /// Host names and ports to resolve before each round; the results replace `addresses`. If
    /// empty, `addresses` stay as they are.
    pub hosts: Vec<(String, u16)>,
    /// TLS; `None` for plain connections.
    pub tls: Option<ClientTls>,
    /// Wait between attempts. Default 1 s up to 30 s.
    pub backoff: Backoff,
    /// Longest duration of an attempt. Default 10 s.
    pub connect_timeout: Duration,
}

impl InitiatorOptions {
    /// Creates options with defaults.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            addresses: vec![(address, address.ip().to_string())],
            hosts: Vec::new(),
            tls: None,
            backoff: Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(30) },
            connect_timeout: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let seconds = Duration::from_secs;
        let backoff = Backoff { first: seconds(1), longest: seconds(5) };
        let waits = [1, 2, 3, 4, 100].map(|failures| backoff.wait(failures));
        assert_eq!(waits, [1, 2, 4, 5, 5].map(seconds));
    }
}
