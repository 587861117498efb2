//! Addresses to send to and receive from.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Default group.
pub const DEFAULT_GROUP: Ipv4Addr = Ipv4Addr::new(224, 1, 2, 133);
/// Default port.
pub const DEFAULT_PORT: u16 = 13014;

/// A group, a port, and the local interface for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Multicast group, or the address of one host.
    pub group: Ipv4Addr,
    /// UDP port.
    pub port: u16,
    /// Address of this host's interface.
    pub interface: Ipv4Addr,
    /// The only accepted sender (source-specific multicast); `None` for any.
    pub source: Option<Ipv4Addr>,
}

impl Endpoint {
    /// Returns a group and port on the loopback interface.
    pub const fn loopback(group: Ipv4Addr, port: u16) -> Self {
        Self { group, port, interface: Ipv4Addr::LOCALHOST, source: None }
    }

    /// Returns the destination address of packets.
    pub const fn address(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.group, self.port)
    }
}

/// Returns the default group and port on the loopback interface.
impl Default for Endpoint {
    fn default() -> Self {
        Self::loopback(DEFAULT_GROUP, DEFAULT_PORT)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.address(), self.interface)?;
        match self.source {
            Some(source) => write!(f, " from {source}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_the_source_that_is_listened_to() {
        let endpoint = Endpoint { source: Some(Ipv4Addr::new(10, 0, 0, 7)), ..Endpoint::default() };
        assert_eq!(endpoint.to_string(), "224.1.2.133:13014 on 127.0.0.1 from 10.0.0.7");
    }

    #[test]
    fn the_default_stays_on_this_host() {
        assert_eq!(Endpoint::default().to_string(), "224.1.2.133:13014 on 127.0.0.1");
    }
}
