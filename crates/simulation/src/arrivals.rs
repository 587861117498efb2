//! Computes which packets arrive when, and which of them must be delivered.

use crate::reception::BATCH_NS;
use crate::scenario::{Resets, Scenario};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tickwire_exchange::ExchangeError;
use tickwire_exchange::day::{
    Day, DayChannel, DayOptions, DayPacket, SequenceNumbers, UpdatePosition,
};
use tickwire_feed::arbiter::{ArbiterOptions, Line};
use tickwire_feed::handler::FeedLine;
use tickwire_net::inject::{Arrival, Faults, ScheduledLine, SentPacket, schedule};

/// Number of final packets of updates that arrive on every line, so that the handler knows the end
/// of the feed.
const LAST_PACKETS: usize = 3;
/// Time between the end of the faults and the last snapshots, in hold times.
const QUIET_HOLDS: u64 = 4;

/// A packet that arrives.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) at_ns: u64,
    pub(crate) source: FeedLine,
    pub(crate) bytes: Vec<u8>,
}

/// A day: the packets as sent, and as they arrive.
pub(crate) struct Played {
    pub(crate) day: Day,
    /// Packets of updates with a number, in order.
    pub(crate) updates: Vec<DayPacket>,
    pub(crate) incoming: Vec<Incoming>,
    /// Packets of updates that arrived on any line, by epoch and sequence number.
    pub(crate) arrived: BTreeSet<(u32, u64)>,
    /// Packets that arrived within the hold time, so that they must be delivered.
    pub(crate) in_time: BTreeSet<(u32, u64)>,
    /// Start of the fault times: the first packet of this channel or the other one was sent.
    pub(crate) origin_ns: u64,
    /// The highest sequence number of the other channel that a line carries in the middle of the
    /// day.
    pub(crate) other_last: Option<u64>,
}

/// Index of each packet of updates, by epoch and sequence number.
pub(crate) type PacketIndexes = BTreeMap<(u32, u64), usize>;

/// Generates the day and sends its packets through the faulty lines.
pub(crate) fn play(scenario: &Scenario) -> Result<Played, ExchangeError> {
    let mut day = Day::new(&scenario.day)?;
    let mut sent = Vec::new();
    while let Some(packet) = day.next_packet()? {
        sent.push(packet);
    }
    let updates: Vec<DayPacket> =
        sent.iter().filter(|p| p.channel == DayChannel::Updates).cloned().collect();
    let end_ns = updates.last().map_or(0, |last| last.sent_ns);
    let other = other_channel(scenario, &updates, end_ns)?;
    let first_ns = |packets: &[DayPacket]| packets.first().map(|packet| packet.sent_ns);
    let origin_ns = first_ns(&updates).into_iter().chain(first_ns(&other)).min().unwrap_or(0);
    let other_last = scenario.wrong_midway().and_then(|wrong| {
        let carried = other.iter().filter(|packet| wrong.contains(packet.sent_ns - origin_ns));
        carried.filter_map(|packet| packet.seq_num).max()
    });
    let mut incoming = lines(scenario, &updates, &other);
    let last_ns = incoming.iter().map(|incoming| incoming.at_ns).max().unwrap_or(0);
    let quiet_ns = last_ns + QUIET_HOLDS * scenario.handler.hold_ns + scenario.handler.skew_ns;
    incoming.extend(beside(scenario, &sent, quiet_ns));
    // Updates come first among equal times.
    incoming.sort_by_key(|incoming| {
        (incoming.at_ns, !matches!(incoming.source, FeedLine::Incremental(_)))
    });
    let (arrived, in_time) = told(scenario, &updates, &incoming);
    let updates = updates.into_iter().filter(|packet| packet.seq_num.is_some()).collect();
    Ok(Played { day, updates, incoming, arrived, in_time, origin_ns, other_last })
}

fn sent<'p>(packets: impl IntoIterator<Item = &'p DayPacket>) -> Vec<SentPacket<'p>> {
    let sent = |packet: &'p DayPacket| SentPacket { sent_ns: packet.sent_ns, bytes: &packet.bytes };
    packets.into_iter().map(sent).collect()
}

fn scheduled<'p>(packets: Vec<SentPacket<'p>>, faults: Faults) -> ScheduledLine<'p> {
    ScheduledLine { packets, other: Vec::new(), faults }
}

/// Returns the packets of updates of another channel with the same templates, up to the end of this
/// one, if a line carries it. Numbers that the line has already passed are omitted, because they
/// would look like a new session.
fn other_channel(
    scenario: &Scenario,
    updates: &[DayPacket],
    end_ns: u64,
) -> Result<Vec<DayPacket>, ExchangeError> {
    let is_carried = scenario.lines.iter().flatten().any(|line| line.wrong_line.is_some());
    let start_ns = updates.first().map_or(0, |first| first.sent_ns);
    let passed = scenario.wrong_midway().and_then(|wrong| {
        let mut before = updates.iter().rev();
        before.find(|packet| packet.sent_ns < start_ns + wrong.start_ns)?.seq_num
    });
    let mut packets = Vec::new();
    if is_carried {
        let seed = scenario.day.seed.wrapping_add(1);
        let mut day = Day::new(&DayOptions { seed, ..scenario.day.clone() })?;
        while let Some(mut packet) = day.next_packet()? {
            packet.sent_ns = packet.sent_ns.saturating_sub(scenario.other_lead_ns);
            let is_carried = packet.channel == DayChannel::Updates
                && packet.sent_ns <= end_ns
                && passed.is_none_or(|passed| packet.seq_num > Some(passed));
            packets.extend(Some(packet).filter(|_| is_carried));
        }
    }
    Ok(packets)
}

fn is_reset(packet: &DayPacket) -> bool {
    packet.messages.iter().any(|draft| draft.template == "SequenceReset")
}

/// True if no later packet reveals the loss of this packet: it changes books without an RptSeq of
/// their own.
fn is_critical(packet: &DayPacket, resets: Resets) -> bool {
    use tickwire_exchange::DraftValue;
    packet.messages.iter().any(|draft| match (draft.template, draft.fields.last()) {
        ("SequenceReset", _) => resets == Resets::Told,
        // An entry that empties a session's or the channel's books has neither instrument nor
        // RptSeq.
        ("MDIncrementalRefresh", Some(DraftValue::Sequence(entries))) => entries
            .iter()
            .any(|entry| entry[1] == DraftValue::Text("J") && entry[6] == DraftValue::Absent),
        _ => false,
    })
}

/// Returns the packets of lines A and B. Packets whose loss no later packet reveals arrive on every
/// line of the channel.
fn lines(scenario: &Scenario, updates: &[DayPacket], other: &[DayPacket]) -> Vec<Incoming> {
    let is_told = |packet: &&DayPacket| scenario.resets != Resets::Silent || !is_reset(packet);
    let of_line = |line: &Option<Faults>| {
        line.map(|faults| {
            let line = scheduled(sent(updates.iter().filter(is_told)), faults);
            ScheduledLine { other: sent(other), ..line }
        })
    };
    let lines: Vec<ScheduledLine<'_>> = scenario.lines.iter().filter_map(of_line).collect();
    let arrivals = schedule(&lines, &[], scenario.seed);
    let mut incoming = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let of_line = arrivals.iter().filter(|arrival| arrival.line == index);
        if line.faults.wrong_line.is_some() {
            continue;
        }
        let dead = line.faults.silence.filter(|silence| silence.end_ns == u64::MAX);
        let start_ns = updates.first().map_or(0, |first| first.sent_ns);
        let dead_ns = dead.map_or(u64::MAX, |dead| start_ns.saturating_add(dead.start_ns));
        let delay_ns = line.faults.delay_ns;
        let needed = guaranteed(updates, of_line, delay_ns, scenario.resets);
        let needed = needed.filter(|(sent_ns, ..)| *sent_ns < dead_ns);
        incoming.extend(needed.map(|(_, at_ns, bytes)| Incoming {
            at_ns,
            source: FeedLine::Incremental(Line::ALL[index]),
            bytes,
        }));
    }
    incoming.extend(arrivals.into_iter().map(|arrival| Incoming {
        at_ns: arrival.at_ns,
        source: FeedLine::Incremental(Line::ALL[arrival.line]),
        bytes: arrival.bytes,
    }));
    incoming
}

/// Returns the critical packets that a line lost: the time of sending, the time of arrival after
/// the packets before them, and the bytes.
fn guaranteed<'p>(
    updates: &'p [DayPacket],
    arrivals: impl Iterator<Item = &'p Arrival>,
    delay_ns: u64,
    resets: Resets,
) -> impl Iterator<Item = (u64, u64, Vec<u8>)> {
    let mut first_ns: HashMap<&[u8], u64> = HashMap::new();
    for arrival in arrivals {
        first_ns.entry(&arrival.bytes).or_insert(arrival.at_ns);
    }
    let last = updates.len().saturating_sub(LAST_PACKETS);
    let mut before_ns = 0;
    updates.iter().enumerate().filter_map(move |(index, packet)| {
        let arrived_ns = first_ns.get(&packet.bytes[..]).copied();
        before_ns = before_ns.max(arrived_ns.unwrap_or(0));
        let is_needed = arrived_ns.is_none() && (index >= last || is_critical(packet, resets));
        let at_ns = before_ns.max(packet.sent_ns.saturating_add(delay_ns));
        is_needed.then(|| (packet.sent_ns, at_ns, packet.bytes.clone()))
    })
}

/// Returns snapshots and definitions. The last round of snapshots arrives completely, after
/// everything else.
fn beside(scenario: &Scenario, all: &[DayPacket], quiet_ns: u64) -> Vec<Incoming> {
    let is_update = |packet: &DayPacket| packet.channel == DayChannel::Updates;
    let last = all.iter().rposition(is_update).map_or(0, |last| last + 1);
    let of = |channel| move |packet: &&DayPacket| packet.channel == channel;
    let snapshots = sent(all[..last].iter().filter(of(DayChannel::Snapshots)));
    let lines = [scheduled(snapshots, scenario.snapshots)];
    let mut incoming: Vec<Incoming> = schedule(&lines, &[], !scenario.seed)
        .into_iter()
        .map(|arrival| Incoming {
            at_ns: arrival.at_ns,
            source: FeedLine::Snapshot(Line::A),
            bytes: arrival.bytes,
        })
        .collect();
    let definitions = all.iter().filter(of(DayChannel::Instruments));
    incoming.extend(definitions.map(|packet| Incoming {
        at_ns: packet.sent_ns,
        source: FeedLine::Definitions(Line::A),
        bytes: packet.bytes.clone(),
    }));
    let round = all[last..].iter().filter(of(DayChannel::Snapshots));
    incoming.extend((0..).zip(round).map(|(index, packet)| Incoming {
        at_ns: quiet_ns + index * 1_000,
        source: FeedLine::Snapshot(Line::A),
        bytes: packet.bytes.clone(),
    }));
    incoming
}

/// Epochs and sequence numbers of packets.
type PacketSet = BTreeSet<(u32, u64)>;

/// Returns the number of packets or messages that the handler holds by default while it waits for a
/// missing one.
fn held_max(scenario: &Scenario) -> u64 {
    let options = match scenario.day.sequence {
        SequenceNumbers::Messages => ArbiterOptions::for_messages(),
        SequenceNumbers::Packets => ArbiterOptions::default(),
    };
    options.packets_held_max as u64
}

/// Returns the packets of updates that arrived, and those that arrived in time.
fn told(
    scenario: &Scenario,
    updates: &[DayPacket],
    incoming: &[Incoming],
) -> (PacketSet, PacketSet) {
    let mut first_ns: BTreeMap<&[u8], u64> = BTreeMap::new();
    for incoming in incoming.iter().filter(|i| matches!(i.source, FeedLine::Incremental(_))) {
        let first = first_ns.entry(&incoming.bytes).or_insert(u64::MAX);
        *first = incoming.at_ns.min(*first);
    }
    let (mut arrived, mut in_time) = (BTreeSet::new(), BTreeSet::new());
    // When clocks step, a packet's receive time may be as late as the time at which its batch was
    // taken.
    let slack_ns = if scenario.clock_steps.is_empty() { 0 } else { BATCH_NS };
    let hold_ns = scenario.handler.hold_ns - slack_ns;
    let mut behind_ns = u64::MAX;
    // By number: the first arrival of this or any later number in its epoch.
    let mut from_ns: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    let held_max = held_max(scenario);
    // Backwards, so that the first arrival of any later packet is known.
    for packet in updates.iter().rev() {
        let Some(at_ns) = first_ns.get(&packet.bytes[..]).copied() else { continue };
        let Some(seq_num) = packet.seq_num else { continue };
        let key = (packet.epoch, seq_num);
        arrived.insert(key);
        let of_epoch = |from: u64| from_ns.range((packet.epoch, from)..=(packet.epoch, u64::MAX));
        let first_from = |from: u64| of_epoch(from).next().map_or(u64::MAX, |(_, ns)| *ns);
        // A packet that is further ahead than the handler holds ends the wait.
        let is_too_far_ns = first_from(seq_num.saturating_add(held_max));
        if at_ns < behind_ns.saturating_add(hold_ns) && at_ns < is_too_far_ns {
            in_time.insert(key);
        }
        let from_here_ns = first_from(seq_num).min(at_ns);
        from_ns.insert(key, from_here_ns);
        behind_ns = behind_ns.min(at_ns);
    }
    (arrived, in_time)
}

/// Returns the moment of each number: a message, or the last message of a packet.
pub(crate) fn moments(played: &Played) -> BTreeMap<(u32, u64), UpdatePosition> {
    let mut moments = BTreeMap::new();
    let by_message = played.day.options().sequence == SequenceNumbers::Messages;
    for packet in &played.updates {
        let Some(seq_num) = packet.seq_num else { continue };
        let epoch = packet.epoch;
        let count = packet.messages.len() as u32;
        for index in 0..count {
            let number = if by_message { seq_num + u64::from(index) } else { seq_num };
            moments.insert((epoch, number), UpdatePosition { epoch, seq_num, index });
        }
    }
    moments
}

/// Returns the index of each packet of updates.
pub(crate) fn indexes(played: &Played) -> PacketIndexes {
    let keys = played.updates.iter().enumerate();
    keys.filter_map(|(index, packet)| Some(((packet.epoch, packet.seq_num?), index))).collect()
}
