//! Logon: the first Logon, its answer, and resets of the sequence numbers during a session.

use tickwire_fix::{FixMessage, Tag};

use super::admission::{Refusal, heartbeat_s, knows, refusal_logout};
use super::core::{Core, EarlyMessages, PendingLogon};
use super::event::{DisconnectReason, OutgoingHeader, ResetOrigin, SessionEvent};
use super::head::SessionHeader;
use super::receive::{ReceiveOutcome, SeqNumCheck};
use super::transmit::Transmit;
use crate::id::{ApplVersion, BeginString};
use crate::now::{Now, SECOND_NS};
use crate::store::Store;
use crate::tags;

impl<S: Store> Core<S> {
    /// Sends an initiator's Logon.
    ///
    /// Spec: FIX session layer, Logon, test case 1B of initiators.
    pub(super) fn send_first_logon(&mut self, now: Now) {
        if self.is_reset_open && !self.config.reset_on_logon {
            return self.say_reset(now);
        }
        if self.config.reset_on_logon && !self.reset(now, ResetOrigin::ThisSide) {
            return;
        }
        let fresh = self.store.next_sender() == 1 && self.store.next_target() == 1;
        let can_reset = self.config.id.begin_string >= BeginString::Fix41;
        let reset = can_reset && self.config.resets() && fresh;
        let appl_ver_id = self.config.default_appl_ver_id.clone();
        self.sent_reset_ns = reset.then_some(now.steady_ns);
        self.send_logon(now, reset, appl_ver_id.as_deref().map(str::as_bytes));
    }

    /// Resets both sequence numbers to 1 on behalf of the application. A connected peer is told by
    /// a Logon with ResetSeqNumFlag, if necessary the next one; with a disconnected peer the reset
    /// must have been agreed otherwise.
    pub(super) fn reset_by_application(&mut self, now: Now) {
        if self.awaits_reset() {
            // The numbers have just been reset. Two announcements would be answered twice, and the
            // second answer would count as a reset by the peer.
            return;
        }
        if !self.reset(now, ResetOrigin::ThisSide) {
            return;
        }
        if self.is_logged_on() {
            self.say_reset(now);
        } else if self.connected_ns.is_some() {
            self.is_reset_open = true;
            if self.sent_logon && !self.received_logon {
                self.close(DisconnectReason::Reset);
            }
        }
    }

    /// Announces our reset to the peer with a Logon, which has MsgSeqNum 1 however often it is
    /// sent.
    fn say_reset(&mut self, now: Now) {
        self.is_reset_open = true;
        self.sent_reset_ns = Some(now.steady_ns);
        let appl_ver_id = match self.is_initiator() {
            true => self.config.default_appl_ver_id.as_ref().map(|id| id.as_bytes().to_vec()),
            false => self.appl_ver_id.clone(),
        };
        self.send_logon_as(now, 1, true, appl_ver_id.as_deref());
    }

    fn send_logon(&mut self, now: Now, reset: bool, appl_ver_id: Option<&[u8]>) {
        let seq_num = self.store.next_sender();
        self.send_logon_as(now, seq_num, reset, appl_ver_id);
    }

    fn send_logon_as(&mut self, now: Now, seq_num: u64, reset: bool, appl_ver_id: Option<&[u8]>) {
        let heartbeat_s = self.heartbeat_ns / SECOND_NS;
        let is_fixt = self.config.id.begin_string == BeginString::Fixt11;
        let (username, password) = if self.is_initiator() {
            (self.config.username.clone(), self.config.password.clone())
        } else {
            (None, None)
        };
        let with_next = self.config.uses_next_expected();
        let more = self.config.logon_fields.clone();
        let next_target = self.store.next_target();
        self.sent_logon = true;
        let sent = self.send_admin_as(now, seq_num, &OutgoingHeader::new("A"), |writer| {
            writer.uint(tags::ENCRYPT_METHOD, 0);
            writer.uint(tags::HEART_BT_INT, heartbeat_s);
            if reset {
                writer.boolean(tags::RESET_SEQ_NUM_FLAG, true);
            }
            if let Some(name) = &username {
                writer.str(tags::USERNAME, name);
            }
            if let Some(password) = &password {
                writer.str(tags::PASSWORD, password.expose());
            }
            if with_next {
                writer.uint(tags::NEXT_EXPECTED_MSG_SEQ_NUM, next_target);
            }
            if let Some(version) = appl_ver_id.filter(|_| is_fixt) {
                writer.bytes(tags::DEFAULT_APPL_VER_ID, version);
            }
            for (tag, text) in &more {
                writer.str(*tag, text.expose());
            }
        });
        self.note_unsent(sent);
    }

    /// Handles a Logon.
    ///
    /// Spec: FIX session layer, test cases 1a to 1e, and AlreadyLoggedOn of the acceptance suite.
    pub(super) fn handle_logon(
        &mut self,
        now: Now,
        message: &FixMessage<'_, '_>,
        head: &SessionHeader<'_>,
    ) -> ReceiveOutcome {
        if self.received_logon && head.poss_dup {
            self.pass_again(now, message, head);
            return ReceiveOutcome::Done;
        }
        let value = |tag: Tag| message.field(tag).map(|field| field.value);
        let reset = value(tags::RESET_SEQ_NUM_FLAG) == Some(b"Y");
        if self.received_logon && !reset && !self.awaits_reset() {
            self.close(DisconnectReason::NotLoggedOn);
            return ReceiveOutcome::Done;
        }
        if self.config.check_comp_id && !knows(&self.config, head) {
            self.close(DisconnectReason::LogonRefused(Refusal::CompId));
            return ReceiveOutcome::Done;
        }
        if !self.verify(now, message, head, SeqNumCheck::Any) {
            return ReceiveOutcome::Done;
        }
        if !self.is_answer_to_reset(now, head, reset) || !self.begins_at_1(now, head, reset) {
            return ReceiveOutcome::Done;
        }
        let heartbeat_s = heartbeat_s(message);
        if heartbeat_s.is_none() && !self.is_initiator() {
            self.send_logout(now, b"HeartBtInt missing or not a number");
            self.close(DisconnectReason::LogonRefused(Refusal::HeartBtInt));
            return ReceiveOutcome::Done;
        }
        let is_first = !self.received_logon;
        self.pending_logon = Some(PendingLogon {
            seq_num: head.seq_num,
            poss_dup: head.poss_dup,
            reset,
            heartbeat_s,
            next_expected: Self::number(message, tags::NEXT_EXPECTED_MSG_SEQ_NUM),
            appl_ver_id: value(tags::DEFAULT_APPL_VER_ID).map(<[u8]>::to_vec),
        });
        let is_to_ask = self.config.authenticate && !self.authenticated;
        if is_to_ask && !self.is_initiator() && is_first {
            return ReceiveOutcome::Authenticate;
        }
        self.accept_logon(now);
        ReceiveOutcome::Done
    }

    /// Refuses the peer's Logon without using a sequence number.
    pub(super) fn refuse_logon(&mut self, now: Now, text: &str) {
        if self.pending_logon.take().is_none() {
            return;
        }
        if !text.is_empty() {
            let logout = refusal_logout(&self.config, now, self.store.next_sender(), text);
            Transmit::push(&mut self.transmit.out, &mut self.transmit.log, now, &logout);
        }
        self.close(DisconnectReason::LogonRefused(Refusal::Credentials));
    }

    /// Accepts the peer's Logon: only now may it change the store.
    ///
    /// Spec: FIX session layer, test case 1a (MsgSeqNum correct or too high), and SessionReset of
    /// the acceptance suite.
    pub(super) fn accept_logon(&mut self, now: Now) {
        let Some(logon) = self.pending_logon.take() else { return };
        let is_first = !self.received_logon;
        if !self.is_initiator() && is_first {
            self.begin_session_of_schedule(now);
        }
        let acceptor_resets = !self.is_initiator() && self.config.reset_on_logon;
        if self.is_reset_open && !self.awaits_reset() && !logon.reset && !acceptor_resets {
            return self.repeat_reset(now, &logon);
        }
        let resets = !self.awaits_reset() && (logon.reset || acceptor_resets);
        let origin = match (logon.reset, is_first) {
            (true, false) => ResetOrigin::PeerWhileLoggedOn,
            (true, true) => ResetOrigin::PeerAtLogon,
            (false, _) => ResetOrigin::ThisSide,
        };
        if resets && !self.reset(now, origin) {
            return;
        }
        let expected = self.store.next_target();
        if self.config.check_seq_nums && logon.seq_num < expected {
            return self.handle_low_logon(now, &logon);
        }
        if let Some(too_high) = self.too_high_expectation(&logon) {
            return self.refuse_expectation(now, too_high);
        }
        if self.awaits_reset() {
            // Messages before the answer belong to the old sequence numbers.
            self.held = EarlyMessages::default();
            self.asked = None;
        }
        self.take_terms(&logon);
        let answers = self.sent_logon && (self.is_initiator() || self.awaits_reset());
        let sender_before = self.store.next_sender();
        let expected = self.store.next_target();
        let is_early = self.config.check_seq_nums && logon.seq_num > expected && !logon.reset;
        if !is_early {
            self.count_received(if logon.reset { expected } else { logon.seq_num });
        }
        if !answers || logon.reset && !self.awaits_reset() {
            let version = logon.appl_ver_id.as_deref();
            self.send_logon(now, logon.reset, version);
        }
        self.end_reset();
        self.counters.logons += 1;
        if is_early {
            self.hold(logon.seq_num, None);
            if self.config.uses_next_expected() && logon.next_expected.is_some() {
                self.expect_missing(logon.seq_num);
            } else {
                self.ask_for_missing(now, logon.seq_num);
            }
        }
        self.notices.push_back(SessionEvent::LoggedOn);
        self.send_what_peer_expects(&logon, sender_before);
        self.after_received(now);
    }

    /// Applies the terms of the peer's Logon to the session.
    ///
    /// Spec: FIX session layer, HeartBtInt: the acceptor uses the initiator's.
    fn take_terms(&mut self, logon: &PendingLogon) {
        self.received_logon = true;
        self.appl_version = logon.appl_ver_id.as_deref().and_then(ApplVersion::parse);
        self.appl_ver_id.clone_from(&logon.appl_ver_id);
        if !self.is_initiator()
            && let Some(heartbeat_s) = logon.heartbeat_s
        {
            self.heartbeat_ns = u64::from(heartbeat_s) * SECOND_NS;
        }
    }

    /// Answers a Logon with our reset if the last connection ended before the peer had confirmed
    /// it. The peer's MsgSeqNum does not show whether it received the reset.
    fn repeat_reset(&mut self, now: Now, logon: &PendingLogon) {
        self.take_terms(logon);
        self.say_reset(now);
    }

    /// Called when the peer has confirmed our reset: sends the messages stored since then.
    fn end_reset(&mut self) {
        if self.sent_reset_ns.take().is_none() {
            return;
        }
        self.is_reset_open = false;
        if self.sent_logout_ns.is_none() {
            // Some of them may have been stored on an earlier connection.
            self.replay(2, self.store.next_sender() - 1);
        }
    }

    /// True if an unacceptable first Logon is not answered: the peer is unauthenticated, and an
    /// answer would use a sequence number.
    fn is_anybody(&self) -> bool {
        !self.is_initiator() && !self.config.authenticates()
    }

    /// Handles a first Logon with a number lower than expected.
    ///
    /// Spec: FIX session layer, test cases 1S and 2c.
    fn handle_low_logon(&mut self, now: Now, logon: &PendingLogon) {
        if self.is_anybody() || logon.poss_dup {
            let (expected, received) = (self.store.next_target(), logon.seq_num);
            self.notices.push_back(SessionEvent::SeqNumTooLow { expected, received });
            return self.close(DisconnectReason::LogonRefused(Refusal::MsgSeqNum));
        }
        self.end_because_low(now, logon.seq_num);
    }

    /// Returns NextExpectedMsgSeqNum if it is higher than our next MsgSeqNum.
    ///
    /// Spec: FIX session layer, NextExpectedMsgSeqNum.
    fn too_high_expectation(&self, logon: &PendingLogon) -> Option<u64> {
        let expected = logon.next_expected.filter(|_| self.config.uses_next_expected())?;
        (!logon.reset && expected > self.store.next_sender()).then_some(expected)
    }

    /// Answers a first Logon that expects messages which were never sent with a Logout instead of a
    /// Logon.
    fn refuse_expectation(&mut self, now: Now, expected: u64) {
        if self.is_anybody() {
            return self.close(DisconnectReason::LogonRefused(Refusal::MsgSeqNum));
        }
        let text = format!(
            "NextExpectedMsgSeqNum too high, expecting at most {} but received {expected}",
            self.store.next_sender()
        );
        self.send_logout(now, text.as_bytes());
        self.close_for_number();
    }

    /// Checks that the answer to our Logon with ResetSeqNumFlag has the flag and MsgSeqNum 1;
    /// otherwise the two sides disagree about their sequence numbers.
    ///
    /// Spec: FIX session layer, ResetSeqNumFlag.
    fn is_answer_to_reset(&mut self, now: Now, head: &SessionHeader<'_>, reset: bool) -> bool {
        if !self.awaits_reset() || reset && head.seq_num == 1 {
            return true;
        }
        let text = match reset {
            true => {
                format!("the answer to ResetSeqNumFlag needs MsgSeqNum 1, not {}", head.seq_num)
            }
            false => "the answer to ResetSeqNumFlag lacks it".to_owned(),
        };
        self.send_logout(now, text.as_bytes());
        self.close(DisconnectReason::SeqNum);
        false
    }

    /// True if a Logon that resets the sequence numbers has MsgSeqNum 1; otherwise refuses it and
    /// resets nothing.
    ///
    /// Spec: FIX session layer, ResetSeqNumFlag: MsgSeqNum is 1.
    fn begins_at_1(&mut self, now: Now, head: &SessionHeader<'_>, reset: bool) -> bool {
        if !reset || head.seq_num == 1 {
            return true;
        }
        if !self.received_logon && !self.is_initiator() {
            self.close(DisconnectReason::LogonRefused(Refusal::MsgSeqNum));
            return false;
        }
        let text = format!("ResetSeqNumFlag needs MsgSeqNum 1, not {}", head.seq_num);
        self.send_logout(now, text.as_bytes());
        self.close(DisconnectReason::SeqNum);
        false
    }

    /// Resends the messages that the peer's NextExpectedMsgSeqNum shows as missing, without a
    /// resend request.
    ///
    /// Spec: FIX session layer, NextExpectedMsgSeqNum.
    fn send_what_peer_expects(&mut self, logon: &PendingLogon, sender_before: u64) {
        let Some(expected) = logon.next_expected.filter(|_| self.config.uses_next_expected())
        else {
            return;
        };
        if !logon.reset && expected > 0 && expected < sender_before {
            // The Logon itself follows the missing messages, so the gap fill covers it as well.
            self.replay(expected, self.store.next_sender() - 1);
        }
    }
}
