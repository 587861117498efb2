//! Network and resource limits of a domain.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use crate::DdsError;

/// Highest domain number whose UDP ports exist. Spec: DDSI-RTPS 2.5 §9.6.2.3.
pub const DOMAIN_ID_MAX: u32 = 232;

/// Maximum number of processes of one domain on one host. A domain has 250 ports, and each participant uses two of
/// them, from the tenth on. Spec: DDSI-RTPS 2.5 §9.6.2.3.
pub const PROCESSES_MAX: u16 = 120;

/// Returns how many processes of domain `id` have ports below 65536.
fn processes_with_ports(id: u32) -> u16 {
    let first = 7_400 + 250 * id + 10;
    let room = u32::from(u16::MAX).saturating_sub(first) / 2;
    u16::try_from(room).map_or(PROCESSES_MAX, |room| room.min(PROCESSES_MAX))
}

/// The network interface that a domain uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DomainNetwork {
    /// The interface that the middleware prefers; only one is used.
    Best,
    /// The interface with this address.
    Interface(IpAddr),
    /// The loopback interface, 127.0.0.1: nothing leaves the machine.
    #[default]
    Loopback,
}

/// Options of a domain. By default a domain uses loopback only, without multicast, and looks for peers there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainConfig {
    /// The network interface.
    pub network: DomainNetwork,
    /// True if discovery and data may use multicast. If false, `peers` lists the hosts to contact.
    pub multicast: bool,
    /// Hosts on which participants are discovered by unicast.
    pub peers: Vec<IpAddr>,
    /// Maximum number of processes of one domain on one host. Discovery contacts the ports of this many processes on
    /// each peer. Domains with the highest numbers have fewer ports.
    pub processes_max: u16,
    /// Domain number on the wire; `None` to use the number in this process.
    ///
    /// Two domains of one process that have the same number on the wire see each other over the network.
    pub wire_id: Option<u32>,
    /// Largest serialised sample that is sent or received, in bytes; larger ones are dropped.
    pub sample_bytes_max: u32,
    /// Largest UDP payload that is sent, in bytes.
    pub datagram_bytes_max: u32,
    /// Time without a sign of life after which a peer counts as gone. Until then, a reliable writer that keeps all
    /// samples may block waiting for that peer.
    pub lease: Duration,
    /// Requested size of socket receive buffers, in bytes; a smaller one is accepted.
    pub receive_buffer_bytes: u32,
}

impl Default for DomainConfig {
    fn default() -> Self {
        Self {
            network: DomainNetwork::Loopback,
            multicast: false,
            peers: Vec::new(),
            processes_max: PROCESSES_MAX,
            wire_id: None,
            sample_bytes_max: 1 << 20,
            datagram_bytes_max: 14_720,
            lease: Duration::from_secs(10),
            receive_buffer_bytes: 4 << 20,
        }
    }
}

impl DomainConfig {
    /// Returns the configuration of domain `id` as the XML that Cyclone reads.
    ///
    /// The environment variable CYCLONEDDS_URI has no effect.
    ///
    /// # Errors
    /// - [`DdsError::DomainId`] if the number on the wire (`wire_id`, or else `id`) has no ports.
    /// - [`DdsError::OptionRange`] if a size or count is zero or above `i32::MAX`.
    pub fn print_xml(&self, id: u32) -> Result<String, DdsError> {
        let on_wire = checked_domain_id(self.wire_id.unwrap_or(id))?;
        let processes_max = self.processes_max.min(processes_with_ports(on_wire));
        let processes_max = ranged("processes_max", u32::from(processes_max))?;
        let sample_bytes_max = ranged("sample_bytes_max", self.sample_bytes_max)?;
        let datagram_bytes_max = ranged("datagram_bytes_max", self.datagram_bytes_max)?;
        let receive_buffer_bytes = ranged("receive_buffer_bytes", self.receive_buffer_bytes)?;
        let interface = match self.network {
            DomainNetwork::Best => "autodetermine=\"true\"".to_owned(),
            DomainNetwork::Interface(address) => format!("address=\"{address}\""),
            DomainNetwork::Loopback => "address=\"127.0.0.1\"".to_owned(),
        };
        let lease_ms = u32::try_from(self.lease.as_millis()).unwrap_or(u32::MAX);
        let lease_ms = ranged("lease", lease_ms)?;
        let multicast = self.multicast;
        let last_index = processes_max.saturating_sub(1);
        let mut xml = format!(
            "<CycloneDDS><Domain Id=\"any\"><General>\
             <Interfaces><NetworkInterface {interface} multicast=\"{multicast}\"/></Interfaces>\
             <AllowMulticast>{multicast}</AllowMulticast>\
             <MaxMessageSize>{datagram_bytes_max} B</MaxMessageSize></General>\
             <Discovery><ParticipantIndex>auto</ParticipantIndex>\
             <MaxAutoParticipantIndex>{last_index}</MaxAutoParticipantIndex>\
             <LeaseDuration>{lease_ms} ms</LeaseDuration>"
        );
        if self.wire_id.is_some() {
            push(&mut xml, format_args!("<ExternalDomainId>{on_wire}</ExternalDomainId>"));
        }
        self.push_peers(&mut xml);
        push(
            &mut xml,
            format_args!(
                "</Discovery><Internal><MaxSampleSize>{sample_bytes_max} B</MaxSampleSize>\
                 <SocketReceiveBufferSize max=\"{receive_buffer_bytes} B\"/></Internal>\
                 </Domain></CycloneDDS>"
            ),
        );
        Ok(xml)
    }

    fn push_peers(&self, xml: &mut String) {
        let own_host = !self.multicast && self.network == DomainNetwork::Loopback;
        if !own_host && self.peers.is_empty() {
            return;
        }
        xml.push_str("<Peers>");
        if own_host {
            xml.push_str("<Peer Address=\"127.0.0.1\"/>");
        }
        for peer in &self.peers {
            push(xml, format_args!("<Peer Address=\"{peer}\"/>"));
        }
        xml.push_str("</Peers>");
    }
}

pub(crate) fn checked_domain_id(id: u32) -> Result<u32, DdsError> {
    if id <= DOMAIN_ID_MAX { Ok(id) } else { Err(DdsError::DomainId { id }) }
}

pub(crate) fn ranged(option: &'static str, value: u32) -> Result<i32, DdsError> {
    i32::try_from(value).ok().filter(|&v| v > 0).ok_or(DdsError::OptionRange { option })
}

fn push(xml: &mut String, piece: std::fmt::Arguments<'_>) {
    xml.write_fmt(piece).expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_stays_on_loopback_without_multicast() {
        let xml = DomainConfig::default().print_xml(0).unwrap();
        assert!(xml.contains("<NetworkInterface address=\"127.0.0.1\" multicast=\"false\"/>"));
        assert!(xml.contains("<AllowMulticast>false</AllowMulticast>"));
        assert!(xml.contains("<Peers><Peer Address=\"127.0.0.1\"/></Peers>"));
    }

    #[test]
    fn a_zero_size_is_refused_by_name() {
        let config = DomainConfig { sample_bytes_max: 0, ..DomainConfig::default() };
        assert_eq!(config.print_xml(0), Err(DdsError::OptionRange { option: "sample_bytes_max" }));
    }

    #[test]
    fn no_process_of_the_highest_domain_has_a_port_that_does_not_exist() {
        let xml = DomainConfig::default().print_xml(DOMAIN_ID_MAX).unwrap();
        let last_index = xml.split("<MaxAutoParticipantIndex>").nth(1).unwrap();
        let last_index: u32 = last_index.split('<').next().unwrap().parse().unwrap();
        assert!(7_400 + 250 * DOMAIN_ID_MAX + 11 + 2 * last_index <= 65_535, "{last_index}");
        assert!(last_index > 31);
    }

    #[test]
    fn a_domain_without_ports_is_refused() {
        let config = DomainConfig { wire_id: Some(233), ..DomainConfig::default() };
        assert_eq!(config.print_xml(0), Err(DdsError::DomainId { id: 233 }));
    }
}
