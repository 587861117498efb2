//! Server-Sent Events: the newest state whenever the client is ready for more.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::compression::GzipStream;
use crate::monitor::MonitorShared;
use crate::requests::StreamSubject;
use crate::unbuffered::unbuffered;

/// Least time between two events.
const SPACING: Duration = Duration::from_millis(80);
/// Longest time that a sparing stream waits between two events.
const SPACING_MAX: Duration = Duration::from_secs(1);
/// Bytes per second of a sparing stream, unless one event per [`SPACING_MAX`] has more.
const SPARING_BYTES: u32 = 100_000;
/// Lifetime of a stream. The client then requests a new one, so that the server's limit on connections holds.
const LASTS: Duration = Duration::from_secs(45);
/// Time that a client waits before it reconnects, in milliseconds.
const RETRY: Bytes = Bytes::from_static(b"retry: 250\n\n");

/// Content type of a stream of events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Pace of the events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamPace {
    /// At most one event per [`SPACING`].
    Full,
    /// Events that are large follow more slowly. Their size before compression counts, because the page parses it, and all clients
    /// share the encoded events whether they accept gzip or not.
    Sparing,
}

impl StreamPace {
    /// Returns the least time between an event of so many bytes and the next one.
    fn spacing(self, len: usize) -> Duration {
        match self {
            Self::Full => SPACING,
            Self::Sparing => {
                let taken = Duration::from_secs(len as u64) / SPARING_BYTES;
                taken.clamp(SPACING, SPACING_MAX)
            }
        }
    }
}

struct Streaming {
    shared: Arc<MonitorShared>,
    changes: watch::Receiver<u64>,
    subject: Arc<StreamSubject>,
    /// Number of the last frame that was sent.
    sent: Option<u64>,
    /// Time before which no further event is sent; `None` before the first event.
    next: Option<Instant>,
    ends: Instant,
    /// The compressed stream; `None` for a client that accepts none.
    gzip: Option<GzipStream>,
}

impl Streaming {
    /// Waits for data that were not sent yet, and returns them as an event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(next) = self.next {
                sleep_until(next).await;
                let changed = timeout_at(self.ends, self.changes.changed()).await;
                // The stream's lifetime is over, or the monitor has ended.
                changed.ok()?.ok()?;
            }
            self.changes.borrow_and_update();
            let begun = Instant::now();
            let frame = self.shared.frame(&self.subject)?;
            self.next = Some(begun + frame.pace.spacing(frame.event.len()));
            if self.sent.replace(frame.since) == Some(frame.since) {
                continue;
            }
            let Some(gzip) = &mut self.gzip else { return Some(frame.event) };
            gzip.note(&frame.event);
            return Some(frame.compressed());
        }
    }
}

/// Streams a subject as events: once at the start, then after each change of its data. An event is encoded only when the socket has
/// taken the one before, and socket and TLS hold few bytes that they have not sent (see `HttpServer`). So a client that reads slowly
/// gets what its connection has buffered, then the newest state without those between.
pub(crate) fn stream(
    shared: Arc<MonitorShared>,
    subject: StreamSubject,
    is_gzip: bool,
) -> Response {
    let changes = shared.version.subscribe();
    let ends = Instant::now() + LASTS;
    let subject = Arc::new(subject);
    let mut gzip = is_gzip.then(GzipStream::default);
    let begin = gzip.as_mut().map_or(RETRY, |gzip| gzip.begin(&RETRY));
    let streaming = Streaming { shared, changes, subject, sent: None, next: None, ends, gzip };
    let events = stream::unfold(Some(streaming), |streaming| async {
        let mut streaming = streaming?;
        match streaming.next().await {
            Some(event) => Some((event, Some(streaming))),
            None => Some((streaming.gzip?.end(), None)),
        }
    });
    let events = stream::once(ready(begin)).chain(events).map(Ok::<_, Infallible>);
    let headers = [(header::CONTENT_TYPE, EVENT_STREAM), (header::CACHE_CONTROL, "no-store")];
    let mut response = (headers, unbuffered(events)).into_response();
    if is_gzip {
        let coding = HeaderValue::from_static("gzip");
        response.headers_mut().insert(header::CONTENT_ENCODING, coding);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_events_of_a_sparing_stream_are_far_apart() {
        for (pace, len, spacing_ms) in [
            (StreamPace::Full, 1_000_000, 80),
            (StreamPace::Sparing, 100, 80),
            (StreamPace::Sparing, 40_000, 400),
            (StreamPace::Sparing, 1_000_000, 1_000),
        ] {
            assert_eq!(pace.spacing(len), Duration::from_millis(spacing_ms), "{pace:?} {len}");
        }
    }
}
