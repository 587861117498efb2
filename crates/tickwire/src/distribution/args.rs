//! Options of the data bus, for every transport.

#[cfg(feature = "dds")]
use super::refused;
use super::transport::ShmPlace;
#[cfg(feature = "dds")]
use crate::failure::Failure;
use crate::units::Size;
#[cfg(feature = "dds")]
use crate::units::{Span, span_in};
#[cfg(feature = "dds")]
use std::net::IpAddr;
use std::path::PathBuf;
#[cfg(feature = "dds")]
use std::str::FromStr;
#[cfg(feature = "dds")]
use tickwire_dds::{CycloneParticipant, Domain, DomainConfig, Network};
#[cfg(feature = "dds")]
use tickwire_distribution::Held;
use tickwire_distribution::{Delivery, SecurityList};
use tickwire_shm::{Channel, Readers, effective_user};
use tickwire_shm_transport::{Room, ShmConfig, ShmParticipant};

/// The highest domain: higher ones would need ports above 65535.
const DOMAIN_MAX: u32 = 232;

/// Options for the delivery of samples.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Delivery")]
pub struct DeliveryArgs {
    /// Domain; must be the same for publisher and subscriber.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(DOMAIN_MAX)))]
    domain: u32,
    /// Samples kept for subscribers that join late, per topic, or per security if that is the key;
    /// 0 for none. Set the same value on both sides. Shared memory keeps one at most.
    #[arg(long, value_name = "DEPTH", default_value_t = 1)]
    last_values: u32,
    /// Partition; may be repeated. Publisher and subscriber must share one, or have none.
    /// Partitions select data; they are not access control.
    #[arg(long, value_name = "NAME")]
    partition: Vec<String>,
    /// Topics of market data: one keyed by security, or one per security.
    #[arg(long, value_name = "MODE", default_value = "keyed")]
    topics: TopicMode,
    /// Securities that have their own topics.
    #[arg(long, value_name = "FIRST-LAST,..", default_value = "1-100")]
    securities: SecurityList,
    #[cfg(feature = "dds")]
    #[command(flatten)]
    dds: DdsArgs,
    #[command(flatten)]
    shm: ShmArgs,
}

/// Options of DDS only.
#[cfg(feature = "dds")]
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "DDS")]
struct DdsArgs {
    /// Do not retransmit lost samples.
    #[arg(long)]
    best_effort: bool,
    /// Samples buffered for a slow subscriber, per topic, or per security if that is the key.
    /// DEPTH: the oldest is dropped. "all": the publisher waits when the buffer is full.
    #[arg(long, value_name = "DEPTH|all")]
    history: Option<History>,
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

/// Options of shared memory only.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Shared memory")]
struct ShmArgs {
    /// Directory of the channels, for all domains. Default: /dev/shm/tickwire-USER, followed by
    /// -DOMAIN unless the domain is 0.
    #[arg(long, value_name = "DIRECTORY")]
    shm_directory: Option<PathBuf>,
    /// Numeric id of the user who owns the channels. Default: the user of this process. Channels of
    /// another user can be subscribed to, without echoes.
    #[arg(long, value_name = "USER")]
    shm_user: Option<u32>,
    /// Who may read the published samples.
    #[arg(long, value_name = "WHO", default_value = "group")]
    shm_readers: ReadersArg,
    /// Largest size of a topic's ring. A reader that falls a ring behind loses samples. Default: 16
    /// MiB, or 64 MiB if samples have sequences; rings of echoes have a quarter.
    #[arg(long, value_name = "BYTES")]
    shm_ring: Option<Size>,
    /// Largest sample of types with strings or sequences; others state their own length. Default: 1
    /// KiB, or 16 KiB with sequences.
    #[arg(long, value_name = "BYTES")]
    shm_sample: Option<Size>,
}

/// Topics of samples that are keyed by security.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TopicMode {
    /// One topic with the security as key.
    Keyed,
    /// One topic per security.
    Security,
}

/// Who may read channels in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ReadersArg {
    /// Every user.
    Everyone,
    /// The user and its group.
    Group,
    /// The user alone.
    Owner,
}

/// Samples held for a slow subscriber.
#[cfg(feature = "dds")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum History {
    All,
    Last(u32),
}

#[cfg(feature = "dds")]
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

#[cfg(feature = "dds")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NetworkArg(Network);

#[cfg(feature = "dds")]
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

impl DeliveryArgs {
    /// Joins the domain over DDS.
    #[cfg(feature = "dds")]
    pub fn join_dds(&self) -> Result<CycloneParticipant, Failure> {
        let DdsArgs { network: NetworkArg(network), peer, lease, .. } = &self.dds;
        let config = DomainConfig {
            network: *network,
            multicast: *network != Network::Loopback && peer.is_empty(),
            peers: peer.clone(),
            lease: lease.duration(),
            ..DomainConfig::default()
        };
        let domain = Domain::open(self.domain, &config).map_err(|error| refused(&error))?;
        domain.join().map_err(|error| refused(&error))
    }

    /// Joins the participants whose channels are in the same directory.
    pub fn join_shm(&self) -> ShmPlace {
        let ShmArgs { shm_directory, shm_user, shm_readers, shm_ring, shm_sample } = &self.shm;
        let owner = shm_user.unwrap_or_else(effective_user);
        let of_domain = || {
            let mut directory = Channel::default_directory(owner).into_os_string();
            if self.domain > 0 {
                directory.push(format!("-{}", self.domain));
            }
            PathBuf::from(directory)
        };
        let directory = shm_directory.clone().unwrap_or_else(of_domain);
        let readers = match shm_readers {
            ReadersArg::Everyone => Readers::Everyone,
            ReadersArg::Group => Readers::Group(None),
            ReadersArg::Owner => Readers::Owner,
        };
        let own = ShmConfig::of_user(owner);
        let room = |usual: Room| Room {
            ring_bytes: shm_ring.map_or(usual.ring_bytes, Size::bytes),
            sample_bytes: shm_sample.map_or(usual.sample_bytes, Size::bytes),
        };
        let config = ShmConfig {
            directory: directory.clone(),
            readers,
            plain: room(own.plain),
            sequences: room(own.sequences),
            ..own
        };
        ShmPlace { participant: ShmParticipant::join(config), directory, owner }
    }

    /// Delivery of samples over DDS. `all`: without `--history`, keep all samples for a slow subscriber.
    #[cfg(feature = "dds")]
    pub fn over_dds(&self, all: bool) -> Delivery {
        let held = self.dds.history.map(|history| match history {
            History::All => Held::All,
            History::Last(depth) => Held::Last(depth),
        });
        Delivery {
            best_effort: self.dds.best_effort,
            held: held.or(all.then_some(Held::All)),
            ..self.over_shm()
        }
    }

    /// Delivery of samples over shared memory, where a writer never waits.
    pub fn over_shm(&self) -> Delivery {
        Delivery {
            last_values: self.last_values,
            partitions: self.partition.clone(),
            ..Delivery::default()
        }
    }

    /// The securities that have their own topics, if any.
    pub fn securities(&self) -> Option<&SecurityList> {
        (self.topics == TopicMode::Security).then_some(&self.securities)
    }
}

#[cfg(all(test, feature = "dds"))]
mod tests {
    #[test]
    fn domains_are_those_of_dds() {
        assert_eq!(super::DOMAIN_MAX, tickwire_dds::DOMAIN_ID_MAX);
    }
}
