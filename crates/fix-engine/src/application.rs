//! Callbacks of the application.

use std::io;

use tickwire_fix_session::{Delivery, Now, SessionEvent};

use super::admission::{Decision, LogonAttempt, Refused};
use super::sessions::{BoxStore, SessionKey, Sessions};

/// Callbacks of the application, called on the engine's thread.
pub trait Application {
    /// A message for the application. What is sent through `delivery` is stored together with the fact
    /// that the message was received.
    fn handle_message(&mut self, session: SessionKey, delivery: Delivery<'_, BoxStore>);

    /// A Logon to decide on, for sessions that are configured to ask
    /// ([`tickwire_fix_session::Config::authenticate`]). Nothing has been stored because of it yet, and no
    /// store was opened for a session of a template.
    fn handle_logon(&mut self, attempt: &LogonAttempt<'_>) -> Decision {
        let _ = attempt;
        Decision::Accept
    }

    /// A connection was refused.
    fn handle_refused(&mut self, refused: &Refused<'_>) {
        let _ = refused;
    }

    /// Something else that happened.
    fn handle_session_event(&mut self, session: SessionKey, notice: &SessionEvent) {
        let _ = (session, notice);
    }

    /// The connection of a session is gone.
    fn handle_disconnected(&mut self, session: SessionKey) {
        let _ = session;
    }

    /// The message log of a session cannot be written, which is in the event log; the session continues, and so does the log
    /// when there is room again.
    fn handle_log_failure(&mut self, session: SessionKey, error: &io::Error) {
        let _ = (session, error);
    }

    /// Called in every turn of the loop, after what arrived was handled: the place to send from.
    ///
    /// Returns when it wants to be called at the latest, on the steady clock.
    fn handle_turn(&mut self, sessions: &mut Sessions, now: Now) -> Option<u64> {
        let _ = (sessions, now);
        None
    }
}
