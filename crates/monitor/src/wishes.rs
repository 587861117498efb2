//! What viewers want of a handler's thread beside its counters.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Set by the monitor, read by the handler's thread when it publishes.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    books: AtomicBool,
    packets: AtomicBool,
    dropped: AtomicU64,
}

impl Wishes {
    /// Somebody looks at books: they are published from now on.
    pub(crate) fn want_books(&self) {
        self.books.store(true, Ordering::Relaxed);
    }

    pub(crate) fn wants_books(&self) -> bool {
        self.books.load(Ordering::Relaxed)
    }

    /// Says whether somebody looks at packets.
    pub(crate) fn want_packets(&self, wants: bool) {
        self.packets.store(wants, Ordering::Relaxed);
    }

    pub(crate) fn wants_packets(&self) -> bool {
        self.packets.load(Ordering::Relaxed)
    }

    /// Counts what the handler's thread could not hand over because the queue was full.
    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}
