//! Names of the counters of feeds.

use tickwire_feed::arbiter::{ArbiterCounters, LineCounters};
use tickwire_feed::handler::{HandlerCounters, InputCounters};
use tickwire_feed::recovery::RecoveryCounters;
use tickwire_feed::replay::ReplayCounters;

use tickwire_net::log::EventCounters;
use tickwire_net::multicast::ReceiverCounters;
use tickwire_net::record::RecordCounters;

/// A count: its name, its help text, and the function that reads it from the counters.
pub(super) struct NamedCounter<C> {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) count: fn(&C) -> u64,
}

macro_rules! named {
    ($($name:literal, $help:literal, $count:expr;)*) => {
        [$(NamedCounter { name: $name, help: $help, count: $count }),*]
    };
}

pub(super) const SOCKET: [NamedCounter<ReceiverCounters>; 7] = named! {
    "net_received_packets", "Packets received", |c| c.packets;
    "net_received_bytes", "Bytes received", |c| c.bytes;
    "net_dropped_packets", "Packets the kernel dropped: the receive buffer was full",
        |c| c.dropped_by_kernel;
    "net_too_long_packets", "Packets dropped because they were longer than the limit", |c| c.too_long;
    "net_implausible_stamps", "Packets whose time stamp could not be converted",
        |c| c.implausible_stamps;
    "net_hardware_stamps", "Packets with a time stamp of the network card", |c| c.hardware_stamps;
    "net_refused_packets", "Packets refused by AF_XDP: wrong lengths or checksums", |c| c.refused;
};

pub(super) const INPUT: [NamedCounter<InputCounters>; 3] = named! {
    "feed_malformed_packets", "Packets with wrong framing", |c| c.malformed;
    "feed_no_seq_num_packets", "Packets dropped because they have no sequence number", |c| c.no_seq_num;
    "feed_unnumbered_packets", "Packets whose messages have no sequence number", |c| c.unnumbered;
};

pub(super) const LINE: [NamedCounter<LineCounters>; 11] = named! {
    "feed_first_packets", "Packets that were the first with their sequence number, in time", |c| c.first;
    "feed_duplicate_packets", "Packets whose sequence number was already received", |c| c.duplicate;
    "feed_replacement_packets", "Packets used because the first copy could not be decoded",
        |c| c.replacement;
    "feed_late_packets", "Packets whose sequence number was already declared lost", |c| c.late;
    "feed_unexpected_packets", "Packets with an unexpected sequence number", |c| c.unexpected;
    "feed_old_epoch_packets", "Packets from before a reset of the sequence numbers", |c| c.old_epoch;
    "feed_excluded_packets", "Packets not delivered because only a line that contradicts the other had them", |c| c.excluded;
    "feed_differing_packets", "Packets that differ from the other line's", |c| c.differing;
    "feed_out_of_order_packets", "Packets below the highest sequence number of their line",
        |c| c.out_of_order;
    "feed_not_held_packets", "Packets longer than the arbiter holds", |c| c.too_long;
    "feed_not_polled_packets", "Packets dropped because earlier ones were not read",
        |c| c.not_polled;
};

pub(super) const ARBITER: [NamedCounter<ArbiterCounters>; 4] = named! {
    "feed_delivered_packets", "Packets delivered in order", |c| c.delivered;
    "feed_declared_gaps", "Gaps declared", |c| c.gaps;
    "feed_missing_seq_nums", "Sequence numbers in gaps", |c| c.gap_seq_nums;
    "feed_sequence_resets", "Sequence resets", |c| c.resets;
};

pub(super) const MESSAGES: [NamedCounter<HandlerCounters>; 14] = named! {
    "decode_messages", "Messages decoded", |c| c.messages.decoded;
    "decode_failed_packets", "Packets in which a message could not be decoded",
        |c| c.messages.undecodable;
    "decode_unknown_template_messages", "Messages with an unknown template, on any feed",
        |c| {
            let beside = c.snapshots.unknown_template + c.definitions.unknown_template;
            c.messages.unknown_template + beside + c.replays.unknown_template
        };
    "decode_snapshot_messages", "Messages of the snapshot feed decoded", |c| c.snapshots.decoded;
    "decode_failed_snapshot_packets",
        "Packets of the snapshot feed in which a message could not be decoded",
        |c| c.snapshots.undecodable;
    "decode_definition_messages", "Messages of the definition feed decoded",
        |c| c.definitions.decoded;
    "decode_failed_definition_packets",
        "Packets of the definition feed in which a message could not be decoded",
        |c| c.definitions.undecodable;
    "decode_misunderstood_messages", "Market-data messages that could not be interpreted",
        |c| {
            let beside = c.snapshots.not_understood + c.definitions.not_understood;
            c.messages.not_understood + beside + c.replays.not_understood
        };
    "decode_untrusted_seq_num_messages", "Messages whose sequence number does not fit their packet",
        |c| c.messages.seq_num_not_trusted;
    "feed_replayed_messages", "Lost messages that a replay service sent again",
        |c| c.replays.decoded;
    "decode_failed_replayed_packets", "Replayed packets in which a message could not be decoded",
        |c| c.replays.undecodable;
    "feed_unawaited_replayed_packets", "Replayed packets that fill no gap, are duplicates or are out of order",
        |c| c.replays_not_awaited;
    "feed_refused_replayed_packets",
        "Replayed packets refused because their SendingTime may belong to another session",
        |c| c.replays_refused;
    "decode_template_replacements", "Replacements of templates that took effect",
        |c| c.replacements;
};

pub(super) const RECOVERY: [NamedCounter<RecoveryCounters>; 16] = named! {
    "book_applied_updates", "Updates applied to books", |c| c.applied;
    "book_held_updates", "Updates that waited for a snapshot", |c| c.held;
    "book_dropped_updates", "Updates dropped because too many waited", |c| c.dropped;
    "book_recovered_books", "Books that became fresh", |c| c.recovered;
    "book_snapshot_recovered_books", "Books that a snapshot made fresh",
        |c| c.recovered_by_snapshot;
    "book_verified_snapshots", "Snapshots that equalled the book", |c| c.verified;
    "book_mismatched_snapshots", "Snapshots that differed from a fresh book", |c| c.mismatches;
    "book_old_updates", "Updates that were already in the book", |c| c.old;
    "book_replayed_updates", "Updates of replayed packets that were applied", |c| c.replayed;
    "book_broken_books", "Times that a book became stale by a fault or a gap",
        |c| c.broken;
    "book_inconsistent_books", "Times that a check found a book crossed or unsorted",
        |c| c.inconsistent;
    "book_faulty_snapshots", "Snapshots that do not form a book", |c| c.faulty_snapshots;
    "book_old_session_snapshots", "Snapshots refused because they may belong to the previous session",
        |c| c.old_session_snapshots;
    "book_ahead_snapshots", "Snapshots ahead of the lines", |c| c.ahead_snapshots;
    "book_incomplete_snapshots", "Snapshots with a lost message",
        |c| c.incomplete_snapshots;
    "book_refused_instruments", "Times that a new instrument was refused because of the limit",
        |c| c.too_many_instruments;
};

pub(super) const REPLAY: [NamedCounter<ReplayCounters>; 5] = named! {
    "replay_accepted_gaps", "Gaps requested from the replay service", |c| c.gaps;
    "replay_sent_requests", "Requests to the replay service", |c| c.requests;
    "replay_received_messages", "Messages that the replay service sent again", |c| c.replayed;
    "replay_abandoned_seq_nums", "Sequence numbers that were not replayed", |c| c.abandoned;
    "replay_failed_connections", "Connections to the replay service that failed", |c| c.failures;
};

/// Returns the count of one kind of events.
pub(super) type EventCount = fn(&EventCounters) -> u64;

/// Kinds of events.
pub(super) const EVENTS: [(&str, EventCount); 5] = [
    ("trade", |c| c.trades),
    ("statistic", |c| c.statistics),
    ("status", |c| c.statuses),
    ("definition", |c| c.definitions),
    ("other", |c| c.others),
];

pub(super) const RECORD: [NamedCounter<RecordCounters>; 6] = named! {
    "record_written_datagrams", "Datagrams in files", |c| c.recorded;
    "record_lost_datagrams", "Datagrams not recorded because the disk was too slow or full",
        |c| c.unrecorded;
    "record_refused_packets", "Packets that a packet ring refused: fragments, wrong checksums",
        |c| c.refused;
    "record_written_bytes", "Bytes in files", |c| c.bytes;
    "record_begun_files", "Files begun", |c| c.files;
    "record_waits", "Times that reception waited for the disk", |c| c.waits;
};
