//! Distributions of times by name, as a table and as JSON.

use crate::table::{Align, TextTable};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tickwire_net::histogram::{LatencySummary, latency, record};
use tickwire_telemetry::metrics::{Distribution, Metrics};

/// Distributions of times, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Latencies {
    rows: Vec<(String, Histogram<u64>)>,
}

impl Latencies {
    /// Adds an empty distribution and returns its index.
    pub fn add(&mut self, name: impl Into<String>) -> usize {
        self.rows.push((name.into(), latency()));
        self.rows.len() - 1
    }

    /// Counts a time in nanoseconds.
    ///
    /// # Panics
    /// If `index` is not one that [`add`](Self::add) returned.
    #[inline]
    pub fn record(&mut self, index: usize, time_ns: u64) {
        record(&mut self.rows[index].1, time_ns);
    }

    /// All distributions by name, including empty ones.
    fn all(&self) -> impl Iterator<Item = (&str, &Histogram<u64>)> {
        self.rows.iter().map(|(name, histogram)| (name.as_str(), histogram))
    }

    /// The rows of the distributions that are not empty.
    pub fn rows(&self) -> Vec<LatencyRow> {
        let filled = self.rows.iter().filter(|(_, histogram)| !histogram.is_empty());
        filled
            .map(|(name, histogram)| LatencyRow { name: name.clone(), summary: histogram.into() })
            .collect()
    }
}

/// Distributions of times as metrics: one metric name, with one label value per row.
pub struct DistributionMetrics {
    metrics: Metrics,
    name: String,
}

impl DistributionMetrics {
    /// Metrics called `tickwire_<part>_time_seconds`.
    pub fn new(metrics: &Metrics, part: &str) -> Self {
        Self { metrics: metrics.clone(), name: format!("{part}_time") }
    }

    /// Returns the distribution of a row.
    pub fn of(&self, row: &str) -> Distribution {
        self.metrics.distribution(&self.name, "Time taken", &[("what", row)])
    }

    /// Publishes all times recorded so far.
    pub fn publish(&self, latencies: &Latencies) {
        for (row, histogram) in latencies.all() {
            self.of(row).publish(histogram);
        }
    }
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyRow {
    /// Name of the measured time.
    pub name: String,
    /// Its distribution.
    pub summary: LatencySummary,
}

impl LatencyRow {
    /// The row as JSON, in microseconds.
    pub fn to_json(&self) -> Value {
        let LatencySummary { count, mean_ns, stdev_ns, p50_ns, p99_ns, p999_ns, max_ns } =
            self.summary;
        let us = |ns: u64| ns as f64 / 1e3;
        json!({
            "name": self.name,
            "count": count,
            "mean_us": mean_ns / 1e3,
            "stdev_us": stdev_ns / 1e3,
            "p50_us": us(p50_ns),
            "p99_us": us(p99_ns),
            "p999_us": us(p999_ns),
            "max_us": us(max_ns),
        })
    }

    /// Parses a row that [`to_json`](Self::to_json) made; `None` if the JSON is something else.
    pub fn from_json(json: &Value) -> Option<Self> {
        let ns = |name: &str| json[name].as_f64().map(|us| us * 1e3);
        let whole = |name: &str| ns(name).map(|ns| ns.round() as u64);
        Some(Self {
            name: json["name"].as_str()?.to_owned(),
            summary: LatencySummary {
                count: json["count"].as_u64()?,
                mean_ns: ns("mean_us")?,
                stdev_ns: ns("stdev_us")?,
                p50_ns: whole("p50_us")?,
                p99_ns: whole("p99_us")?,
                p999_ns: whole("p999_us")?,
                max_ns: whole("max_us")?,
            },
        })
    }
}

/// Rows as JSON.
pub fn rows_json(rows: &[LatencyRow]) -> Value {
    rows.iter().map(LatencyRow::to_json).collect()
}

/// Rows as a table, in microseconds.
pub fn table_of(rows: &[LatencyRow]) -> TextTable {
    let right = ["count", "mean", "std dev", "p50", "p99", "p99.9", "max"];
    let columns = right.map(|name| (name, Align::Right));
    let mut table = TextTable::new(&[&[("microseconds", Align::Left)][..], &columns].concat());
    for LatencyRow { name, summary } in rows {
        table.row(vec![
            name.clone(),
            summary.count.to_string(),
            us(summary.mean_ns),
            us(summary.stdev_ns),
            us(summary.p50_ns as f64),
            us(summary.p99_ns as f64),
            us(summary.p999_ns as f64),
            us(summary.max_ns as f64),
        ]);
    }
    table
}

/// Returns a table that compares variants, in microseconds. Each variant has its own columns of quantiles; a row
/// that it lacks has `-` in them.
pub fn side_by_side(variants: &[(&str, Vec<LatencyRow>)]) -> TextTable {
    let quantiles = ["p50", "p99", "p99.9"];
    let headings: Vec<String> = variants
        .iter()
        .flat_map(|(variant, _)| quantiles.map(|quantile| format!("{variant} {quantile}")))
        .collect();
    let mut columns = vec![("microseconds", Align::Left)];
    columns.extend(headings.iter().map(|heading| (heading.as_str(), Align::Right)));
    let mut table = TextTable::new(&columns);
    let mut names: Vec<&str> = Vec::new();
    for row in variants.iter().flat_map(|(_, rows)| rows) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    for name in names {
        let mut cells = vec![name.to_owned()];
        for (_, rows) in variants {
            match rows.iter().find(|row| row.name == name) {
                Some(LatencyRow {
                    summary: LatencySummary { p50_ns, p99_ns, p999_ns, .. },
                    ..
                }) => {
                    cells.extend([p50_ns, p99_ns, p999_ns].map(|ns| us(*ns as f64)));
                }
                None => cells.extend(quantiles.map(|_| "-".to_owned())),
            }
        }
        table.row(cells);
    }
    table
}

/// Formats nanoseconds as microseconds.
fn us(ns: f64) -> String {
    match ns {
        ns if ns < 99_950.0 => format!("{:.2}", ns / 1e3),
        ns => format!("{:.1}", ns / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_beside_each_other() {
        let row = |name: &str, time_ns| {
            let mut latencies = Latencies::default();
            let index = latencies.add(name);
            latencies.record(index, time_ns);
            latencies.rows().remove(0)
        };
        let variants =
            [("one", vec![row("a", 1_000), row("b", 2_000)]), ("other", vec![row("b", 4_000)])];
        let table = side_by_side(&variants).to_string();
        let words: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0][..3], ["microseconds", "one", "p50"]);
        assert_eq!(words[2], ["a", "1.00", "1.00", "1.00", "-", "-", "-"]);
        assert_eq!(words[3], ["b", "2.00", "2.00", "2.00", "4.00", "4.00", "4.00"]);
    }

    #[test]
    fn rows_survive_json() {
        let mut latencies = Latencies::default();
        let index = latencies.add("decode");
        latencies.add("nothing came of it");
        (1..=1000).for_each(|n| latencies.record(index, n * 100));
        let rows = latencies.rows();
        assert_eq!(rows.len(), 1);
        let read = LatencyRow::from_json(&rows[0].to_json()).unwrap();
        assert_eq!(read.name, "decode");
        assert_eq!((read.summary.count, read.summary.max_ns), (1000, rows[0].summary.max_ns));
        assert_eq!(read.summary.p50_ns, rows[0].summary.p50_ns);
        assert_eq!(LatencyRow::from_json(&Value::Null), None);
    }
}
