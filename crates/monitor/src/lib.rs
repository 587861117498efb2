//! See feeds and sessions live: what a browser, a terminal or another program is told of a running process.
//!
//! A handler's thread owns a [`Tap`] for each channel and publishes its counters ten times a second, with what happened
//! in between, through a bounded queue that it never waits for. The [`Monitor`] takes them on a thread of its own, keeps an
//! hour of history and serves JSON, a stream of events and the page that shows them ([`Monitor::routes`]). Books are
//! read from the handler's [board](tickwire_feed::board) without stopping it, and only once somebody looks. A client that
//! reads slowly is given the newest state when it is ready for more; nobody waits for it.
//!
//! The API is described by `openapi.json` beside this crate's sources, served at `/api/v1/openapi.json`.
//!
//! # Examples
//!
//! ```
//! use tickwire_monitor::{MonitorBuilder, Router};
//! use tickwire_telemetry::http::HttpServer;
//!
//! // A channel of a handler is added by `MonitorBuilder::add_channel`.
//! let monitor = MonitorBuilder::new("my-handler", "1.0").start()?;
//! assert_eq!(monitor.state().process.command, "my-handler");
//!
//! // The page and the API, at any free port of the loopback interface.
//! let server = HttpServer::serve("0".parse()?, monitor.routes(None, Router::new()))?;
//! println!("http://{}/", server.address());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assets;
mod books;
mod bus;
mod channel;
mod client;
mod explaining;
mod fleet;
mod gaps;
mod guard;
mod history;
mod latency;
mod monitor;
mod packets;
mod pasted;
mod published;
mod rates;
mod recent;
mod requests;
mod routes;
mod sender;
pub mod state;
mod stream;
mod tap;
mod wishes;
mod workshop;

/// Routes beside the monitor's own.
pub use axum::Router;
pub use books::{BestState, BookList, BookState, LevelState, TradeState};
pub use bus::{
    BusDescription, BusFacts, BusRole, BusState, BusTap, PublisherState, TopicFacts, TopicState,
};
pub use channel::{ChannelDescription, LineDescription, MessageTimes};
pub use client::{MonitorTarget, Unanswered};
pub use explaining::{Explaining, Explanation};
pub use fleet::{FleetProcess, fleet_routes, read_fleet};
pub use history::SECONDS_MAX;
pub use latency::BOUNDS_NS;
pub use monitor::{Monitor, MonitorBuilder, Panel};
pub use packets::PacketSummary;
pub use published::{EventCounts, Facts, SocketFacts};
pub use rates::Rates;
pub use routes::endpoints;
pub use sender::{SenderState, SenderTap, SentFacts, SentState};
pub use tap::{PUBLISH_NS, Tap};

use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::Source;

/// Feed and letter of a line, as metrics label it.
pub(crate) const fn line_names(source: Source) -> (&'static str, &'static str) {
    let (feed, line) = match source {
        Source::Definitions(line) => ("definitions", line),
        Source::Incremental(line) => ("incremental", line),
        Source::Snapshot(line) => ("snapshot", line),
    };
    (feed, if matches!(line, Line::A) { "a" } else { "b" })
}
