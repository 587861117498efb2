//! Server-Sent Events: the newest state whenever the client is ready for more.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::monitor::Shared;

/// Least time between two events.
const SPACING: Duration = Duration::from_millis(80);
/// How long a stream lasts. The client then asks again, so that the server's bound on connections holds.
const LASTS: Duration = Duration::from_secs(45);
/// What a client is to wait before it asks again.
const RETRY: &str = "retry: 250\n\n";

struct Streaming<F> {
    shared: Arc<Shared>,
    changes: watch::Receiver<u64>,
    tell: F,
    /// The data of the last event.
    sent: Option<Arc<str>>,
    last: Option<Instant>,
    ends: Instant,
}

/// Streams what `tell` says, as events named `name`: once at the start, then after each change of the state. The body is
/// asked for more only when the connection has taken what was there, so that a client that reads slowly misses states and never
/// gets old ones.
pub(crate) fn stream<F>(shared: Arc<Shared>, name: &'static str, tell: F) -> Response
where
    F: Fn(&Shared) -> Option<Arc<str>> + Send + 'static,
{
    let changes = shared.version.subscribe();
    let ends = Instant::now() + LASTS;
    let streaming = Streaming { shared, changes, tell, sent: None, last: None, ends };
    let events = stream::unfold(streaming, move |mut streaming| async move {
        let first = streaming.last.is_none();
        let data = loop {
            if let Some(last) = streaming.last {
                sleep_until(last + SPACING).await;
                let changed = timeout_at(streaming.ends, streaming.changes.changed()).await;
                // Over time, or the monitor has ended.
                changed.ok()?.ok()?;
            }
            streaming.changes.borrow_and_update();
            streaming.last = Some(Instant::now());
            let data = (streaming.tell)(&streaming.shared)?;
            // A change between the two lines above has been told already.
            if streaming.sent.as_ref() != Some(&data) {
                break data;
            }
        };
        streaming.sent = Some(data.clone());
        let retry = if first { RETRY } else { "" };
        let event = format!("{retry}event: {name}\ndata: {data}\n\n");
        Some((Ok::<_, Infallible>(event), streaming))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(events)).into_response()
}
