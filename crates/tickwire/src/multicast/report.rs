//! Report of the sender, as a table and as JSON.

use super::MulticastLine;
use crate::failure::Failure;
use crate::files;
use crate::table::{Align, TextTable};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use tickwire_feed::counted;
use tickwire_net::histogram::LatencySummary;
use tickwire_net::inject::FaultCounters;
use tickwire_net::multicast::Endpoint;
use tickwire_net::playback::{Playback, PlaybackLineCounters};

/// The counters of one line.
struct PlaybackLineReport {
    name: &'static str,
    endpoint: Endpoint,
    sent: PlaybackLineCounters,
    faults: FaultCounters,
}

/// Result of a playback.
pub struct PlaybackReport {
    lines: Vec<PlaybackLineReport>,
    packets: u64,
    passed_over: u64,
    /// Packets whose destination belongs to no line; `None` if not all captures were read to their ends.
    unsent: Option<u64>,
    elapsed_ns: u64,
    late: LatencySummary,
    is_stopped: bool,
}

impl PlaybackReport {
    /// Creates a report of the current counters. `unsent` has each capture with the number of its packets whose
    /// destination belongs to no line.
    pub fn of(
        feeds: &[MulticastLine<'_>],
        playback: &Playback,
        is_stopped: bool,
        unsent: Option<&[(&Path, u64)]>,
    ) -> Self {
        let lines = feeds.iter().zip(playback.lines()).map(|(feed, line)| PlaybackLineReport {
            name: feed.name,
            endpoint: feed.endpoint,
            sent: line.counters(),
            faults: line.faults(),
        });
        let tracks = playback.tracks().iter().map(|track| track.counters());
        Self {
            lines: lines.collect(),
            packets: tracks.clone().map(|counters| counters.packets).sum(),
            passed_over: tracks.map(|counters| counters.passed_over).sum(),
            unsent: unsent.map(|captures| captures.iter().map(|(_, packets)| packets).sum()),
            elapsed_ns: playback.elapsed_ns(),
            late: LatencySummary::from(playback.lateness()),
            is_stopped,
        }
    }

    /// Writes the table to standard output and, if a file is named, JSON to the file. If JSON goes to
    /// standard output, it is written without the table.
    pub fn write(&self, json: Option<&Path>) -> Result<(), Failure> {
        if let Some(path) = json {
            let mut out = files::create(Some(path))?;
            writeln!(out, "{:#}", self.to_json())?;
            out.flush()?;
        }
        if json.is_none_or(|path| !files::is_standard(path)) {
            let mut out = files::create(None)?;
            self.write_table(&mut out)?;
            out.flush()?;
        }
        Ok(())
    }

    fn write_table(&self, out: &mut impl Write) -> Result<(), Failure> {
        let columns = ["taken", "lost", "twice", "overtaken", "sent", "bytes", "no room"];
        let left = [("line", Align::Left), ("to", Align::Left)];
        let right = columns.map(|name| (name, Align::Right));
        let mut table = TextTable::new(&[&left[..], &right].concat());
        for line in &self.lines {
            let counts = [
                line.faults.taken,
                line.faults.lost,
                line.faults.duplicated,
                line.faults.reordered,
                line.sent.packets,
                line.sent.bytes,
                line.sent.no_room + line.faults.overflowed,
            ];
            let names = [line.name.to_owned(), line.endpoint.address().to_string()];
            table.row(names.into_iter().chain(counts.map(|count| count.to_string())).collect());
        }
        write!(out, "{table}")?;
        let seconds = self.elapsed_ns as f64 / 1e9;
        writeln!(out)?;
        writeln!(
            out,
            "{} in {seconds:.3} s, {:.0} a second; late by {} us (p50), {} (p99), {} (max)",
            counted(self.packets, "packet"),
            self.rate(),
            micros(self.late.p50_ns),
            micros(self.late.p99_ns),
            micros(self.late.max_ns)
        )?;
        if self.passed_over > 0 {
            let count = counted(self.passed_over, "packet");
            writeln!(out, "{count} skipped: TCP, or truncated by the capture")?;
        }
        if self.is_stopped {
            writeln!(out, "Stopped before the end.")?;
        }
        Ok(())
    }

    fn rate(&self) -> f64 {
        match self.elapsed_ns {
            0 => 0.0,
            ns => self.packets as f64 * 1e9 / ns as f64,
        }
    }

    fn to_json(&self) -> Value {
        let lines: Vec<Value> = self.lines.iter().map(PlaybackLineReport::to_json).collect();
        json!({
            "packets": self.packets,
            "passed_over": self.passed_over,
            "to_other_destinations": self.unsent,
            "elapsed_s": self.elapsed_ns as f64 / 1e9,
            "packets_per_second": self.rate(),
            "late_us": {
                "p50": self.late.p50_ns as f64 / 1e3,
                "p99": self.late.p99_ns as f64 / 1e3,
                "p99.9": self.late.p999_ns as f64 / 1e3,
                "max": self.late.max_ns as f64 / 1e3,
            },
            "stopped": self.is_stopped,
            "lines": lines,
        })
    }
}

impl PlaybackLineReport {
    fn to_json(&self) -> Value {
        json!({
            "line": self.name,
            "group": self.endpoint.group.to_string(),
            "port": self.endpoint.port,
            "interface": self.endpoint.interface.to_string(),
            "taken": self.faults.taken,
            "lost": self.faults.lost,
            "duplicated": self.faults.duplicated,
            "overtaken": self.faults.reordered,
            "sent": self.sent.packets,
            "bytes": self.sent.bytes,
            "no_room": self.sent.no_room + self.faults.overflowed,
        })
    }
}

/// Microseconds with one decimal place.
fn micros(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}
