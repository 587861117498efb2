//! Limits of the work that clients ask for outside of the server's thread: its amount at any time, and its duration.

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

/// Total size of the request bodies in memory, in KiB: enough for two of the longest and some small ones.
const BODIES_KIB_MAX: usize = 48 << 10;
/// Longest wait of a request for memory that other bodies hold.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between two attempts to get that memory.
const ADMISSION_LOOK: Duration = Duration::from_millis(50);
/// Longest time for a body to arrive.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait of an explanation for earlier ones.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time for an explanation.
const WORK_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after the deadline for the message in hand; then the client gets an error.
const OVERTIME: Duration = Duration::from_secs(1);

/// Bounds the work for all clients together.
#[derive(Debug)]
pub(crate) struct Workshop {
    bodies: Arc<Semaphore>,
    /// One explanation at a time: the threads of handlers have the CPUs.
    turn: Arc<Semaphore>,
}

impl Default for Workshop {
    fn default() -> Self {
        Self { bodies: Arc::new(Semaphore::new(BODIES_KIB_MAX)), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Workshop {
    /// Waits until the body of a request with these headers may be read. The permit lasts until the body, and what is made of it, is dropped.
    pub(crate) async fn admit(
        &self,
        headers: &HeaderMap,
    ) -> Result<OwnedSemaphorePermit, Response> {
        let len = headers.get(header::CONTENT_LENGTH).and_then(|len| len.to_str().ok());
        // A body without a length may have any size up to the limit.
        let len = len.and_then(|len| len.parse().ok()).unwrap_or(BODY_BYTES_MAX);
        let kib = len.min(BODY_BYTES_MAX).div_ceil(1 << 10).max(1) as u32;
        let end = Instant::now() + ADMISSION_TIMEOUT;
        // Tried again and again rather than in order: a small body does not wait behind a large one.
        while Instant::now() < end {
            if let Ok(permit) = self.bodies.clone().try_acquire_many_owned(kib) {
                return Ok(permit);
            }
            sleep(ADMISSION_LOOK).await;
        }
        let text = "other clients' captures fill the memory for them; try again later";
        Err(refused(StatusCode::SERVICE_UNAVAILABLE, text))
    }

    /// Does work on a thread of its own, in its turn, and answers with what comes of it.
    pub(crate) async fn explain(
        &self,
        work: impl FnOnce(Deadline) -> Result<serde_json::Value, String> + Send + 'static,
    ) -> Response {
        let Ok(Ok(turn)) = timeout(TURN_TIMEOUT, self.turn.clone().acquire_owned()).await else {
            let text = "other explanations are under way; try again later";
            return refused(StatusCode::SERVICE_UNAVAILABLE, text);
        };
        let deadline = Deadline::after(WORK_TIMEOUT);
        let in_turn = move || {
            // The work goes on when the request is gone, so the turn is the work's.
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
