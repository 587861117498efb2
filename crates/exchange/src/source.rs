//! What makes up the messages of a feed.

use crate::draft::Draft;
use crate::error::Error;
use crate::truth::TrueBook;

/// A message, and the books it changed as they are after it.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) draft: Draft,
    pub(crate) books: Vec<TrueBook>,
    /// Milliseconds since midnight.
    pub(crate) time_ms: u64,
}

/// Says how many entries more than a message has always fit in a packet of its own; `None` if the
/// message itself does not fit.
pub(crate) type Room<'f> = dyn FnMut(&Draft) -> Result<Option<usize>, Error> + 'f;

/// Makes up the messages of a feed.
pub(crate) trait Source: Send {
    /// Makes up the next message. One that can have any length asks for room.
    fn next(&mut self, room: &mut Room<'_>) -> Result<Made, Error>;

    /// Messages that are longer than any that this makes up without asking: a packet must have room
    /// for each.
    fn largest(&self) -> Vec<Draft>;

    /// Messages with so many entries, longer than any others with as many; none if messages have no
    /// entries.
    fn largest_with(&self, _entries: usize) -> Vec<Draft> {
        Vec::new()
    }

    /// Takes note that messages with so many entries always fit.
    fn set_entries_sure(&mut self, _entries: usize) {}

    /// The message that ends the feed, if it has one.
    fn done(&self) -> Option<Draft>;

    /// The snapshot of a book, `last_seq_num` being the last packet in it; `None` if the feed has no
    /// snapshots.
    fn snapshot(&self, _book: &TrueBook, _last_seq_num: u64) -> Option<Draft> {
        None
    }

    /// A snapshot that is longer than any other.
    fn largest_snapshot(&self) -> Option<Draft> {
        None
    }

    /// All books as they are now.
    fn books(&self) -> Vec<TrueBook>;

    /// What the clock says: milliseconds since midnight.
    fn time_ms(&self) -> u64;
}
