//! What has to happen though nothing arrives.

use super::core::Core;
use super::event::Why;
use crate::now::{Now, SECOND_NS};
use crate::store::Store;

impl<S: Store> Core<S> {
    /// Returns when a Test Request is due: a fifth over the interval after the last sign of life, and
    /// once more for each that was not answered.
    fn test_request_ns(&self) -> u64 {
        let wait = (self.heartbeat_ns / 5).saturating_mul(6).saturating_mul(self.test_requests + 1);
        self.last_received_ns.saturating_add(wait)
    }

    /// Returns when a peer counts as gone: 2.4 intervals after the last sign of life.
    fn silence_ns(&self) -> u64 {
        self.last_received_ns.saturating_add((self.heartbeat_ns / 5).saturating_mul(12))
    }

    /// Returns when a Heartbeat is due. None while an answer to a Test Request is waited for.
    fn heartbeat_due_ns(&self) -> Option<u64> {
        let due = self.last_sent_ns.saturating_add(self.heartbeat_ns);
        (self.test_requests == 0).then_some(due)
    }

    fn logon_deadline_ns(&self) -> Option<u64> {
        let wait = u64::from(self.config.logon_timeout_s) * SECOND_NS;
        self.connected_ns.map(|connected| connected.saturating_add(wait))
    }

    fn logout_deadline_ns(&self) -> Option<u64> {
        let wait = u64::from(self.config.logout_timeout_s) * SECOND_NS;
        self.sent_logout_ns.map(|sent| sent.saturating_add(wait))
    }

    pub(super) fn handle_timeout(&mut self, now: Now) {
        if !self.is_open() {
            return;
        }
        let steady_ns = now.steady_ns;
        if self.logout_deadline_ns().is_some_and(|deadline| steady_ns >= deadline) {
            return self.close(Why::LogoutTimeout);
        }
        if !self.received_logon {
            if self.logon_deadline_ns().is_some_and(|deadline| steady_ns >= deadline) {
                self.close(Why::LogonTimeout);
            }
            return;
        }
        if self.heartbeat_ns == 0 {
            return;
        }
        if steady_ns >= self.silence_ns() {
            self.close(Why::Silence);
        } else if steady_ns >= self.test_request_ns() {
            self.test_requests += 1;
            self.send_test_request(now, b"TEST");
        } else if self.heartbeat_due_ns().is_some_and(|due| steady_ns >= due) {
            self.send_heartbeat(now, None);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<u64> {
        if !self.is_open() {
            return None;
        }
        let alive = (self.received_logon && self.heartbeat_ns > 0).then(|| {
            let next = self.test_request_ns().min(self.silence_ns());
            self.heartbeat_due_ns().map_or(next, |due| due.min(next))
        });
        let logon = if self.received_logon { None } else { self.logon_deadline_ns() };
        [alive, logon, self.logout_deadline_ns()].into_iter().flatten().min()
    }
}
