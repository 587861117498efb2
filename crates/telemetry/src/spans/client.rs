//! The HTTP client of the exporter: blocking, because the exporter has a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use ureq::Agent;

/// Most bytes of a collector's answer.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Sends requests to the collector. The future of a request blocks until the answer is complete or the time is over.
#[derive(Debug)]
pub(super) struct BlockingClient {
    agent: Agent,
    rejected: Arc<AtomicU64>,
}

impl BlockingClient {
    /// Creates a client whose requests take at most `timeout`, from resolving the name to the end of the answer. Adds the
    /// spans that the collector rejects, although it takes others of the same request, to `rejected`.
    pub(super) fn new(timeout: Duration, rejected: Arc<AtomicU64>) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            // The exporter decides by the status whether to retry.
            .http_status_as_error(false)
            .max_redirects(0)
            // A collector is on this host or beside it.
            .proxy(None);
        Self { agent: config.build().new_agent(), rejected }
    }
}

#[async_trait]
impl HttpClient for BlockingClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let response = self.agent.run(Request::from_parts(head, &body[..]))?;
        let (head, mut body) = response.into_parts();
        let answer = body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?;
        if head.status.is_success()
            && let Ok(told) = ExportTraceServiceResponse::decode(&answer[..])
            && let Some(partial) = told.partial_success
        {
            let rejected = u64::try_from(partial.rejected_spans).unwrap_or(0);
            self.rejected.fetch_add(rejected, Ordering::Relaxed);
        }
        Ok(Response::from_parts(head, answer.into()))
    }
}
