//! The handler's end of the queue: the receiving thread hands items over without waiting.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use tickwire_feed::arbiter::{Gap, LineEvent};
use tickwire_feed::board::Board;
use tickwire_feed::handler::{Fault, FeedLine, PacketOrigin};
use tickwire_feed::market::MarketEvent;
use tickwire_feed::recovery::{BookMark, Recovery};
use tickwire_feed::replay::ReplayFailure;

use crate::published::{
    ChannelCounts, Facts, FeedEvent, HandOverReason, MonitorMessage, PacketCopy, PacketKey,
    TradeCopy,
};
use crate::recent::{RecentPacket, RecentPackets};
use crate::wishes::{LookedBook, Wishes};

/// Least time between two publications, in nanoseconds.
pub const PUBLISH_NS: u64 = 100_000_000;
/// Most packets handed over around a gap or a fault.
const AROUND: usize = 8;
/// Most gaps and faults between two publications around which several packets are handed over.
/// Around further ones, only one packet is.
const TOLD_MAX: u32 = 4;
/// Most other events handed over between two publications.
const EVENTS_MAX: u32 = 64;
/// Most gaps whose replay is tracked at a time; a replay service is asked for no more at once.
const REPLAYING_MAX: usize = 256;
/// Books published at a time. Each costs a few cache misses; 256 a tenth of a second are about 1 percent of a CPU at worst.
const BOOKS_PER_PUBLICATION: usize = 256;
/// Most trades handed over between two publications.
const TRADES_PER_PUBLICATION: usize = 1024;
/// Packets handed over with a publication while clients view packets.
const LOOKED_AT: u64 = 16;

/// Receives the events of a channel's handler and hands them over to the monitor. No call blocks: an item that finds
/// the queue full is dropped and counted.
#[derive(Debug)]
pub struct Tap {
    sender: SyncSender<MonitorMessage>,
    wishes: Arc<Wishes>,
    recent: RecentPackets,
    now_ns: u64,
    published_ns: Option<u64>,
    names: usize,
    board: Board,
    /// The books that clients view.
    looked_books: Arc<[LookedBook]>,
    /// Marks of the viewed books when they were published last.
    marks: Vec<Option<BookMark>>,
    /// Position in `looked_books` of the next one to publish.
    next_book: usize,
    /// Trades since the last publication, while clients view books.
    trades: Vec<TradeCopy>,
    told: u32,
    events: u32,
    looked_at: u64,
    /// First sequence numbers of the gaps that are being replayed. They are published with the counters because events
    /// may be dropped, and the end of a replay must not be missed.
    replaying: Vec<u64>,
    reset_ns: Option<u64>,
}

impl Tap {
    pub(crate) fn new(
        sender: SyncSender<MonitorMessage>,
        wishes: Arc<Wishes>,
        board: Board,
    ) -> Self {
        Self {
            sender,
            wishes,
            recent: RecentPackets::new(),
            now_ns: 0,
            published_ns: None,
            names: 0,
            board,
            looked_books: Arc::default(),
            marks: Vec::new(),
            next_book: 0,
            trades: Vec::new(),
            told: 0,
            events: 0,
            looked_at: 0,
            replaying: Vec::new(),
            reset_ns: None,
        }
    }

    fn send(&self, published: MonitorMessage) -> bool {
        let count = match &published {
            MonitorMessage::Trades(trades) => trades.len() as u64,
            _ => 1,
        };
        let is_taken = self.sender.try_send(published).is_ok();
        if !is_taken {
            self.wishes.count_dropped(count);
        }
        is_taken
    }

    /// Keeps a copy of a packet. Call it before the packet is handled.
    #[inline]
    pub fn packet(&mut self, received_ns: u64, source: FeedLine, packet: &[u8]) {
        self.now_ns = received_ns;
        self.recent.keep(received_ns, source, packet);
    }

    /// Hands over an event; returns false if it was dropped.
    fn event(&mut self, event: FeedEvent) -> bool {
        if self.events >= EVENTS_MAX {
            self.wishes.count_dropped(1);
            return false;
        }
        self.events += 1;
        self.send(MonitorMessage::Event { at_ns: self.now_ns, event })
    }

    /// Returns true if several packets may be handed over; limits how often that happens between two publications.
    fn may_tell(&mut self) -> bool {
        let may_tell = self.told < TOLD_MAX;
        self.told += u32::from(may_tell);
        may_tell
    }

    /// Hands over the packet that a fault is about, and the last `around` packets.
    fn around_failed(&self, text: &str, key: &PacketKey, around: usize) {
        let is_meant = |kept: &RecentPacket<'_>| {
            kept.source == key.source && kept.received_ns == key.received_ns
        };
        let failed = || HandOverReason::Failed { text: text.to_owned(), seq_num: key.seq_num };
        // The packet may have been received long ago and held back until earlier ones arrived.
        let count = self.recent.len();
        for (index, kept) in self.recent.last(count).enumerate() {
            match () {
                () if is_meant(&kept) => self.copy(&kept, failed()),
                () if index + around >= count => self.copy(&kept, HandOverReason::NearFailed),
                () => {}
            }
        }
    }

    fn copy(&self, kept: &RecentPacket<'_>, why: HandOverReason) {
        let &RecentPacket { received_ns, source, place, bytes } = kept;
        let copy = PacketCopy { received_ns, source, place, bytes: bytes.into(), why };
        self.send(MonitorMessage::Packet(Box::new(copy)));
    }

    /// Records a gap: sequence numbers lost on both lines.
    pub fn gap(&mut self, gap: Gap) {
        if self.event(FeedEvent::Gap(gap)) {
            let around = if self.may_tell() { AROUND } else { 1 };
            for kept in self.recent.last(around) {
                self.copy(&kept, HandOverReason::Gap { first: gap.first });
            }
        } else {
            // The monitor does not learn which numbers are lost, so earlier packets must not be
            // used to explain later ones.
            self.recent.begin_epoch();
        }
    }

    /// Records a sequence reset.
    pub fn reset(&mut self, seq_num: u64) {
        self.reset_ns = Some(self.now_ns);
        // Gaps from before the reset are not replayed any more.
        self.replaying.clear();
        self.recent.begin_epoch();
        self.event(FeedEvent::Reset { seq_num });
    }

    /// Records that all lines have become silent, or are no longer silent.
    pub fn silence(&mut self, is_silent: bool) {
        self.event(FeedEvent::Silence { is_silent });
    }

    /// Records that the arbiter has changed the state of a line.
    pub fn line(&mut self, event: &LineEvent) {
        self.event(FeedEvent::Line(event.to_string()));
    }

    /// Records that a replay service is asked for a gap.
    pub fn replay_begun(&mut self, gap: Gap) {
        if self.replaying.len() < REPLAYING_MAX {
            self.replaying.push(gap.first);
        }
        self.event(FeedEvent::ReplayBegun(gap));
    }

    /// Records that numbers of a gap will not be replayed.
    pub fn replay_abandoned(&mut self, gap: Gap, reason: ReplayFailure) {
        self.event(FeedEvent::ReplayAbandoned { gap, reason });
    }

    /// Records that the replay of a gap has ended.
    pub fn replay_done(&mut self, gap: Gap) {
        self.replaying.retain(|first| *first != gap.first);
        self.event(FeedEvent::ReplayDone(gap));
    }

    /// Records a fault, such as a packet that cannot be decoded.
    pub fn fault(&mut self, fault: &Fault<'_>) {
        if self.events >= EVENTS_MAX {
            self.wishes.count_dropped(1);
            return;
        }
        let key = self.key_of(fault);
        let text = fault.to_string();
        if let Some(key) = &key {
            let around = if self.may_tell() { AROUND } else { 0 };
            self.around_failed(&text, key, around);
        }
        self.event(FeedEvent::Fault { text, packet: key });
    }

    /// Returns the key of the packet that a fault is about; `None` if a replay service delivered it.
    fn key_of(&self, fault: &Fault<'_>) -> Option<PacketKey> {
        let (PacketOrigin { source, received_ns }, seq_num) = match *fault {
            Fault::Decode { seq_num, packet, .. }
            | Fault::MarketData { seq_num, packet, .. }
            | Fault::MessageHeader { seq_num, packet, .. } => (packet, seq_num),
            Fault::Misnumbered { seq_num, packet, .. } => (packet, Some(seq_num)),
            // Framing faults are found as the packet is received, so its time is the current one.
            Fault::Framing { source, .. } | Fault::NoSeqNum { source, .. } => {
                (PacketOrigin { source: Some(source), received_ns: self.now_ns }, None)
            }
            _ => return None,
        };
        Some(PacketKey { source: source?, received_ns, seq_num })
    }

    /// Keeps trades for the next publication while clients view books.
    #[inline]
    pub fn market(&mut self, event: &MarketEvent<'_>) {
        if let MarketEvent::Trade(trade) = event
            && !self.looked_books.is_empty()
        {
            let copy = TradeCopy {
                at_ns: self.now_ns,
                instrument: trade.instrument,
                price: trade.price,
                size: trade.size,
                aggressor: trade.aggressor,
            };
            match self.trades.len() {
                TRADES_PER_PUBLICATION.. => self.wishes.count_dropped(1),
                _ => self.trades.push(copy),
            }
        }
    }

    /// Returns true if it is time to publish.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.published_ns.is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= PUBLISH_NS)
    }

    /// Publishes all counters as of `now_ns`.
    pub fn publish(&mut self, now_ns: u64, facts: &Facts<'_>) {
        self.published_ns = Some(now_ns);
        self.now_ns = now_ns;
        (self.told, self.events) = (0, 0);
        self.publish_books(now_ns, facts.view.recovery);
        let mut counts = ChannelCounts::new(now_ns, facts, self.names);
        counts.replaying.clone_from(&self.replaying);
        counts.reset_ns = self.reset_ns;
        let names = counts.names.len();
        if self.send(MonitorMessage::Counts(Box::new(counts))) {
            self.names += names;
        }
        let new = self.recent.count().saturating_sub(self.looked_at).min(LOOKED_AT);
        if self.wishes.wants_packets() && new > 0 {
            self.looked_at = self.recent.count();
            for kept in self.recent.last(new as usize) {
                self.copy(&kept, HandOverReason::Recent);
            }
        }
    }

    /// Publishes the books that clients view, a bounded number at a time and in turn, and the
    /// trades.
    fn publish_books(&mut self, now_ns: u64, recovery: &Recovery) {
        if let Some(books) = self.wishes.try_books()
            && !Arc::ptr_eq(&books, &self.looked_books)
        {
            self.looked_books = books;
            self.marks.clear();
            self.marks.resize(self.looked_books.len(), None);
        }
        let count = self.looked_books.len();
        for _ in 0..count.min(BOOKS_PER_PUBLICATION) {
            self.next_book = if self.next_book < count { self.next_book } else { 0 };
            if let (Some(book), Some(mark)) =
                (self.looked_books.get(self.next_book), self.marks.get_mut(self.next_book))
            {
                publish_book(book, mark, &mut self.board, recovery, now_ns);
            }
            self.next_book += 1;
        }
        if !self.trades.is_empty() {
            let room = Vec::with_capacity(self.trades.len());
            let trades = std::mem::replace(&mut self.trades, room);
            self.send(MonitorMessage::Trades(trades));
        }
    }
}

/// Publishes a book unless it is as it was published last. `mark` is the book's mark at that time.
#[inline]
fn publish_book(
    book: &LookedBook,
    mark: &mut Option<BookMark>,
    board: &mut Board,
    recovery: &Recovery,
    now_ns: u64,
) {
    let now = recovery.book_mark(book.instrument);
    // Copying a book reads some 40 cache lines, most of them cold; its mark is in one.
    if now.is_some() && now == *mark {
        return;
    }
    if recovery.publish_to(board, book.instrument, now_ns) {
        book.set_published(now_ns);
        *mark = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, sync_channel};
    use tickwire_feed::arbiter::Line;
    use tickwire_feed::market::{InstrumentKey, Instruments};

    #[test]
    fn each_trade_that_finds_the_queue_full_counts_as_dropped() {
        let instrument = Instruments::new(1).intern(InstrumentKey::Number(1)).unwrap();
        let trade = TradeCopy { at_ns: 0, instrument, price: None, size: None, aggressor: None };
        let (sender, _receiver) = sync_channel(1);
        let wishes = Arc::new(Wishes::default());
        let tap = Tap::new(sender, wishes.clone(), Board::new());
        assert!(tap.send(MonitorMessage::Trades(vec![trade; 3])));
        assert_eq!(wishes.dropped(), 0);
        assert!(!tap.send(MonitorMessage::Trades(vec![trade; 3])));
        assert_eq!(wishes.dropped(), 3);
    }

    /// Returns the epochs of the packets that the tap hands over around a gap.
    fn epochs_around_gap(tap: &mut Tap, receiver: &Receiver<MonitorMessage>) -> Vec<u64> {
        while receiver.try_recv().is_ok() {}
        tap.gap(Gap { first: 5, count: 1 });
        let epoch = |published| match published {
            MonitorMessage::Packet(copy) => Some(copy.place.epoch),
            _ => None,
        };
        receiver.try_iter().filter_map(epoch).collect()
    }

    #[test]
    fn a_reset_or_a_gap_that_the_monitor_does_not_learn_of_begins_an_epoch() {
        let (sender, receiver) = sync_channel(16);
        let mut tap = Tap::new(sender, Arc::default(), Board::new());
        let packet = |tap: &mut Tap| tap.packet(0, FeedLine::Incremental(Line::A), &[0]);
        packet(&mut tap);
        tap.reset(1);
        packet(&mut tap);
        assert_eq!(epochs_around_gap(&mut tap, &receiver), [0, 1]);
        // The monitor has learnt of that gap.
        packet(&mut tap);
        assert_eq!(epochs_around_gap(&mut tap, &receiver), [0, 1, 1]);
        // Now the queue is full.
        for _ in 0..16 {
            assert!(tap.send(MonitorMessage::Trades(Vec::new())));
        }
        tap.gap(Gap { first: 9, count: 1 });
        packet(&mut tap);
        assert_eq!(epochs_around_gap(&mut tap, &receiver), [0, 1, 1, 2]);
    }
}
