//! Report of a publisher, as a table and as JSON.

use super::args::PublishArgs;
use super::echoes::Heard;
use super::engine::Publishing;
use super::{FeedEnd, FeedHandler, PublicationEnd};
use crate::distribution::{counts_json, rows_json, table_of, write_json};
use crate::failure::Failure;
use crate::files;
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;
use tickwire_distribution::{EchoSummary, Outlets, PublisherCounters, TopicSet};
use tickwire_feed::arbiter::Line;
use tickwire_feed::counted;

/// Report of a publisher.
pub struct PublishReport<'r> {
    pub args: &'r PublishArgs,
    pub handler: &'r FeedHandler,
    pub publishing: &'r Publishing,
    /// Topics that it writes.
    pub sets: &'r [TopicSet],
    /// Time from the first poll for a packet to the last.
    pub elapsed: Duration,
    pub ended: PublicationEnd,
    pub echoes: Vec<Heard>,
    /// True if all subscribers acknowledged that they have everything.
    pub is_acknowledged: bool,
}

impl PublishReport<'_> {
    /// True if samples were refused, lost or not acknowledged, echoes are missing, a file had malformed packets,
    /// or a transport failed.
    pub fn is_flawed(&self) -> bool {
        let (feed, outlet) = (self.publishing.counters(), self.outlet());
        feed.refused + outlet.dropped + outlet.unlisted > 0
            || feed.faults > 0 && self.args.file.is_some()
            || !self.is_acknowledged
            || self.echoed().missing > 0
            || !self.failed().is_empty()
    }

    /// Writes the table to standard output, and JSON to the file if one is named. If JSON goes to standard
    /// output, it is written without the table.
    pub fn write(&self) -> Result<(), Failure> {
        let path = self.args.json.as_deref();
        write_json(&self.to_json(), path)?;
        if path.is_none_or(|path| !files::is_standard(path)) {
            let mut out = files::create(None)?;
            self.write_table(&mut out)?;
            out.flush()?;
        }
        Ok(())
    }

    fn outlet(&self) -> PublisherCounters {
        let publisher = self.publishing.publisher();
        publisher.map(Outlets::counters).unwrap_or_default()
    }

    /// Transports that rejected a sample while another continued.
    fn failed(&self) -> Vec<&'static str> {
        self.publishing.publisher().map(Outlets::failed).unwrap_or_default()
    }

    /// Echoes over all transports together.
    fn echoed(&self) -> EchoSummary {
        let mut sum = EchoSummary { is_exact: true, ..EchoSummary::default() };
        for Heard { summary, .. } in &self.echoes {
            sum.received += summary.received;
            sum.missing += summary.missing;
            sum.is_exact &= summary.is_exact;
        }
        sum
    }

    fn transports_json(&self) -> Value {
        let all = self.publishing.publisher().map(Outlets::by_transport).unwrap_or_default();
        let failed = self.failed();
        let one = |(transport, counters): (&str, &PublisherCounters)| {
            json!({
                "transport": transport,
                "failed": failed.contains(&transport),
                "published": counters.written(),
                "dropped": counters.dropped,
            })
        };
        all.into_iter().map(one).collect()
    }

    fn rows(&self) -> Vec<crate::distribution::LatencyRow> {
        let own = self.publishing.latencies().rows();
        let heard = self.echoes.iter().flat_map(|heard| heard.latencies.rows());
        own.into_iter().chain(heard).collect()
    }

    fn write_table(&self, out: &mut impl Write) -> Result<(), Failure> {
        let (feed, outlet) = (self.publishing.counters(), self.outlet());
        write!(out, "{}", table_of(&self.rows()))?;
        writeln!(out)?;
        let seconds = self.elapsed.as_secs_f64();
        let written = outlet.written();
        writeln!(
            out,
            "{}, {} in {seconds:.3} s; {} lost on all lines",
            counted(feed.messages, "message"),
            counted(written, "sample"),
            counted(feed.gaps, "sequence number")
        )?;
        if let Some(first) = feed.first_seq_num {
            writeln!(
                out,
                "The first sequence number was {first}; earlier messages were not received."
            )?;
        }
        if !self.echoes.is_empty() {
            writeln!(out, "{} echoes", self.echoed().received)?;
            self.write_missing_echoes(out)?;
        }
        let remarks = [
            (self.ended.dropped_by_kernel, "packets dropped by the kernel: no room to receive"),
            (self.ended.too_long, "packets dropped because they are too long"),
            (feed.faults, "packets or parts of packets could not be decoded"),
            (feed.refused, "messages have values that no sample can hold"),
            (feed.passed_over, "messages of templates without a sample"),
            (outlet.dropped, "samples dropped: a subscriber's buffer stayed full for --patience"),
            (outlet.unlisted, "samples of securities without topic: name them with --securities"),
            (outlet.stalls, "writes had to wait for a slow subscriber"),
        ];
        for (count, text) in remarks {
            if count > 0 {
                writeln!(out, "{count} {text}")?;
            }
        }
        for name in self.failed() {
            writeln!(
                out,
                "{name} rejected a sample: its subscribers have the samples before it and received Stopped."
            )?;
        }
        if !self.is_acknowledged {
            writeln!(out, "Not all subscribers acknowledged everything within --patience.")?;
        }
        if self.ended.end == FeedEnd::Stopped {
            writeln!(out, "Stopped before the end.")?;
        }
        Ok(())
    }

    fn write_missing_echoes(&self, out: &mut impl Write) -> Result<(), Failure> {
        let EchoSummary { missing: at_least, is_exact, .. } = self.echoed();
        if !is_exact {
            writeln!(
                out,
                "The number of missing echoes is unknown, {at_least} or more: subscribers were not waited for \
                 (--subscribers), or came later."
            )?;
        } else if at_least > 0 {
            writeln!(out, "{at_least} echoes are missing")?;
        }
        if at_least > 0 {
            writeln!(
                out,
                "Echoes are missing if a subscriber loses or skips samples or ends early, or if they are lost on the \
                 way back."
            )?;
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let (feed, outlet) = (self.publishing.counters(), self.outlet());
        let handler = self.handler.counters();
        let arbiter = self.handler.arbiter();
        let echoed = self.echoed();
        let lines: Vec<Value> = Line::ALL
            .into_iter()
            .map(|line| {
                let input = handler.lines[line.index()];
                let counters = arbiter.line_counters(line);
                json!({
                    "line": format!("{line:?}"),
                    "packets": input.packets,
                    "bytes": input.bytes,
                    "malformed": input.malformed,
                    "no_seq_num": input.no_seq_num,
                    "first": counters.first,
                    "duplicate": counters.duplicate,
                    "replacement": counters.replacement,
                    "late": counters.late,
                    "lost": counters.lost,
                    "unexpected": counters.unexpected,
                    "old_epoch": counters.old_epoch,
                    "excluded": counters.excluded,
                    "differing": counters.differing,
                })
            })
            .collect();
        json!({
            "ended": match self.ended.end {
                FeedEnd::Done => "done",
                FeedEnd::File => "end of file",
                FeedEnd::Stopped => "stopped",
            },
            "seconds": self.elapsed.as_secs_f64(),
            "messages": feed.messages,
            "first_seq_num": feed.first_seq_num,
            "published": outlet.written(),
            "samples": counts_json(self.sets, &outlet.written),
            "gaps": feed.gaps,
            "dropped_by_kernel": self.ended.dropped_by_kernel,
            "too_long": self.ended.too_long,
            "faults": feed.faults,
            "refused": feed.refused,
            "passed_over": feed.passed_over,
            "dropped": outlet.dropped,
            "unlisted": outlet.unlisted,
            "stalls": outlet.stalls,
            "stalled_ms": outlet.stalled_ns as f64 / 1e6,
            "echoes": (!self.echoes.is_empty()).then_some(echoed.received),
            "echoes_missing": (echoed.is_exact && !self.echoes.is_empty()).then_some(echoed.missing),
            "echoes_missing_at_least": echoed.missing,
            "transports": self.transports_json(),
            "acknowledged": self.is_acknowledged,
            "lines": lines,
            "latencies": rows_json(&self.rows()),
        })
    }
}
