//! Data that viewers request from a handler's thread beside its counters.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tickwire_feed::market::Instrument;

/// Time for which books, or packets, are handed over after the last request for them, in
/// nanoseconds.
pub(crate) const LOOKED_NS: u64 = 2_000_000_000;
/// Most books that are viewed at a time.
const LOOKED_BOOKS_MAX: usize = 4096;

/// A book that clients view. A look begins with a request and ends [`LOOKED_NS`] after the last
/// request; the next look is a new value.
#[derive(Clone, Debug)]
pub(crate) struct LookedBook {
    pub(crate) instrument: Instrument,
    /// Time of the last publication during this look; 0 before the first.
    published_ns: Arc<AtomicU64>,
}

impl LookedBook {
    /// Records that the board has the book as of `now_ns`. Call it after the book is written to the board.
    pub(crate) fn set_published(&self, now_ns: u64) {
        // Readers that see the time also see the book.
        self.published_ns.store(now_ns.max(1), Ordering::Release);
    }
}

#[derive(Debug)]
struct BookLook {
    until_ns: u64,
    published_ns: Arc<AtomicU64>,
}

/// Set by the monitor, read by the handler's thread when it publishes.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// The look at each book; the monitor's side.
    looked: Mutex<HashMap<Instrument, BookLook>>,
    /// The books to publish; the handler never waits for this lock.
    books: Mutex<Arc<[LookedBook]>>,
    packets: AtomicBool,
    dropped: AtomicU64,
}

impl Wishes {
    /// Requests books for a while. Beyond [`LOOKED_BOOKS_MAX`] books of all viewers, further ones are ignored.
    pub(crate) fn want_books(&self, wanted: impl Iterator<Item = Instrument>, now_ns: u64) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let until_ns = now_ns.saturating_add(LOOKED_NS);
        let count = looked.len();
        for instrument in wanted {
            if let Some(look) = looked.get_mut(&instrument) {
                look.until_ns = until_ns;
            } else if looked.len() < LOOKED_BOOKS_MAX {
                looked.insert(instrument, BookLook { until_ns, published_ns: Arc::default() });
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
        looked.retain(|_, look| look.until_ns > now_ns);
        if looked.len() < count {
            self.set_books(&looked);
        }
    }

    /// Returns when the book was last published during the current look at it; `None` before the first publication.
    pub(crate) fn published_ns(&self, instrument: Instrument) -> Option<u64> {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let at_ns = looked.get(&instrument)?.published_ns.load(Ordering::Acquire);
        (at_ns > 0).then_some(at_ns)
    }

    fn set_books(&self, looked: &HashMap<Instrument, BookLook>) {
        let book = |(instrument, look): (&Instrument, &BookLook)| LookedBook {
            instrument: *instrument,
            published_ns: look.published_ns.clone(),
        };
        let mut books: Vec<LookedBook> = looked.iter().map(book).collect();
        // Neighbours in memory are published one after the other.
        books.sort_unstable_by_key(|book| book.instrument);
        *self.books.lock().unwrap_or_else(PoisonError::into_inner) = books.into();
    }

    /// Returns the requested books; `None` while the monitor changes them.
    pub(crate) fn try_books(&self) -> Option<Arc<[LookedBook]>> {
        self.books.try_lock().ok().map(|books| books.clone())
    }

    /// Sets whether clients view packets.
    pub(crate) fn want_packets(&self, wants: bool) {
        self.packets.store(wants, Ordering::Relaxed);
    }

    pub(crate) fn wants_packets(&self) -> bool {
        self.packets.load(Ordering::Relaxed)
    }

    /// Counts data that the handler's thread could not hand over because the queue was full.
    pub(crate) fn count_dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
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
        let mut known = Instruments::new(2 * LOOKED_BOOKS_MAX);
        let ids: Vec<Instrument> = (0..2 * LOOKED_BOOKS_MAX as u64)
            .filter_map(|number| known.intern(InstrumentKey::Number(number)))
            .collect();
        let wishes = Wishes::default();
        let books = || -> Vec<Instrument> {
            wishes.try_books().unwrap().iter().map(|book| book.instrument).collect()
        };
        assert!(books().is_empty());
        wishes.want_books([ids[3], ids[1], ids[3]].into_iter(), 0);
        assert_eq!(books(), [ids[1], ids[3]]);
        wishes.want_books([ids[1]].into_iter(), LOOKED_NS / 2);
        wishes.expire(LOOKED_NS);
        assert_eq!(books(), [ids[1]]);
        wishes.want_books(ids.iter().copied(), LOOKED_NS);
        assert_eq!(books().len(), LOOKED_BOOKS_MAX);
        wishes.expire(3 * LOOKED_NS);
        assert!(books().is_empty());
    }

    #[test]
    fn a_publication_counts_for_the_look_in_which_it_was() {
        let mut known = Instruments::new(1);
        let id = known.intern(InstrumentKey::Number(1)).unwrap();
        let wishes = Wishes::default();
        wishes.want_books([id].into_iter(), 0);
        assert_eq!(wishes.published_ns(id), None);
        let of_first_look = wishes.try_books().unwrap();
        of_first_look[0].set_published(5);
        wishes.want_books([id].into_iter(), LOOKED_NS / 2);
        assert_eq!(wishes.published_ns(id), Some(5));
        wishes.expire(2 * LOOKED_NS);
        assert_eq!(wishes.published_ns(id), None);
        wishes.want_books([id].into_iter(), 2 * LOOKED_NS);
        // The handler's thread has not taken the new list yet.
        of_first_look[0].set_published(6);
        assert_eq!(wishes.published_ns(id), None);
        wishes.try_books().unwrap()[0].set_published(7);
        assert_eq!(wishes.published_ns(id), Some(7));
    }
}
