//! Timers: heartbeat, test request, logon and logout timeouts, schedule.

use super::core::Core;
use super::event::{DisconnectReason, ResetOrigin};
use crate::now::{Now, SECOND_NS};
use crate::schedule::Schedule;
use crate::store::Store;

impl<S: Store> Core<S> {
    /// Returns the time at which the peer has been silent for `times` times `permille` thousandths
    /// of the heartbeat interval.
    fn silent_for_ns(&self, permille: u32, times: u64) -> u64 {
        let wait = (self.heartbeat_ns / 1000).saturating_mul(u64::from(permille));
        self.last_received_ns.saturating_add(wait.saturating_mul(times))
    }

    /// Returns when the next Test Request is due; later after each unanswered one. Never if silence
    /// is not checked.
    ///
    /// Spec: FIX session layer, test case 6 (nothing received: Test Request).
    fn test_request_ns(&self) -> u64 {
        match self.config.silence_permille {
            None => u64::MAX,
            Some(_) => {
                self.silent_for_ns(self.config.test_request_permille, self.test_requests + 1)
            }
        }
    }

    /// Returns when a silent peer is disconnected.
    ///
    /// Spec: FIX session layer, test case 6 (no answer: disconnect).
    fn silence_ns(&self) -> u64 {
        let permille = self.config.silence_permille;
        permille.map_or(u64::MAX, |permille| self.silent_for_ns(permille, 1))
    }

    /// Returns when a Heartbeat is due; `None` while the answer to a Test Request is awaited.
    ///
    /// Spec: FIX session layer, test case 4a (nothing sent: Heartbeat).
    fn heartbeat_due_ns(&self) -> Option<u64> {
        let due = self.last_sent_ns.saturating_add(self.heartbeat_ns);
        (self.test_requests == 0).then_some(due)
    }

    fn logon_deadline_ns(&self) -> Option<u64> {
        let wait = u64::from(self.config.logon_timeout_s) * SECOND_NS;
        self.connected_ns.map(|connected| connected.saturating_add(wait))
    }

    /// Returns the deadline for the answer to our Logon with ResetSeqNumFlag.
    fn reset_deadline_ns(&self) -> Option<u64> {
        let wait = u64::from(self.config.logon_timeout_s) * SECOND_NS;
        self.sent_reset_ns.map(|sent| sent.saturating_add(wait))
    }

    /// Closes the connection outside of the scheduled sessions. Returns true if the session may
    /// continue.
    pub(super) fn keep_schedule(&mut self, now: Now) -> bool {
        self.session_end_ns = None;
        // Without a schedule the session is always open.
        let within = |schedule: &Option<Schedule>| match schedule {
            None => Some((0, u64::MAX)),
            Some(schedule) => schedule.session_at(now.wall_ns),
        };
        let session = within(&self.config.schedule).zip(within(&self.config.logon_schedule));
        let Some(((_, end_ns), (_, logon_end_ns))) = session else {
            self.close(DisconnectReason::Schedule);
            return false;
        };
        let end_ns = end_ns.min(logon_end_ns);
        if end_ns < u64::MAX {
            let left_ns = end_ns.saturating_sub(now.wall_ns);
            self.session_end_ns = Some(now.steady_ns.saturating_add(left_ns));
        }
        true
    }

    /// Resets the sequence numbers to 1 if they belong to another scheduled session.
    pub(super) fn begin_session_of_schedule(&mut self, now: Now) {
        let Some(schedule) = &self.config.schedule else { return };
        let begun_ns = schedule.session_at(now.wall_ns).map(|(begun_ns, _)| begun_ns);
        if begun_ns.is_some_and(|begun_ns| self.store.created_ns() < begun_ns) {
            self.reset(now, ResetOrigin::ThisSide);
        }
    }

    /// Sends Logout when the scheduled session or the logon time has ended. Returns true if it has.
    fn end_of_schedule(&mut self, now: Now) -> bool {
        if self.session_end_ns.is_none_or(|end_ns| now.steady_ns < end_ns) {
            return false;
        }
        // The time of day may have been corrected in the meantime.
        let session = |schedule: &Option<Schedule>| match schedule {
            None => Some(0),
            Some(schedule) => schedule.session_at(now.wall_ns).map(|(start_ns, _)| start_ns),
        };
        let begun_ns = session(&self.config.schedule);
        let is_same = begun_ns.is_some_and(|start_ns| self.store.created_ns() >= start_ns);
        if is_same && session(&self.config.logon_schedule).is_some() {
            self.keep_schedule(now);
            return false;
        }
        if self.is_logged_on() {
            let text = if is_same { "end of logon time" } else { "end of session" };
            self.send_logout(now, text.as_bytes());
        } else {
            self.close(DisconnectReason::Schedule);
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
        if self.peer_logout_deadline_ns().is_some_and(|deadline| steady_ns >= deadline) {
            return self.give_up_logout(now);
        }
        if self.logout_deadline_ns().is_some_and(|deadline| steady_ns >= deadline) {
            return self.close(DisconnectReason::LogoutTimeout);
        }
        if !self.received_logon {
            if self.logon_deadline_ns().is_some_and(|deadline| steady_ns >= deadline) {
                self.close(DisconnectReason::LogonTimeout);
            }
            return;
        }
        if self.reset_deadline_ns().is_some_and(|deadline| steady_ns >= deadline) {
            return self.close(DisconnectReason::LogonTimeout);
        }
        if self.heartbeat_ns > 0 && steady_ns >= self.silence_ns() {
            return self.close(DisconnectReason::Silence);
        }
        if self.ask_again_ns().is_some_and(|due| steady_ns >= due) {
            return self.ask_again(now);
        }
        if self.heartbeat_ns == 0 {
            return;
        }
        // However late the call is, the timer that was due first runs first; the next call runs the
        // next.
        let asks_ns = self.test_request_ns();
        let beats_ns = self.heartbeat_due_ns().filter(|due| *due <= asks_ns);
        if beats_ns.is_some_and(|due| steady_ns >= due) {
            self.send_heartbeat(now, None);
        } else if steady_ns >= asks_ns {
            self.test_requests += 1;
            self.send_test_request(now, b"TEST");
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<u64> {
        if !self.notices.is_empty() || self.has_to_go_on() {
            // A notice from transmitting is pending, or there is more to resend: continue at once.
            return Some(0);
        }
        if !self.is_open() {
            return None;
        }
        let alive = (self.received_logon && self.heartbeat_ns > 0).then(|| {
            let next = self.test_request_ns().min(self.silence_ns());
            self.heartbeat_due_ns().map_or(next, |due| due.min(next))
        });
        let logon = if self.received_logon { None } else { self.logon_deadline_ns() };
        let end = if self.sent_logout_ns.is_none() { self.session_end_ns } else { None };
        let logouts = [self.logout_deadline_ns(), self.peer_logout_deadline_ns()];
        let others = [alive, logon, self.reset_deadline_ns(), end, self.ask_again_ns()];
        logouts.into_iter().chain(others).flatten().min()
    }
}
