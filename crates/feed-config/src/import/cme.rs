//! CME's `config.xml`: channels of products with one-letter feed types.

use super::connection::{ConnectionRole, connections};
use super::xml::{Xml, children};
use super::{ImportDraft, one_line, slug};
use crate::config::ChannelConfig;

pub(super) fn read(xml: &mut Xml<'_, '_>, draft: &mut ImportDraft) {
    for element in children(xml.root(), "channel") {
        let Some(id) = element.attribute("id").map(str::trim).filter(|id| !id.is_empty()) else {
            xml.error(element, "the channel has no id".to_owned());
            continue;
        };
        let description = element.attribute("label").map(one_line).filter(|text| !text.is_empty());
        let mut channel = ChannelConfig { description, ..ChannelConfig::default() };
        for connection in connections(element, xml) {
            let role = match connection.code.as_str() {
                "H" => ConnectionRole::Replay,
                "I" => ConnectionRole::Incremental,
                "N" => ConnectionRole::Definitions,
                "S" => ConnectionRole::Snapshot,
                _ => {
                    connection.leave_out("a feed file cannot describe its feed type", xml, draft);
                    continue;
                }
            };
            connection.add_to(role, &mut channel, xml, draft);
        }
        draft.add(&[slug(id)], channel);
    }
    draft.notes.push(
        "CME's feeds use SBE today: FAST templates decode these addresses only if a FAST feed is replayed on them"
            .to_owned(),
    );
}
