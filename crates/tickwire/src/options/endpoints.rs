//! Groups and ports of the feeds of a channel.

use crate::failure::Failure;
use std::net::Ipv4Addr;
use tickwire_net::multicast::{DEFAULT_GROUP, DEFAULT_PORT, Endpoint, interface_address};

/// Where lines A and B and the snapshots of a channel are.
#[derive(Clone, Debug, clap::Args)]
pub struct EndpointArgs {
    /// Group of line A, or the address of one host for unicast.
    #[arg(short = 'a', long, value_name = "GROUP", default_value_t = DEFAULT_GROUP)]
    group: Ipv4Addr,
    /// Port of line A.
    #[arg(short, long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    port: u16,
    /// Name or address of the interface to use.
    #[arg(long, value_name = "INTERFACE", default_value = "127.0.0.1")]
    interface: String,
    /// Use line B too.
    #[arg(long, help_heading = "Line B and snapshots")]
    line_b: bool,
    /// Group of line B; the number behind A's unless given.
    #[arg(long, value_name = "GROUP", help_heading = "Line B and snapshots")]
    group_b: Option<Ipv4Addr>,
    /// Port of line B; the one behind A's unless given.
    #[arg(long, value_name = "PORT", help_heading = "Line B and snapshots")]
    port_b: Option<u16>,
    /// Group of the snapshot feed; the second number behind A's unless given.
    #[arg(long, value_name = "GROUP", help_heading = "Line B and snapshots")]
    snapshot_group: Option<Ipv4Addr>,
    /// Port of the snapshot feed; the second behind A's unless given.
    #[arg(long, value_name = "PORT", help_heading = "Line B and snapshots")]
    snapshot_port: Option<u16>,
}

/// Where the feeds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Line A.
    pub a: Endpoint,
    /// Line B.
    pub b: Option<Endpoint>,
    /// The snapshot feed.
    pub snapshots: Option<Endpoint>,
}

impl EndpointArgs {
    /// Line A, and B and the snapshots if these options or others ask for them.
    pub fn endpoints(&self, wants_b: bool, wants_snapshots: bool) -> Result<Endpoints, Failure> {
        let interface = interface_address(&self.interface)
            .map_err(|error| Failure::Usage(format!("--interface: {error}")))?;
        let beside = |group: Option<Ipv4Addr>, port: Option<u16>, more: u16| Endpoint {
            group: group
                .unwrap_or_else(|| Ipv4Addr::from(u32::from(self.group).wrapping_add(more.into()))),
            port: port.unwrap_or(self.port.wrapping_add(more)),
            interface,
        };
        let has_b = wants_b || self.line_b || self.group_b.is_some() || self.port_b.is_some();
        let has_snapshots =
            wants_snapshots || self.snapshot_group.is_some() || self.snapshot_port.is_some();
        let b = has_b.then(|| beside(self.group_b, self.port_b, 1));
        let snapshots = has_snapshots.then(|| beside(self.snapshot_group, self.snapshot_port, 2));
        let a = Endpoint { group: self.group, port: self.port, interface };
        if b == Some(a) || snapshots == Some(a) || (b.is_some() && b == snapshots) {
            return Err(Failure::Usage(
                "two feeds have the same group and port: choose others with --group-b, --port-b, \
                 --snapshot-group, --snapshot-port"
                    .to_owned(),
            ));
        }
        Ok(Endpoints { a, b, snapshots })
    }
}
