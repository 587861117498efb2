//! Options of the data bus.

use super::dds_failure;
use crate::failure::Failure;
use crate::units::{Span, span_in};
use std::net::IpAddr;
use std::str::FromStr;
use tickwire_dds::{CycloneParticipant, Domain, DomainConfig, Network};
use tickwire_distribution::{Delivery, Held, SecurityList};

/// Options of the DDS transport.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "DDS")]
pub struct DdsArgs {
    /// DDS domain; must be the same for publisher and subscriber.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(tickwire_dds::DOMAIN_ID_MAX)))]
    domain: u32,
    /// Do not retransmit lost samples.
    #[arg(long)]
    best_effort: bool,
    /// Samples buffered for a slow subscriber, per topic, or per security if that is the key.
    /// DEPTH: the oldest is dropped. "all": the publisher waits when the buffer is full.
    #[arg(long, value_name = "DEPTH|all")]
    history: Option<History>,
    /// Samples kept for subscribers that join late, per topic, or per security if that is the key;
    /// 0 for none. Set the same value on both sides.
    #[arg(long, value_name = "DEPTH", default_value_t = 1)]
    last_values: u32,
    /// Partition; may be repeated. Publisher and subscriber must share one, or have none.
    /// Partitions select data; they are not access control.
    #[arg(long, value_name = "NAME")]
    partition: Vec<String>,
    /// Topics of market data: one keyed by security, or one per security.
    #[arg(long, value_name = "MODE", default_value = "keyed")]
    topics: TopicMode,
    /// Securities that have topics of their own.
    #[arg(long, value_name = "FIRST-LAST,..", default_value = "1-100")]
    securities: SecurityList,
    /// Network to use: "loopback" for this machine only, "any" for an interface chosen by the
    /// middleware, or the address of an interface.
    #[arg(long, value_name = "WHERE", default_value = "loopback")]
    network: NetworkArg,
    /// Host on which to look for peers; may be repeated. Default: discovery by multicast; on
    /// loopback by the known ports of this machine.
    #[arg(long, value_name = "ADDRESS")]
    peer: Vec<IpAddr>,
    /// Time without a sign of life after which a peer counts as gone.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = span_in("100ms"..="1h"))]
    lease: Span,
}

/// Topics of samples that are keyed by security.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TopicMode {
    /// One topic with the security as key.
    Keyed,
    /// One topic per security.
    Security,
}

/// Samples held for a slow subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum History {
    All,
    Last(u32),
}

impl FromStr for History {
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
struct NetworkArg(Network);

impl FromStr for NetworkArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let network = match text {
            "any" => Network::Best,
            "loopback" => Network::Loopback,
            _ => Network::Interface(text.parse().map_err(|_| "loopback, any or an address")?),
        };
        Ok(Self(network))
    }
}

impl DdsArgs {
    /// Joins the domain.
    pub fn join(&self) -> Result<CycloneParticipant, Failure> {
        let NetworkArg(network) = self.network;
        let config = DomainConfig {
            network,
            multicast: network != Network::Loopback && self.peer.is_empty(),
            peers: self.peer.clone(),
            lease: self.lease.duration(),
            ..DomainConfig::default()
        };
        let domain = Domain::open(self.domain, &config).map_err(|error| dds_failure(&error))?;
        domain.join().map_err(|error| dds_failure(&error))
    }

    /// How samples are delivered. `all` says whether to hold all for a slow subscriber where nothing is said.
    pub fn delivery(&self, all: bool) -> Delivery {
        let held = self.history.map(|history| match history {
            History::All => Held::All,
            History::Last(depth) => Held::Last(depth),
        });
        Delivery {
            best_effort: self.best_effort,
            held: held.or(all.then_some(Held::All)),
            last_values: self.last_values,
            partitions: self.partition.clone(),
        }
    }

    /// Securities, where they have topics of their own.
    pub fn securities(&self) -> Option<&SecurityList> {
        (self.topics == TopicMode::Security).then_some(&self.securities)
    }
}
