//! The HTTP client of the exporter: blocking, because the exporter has a thread of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use ureq::Agent;
use ureq::tls::TlsConfig;

/// Most bytes of a collector's answer.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Most characters of a collector's text that are logged.
const TEXT_MAX: usize = 300;
/// Least timeout of a request, so that a request after the deadline fails with a timeout.
const REQUEST_MIN: Duration = Duration::from_millis(1);

/// The export of a batch: one request, and its retries.
#[derive(Debug)]
pub(super) struct BatchExport {
    /// Time at which the export ends. The exporter starts no retry later, but does not cut one off.
    deadline: Mutex<Instant>,
    /// Spans that the collector rejected, although it took others of the same request.
    rejected: AtomicU64,
    /// True if a collector's text was logged.
    has_told: AtomicBool,
}

impl BatchExport {
    pub(super) fn new() -> Self {
        Self {
            deadline: Mutex::new(Instant::now()),
            rejected: AtomicU64::new(0),
            has_told: AtomicBool::new(false),
        }
    }

    /// Starts the export of a batch that takes at most `timeout`.
    pub(super) fn begin(&self, timeout: Duration) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + timeout;
    }

    /// Returns the number of rejected spans since the last call.
    pub(super) fn take_rejected(&self) -> u64 {
        self.rejected.swap(0, Ordering::Relaxed)
    }

    fn remaining(&self) -> Duration {
        let deadline = *self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        deadline.saturating_duration_since(Instant::now()).max(REQUEST_MIN)
    }

    /// Counts rejected spans and logs the collector's first text.
    fn note(&self, partial: &ExportTracePartialSuccess) {
        let rejected = u64::try_from(partial.rejected_spans).unwrap_or(0);
        self.rejected.fetch_add(rejected, Ordering::Relaxed);
        let text: String = partial.error_message.chars().take(TEXT_MAX).collect();
        if !text.is_empty() && !self.has_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the collector rejected {rejected} spans: {text:?}; the metric trace_dropped_spans counts them"
            );
        }
    }
}

/// Sends requests to the collector. The future of a request blocks until the answer is complete or
/// the timeout has passed.
#[derive(Debug)]
pub(super) struct BlockingClient {
    agent: Agent,
    batch: Arc<BatchExport>,
}

impl BlockingClient {
    /// Creates a client for the requests of `batch`, with `tls` for an address that needs it. A request ends at the deadline of
    /// the batch, counted from resolving the name to the end of the answer.
    pub(super) fn new(batch: Arc<BatchExport>, tls: Option<TlsConfig>) -> Self {
        let config = Agent::config_builder()
            // The exporter decides by the status whether to retry.
            .http_status_as_error(false)
            .max_redirects(0)
            // Collectors are on this host or in its network, so no proxy is used.
            .proxy(None);
        let config = match tls {
            Some(tls) => config.tls_config(tls),
            None => config,
        };
        Self { agent: config.build().new_agent(), batch }
    }
}

#[async_trait]
impl HttpClient for BlockingClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let request = self.agent.configure_request(Request::from_parts(head, &body[..]));
        let request = request.timeout_global(Some(self.batch.remaining())).build();
        let (head, mut body) = self.agent.run(request)?.into_parts();
        let answer = body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?;
        if head.status.is_success()
            && let Ok(told) = ExportTraceServiceResponse::decode(&answer[..])
            && let Some(partial) = told.partial_success
        {
            self.batch.note(&partial);
        }
        Ok(Response::from_parts(head, answer.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_executor::block_on;
    use std::net::TcpListener;

    #[test]
    fn a_retry_has_the_time_that_is_left() {
        // Accepts connections in its backlog and never answers.
        let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
        let batch = Arc::new(BatchExport::new());
        let client = BlockingClient::new(batch.clone(), None);
        let address = format!("http://{}/v1/traces", hanging.local_addr().unwrap());
        let send = || {
            let request = Request::post(&address).body(Bytes::from_static(b"spans")).unwrap();
            let begun = Instant::now();
            assert!(block_on(client.send_bytes(request)).is_err());
            begun.elapsed()
        };
        let timeout = Duration::from_secs(1);
        batch.begin(timeout);
        assert!(send() >= timeout * 9 / 10);
        // No time is left.
        assert!(send() < timeout / 2);
    }
}
