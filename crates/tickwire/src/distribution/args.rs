//! Options of the data bus.

use super::topics::{SecurityList, TopicMode};
use super::{Kind, dds_failure};
use crate::failure::Failure;
use crate::units::{Span, span_in};
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;
use tickwire_dds::{CycloneParticipant, Domain, DomainConfig, Network, Qos};

/// Samples that a topic without key holds for a slow subscriber, unless said otherwise.
const DEPTH: u32 = 65_536;
/// The same, for each security of a topic with key. The middleware sets aside 8 bytes a sample for each
/// security when it is first written.
const KEYED_DEPTH: u32 = 128;
/// Samples of a security that wait for the program where delivery is not reliable.
const KEYED_READER_DEPTH: u32 = 1_024;
/// Samples that a reader holds for its program.
const READER_SAMPLES: u32 = 65_536;
/// How long the middleware waits for room before it hands a sample back, to be tried again.
const WRITE_SLICE: Duration = Duration::from_millis(10);

/// How samples travel.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "DDS")]
pub struct DdsArgs {
    /// Domain; publisher and subscriber must name the same.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(tickwire_dds::DOMAIN_ID_MAX)))]
    domain: u32,
    /// Do not retransmit lost samples.
    #[arg(long)]
    best_effort: bool,
    /// Samples held for a slow subscriber, by topic, or by security if that is the key. DEPTH: the
    /// oldest is dropped. "all": the publisher waits when the history is full.
    #[arg(long, value_name = "DEPTH|all")]
    history: Option<History>,
    /// Samples kept for subscribers that join late, by topic, or by security if that is the key; 0
    /// for none. Both sides must set it.
    #[arg(long, value_name = "DEPTH", default_value_t = 1)]
    last_values: u32,
    /// Partition; may be repeated. Publisher and subscriber need one in common, or none.
    #[arg(long, value_name = "NAME")]
    partition: Vec<String>,
    /// Topics of market data: one with the security as key, or one a security.
    #[arg(long, value_name = "MODE", default_value = "keyed")]
    pub topics: TopicMode,
    /// Securities, where they have topics of their own.
    #[arg(long, value_name = "FIRST-LAST,..", default_value = "1-100")]
    pub securities: SecurityList,
    /// Network to use: "loopback" for this machine alone, "any" for the interface that the
    /// middleware chooses, or the address of an interface.
    #[arg(long, value_name = "WHERE", default_value = "loopback")]
    network: NetworkArg,
    /// Host to look for peers on; may be repeated. Default: discovery by multicast, on loopback by
    /// the known ports of this machine.
    #[arg(long, value_name = "ADDRESS")]
    peer: Vec<IpAddr>,
    /// Time without a sign of life after which a peer counts as gone.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = span_in("100ms"..="1h"))]
    lease: Span,
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

    /// Whether what is lost on the way stays lost.
    pub const fn is_best_effort(&self) -> bool {
        self.best_effort
    }

    /// Whether subscribers that come late get last values.
    pub const fn has_last_values(&self) -> bool {
        self.last_values > 0
    }

    /// Whether a full history makes the publisher wait.
    pub fn keeps_all(&self, default: bool) -> bool {
        self.history.map_or(default, |history| history == History::All)
    }

    /// QoS of a writer of samples of this kind. `all` says what to hold where nothing is said.
    pub fn writer_qos(&self, kind: Kind, all: bool) -> Qos {
        let depth = match (self.history, all) {
            (Some(History::Last(depth)), _) => Some(depth),
            (Some(History::All), _) | (None, true) => None,
            (None, false) => Some(Self::own_depth(kind)),
        };
        let qos = self.base().max_blocking(WRITE_SLICE);
        let qos = match depth {
            Some(depth) => qos.keep_last(depth),
            None => qos.keep_all(READER_SAMPLES),
        };
        self.with_last_values(qos)
    }

    /// QoS of a reader of samples of this kind: what came and was not taken is never overwritten where
    /// delivery is reliable.
    pub fn reader_qos(&self, kind: Kind) -> Qos {
        let qos = match self.best_effort {
            true if kind.has_key() => self.base().keep_last(KEYED_READER_DEPTH),
            true => self.base().keep_last(DEPTH),
            false => self.base().keep_all(READER_SAMPLES),
        };
        self.with_last_values(qos)
    }

    /// QoS of the writers and readers of echoes: nobody comes late to them.
    pub fn echo_qos(&self) -> Qos {
        self.base().max_blocking(WRITE_SLICE).keep_last(DEPTH)
    }

    /// QoS of what ends a feed: always reliable, and told to those who come late.
    pub fn done_qos(&self) -> Qos {
        self.partitioned(Qos::reliable()).keep_last(1).transient_local(1)
    }

    fn own_depth(kind: Kind) -> u32 {
        if kind.has_key() { KEYED_DEPTH } else { DEPTH }
    }

    fn base(&self) -> Qos {
        self.partitioned(if self.best_effort { Qos::best_effort() } else { Qos::reliable() })
    }

    fn partitioned(&self, qos: Qos) -> Qos {
        self.partition.iter().fold(qos, |qos, name| qos.partition(name))
    }

    fn with_last_values(&self, qos: Qos) -> Qos {
        match self.last_values {
            0 => qos,
            depth => qos.transient_local(depth),
        }
    }
}
