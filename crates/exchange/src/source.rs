//! Sources of a feed's messages.

use crate::draft::MessageDraft;
use crate::error::ExchangeError;
use crate::truth::TrueBook;

/// A message, and the books after the message that it changed.
#[derive(Clone, Debug)]
pub(crate) struct SourceMessage {
    pub(crate) draft: MessageDraft,
    pub(crate) books: Vec<TrueBook>,
    /// Milliseconds since midnight.
    pub(crate) time_ms: u64,
}

/// Returns how many further entries certainly fit in a packet with this message alone; `None` if
/// the message itself does not fit.
pub(crate) type EntryRoom<'f> =
    dyn FnMut(&MessageDraft) -> Result<Option<usize>, ExchangeError> + 'f;

/// Generates the messages of a feed.
pub(crate) trait FeedSource: Send {
    /// Creates the next message. Sources of messages without a length limit use `room` to limit
    /// them.
    fn next(&mut self, room: &mut EntryRoom<'_>) -> Result<SourceMessage, ExchangeError>;

    /// Returns messages that are at least as long as any that the source creates without asking for
    /// room; a packet must have room for each.
    fn largest(&self) -> Vec<MessageDraft>;

    /// Returns messages with `_entries` entries that are at least as long as any others with this
    /// number; empty if messages have no entries.
    fn largest_with(&self, _entries: usize) -> Vec<MessageDraft> {
        Vec::new()
    }

    /// Sets the number of entries that always fit.
    fn set_entries_sure(&mut self, _entries: usize) {}

    /// Returns the message that ends the feed, if it has one.
    fn done(&self) -> Option<MessageDraft>;

    /// Returns the snapshot of a book; `_last_seq_num` is the last packet in it. `None` if the feed
    /// has no snapshots.
    fn snapshot(&self, _book: &TrueBook, _last_seq_num: u64) -> Option<MessageDraft> {
        None
    }

    /// Returns a snapshot that is at least as long as any other.
    fn largest_snapshot(&self) -> Option<MessageDraft> {
        None
    }

    /// Returns all current books.
    fn books(&self) -> Vec<TrueBook>;

    /// Returns the simulated time: milliseconds since midnight.
    fn time_ms(&self) -> u64;
}
