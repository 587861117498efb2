//! The handler's end: what the thread that receives hands over, without waiting for anybody.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use tickwire_feed::arbiter::{Gap, LineEvent};
use tickwire_feed::handler::{Fault, Source};
use tickwire_feed::market::{Instrument, MarketEvent};
use tickwire_feed::recovery::{Recovery, SnapshotOutcome};

use crate::published::{Counts, Event, Facts, PacketCopy, Published, TradeCopy, Why};
use crate::recent::{Kept, Recent};
use crate::wishes::Wishes;

/// Least time between two publications, in nanoseconds.
pub const PUBLISH_NS: u64 = 100_000_000;
/// Packets handed over around a gap or a fault.
const AROUND: usize = 8;
/// Gaps and faults between two publications whose packets are handed over.
const TOLD_MAX: u32 = 4;
/// Other events between two publications that are handed over.
const EVENTS_MAX: u32 = 64;
/// Packets handed over with a publication while somebody looks at them.
const LOOKED_AT: u64 = 16;

/// Takes what a channel's handler tells and hands it over to the monitor. No call blocks: what finds the queue
/// full is dropped and counted.
#[derive(Debug)]
pub struct Tap {
    sender: SyncSender<Published>,
    wishes: Arc<Wishes>,
    recent: Recent,
    now_ns: u64,
    published_ns: Option<u64>,
    names: usize,
    has_board: bool,
    told: u32,
    events: u32,
    looked_at: u64,
}

impl Tap {
    pub(crate) fn new(sender: SyncSender<Published>, wishes: Arc<Wishes>) -> Self {
        Self {
            sender,
            wishes,
            recent: Recent::new(),
            now_ns: 0,
            published_ns: None,
            names: 0,
            has_board: false,
            told: 0,
            events: 0,
            looked_at: 0,
        }
    }

    fn send(&self, published: Published) -> bool {
        let is_taken = self.sender.try_send(published).is_ok();
        if !is_taken {
            self.wishes.count_dropped();
        }
        is_taken
    }

    /// Keeps a copy of a packet before it is handled.
    #[inline]
    pub fn packet(&mut self, received_ns: u64, source: Source, packet: &[u8]) {
        self.now_ns = received_ns;
        self.recent.keep(received_ns, source, packet);
    }

    fn event(&mut self, event: Event) {
        if self.events >= EVENTS_MAX {
            self.wishes.count_dropped();
            return;
        }
        self.events += 1;
        self.send(Published::Event { at_ns: self.now_ns, event });
    }

    /// Hands over the last packets, unless that was done too often since the last publication.
    fn around(&mut self, why: &Why) {
        if self.told >= TOLD_MAX {
            return;
        }
        self.told += 1;
        for kept in self.recent.last(AROUND) {
            self.copy(&kept, why.clone());
        }
    }

    fn copy(&self, kept: &Kept<'_>, why: Why) {
        let &Kept { received_ns, source, bytes } = kept;
        let copy = PacketCopy { received_ns, source, bytes: bytes.into(), why };
        self.send(Published::Packet(Box::new(copy)));
    }

    /// Numbers are lost on both lines.
    pub fn gap(&mut self, gap: Gap) {
        self.event(Event::Gap(gap));
        self.around(&Why::Gap { first: gap.first });
    }

    /// The numbering began anew.
    pub fn reset(&mut self, seq_num: u64) {
        self.event(Event::Reset { seq_num });
    }

    /// All lines are silent, or no longer.
    pub fn silence(&mut self, is_silent: bool) {
        self.event(Event::Silence { is_silent });
    }

    /// The arbiter changed its mind about a line.
    pub fn line(&mut self, event: &LineEvent) {
        self.event(Event::Line(event.to_string()));
    }

    /// A replay service is asked for a gap.
    pub fn replay_begun(&mut self, gap: Gap) {
        self.event(Event::ReplayBegun(gap));
    }

    /// Nothing more is replayed of a gap.
    pub fn replay_done(&mut self, gap: Gap) {
        self.event(Event::ReplayDone(gap));
    }

    /// A snapshot came, and this became of it.
    pub fn snapshot(&mut self, instrument: Instrument, outcome: SnapshotOutcome) {
        if outcome == SnapshotOutcome::Recovered {
            self.event(Event::SnapshotRecovered(instrument));
        }
    }

    /// Something was wrong with a packet.
    pub fn fault(&mut self, fault: &Fault<'_>) {
        if self.events >= EVENTS_MAX {
            self.wishes.count_dropped();
            return;
        }
        let seq_num = match *fault {
            Fault::Decode { seq_num, .. }
            | Fault::MarketData { seq_num, .. }
            | Fault::MessageHeader { seq_num, .. } => seq_num,
            Fault::Misnumbered { seq_num, .. } => Some(seq_num),
            _ => None,
        };
        let text = fault.to_string();
        self.around(&Why::Failed { text: text.clone(), seq_num });
        self.event(Event::Fault { text, seq_num });
    }

    /// Hands over trades while somebody looks at books.
    #[inline]
    pub fn market(&mut self, event: &MarketEvent<'_>) {
        if let MarketEvent::Trade(trade) = event
            && self.has_board
        {
            let copy = TradeCopy {
                at_ns: self.now_ns,
                instrument: trade.instrument,
                price: trade.price,
                size: trade.size,
                aggressor: trade.aggressor,
            };
            self.send(Published::Trade(copy));
        }
    }

    /// Whether it is time to publish.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.published_ns.is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= PUBLISH_NS)
    }

    /// Publishes all counters at `now_ns`.
    pub fn publish(&mut self, now_ns: u64, facts: &Facts<'_>) {
        self.published_ns = Some(now_ns);
        self.now_ns = now_ns;
        (self.told, self.events) = (0, 0);
        let counts = Counts::new(now_ns, facts, self.names);
        let names = counts.names.len();
        if self.send(Published::Counts(Box::new(counts))) {
            self.names += names;
        }
        let new = self.recent.count().saturating_sub(self.looked_at).min(LOOKED_AT);
        if self.wishes.wants_packets() && new > 0 {
            self.looked_at = self.recent.count();
            for kept in self.recent.last(new as usize) {
                self.copy(&kept, Why::Recent);
            }
        }
    }

    /// Shares the books with the monitor, once somebody wants to see them.
    pub fn share_books(&mut self, recovery: &mut Recovery) {
        if !self.has_board && self.wishes.wants_books() {
            self.has_board = self.send(Published::Board(recovery.reader()));
        }
    }

    /// Whether [`share_books`](Self::share_books) has something to do.
    pub fn wants_books(&self) -> bool {
        !self.has_board && self.wishes.wants_books()
    }
}
