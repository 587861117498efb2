//! Counts and logs clients that were refused.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use axum::extract::Request;
use tickwire_host::Throttle;
use tickwire_host::clock::{SECOND_NS, monotonic_ns};

/// Least time between two log lines of one kind.
const LOG_INTERVAL_NS: u64 = 10 * SECOND_NS;

/// Most characters of a path that are logged.
const PATH_CHARS_MAX: usize = 100;

/// Address of the client, in the extensions of its request.
#[derive(Clone, Copy, Debug)]
pub struct HttpPeer(pub SocketAddr);

/// Requests without the right token since the process began, on all its servers.
static UNAUTHORIZED: AtomicU64 = AtomicU64::new(0);
static UNAUTHORIZED_LOG: Mutex<Throttle> = Mutex::new(Throttle::every(LOG_INTERVAL_NS));
static TLS_LOG: Mutex<Throttle> = Mutex::new(Throttle::every(LOG_INTERVAL_NS));

/// Returns the number of requests that this process has answered with status 401.
pub(crate) fn unauthorized_requests() -> u64 {
    UNAUTHORIZED.load(Ordering::Relaxed)
}

/// Records a request without the right token. The warning names the peer and never the token.
pub(super) fn note_unauthorized(request: &Request, has_token: bool) {
    UNAUTHORIZED.fetch_add(1, Ordering::Relaxed);
    let Some(others) = passed(&UNAUTHORIZED_LOG) else { return };
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
    if let Some(others) = passed(&TLS_LOG) {
        tracing::warn!("HTTP: no TLS connection with {peer}: {error}{}", more(others));
    }
}

fn more(others: u64) -> String {
    match others {
        0 => String::new(),
        others => format!("; {others} others since the last such warning"),
    }
}

/// Returns the number of lines that were held back since the last one that passed; `None` if this one is held back too.
fn passed(throttle: &Mutex<Throttle>) -> Option<u64> {
    throttle.lock().unwrap_or_else(PoisonError::into_inner).pass(monotonic_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_passes_in_an_interval_and_tells_of_the_others() {
        let (mut throttle, begun) = (Throttle::every(LOG_INTERVAL_NS), 7);
        assert_eq!(throttle.pass(begun), Some(0));
        assert_eq!(throttle.pass(begun), None);
        assert_eq!(throttle.pass(begun + LOG_INTERVAL_NS / 2), None);
        assert_eq!(throttle.pass(begun + LOG_INTERVAL_NS), Some(2));
        assert_eq!(throttle.pass(begun + 3 * LOG_INTERVAL_NS), Some(0));
        assert_eq!(more(2), "; 2 others since the last such warning");
    }
}
