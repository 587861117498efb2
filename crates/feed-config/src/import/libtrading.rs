//! The configuration of libtrading's FAST reader: captures or groups, and instruments.

use std::net::Ipv4Addr;

use roxmltree::Node;

use super::xml::{Xml, child, children};
use super::{ImportDraft, one_line};
use crate::config::{Address, ChannelConfig, InstrumentConfig, LinesConfig};

/// Most decimal places of a tick.
const TICK_EXPONENT_MAX: usize = 18;

pub(super) fn read(xml: &mut Xml<'_, '_>, draft: &mut ImportDraft) {
    let root = xml.root();
    let mut channel = ChannelConfig::default();
    for feed in children(root, "feeds").flat_map(|feeds| children(feeds, "feed")) {
        let lines = match feed.attribute("type").map(str::trim) {
            Some("increment" | "incremental") => &mut channel.lines,
            Some("snapshot") => &mut channel.snapshots,
            other => {
                let other = one_line(other.unwrap_or_default());
                xml.error(feed, format!("feed type `{other}` is neither increment nor snapshot"));
                continue;
            }
        };
        add(lines, feed, xml);
    }
    for book in children(root, "books").flat_map(|books| children(books, "book")) {
        channel.instruments.extend(instrument(book, xml));
    }
    if channel.lines != LinesConfig::default() || channel.snapshots != LinesConfig::default() {
        draft.add(&["main".to_owned()], channel);
    }
    draft.notes.push(
        "the file has no framing: packets are read as FAST messages without a preamble; add `framing` if they have one"
            .to_owned(),
    );
}

fn add(lines: &mut LinesConfig, feed: Node<'_, '_>, xml: &mut Xml<'_, '_>) {
    let Some(address) = address(feed, xml) else { return };
    match lines {
        LinesConfig { a: a @ None, .. } => *a = Some(address),
        LinesConfig { b: b @ None, .. } => *b = Some(address),
        _ => xml.error(feed, "a third line of one feed".to_owned()),
    }
}

/// Returns the `value` attribute of a child element.
fn value<'d, 'i>(node: Node<'d, 'i>, name: &'static str) -> Option<(Node<'d, 'i>, &'d str)> {
    let child = child(node, name)?;
    let value = child.attribute("value")?.trim();
    (!value.is_empty()).then_some((child, value))
}

fn address(feed: Node<'_, '_>, xml: &mut Xml<'_, '_>) -> Option<Address> {
    if let Some((_, file)) = value(feed, "file") {
        return Some(Address::Capture(one_line(file).into()));
    }
    let (Some((group_at, group)), Some((port_at, port))) = (value(feed, "ip"), value(feed, "port"))
    else {
        xml.error(feed, "the feed has neither <file> nor <ip> and <port>".to_owned());
        return None;
    };
    let (group, port) = (xml.ip(group_at, group), xml.port(port_at, port));
    let source: Option<Ipv4Addr> =
        value(feed, "sip").and_then(|(node, source)| xml.ip(node, source));
    let interface = value(feed, "lip").map(|(_, interface)| one_line(interface));
    Some(Address::Group { group: group?, port: port?, source, interface })
}

fn instrument(book: Node<'_, '_>, xml: &mut Xml<'_, '_>) -> Option<InstrumentConfig> {
    let symbol = book.attribute("symbol").map(one_line).filter(|symbol| !symbol.is_empty());
    let Some((_, id)) = value(book, "id") else {
        xml.error(book, "the book has no <id>".to_owned());
        return None;
    };
    let exponent = value(book, "tick_exp").map_or("0", |(_, exponent)| exponent);
    let tick = value(book, "tick_mnt").and_then(|(node, mantissa)| {
        let tick = tick(mantissa, exponent);
        if tick.is_none() {
            xml.error(node, format!("{mantissa} x 10^{exponent} is not a tick"));
        }
        tick
    });
    Some(InstrumentConfig { id: one_line(id), symbol, tick })
}

/// Converts mantissa and exponent to a plain decimal.
fn tick(mantissa: &str, exponent: &str) -> Option<String> {
    let mantissa: u64 = mantissa.parse().ok().filter(|mantissa| *mantissa > 0)?;
    let exponent: i32 = exponent.parse().ok()?;
    let places = usize::try_from(exponent.unsigned_abs()).ok()?;
    if places > TICK_EXPONENT_MAX {
        return None;
    }
    if exponent >= 0 {
        return Some(format!("{mantissa}{}", "0".repeat(places)));
    }
    let digits = format!("{mantissa:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let fraction = fraction.trim_end_matches('0');
    Some(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}

#[cfg(test)]
mod tests {
    use super::tick;

    #[test]
    fn ticks_are_plain_decimals() {
        assert_eq!(tick("10", "0").as_deref(), Some("10"));
        assert_eq!(tick("5", "2").as_deref(), Some("500"));
        assert_eq!(tick("25", "-2").as_deref(), Some("0.25"));
        assert_eq!(tick("100", "-2").as_deref(), Some("1"));
        assert_eq!(tick("0", "0"), None);
        assert_eq!(tick("1", "99"), None);
    }
}
