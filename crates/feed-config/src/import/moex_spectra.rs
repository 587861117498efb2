//! MOEX SPECTRA (FORTS): groups of connections; each group is a stream of one kind of data.

use roxmltree::Node;

use super::connection::{ConnectionRole, connections};
use super::xml::{Xml, children};
use super::{ImportDraft, one_line, slug};
use crate::config::{BooksBy, BooksConfig, ChannelConfig, HandlerConfig};

pub(super) fn read(xml: &mut Xml<'_, '_>, draft: &mut ImportDraft) {
    for group in children(xml.root(), "MarketDataGroup") {
        let Some(feed) = group.attribute("feedType").filter(|feed| !feed.trim().is_empty()) else {
            xml.error(group, "the group has no feedType".to_owned());
            continue;
        };
        let description = group.attribute("label").map(one_line).filter(|text| !text.is_empty());
        let books = books(feed, group, xml);
        let settings = HandlerConfig { books, ..HandlerConfig::default() };
        let mut channel = ChannelConfig { description, settings, ..ChannelConfig::default() };
        let connections = connections(group, xml);
        let has_incremental = connections
            .iter()
            .any(|connection| role(&connection.kind) == Some(ConnectionRole::Incremental));
        for connection in connections {
            match role(&connection.kind) {
                // A stream of only definitions or news is the incremental feed of its channel.
                Some(ConnectionRole::Definitions) if !has_incremental => {
                    connection.add_to(ConnectionRole::Incremental, &mut channel, xml, draft);
                }
                Some(role) => connection.add_to(role, &mut channel, xml, draft),
                None if !has_incremental && !connection.is_tcp => {
                    connection.add_to(ConnectionRole::Incremental, &mut channel, xml, draft);
                }
                None => connection.leave_out("its type is unknown", xml, draft),
            }
        }
        let market = group.attribute("marketID").unwrap_or_default();
        draft.add(&[slug(feed), slug(&format!("{feed}-{market}"))], channel);
    }
}

/// Returns the role for the text of `<type>`: `Incremental`, `Snapshot`, `Instrument Replay`,
/// `Instrument Incremental`, `Historical Replay`.
fn role(kind: &str) -> Option<ConnectionRole> {
    let kind = kind.to_ascii_lowercase();
    let has = |word: &str| kind.contains(word);
    Some(match () {
        () if has("incremental") => ConnectionRole::Incremental,
        () if has("snapshot") => ConnectionRole::Snapshot,
        () if has("historical") || has("tcp") => ConnectionRole::Replay,
        () if has("instrument") => ConnectionRole::Definitions,
        () => return None,
    })
}

/// Returns the books for a feed name: `FUT-BOOK-20` has 20 levels, `ORDERS-LOG` has orders, other
/// feeds have no books.
fn books(feed: &str, group: Node<'_, '_>, xml: &mut Xml<'_, '_>) -> BooksConfig {
    let upper = feed.to_ascii_uppercase();
    let by = match () {
        () if upper.contains("ORDERS") || upper.contains("ORDER-LOG") => BooksBy::Order,
        () if upper.contains("BOOK") || is_depth_feed(&upper) => BooksBy::Level,
        // Trades, definitions, news: only events, no books.
        () => return BooksConfig::default(),
    };
    if by != BooksBy::Level {
        return BooksConfig { by: Some(by), ..BooksConfig::default() };
    }
    let named = upper.rsplit('-').next().and_then(|number| number.parse().ok());
    let depth = match group.attribute("marketDepth") {
        Some(text) => {
            let depth = text.trim().parse().ok();
            if depth.is_none() {
                xml.error(group, format!("marketDepth `{}` is not a number", one_line(text)));
            }
            depth
        }
        None => named,
    };
    let depth = depth.filter(|depth| (1..=10_000).contains(depth));
    BooksConfig { by: Some(by), depth, ..BooksConfig::default() }
}

/// Returns true for the feed names of earlier years: `RTS-1`, `RTS-20`.
fn is_depth_feed(upper: &str) -> bool {
    upper.strip_prefix("RTS-").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}
