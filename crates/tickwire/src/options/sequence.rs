//! Position of sequence numbers.

use crate::failure::Failure;
use tickwire_fast::TemplateSet;
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::{SeqNumField, Sequencing};
use tickwire_net::channel_settings::{self, ChannelSettings};

/// Determines the position of a feed's sequence numbers; `named` is the value of `--seq-num`, `channel` the
/// settings of a feed file.
pub fn sequencing(
    framing: &Framing,
    set: &TemplateSet,
    named: Option<&SeqNumField>,
    channel: Option<&ChannelSettings>,
    two_lines: bool,
) -> Result<Sequencing, Failure> {
    let found = channel_settings::sequencing(framing, set, named, channel)
        .map_err(|error| Failure::Usage(format!("--seq-num: {error}")))?;
    if two_lines && !found.is_numbered() {
        return Err(Failure::Usage(
            "lines A and B cannot be arbitrated without sequence numbers: name a framing whose preamble has one, or the field with --seq-num"
                .to_owned(),
        ));
    }
    Ok(found)
}
