//! Report of a subscriber, as a table and as JSON. An unknown number of lost samples is `null`.

use crate::console::tell;
use crate::distribution::{Latencies, LatencyRow, counts_json, rows_json, table_of, write_json};
use crate::failure::Failure;
use crate::files;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use tickwire_distribution::{
    FromPublisher, Participant, PublisherStatus, SampleLedger, Stations, TopicSet,
};
use tickwire_feed::counted;

/// Counters of a subscriber.
pub struct SubscribeReport {
    sets: Vec<TopicSet>,
    publishers: Vec<FromPublisher>,
    rows: Vec<LatencyRow>,
    elapsed: Duration,
    lost_on_the_way: u64,
    not_utf8: u64,
    echoes_refused: u64,
    is_stopped: bool,
    /// True if samples are skipped because of `--max-rate`.
    skips: bool,
}

impl SubscribeReport {
    /// Creates a report of the current counts; `elapsed` is the time from the first sample to the last.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn of<P: Participant>(
        sets: &[TopicSet],
        ledger: &SampleLedger,
        stations: &Stations<P>,
        latencies: &Latencies,
        elapsed: Duration,
        is_stopped: bool,
    ) -> Result<Self, P::Error> {
        Ok(Self {
            sets: sets.to_vec(),
            skips: ledger.skips(),
            publishers: ledger.publishers(),
            rows: latencies.rows(),
            elapsed,
            lost_on_the_way: stations.lost()?,
            not_utf8: stations.unreadable(),
            echoes_refused: stations.echoes_refused(),
            is_stopped,
        })
    }

    fn sum(&self, count: impl Fn(&FromPublisher) -> u64) -> u64 {
        self.publishers.iter().map(count).sum()
    }

    fn received(&self) -> u64 {
        self.sum(|received| received.received())
    }

    /// Samples known to be lost.
    fn known_lost(&self) -> u64 {
        if self.skips {
            return 0;
        }
        self.publishers.iter().map(|one| one.lost.unwrap_or(one.holes)).sum()
    }

    /// Number of publishers whose lost samples are unknown.
    fn unknown(&self) -> usize {
        self.publishers.iter().filter(|one| one.lost.is_none()).count()
    }

    fn lost(&self) -> Option<u64> {
        (self.unknown() == 0).then(|| self.known_lost())
    }

    /// True if samples were lost or invalid, or the number lost is unknown.
    pub fn is_flawed(&self) -> bool {
        self.unknown() > 0 || self.known_lost() > 0 || self.not_utf8 > 0
    }

    /// Writes the table to standard output, and JSON to the file if one is named. If JSON goes to standard
    /// output, it is written without the table.
    pub fn write(&self, json: Option<&Path>, is_shown: bool) -> Result<(), Failure> {
        if is_shown {
            let mut table = Vec::new();
            self.write_table(&mut table)?;
            tell!("{}", String::from_utf8_lossy(&table));
            return write_json(&self.to_json(), json);
        }
        write_json(&self.to_json(), json)?;
        if json.is_none_or(|path| !files::is_standard(path)) {
            let mut out = files::create(None)?;
            self.write_table(&mut out)?;
            out.flush()?;
        }
        Ok(())
    }

    fn write_table(&self, out: &mut impl Write) -> Result<(), Failure> {
        write!(out, "{}", table_of(&self.rows))?;
        writeln!(out)?;
        let (received, seconds) = (self.received(), self.elapsed.as_secs_f64());
        let received = counted(received, "sample");
        let publishers = counted(self.sum(|one| one.publishers), "publisher");
        writeln!(out, "{received} of {publishers} in {seconds:.3} s")?;
        match (self.known_lost(), self.unknown()) {
            (0, 0) if self.skips => {
                let skipped = self.sum(|one| one.holes);
                let skipped = counted(skipped, "sample");
                writeln!(out, "Skipped by --max-rate: {skipped} or more.")?;
            }
            (0, 0) if self.publishers.is_empty() => writeln!(out, "There was no publisher.")?,
            (0, 0) => writeln!(out, "Nothing was lost.")?,
            (lost, 0) => writeln!(out, "{} written and not received", counted(lost, "sample"))?,
            (lost, unknown) => writeln!(
                out,
                "The number of lost samples is unknown, {lost} or more: it is unknown how many samples {unknown} of \
                 the publishers wrote after this subscriber matched"
            )?,
        }
        if self.publishers.len() > 1 {
            self.write_publishers(out)?;
        }
        let remarks = [
            (
                self.sum(|one| one.last_values),
                "of them were last values, written before this subscriber matched",
            ),
            (self.sum(|one| one.duplicates), "samples were repeated or out of order"),
            (self.not_utf8, "samples dropped: a string in them is not UTF-8"),
            (self.echoes_refused, "echoes dropped: the publisher made no room"),
        ];
        for (count, text) in remarks {
            if count > 0 {
                writeln!(out, "{count} {text}")?;
            }
        }
        if self.is_stopped {
            writeln!(out, "Stopped before the end.")?;
        }
        Ok(())
    }

    fn write_publishers(&self, out: &mut impl Write) -> Result<(), Failure> {
        let mut number = 0;
        for received in &self.publishers {
            let first = number + 1;
            number += received.publishers;
            let publisher = match number > first {
                true => format!("publishers {first} to {number}"),
                false => format!("publisher {first}"),
            };
            let seq_nums = match received.seq_nums {
                Some((first, last)) => format!("sequence numbers {first} to {last}"),
                None => "only last values".to_owned(),
            };
            let standing = match received.standing {
                PublisherStatus::Present => "did not announce its end".to_owned(),
                PublisherStatus::Done { written } => {
                    format!("done after {}", counted(written, "sample"))
                }
                PublisherStatus::Stopped { written } => {
                    format!("stopped after {}", counted(written, "sample"))
                }
                PublisherStatus::Gone => "disappeared without announcing its end".to_owned(),
            };
            writeln!(out, "  {publisher}: {seq_nums}; {standing}")?;
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let publishers: Vec<Value> = self
            .publishers
            .iter()
            .map(|received| {
                json!({
                    "publishers": received.publishers,
                    "received": received.received(),
                    "samples": counts_json(&self.sets, &received.samples),
                    "last_values": received.last_values,
                    "duplicates": received.duplicates,
                    "first_seq_num": received.seq_nums.map(|(first, _)| first),
                    "last_seq_num": received.seq_nums.map(|(_, last)| last),
                    "ended": match received.standing {
                        PublisherStatus::Present => Value::Null,
                        PublisherStatus::Done { .. } => "done".into(),
                        PublisherStatus::Stopped { .. } => "stopped".into(),
                        PublisherStatus::Gone => "gone".into(),
                    },
                    "written": received.written(),
                    "lost": received.lost,
                })
            })
            .collect();
        json!({
            "received": self.received(),
            "last_values": self.sum(|one| one.last_values),
            "skipped": self.skips.then(|| self.sum(|one| one.holes)),
            "duplicates": self.sum(|one| one.duplicates),
            "lost": self.lost(),
            "lost_at_least": self.known_lost(),
            "lost_on_the_way": self.lost_on_the_way,
            "not_utf8": self.not_utf8,
            "echoes_refused": self.echoes_refused,
            "stopped": self.is_stopped,
            "seconds": self.elapsed.as_secs_f64(),
            "publishers": publishers,
            "latencies": rows_json(&self.rows),
        })
    }
}
