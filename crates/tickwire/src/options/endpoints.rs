//! Groups and ports of the feeds of a channel.

use crate::failure::Failure;
use std::fmt::Display;
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

/// A feed beside line A.
struct Beside {
    /// The options that name its group and port.
    options: [&'static str; 2],
    group: Option<Ipv4Addr>,
    port: Option<u16>,
    /// How far behind A's its group and port are if they are not named.
    more: u16,
}

impl Beside {
    fn endpoint(&self, a: &EndpointArgs, interface: Ipv4Addr) -> Result<Endpoint, Failure> {
        let [group_option, port_option] = self.options;
        let none = |what: &str, of_a: &dyn Display, option: &str| {
            let more = self.more;
            Failure::Usage(format!("no {what} lies {more} behind {of_a}: name one with {option}"))
        };
        let behind_a = || {
            let group = u32::from(a.group).checked_add(self.more.into()).map(Ipv4Addr::from);
            group.filter(|group| group.is_multicast() == a.group.is_multicast())
        };
        let group = self.group.or_else(behind_a);
        let port = self.port.or_else(|| a.port.checked_add(self.more));
        Ok(Endpoint {
            group: group.ok_or_else(|| none("group", &a.group, group_option))?,
            port: port.ok_or_else(|| none("port", &a.port, port_option))?,
            interface,
        })
    }
}

impl EndpointArgs {
    /// Line A, and B and the snapshots if these options or others ask for them.
    pub fn endpoints(&self, wants_b: bool, wants_snapshots: bool) -> Result<Endpoints, Failure> {
        let interface = interface_address(&self.interface)
            .map_err(|error| Failure::Usage(format!("--interface: {error}")))?;
        let has_b = wants_b || self.line_b || self.group_b.is_some() || self.port_b.is_some();
        let has_snapshots =
            wants_snapshots || self.snapshot_group.is_some() || self.snapshot_port.is_some();
        let b = Beside {
            options: ["--group-b", "--port-b"],
            group: self.group_b,
            port: self.port_b,
            more: 1,
        };
        let b = has_b.then(|| b.endpoint(self, interface)).transpose()?;
        let snapshots = Beside {
            options: ["--snapshot-group", "--snapshot-port"],
            group: self.snapshot_group,
            port: self.snapshot_port,
            more: 2,
        };
        let snapshots = has_snapshots.then(|| snapshots.endpoint(self, interface)).transpose()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: EndpointArgs,
    }

    fn endpoints(arguments: &str) -> Result<Endpoints, String> {
        let arguments = ["command"].into_iter().chain(arguments.split_whitespace());
        let command = Command::try_parse_from(arguments).unwrap();
        command.args.endpoints(false, false).map_err(|failure| match failure {
            Failure::Usage(message) => message,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn the_other_feeds_lie_behind_line_a() {
        let found = endpoints("-a 239.1.1.1 -p 9000 --line-b --snapshot-port 7").unwrap();
        let address = |endpoint: Option<Endpoint>| endpoint.unwrap().address().to_string();
        assert_eq!(address(found.b), "239.1.1.2:9001");
        assert_eq!(address(found.snapshots), "239.1.1.3:7");
    }

    #[test]
    fn where_nothing_lies_behind_line_a_that_is_said() {
        for (arguments, expected) in [
            ("-p 65535 --line-b", "no port lies 1 behind 65535: name one with --port-b"),
            ("-p 65534 --snapshot-group 239.1.1.1", "name one with --snapshot-port"),
            ("-a 239.255.255.255 --line-b", "no group lies 1 behind 239.255.255.255"),
            ("-a 255.255.255.255 --line-b", "name one with --group-b"),
        ] {
            let message = endpoints(arguments).unwrap_err();
            assert!(message.contains(expected), "{arguments}: {message}");
        }
    }
}
