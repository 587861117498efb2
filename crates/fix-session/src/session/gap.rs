//! Missing messages, in both directions.

use tickwire_fix::{FixMessage, SessionRejectReason};

use super::core::{Core, ResendRange};
use super::event::SessionEvent;
use super::head::SessionHeader;
use super::receive::SeqNumCheck;
use crate::id::BeginString;
use crate::now::{Now, SECOND_NS};
use crate::store::Store;
use crate::tags;

/// EndSeqNo that means "to the last message" before FIX 4.2.
const LAST_BEFORE_42: u64 = 999_999;
/// Time without any requested message after which the request is repeated.
const ASK_AGAIN_NS: u64 = 60 * SECOND_NS;
/// Number of times that this wait is doubled, up to about an hour.
const ASK_AGAIN_DOUBLINGS_MAX: u32 = 6;

impl<S: Store> Core<S> {
    /// Holds a message that arrived early; `None` for one that is already handled.
    ///
    /// Spec: FIX session layer, test case 2b (MsgSeqNum too high), ordered message processing.
    pub(super) fn hold(&mut self, seq_num: u64, message: Option<&[u8]>) {
        let limits = &self.config.limits;
        let len = message.map_or(0, <[u8]>::len);
        let fits = self.held.messages.len() < limits.held_max
            && self.held.bytes + len <= limits.held_bytes_max;
        if fits && !self.held.messages.contains_key(&seq_num) {
            self.held.messages.insert(seq_num, message.map(Into::into));
            self.held.bytes += len;
        }
    }

    /// Moves the expected message to `out` if it is held.
    pub(super) fn take_held(&mut self, out: &mut Vec<u8>) -> bool {
        while let Some(entry) = self.held.messages.first_entry() {
            let seq_num = *entry.key();
            let expected = self.store.next_target();
            if seq_num > expected {
                return false;
            }
            let message = entry.remove();
            self.held.bytes -= message.as_ref().map_or(0, |message| message.len());
            if seq_num < expected {
                continue;
            }
            let Some(message) = message else {
                self.count_received(seq_num);
                continue;
            };
            out.clear();
            out.extend_from_slice(&message);
            return true;
        }
        false
    }

    /// Requests the messages missing before `seq_num`, unless they were already requested.
    ///
    /// Spec: FIX session layer, test cases 1a, 2b and 20 (one Resend Request per gap).
    pub(super) fn ask_for_missing(&mut self, now: Now, seq_num: u64) {
        let again = self.config.redundant_resend_requests;
        if self.asked.is_some_and(|asked| !again && seq_num >= asked.begin) {
            return;
        }
        self.ask(now, seq_num.saturating_sub(1));
    }

    /// Records the gap before `seq_num`; the peer resends it unprompted (789).
    pub(super) fn expect_missing(&mut self, seq_num: u64) {
        let (begin, end) = (self.store.next_target(), seq_num.saturating_sub(1));
        let since_ns = self.last_received_ns;
        self.asked =
            Some(ResendRange { begin, end, missing_end: end, expected: begin, since_ns, times: 0 });
        self.notices.push_back(SessionEvent::Gap { begin, end });
    }

    fn ask(&mut self, now: Now, missing_end: u64) {
        let begin = self.store.next_target();
        let chunk = self.config.resend_request_max;
        let end = match chunk {
            0 => missing_end,
            chunk => missing_end.min(begin.saturating_add(chunk - 1)),
        };
        let is_last = end == missing_end;
        let written = match self.config.id.begin_string {
            _ if !is_last || self.config.closed_resend_interval => end,
            BeginString::Fix40 | BeginString::Fix41 => LAST_BEFORE_42,
            _ => 0,
        };
        let since_ns = now.steady_ns;
        self.asked =
            Some(ResendRange { begin, end, missing_end, expected: begin, since_ns, times: 1 });
        self.counters.gaps += 1;
        self.notices.push_back(SessionEvent::Gap { begin, end });
        self.send_admin(now, "2", |writer| {
            writer.uint(tags::BEGIN_SEQ_NO, begin);
            writer.uint(tags::END_SEQ_NO, written);
        });
    }

    /// Checks whether the requested messages have arrived, and requests the next part.
    pub(super) fn after_received(&mut self, now: Now) {
        let Some(asked) = &mut self.asked else { return };
        let expected = self.store.next_target();
        if expected > asked.expected {
            (asked.expected, asked.since_ns, asked.times) = (expected, now.steady_ns, 1);
        }
        let ResendRange { end, missing_end, .. } = *asked;
        if expected > missing_end {
            self.asked = None;
            self.was_too_long = false;
        } else if expected > end && self.is_open() {
            self.ask(now, missing_end);
        }
    }

    /// Returns when missing messages are requested again because none of them has arrived: after
    /// one minute, then two, four and so on.
    pub(super) fn ask_again_ns(&self) -> Option<u64> {
        let asked = self.asked.filter(|_| self.is_logged_on())?;
        let wait_ns = ASK_AGAIN_NS << asked.times.saturating_sub(1).min(ASK_AGAIN_DOUBLINGS_MAX);
        Some(asked.since_ns.saturating_add(wait_ns))
    }

    /// Repeats the request for the messages that have not arrived.
    pub(super) fn ask_again(&mut self, now: Now) {
        let Some(before) = self.asked else { return };
        self.ask(now, before.missing_end);
        if let Some(asked) = &mut self.asked {
            asked.times = before.times + 1;
        }
    }

    /// Continues sending with a higher sequence number.
    ///
    /// Spec: FIX session layer, test case 11a (sender).
    pub(super) fn skip_to(&mut self, now: Now, seq_num: u64) -> bool {
        let waits = self.transmit.lags(self.config.limits.transmit_len_max);
        if !self.is_logged_on() || waits || seq_num <= self.store.next_sender() {
            return false;
        }
        self.send_admin(now, "4", |writer| writer.uint(tags::NEW_SEQ_NO, seq_num));
        self.with_store(|store| store.set_next_sender(seq_num));
        true
    }

    /// Handles a Sequence Reset.
    ///
    /// Spec: FIX session layer, test cases 10 (Gap Fill; 10e: not above its own number) and 11a to 11c (Reset).
    pub(super) fn handle_sequence_reset(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
    ) {
        let is_gap_fill =
            message.field(tags::GAP_FILL_FLAG).is_some_and(|field| field.value == b"Y");
        let order = if is_gap_fill { SeqNumCheck::Exact } else { SeqNumCheck::Any };
        if !self.verify(now, message, head, order) {
            return;
        }
        let Some(new) = Self::number(message, tags::NEW_SEQ_NO) else {
            let (reason, tag) = match message.field(tags::NEW_SEQ_NO) {
                None => (SessionRejectReason::RequiredTagMissing, &b"36"[..]),
                Some(_) => (SessionRejectReason::IncorrectDataFormat, &b"36"[..]),
            };
            self.refuse(now, message, head, reason, Some(tag));
            return;
        };
        let expected = self.store.next_target();
        let fills_nothing = is_gap_fill && self.config.check_seq_nums && new <= head.seq_num;
        if new < expected || fills_nothing {
            self.refuse(now, message, head, SessionRejectReason::ValueIncorrect, None);
        } else if new > expected {
            self.with_store(|store| store.set_next_target(new));
            if is_gap_fill {
                self.after_gap_fill(now, new);
            }
        }
    }

    /// Requests the next part if a gap fill ends with the last number of the requested part.
    /// Engines of the QuickFIX family count NewSeqNo as filled there, and would send nothing more.
    fn after_gap_fill(&mut self, now: Now, new: u64) {
        let Some(ResendRange { end, missing_end, .. }) = self.asked else { return };
        if new == end && end < missing_end && self.is_open() {
            self.ask(now, missing_end);
        }
    }

    /// Handles a Resend Request.
    ///
    /// Spec: FIX session layer, test cases 8 (resend) and 20 (both sides request: resend first,
    /// then request). Case 8_OnlyAdminMessages of the acceptance suite also requires an answer to a
    /// request whose MsgSeqNum is too low.
    pub(super) fn handle_resend_request(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
    ) {
        if !self.verify(now, message, head, SeqNumCheck::Any) {
            return;
        }
        let Some((begin, end)) = self.requested(now, message, head) else { return };
        let is_early = self.config.check_seq_nums && head.seq_num > self.store.next_target();
        if self.is_due(head.seq_num) {
            self.count_received(head.seq_num);
        } else if is_early {
            self.hold(head.seq_num, None);
        }
        let last = self.store.next_sender().saturating_sub(1);
        let to_last =
            end == 0 || self.config.id.begin_string <= BeginString::Fix42 && end == LAST_BEFORE_42;
        let end = if to_last { last } else { end.min(last) };
        let begin = begin.max(1);
        self.notices.push_back(SessionEvent::ResendRequested { begin, end });
        self.replay(begin, end);
        // Serve the peer's request first; otherwise two sides that both miss messages would wait
        // for each other.
        if is_early {
            self.ask_for_missing(now, head.seq_num);
        }
    }

    /// Returns the numbers that a Resend Request asks for; rejects a request without them.
    fn requested(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
    ) -> Option<(u64, u64)> {
        let mut numbers = [0; 2];
        for (place, tag) in numbers.iter_mut().zip([tags::BEGIN_SEQ_NO, tags::END_SEQ_NO]) {
            let Some(number) = Self::number(message, tag) else {
                let reason = match message.field(tag) {
                    None => SessionRejectReason::RequiredTagMissing,
                    Some(_) => SessionRejectReason::IncorrectDataFormat,
                };
                let tag = tag.to_string();
                self.refuse(now, message, head, reason, Some(tag.as_bytes()));
                return None;
            };
            *place = number;
        }
        let [begin, end] = numbers;
        Some((begin, end))
    }
}
