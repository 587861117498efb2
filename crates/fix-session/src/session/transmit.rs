//! Output of a session: bytes ready to be written, and messages waiting in the store.
//!
//! The number of ready bytes is bounded. While the peer does not read, or during a resend, new
//! messages wait in the store and are read from there in order. A resend of a million messages, or
//! a peer that stops reading, therefore needs no additional memory.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use tickwire_fix::UtcTimestamp;

use super::assemble::again;
use super::core::Core;
use super::event::{DisconnectReason, OutgoingHeader};
use super::hooks::may_go_again;
use super::send::{HeaderStamp, encode_new};
use crate::error::{SendError, StoreError};
use crate::log::{Direction, push_line};
use crate::now::Now;
use crate::store::Store;
use crate::tags;

/// Bytes prepared for writing at a time.
const CHUNK: usize = 64 << 10;
/// Capacity of the output buffer that is kept when nothing waits; a larger one, grown by a slow
/// peer, is released.
const KEPT_MAX: usize = 4 * CHUNK;
/// Most queued resend requests; further ones are dropped, and the peer requests again.
const REPLAYS_MAX: usize = 16;
/// Most ranges examined per call.
const STRETCHES_MAX: usize = REPLAYS_MAX + 1;
/// Most queued session messages; further ones are gap-filled.
const LATE_MAX: usize = 1024;

/// A range of messages to read from the store.
#[derive(Clone, Copy, Debug)]
struct StoreReplay {
    next: u64,
    end: u64,
    /// First of the consecutive numbers before `next` that have no message.
    gap_from: Option<u64>,
    /// True for a resend.
    again: bool,
}

/// The output of a session.
#[derive(Debug, Default)]
pub(super) struct Transmit {
    pub scratch: Vec<u8>,
    pub out: Vec<u8>,
    /// Lines of the message log, if it is kept.
    pub log: Option<Vec<u8>>,
    written: usize,
    replays: VecDeque<StoreReplay>,
    /// Messages that were not sent yet, up to the newest.
    lag: Option<StoreReplay>,
    /// Bytes of these messages.
    pub lag_bytes: u64,
    /// Session messages among them, by MsgSeqNum.
    late: BTreeMap<u64, Box<[u8]>>,
    stored: Vec<u8>,
    /// The current message: a resend of a stored one, or a new one changed by hooks.
    pub made: Vec<u8>,
    /// The fields of `made`.
    content: Vec<u8>,
}

impl Transmit {
    pub fn new(with_log: bool) -> Self {
        Self { log: with_log.then(Vec::new), ..Self::default() }
    }

    pub fn pending(&self) -> &[u8] {
        self.out.get(self.written..).unwrap_or_default()
    }

    /// Appends a message to the ready bytes and to the log.
    pub fn push(out: &mut Vec<u8>, log: &mut Option<Vec<u8>>, now: Now, message: &[u8]) {
        out.extend_from_slice(message);
        if let Some(log) = log {
            push_line(log, now, Direction::Out, message);
        }
    }

    pub fn written(&mut self, len: usize) {
        self.written = (self.written + len).min(self.out.len());
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
            if self.out.capacity() > KEPT_MAX {
                self.out.shrink_to(CHUNK);
            }
        } else if self.written > CHUNK {
            self.out.drain(..self.written);
            self.written = 0;
        }
    }

    /// True if a new message must wait.
    pub fn lags(&self, transmit_len_max: usize) -> bool {
        self.lag.is_some()
            || !self.replays.is_empty()
            || self.out.len() - self.written > transmit_len_max
    }

    /// Returns the number of messages that were not sent yet.
    pub fn backlog(&self, next_sender: u64) -> u64 {
        self.lag.map_or(0, |lag| next_sender.saturating_sub(lag.next))
    }

    /// True if a resend is not complete.
    pub fn is_resending(&self) -> bool {
        !self.replays.is_empty()
    }

    /// Queues the message with this number, and all after it.
    pub fn lag_from(&mut self, seq_num: u64, len: usize) {
        self.lag_bytes = self.lag_bytes.saturating_add(len as u64);
        let lag = StoreReplay { next: seq_num, end: u64::MAX, gap_from: None, again: false };
        self.lag.get_or_insert(lag);
    }

    /// Queues a session message.
    pub fn lag_with(&mut self, seq_num: u64, message: Box<[u8]>) {
        self.lag_from(seq_num, message.len());
        if self.late.len() < LATE_MAX {
            self.late.insert(seq_num, message);
        }
    }

    pub fn replay(&mut self, begin: u64, end: u64) {
        if begin <= end && self.replays.len() < REPLAYS_MAX {
            self.replays.push_back(StoreReplay { next: begin, end, gap_from: None, again: true });
        }
    }

    /// Drops all resends and queued messages, but not the ready bytes.
    pub fn forget_replays(&mut self) {
        self.replays.clear();
        self.forget_lag();
    }

    /// Drops the queue of unsent messages: the peer finds their numbers missing and requests them.
    pub fn forget_lag(&mut self) {
        self.lag = None;
        self.lag_bytes = 0;
        self.late.clear();
    }

    /// Drops everything.
    pub fn disconnected(&mut self) {
        self.forget_replays();
        self.discard();
    }

    /// Drops the ready bytes.
    pub fn discard(&mut self) {
        self.out.clear();
        self.written = 0;
    }
}

impl<S: Store> Core<S> {
    /// Resends the messages from `begin` to `end`.
    pub(super) fn replay(&mut self, begin: u64, end: u64) {
        // Messages that were not sent yet need no resend: they follow anyway.
        let sent = self.transmit.lag.map_or(u64::MAX, |lag| lag.next.saturating_sub(1));
        self.transmit.replay(begin, end.min(sent));
    }

    /// True if more messages must be read from the store although no bytes are ready: none of the
    /// last messages read is resent.
    pub(super) fn has_to_go_on(&self) -> bool {
        let transmit = &self.transmit;
        let waits = transmit.is_resending() || transmit.lag.is_some() && !self.awaits_reset();
        waits && self.is_established() && transmit.pending().is_empty()
    }

    /// Reads messages from the store until enough bytes are ready or enough messages were examined.
    /// The rest is left to the next call, so that other sessions do not wait.
    pub(super) fn pump(&mut self, now: Now) {
        let mut stretches = 0..STRETCHES_MAX;
        while self.is_established()
            && self.transmit.pending().len() < CHUNK
            && stretches.next().is_some()
        {
            let (mut replay, again) = if let Some(replay) = self.transmit.replays.pop_front() {
                (replay, true)
            } else if let Some(lag) = self.transmit.lag.take_if(|_| self.sent_reset_ns.is_none()) {
                (StoreReplay { end: self.store.next_sender().saturating_sub(1), ..lag }, false)
            } else {
                return;
            };
            let outcome = self.replay_some(now, &mut replay);
            let goes_on = replay.next <= replay.end || replay.gap_from.is_some();
            match (outcome, again) {
                (Err(SendError::Store(error)), _) => return self.store_failed(&error),
                (Err(error), _) => {
                    return self.close(DisconnectReason::Unsendable(error.to_string()));
                }
                (Ok(()), true) if goes_on => self.transmit.replays.push_front(replay),
                (Ok(()), false) if goes_on => self.transmit.lag = Some(replay),
                (Ok(()), true) => {}
                (Ok(()), false) => self.transmit.lag_bytes = 0,
            }
            self.last_sent_ns = now.steady_ns;
            self.resent_ns = self.sent_logout_ns.map(|_| now.steady_ns);
        }
    }

    /// Reads messages until enough bytes are ready, enough messages were examined, or the range
    /// ends.
    fn replay_some(&mut self, now: Now, replay: &mut StoreReplay) -> Result<(), SendError> {
        let mut looked_at = 0;
        while replay.next <= replay.end
            && self.transmit.pending().len() < CHUNK
            && looked_at < CHUNK
        {
            self.replay_next(now, replay)?;
            looked_at += self.transmit.stored.len();
        }
        if replay.next > replay.end
            && let Some(gap_from) = replay.gap_from.take()
        {
            self.fill_gap(now, gap_from, replay.next)?;
        }
        Ok(())
    }

    /// Finds the next message of a range and sends it, or records that the rest of the range has
    /// none.
    ///
    /// Spec: FIX session layer, test case 8 (session messages are gap-filled).
    fn replay_next(&mut self, now: Now, replay: &mut StoreReplay) -> Result<(), SendError> {
        let Self { transmit, store, .. } = self;
        transmit.stored.clear();
        let stored = store.read_next(replay.next, &mut transmit.stored)?;
        let late = transmit.late.range(replay.next..).next().map(|(number, _)| *number);
        let late = late.filter(|_| !replay.again);
        let found = [stored, late].into_iter().flatten().min();
        let Some(seq_num) = found.filter(|found| *found <= replay.end) else {
            replay.gap_from.get_or_insert(replay.next);
            replay.next = replay.end.saturating_add(1);
            return Ok(());
        };
        if seq_num > replay.next {
            replay.gap_from.get_or_insert(replay.next);
        }
        replay.next = seq_num.saturating_add(1);
        let late = if late == found { self.transmit.late.remove(&seq_num) } else { None };
        if replay.again && !self.make_again(now, seq_num)? {
            replay.gap_from.get_or_insert(seq_num);
            return Ok(());
        }
        if let Some(gap_from) = replay.gap_from.take() {
            self.fill_gap(now, gap_from, seq_num)?;
        }
        let Self { transmit, counters, .. } = self;
        if let Some(message) = late {
            transmit.lag_bytes = transmit.lag_bytes.saturating_sub(message.len() as u64);
            Transmit::push(&mut transmit.out, &mut transmit.log, now, &message);
        } else if replay.again {
            Transmit::push(&mut transmit.out, &mut transmit.log, now, &transmit.made);
            counters.resent += 1;
        } else {
            let len = transmit.stored.len() as u64;
            transmit.lag_bytes = transmit.lag_bytes.saturating_sub(len);
            Transmit::push(&mut transmit.out, &mut transmit.log, now, &transmit.stored);
        }
        Ok(())
    }

    /// Converts the stored message to a possible duplicate; returns true if it is to be resent.
    ///
    /// Spec: FIX session layer, test case 8 (PossDupFlag, OrigSendingTime).
    fn make_again(&mut self, now: Now, seq_num: u64) -> Result<bool, SendError> {
        let last_processed = self.last_processed();
        let Self { transmit, config, replay_reader, .. } = self;
        let Transmit { stored, made, content, .. } = transmit;
        let message = replay_reader.decode(stored).map_err(|error| {
            let source = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
            StoreError::new(format!("send message {seq_num} again"), source)
        })?;
        if !may_go_again(config, &message) {
            return Ok(false);
        }
        again(made, content, config, now, last_processed, &message);
        Ok(true)
    }

    /// Sends a gap fill for the numbers from `begin` to before `end`.
    ///
    /// Spec: FIX session layer, test case 8 (Sequence Reset with GapFillFlag).
    fn fill_gap(&mut self, now: Now, begin: u64, end: u64) -> Result<(), SendError> {
        let orig = Some(UtcTimestamp::from_unix_nanos(now.wall_ns));
        let stamp =
            HeaderStamp { now, seq_num: begin, orig, last_processed: self.last_processed() };
        let Self { transmit, config, .. } = self;
        let head = OutgoingHeader::new("4");
        let message = encode_new(&mut transmit.scratch, config, &stamp, &head, |mut writer| {
            writer.uint(tags::NEW_SEQ_NO, end);
            writer.boolean(tags::GAP_FILL_FLAG, true);
            writer
        })?;
        Transmit::push(&mut transmit.out, &mut transmit.log, now, message);
        Ok(())
    }
}
