//! Two lines carry the same packets: the first arrival of each number wins.
//!
//! Hand every packet to [`Arbiter::handle_packet`] and call [`Arbiter::poll_output`] until it
//! returns `None`; hand the time to [`Arbiter::handle_timeout`] when [`Arbiter::poll_timeout`] says
//! so, and poll again. Out come the packets in the order of their numbers, each once, with a
//! [`Gap`] in the place of numbers that neither line brought in time.
//!
//! The numbers that come out, delivered or in gaps, are consecutive between two resets. What is
//! held is bounded by [`ArbiterOptions`], and by a few packets more; buffers are used again, so a warm arbiter does not
//! allocate. A packet that turns out to be no good can be handed back ([`Arbiter::reject`]): the other
//! line's copy takes its place. There is no clock inside: time is an argument, in nanoseconds of any origin.
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, Gap, Line, Output};
//!
//! let mut arbiter = Arbiter::new(ArbiterOptions { hold_ns: 1_000, ..Default::default() });
//! arbiter.handle_packet(0, Line::A, 7, b"seven");
//! assert!(matches!(arbiter.poll_output(), Some(Output::Deliver { seq_num: 7, .. })));
//!
//! arbiter.handle_packet(10, Line::A, 9, b"nine");
//! assert_eq!(arbiter.poll_output(), None);
//! assert_eq!(arbiter.poll_timeout(), Some(1_010));
//!
//! arbiter.handle_timeout(1_010);
//! assert_eq!(arbiter.poll_output(), Some(Output::Gap(Gap { first: 8, count: 1 })));
//! assert!(matches!(arbiter.poll_output(), Some(Output::Deliver { seq_num: 9, .. })));
//! ```

mod copies;
mod counters;
mod foreign;
mod history;
mod options;
mod window;

pub use counters::{ArbiterCounters, LineCounters};
pub use options::{ArbiterOptions, ForeignPolicy};

use copies::{Delivered, Rejected};
use foreign::ForeignWatch;
use history::History;
use window::{Held, Window};

/// Numbers above this are foreign whatever the options, so that arithmetic never wraps.
const SEQ_NUM_MAX: u64 = u64::MAX / 2;

/// Most numbers that one packet carries: a datagram has no more bytes.
const PACKET_NUMBERS_MAX: u64 = 65_535;

/// One of the two multicast lines of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// The first line.
    A,
    /// The second line.
    B,
}

impl Line {
    /// Both lines.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// The other line.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// 0 for A, 1 for B.
    pub const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

/// Consecutive sequence numbers that no line brought in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first missing number.
    pub first: u64,
    /// How many are missing, at least 1.
    pub count: u64,
}

impl Gap {
    /// The last missing number.
    pub const fn last(&self) -> u64 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }
}

/// What comes out of an arbiter, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// The packet of the next number.
    Deliver {
        /// Its sequence number.
        seq_num: u64,
        /// The line that brought it first.
        line: Line,
        /// When it came, as told to [`Arbiter::handle_packet`].
        received_ns: u64,
        /// The packet.
        bytes: &'a [u8],
    },
    /// The next numbers are lost.
    Gap(Gap),
    /// The numbering begins anew; nothing is known about what lies before.
    Reset {
        /// The number that comes next.
        seq_num: u64,
    },
}

/// A packet that gets its place when the numbers before it have been polled.
#[derive(Clone, Copy, Debug)]
struct Parked {
    seq_num: u64,
    held: Held,
}

/// Makes one ordered row of packets of two lines. See the [module](self).
#[derive(Debug)]
pub struct Arbiter {
    options: ArbiterOptions,
    window: Window,
    history: History,
    foreign: ForeignWatch,
    /// The number waited for; `None` before the first packet.
    next: Option<u64>,
    /// Where the numbering began.
    first: u64,
    /// The number after the highest one accepted.
    top: u64,
    /// Missing numbers below this one are no longer waited for.
    released: u64,
    parked: Option<Parked>,
    /// The packet delivered last, until anything else is asked for or comes.
    delivered: Option<Delivered>,
    /// The packet whose copy is waited for.
    rejected: Option<Rejected>,
    /// Copies that differ from the packets held with their numbers.
    alternatives: Vec<(u64, Held)>,
    /// Where a new numbering begins once what is held has been polled.
    reset_to: Option<u64>,
    /// The time, as told last.
    now_ns: u64,
    /// When the oldest held packet came; may be too early while output waits to be polled.
    oldest_ns: Option<u64>,
    highest: [Option<u64>; 2],
    lines: [LineCounters; 2],
    counters: ArbiterCounters,
}

impl Arbiter {
    /// Creates an arbiter that has seen nothing.
    pub fn new(options: ArbiterOptions) -> Self {
        let window = Window::new(options.packets_held_max);
        let span = window.span();
        Self {
            history: History::new(options.behind_max, span as usize),
            foreign: ForeignWatch::new(options.foreign, span),
            next: options.first_seq_num.map(|first| first.min(SEQ_NUM_MAX)),
            first: options.first_seq_num.unwrap_or(0).min(SEQ_NUM_MAX),
            top: 0,
            released: 0,
            parked: None,
            delivered: None,
            rejected: None,
            alternatives: Vec::new(),
            reset_to: None,
            now_ns: 0,
            oldest_ns: None,
            highest: [None; 2],
            lines: [LineCounters::default(); 2],
            counters: ArbiterCounters::default(),
            window,
            options,
        }
    }

    /// The number waited for, `None` before the first packet.
    pub fn next_seq_num(&self) -> Option<u64> {
        self.next
    }

    /// Packets held at the moment.
    pub fn packets_held(&self) -> usize {
        self.window.held() + usize::from(self.parked.is_some())
    }

    /// What a line brought so far.
    pub fn line_counters(&self, line: Line) -> LineCounters {
        self.lines[line.index()]
    }

    /// What was done with both lines together.
    pub fn counters(&self) -> ArbiterCounters {
        self.counters
    }

    /// Takes a packet that came on `line` at `now_ns`.
    pub fn handle_packet(&mut self, now_ns: u64, line: Line, seq_num: u64, bytes: &[u8]) {
        self.delivered = None;
        self.note_order(line, seq_num);
        self.sort_packet(now_ns, line, seq_num, bytes);
        self.handle_timeout(now_ns);
    }

    /// Gives up the numbers that have been waited for long enough at `now_ns`.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        let hold_ns = self.options.hold_ns;
        let is_due = |since_ns: u64| now_ns >= since_ns.saturating_add(hold_ns);
        let (Some(next), Some(oldest_ns)) = (self.next, self.oldest_ns) else { return };
        if !is_due(oldest_ns) {
            return;
        }
        let due = self.window.from(next).filter(|(_, held)| is_due(held.received_ns));
        if let Some((seq_num, _)) = due.last() {
            self.released = self.released.max(seq_num);
        }
        if let Some(rejected) = self.rejected.filter(|r| is_due(r.held.received_ns)) {
            self.released = self.released.max(rejected.seq_num.saturating_add(1));
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout); `None` while nothing is held.
    pub fn poll_timeout(&self) -> Option<u64> {
        Some(self.oldest_ns?.saturating_add(self.options.hold_ns))
    }

    /// Begins a new numbering at `seq_num`, as a message of the feed may order. What is held of the
    /// old one is delivered first.
    pub fn reset(&mut self, seq_num: u64) {
        let seq_num = seq_num.min(SEQ_NUM_MAX);
        self.next.get_or_insert(seq_num);
        if let Some(parked) = self.parked.take() {
            let counters = &mut self.lines[parked.held.line.index()];
            counters.won -= 1;
            counters.not_polled += 1;
            self.window.discard(parked.held);
        }
        self.reset_to = Some(seq_num);
    }

    /// Says that the packet delivered last carried every number below `next`, not just its own: for
    /// feeds that number messages and put several into a packet. To be called before the next
    /// [`poll_output`](Self::poll_output); a number that is not ahead, or further than the bytes of a
    /// datagram, changes nothing.
    pub fn advance_to(&mut self, next: u64) {
        let Some(expected) = self.next else { return };
        if next <= expected || next - expected > PACKET_NUMBERS_MAX {
            return;
        }
        for seq_num in expected..next {
            // A packet that begins inside the one delivered brings nothing new.
            if let Some(held) = self.window.take(seq_num) {
                let is_substitute = self.rejected.is_some_and(|r| r.seq_num == seq_num);
                let counters = &mut self.lines[held.line.index()];
                *(if is_substitute { &mut counters.substitute } else { &mut counters.won }) -= 1;
                counters.duplicate += 1;
            }
            self.history.mark_accepted(seq_num);
        }
        if let Some(parked) = self.parked.take_if(|parked| parked.seq_num < next) {
            self.lines[parked.held.line.index()].won -= 1;
            self.lines[parked.held.line.index()].duplicate += 1;
            self.window.discard(parked.held);
        }
        self.forget_copies(next);
        self.history.advance(expected, next - expected);
        self.next = Some(next);
        self.top = self.top.max(next);
    }

    /// The next packet, gap or reset; `None` when there is nothing to do but wait. A packet's bytes
    /// are valid until the next call.
    pub fn poll_output(&mut self) -> Option<Output<'_>> {
        self.delivered = None;
        if let Some(next) = self.next.filter(|_| !self.alternatives.is_empty()) {
            self.forget_copies(next);
        }
        let next = self.settle()?;
        if self.window.at(next).is_some() {
            return self.deliver(next);
        }
        if next < self.released {
            return Some(Output::Gap(self.declare_gap(next)));
        }
        Some(self.begin_at(self.reset_to?))
    }

    /// Makes room until the next number can be delivered or given up, or a reset is due; returns
    /// `None` if there is nothing to do.
    fn settle(&mut self) -> Option<u64> {
        loop {
            let next = self.next?;
            if self.window.at(next).is_some() || next < self.released {
                return Some(next);
            }
            if self.reset_to.is_some() {
                if self.window.held() == 0 && self.rejected.is_none() {
                    return Some(next);
                }
                self.release_all();
            } else if let Some(parked) = self.parked.take() {
                self.place(parked, next);
            } else {
                let held = self.window.from(next).map(|(_, held)| held.received_ns);
                let rejected = self.rejected.map(|rejected| rejected.held.received_ns);
                self.oldest_ns = held.chain(rejected).min();
                return None;
            }
        }
    }

    fn note_order(&mut self, line: Line, seq_num: u64) {
        let counters = &mut self.lines[line.index()];
        counters.received += 1;
        let Some(highest) = self.highest[line.index()] else { return };
        let behind = highest.saturating_sub(seq_num);
        if behind > 0 && behind <= self.options.behind_max as u64 {
            counters.out_of_order += 1;
            counters.out_of_order_by_max = counters.out_of_order_by_max.max(behind);
        }
    }

    fn note_highest(&mut self, line: Line, seq_num: u64) {
        let highest = &mut self.highest[line.index()];
        *highest = Some(highest.map_or(seq_num, |highest| highest.max(seq_num)));
    }

    fn sort_packet(&mut self, now_ns: u64, line: Line, seq_num: u64, bytes: &[u8]) {
        if bytes.len() > self.options.packet_bytes_max {
            self.lines[line.index()].too_long += 1;
        } else if seq_num > SEQ_NUM_MAX {
            self.lines[line.index()].foreign += 1;
        } else if self.parked.is_some() || self.reset_to.is_some() {
            self.lines[line.index()].not_polled += 1;
        } else {
            let next = *self.next.get_or_insert_with(|| {
                self.first = seq_num;
                seq_num
            });
            if seq_num < next {
                self.handle_behind(now_ns, line, seq_num, next, bytes);
            } else if seq_num.saturating_sub(self.top.max(next)) >= self.ahead_max() {
                self.handle_foreign(now_ns, line, seq_num, bytes);
            } else {
                self.handle_ahead(now_ns, line, seq_num, next, bytes);
            }
        }
    }

    fn ahead_max(&self) -> u64 {
        self.options.ahead_max.max(self.window.span())
    }

    /// A number that has been delivered or given up.
    fn handle_behind(&mut self, now_ns: u64, line: Line, seq_num: u64, next: u64, bytes: &[u8]) {
        if next - seq_num > self.options.behind_max as u64 {
            return self.handle_foreign(now_ns, line, seq_num, bytes);
        }
        self.note_highest(line, seq_num);
        let fate = self.history.fate(seq_num);
        let counters = &mut self.lines[line.index()];
        if seq_num >= self.first && !fate.was_seen_on(line) {
            counters.lost = counters.lost.saturating_sub(1);
            self.history.mark_seen(seq_num, line);
        }
        if fate.was_accepted() {
            counters.duplicate += 1;
        } else {
            counters.late += 1;
        }
    }

    /// A number that is waited for or may be held.
    fn handle_ahead(&mut self, now_ns: u64, line: Line, seq_num: u64, next: u64, bytes: &[u8]) {
        self.note_highest(line, seq_num);
        let is_in_window = seq_num - next < self.window.span();
        if is_in_window && self.history.fate(seq_num).was_accepted() {
            self.lines[line.index()].duplicate += 1;
            self.history.mark_seen(seq_num, line);
            return self.keep_alternative(now_ns, line, seq_num, bytes);
        }
        if self.is_rejected(line, seq_num, bytes) {
            self.lines[line.index()].duplicate += 1;
            self.history.mark_seen(seq_num, line);
            return;
        }
        self.foreign.forget();
        self.top = self.top.max(seq_num + 1);
        let is_substitute = self.rejected.is_some_and(|rejected| rejected.seq_num == seq_num);
        let counters = &mut self.lines[line.index()];
        *(if is_substitute { &mut counters.substitute } else { &mut counters.won }) += 1;
        let held = self.window.store(line, now_ns, bytes);
        if is_in_window {
            self.hold(seq_num, held);
        } else {
            self.released = self.released.max(seq_num - (self.window.span() - 1));
            self.parked = Some(Parked { seq_num, held });
        }
    }

    fn hold(&mut self, seq_num: u64, held: Held) {
        self.history.mark_seen(seq_num, held.line);
        self.history.mark_accepted(seq_num);
        self.oldest_ns =
            Some(self.oldest_ns.map_or(held.received_ns, |ns| ns.min(held.received_ns)));
        self.window.insert(seq_num, held);
        self.counters.held_peak = self.counters.held_peak.max(self.window.held());
    }

    fn handle_foreign(&mut self, now_ns: u64, line: Line, seq_num: u64, bytes: &[u8]) {
        let Some(first) = self.foreign.observe(seq_num) else {
            self.lines[line.index()].foreign += 1;
            return;
        };
        self.lines[line.index()].won += 1;
        let held = self.window.store(line, now_ns, bytes);
        self.parked = Some(Parked { seq_num, held });
        if self.next.is_some_and(|next| first > next) {
            self.release_all();
            self.released = self.released.max(first);
        } else {
            self.reset_to = Some(first);
        }
    }

    /// Stops waiting for whatever is missing before the last packet held.
    fn release_all(&mut self) {
        let Some(next) = self.next else { return };
        if let Some((seq_num, _)) = self.window.from(next).last() {
            self.released = self.released.max(seq_num);
        }
        if let Some(rejected) = self.rejected {
            self.released = self.released.max(rejected.seq_num.saturating_add(1));
        }
    }

    fn deliver(&mut self, next: u64) -> Option<Output<'_>> {
        let is_substitute = self.end_rejection(next);
        let held = self.window.take(next)?;
        self.pass(next, 1);
        self.counters.delivered += u64::from(!is_substitute);
        self.delivered = Some(Delivered { seq_num: next, held, is_substitute });
        let Held { line, received_ns, .. } = held;
        Some(Output::Deliver { seq_num: next, line, received_ns, bytes: self.window.bytes(&held) })
    }

    /// The missing numbers from `next` to the first packet held, as far as they are released.
    fn declare_gap(&mut self, next: u64) -> Gap {
        if self.end_rejection(next) {
            self.pass(next, 1);
            return Gap { first: next, count: 1 };
        }
        let first_held = self.window.from(next).next().map(|(seq_num, _)| seq_num);
        let end = first_held.unwrap_or(self.released).min(self.released);
        let gap = Gap { first: next, count: end - next };
        self.pass(next, gap.count);
        self.counters.gaps += 1;
        self.counters.gap_seq_nums = self.counters.gap_seq_nums.saturating_add(gap.count);
        gap
    }

    /// Moves behind `count` numbers that share a fate.
    fn pass(&mut self, next: u64, count: u64) {
        let fate = self.history.fate(next);
        for line in Line::ALL {
            if count > 1 || !fate.was_seen_on(line) {
                let lost = &mut self.lines[line.index()].lost;
                *lost = lost.saturating_add(count);
            }
        }
        self.history.advance(next, count);
        self.next = Some(next + count);
    }

    fn begin_at(&mut self, seq_num: u64) -> Output<'static> {
        self.reset_to = None;
        self.forget_copies(u64::MAX);
        self.next = Some(seq_num);
        self.first = seq_num;
        self.released = seq_num;
        self.top = seq_num;
        self.history.clear();
        self.foreign.forget();
        self.highest = [None; 2];
        self.oldest_ns = None;
        self.counters.resets += 1;
        Output::Reset { seq_num }
    }

    /// Puts the parked packet where it belongs, now that the numbers before it are gone.
    fn place(&mut self, parked: Parked, next: u64) {
        let reach = self.window.span() - 1;
        if parked.seq_num.saturating_sub(next) > reach {
            self.released = parked.seq_num - reach;
            self.parked = Some(parked);
        } else {
            self.hold(parked.seq_num, parked.held);
        }
    }
}

#[cfg(test)]
mod tests;
