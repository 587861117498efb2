//! Counters and distributions of a running process, in the text format of Prometheus.
//!
//! [`Metrics`] holds metrics by name and labels; names have the form `tickwire_<part>_<what>_<unit>`. A thread on a hot
//! path counts in integers and histograms of its own and publishes them from time to time: it sets a [`Counter`] and
//! copies to a [`Distribution`]. [`Metrics::serve`] serves the text over HTTP. With the feature `feed`, `FeedMetrics`
//! publishes the counts of a feed handler and its sockets.

mod distribution;
mod exporter;
#[cfg(feature = "feed")]
mod feed;
#[cfg(feature = "feed")]
mod names;

pub use distribution::Distribution;
#[cfg(feature = "feed")]
pub use feed::{ArbitrationMetrics, FeedCounts, FeedMetrics, LoopMetrics, ReplayMetrics};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge;
use prometheus_client::registry::{Registry, Unit};

use tickwire_host::process;

use crate::http::unauthorized_requests;

/// Labels and their values.
type Labels = Vec<(String, String)>;
type CounterFamily = Family<Labels, counter::Counter<u64, AtomicU64>>;
type Gauges = Family<Labels, gauge::Gauge<i64, AtomicI64>>;
type Seconds = Family<Labels, gauge::Gauge<f64, AtomicU64>>;
type Distributions = Family<Labels, Distribution>;

/// A count that only rises.
#[derive(Clone, Debug)]
pub struct Counter(counter::Counter<u64, AtomicU64>);

impl Counter {
    /// Sets the total count.
    pub fn set(&self, count: u64) {
        self.0.inner().store(count, Ordering::Relaxed);
    }

    /// Adds to the count. Only for threads off the hot path.
    pub fn add(&self, more: u64) {
        self.0.inc_by(more);
    }
}

/// A number that can rise and fall.
#[derive(Clone, Debug)]
pub struct Gauge(gauge::Gauge<i64, AtomicI64>);

impl Gauge {
    /// Sets the number.
    pub fn set(&self, number: u64) {
        self.0.set(i64::try_from(number).unwrap_or(i64::MAX));
    }
}

/// A time that can rise and fall.
#[derive(Clone, Debug)]
pub struct SecondsGauge(gauge::Gauge<f64, AtomicU64>);

impl SecondsGauge {
    /// Sets the time in nanoseconds.
    pub fn set_ns(&self, ns: u64) {
        self.0.set(ns as f64 / 1e9);
    }
}

/// Metrics by name. Clones refer to the same set.
#[derive(Clone, Default)]
pub struct Metrics {
    inner: Arc<Mutex<MetricsState>>,
}

struct MetricsState {
    registry: Registry,
    counters: BTreeMap<String, CounterFamily>,
    gauges: BTreeMap<String, Gauges>,
    seconds: BTreeMap<String, Seconds>,
    distributions: BTreeMap<String, Distributions>,
    memory: gauge::Gauge<i64, AtomicI64>,
    unauthorized: Counter,
}

impl Default for MetricsState {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("tickwire");
        let memory = gauge::Gauge::default();
        let help = "Resident memory of the process";
        registry.register_with_unit("process_resident_memory", help, Unit::Bytes, memory.clone());
        let unauthorized = counter::Counter::<u64, AtomicU64>::default();
        let help = "Requests to the HTTP servers of the process without the right token";
        registry.register("http_unauthorized_requests", help, unauthorized.clone());
        Self {
            registry,
            counters: BTreeMap::new(),
            gauges: BTreeMap::new(),
            seconds: BTreeMap::new(),
            distributions: BTreeMap::new(),
            memory,
            unauthorized: Counter(unauthorized),
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Creates a set with the metrics that every process has: its memory, and HTTP requests without the right token.
    pub fn new() -> Self {
        Self::default()
    }

    /// Locks the set. No operation fails half-way while it holds the lock, so the set is consistent even if the lock is
    /// poisoned.
    fn lock(&self) -> MutexGuard<'_, MetricsState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the counter `tickwire_<name>_total` with these labels; the same name and labels return the same counter.
    /// `name` consists of part, what and unit, such as `feed_received_packets`. The `help` of the first call applies.
    pub fn counter(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> Counter {
        let MetricsState { registry, counters, .. } = &mut *self.lock();
        let family = counters.entry(name.to_owned()).or_insert_with(|| {
            let family = CounterFamily::default();
            registry.register(name, help, family.clone());
            family
        });
        Counter(family.get_or_create(&owned(labels)).clone())
    }

    /// Returns the gauge `tickwire_<name>` with these labels.
    pub fn gauge(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> Gauge {
        let MetricsState { registry, gauges, .. } = &mut *self.lock();
        let family = gauges.entry(name.to_owned()).or_insert_with(|| {
            let family = Gauges::default();
            registry.register(name, help, family.clone());
            family
        });
        Gauge(family.get_or_create(&owned(labels)).clone())
    }

    /// Returns the gauge `tickwire_<name>_seconds` with these labels.
    pub fn seconds(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> SecondsGauge {
        let MetricsState { registry, seconds, .. } = &mut *self.lock();
        let family = seconds.entry(name.to_owned()).or_insert_with(|| {
            let family = Seconds::default();
            registry.register_with_unit(name, help, Unit::Seconds, family.clone());
            family
        });
        SecondsGauge(family.get_or_create(&owned(labels)).clone())
    }

    /// Returns the distribution `tickwire_<name>_seconds` with these labels.
    pub fn distribution(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> Distribution {
        let MetricsState { registry, distributions, .. } = &mut *self.lock();
        let family = distributions.entry(name.to_owned()).or_insert_with(|| {
            let family = Distributions::default();
            registry.register_with_unit(name, help, Unit::Seconds, family.clone());
            family
        });
        family.get_or_create(&owned(labels)).clone()
    }

    /// Returns all metrics as text in the OpenMetrics format.
    pub fn encode(&self) -> String {
        let inner = self.lock();
        let memory = process::resident_bytes().and_then(|bytes| i64::try_from(bytes).ok());
        inner.memory.set(memory.unwrap_or(0));
        inner.unauthorized.set(unauthorized_requests());
        let mut text = String::new();
        match text::encode(&mut text, &inner.registry) {
            Ok(()) => text,
            Err(fmt::Error) => unreachable!("writing to a string does not fail"),
        }
    }
}

fn owned(labels: &[(&str, &str)]) -> Labels {
    labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_host::histogram;

    #[test]
    fn counters_have_one_heading_and_a_line_for_each_label() {
        let metrics = Metrics::new();
        let name = "feed_received_packets";
        metrics.counter(name, "Packets received", &[("line", "a")]).set(7);
        metrics.counter(name, "Packets received", &[("line", "b")]).add(2);
        metrics.counter(name, "Packets received", &[("line", "b")]).add(1);
        let text = metrics.encode();
        assert_eq!(text.matches("# TYPE tickwire_feed_received_packets counter").count(), 1);
        assert!(text.contains("tickwire_feed_received_packets_total{line=\"a\"} 7\n"), "{text}");
        assert!(text.contains("tickwire_feed_received_packets_total{line=\"b\"} 3\n"), "{text}");
    }

    #[test]
    fn times_are_told_in_seconds() {
        let metrics = Metrics::new();
        let mut times = histogram::latency();
        for time_ns in [300, 900, 4_000, 2_000_000_000] {
            histogram::record(&mut times, time_ns);
        }
        let distribution = metrics.distribution("decode_time", "Time to decode", &[]);
        distribution.publish(&times);
        distribution.publish(&times);
        let text = metrics.encode();
        assert!(text.contains("# UNIT tickwire_decode_time_seconds seconds\n"), "{text}");
        assert!(text.contains("tickwire_decode_time_seconds_count{} 4\n"), "{text}");
        for (bound, count) in [("5e-7", 1), ("0.000001", 2), ("1.0", 3), ("+Inf", 4)] {
            let line = format!("tickwire_decode_time_seconds_bucket{{le=\"{bound}\"}} {count}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
    }

    #[test]
    fn memory_and_gauges_are_there() {
        let metrics = Metrics::new();
        metrics.gauge("feed_held_packets", "Packets held", &[]).set(5);
        metrics.seconds("feed_line_age", "Age", &[("line", "a")]).set_ns(1_500_000_000);
        let text = metrics.encode();
        assert!(text.contains("tickwire_feed_held_packets{} 5\n"), "{text}");
        assert!(text.contains("tickwire_feed_line_age_seconds{line=\"a\"} 1.5\n"), "{text}");
        let memory =
            text.lines().find(|line| line.starts_with("tickwire_process_resident_memory_bytes "));
        let bytes: u64 = memory.unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        assert!(bytes > 1 << 20);
    }
}
