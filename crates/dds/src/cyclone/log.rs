//! Cyclone's log: messages are counted, and at most one per second is passed on.
//!
//! Cyclone has one log per process, and anyone who can send a datagram can cause messages.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Once};
use std::time::Instant;

use super::ffi;

/// Maximum length of a message that is passed on, in bytes.
const TEXT_BYTES_MAX: usize = 240;
const SECOND_NS: u64 = 1_000_000_000;

static COMPLAINTS: AtomicU64 = AtomicU64::new(0);
static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
static NEXT_NS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of warnings and errors that the middleware has reported in this process since the first domain
/// was opened.
///
/// They include malformed datagrams. At most one message per second also goes to [`tracing`], with this number.
#[must_use]
pub fn middleware_complaints() -> u64 {
    COMPLAINTS.load(Ordering::Relaxed)
}

/// Directs Cyclone's log to this module, once per process.
pub(super) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        LazyLock::force(&STARTED);
        // SAFETY: the function exists forever and uses no argument.
        unsafe { ffi::dds_set_log_sink(Some(receive), ptr::null_mut()) };
    });
}

unsafe extern "C" fn receive(_argument: *mut c_void, data: *const ffi::LogData) {
    // SAFETY: the log record is valid during the call.
    let Some(data) = (unsafe { data.as_ref() }) else { return };
    if data.priority & (ffi::LOG_FATAL | ffi::LOG_ERROR | ffi::LOG_WARNING) == 0 {
        return;
    }
    let count = COMPLAINTS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    if !due(elapsed_ns(), &NEXT_NS) {
        return;
    }
    // SAFETY: `message` has at least `size` bytes, header included or not.
    let text = unsafe { text(data.message, data.size) };
    let text = text.trim_end();
    if data.priority & ffi::LOG_WARNING == 0 {
        tracing::error!(target: "tickwire_dds", domain = data.domain, count, "{text}");
    } else {
        tracing::warn!(target: "tickwire_dds", domain = data.domain, count, "{text}");
    }
}

fn elapsed_ns() -> u64 {
    u64::try_from(STARTED.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Returns true if a second has passed since it last returned true.
fn due(now_ns: u64, next_ns: &AtomicU64) -> bool {
    let next = next_ns.load(Ordering::Relaxed);
    let after = now_ns.saturating_add(SECOND_NS);
    now_ns >= next
        && next_ns.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// Returns the first bytes of a message, with invalid UTF-8 replaced.
///
/// # Safety
/// `message` is null or has `size` readable bytes.
unsafe fn text(message: *const c_char, size: usize) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller; the length never exceeds `size`.
    let bytes = unsafe { std::slice::from_raw_parts(message.cast(), size.min(TEXT_BYTES_MAX)) };
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_a_second_is_due() {
        let next = AtomicU64::new(0);
        let passed: Vec<u64> =
            (0..3000).map(|ms| ms * 1_000_000).filter(|&now| due(now, &next)).collect();
        assert_eq!(passed, [0, SECOND_NS, 2 * SECOND_NS]);
    }

    #[test]
    fn a_long_message_is_cut() {
        let long = "x".repeat(1000);
        // SAFETY: pointer and size belong to one string.
        assert_eq!(unsafe { text(long.as_ptr().cast(), long.len()) }.len(), TEXT_BYTES_MAX);
    }
}
