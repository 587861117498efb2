//! Counters of a handler, in addition to those of the arbiter and of recovery.

use super::FeedLine;

/// Packets of one line, before arbitration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputCounters {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets with wrong framing, or parts of them.
    pub malformed: u64,
    /// Packets dropped because their sequence number could not be determined.
    pub no_seq_num: u64,
    /// Packets without a sequence number, such as the message that ends a feed; each is delivered
    /// once.
    pub unnumbered: u64,
}

/// Messages of one kind of feed, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounters {
    /// Messages decoded.
    pub decoded: u64,
    /// Packets in which a message could not be decoded, including messages of unknown templates,
    /// and packets whose number differs from that of their first message although the two usually
    /// agree. The rest of such a packet is lost, unless a copy of the packet replaced it: see
    /// [`LineCounters::replacement`](crate::arbiter::LineCounters::replacement).
    pub undecodable: u64,
    /// Messages of unknown templates.
    pub unknown_template: u64,
    /// Market-data messages that could not be interpreted.
    pub not_understood: u64,
    /// Update messages whose own number is outside the range of their packet; the packet's number
    /// is used.
    pub seq_num_not_trusted: u64,
}

/// Counters of a handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandlerCounters {
    /// Lines A and B of the incremental feed.
    pub lines: [InputCounters; 2],
    /// Lines A and B of the definition feed.
    pub definition_lines: [InputCounters; 2],
    /// Lines A and B of the snapshot feed.
    pub snapshot_lines: [InputCounters; 2],
    /// Messages of the incremental feed.
    pub messages: MessageCounters,
    /// Messages of the definition feed.
    pub definitions: MessageCounters,
    /// Messages of the snapshot feed.
    pub snapshots: MessageCounters,
    /// Lost messages that a replay service sent again.
    pub replays: MessageCounters,
    /// Packets of a replay service that were not used: they belong to no awaited gap, were
    /// repeated, or were out of order.
    pub replays_not_awaited: u64,
    /// Packets of a replay service that were not used because, by their SendingTimes, they may
    /// belong to another session.
    pub replays_refused: u64,
    /// Replacements of templates that have taken effect.
    pub replacements: u64,
}

impl HandlerCounters {
    /// Returns the packet counters of a line, before arbitration.
    pub const fn input(&self, source: FeedLine) -> &InputCounters {
        match source {
            FeedLine::Definitions(line) => &self.definition_lines[line.index()],
            FeedLine::Incremental(line) => &self.lines[line.index()],
            FeedLine::Snapshot(line) => &self.snapshot_lines[line.index()],
        }
    }

    /// Returns the packet counters of a line.
    pub(super) const fn of(&mut self, source: FeedLine) -> &mut InputCounters {
        match source {
            FeedLine::Definitions(line) => &mut self.definition_lines[line.index()],
            FeedLine::Incremental(line) => &mut self.lines[line.index()],
            FeedLine::Snapshot(line) => &mut self.snapshot_lines[line.index()],
        }
    }
}
