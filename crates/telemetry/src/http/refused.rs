//! Counts and logs clients that were refused.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::Request;

/// Least time between two log lines of one kind.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Most characters of a path that are logged.
const PATH_CHARS_MAX: usize = 100;

/// Address of the client, in the extensions of its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct HttpPeer(pub(super) SocketAddr);

/// Requests without the right token since the process began, on all its servers.
static UNAUTHORIZED: AtomicU64 = AtomicU64::new(0);
static UNAUTHORIZED_LOG: LogThrottle = LogThrottle::new();
static TLS_LOG: LogThrottle = LogThrottle::new();

/// Returns the number of requests that this process has answered with status 401.
pub(crate) fn unauthorized_requests() -> u64 {
    UNAUTHORIZED.load(Ordering::Relaxed)
}

/// Records a request without the right token. The warning names the peer and never the token.
pub(super) fn note_unauthorized(request: &Request, has_token: bool) {
    UNAUTHORIZED.fetch_add(1, Ordering::Relaxed);
    let Some(others) = UNAUTHORIZED_LOG.passed(Instant::now()) else { return };
    let HttpPeer(peer) = match request.extensions().get() {
        Some(peer) => *peer,
        None => return tracing::warn!("HTTP: a request without the right token"),
    };
    let what = if has_token { "a wrong token" } else { "no token" };
    let path: String = request.uri().path().chars().take(PATH_CHARS_MAX).collect();
    let more = more(others);
    tracing::warn!("HTTP: {peer} asks for {path:?} with {what}{more}");
}

/// Records a TLS handshake that failed.
pub(super) fn note_handshake(peer: SocketAddr, error: &dyn Display) {
    if let Some(others) = TLS_LOG.passed(Instant::now()) {
        tracing::warn!("HTTP: no TLS connection with {peer}: {error}{}", more(others));
    }
}

fn more(others: u64) -> String {
    match others {
        0 => String::new(),
        others => format!("; {others} others since the last such warning"),
    }
}

/// Lets one log line pass in each [`LOG_INTERVAL`].
struct LogThrottle(Mutex<(Option<Instant>, u64)>);

impl LogThrottle {
    const fn new() -> Self {
        Self(Mutex::new((None, 0)))
    }

    /// Returns the number of lines that were held back since the last one that passed; `None` if this one is held back too.
    fn passed(&self, now: Instant) -> Option<u64> {
        let (last, others) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| now.duration_since(last) < LOG_INTERVAL) {
            *others += 1;
            return None;
        }
        *last = Some(now);
        Some(std::mem::take(others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_passes_in_an_interval_and_tells_of_the_others() {
        let (throttle, begun) = (LogThrottle::new(), Instant::now());
        assert_eq!(throttle.passed(begun), Some(0));
        assert_eq!(throttle.passed(begun), None);
        assert_eq!(throttle.passed(begun + LOG_INTERVAL / 2), None);
        assert_eq!(throttle.passed(begun + LOG_INTERVAL), Some(2));
        assert_eq!(throttle.passed(begun + 3 * LOG_INTERVAL), Some(0));
        assert_eq!(more(2), "; 2 others since the last such warning");
    }
}
