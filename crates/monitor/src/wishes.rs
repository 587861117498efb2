//! Data that viewers request from a handler's thread beside its counters.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tickwire_feed::market::Instrument;

/// Time for which a book is published after the last look at it, in nanoseconds.
const LOOKED_NS: u64 = 2_000_000_000;
/// Most books that are published at a time.
const BOOKS_MAX: usize = 4096;

/// Set by the monitor, read by the handler's thread when it publishes.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// Until when each book is published; the monitor's side.
    looked: Mutex<HashMap<Instrument, u64>>,
    /// The books to publish; the handler never waits for this lock.
    books: Mutex<Arc<[Instrument]>>,
    packets: AtomicBool,
    dropped: AtomicU64,
}

impl Wishes {
    /// Requests books for a while. Beyond [`BOOKS_MAX`] books of all viewers, further ones are ignored.
    pub(crate) fn want_books(&self, wanted: impl Iterator<Item = Instrument>, now_ns: u64) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let until_ns = now_ns.saturating_add(LOOKED_NS);
        let count = looked.len();
        for instrument in wanted {
            if looked.len() < BOOKS_MAX || looked.contains_key(&instrument) {
                looked.insert(instrument, until_ns);
            }
        }
        if looked.len() > count {
            self.set_books(&looked);
        }
    }

    /// Ends the publication of books that nobody looked at for a while.
    pub(crate) fn expire(&self, now_ns: u64) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let count = looked.len();
        looked.retain(|_, until_ns| *until_ns > now_ns);
        if looked.len() < count {
            self.set_books(&looked);
        }
    }

    fn set_books(&self, looked: &HashMap<Instrument, u64>) {
        let mut books: Vec<Instrument> = looked.keys().copied().collect();
        // Neighbours in memory are published one after the other.
        books.sort_unstable();
        *self.books.lock().unwrap_or_else(PoisonError::into_inner) = books.into();
    }

    /// Returns the requested books; `None` while the monitor changes them.
    pub(crate) fn try_books(&self) -> Option<Arc<[Instrument]>> {
        self.books.try_lock().ok().map(|books| books.clone())
    }

    /// Says whether somebody looks at packets.
    pub(crate) fn want_packets(&self, wants: bool) {
        self.packets.store(wants, Ordering::Relaxed);
    }

    pub(crate) fn wants_packets(&self) -> bool {
        self.packets.load(Ordering::Relaxed)
    }

    /// Counts data that the handler's thread could not hand over because the queue was full.
    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_feed::market::{InstrumentKey, Instruments};

    #[test]
    fn books_are_wanted_for_a_while_and_bounded_in_number() {
        let mut known = Instruments::new(2 * BOOKS_MAX);
        let ids: Vec<Instrument> = (0..2 * BOOKS_MAX as u64)
            .filter_map(|number| known.intern(InstrumentKey::Number(number)))
            .collect();
        let wishes = Wishes::default();
        assert!(wishes.try_books().unwrap().is_empty());
        wishes.want_books([ids[3], ids[1], ids[3]].into_iter(), 0);
        assert_eq!(*wishes.try_books().unwrap(), [ids[1], ids[3]]);
        wishes.want_books([ids[1]].into_iter(), LOOKED_NS / 2);
        wishes.expire(LOOKED_NS);
        assert_eq!(*wishes.try_books().unwrap(), [ids[1]]);
        wishes.want_books(ids.iter().copied(), LOOKED_NS);
        assert_eq!(wishes.try_books().unwrap().len(), BOOKS_MAX);
        wishes.expire(3 * LOOKED_NS);
        assert!(wishes.try_books().unwrap().is_empty());
    }
}
