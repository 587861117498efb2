//! Address of the instrument definitions.

use std::net::Ipv4Addr;

/// Group and port of the feed of instrument definitions.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct DefinitionArgs {
    /// Multicast group of the instrument definitions. Default: the third address after line A's.
    #[arg(long, value_name = "GROUP", help_heading = "Line B and snapshots")]
    pub instrument_group: Option<Ipv4Addr>,
    /// Port of the instrument definitions. Default: line A's plus 3.
    #[arg(long, value_name = "PORT", help_heading = "Line B and snapshots")]
    pub instrument_port: Option<u16>,
}
