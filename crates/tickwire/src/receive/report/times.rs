//! Times in microseconds.

use serde_json::{Value, json};
use tickwire_net::histogram::LatencySummary;

/// The cells of a row of times.
pub fn time_cells(name: &str, summary: &LatencySummary) -> Vec<String> {
    let micros = |ns: f64| format!("{:.2}", ns / 1e3);
    vec![
        name.to_owned(),
        summary.count.to_string(),
        micros(summary.mean_ns),
        micros(summary.stdev_ns),
        micros(summary.p50_ns as f64),
        micros(summary.p99_ns as f64),
        micros(summary.p999_ns as f64),
        micros(summary.max_ns as f64),
    ]
}

/// Times as JSON.
pub fn time_json(summary: &LatencySummary) -> Value {
    json!({
        "count": summary.count,
        "mean": summary.mean_ns / 1e3,
        "stdev": summary.stdev_ns / 1e3,
        "p50": summary.p50_ns as f64 / 1e3,
        "p99": summary.p99_ns as f64 / 1e3,
        "p99.9": summary.p999_ns as f64 / 1e3,
        "max": summary.max_ns as f64 / 1e3,
    })
}
