//! Shows feeds and sessions of a running process live: in a browser, in a terminal or to another program.
//!
//! The thread of a handler owns a [`Tap`] for each channel. Ten times a second the thread publishes its counters, and the
//! events since the last publication, through a bounded queue, and it never waits. The [`Monitor`] reads the queue on a
//! thread of its own, keeps an hour of history, and serves JSON, a stream of events and the page that shows them
//! ([`Monitor::routes`]). It reads books from the handler's [board](tickwire_feed::board) without stopping the handler,
//! and only once a client looks at them. A client that reads slowly misses states: after the events that its connection has
//! buffered (some 20 KB beside the client's own buffers), it gets the newest state. No thread waits for a client.
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

mod activity;
mod assets;
mod books;
mod bus;
mod channel;
mod client;
mod compression;
mod errors;
mod explaining;
mod fix;
mod fleet;
mod frames;
mod gaps;
mod guard;
mod history;
mod kept;
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
mod sent_history;
mod spans;
mod staleness;
pub mod state;
mod stream;
mod summary;
mod tap;
mod unbuffered;
mod wishes;
mod words;
mod workshop;

pub use activity::{BusSecond, SessionSecond, TopicSecond};
/// Router of the routes that a program adds to the monitor's own.
pub use axum::Router;
pub use books::{BestState, BookList, BookState, LevelState, TradeState};
pub use bus::{
    BusDescription, BusFacts, BusRole, BusState, BusTap, PublisherState, TopicFacts, TopicState,
};
pub use channel::{ChannelDescription, LineDescription, MessageTimes};
pub use client::{MonitorTarget, Unanswered};
pub use explaining::{Explanation, ExplanationSettings};
pub use fleet::{FleetProcess, fleet_routes, read_fleet};
pub use history::SECONDS_MAX;
pub use latency::BOUNDS_NS;
pub use monitor::{Monitor, MonitorBuilder, Panel};
pub use packets::PacketSummary;
pub use published::{EventCounts, Facts, SocketFacts};
pub use rates::Rates;
pub use routes::endpoints;
pub use sender::{SenderState, SenderTap, SentFacts, SentState};
pub use sent_history::{SentLineSecond, SentSecond};
pub use tap::{PUBLISH_NS, Tap};

use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::FeedLine;

/// Returns feed and letter of a line, as the labels of metrics have them.
pub(crate) const fn line_names(source: FeedLine) -> (&'static str, &'static str) {
    let (feed, line) = match source {
        FeedLine::Definitions(line) => ("definitions", line),
        FeedLine::Incremental(line) => ("incremental", line),
        FeedLine::Snapshot(line) => ("snapshot", line),
    };
    (feed, if matches!(line, Line::A) { "a" } else { "b" })
}
