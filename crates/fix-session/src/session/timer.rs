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

    /// Begins the numbers at 1 if they are of another session of the schedule, and closes outside of
    /// sessions; returns whether the session may go on.
    pub(super) fn keep_schedule(&mut self, now: Now) -> bool {
        let Some(schedule) = &self.config.schedule else { return true };
        let Some((start_ns, end_ns)) = schedule.session_at(now.wall_ns) else {
            self.session_end_ns = None;
            self.close(Why::Schedule);
            return false;
        };
        let left_ns = end_ns.saturating_sub(now.wall_ns);
        self.session_end_ns = Some(now.steady_ns.saturating_add(left_ns));
        if self.store.created_ns() < start_ns {
            self.reset(now);
        }
        true
    }

    /// Says Logout when the schedule's session has ended. Returns whether it has.
    fn end_of_schedule(&mut self, now: Now) -> bool {
        if self.session_end_ns.is_none_or(|end_ns| now.steady_ns < end_ns) {
            return false;
        }
        // The time of day may have been corrected since.
        let schedule = self.config.schedule.as_ref();
        let session = schedule.and_then(|schedule| schedule.session_at(now.wall_ns));
        if session.is_some_and(|(start_ns, _)| self.store.created_ns() >= start_ns) {
            self.keep_schedule(now);
            return false;
        }
        if self.is_logged_on() {
            if self.sent_logout_ns.is_none() {
                self.send_logout(now, b"end of session");
            }
        } else {
            self.close(Why::Schedule);
        }
        true
    }

    pub(super) fn handle_timeout(&mut self, now: Now) {
        if !self.is_open() {
            return;
        }
        if self.sent_logout_ns.is_none() && self.end_of_schedule(now) {
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
        // However late the call, what was due first is said first; the next call says the next.
        let asks_ns = self.test_request_ns();
        let beats_ns = self.heartbeat_due_ns().filter(|due| *due <= asks_ns);
        if steady_ns >= self.silence_ns() {
            self.close(Why::Silence);
        } else if beats_ns.is_some_and(|due| steady_ns >= due) {
            self.send_heartbeat(now, None);
        } else if steady_ns >= asks_ns {
            self.test_requests += 1;
            self.send_test_request(now, b"TEST");
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
        let end = if self.sent_logout_ns.is_none() { self.session_end_ns } else { None };
        [alive, logon, self.logout_deadline_ns(), end].into_iter().flatten().min()
    }
}
