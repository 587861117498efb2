//! One HTTP server for metrics (as Prometheus text) and administration.
//!
//! [`metrics::Metrics`] holds counters and histograms. [`http::HttpServer`] serves them, and the routes of
//! administration, on a thread of its own. [`spans`] passes operations that have ended to a tracing system. The feature
//! `feed` adds the counters of feed handlers and their sockets to `metrics`; the feature `otlp` adds the export of spans to
//! an OpenTelemetry collector.
//!
//! # Examples
//!
//! ```
//! use tickwire_telemetry::metrics::Metrics;
//!
//! let metrics = Metrics::new();
//! let orders = metrics.counter("orders", "Orders sent", &[("venue", "XYZ")]);
//! orders.set(7);
//! assert!(metrics.encode().contains("tickwire_orders_total{venue=\"XYZ\"} 7"));
//!
//! // For Prometheus, at any free port of the loopback interface, until it is dropped.
//! let server = metrics.serve("0".parse()?)?;
//! println!("http://{}/metrics", server.address());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | what it is |
//! |---|---|
//! | `feed` | Counters of feed handlers and their sockets. |
//! | `otlp` | Export of spans to an OpenTelemetry collector. |

pub mod http;
pub mod metrics;
pub mod spans;

/// Commit of the sources: the environment variable `TICKWIRE_COMMIT` of the build, as in the archives of a release; otherwise
/// `unknown`.
pub const COMMIT: &str = match option_env!("TICKWIRE_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};
