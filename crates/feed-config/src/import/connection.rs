//! `<connection>` elements, which the files of CME and MOEX have in common.

use std::net::Ipv4Addr;

use roxmltree::Node;

use super::xml::{Xml, child, children, text};
use super::{ImportDraft, one_line};
use crate::config::{Address, ChannelConfig, LinesConfig, ReplayConfig};

/// Purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionRole {
    Definitions,
    Incremental,
    Replay,
    Snapshot,
}

/// Line A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionLine {
    A,
    B,
}

/// One address of a connection.
#[derive(Debug)]
pub(super) struct ImportedConnection<'d, 'i> {
    pub(super) node: Node<'d, 'i>,
    /// `feed-type`; empty if absent.
    pub(super) code: String,
    /// The text of `<type>`.
    pub(super) kind: String,
    pub(super) is_tcp: bool,
    line: ConnectionLine,
    /// `<ip>`: groups for UDP, servers for TCP.
    ips: Vec<Ipv4Addr>,
    /// `<host-ip>`: senders for UDP, servers for TCP.
    hosts: Vec<Ipv4Addr>,
    /// `<src-ip>`.
    sources: Vec<Ipv4Addr>,
    port: u16,
}

/// Returns the connections below `<connections>`, with one entry for each `<feed>` that has its own
/// addresses.
pub(super) fn connections<'d, 'i>(
    node: Node<'d, 'i>,
    xml: &mut Xml<'d, 'i>,
) -> Vec<ImportedConnection<'d, 'i>> {
    let mut found = Vec::new();
    let elements = children(node, "connections").flat_map(|list| children(list, "connection"));
    for element in elements {
        let nested: Vec<_> =
            children(element, "feed").filter(|feed| child(*feed, "port").is_some()).collect();
        if nested.is_empty() {
            found.extend(connection(element, element, xml));
        }
        for feed in nested {
            found.extend(connection(element, feed, xml));
        }
    }
    found
}

/// Reads a connection whose addresses are below `place`: the element itself, or a `<feed id="A">`
/// in it.
fn connection<'d, 'i>(
    element: Node<'d, 'i>,
    place: Node<'d, 'i>,
    xml: &mut Xml<'d, 'i>,
) -> Option<ImportedConnection<'d, 'i>> {
    let kind = child(element, "type");
    let code = kind.and_then(|kind| kind.attribute("feed-type")).unwrap_or_default();
    let protocol = child(element, "protocol").map_or("", text).to_ascii_uppercase();
    let is_tcp = protocol.starts_with("TCP");
    if !is_tcp && !protocol.starts_with("UDP") {
        let node = child(element, "protocol").unwrap_or(element);
        xml.error(node, format!("protocol `{}` is neither UDP/IP nor TCP/IP", one_line(&protocol)));
        return None;
    }
    let mut ips = |name| -> Vec<Ipv4Addr> {
        children(place, name).filter_map(|node| xml.ip(node, text(node))).collect()
    };
    let (groups, hosts, sources) = (ips("ip"), ips("host-ip"), ips("src-ip"));
    let port = match child(place, "port") {
        Some(node) => xml.port(node, text(node))?,
        None => {
            xml.error(place, "the connection has no <port>".to_owned());
            return None;
        }
    };
    let line = line(element, place, xml)?;
    let kind = kind.map_or_else(String::new, |kind| one_line(text(kind)));
    let code = code.trim().to_owned();
    Some(ImportedConnection {
        node: place,
        code,
        kind,
        is_tcp,
        line,
        ips: groups,
        hosts,
        sources,
        port,
    })
}

fn line(
    element: Node<'_, '_>,
    place: Node<'_, '_>,
    xml: &mut Xml<'_, '_>,
) -> Option<ConnectionLine> {
    let feed = if place == element { child(element, "feed") } else { Some(place) };
    let Some(feed) = feed else { return Some(ConnectionLine::A) };
    match feed.attribute("id").unwrap_or_else(|| text(feed)).trim() {
        "A" | "a" | "" => Some(ConnectionLine::A),
        "B" | "b" => Some(ConnectionLine::B),
        other => {
            xml.error(feed, format!("feed `{}` is neither A nor B", one_line(other)));
            None
        }
    }
}

impl ImportedConnection<'_, '_> {
    /// Returns the name of the connection, for remarks.
    fn name(&self) -> String {
        match (self.code.as_str(), self.kind.as_str()) {
            ("", kind) => format!("`{kind}`"),
            (code, "") => format!("`{code}`"),
            (code, kind) => format!("`{code}` ({kind})"),
        }
    }

    /// Reports that the connection was left out.
    pub(super) fn leave_out(&self, why: &str, xml: &Xml<'_, '_>, draft: &mut ImportDraft) {
        let line = xml.line(self.node);
        draft.notes.push(format!("line {line}: connection {} was left out: {why}", self.name()));
    }

    /// Adds the connection to a channel.
    pub(super) fn add_to(
        &self,
        role: ConnectionRole,
        channel: &mut ChannelConfig,
        xml: &mut Xml<'_, '_>,
        draft: &mut ImportDraft,
    ) {
        match (role, self.is_tcp) {
            (ConnectionRole::Replay, true) => self.add_replay(channel, xml),
            (ConnectionRole::Replay, false) => {
                self.leave_out("replay over UDP is not supported", xml, draft)
            }
            (_, true) => self.leave_out("only replay uses TCP", xml, draft),
            (ConnectionRole::Definitions, false) => {
                self.add_line(&mut channel.definitions, xml, draft)
            }
            (ConnectionRole::Incremental, false) => self.add_line(&mut channel.lines, xml, draft),
            (ConnectionRole::Snapshot, false) => self.add_line(&mut channel.snapshots, xml, draft),
        }
    }

    fn add_replay(&self, channel: &mut ChannelConfig, xml: &mut Xml<'_, '_>) {
        let mut servers: Vec<String> = Vec::new();
        for ip in self.hosts.iter().chain(&self.ips) {
            let server = format!("{ip}:{}", self.port);
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        if servers.is_empty() {
            xml.error(self.node, "the connection has neither <ip> nor <host-ip>".to_owned());
            return;
        }
        let replay = channel.replay.get_or_insert_with(ReplayConfig::default);
        let new = servers.into_iter().filter(|server| !replay.addresses.contains(server));
        let new: Vec<String> = new.collect();
        replay.addresses.extend(new);
    }

    fn add_line(&self, lines: &mut LinesConfig, xml: &mut Xml<'_, '_>, draft: &mut ImportDraft) {
        let Some(&group) = self.ips.first() else {
            xml.error(self.node, "the connection has no <ip>".to_owned());
            return;
        };
        let place = match self.line {
            ConnectionLine::A => &mut lines.a,
            ConnectionLine::B => &mut lines.b,
        };
        if place.is_some() {
            self.leave_out("its channel already has such a line", xml, draft);
            return;
        }
        // If several hosts send to a group, it cannot be restricted to one source.
        let source = match self.sources.as_slice() {
            [source] => Some(*source),
            _ => None,
        };
        let source = source.filter(|_| group.is_multicast());
        *place = Some(Address::Group { group, port: self.port, source, interface: None });
    }
}
