//! Report of one channel.

use super::hints::{StaleFacts, hold_hint, silence_hints};
use super::line::LineReport;
use super::times::{time_cells, time_json};
use crate::failure::Failure;
use crate::table::{Align, TextTable};
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use tickwire_feed::arbiter::{HoldNeeded, LineCounters};
use tickwire_feed::capture::CaptureDriver;
use tickwire_feed::counted;
use tickwire_feed::handler::{FeedLine, HandlerCounters, HandlerView};
use tickwire_feed::recovery::StaleReason;
use tickwire_feed::replay::ReplayCounters;
use tickwire_net::histogram::LatencySummary;
use tickwire_net::log::EventCounters;
use tickwire_net::multicast::Receiver;
use tickwire_net::tcp_replay::TcpReplay;

/// Inputs of a channel.
pub enum Inputs<'r> {
    /// Sockets.
    Sockets {
        /// The lines with their sockets.
        lines: Vec<(FeedLine, &'r Receiver)>,
        /// Decoding times.
        decoding: &'r Histogram<u64>,
        /// One message and one packet in this many were measured.
        measure_every: u32,
    },
    /// Captures.
    Captures(&'r CaptureDriver),
}

/// Counters of a channel.
pub struct ChannelReport<'r> {
    /// Name of the channel if several are received.
    name: Option<&'r str>,
    lines: Vec<LineReport>,
    handler: HandlerView<'r>,
    events: EventCounters,
    /// Counters of the replay service, if there is one, and gaps that were not requested.
    replay: Option<(ReplayCounters, u64)>,
    decoding: Option<LatencySummary>,
    /// One message and one packet in this many were measured.
    measure_every: u32,
    fresh_books: usize,
    books: usize,
    stale_books: [usize; StaleReason::LABELS.len()],
    is_captured: bool,
}

impl<'r> ChannelReport<'r> {
    /// Creates a report of the current counters.
    pub fn new(
        name: Option<&'r str>,
        inputs: Inputs<'r>,
        handler: HandlerView<'r>,
        events: EventCounters,
        replay: Option<&TcpReplay>,
    ) -> Self {
        let is_captured = matches!(inputs, Inputs::Captures(_));
        let (fresh_books, stale_books) = handler.recovery.states();
        let (lines, decoding) = match inputs {
            Inputs::Sockets { lines, decoding, measure_every } => {
                let line = |(source, socket)| LineReport::of_socket(source, socket, &handler);
                let lines = lines.into_iter().map(line).collect();
                (lines, Some((LatencySummary::from(decoding), measure_every)))
            }
            Inputs::Captures(driver) => {
                let lines = driver.counters().map(|(source, counters)| LineReport {
                    packets: counters.packets,
                    bytes: counters.bytes,
                    truncated: counters.truncated,
                    ..LineReport::new(source, &handler)
                });
                (lines.collect(), None)
            }
        };
        Self {
            name,
            lines,
            handler,
            events,
            replay: replay.map(|replay| (replay.counters(), replay.refused())),
            measure_every: decoding.map_or(0, |(_, every)| every),
            decoding: decoding.map(|(decoding, _)| decoding),
            fresh_books,
            books: handler.recovery.instruments().len(),
            stale_books,
            is_captured,
        }
    }

    /// True if packets were not decoded, messages were not understood, instruments were refused for lack of
    /// room, or snapshots differed from the books.
    pub fn is_flawed(&self) -> bool {
        let truncated = self.lines.iter().any(|line| line.truncated > 0);
        self.not_decoded() > 0
            || self.not_understood() > 0
            || self.refused_instruments() > 0
            || truncated
            || self.unplaced().is_some()
            || self.handler.recovery.counters().mismatches > 0
    }

    /// Packets with unexpected sequence numbers, if these are at least a tenth of the packets on every active
    /// line: they are not decoded, and no other line has good copies. A few occur at each restart of the
    /// sequence numbers.
    fn unplaced(&self) -> Option<u64> {
        let lines = self.lines.iter().filter_map(|line| line.arbitrated.as_ref());
        let mut lines = lines.filter(|line| line.received > 0);
        let least = lines.clone().map(|line| line.unexpected).min()?;
        let has_many = lines.all(|line| line.unexpected.saturating_mul(10) >= line.received);
        (least >= UNPLACED_MIN && has_many).then_some(least)
    }

    /// Packets of all feeds that were not decoded and not replaced by another line's copy.
    fn not_decoded(&self) -> u64 {
        let counters = self.handler.counters;
        let replacements = self.lines.iter().filter_map(|line| line.arbitrated.as_ref());
        let replacements: u64 = replacements.map(|line| line.replacement).sum();
        let malformed: u64 = self.lines.iter().map(LineReport::malformed).sum();
        counters.messages.undecodable.saturating_sub(replacements)
            + counters.snapshots.undecodable
            + counters.definitions.undecodable
            + counters.replays.undecodable
            + malformed
    }

    /// Decoded messages about books that are incomplete or contradictory. They make books stale, as a gap
    /// does.
    fn not_understood(&self) -> u64 {
        let HandlerCounters { messages, snapshots, definitions, replays, .. } =
            self.handler.counters;
        [messages, snapshots, definitions, replays].iter().map(|feed| feed.not_understood).sum()
    }

    /// Number of times that an instrument was refused for lack of room.
    fn refused_instruments(&self) -> u64 {
        self.handler.recovery.counters().too_many_instruments
    }

    /// Writes the tables of lines and times.
    pub fn write_tables(&self, out: &mut impl Write) -> Result<(), Failure> {
        if let Some(name) = self.name {
            writeln!(out, "Channel {name}")?;
        }
        write!(out, "{}", self.lines_table())?;
        writeln!(out)?;
        if self.decoding.is_some() {
            write!(out, "{}", self.times_table())?;
            if self.measure_every > 1 {
                let every = self.measure_every;
                writeln!(out, "Times are those of one packet and one message in {every}.")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn times_table(&self) -> TextTable {
        let names = ["count", "mean", "stdev", "p50", "p99", "p99.9", "max"];
        let right = names.map(|name| (name, Align::Right));
        let mut times = TextTable::new(&[&[("time in us", Align::Left)][..], &right].concat());
        for line in &self.lines {
            if let Some(socket) = &line.socket {
                times.row(time_cells(&format!("in the kernel, {}", line.source), &socket.delay));
            }
        }
        if let Some(decoding) = &self.decoding {
            times.row(time_cells("decode a message", decoding));
        }
        times
    }

    fn lines_table(&self) -> TextTable {
        let names = [
            "received",
            "first",
            "duplicate",
            "replaced",
            "late",
            "lost",
            "unexpected",
            "old epoch",
            "excluded",
            "differing",
            "disorder",
            "malformed",
            "dropped",
        ];
        let right = names.map(|name| (name, Align::Right));
        let mut table = TextTable::new(&[&[("line", Align::Left)][..], &right].concat());
        for line in &self.lines {
            let arbitrated = |count: fn(&LineCounters) -> u64| {
                line.arbitrated.as_ref().map_or("-".to_owned(), |line| count(line).to_string())
            };
            table.row(vec![
                line.source.to_string(),
                line.packets.to_string(),
                arbitrated(|line| line.first),
                arbitrated(|line| line.duplicate),
                arbitrated(|line| line.replacement),
                arbitrated(|line| line.late),
                arbitrated(|line| line.lost),
                arbitrated(|line| line.unexpected),
                arbitrated(|line| line.old_epoch),
                arbitrated(|line| line.excluded),
                arbitrated(|line| line.differing),
                arbitrated(|line| line.out_of_order),
                line.malformed().to_string(),
                line.dropped().to_string(),
            ]);
        }
        table
    }

    /// Writes the totals as sentences.
    pub fn write_totals(&self, out: &mut impl Write) -> Result<(), Failure> {
        let arbiter = self.handler.arbiter.counters();
        let counters = self.handler.counters;
        let (gaps, missing) = (arbiter.gaps, arbiter.gap_seq_nums);
        writeln!(
            out,
            "{} in {}; {} missing in {}; {} not decoded, {} of unknown templates",
            counted(counters.messages.decoded, "message"),
            counted(arbiter.delivered, "packet"),
            counted(missing, "number"),
            counted(gaps, "gap"),
            counted(counters.messages.undecodable, "packet"),
            counters.messages.unknown_template,
        )?;
        if let Some((replay, refused)) = &self.replay {
            writeln!(
                out,
                "{} replayed in {} for {}; {} not replayed, {} not requested; {} failed",
                counted(replay.replayed, "message"),
                counted(replay.requests, "request"),
                counted(replay.gaps, "gap"),
                counted(replay.abandoned, "number"),
                counted(*refused, "gap"),
                counted(replay.failures, "connection"),
            )?;
        }
        if let Some(hint) = hold_hint(self.handler.arbiter) {
            writeln!(out, "{hint}")?;
        }
        let recovery = self.handler.recovery.counters();
        if self.books > 0 {
            writeln!(
                out,
                "{} of {} fresh; {}; {}; {} equal, {} not",
                self.fresh_books,
                counted(self.books, "book"),
                counted(recovery.applied, "update"),
                counted(recovery.recovered, "recovery"),
                counted(recovery.verified, "snapshot"),
                recovery.mismatches,
            )?;
            if let Some(hint) = mismatch_hint(recovery.mismatches) {
                writeln!(out, "{hint}")?;
            }
            for hint in self.stale_facts().hints() {
                writeln!(out, "{hint}")?;
            }
        }
        let EventCounters { trades, statistics, statuses, definitions, .. } = self.events;
        if self.books > 0 || trades + statistics + statuses + definitions > 0 {
            writeln!(
                out,
                "{}; {}; {}; {}",
                counted(trades, "trade"),
                counted(statistics, "statistic"),
                counted(statuses, "status change"),
                counted(definitions, "definition"),
            )?;
        }
        self.write_unused(out)?;
        for line in self.lines.iter().filter(|line| line.truncated > 0) {
            let (source, truncated) = (line.source, line.truncated);
            writeln!(
                out,
                "{source}: the capture truncated {truncated} packets; they are not decoded"
            )?;
        }
        if let Some(unplaced) = self.unplaced() {
            writeln!(
                out,
                "{unplaced} packets of a line have unexpected sequence numbers and are not decoded: does --framing or --seq-num fit the feed, or is --explicit-restarts too strict?"
            )?;
        }
        let counters = self.handler.counters;
        let unknown = self.lines.iter().map(|line| counters.input(line.source).no_seq_num);
        let unknown: u64 = unknown.sum();
        if unknown > 0 {
            writeln!(
                out,
                "{} dropped, because the sequence number cannot be read without decoding: does --framing or --seq-num fit? Captures of feeds that omit template ids at the start of packets need tickwire decode",
                counted(unknown, "packet")
            )?;
        }
        let silent = self.lines.iter().filter(|line| line.packets == 0);
        let silent: Vec<_> =
            silent.filter_map(|line| Some((line.source, line.endpoint?))).collect();
        for hint in silence_hints(&silent) {
            writeln!(out, "{hint}")?;
        }
        if self.is_nothing_decoded() {
            writeln!(out, "Nothing was decoded: do --framing and --templates fit the feed?")?;
        }
        Ok(())
    }

    fn stale_facts(&self) -> StaleFacts {
        let arbiter = self.handler.arbiter;
        StaleFacts {
            books: self.stale_books,
            has_snapshots: self
                .lines
                .iter()
                .any(|line| matches!(line.source, FeedLine::Snapshot(_))),
            snapshots: self.handler.counters.snapshots.decoded,
            packets: arbiter.counters().delivered,
            awaited: self.handler.recovery.awaited(),
            skew_ns: arbiter.options().skew_ns,
            is_captured: self.is_captured,
        }
    }

    /// Writes the counts of decoded messages that did not change a book.
    fn write_unused(&self, out: &mut impl Write) -> Result<(), Failure> {
        let not_understood = self.not_understood();
        if not_understood > 0 {
            writeln!(
                out,
                "{not_understood} messages were not understood (see the log): do --books and --instrument-key fit the feed?"
            )?;
        }
        let refused = self.refused_instruments();
        if refused > 0 {
            writeln!(
                out,
                "Instruments were refused {refused} times: their books are missing; raise --instruments-max"
            )?;
        }
        let faulty = self.handler.recovery.counters().faulty_snapshots;
        if faulty > 0 {
            writeln!(
                out,
                "{faulty} snapshots were not used: their levels do not form a book, or are deeper than the depth of the feed"
            )?;
        }
        Ok(())
    }

    /// True if packets arrived and each of them was malformed or could not be decoded.
    fn is_nothing_decoded(&self) -> bool {
        let counters = self.handler.counters;
        let beside = counters.snapshots.decoded + counters.definitions.decoded;
        let decoded = counters.messages.decoded + beside;
        let received: u64 = self.lines.iter().map(|line| line.packets).sum();
        received > 0 && decoded == 0 && self.not_decoded() > 0
    }

    /// The counters as JSON.
    pub fn to_json(&self) -> Value {
        let arbiter = self.handler.arbiter.counters();
        let counters = self.handler.counters;
        let recovery = self.handler.recovery.counters();
        let lines: Vec<Value> = self.lines.iter().map(LineReport::to_json).collect();
        let stale = StaleReason::LABELS.into_iter().zip(self.stale_books);
        let stale: Map<String, Value> = stale
            .filter(|(_, books)| *books > 0)
            .map(|(label, books)| (label.to_owned(), books.into()))
            .collect();
        let HoldNeeded { two_lines_ns, single_line_ns } = self.handler.arbiter.hold_needed();
        let micros = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        let mut value = json!({
            "messages": counters.messages.decoded,
            "packets": arbiter.delivered,
            "gaps": arbiter.gaps,
            "missing": arbiter.gap_seq_nums,
            "resets": arbiter.resets,
            "undecodable": counters.messages.undecodable,
            "unknown_template": counters.messages.unknown_template,
            "not_understood": self.not_understood(),
            "snapshots": counters.snapshots.decoded,
            "definitions": counters.definitions.decoded,
            "hold_needed_us": micros(two_lines_ns),
            "single_line_hold_needed_us": micros(single_line_ns),
            "books": {
                "known": self.books,
                "fresh": self.fresh_books,
                "stale": stale,
                "applied": recovery.applied,
                "recovered": recovery.recovered,
                "verified": recovery.verified,
                "mismatches": recovery.mismatches,
                "faulty_snapshots": recovery.faulty_snapshots,
                "refused_instruments": self.refused_instruments(),
            },
            "events": self.events.labelled().into_iter().collect::<BTreeMap<_, _>>(),
            "lines": lines,
        });
        if let Some(name) = self.name {
            value["channel"] = name.into();
        }
        if let Some((replay, refused)) = &self.replay {
            value["replay"] = json!({
                "gaps": replay.gaps,
                "requests": replay.requests,
                "replayed": replay.replayed,
                "abandoned": replay.abandoned,
                "refused": refused,
                "failures": replay.failures,
                "updates": recovery.replayed,
            });
        }
        if let Some(decoding) = &self.decoding {
            value["decode_us"] = time_json(decoding);
            value["measure_every"] = self.measure_every.into();
        }
        value
    }
}

/// Minimum number of packets with unexpected sequence numbers for a channel to report them as not decoded.
const UNPLACED_MIN: u64 = 100;

/// Hint if snapshots differed from books.
fn mismatch_hint(mismatches: u64) -> Option<&'static str> {
    (mismatches > 0).then_some("Snapshots differ from books: do --books and --depth fit the feed?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_that_differ_lead_to_the_options_of_books() {
        assert_eq!(mismatch_hint(0), None);
        assert!(mismatch_hint(3).is_some_and(|hint| hint.contains("--depth")));
    }
}
