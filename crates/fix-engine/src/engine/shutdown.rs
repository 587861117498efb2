//! Shutdown of an engine: logs all sessions out before it stops.

use std::time::Duration;

use super::super::application::Application;
use super::super::manage::end;
use super::{EVENTS, Engine, now};
use mio::Events;
use tickwire_host::HostError;
use tickwire_host::clock::{SECOND_NS, monotonic_ns};

/// Additional time after the sessions' LogoutTimeout, for peers to read the last bytes.
const GRACE_NS: u64 = SECOND_NS;
/// Longest turn during a shutdown.
const TURN: Duration = Duration::from_millis(20);

impl<A: Application> Engine<A> {
    /// Logs all sessions out and waits for the answers, at most for the sessions' LogoutTimeout.
    /// Meanwhile no connection is accepted or opened. [`Engine::run`] ends this way. Handle
    /// requests are refused afterwards, until the engine runs again.
    ///
    /// # Errors
    /// The operating system's error while polling for events.
    pub fn shutdown(&mut self) -> Result<(), HostError> {
        self.is_ending = true;
        let now = now();
        let mut longest_s = 0;
        for key in self.sessions.keys() {
            let Some(session) = self.sessions.session_mut(key) else { continue };
            end(session, now);
            if session.is_logging_out() {
                longest_s = longest_s.max(session.config().logout_timeout_s);
            }
        }
        for index in 0..self.connections.len() {
            let connection = self.connections.get(index).and_then(Option::as_ref);
            if connection
                .is_some_and(|connection| connection.is_pending() || connection.is_dialing())
            {
                self.drop_connection(index, now);
            }
        }
        self.requests.act(&mut self.sessions, now, usize::MAX);
        self.transmit_dirty(now);
        self.answer_requests();
        let wait_ns = u64::from(longest_s) * SECOND_NS + GRACE_NS;
        let until_ns = now.steady_ns.saturating_add(wait_ns);
        let mut events = Events::with_capacity(EVENTS);
        while self.connections.iter().any(Option::is_some) && monotonic_ns() < until_ns {
            self.turn_with(&mut events, Some(TURN))?;
        }
        self.requests.end();
        self.sync_all(super::now());
        self.is_ending = false;
        Ok(())
    }
}
