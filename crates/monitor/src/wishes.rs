//! What clients want from a handler's thread in addition to its counters.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Flags that the monitor sets and the handler's thread reads when it publishes.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    books: AtomicBool,
    packets: AtomicBool,
    dropped: AtomicU64,
}

impl Wishes {
    /// Records that a client looks at books, which are published from now on.
    pub(crate) fn want_books(&self) {
        self.books.store(true, Ordering::Relaxed);
    }

    pub(crate) fn wants_books(&self) -> bool {
        self.books.load(Ordering::Relaxed)
    }

    /// Sets whether a client looks at packets.
    pub(crate) fn want_packets(&self, wants: bool) {
        self.packets.store(wants, Ordering::Relaxed);
    }

    pub(crate) fn wants_packets(&self) -> bool {
        self.packets.load(Ordering::Relaxed)
    }

    /// Counts an item that was dropped because the queue was full.
    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}
