//! Options of the data bus, for every transport.

use super::dds::{DdsArgs, DdsParticipant};
use super::transport::ShmPlace;
use crate::failure::Failure;
use crate::units::{ByteCount, size_in};
use nix::unistd::Group;
use std::path::PathBuf;
use tickwire_distribution::{DeliverySettings, HistoryDepth, SecurityList};
use tickwire_shm::{Readers, ShmChannel, effective_user};
use tickwire_shm_transport::{RingSize, ShmConfig, ShmParticipant};

/// The highest domain: higher ones would need ports above 65535.
pub const DOMAIN_MAX: u32 = 232;
/// Least bytes of a ring: a page.
const RING_BYTES_MIN: u64 = 1 << 12;
/// Most bytes of a ring.
const RING_BYTES_MAX: u64 = 1 << 38;
/// Most bytes of a sample: a slot has 1 MiB, with 8 bytes before the sample.
const SAMPLE_BYTES_MAX: u64 = (1 << 20) - 8;

/// Options for the delivery of samples.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Delivery")]
pub struct DeliveryArgs {
    /// Domain; must be the same for publisher and subscriber.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(DOMAIN_MAX)))]
    domain: u32,
    /// Samples kept for subscribers that join late, per topic, or per security if the topic is
    /// keyed by security; 0 for none. Set the same value on both sides. Shared memory keeps one at
    /// most.
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
    #[command(flatten)]
    dds: DdsArgs,
    #[command(flatten)]
    shm: ShmArgs,
}

/// Options of shared memory only.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Shared memory")]
struct ShmArgs {
    /// Directory of the channels, for all domains. Default: /dev/shm/tickwire-UID, where UID is the
    /// numeric id of the user, followed by -DOMAIN unless the domain is 0.
    #[arg(long, value_name = "DIRECTORY")]
    shm_directory: Option<PathBuf>,
    /// Numeric id of the user who owns the channels. Default: the user of this process. Channels of
    /// another user can be subscribed to, without echoes.
    #[arg(long, value_name = "USER")]
    shm_user: Option<u32>,
    /// Who may read the published samples. Default: group.
    #[arg(long, value_name = "WHO")]
    shm_readers: Option<ReadersArg>,
    /// Group that may read the published samples, by name or number, in place of --shm-readers. The
    /// publisher's user must be in it, or be root. Default: the group of the publisher's process.
    #[arg(long, value_name = "GROUP", value_parser = group_id, conflicts_with = "shm_readers")]
    shm_group: Option<u32>,
    /// Largest size of a topic's ring. A reader that is a whole ring behind loses samples, but a
    /// publisher of a file or capture waits for it. Default: 16 MiB, or 64 MiB if samples have
    /// sequences; rings of echoes have a quarter.
    #[arg(long, value_name = "BYTES", value_parser = size_in(RING_BYTES_MIN..=RING_BYTES_MAX))]
    shm_ring: Option<ByteCount>,
    /// Largest sample of types with strings or sequences; others state their own length. Default: 1
    /// KiB, or 16 KiB with sequences.
    #[arg(long, value_name = "BYTES", value_parser = size_in(1..=SAMPLE_BYTES_MAX))]
    shm_sample: Option<ByteCount>,
}

impl ShmArgs {
    /// Returns the first of these options that is set. Leaves out the directory, which, like the domain, may be set for
    /// any transport.
    fn first_set(&self) -> Option<&'static str> {
        let Self { shm_directory: _, shm_user, shm_readers, shm_group, shm_ring, shm_sample } =
            self;
        let all = [
            ("--shm-user", shm_user.is_some()),
            ("--shm-readers", shm_readers.is_some()),
            ("--shm-group", shm_group.is_some()),
            ("--shm-ring", shm_ring.is_some()),
            ("--shm-sample", shm_sample.is_some()),
        ];
        all.into_iter().find_map(|(name, is_set)| is_set.then_some(name))
    }
}

/// Returns the number of a group, given its name or number.
fn group_id(text: &str) -> Result<u32, String> {
    // Looking a name up may ask a directory service.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // To chown, the highest number means that the group is not changed.
        return match text.parse() {
            Ok(number) if number < u32::MAX => Ok(number),
            _ => Err(format!("group numbers are 0 to {}", u32::MAX - 1)),
        };
    }
    match Group::from_name(text) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        Ok(None) => Err(format!("there is no group {text:?} on this machine")),
        Err(error) => Err(format!("the groups cannot be read: {error}")),
    }
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

impl DeliveryArgs {
    /// Refuses options of a transport that is not used.
    pub fn check(&self, over_dds: bool, over_shm: bool) -> Result<(), Failure> {
        let unused = match (over_dds, over_shm) {
            (false, _) => self.dds.first_set().map(|name| (name, "DDS")),
            (_, false) => self.shm.first_set().map(|name| (name, "shared memory")),
            _ => None,
        };
        match unused {
            Some((name, transport)) => Err(Failure::Usage(format!(
                "{name} is an option of {transport}, which --transport leaves out"
            ))),
            None => Ok(()),
        }
    }

    /// Joins the domain over DDS.
    pub fn join_dds(&self) -> Result<DdsParticipant, Failure> {
        self.dds.join(self.domain)
    }

    /// Joins the participants whose channels are in the same directory.
    pub fn join_shm(&self) -> ShmPlace {
        let ShmArgs { shm_directory, shm_user, shm_readers, shm_group, shm_ring, shm_sample } =
            &self.shm;
        let owner = shm_user.unwrap_or_else(effective_user);
        let of_domain = || {
            let mut directory = ShmChannel::default_directory(owner).into_os_string();
            if self.domain > 0 {
                directory.push(format!("-{}", self.domain));
            }
            PathBuf::from(directory)
        };
        let directory = shm_directory.clone().unwrap_or_else(of_domain);
        let readers = match shm_readers {
            Some(ReadersArg::Everyone) => Readers::Everyone,
            Some(ReadersArg::Group) | None => Readers::Group(*shm_group),
            Some(ReadersArg::Owner) => Readers::Owner,
        };
        let own = ShmConfig::of_user(owner);
        let room = |usual: RingSize| RingSize {
            ring_bytes: shm_ring.map_or(usual.ring_bytes, ByteCount::bytes),
            sample_bytes: shm_sample.map_or(usual.sample_bytes, ByteCount::bytes),
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
    pub fn over_dds(&self, all: bool) -> DeliverySettings {
        self.dds.delivery(self.over_shm(), all)
    }

    /// Delivery of published samples over shared memory. `all`: wait for slow subscribers; otherwise they lose samples.
    pub fn published_over_shm(&self, all: bool) -> DeliverySettings {
        DeliverySettings { held: all.then_some(HistoryDepth::All), ..self.over_shm() }
    }

    /// Delivery of samples over shared memory.
    pub fn over_shm(&self) -> DeliverySettings {
        DeliverySettings {
            last_values: self.last_values,
            partitions: self.partition.clone(),
            ..DeliverySettings::default()
        }
    }

    /// The securities that have their own topics, if any.
    pub fn securities(&self) -> Option<&SecurityList> {
        (self.topics == TopicMode::Security).then_some(&self.securities)
    }
}
