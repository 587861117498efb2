//! Metrics as Prometheus text, and administration, over one HTTP server.
//!
//! [`metrics::Metrics`] holds counters and histograms. [`http::HttpServer`] serves them, and the
//! administration routes, on a thread of its own. The feature `feed` adds the counters of feed
//! handlers and their sockets to `metrics`.

pub mod http;
pub mod metrics;
