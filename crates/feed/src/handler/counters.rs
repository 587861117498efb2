//! Counters of a handler, in addition to those of the arbiter and of recovery.

use super::Source;

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
    /// Packets whose messages have no sequence number, as a message that the feed is done; each is
    /// delivered once.
    pub unnumbered: u64,
}

/// Messages of one kind of feed, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounters {
    /// Messages decoded.
    pub decoded: u64,
    /// Packets in which a message could not be decoded, those of unknown templates included, and packets whose number is
    /// not that of their first message though it always is. What is
    /// behind it is lost, unless a copy of the packet took its place: see
    /// [`LineCounters::replacement`](crate::arbiter::LineCounters::replacement).
    pub undecodable: u64,
    /// Messages of templates that are unknown.
    pub unknown_template: u64,
    /// Messages about books that could not be understood.
    pub not_understood: u64,
    /// Messages of updates whose own number their packet cannot have; the packet's number counts
    /// instead.
    pub seq_num_not_trusted: u64,
}

/// Counters of a handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandlerCounters {
    /// Lines A and B of the incremental feed.
    pub lines: [InputCounters; 2],
    /// Lines A and B of the feed of definitions.
    pub definition_lines: [InputCounters; 2],
    /// Lines A and B of the snapshot feed.
    pub snapshot_lines: [InputCounters; 2],
    /// Messages of the incremental feed.
    pub messages: MessageCounters,
    /// Messages of the feed of definitions.
    pub definitions: MessageCounters,
    /// Messages of the snapshot feed.
    pub snapshots: MessageCounters,
    /// Lost messages that a replay service sent again.
    pub replays: MessageCounters,
    /// Packets that a replay service sent and that are of no gap awaited, or arrived again or out of order: not used.
    pub replays_not_awaited: u64,
    /// Packets that a replay service sent and that may be of another session by their SendingTimes: not used.
    pub replays_refused: u64,
    /// Replacements of templates that took effect.
    pub replacements: u64,
}

impl HandlerCounters {
    /// Returns the packet counters of a line, before arbitration.
    pub const fn input(&self, source: Source) -> &InputCounters {
        match source {
            Source::Definitions(line) => &self.definition_lines[line.index()],
            Source::Incremental(line) => &self.lines[line.index()],
            Source::Snapshot(line) => &self.snapshot_lines[line.index()],
        }
    }

    /// Returns the packet counters of a line.
    pub(super) const fn of(&mut self, source: Source) -> &mut InputCounters {
        match source {
            Source::Definitions(line) => &mut self.definition_lines[line.index()],
            Source::Incremental(line) => &mut self.lines[line.index()],
            Source::Snapshot(line) => &mut self.snapshot_lines[line.index()],
        }
    }
}
