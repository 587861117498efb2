//! MOEX ASTS: connections with codes such as OLR and OLS, which form channels.

use super::connection::{ConnectionRole, connections};
use super::xml::{Xml, children};
use super::{ImportDraft, one_line, slug};
use crate::config::{
    BooksBy, BooksConfig, ChannelConfig, HandlerConfig, LinesConfig, ReplayConfig,
};

pub(super) fn read(xml: &mut Xml<'_, '_>, draft: &mut ImportDraft) {
    for element in children(xml.root(), "channel") {
        let Some(id) = element.attribute("id").map(str::trim).filter(|id| !id.is_empty()) else {
            xml.error(element, "the channel has no id".to_owned());
            continue;
        };
        let label = element.attribute("label").map(one_line).filter(|text| !text.is_empty());
        let mut shared = ChannelConfig::default();
        let mut streams: Vec<(String, ChannelConfig)> = Vec::new();
        for connection in connections(element, xml) {
            let code = connection.code.to_ascii_uppercase();
            let (stream, role) = match role(&code, &connection.kind, connection.is_tcp) {
                Some(found) => found,
                None => {
                    connection.leave_out("its feed type is unknown", xml, draft);
                    continue;
                }
            };
            let channel = match stream {
                None => &mut shared,
                Some(stream) => channel_of(&mut streams, stream, label.as_deref()),
            };
            connection.add_to(role, channel, xml, draft);
        }
        for (stream, channel) in streams {
            let with_shared = with_shared(channel, &shared.definitions, shared.replay.as_ref());
            draft.add(&[slug(&format!("{id}-{stream}"))], with_shared);
        }
    }
}

/// Returns the stream of a connection and its role in that stream. The stream is `None` if all
/// streams share the connection.
fn role<'c>(code: &'c str, kind: &str, is_tcp: bool) -> Option<(Option<&'c str>, ConnectionRole)> {
    let kind = kind.to_ascii_lowercase();
    match code {
        _ if is_tcp || kind.contains("historical") => Some((None, ConnectionRole::Replay)),
        "IDF" => Some((None, ConnectionRole::Definitions)),
        // Status of instruments: a stream without snapshots.
        "ISF" => Some((Some("ISF"), ConnectionRole::Incremental)),
        _ if code.len() == 3 && code.is_ascii() => match (&code[..2], &code[2..]) {
            (stream, "R") => Some((Some(stream), ConnectionRole::Incremental)),
            (stream, "S") => Some((Some(stream), ConnectionRole::Snapshot)),
            _ => None,
        },
        _ => None,
    }
}

fn channel_of<'s>(
    streams: &'s mut Vec<(String, ChannelConfig)>,
    stream: &str,
    label: Option<&str>,
) -> &'s mut ChannelConfig {
    let index = streams.iter().position(|(name, _)| name == stream).unwrap_or_else(|| {
        let (what, by) = match stream {
            "OL" => ("orders", Some(BooksBy::Order)),
            "OB" => ("order book", Some(BooksBy::Price)),
            "MS" => ("market statistics", None),
            "TL" => ("trades", None),
            "ISF" => ("instrument status", None),
            _ => ("", None),
        };
        let parts = [label.unwrap_or_default(), what];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let description = Some(parts.join(", ")).filter(|text| !text.is_empty());
        let books = BooksConfig { by, ..BooksConfig::default() };
        let settings = HandlerConfig { books, ..HandlerConfig::default() };
        let channel = ChannelConfig { description, settings, ..ChannelConfig::default() };
        streams.push((stream.to_owned(), channel));
        streams.len() - 1
    });
    &mut streams[index].1
}

fn with_shared(
    channel: ChannelConfig,
    definitions: &LinesConfig,
    replay: Option<&ReplayConfig>,
) -> ChannelConfig {
    ChannelConfig { definitions: definitions.clone(), replay: replay.cloned(), ..channel }
}
