//! The true state of a day after each message.

use super::DayBookKind;
use crate::truth::TrueBook;
use std::collections::BTreeMap;
use std::sync::Arc;
use tickwire_feed::book::Amount;

/// A moment in the feed of updates: after message `index` of packet `seq_num` in session `epoch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpdatePosition {
    /// Number of day changes so far.
    pub epoch: u32,
    /// Sequence number of the packet, or of its first message if messages are numbered.
    pub seq_num: u64,
    /// Index of the message in its packet, from 0.
    pub index: u32,
}

/// An event that does not concern a book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrueEvent {
    /// A trade: MDEntryType 2.
    Trade {
        /// Name of the instrument.
        instrument: Arc<str>,
        /// MDEntryPx.
        price: Amount,
        /// MDEntrySize.
        size: Amount,
    },
    /// Another price or number: MDEntryType 4, 6, 7, 8, B or C.
    Statistic {
        /// Name of the instrument.
        instrument: Arc<str>,
        /// MDEntryType (269).
        entry_type: &'static str,
        /// MDEntryPx.
        price: Option<Amount>,
        /// MDEntrySize.
        size: Option<Amount>,
    },
    /// A SecurityStatus.
    Status {
        /// Name of the instrument.
        instrument: Arc<str>,
        /// SecurityTradingStatus (326).
        status: u32,
    },
}

/// The true state of one instrument.
#[derive(Debug)]
struct InstrumentTruth {
    name: Arc<str>,
    books: BTreeMap<DayBookKind, TrueBook>,
    /// Versions of each book with the moments they became valid, ascending.
    history: BTreeMap<DayBookKind, Vec<(UpdatePosition, TrueBook)>>,
    status: Option<u32>,
    last_trade: Option<(Amount, Amount)>,
}

/// The books, last trades and statuses of all instruments after the last packet handed out;
/// optionally all earlier versions of the books.
#[derive(Debug)]
pub struct DayTruth {
    instruments: Vec<InstrumentTruth>,
    indexes: BTreeMap<Arc<str>, usize>,
    keeps_history: bool,
    moment: UpdatePosition,
    messages: u64,
    events: Vec<(UpdatePosition, TrueEvent)>,
}

impl DayTruth {
    pub(super) fn new(names: impl Iterator<Item = Arc<str>>, keeps_history: bool) -> Self {
        let known = |name| InstrumentTruth {
            name,
            books: BTreeMap::new(),
            history: BTreeMap::new(),
            status: None,
            last_trade: None,
        };
        let instruments: Vec<InstrumentTruth> = names.map(known).collect();
        let named = instruments.iter().enumerate();
        let indexes = named.map(|(index, known)| (known.name.clone(), index)).collect();
        let moment = UpdatePosition::default();
        Self { instruments, indexes, keeps_history, moment, messages: 0, events: Vec::new() }
    }

    pub(super) fn set_book(
        &mut self,
        at: UpdatePosition,
        index: usize,
        kind: DayBookKind,
        book: TrueBook,
    ) {
        let known = &mut self.instruments[index];
        if self.keeps_history {
            known.history.entry(kind).or_default().push((at, book.clone()));
        }
        known.books.insert(kind, book);
    }

    pub(super) fn set_status(&mut self, index: usize, status: Option<u32>) {
        self.instruments[index].status = status;
    }

    pub(super) fn push_event(&mut self, at: UpdatePosition, event: TrueEvent) {
        if let TrueEvent::Trade { instrument, price, size } = &event
            && let Some(index) = self.indexes.get(instrument)
        {
            self.instruments[*index].last_trade = Some((*price, *size));
        }
        if self.keeps_history {
            self.events.push((at, event));
        }
    }

    /// Distributes the events recorded for `at` over several messages: each moment in `parts` gets
    /// its number of events, and books become valid with the last moment.
    pub(super) fn divide(&mut self, at: UpdatePosition, parts: &[(UpdatePosition, usize)]) {
        let Some((last, _)) = parts.last() else { return };
        for history in self.instruments.iter_mut().flat_map(|known| known.history.values_mut()) {
            for (moment, _) in history.iter_mut().rev().take_while(|(moment, _)| *moment == at) {
                *moment = *last;
            }
        }
        let moments =
            parts.iter().flat_map(|(moment, events)| std::iter::repeat_n(*moment, *events));
        let first = self.events.partition_point(|(moment, _)| *moment < at);
        for ((moment, _), part) in self.events[first..].iter_mut().zip(moments) {
            *moment = part;
        }
    }

    pub(super) fn end_message(&mut self, at: UpdatePosition) {
        self.moment = at;
        self.messages += 1;
    }

    pub(super) fn begin_session(&mut self, at: UpdatePosition) {
        self.moment = at;
    }

    fn known(&self, name: &str) -> Option<&InstrumentTruth> {
        self.indexes.get(name).map(|index| &self.instruments[*index])
    }

    /// Returns the names of all instruments, ascending.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.indexes.keys()
    }

    /// Returns the moment of the last message.
    pub fn moment(&self) -> UpdatePosition {
        self.moment
    }

    /// Returns the number of messages on the channel of updates so far, including status and reset
    /// messages.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Returns the current book of an instrument; `None` for an unknown name or a kind that the
    /// feed does not have.
    pub fn book(&self, name: &str, kind: DayBookKind) -> Option<&TrueBook> {
        self.known(name)?.books.get(&kind)
    }

    /// Returns the last published status of an instrument in this session.
    pub fn status(&self, name: &str) -> Option<u32> {
        self.known(name)?.status
    }

    /// Returns price and size of the last trade of an instrument.
    pub fn last_trade(&self, name: &str) -> Option<(Amount, Amount)> {
        self.known(name)?.last_trade
    }

    /// Returns the book after message `at`. Requires
    /// [`keeps_history`](super::DayOptions::keeps_history).
    pub fn book_at(&self, at: UpdatePosition, name: &str, kind: DayBookKind) -> Option<&TrueBook> {
        let history = self.history(name, kind);
        let later = history.partition_point(|(moment, _)| *moment <= at);
        history.get(later.checked_sub(1)?).map(|(_, book)| book)
    }

    /// Returns all versions of a book with their moments, ascending; empty without
    /// [`keeps_history`](super::DayOptions::keeps_history).
    pub fn history(&self, name: &str, kind: DayBookKind) -> &[(UpdatePosition, TrueBook)] {
        let history = self.known(name).and_then(|known| known.history.get(&kind));
        history.map_or(&[], Vec::as_slice)
    }

    /// Returns all events with their moments; empty without
    /// [`keeps_history`](super::DayOptions::keeps_history).
    pub fn events(&self) -> &[(UpdatePosition, TrueEvent)] {
        &self.events
    }
}
