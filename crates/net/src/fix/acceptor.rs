//! Listening: who may connect, how often, and which sessions there are.

use std::fs::File;
use std::net::{IpAddr, SocketAddr};

use tickwire_fix_session::{Config, SessionId};

use super::rate::Rate;
use super::sessions::BoxStore;
use super::tls::ServerTls;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    address: IpAddr,
    bits: u8,
}

impl AddressRange {
    /// Parses an address, `192.0.2.7`, or a range, `192.0.2.0/24`.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Self { address, bits })
    }

    /// Whether an address is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        let address = address.to_canonical();
        let shift = 128_u32.saturating_sub(u32::from(self.bits));
        let same = |address| bits(address).checked_shr(shift).unwrap_or(0);
        self.address.is_ipv4() == address.is_ipv4() && same(self.address) == same(address)
    }
}

/// Makes sessions for counterparties that are not known, by the id that the Logon names; `None` refuses it.
pub type Template = Box<dyn FnMut(&SessionId) -> Option<TemplateSession> + Send>;

/// What a template makes.
pub struct TemplateSession {
    /// The configuration, with the id that the Logon names.
    pub config: Config,
    /// The store.
    pub store: BoxStore,
    /// Where the message log goes, if the configuration says that one is made.
    pub log: Option<File>,
}

impl std::fmt::Debug for TemplateSession {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("TemplateSession").field("id", &self.config.id).finish_non_exhaustive()
    }
}

/// What a listener allows.
#[derive(Clone, Debug)]
pub struct AcceptorOptions {
    /// Where to listen.
    pub address: SocketAddr,
    /// Who may connect; empty for everyone.
    pub allowed: Vec<AddressRange>,
    /// Encryption; `None` for plain connections.
    pub tls: Option<ServerTls>,
    /// Most connections at a time. Default 1,024.
    pub connections_max: usize,
    /// Most of them that have not sent a Logon. Default 128.
    pub strangers_max: usize,
    /// Connections a second. Default 200.
    pub connection_rate: Rate,
    /// Logons a second. Default 200.
    pub logon_rate: Rate,
    /// Most sessions that the template makes; who comes later is refused. Default 1,000.
    pub template_sessions_max: usize,
    /// Most bytes before the first message is whole. Default 8 KiB.
    pub first_message_len_max: usize,
    /// Seconds for the first message to come. Default 10.
    pub first_message_timeout_s: u32,
}

impl AcceptorOptions {
    /// Creates options with defaults.
    pub const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            allowed: Vec::new(),
            tls: None,
            connections_max: 1024,
            strangers_max: 128,
            connection_rate: Rate { per_second: 200 },
            logon_rate: Rate { per_second: 200 },
            template_sessions_max: 1000,
            first_message_len_max: 8 << 10,
            first_message_timeout_s: 10,
        }
    }

    pub(super) fn allows(&self, address: IpAddr) -> bool {
        self.allowed.is_empty() || self.allowed.iter().any(|range| range.contains(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_addresses_that_begin_alike() {
        let holds = |range: &str, address: &str| {
            let range = AddressRange::parse(range).expect("well written");
            range.contains(address.parse().expect("well written"))
        };
        assert!(holds("192.0.2.0/24", "192.0.2.200"));
        assert!(!holds("192.0.2.0/24", "192.0.3.1"));
        assert!(holds("192.0.2.7", "192.0.2.7") && !holds("192.0.2.7", "192.0.2.8"));
        assert!(holds("0.0.0.0/0", "203.0.113.1") && !holds("0.0.0.0/0", "2001:db8::1"));
        assert!(holds("192.0.2.0/24", "::ffff:192.0.2.1"));
        assert!(holds("2001:db8::/32", "2001:db8:7::1"));
        for bad in ["192.0.2.0/33", "here", "192.0.2.1/x", ""] {
            assert_eq!(AddressRange::parse(bad), None, "{bad}");
        }
    }
}
