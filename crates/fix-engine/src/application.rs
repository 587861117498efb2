//! Callbacks of the application.

use std::io;

use tickwire_fix_session::{MessageDelivery, Now, SessionEvent};

use super::admission::{Decision, LogonAttempt, RefusedConnection};
use super::sessions::{BoxStore, SessionKey, Sessions};

/// Callbacks of the application, called on the engine's thread.
pub trait Application {
    /// Handles an application message. Messages sent through `delivery` are stored in the same
    /// commit as the received number.
    fn handle_message(&mut self, session: SessionKey, delivery: MessageDelivery<'_, BoxStore>);

    /// Decides on a Logon, for sessions with [`tickwire_fix_session::Config::authenticate`].
    /// Nothing has been stored because of it yet, and no store has been opened for a template
    /// session.
    fn handle_logon(&mut self, attempt: &LogonAttempt<'_>) -> Decision {
        let _ = attempt;
        Decision::Accept
    }

    /// Handles the refusal of a connection.
    fn handle_refused(&mut self, refused: &RefusedConnection<'_>) {
        let _ = refused;
    }

    /// Handles a notice of a session.
    fn handle_session_event(&mut self, session: SessionKey, notice: &SessionEvent) {
        let _ = (session, notice);
    }

    /// Handles a change to a session by the [administration](super::EngineHandle::admin_routes). `text` says what was changed, and by
    /// which client: `disabled, by 10.0.0.7:50123`.
    fn handle_administration(&mut self, session: SessionKey, text: &str) {
        let _ = (session, text);
    }

    /// Handles the failure of a connection whose session is not logged on yet: it cannot be
    /// established, TLS fails, or the peer closes it without an answer to the Logon. `text` is the
    /// reason; the event log has it as well. [`Application::handle_disconnected`] follows.
    fn handle_connection_failure(&mut self, session: SessionKey, text: &str) {
        let _ = (session, text);
    }

    /// Handles the disconnection of a session.
    fn handle_disconnected(&mut self, session: SessionKey) {
        let _ = session;
    }

    /// Handles a failure to write a session's message log. The session continues, and the log
    /// resumes when writing succeeds again. The event log records the failure as well.
    fn handle_log_failure(&mut self, session: SessionKey, error: &io::Error) {
        let _ = (session, error);
    }

    /// Called in every turn of the loop, after received messages were handled. Send messages from
    /// here.
    ///
    /// Returns the latest time of the next call, in nanoseconds on the steady clock; `None` for no
    /// limit.
    fn handle_turn(&mut self, sessions: &mut Sessions, now: Now) -> Option<u64> {
        let _ = (sessions, now);
        None
    }
}
