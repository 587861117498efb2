//! Server-Sent Events: sends the newest state whenever the client is ready for more.

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
/// Duration of a stream. The client then connects again, so that the server can limit its connections.
const LASTS: Duration = Duration::from_secs(45);
/// Time that a client must wait before it connects again: 250 ms.
const RETRY: &str = "retry: 250\n\n";

struct Streaming<F> {
    shared: Arc<Shared>,
    changes: watch::Receiver<u64>,
    tell: F,
    /// Data of the last event.
    sent: Option<Arc<str>>,
    last: Option<Instant>,
    ends: Instant,
}

/// Streams the results of `tell` as events named `name`: one at the start, then one after each change of the state. The
/// connection asks the body for more only once it has taken the last event. A client that reads slowly therefore misses
/// states and never gets old ones.
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
                // The stream has lasted long enough, or the monitor has ended.
                changed.ok()?.ok()?;
            }
            streaming.changes.borrow_and_update();
            streaming.last = Some(Instant::now());
            let data = (streaming.tell)(&streaming.shared)?;
            // If the state changed between `borrow_and_update` and `tell`, this data was already sent.
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
