//! Interfaces by name or address.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::Ipv4Addr;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::if_nametoindex;

/// No interface of this host has this name or address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownInterface {
    /// The requested name or address.
    pub wanted: String,
    /// The interfaces of this host, as `name address`.
    pub found: Vec<String>,
}

impl fmt::Display for UnknownInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.join(", ");
        write!(f, "no interface {} with an IPv4 address; there are: {found}", self.wanted)
    }
}

impl Error for UnknownInterface {}

/// Returns the IPv4 address of an interface given by name (`eth0`) or by that address.
///
/// # Errors
/// [`UnknownInterface`] if there is none.
pub fn interface_address(wanted: &str) -> Result<Ipv4Addr, UnknownInterface> {
    let interfaces: Vec<(String, Ipv4Addr)> =
        getifaddrs().into_iter().flatten().filter_map(named_address).collect();
    let by_address = wanted.parse::<Ipv4Addr>().ok();
    // Any address of 127.0.0.0/8 is the loopback interface.
    if let Some(address) = by_address.filter(Ipv4Addr::is_loopback) {
        return Ok(address);
    }
    let is_wanted =
        |(name, address): &&(String, Ipv4Addr)| name == wanted || Some(*address) == by_address;
    match interfaces.iter().find(is_wanted) {
        Some((_, address)) => Ok(*address),
        None => Err(UnknownInterface {
            wanted: wanted.to_owned(),
            found: interfaces.iter().map(|(name, address)| format!("{name} {address}")).collect(),
        }),
    }
}

/// Returns the index of the interface with this IPv4 address; any address of 127.0.0.0/8 means
/// loopback.
///
/// # Errors
/// `NotFound` with the address, or the operating system's error.
pub fn interface_index(address: Ipv4Addr) -> io::Result<u32> {
    let name = if address.is_loopback() {
        "lo".to_owned()
    } else {
        let mut interfaces = getifaddrs()?.filter_map(named_address);
        let found = interfaces.find(|(_, own)| *own == address);
        let text = || format!("no interface has the address {address}");
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, text()))?.0
    };
    Ok(if_nametoindex(name.as_str())?)
}

fn named_address(interface: InterfaceAddress) -> Option<(String, Ipv4Addr)> {
    let address = interface.address?;
    Some((interface.interface_name, address.as_sockaddr_in()?.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found_by_address() {
        assert_eq!(interface_address("127.0.0.1"), Ok(Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn what_is_not_there_is_said_with_what_is() {
        let error = interface_address("no-such-interface").unwrap_err();
        assert!(error.to_string().starts_with("no interface no-such-interface"), "{error}");
        assert!(interface_address("203.0.113.77").is_err());
    }
}
