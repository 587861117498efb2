//! Handling of received messages.

use tickwire_fix::{FixMessage, SessionRejectReason, Tag};

use super::admission::{
    Refusal, admit, check_credentials, is_in_time, knows, logon_validator, one_field,
};
use super::core::Core;
use super::event::{DisconnectReason, SessionEvent};
use super::head::SessionHeader;
use super::is_admin;
use crate::id::{ApplVersion, BeginString};
use crate::now::Now;
use crate::store::Store;
use crate::tags;

/// The outcome of a received message.
pub(super) enum ReceiveOutcome {
    /// The application decides on the Logon.
    Authenticate,
    /// The application gets the message.
    Deliver { seq_num: u64, poss_dup: bool, poss_resend: bool },
    /// The session has handled it.
    Done,
}

/// The check of MsgSeqNum against the expected number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SeqNumCheck {
    /// No check.
    Any,
    /// MsgSeqNum must be neither lower nor higher.
    Exact,
}

impl<S: Store> Core<S> {
    /// Records bytes that are not a message, or a garbled message.
    ///
    /// Spec: FIX session layer, test cases 2d, 3b and 3c (garbled: ignored, the number is still
    /// expected).
    pub(super) fn handle_garbage(&mut self) {
        self.counters.garbled += 1;
        if !self.received_logon {
            self.close(DisconnectReason::NotLoggedOn);
        }
    }

    /// Records a message longer than the limit. Its number is missing from then on. If the peer
    /// resends it on request, it can never be received, and the session ends with an error.
    pub(super) fn handle_too_long(&mut self, now: Now, len: usize) {
        let is_again = std::mem::replace(&mut self.was_too_long, true);
        if is_again && self.asked.is_some() && self.is_logged_on() {
            let len_max = self.config.limits.message_len_max;
            let text = format!("a message of {len} bytes exceeds the limit of {len_max}");
            self.send_logout(now, text.as_bytes());
            self.close(DisconnectReason::TooLong { len, len_max });
        }
    }

    pub(super) fn handle_message(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
    ) -> ReceiveOutcome {
        self.counters.received += u64::from(!self.is_held);
        if !self.received_logon
            && !self.is_initiator()
            && let Err(refusal) = admit(&self.config, now, message)
                .and_then(|()| check_credentials(&self.config, message))
        {
            self.close(DisconnectReason::LogonRefused(refusal));
            return ReceiveOutcome::Done;
        }
        let head = match SessionHeader::of(message) {
            Ok(head) => head,
            Err(_) => {
                self.refuse_without_number(now);
                return ReceiveOutcome::Done;
            }
        };
        let msg_type = message.msg_type();
        if message.begin_string() != self.config.id.begin_string.as_str().as_bytes() {
            self.handle_other_version(now, message, &head);
            return ReceiveOutcome::Done;
        }
        if self.is_of_old_numbers(msg_type) {
            self.last_received_ns = now.steady_ns;
            self.notices.push_back(SessionEvent::BeforeReset { seq_num: head.seq_num });
            return ReceiveOutcome::Done;
        }
        if !self.validate(now, message, &head) {
            return ReceiveOutcome::Done;
        }
        match msg_type {
            b"A" => return self.handle_logon(now, message, &head),
            b"0" | b"1" | b"3" => {
                if self.verify(now, message, &head, SeqNumCheck::Exact) {
                    self.count_received(head.seq_num);
                    self.handle_simple(now, message);
                }
            }
            b"2" => self.handle_resend_request(now, message, &head),
            b"4" => self.handle_sequence_reset(now, message, &head),
            b"5" => self.handle_logout(now, message, &head),
            _ => {
                if self.verify(now, message, &head, SeqNumCheck::Exact) {
                    self.count_received(head.seq_num);
                    self.note_business_reject(message);
                    let SessionHeader { seq_num, poss_dup, poss_resend, .. } = head;
                    self.after_received(now);
                    return ReceiveOutcome::Deliver { seq_num, poss_dup, poss_resend };
                }
            }
        }
        self.after_received(now);
        ReceiveOutcome::Done
    }

    /// True if a message arrives between our reset and the peer's answer: its number belongs to the
    /// old sequence, and holding it would mistake it for a message of the new one.
    ///
    /// Spec: FIX session layer, ResetSeqNumFlag.
    fn is_of_old_numbers(&self, msg_type: &[u8]) -> bool {
        self.received_logon && self.is_reset_open && !matches!(msg_type, b"A" | b"5")
    }

    /// Handles Heartbeat, Test Request and Reject.
    ///
    /// Spec: FIX session layer, test cases 4b (Test Request: Heartbeat with its TestReqID) and 7 (Reject: counted).
    fn handle_simple(&mut self, now: Now, message: &FixMessage<'_, '_>) {
        match message.msg_type() {
            b"1" => {
                let id = message.field(tags::TEST_REQ_ID).map(|field| field.value);
                self.send_heartbeat(now, id);
            }
            b"3" => self.note_reject(message),
            _ => {}
        }
    }

    fn note_reject(&mut self, message: &FixMessage<'_, '_>) {
        self.counters.refused += 1;
        let seq_num = message.field(tags::REF_SEQ_NUM).and_then(|field| field.uint().ok());
        let text = message.field(tags::TEXT).map_or(&[][..], |field| field.value);
        self.notices.push_back(SessionEvent::RejectReceived {
            seq_num: seq_num.unwrap_or(0),
            text: String::from_utf8_lossy(text).into_owned(),
        });
    }

    fn note_business_reject(&mut self, message: &FixMessage<'_, '_>) {
        if message.msg_type() == b"j" {
            self.note_reject(message);
        }
    }

    /// Ends the session because of a message with another BeginString.
    ///
    /// Spec: FIX session layer, test case 2i (BeginString: Logout).
    fn handle_other_version(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
    ) {
        if message.msg_type() == b"5" {
            self.handle_logout(now, message, head);
        } else if self.received_logon {
            if self.is_due(head.seq_num) {
                self.count_received(head.seq_num);
            }
            self.send_logout(now, b"Incorrect BeginString");
        } else {
            self.close(DisconnectReason::NotLoggedOn);
        }
    }

    /// Validates a message against the dictionaries and rejects it if it is invalid, unless the
    /// configuration allows invalid messages.
    ///
    /// Spec: FIX session layer, test cases 2q (MsgType), 2t (first three fields) and 14a to 14i (fields).
    fn validate(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
    ) -> bool {
        let outcome = match &self.config.dictionaries {
            None => message.fault().map_or(Ok(()), Err),
            Some(dictionaries) if message.msg_type() == b"A" => {
                logon_validator(&self.config).validate(message, &dictionaries.session)
            }
            Some(dictionaries) => {
                let session = &*dictionaries.session;
                let is_fixt = self.config.id.begin_string == BeginString::Fixt11;
                if !is_fixt || is_admin(message.msg_type()) {
                    self.validator.validate(message, session)
                } else {
                    let said = message.field(tags::APPL_VER_ID);
                    let version = match said {
                        Some(field) => ApplVersion::parse(field.value),
                        None => self.appl_version,
                    };
                    let found =
                        dictionaries.application.iter().find(|(known, _)| Some(*known) == version);
                    let Some((_, application)) = found else {
                        let tag = said.map(|_| &b"1128"[..]);
                        let reason = SessionRejectReason::UnsupportedApplicationVersion;
                        self.refuse(now, message, head, reason, tag);
                        return false;
                    };
                    self.validator.validate_fixt(message, session, application)
                }
            }
        };
        if let Some((clock, from)) = self.config.codec_clock.zip(self.decoding_from.take()) {
            self.counters.decode_ns += clock().saturating_sub(from);
        }
        let Err(error) = outcome else { return true };
        if self.config.reject_invalid {
            self.refuse_invalid(now, message, head, &error);
            return false;
        }
        if let Some(reason) = self.validator.checks().reason(&error) {
            let SessionHeader { seq_num, .. } = *head;
            self.notices.push_back(SessionEvent::Invalid { seq_num, reason, tag: error.tag });
        }
        true
    }

    /// True if a message is allowed in this state of the logon.
    ///
    /// Spec: FIX session layer, test case 1e (first message is not a Logon: disconnect).
    fn is_expected(&self, msg_type: &[u8]) -> bool {
        match msg_type {
            b"A" => true,
            b"5" => self.received_logon || self.sent_logon,
            _ => self.received_logon,
        }
    }

    /// Checks the requirements of every message; rejects or disconnects if one is not met.
    ///
    /// Spec: FIX session layer, test cases 2a and 2b (MsgSeqNum), 2k (CompIDs) and 2o (SendingTime).
    pub(super) fn verify(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
        order: SeqNumCheck,
    ) -> bool {
        if !self.is_expected(message.msg_type()) {
            self.close(DisconnectReason::NotLoggedOn);
            return false;
        }
        if !self.is_held && !is_in_time(&self.config, now, head) {
            self.refuse(now, message, head, SessionRejectReason::SendingTimeAccuracy, None);
            self.send_logout_if_logged_on(now);
            return false;
        }
        if self.config.check_comp_id && !knows(&self.config, head) {
            self.refuse(now, message, head, SessionRejectReason::CompId, None);
            self.send_logout_if_logged_on(now);
            return false;
        }
        self.last_received_ns = now.steady_ns;
        self.test_requests = 0;
        let expected = self.store.next_target();
        let is_checked = self.config.check_seq_nums && order == SeqNumCheck::Exact;
        if is_checked && head.seq_num > expected {
            self.hold(head.seq_num, Some(message.bytes()));
            self.ask_for_missing(now, head.seq_num);
            return false;
        }
        if is_checked && head.seq_num < expected {
            self.handle_low(now, message, head);
            return false;
        }
        // Test cases 2f and 2g; OrigSendingTime of Logon, Logout and SequenceReset is unreliable.
        let is_repeatable = !matches!(message.msg_type(), b"4" | b"5" | b"A");
        if head.poss_dup && is_repeatable && !self.is_duplicate_of_then(now, message, head) {
            return false;
        }
        self.passes_hooks(now, message)
    }

    /// Passes a session message to the hooks; ends the session if they refuse it.
    fn passes_hooks(&mut self, now: Now, message: &FixMessage<'_, '_>) -> bool {
        let Some(hooks) = &self.config.hooks else { return true };
        let is_decided_elsewhere = !self.received_logon && !self.is_initiator();
        if !is_admin(message.msg_type()) || is_decided_elsewhere {
            return true;
        }
        let Err(text) = hooks.admin_received(&self.config.id, message) else { return true };
        self.send_logout(now, &one_field(&text));
        self.close(DisconnectReason::Hook(text));
        false
    }

    /// True if a possible duplicate has an OrigSendingTime that is not later than its SendingTime;
    /// otherwise rejects it.
    ///
    /// Spec: FIX session layer, test cases 2f (OrigSendingTime later than SendingTime: Reject and
    /// Logout) and 2g (no OrigSendingTime: Reject).
    fn is_duplicate_of_then(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
    ) -> bool {
        let Some(original) = head.orig_sending_time else {
            if !self.config.requires_orig_sending_time {
                return true;
            }
            let reason = SessionRejectReason::RequiredTagMissing;
            let tag = tags::ORIG_SENDING_TIME.to_string();
            self.refuse(now, message, head, reason, Some(tag.as_bytes()));
            return false;
        };
        if head.sending_time.is_some_and(|sent| original > sent) {
            self.refuse(now, message, head, SessionRejectReason::SendingTimeAccuracy, None);
            self.send_logout_if_logged_on(now);
            return false;
        }
        true
    }

    /// Handles a number lower than expected: ignores a possible duplicate (test case 2e); anything
    /// else ends the session (2c).
    fn handle_low(&mut self, now: Now, message: &FixMessage<'_, '_>, head: &SessionHeader<'_>) {
        let seq_num = head.seq_num;
        if !head.poss_dup {
            return self.end_because_low(now, seq_num);
        }
        self.counters.duplicates += 1;
        if message.msg_type() != b"4" && !self.is_duplicate_of_then(now, message, head) {
            return;
        }
        self.notices.push_back(SessionEvent::PossDupIgnored { seq_num });
    }

    /// Ends the session because MsgSeqNum is lower than expected.
    ///
    /// Spec: FIX session layer, test case 2c.
    pub(super) fn end_because_low(&mut self, now: Now, seq_num: u64) {
        let expected = self.store.next_target();
        self.notices.push_back(SessionEvent::SeqNumTooLow { expected, received: seq_num });
        let text = format!("MsgSeqNum too low, expecting {expected} but received {seq_num}");
        self.send_logout(now, text.as_bytes());
        self.close_for_number();
    }

    /// Disconnects because of a wrong MsgSeqNum. On an acceptor that has not accepted the Logon yet,
    /// the reason is that the Logon was refused.
    pub(super) fn close_for_number(&mut self) {
        let is_refused = !self.received_logon && !self.is_initiator();
        self.close(match is_refused {
            true => DisconnectReason::LogonRefused(Refusal::MsgSeqNum),
            false => DisconnectReason::SeqNum,
        });
    }

    /// Counts a resent Logon or Logout as received but does not act on it. The peer should have sent
    /// a gap fill instead.
    ///
    /// Spec: FIX session layer, test case 2e (PossDupFlag: ignored if it has been received).
    pub(super) fn pass_again(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
    ) {
        if self.is_reset_open || self.awaits_reset() {
            self.notices.push_back(SessionEvent::BeforeReset { seq_num: head.seq_num });
        } else if self.verify(now, message, head, SeqNumCheck::Exact) {
            self.count_received(head.seq_num);
        }
        self.after_received(now);
    }

    fn handle_logout(&mut self, now: Now, message: &FixMessage<'_, '_>, head: &SessionHeader<'_>) {
        let missing_end = self.asked.map_or(0, |asked| asked.missing_end);
        let is_past = head.seq_num < self.store.next_target() || head.seq_num <= missing_end;
        if self.received_logon && head.poss_dup && self.config.check_seq_nums && is_past {
            return self.pass_again(now, message, head);
        }
        if !self.verify(now, message, head, SeqNumCheck::Any) {
            return;
        }
        let text = message.field(tags::TEXT).map_or(&[][..], |field| field.value);
        let text = String::from_utf8_lossy(text).into_owned();
        self.end_by_logout(now, head.seq_num, text);
    }

    /// Ends the session because of a message without a valid MsgSeqNum.
    ///
    /// Spec: FIX session layer, MsgSeqNum missing: Logout.
    fn refuse_without_number(&mut self, now: Now) {
        if self.received_logon {
            self.send_logout(now, b"MsgSeqNum missing or not a number");
        }
        self.close(DisconnectReason::SeqNum);
    }

    /// Returns the value of a field as a number.
    pub(super) fn number(message: &FixMessage<'_, '_>, tag: Tag) -> Option<u64> {
        message.field(tag)?.uint().ok()
    }
}
