//! DDS as a transport. `no_dds.rs` has the same names for builds without DDS.

use super::refused;
use crate::failure::Failure;
use crate::units::{TimeSpan, span_in};
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;
use tickwire_dds::{Domain, DomainConfig, DomainNetwork};
use tickwire_distribution::{DeliverySettings, HistoryDepth};

/// True if this build has DDS.
pub const HAS_DDS: bool = true;

/// A participant in a domain.
pub type DdsParticipant = tickwire_dds::CycloneParticipant;

/// Default of `--lease`.
const LEASE: Duration = Duration::from_secs(10);

/// Options of DDS only.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "DDS")]
pub struct DdsArgs {
    /// Do not retransmit lost samples.
    #[arg(long)]
    best_effort: bool,
    /// Samples buffered for a slow subscriber, per topic, or per security if the topic is keyed by
    /// security. When the buffer is full, DEPTH drops the oldest sample; with "all", the publisher
    /// waits.
    #[arg(long, value_name = "DEPTH|all")]
    history: Option<HistoryArg>,
    /// Network to use: "loopback" for this machine only, "any" for an interface chosen by the
    /// middleware, or the address of an interface. Default: loopback.
    #[arg(long, value_name = "WHERE")]
    network: Option<NetworkArg>,
    /// Host on which to look for peers; may be repeated. Default: discovery by multicast; on
    /// loopback by the known ports of this machine.
    #[arg(long, value_name = "ADDRESS")]
    peer: Vec<IpAddr>,
    /// Lease: a peer from which nothing arrives for this time counts as gone. Default: 10s.
    #[arg(long, value_name = "TIME")]
    #[arg(value_parser = span_in("100ms"..="1h"))]
    lease: Option<TimeSpan>,
}

/// How many samples are held for a slow subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HistoryArg {
    All,
    Last(u32),
}

impl FromStr for HistoryArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            _ => match text.parse() {
                Ok(depth @ 1..) => Ok(Self::Last(depth)),
                _ => Err("a number from 1, or all"),
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NetworkArg(DomainNetwork);

impl FromStr for NetworkArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let network = match text {
            "any" => DomainNetwork::Best,
            "loopback" => DomainNetwork::Loopback,
            _ => DomainNetwork::Interface(text.parse().map_err(|_| "loopback, any or an address")?),
        };
        Ok(Self(network))
    }
}

impl DdsArgs {
    /// Returns the name of the first of these options that is set.
    pub fn first_set(&self) -> Option<&'static str> {
        let Self { best_effort, history, network, peer, lease } = self;
        let all = [
            ("--best-effort", *best_effort),
            ("--history", history.is_some()),
            ("--network", network.is_some()),
            ("--peer", !peer.is_empty()),
            ("--lease", lease.is_some()),
        ];
        all.into_iter().find_map(|(name, is_set)| is_set.then_some(name))
    }

    /// Joins a domain.
    pub fn join(&self, domain: u32) -> Result<DdsParticipant, Failure> {
        let network = self.network.map_or(DomainNetwork::Loopback, |NetworkArg(network)| network);
        let config = DomainConfig {
            network,
            multicast: network != DomainNetwork::Loopback && self.peer.is_empty(),
            peers: self.peer.clone(),
            lease: self.lease.map_or(LEASE, TimeSpan::duration),
            ..DomainConfig::default()
        };
        let domain = Domain::open(domain, &config).map_err(|error| refused(&error))?;
        domain.join().map_err(|error| refused(&error))
    }

    /// Adds the DDS options to `any`. With `all`, the default of `--history` is to keep all samples for a slow
    /// subscriber.
    pub fn delivery(&self, any: DeliverySettings, all: bool) -> DeliverySettings {
        let held = self.history.map(|history| match history {
            HistoryArg::All => HistoryDepth::All,
            HistoryArg::Last(depth) => HistoryDepth::Last(depth),
        });
        DeliverySettings {
            best_effort: self.best_effort,
            held: held.or(all.then_some(HistoryDepth::All)),
            ..any
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn domains_are_those_of_dds() {
        assert_eq!(super::super::args::DOMAIN_MAX, tickwire_dds::DOMAIN_ID_MAX);
    }
}
