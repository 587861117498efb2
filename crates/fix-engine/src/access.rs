//! Access control of a session, in addition to its CompIDs.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use tickwire_fix_session::Refusal;

/// A range of addresses with the same leading bits.
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

    /// True if an address is in the range.
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

/// The SHA-256 of a certificate, as `openssl x509 -fingerprint -sha256` prints it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; SHA256_OUTPUT_LEN]);

impl Fingerprint {
    /// Returns the fingerprint of a certificate in DER form.
    pub fn of(certificate: &[u8]) -> Self {
        let mut bytes = [0; SHA256_OUTPUT_LEN];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }

    /// Parses 64 hexadecimal digits, with or without colons between the bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b':').collect();
        let mut bytes = [0; SHA256_OUTPUT_LEN];
        if digits.len() != 2 * bytes.len() || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// The peer of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Its certificate chain in DER form, its own certificate first; empty without TLS or if no
    /// certificate was requested.
    pub certificates: Vec<Vec<u8>>,
}

/// Peers that may log on to a session; by default all that the listener admits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Permitted addresses; empty permits all.
    pub addresses: Vec<AddressRange>,
    /// Permitted certificates; empty permits all that the listener's TLS accepts.
    pub certificates: Vec<Fingerprint>,
}

impl Access {
    /// Checks a peer.
    pub(super) fn check(&self, peer: &Peer) -> Result<(), Refusal> {
        let address = peer.address.ip();
        let is_allowed =
            self.addresses.is_empty() || self.addresses.iter().any(|range| range.contains(address));
        if !is_allowed {
            return Err(Refusal::Address);
        }
        let own = peer.certificates.first().map(|certificate| Fingerprint::of(certificate));
        let is_known = self.certificates.is_empty()
            || own.is_some_and(|fingerprint| self.certificates.contains(&fingerprint));
        is_known.then_some(()).ok_or(Refusal::Certificate)
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

    #[test]
    fn fingerprints_are_read_as_openssl_prints_them() {
        let text = "ba:78:16:bf:8f:01:cf:ea:41:41:40:de:5d:ae:22:23:b0:03:61:a3:96:17:7a:9c:b4:10:ff:61:f2:00:15:ad";
        let parsed = Fingerprint::parse(text).expect("well written");
        assert_eq!(parsed, Fingerprint::of(b"abc"));
        assert_eq!(Fingerprint::parse(&parsed.to_string().to_uppercase()), Some(parsed));
        for bad in ["", "ba", &text[1..], &text.replace("ba", "+a"), &format!("{text}:00")] {
            assert_eq!(Fingerprint::parse(bad), None, "{bad}");
        }
    }
}
