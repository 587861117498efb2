//! The event log: connections, refusals, logons, resets, gaps, resends, store events, and reasons
//! of disconnections.
//!
//! Events go to the target `tickwire::fix` with the session as a field. At most one event per
//! session, kind and second is logged, and one refusal per reason, with the number of suppressed
//! ones, so that a flood cannot fill a disk. Text from peers is escaped.

use std::collections::BTreeMap;
use std::fmt::Display;

use tickwire_fix_session::{DisconnectReason, Now, ResetOrigin, SessionEvent, SessionId};
use tracing::Level;

use super::admission::RefusedConnection;
use tickwire_host::Throttle;
use tickwire_host::clock::SECOND_NS;

const TARGET: &str = "tickwire::fix";

/// Sessions whose throttles are kept although no event of theirs is held back.
const IDLE_SESSIONS_MAX: usize = 1024;

/// A throttle per kind of event.
type Throttles = BTreeMap<&'static str, Throttle>;

#[derive(Debug, Default)]
pub(super) struct EventLog {
    sessions: BTreeMap<SessionId, Throttles>,
    /// Time of the last search for sessions whose throttles are idle.
    swept_ns: u64,
    /// Refused connections: peers without a session, or with another peer's session.
    refusals: Throttles,
}

/// Returns text as one line without control characters.
fn shown(text: impl Display) -> String {
    text.to_string().escape_debug().to_string()
}

/// Returns the suffix of a line of this kind (the number of suppressed ones) if it may be logged
/// now.
fn pass(throttles: &mut Throttles, kind: &'static str, now: Now) -> Option<String> {
    let held_back = throttles.entry(kind).or_default().pass(now.steady_ns)?;
    Some(match held_back {
        0 => String::new(),
        more => format!(" ({more} more of this kind were not logged)"),
    })
}

impl EventLog {
    /// Returns the throttles of a session.
    fn throttles(&mut self, id: &SessionId, now: Now) -> &mut Throttles {
        let now_ns = now.steady_ns;
        let is_new = !self.sessions.contains_key(id);
        let is_due = now_ns.saturating_sub(self.swept_ns) >= SECOND_NS;
        if is_new && is_due && self.sessions.len() >= IDLE_SESSIONS_MAX {
            self.swept_ns = now_ns;
            let is_busy = |throttle: &Throttle| !throttle.is_idle(now_ns);
            self.sessions.retain(|_, kinds| kinds.values().any(is_busy));
        }
        self.sessions.entry(id.clone()).or_default()
    }

    /// Logs a connection that was refused.
    pub fn refused(&mut self, refused: &RefusedConnection<'_>, now: Now) {
        let Some(more) = pass(&mut self.refusals, refused.refusal.as_str(), now) else { return };
        let (peer, refusal) = (refused.peer, refused.refusal);
        let text = match refused.text {
            "" => String::new(),
            text => format!(": {}", shown(text)),
        };
        let session = refused.id.map(shown).unwrap_or_default();
        tracing::warn!(target: TARGET, session, "{peer} refused: {refusal}{text}{more}");
    }

    /// Logs an event that is not a notice of a session.
    pub fn note(
        &mut self,
        level: Level,
        kind: &'static str,
        id: &SessionId,
        text: impl Display,
        now: Now,
    ) {
        let Some(more) = pass(self.throttles(id, now), kind, now) else { return };
        let (session, text) = (shown(id), shown(text));
        match level {
            Level::ERROR => tracing::error!(target: TARGET, session, "{text}{more}"),
            Level::WARN => tracing::warn!(target: TARGET, session, "{text}{more}"),
            _ => tracing::info!(target: TARGET, session, "{text}{more}"),
        }
    }

    /// Logs a notice of a session.
    pub fn notice(&mut self, id: &SessionId, notice: &SessionEvent, now: Now) {
        if let Some((level, kind, text)) = session_event_text(notice) {
            self.note(level, kind, id, text, now);
        }
    }
}

/// Returns the level, the kind (one word) and the text of a notice; `None` for a notice that every
/// message causes.
pub fn session_event_text(notice: &SessionEvent) -> Option<(Level, &'static str, String)> {
    Some(match notice {
        SessionEvent::BeforeReset { seq_num } => {
            let text =
                format!("message {seq_num} ignored: the peer sent it before it received our reset");
            (Level::WARN, "before_reset", text)
        }
        SessionEvent::Disconnect(why) => ended(why),
        SessionEvent::Garbage { len } => {
            (Level::WARN, "garbage", format!("{len} bytes are not a message"))
        }
        SessionEvent::Garbled => {
            (Level::WARN, "garbled", "a garbled message was ignored".to_owned())
        }
        SessionEvent::Gap { begin, end } => {
            (Level::WARN, "gap", format!("messages {begin} to {end} are missing"))
        }
        SessionEvent::Invalid { seq_num, reason, tag } => {
            let text = format!("message {seq_num} is invalid: {}{}", reason.text(), of(*tag));
            (Level::WARN, "invalid", text)
        }
        SessionEvent::LoggedOn => (Level::INFO, "logon", "logged on".to_owned()),
        SessionEvent::RejectReceived { seq_num, text } => {
            let text = format!("the peer rejects message {seq_num}: {text}");
            (Level::WARN, "reject_received", text)
        }
        SessionEvent::Rejected { seq_num, reason, tag } => {
            let text = format!("message {seq_num} rejected: {}{}", reason.text(), of(*tag));
            (Level::WARN, "rejected", text)
        }
        SessionEvent::Reset { origin, last_sent, last_received } => {
            reset(*origin, *last_sent, *last_received)
        }
        SessionEvent::ResendRequested { begin, end } => {
            let text = format!("the peer requests a resend of messages {begin} to {end}");
            (Level::INFO, "resend", text)
        }
        SessionEvent::SeqNumTooLow { expected, received } => {
            let text = format!("MsgSeqNum too low: expected {expected}, received {received}");
            (Level::WARN, "seq_num_too_low", text)
        }
        SessionEvent::TooLong { len } => {
            let text = format!("a message of {len} bytes exceeds the limit and was skipped");
            (Level::WARN, "too_long", text)
        }
        SessionEvent::StoreFailed { text } => (Level::ERROR, "store", text.clone()),
        _ => return None,
    })
}

fn of(tag: Option<tickwire_fix::Tag>) -> String {
    tag.map(|tag| format!(", tag {tag}")).unwrap_or_default()
}

/// Returns level, kind and text of a reset's log line.
fn reset(origin: ResetOrigin, last_sent: u64, last_received: u64) -> (Level, &'static str, String) {
    let text = "both sequence numbers were reset to 1";
    if origin != ResetOrigin::PeerWhileLoggedOn {
        return (Level::INFO, "reset", format!("{text} ({})", origin.as_str()));
    }
    let text = format!(
        "{text} by the peer while logged on (ResetSeqNumFlag): sent messages up to {last_sent} and \
         received messages up to {last_received} are not resent; ask for the status of open orders"
    );
    (Level::WARN, "reset_by_peer", text)
}

/// Returns level, kind and text of a disconnection's log line.
fn ended(why: &DisconnectReason) -> (Level, &'static str, String) {
    let (level, kind, text) = match why {
        DisconnectReason::Hook(text) => {
            (Level::WARN, "end_hook", format!("a hook refused it: {text}"))
        }
        DisconnectReason::LoggedOut { text } if text.is_empty() => {
            (Level::INFO, "end_logout", "logged out".to_owned())
        }
        DisconnectReason::LoggedOut { text } => {
            (Level::WARN, "end_logout", format!("the peer logged out: {text}"))
        }
        DisconnectReason::LogonRefused(refusal) => {
            (Level::WARN, "end_refused", format!("Logon refused: {refusal}"))
        }
        DisconnectReason::LogonTimeout => {
            (Level::WARN, "end_logon", "the Logon was not answered".to_owned())
        }
        DisconnectReason::LogoutTimeout => {
            (Level::WARN, "end_answer", "the Logout was not answered".to_owned())
        }
        DisconnectReason::NotLoggedOn => (
            Level::WARN,
            "end_not_logon",
            "a message other than Logon arrived before the Logon".to_owned(),
        ),
        DisconnectReason::Reset => (
            Level::INFO,
            "end_reset",
            "the sequence numbers were reset before the Logon was answered".to_owned(),
        ),
        DisconnectReason::Schedule => {
            (Level::INFO, "end_schedule", "outside the schedule".to_owned())
        }
        DisconnectReason::SeqNum => {
            (Level::WARN, "end_seq_num", "MsgSeqNum is not acceptable".to_owned())
        }
        DisconnectReason::Shutdown => (Level::INFO, "end_shutdown", "shut down".to_owned()),
        DisconnectReason::Silence => (Level::WARN, "end_silence", "the peer is silent".to_owned()),
        DisconnectReason::SlowReader => {
            (Level::WARN, "end_slow", "the peer does not read".to_owned())
        }
        DisconnectReason::Store(text) => (Level::ERROR, "end_store", text.clone()),
        DisconnectReason::TooLong { len, len_max } => {
            let text = format!(
                "the peer resent a message of {len} bytes; the limit is {len_max} (MaxMessageSize)"
            );
            (Level::ERROR, "end_too_long", text)
        }
        DisconnectReason::Unsendable(text) => (Level::ERROR, "end_unsendable", text.clone()),
        _ => (Level::WARN, "end", format!("{why:?}")),
    };
    (level, kind, format!("session ends: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_fix_session::BeginString;

    #[test]
    fn a_session_holds_back_its_own_lines_only() {
        let mut log = EventLog::default();
        let id = |name: &str| SessionId::new(BeginString::Fix44, "A", name);
        let at = |steady_ns| Now { steady_ns, ..Now::default() };
        let mut passes = |name, now| pass(log.throttles(&id(name), at(now)), "gap", at(now));
        assert_eq!((passes("B", 1), passes("B", 2)), (Some(String::new()), None));
        assert_eq!(passes("C", 2), Some(String::new()));
        let more = " (1 more of this kind were not logged)".to_owned();
        assert_eq!(passes("B", SECOND_NS + 1), Some(more));
    }

    #[test]
    fn a_logout_with_a_text_is_a_warning() {
        let logged_out = |text: &str| {
            let why = DisconnectReason::LoggedOut { text: text.to_owned() };
            let (level, _, text) =
                session_event_text(&SessionEvent::Disconnect(why)).expect("text");
            (level, text)
        };
        assert_eq!(logged_out(""), (Level::INFO, "session ends: logged out".to_owned()));
        let text = "session ends: the peer logged out: MsgSeqNum too low";
        assert_eq!(logged_out("MsgSeqNum too low"), (Level::WARN, text.to_owned()));
    }

    #[test]
    fn throttles_of_idle_sessions_are_forgotten() {
        let mut log = EventLog::default();
        let id = |number: u64| SessionId::new(BeginString::Fix44, "A", number.to_string());
        for number in 0..10 * IDLE_SESSIONS_MAX as u64 {
            let now = Now { steady_ns: number * SECOND_NS, ..Now::default() };
            assert!(pass(log.throttles(&id(number), now), "gap", now).is_some());
        }
        assert!(log.sessions.len() <= IDLE_SESSIONS_MAX);
    }
}
