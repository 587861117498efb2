//! Options that restrict the senders of each line.

use super::Endpoints;
use std::net::Ipv4Addr;

/// Source-specific multicast.
#[derive(Clone, Debug, clap::Args)]
pub struct SourceArgs {
    /// Receive line A only from this sender (source-specific multicast).
    #[arg(long, value_name = "IP", help_heading = "Sockets")]
    source: Option<Ipv4Addr>,
    /// Receive line B only from this sender.
    #[arg(long, value_name = "IP", help_heading = "Sockets")]
    source_b: Option<Ipv4Addr>,
    /// Receive snapshots only from this sender.
    #[arg(long, value_name = "IP", help_heading = "Sockets")]
    snapshot_source: Option<Ipv4Addr>,
}

impl SourceArgs {
    /// True if any sender is named.
    pub const fn names_any(&self) -> bool {
        self.source.is_some() || self.source_b.is_some() || self.snapshot_source.is_some()
    }

    /// Adds the senders named here to the endpoints.
    pub fn apply(&self, mut endpoints: Endpoints) -> Endpoints {
        endpoints.a.source = self.source.or(endpoints.a.source);
        let Endpoints { b, snapshots, snapshots_b, .. } = &mut endpoints;
        if let Some(b) = b {
            b.source = self.source_b.or(b.source);
        }
        for snapshots in [snapshots, snapshots_b].into_iter().flatten() {
            snapshots.source = self.snapshot_source.or(snapshots.source);
        }
        endpoints
    }
}
