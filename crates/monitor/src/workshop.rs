//! Limits the work that clients cause outside of the server's thread: its amount at any time, and its duration.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use crate::explaining::Deadline;
use crate::guard::BODY_BYTES_MAX;
use crate::requests::refused;

/// Total size of the request bodies in memory, in KiB: room for two of the longest and some small ones.
const BODIES_KIB_MAX: usize = 48 << 10;
/// Longest time that a request waits for room while other bodies use it.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between two attempts to get that room.
const ADMISSION_LOOK: Duration = Duration::from_millis(50);
/// Longest time for a body to arrive.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time that an explanation waits for earlier ones.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time for an explanation.
const WORK_TIMEOUT: Duration = Duration::from_secs(5);
/// Extra time after the deadline to finish the current message; then the client gets an error.
const OVERTIME: Duration = Duration::from_secs(1);

/// Limits the work for all clients together.
#[derive(Debug)]
pub(crate) struct Workshop {
    bodies: Arc<Semaphore>,
    /// One permit, so that only one explanation runs at a time: the CPUs are for the threads of handlers.
    turn: Arc<Semaphore>,
}

impl Default for Workshop {
    fn default() -> Self {
        Self { bodies: Arc::new(Semaphore::new(BODIES_KIB_MAX)), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Workshop {
    /// Waits until the body of a request with these headers may be read. Hold the permit until the body, and everything
    /// made of it, is dropped.
    pub(crate) async fn admit(
        &self,
        headers: &HeaderMap,
    ) -> Result<OwnedSemaphorePermit, Response> {
        let len = headers.get(header::CONTENT_LENGTH).and_then(|len| len.to_str().ok());
        // A body without a stated length may have any size up to the limit.
        let len = len.and_then(|len| len.parse().ok()).unwrap_or(BODY_BYTES_MAX);
        let kib = len.min(BODY_BYTES_MAX).div_ceil(1 << 10).max(1) as u32;
        let end = Instant::now() + ADMISSION_TIMEOUT;
        // Try repeatedly instead of queueing: a small body then does not wait behind a large one.
        while Instant::now() < end {
            if let Ok(permit) = self.bodies.clone().try_acquire_many_owned(kib) {
                return Ok(permit);
            }
            sleep(ADMISSION_LOOK).await;
        }
        let text = "other clients use all memory for captures; try again later";
        Err(refused(StatusCode::SERVICE_UNAVAILABLE, text))
    }

    /// Runs `work` on a thread of its own, one piece of work at a time, and returns its result as a response.
    pub(crate) async fn explain(
        &self,
        work: impl FnOnce(Deadline) -> Result<serde_json::Value, String> + Send + 'static,
    ) -> Response {
        let Ok(Ok(turn)) = timeout(TURN_TIMEOUT, self.turn.clone().acquire_owned()).await else {
            let text = "other explanations are running; try again later";
            return refused(StatusCode::SERVICE_UNAVAILABLE, text);
        };
        let deadline = Deadline::after(WORK_TIMEOUT);
        let in_turn = move || {
            // The work continues if the client disconnects, so the work itself holds the permit.
            let _turn = turn;
            work(deadline)
        };
        let work = tokio::task::spawn_blocking(in_turn);
        match timeout(WORK_TIMEOUT + OVERTIME, work).await {
            Ok(Ok(Ok(value))) => Json(value).into_response(),
            Ok(Ok(Err(error))) => refused(StatusCode::UNPROCESSABLE_ENTITY, error),
            Ok(Err(_)) => {
                let text = "the explanation failed; please report it";
                refused(StatusCode::INTERNAL_SERVER_ERROR, text)
            }
            Err(_) => {
                let text = deadline.check().err().unwrap_or_default();
                refused(StatusCode::UNPROCESSABLE_ENTITY, text)
            }
        }
    }
}
