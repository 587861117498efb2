//! Logout: messages that are still sent and awaited after one side has sent its Logout.

use super::core::{Core, PeerLogout};
use super::event::{DisconnectReason, ResetOrigin};
use crate::now::{Now, SECOND_NS};
use crate::store::Store;

/// Longest wait for the answer to a Logout while the peer keeps requesting resends, in multiples of
/// [`crate::Config::logout_timeout_s`].
const WAITS_MAX: u64 = 30;

impl<S: Store> Core<S> {
    fn logout_wait_ns(&self) -> u64 {
        u64::from(self.config.logout_timeout_s) * SECOND_NS
    }

    /// Returns the deadline for the answer to our Logout. Resends that the peer requests before it
    /// answers restart the wait.
    ///
    /// Spec: FIX session layer, Logout: its initiator waits for the answer, so that the peer can fill its gaps.
    pub(super) fn logout_deadline_ns(&self) -> Option<u64> {
        let (sent, wait) = (self.sent_logout_ns?, self.logout_wait_ns());
        let last = sent.saturating_add(wait.saturating_mul(WAITS_MAX));
        let begun = self.resent_ns.unwrap_or(sent);
        Some(begun.saturating_add(wait).min(last))
    }

    /// Returns the deadline up to which the end of the session is delayed after the peer's Logout.
    pub(super) fn peer_logout_deadline_ns(&self) -> Option<u64> {
        self.peer_logout.as_ref().map(|logout| logout.until_ns)
    }

    /// Handles the peer's Logout. If the peer began the logout, ours follows the resends that it
    /// has requested. Messages missing before the Logout are requested only if the sequence numbers
    /// are about to restart; otherwise the next Logon reveals the gap.
    ///
    /// Spec: FIX session layer, test case 13b (unsolicited Logout: answer); Logout with MsgSeqNum
    /// too high (Resend Request, then Logout; do not terminate the session). Cases 2m and
    /// RejectResentMessage of the acceptance suite require the Logout at once.
    pub(super) fn end_by_logout(&mut self, now: Now, seq_num: u64, text: String) {
        let is_answer = self.sent_logout_ns.is_some() || !self.sent_logon;
        let is_early = self.config.check_seq_nums && seq_num > self.store.next_target();
        if self.is_due(seq_num) {
            self.count_received(seq_num);
        }
        let is_lost = self.config.reset_on_logout || self.config.reset_on_disconnect;
        let missing = is_early && is_lost && self.received_logon && !self.awaits_reset();
        if is_answer || !missing && !self.transmit.is_resending() {
            return self.finish_logout(now, text);
        }
        if missing {
            self.hold(seq_num, None);
            self.ask_for_missing(now, seq_num);
        }
        let missing_end = missing.then_some(seq_num.saturating_sub(1));
        let until_ns = now.steady_ns.saturating_add(self.logout_wait_ns());
        self.peer_logout = Some(PeerLogout { text, until_ns, missing_end });
        self.go_on_with_logout(now);
    }

    /// Continues a delayed Logout: answers it when the requested messages are sent, and ends the
    /// session when no message is missing.
    pub(super) fn go_on_with_logout(&mut self, now: Now) {
        let Some(logout) = &self.peer_logout else { return };
        if !self.is_open() || self.transmit.is_resending() {
            return;
        }
        if logout.missing_end.is_none_or(|end| self.store.next_target() > end) {
            let text = logout.text.clone();
            self.finish_logout(now, text);
        } else if self.sent_logout_ns.is_none() {
            self.send_logout(now, b"");
        }
    }

    /// Ends a session after the peer's Logout although messages are missing.
    pub(super) fn give_up_logout(&mut self, now: Now) {
        if let Some(logout) = self.peer_logout.take() {
            self.finish_logout(now, logout.text);
        }
    }

    fn finish_logout(&mut self, now: Now, text: String) {
        if self.sent_logout_ns.is_none() && self.sent_logon {
            self.send_logout(now, b"");
        }
        if self.config.reset_on_logout {
            self.reset(now, ResetOrigin::ThisSide);
        }
        self.close(DisconnectReason::LoggedOut { text });
    }
}
