//! What a subscriber received, as a table and as JSON.

use super::ledger::{Ledger, Received};
use crate::distribution::{Latencies, Row, Stations, rows_json, table_of, write_json};
use crate::failure::Failure;
use crate::files;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// What a subscriber received.
pub struct Report {
    publishers: Vec<Received>,
    rows: Vec<Row>,
    elapsed: Duration,
    lost_on_the_way: u64,
    not_utf8: u64,
    echoes_refused: u64,
    is_stopped: bool,
}

impl Report {
    /// What has come by now; `elapsed` is the time from the first sample to the last.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn of(
        ledger: &Ledger,
        stations: &Stations,
        latencies: &Latencies,
        elapsed: Duration,
        is_stopped: bool,
    ) -> Result<Self, tickwire_dds::Error> {
        Ok(Self {
            publishers: ledger.publishers().copied().collect(),
            rows: latencies.rows(),
            elapsed,
            lost_on_the_way: stations.lost()?,
            not_utf8: stations.not_utf8(),
            echoes_refused: stations.echoes_refused(),
            is_stopped,
        })
    }

    fn received(&self) -> u64 {
        self.publishers.iter().map(|one| one.samples.sum()).sum()
    }

    fn duplicates(&self) -> u64 {
        self.publishers.iter().map(|one| one.duplicates).sum()
    }

    fn lost(&self) -> Option<u64> {
        let mut known = self.publishers.iter().filter_map(Received::lost).peekable();
        known.peek().is_some().then(|| known.sum())
    }

    /// Whether there is something to object to.
    pub fn is_flawed(&self) -> bool {
        self.lost().is_some_and(|lost| lost > 0) || self.not_utf8 > 0
    }

    /// Writes the table to standard output, and JSON to the file if one is named; JSON alone if that is
    /// standard output too.
    pub fn write(&self, json: Option<&Path>) -> Result<(), Failure> {
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
        let publishers = match self.publishers.len() {
            1 => "1 publisher".to_owned(),
            count => format!("{count} publishers"),
        };
        writeln!(out, "{received} samples of {publishers} in {seconds:.3} s")?;
        match self.lost() {
            Some(0) => writeln!(out, "Nothing was lost.")?,
            Some(lost) => writeln!(out, "{lost} samples were written and did not come")?,
            None => writeln!(out, "No publisher has said that its feed is done.")?,
        }
        let remarks = [
            (self.duplicates(), "samples came again or out of order"),
            (self.not_utf8, "samples dropped: a string in them is not UTF-8"),
            (self.echoes_refused, "echoes given up: the publisher made no room"),
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

    fn to_json(&self) -> Value {
        let publishers: Vec<Value> = self
            .publishers
            .iter()
            .map(|one| {
                json!({
                    "received": one.samples.sum(),
                    "samples": one.samples.to_json(),
                    "duplicates": one.duplicates,
                    "written": one.written,
                    "lost": one.lost(),
                })
            })
            .collect();
        json!({
            "received": self.received(),
            "duplicates": self.duplicates(),
            "lost": self.lost(),
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
