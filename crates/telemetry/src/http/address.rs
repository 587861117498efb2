//! Address of an HTTP server.

use std::error::Error;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Address of a server. A bare port means the loopback interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpAddress(pub SocketAddr);

/// The text is neither a port nor an address with a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAddress;

impl fmt::Display for UnknownAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a port, such as 9100, or an address with one, such as 0.0.0.0:9100")
    }
}

impl Error for UnknownAddress {}

impl FromStr for HttpAddress {
    type Err = UnknownAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
            return Ok(Self(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        }
        text.parse().map(Self).map_err(|_| UnknownAddress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_port_stays_on_this_host() {
        let parse = |text: &str| text.parse::<HttpAddress>().map(|address| address.0.to_string());
        assert_eq!(parse("9100"), Ok("127.0.0.1:9100".to_owned()));
        assert_eq!(parse(":9100"), Ok("127.0.0.1:9100".to_owned()));
        assert_eq!(parse("0.0.0.0:9100"), Ok("0.0.0.0:9100".to_owned()));
        assert_eq!(parse("[::1]:9100"), Ok("[::1]:9100".to_owned()));
        assert_eq!(parse("host"), Err(UnknownAddress));
    }
}
