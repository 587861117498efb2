//! Results of the live part.

use super::TRANSPORTS;
use crate::distribution::{LatencyRow, rows_json, side_by_side, table_of};
use serde_json::{Value, json};
use std::fmt;
use tickwire_host::idle_setting;

/// The reports of one feed's processes; null for a process that wrote none.
#[derive(Debug)]
pub struct FeedReports {
    /// Name of the feed.
    pub name: &'static str,
    /// The transport that carried the samples.
    pub transport: &'static str,
    /// Messages that the exchange generated, including Done.
    pub generated: u64,
    /// Report of the multicaster.
    pub sent: Value,
    /// Report of the publisher.
    pub published: Value,
    /// Report of the subscriber.
    pub received: Value,
}

/// The counters of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunCounters {
    /// Messages that the publisher decoded.
    pub messages: u64,
    /// Samples that the publisher wrote.
    pub published: u64,
    /// Distinct samples that the subscriber took.
    pub received: u64,
    /// Samples written but not taken.
    pub lost: u64,
    /// Samples that the subscriber received again.
    pub duplicates: u64,
    /// Sequence numbers that arrived on neither line.
    pub gaps: u64,
    /// Packets that each line lost on purpose.
    pub lines_lost: [u64; 2],
}

impl FeedReports {
    /// The counters.
    pub fn counters(&self) -> RunCounters {
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let published = number(&self.published["published"]);
        let duplicates = number(&self.received["duplicates"]);
        let received = number(&self.received["received"]).saturating_sub(duplicates);
        RunCounters {
            messages: number(&self.published["messages"]),
            published,
            received,
            lost: published.saturating_sub(received),
            duplicates,
            gaps: number(&self.published["gaps"]),
            lines_lost: [0, 1].map(|line| number(&self.sent["lines"][line]["lost"])),
        }
    }

    /// The rows of the table, named by feed.
    fn rows(&self) -> Vec<LatencyRow> {
        let of = |report: &Value| -> Vec<LatencyRow> {
            let rows = report["latencies"].as_array();
            rows.into_iter().flatten().filter_map(LatencyRow::from_json).collect()
        };
        let named =
            |row: LatencyRow| LatencyRow { name: format!("{} {}", self.name, row.name), ..row };
        of(&self.published).into_iter().chain(of(&self.received)).map(named).collect()
    }

    fn to_json(&self) -> Value {
        let RunCounters { messages, published, received, lost, duplicates, gaps, .. } =
            self.counters();
        json!({
            "feed": self.name,
            "transport": self.transport,
            "counters": {
                "generated": self.generated,
                "messages": messages,
                "published": published,
                "received": received,
                "lost": lost,
                "duplicates": duplicates,
                "gaps": gaps,
            },
            "multicaster": self.sent,
            "publisher": self.published,
            "subscriber": self.received,
        })
    }
}

/// Results of all feeds.
#[derive(Debug, Default)]
pub struct LiveResults {
    /// Feeds, in order.
    pub runs: Vec<FeedReports>,
    /// Results for plain UDP datagrams.
    pub plain_udp: Vec<LatencyRow>,
}

impl LiveResults {
    /// True if samples were lost between publisher and subscriber.
    pub fn is_flawed(&self) -> bool {
        self.runs.iter().any(|run| {
            let counters = run.counters();
            counters.lost > 0 || counters.duplicates > 0
        })
    }

    /// Counters and times as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "feeds": self.runs.iter().map(FeedReports::to_json).collect::<Vec<_>>(),
            "plain_udp": rows_json(&self.plain_udp),
            "idle_setting": idle_setting(),
        })
    }
}

impl fmt::Display for LiveResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows_over = |transport: &&'static str| {
            let runs = self.runs.iter().filter(|run| run.transport == *transport);
            (*transport, runs.flat_map(FeedReports::rows).collect())
        };
        let variants: Vec<_> = TRANSPORTS.iter().map(rows_over).collect();
        writeln!(f, "{}", side_by_side(&variants))?;
        writeln!(f, "{}", table_of(&self.plain_udp))?;
        writeln!(
            f,
            "All threads block, so the times depend on how the CPUs idle: {}.",
            idle_setting()
        )?;
        writeln!(f)?;
        for run in &self.runs {
            let RunCounters { messages, published, received, lost, duplicates, gaps, lines_lost } =
                run.counters();
            let [a, b] = lines_lost;
            writeln!(
                f,
                "{} {}: line A lost {a} packets, B {b}; {gaps} messages lost on both; {messages} decoded,",
                run.name, run.transport
            )?;
            writeln!(
                f,
                "  {published} samples published, {received} received, {lost} lost, {duplicates} duplicates"
            )?;
        }
        if self.runs.iter().any(|run| run.counters().lost > 0) {
            writeln!(
                f,
                "\nSamples are lost if the subscriber cannot run while the publisher fills its buffer: \
                 try again without other work on the CPUs, or with a lower --rate."
            )?;
        }
        Ok(())
    }
}
