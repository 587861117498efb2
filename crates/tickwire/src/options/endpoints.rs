//! Groups and ports of the feeds of a channel.

use super::DefinitionArgs;
use crate::failure::Failure;
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddrV4};
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::FeedLine;
use tickwire_net::channel_settings::ChannelSettings;
use tickwire_net::multicast::{Endpoint, interface_address};

/// Addresses of lines A and B of a channel.
#[derive(Clone, Debug, clap::Args)]
pub struct LineArgs {
    /// Multicast group of line A, or the address of one host for unicast. Default: 224.1.2.133.
    #[arg(short = 'a', long, value_name = "GROUP")]
    group: Option<Ipv4Addr>,
    /// Port of line A. Default: 13014.
    #[arg(short, long, value_name = "PORT")]
    port: Option<u16>,
    /// Name or address of the local interface. Default: 127.0.0.1.
    #[arg(long, value_name = "INTERFACE")]
    interface: Option<String>,
    /// Also use line B.
    #[arg(long, help_heading = "Line B and snapshots")]
    line_b: bool,
    /// Multicast group of line B. Default: the address after line A's.
    #[arg(long, value_name = "GROUP", help_heading = "Line B and snapshots")]
    group_b: Option<Ipv4Addr>,
    /// Port of line B. Default: line A's plus 1.
    #[arg(long, value_name = "PORT", help_heading = "Line B and snapshots")]
    port_b: Option<u16>,
    /// The channel of the feed file; the options above override it.
    #[arg(skip)]
    channel: Option<Endpoints>,
}

/// Addresses of lines A and B and the snapshots of a channel.
#[derive(Clone, Debug, clap::Args)]
pub struct EndpointArgs {
    #[command(flatten)]
    lines: LineArgs,
    /// Multicast group of the snapshot feed. Default: the second address after line A's.
    #[arg(long, value_name = "GROUP", help_heading = "Line B and snapshots")]
    snapshot_group: Option<Ipv4Addr>,
    /// Port of the snapshot feed. Default: line A's plus 2.
    #[arg(long, value_name = "PORT", help_heading = "Line B and snapshots")]
    snapshot_port: Option<u16>,
}

/// Addresses of the feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Line A.
    pub a: Endpoint,
    /// Line B.
    pub b: Option<Endpoint>,
    /// Line A of the snapshot feed.
    pub snapshots: Option<Endpoint>,
    /// Line B of the snapshot feed.
    pub snapshots_b: Option<Endpoint>,
    /// Lines A and B of the feed of instrument definitions.
    pub definitions: [Option<Endpoint>; 2],
}

/// A feed whose default address follows from that of line A.
struct DerivedEndpoint {
    /// The options that name its group and port.
    options: [&'static str; 2],
    group: Option<Ipv4Addr>,
    port: Option<u16>,
    /// Offset of its default group and port from those of line A.
    more: u16,
}

impl DerivedEndpoint {
    const fn is_named(&self) -> bool {
        self.group.is_some() || self.port.is_some()
    }

    /// Returns the channel's feed with the options' group and port. If the channel has none and `is_wanted`
    /// is set, parts that the options do not name are derived from `a`.
    fn over(
        &self,
        found: Option<Endpoint>,
        interface: Option<Ipv4Addr>,
        a: Endpoint,
        is_wanted: bool,
    ) -> Result<Option<Endpoint>, Failure> {
        match found {
            Some(found) => Ok(Some(over(found, interface, self.group, self.port))),
            None => is_wanted.then(|| self.endpoint(a)).transpose(),
        }
    }

    fn endpoint(&self, a: Endpoint) -> Result<Endpoint, Failure> {
        let [group_option, port_option] = self.options;
        let none = |what: &str, of_a: &dyn Display, option: &str| {
            let more = self.more;
            Failure::Usage(format!("{of_a} + {more} is not a valid {what}: name one with {option}"))
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
            interface: a.interface,
            source: None,
        })
    }
}

impl Endpoints {
    /// Returns itself, or an error if two feeds have the same address.
    fn checked(self) -> Result<Self, Failure> {
        let Self { a, b, snapshots, .. } = self;
        if b == Some(a) || snapshots == Some(a) || (b.is_some() && b == snapshots) {
            return Err(Failure::Usage(
                "two feeds have the same group and port: choose others with --group-b, --port-b, \
                 --snapshot-group, --snapshot-port"
                    .to_owned(),
            ));
        }
        Ok(self)
    }

    /// The existing lines with their addresses.
    pub fn sources(&self) -> impl Iterator<Item = (FeedLine, Endpoint)> {
        let all = [
            Some((FeedLine::Incremental(Line::A), self.a)),
            self.b.map(|endpoint| (FeedLine::Incremental(Line::B), endpoint)),
            self.snapshots.map(|endpoint| (FeedLine::Snapshot(Line::A), endpoint)),
            self.snapshots_b.map(|endpoint| (FeedLine::Snapshot(Line::B), endpoint)),
            self.definitions[0].map(|endpoint| (FeedLine::Definitions(Line::A), endpoint)),
            self.definitions[1].map(|endpoint| (FeedLine::Definitions(Line::B), endpoint)),
        ];
        all.into_iter().flatten()
    }
}

impl LineArgs {
    /// Sets the addresses of a channel of a feed file as defaults of these options.
    pub fn set_channel(&mut self, channel: &ChannelSettings) -> Result<(), Failure> {
        let endpoint = |wanted: FeedLine| {
            let mut inputs = channel.inputs.iter();
            inputs.find(|(source, _)| *source == wanted).map(|(_, endpoint)| *endpoint)
        };
        let no_group = || {
            Failure::Usage(format!("channel {}: line A is a capture, not a group", channel.name))
        };
        self.channel = Some(Endpoints {
            a: endpoint(FeedLine::Incremental(Line::A)).ok_or_else(no_group)?,
            b: endpoint(FeedLine::Incremental(Line::B)),
            snapshots: endpoint(FeedLine::Snapshot(Line::A)),
            snapshots_b: endpoint(FeedLine::Snapshot(Line::B)),
            definitions: Line::ALL.map(|line| endpoint(FeedLine::Definitions(line))),
        });
        Ok(())
    }

    /// Line A, and line B if these options or `wants_b` ask for it.
    pub fn endpoints(&self, wants_b: bool) -> Result<Endpoints, Failure> {
        let interface = self.interface()?;
        let a = self.channel.map_or_else(Endpoint::default, |lines| lines.a);
        let a = over(a, interface, self.group, self.port);
        let b = DerivedEndpoint {
            options: ["--group-b", "--port-b"],
            group: self.group_b,
            port: self.port_b,
            more: 1,
        };
        let has_b = wants_b || self.line_b || b.is_named();
        let b = b.over(self.channel.and_then(|lines| lines.b), interface, a, has_b)?;
        let found = Endpoints { a, b, snapshots: None, snapshots_b: None, definitions: [None; 2] };
        found.checked()
    }

    fn interface(&self) -> Result<Option<Ipv4Addr>, Failure> {
        let interface = self.interface.as_deref().map(interface_address).transpose();
        interface.map_err(|error| Failure::Usage(format!("--interface: {error}")))
    }
}

/// An endpoint of a channel; addresses from options take precedence.
fn over(
    found: Endpoint,
    interface: Option<Ipv4Addr>,
    group: Option<Ipv4Addr>,
    port: Option<u16>,
) -> Endpoint {
    Endpoint {
        group: group.unwrap_or(found.group),
        port: port.unwrap_or(found.port),
        interface: interface.unwrap_or(found.interface),
        // The source in the feed file applies only to the group in that file.
        source: found.source.filter(|_| group.is_none()),
    }
}

impl EndpointArgs {
    /// True if the options name line A's group or port, or a channel has them.
    pub const fn names_a(&self) -> bool {
        self.lines.group.is_some() || self.lines.port.is_some() || self.lines.channel.is_some()
    }

    /// True if the options name any address; those of a channel do not count.
    pub const fn names_any(&self) -> bool {
        let lines = &self.lines;
        let groups =
            lines.group.is_some() || lines.group_b.is_some() || self.snapshot_group.is_some();
        let ports = lines.port.is_some() || lines.port_b.is_some() || self.snapshot_port.is_some();
        groups || ports || lines.line_b
    }

    /// Returns these options with line A, and line B if there is one, at these addresses.
    pub fn with_lines(&self, a: SocketAddrV4, b: Option<SocketAddrV4>) -> Self {
        let mut args = self.clone();
        let lines = &mut args.lines;
        (lines.group, lines.port) = (Some(*a.ip()), Some(a.port()));
        if let Some(b) = b {
            (lines.group_b, lines.port_b) = (Some(*b.ip()), Some(b.port()));
        }
        args
    }

    /// Like [`LineArgs::set_channel`].
    pub fn set_channel(&mut self, channel: &ChannelSettings) -> Result<(), Failure> {
        self.lines.set_channel(channel)
    }

    /// Line A; line B and the snapshots if the options, `wants_b` or `wants_snapshots` ask for them.
    pub fn endpoints(&self, wants_b: bool, wants_snapshots: bool) -> Result<Endpoints, Failure> {
        let interface = self.lines.interface()?;
        let channel = self.lines.channel;
        let lines = self.lines.endpoints(wants_b)?;
        let snapshots = DerivedEndpoint {
            options: ["--snapshot-group", "--snapshot-port"],
            group: self.snapshot_group,
            port: self.snapshot_port,
            more: 2,
        };
        let has_snapshots = wants_snapshots || snapshots.is_named();
        let found = channel.and_then(|lines| lines.snapshots);
        let snapshots = snapshots.over(found, interface, lines.a, has_snapshots)?;
        let unchanged = |found: Endpoint| over(found, interface, None, None);
        let found = Endpoints {
            snapshots,
            snapshots_b: channel.and_then(|lines| lines.snapshots_b).map(unchanged),
            definitions: channel
                .map_or([None; 2], |lines| lines.definitions)
                .map(|found| found.map(unchanged)),
            ..lines
        };
        found.checked()
    }

    /// Adds the instrument definitions if the options name or ask for them; the options override line A of a
    /// channel's definitions.
    pub fn with_definitions(
        found: Endpoints,
        args: DefinitionArgs,
        is_wanted: bool,
    ) -> Result<Endpoints, Failure> {
        let beside = DerivedEndpoint {
            options: ["--instrument-group", "--instrument-port"],
            group: args.instrument_group,
            port: args.instrument_port,
            more: 3,
        };
        let [a, b] = found.definitions;
        let a = match a {
            Some(a) if beside.is_named() => Some(Endpoint {
                group: args.instrument_group.unwrap_or(a.group),
                port: args.instrument_port.unwrap_or(a.port),
                ..a
            }),
            None if is_wanted || beside.is_named() => Some(beside.endpoint(found.a)?),
            a => a,
        };
        Ok(Endpoints { definitions: [a, b], ..found })
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
    fn options_override_the_lines_of_a_channel() {
        let text = r#"
            templates = "t.xml"
            [channels.x.lines]
            a = { group = "233.252.0.1", port = 9001 }
            b = { group = "233.252.0.2", port = 9002, interface = "127.0.0.2" }
            [channels.x.snapshots]
            a = { group = "233.252.0.3", port = 9003 }
            b = { group = "233.252.0.4", port = 9004 }
        "#;
        let config = tickwire_feed_config::FeedConfig::parse(text).unwrap();
        let channel = tickwire_net::channel_settings::channel_settings(&config, "x").unwrap();
        let shown = |arguments: &str| {
            let arguments = ["command"].into_iter().chain(arguments.split_whitespace());
            let mut command = Command::try_parse_from(arguments).unwrap();
            command.args.set_channel(&channel).unwrap();
            let found = command.args.endpoints(false, false).unwrap();
            let all = [Some(found.a), found.b, found.snapshots, found.snapshots_b];
            all.map(|endpoint| endpoint.unwrap().to_string()).join(", ")
        };
        assert_eq!(
            shown(""),
            "233.252.0.1:9001 on 127.0.0.1, 233.252.0.2:9002 on 127.0.0.2, \
             233.252.0.3:9003 on 127.0.0.1, 233.252.0.4:9004 on 127.0.0.1"
        );
        assert_eq!(
            shown("-p 7 --group-b 233.252.0.9 --interface 127.0.0.3 --snapshot-port 8"),
            "233.252.0.1:7 on 127.0.0.3, 233.252.0.9:9002 on 127.0.0.3, \
             233.252.0.3:8 on 127.0.0.3, 233.252.0.4:9004 on 127.0.0.3"
        );
    }

    #[test]
    fn where_nothing_lies_behind_line_a_that_is_said() {
        for (arguments, expected) in [
            ("-p 65535 --line-b", "65535 + 1 is not a valid port: name one with --port-b"),
            ("-p 65534 --snapshot-group 239.1.1.1", "name one with --snapshot-port"),
            ("-a 239.255.255.255 --line-b", "239.255.255.255 + 1 is not a valid group"),
            ("-a 255.255.255.255 --line-b", "name one with --group-b"),
        ] {
            let message = endpoints(arguments).unwrap_err();
            assert!(message.contains(expected), "{arguments}: {message}");
        }
    }
}
