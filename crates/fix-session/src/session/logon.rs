//! Logon: first one, answer, reset within a session.

use tickwire_fix::{Message, Tag};

use super::core::{Core, PendingLogon};
use super::event::{Notice, Why};
use super::head::Header;
use super::receive::{Order, Outcome};
use crate::id::{ApplVersion, BeginString};
use crate::now::{Now, SECOND_NS};
use crate::store::Store;
use crate::tags;

impl<S: Store> Core<S> {
    /// Sends an initiator's Logon.
    pub(super) fn send_first_logon(&mut self, now: Now) {
        if self.config.reset_on_logon {
            self.reset(now);
        }
        let fresh = self.store.next_sender() == 1 && self.store.next_target() == 1;
        let can_reset = self.config.id.begin_string >= BeginString::Fix41;
        let reset = can_reset && self.config.resets() && fresh;
        let appl_ver_id = self.config.default_appl_ver_id.clone();
        self.sent_reset = reset;
        self.send_logon(now, reset, appl_ver_id.as_deref().map(str::as_bytes));
    }

    /// Begins both numbers at 1 for the application.
    pub(super) fn reset_by_application(&mut self, now: Now) {
        self.reset(now);
        if self.is_logged_on() {
            self.sent_reset = true;
            let appl_ver_id = self.config.default_appl_ver_id.clone();
            self.send_logon(now, true, appl_ver_id.as_deref().map(str::as_bytes));
        }
    }

    fn send_logon(&mut self, now: Now, reset: bool, appl_ver_id: Option<&[u8]>) {
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
        self.send_admin(now, "A", |writer| {
            writer.uint(tags::ENCRYPT_METHOD, 0);
            writer.uint(tags::HEART_BT_INT, heartbeat_s);
            if reset {
                writer.boolean(tags::RESET_SEQ_NUM_FLAG, true);
            }
            for (tag, text) in [(tags::USERNAME, &username), (tags::PASSWORD, &password)] {
                if let Some(text) = text {
                    writer.str(tag, text);
                }
            }
            if with_next {
                writer.uint(tags::NEXT_EXPECTED_MSG_SEQ_NUM, next_target);
            }
            if let Some(version) = appl_ver_id.filter(|_| is_fixt) {
                writer.bytes(tags::DEFAULT_APPL_VER_ID, version);
            }
            for (tag, text) in &more {
                writer.str(*tag, text);
            }
        });
    }

    pub(super) fn handle_logon(
        &mut self,
        now: Now,
        message: &Message<'_>,
        head: &Header<'_>,
    ) -> Outcome {
        let value = |tag: Tag| message.field(tag).map(|field| field.value);
        let reset = value(tags::RESET_SEQ_NUM_FLAG) == Some(b"Y");
        let answers_reset = self.sent_reset;
        if self.received_logon && !reset && !answers_reset {
            self.close(Why::NotLoggedOn);
            return Outcome::Done;
        }
        let is_known = !self.config.check_comp_id
            || head.sender == self.config.id.target_comp_id.as_bytes()
                && head.target == self.config.id.sender_comp_id.as_bytes();
        if !is_known {
            self.close(Why::LogonRefused);
            return Outcome::Done;
        }
        let acceptor_resets = !self.is_initiator() && self.config.reset_on_logon;
        if !answers_reset && (reset || acceptor_resets) {
            self.reset(now);
        }
        if !self.verify(now, message, head, Order::NotLow) {
            return Outcome::Done;
        }
        let heartbeat_s =
            Self::number(message, tags::HEART_BT_INT).and_then(|s| u32::try_from(s).ok());
        if heartbeat_s.is_none() && !self.is_initiator() {
            self.send_logout(now, b"HeartBtInt missing or not a number");
            self.close(Why::LogonRefused);
            return Outcome::Done;
        }
        let is_first = !self.received_logon;
        self.pending_logon = Some(PendingLogon {
            seq_num: head.seq_num,
            reset,
            heartbeat_s,
            next_expected: Self::number(message, tags::NEXT_EXPECTED_MSG_SEQ_NUM),
            appl_ver_id: value(tags::DEFAULT_APPL_VER_ID).map(<[u8]>::to_vec),
        });
        if self.config.authenticate && !self.is_initiator() && is_first {
            return Outcome::Authenticate;
        }
        self.accept_logon(now);
        Outcome::Done
    }

    pub(super) fn refuse_logon(&mut self, now: Now, text: &str) {
        if self.pending_logon.take().is_some() {
            if !text.is_empty() {
                self.send_logout(now, text.as_bytes());
            }
            self.close(Why::LogonRefused);
        }
    }

    pub(super) fn accept_logon(&mut self, now: Now) {
        let Some(logon) = self.pending_logon.take() else { return };
        self.received_logon = true;
        self.appl_version = logon.appl_ver_id.as_deref().and_then(ApplVersion::parse);
        self.appl_ver_id.clone_from(&logon.appl_ver_id);
        let answers = self.sent_logon && (self.is_initiator() || self.sent_reset);
        if !self.is_initiator()
            && let Some(heartbeat_s) = logon.heartbeat_s
        {
            self.heartbeat_ns = u64::from(heartbeat_s) * SECOND_NS;
        }
        let sender_before = self.store.next_sender();
        let expected = self.store.next_target();
        let is_early = self.config.check_seq_nums && logon.seq_num > expected && !logon.reset;
        if !is_early {
            self.count_received(if logon.reset { expected } else { logon.seq_num });
        }
        if !answers || logon.reset && !self.sent_reset {
            let version = logon.appl_ver_id.as_deref();
            self.send_logon(now, logon.reset, version);
        }
        self.sent_reset = false;
        self.counters.logons += 1;
        if is_early {
            self.hold(logon.seq_num, None);
            if self.config.uses_next_expected() && logon.next_expected.is_some() {
                self.expect_missing(logon.seq_num);
            } else {
                self.ask_for_missing(now, logon.seq_num);
            }
        }
        self.notices.push_back(Notice::LoggedOn);
        self.send_what_peer_expects(now, &logon, sender_before);
        self.after_received(now);
    }

    /// Sends again what the peer says it has not got, without waiting to be asked.
    fn send_what_peer_expects(&mut self, now: Now, logon: &PendingLogon, sender_before: u64) {
        let Some(expected) = logon.next_expected.filter(|_| self.config.uses_next_expected())
        else {
            return;
        };
        if logon.reset || expected == 0 {
            return;
        }
        if expected > self.store.next_sender() {
            let text = format!(
                "NextExpectedMsgSeqNum too high, expecting at most {} but received {expected}",
                self.store.next_sender()
            );
            self.send_logout(now, text.as_bytes());
            self.close(Why::SeqNum);
        } else if expected < sender_before {
            // The Logon itself stands after what is missing: it is filled over with the rest.
            self.replay(expected, self.store.next_sender() - 1);
        }
    }
}
