//! What a running process tells: metrics as Prometheus text, and administration, over one HTTP server.
//!
//! [`metrics::Metrics`] holds counters and distributions; [`http::HttpServer`] serves them, and the routes
//! of administration, on a thread of its own. Counters of feed handlers and their sockets are in
//! `metrics` with the feature `feed`.

pub mod http;
pub mod metrics;
