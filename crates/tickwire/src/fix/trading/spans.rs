//! Spans of FIX sessions: from logon to logout, and resends in both directions.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};
use tickwire_fix_engine::{SessionKey, Sessions, session_event_text};
use tickwire_fix_session::{SessionEvent, SessionId, Store};
use tickwire_telemetry::spans::{CompletedSpan, SpanIdentity, SpanSink, SpanValue};
use tracing::Level;

/// Interval at which a resend to the peer is checked for its end, in nanoseconds.
const LOOK_NS: u64 = 10_000_000;
/// Maximum number of sessions that are traced at a time.
const TRACED_MAX: usize = 10_000;

/// A resend that has not ended.
#[derive(Debug)]
struct OpenResend {
    since_ns: u64,
    begin: u64,
    end: u64,
    requests: u64,
}

impl OpenResend {
    fn new(now_ns: u64, begin: u64, end: u64) -> Self {
        Self { since_ns: now_ns, begin, end, requests: 1 }
    }

    /// Adds a further request that overlaps this one.
    fn extend(&mut self, begin: u64, end: u64) {
        self.begin = self.begin.min(begin);
        self.end = self.end.max(end);
        self.requests += 1;
    }
}

/// Why a resend ended before its last message.
type Interruption = Option<&'static str>;

#[derive(Debug)]
struct TracedSession {
    identity: SpanIdentity,
    /// Known from the first turn on.
    id: Option<SessionId>,
    logged_on_ns: Option<u64>,
    /// Messages that this side has requested.
    requested: Option<OpenResend>,
    /// Messages that the peer has requested.
    answered: Option<OpenResend>,
}

/// Turns the events of an engine's sessions into spans; used by the engine's thread.
#[derive(Debug)]
pub struct SessionSpans {
    sink: SpanSink,
    sessions: HashMap<SessionKey, TracedSession>,
    /// Sessions without id or with an open resend.
    watched: Vec<SessionKey>,
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl SessionSpans {
    /// Creates the spans of sessions of which none is logged on.
    pub fn new(sink: SpanSink) -> Self {
        Self { sink, sessions: HashMap::new(), watched: Vec::new() }
    }

    /// Takes an event of a session.
    pub fn event(&mut self, key: SessionKey, event: &SessionEvent) {
        let now_ns = unix_ns();
        match event {
            SessionEvent::LoggedOn => {
                if let Some(session) = self.session(key) {
                    session.logged_on_ns.get_or_insert(now_ns);
                }
            }
            SessionEvent::Gap { begin, end } => self.request(key, now_ns, *begin, *end),
            SessionEvent::ResendRequested { begin, end } if begin <= end => {
                let Some(session) = self.session(key) else { return };
                match &mut session.answered {
                    Some(open) => open.extend(*begin, *end),
                    none => *none = Some(OpenResend::new(now_ns, *begin, *end)),
                }
            }
            SessionEvent::Reset { .. } => {
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.end_resends(&self.sink, now_ns, "the sequence numbers were reset");
                }
            }
            SessionEvent::Disconnect(_) => self.disconnected(key, now_ns, event),
            _ => {}
        }
    }

    /// Returns the session of an event, which is watched from then on; `None` if too many are traced.
    fn session(&mut self, key: SessionKey) -> Option<&mut TracedSession> {
        if self.sessions.len() >= TRACED_MAX && !self.sessions.contains_key(&key) {
            return None;
        }
        if !self.watched.contains(&key) {
            self.watched.push(key);
        }
        Some(self.sessions.entry(key).or_insert_with(|| TracedSession {
            identity: SpanIdentity::root(),
            id: None,
            logged_on_ns: None,
            requested: None,
            answered: None,
        }))
    }

    /// Records that this side requests missing messages: further ones, or the same ones again.
    fn request(&mut self, key: SessionKey, now_ns: u64, begin: u64, end: u64) {
        let sink = self.sink.clone();
        let Some(session) = self.session(key) else { return };
        match &mut session.requested {
            Some(open) if begin <= open.end => open.extend(begin, end),
            _ => {
                let complete = session.requested.replace(OpenResend::new(now_ns, begin, end));
                if let Some(complete) = complete {
                    session.send_resend(&sink, &complete, "requested", now_ns, None);
                }
            }
        }
    }

    /// Ends the spans of a session: its resends, and its own if it was logged on.
    fn disconnected(&mut self, key: SessionKey, now_ns: u64, event: &SessionEvent) {
        let Some(mut session) = self.sessions.remove(&key) else { return };
        self.watched.retain(|watched| *watched != key);
        session.end_resends(&self.sink, now_ns, "the connection ended");
        let Some(since_ns) = session.logged_on_ns else { return };
        let (level, _, text) =
            session_event_text(event).unwrap_or((Level::INFO, "", String::new()));
        let mut attributes = session.attributes();
        attributes.push(("fix.disconnect_reason", SpanValue::Text(text.clone())));
        self.sink.send(CompletedSpan {
            name: "fix session",
            identity: session.identity,
            start_ns: since_ns,
            end_ns: now_ns.max(since_ns),
            attributes,
            error: (level <= Level::WARN).then_some(text),
        });
    }

    /// Ends the resends whose last message was received or sent. Returns the time of the next check, in nanoseconds
    /// of the steady clock.
    pub fn turn(&mut self, sessions: &Sessions, steady_ns: u64) -> Option<u64> {
        if self.watched.is_empty() {
            return None;
        }
        let Self { sink, sessions: traced, watched } = self;
        let now_ns = unix_ns();
        watched.retain(|key| {
            let (Some(traced), Some(session)) = (traced.get_mut(key), sessions.session(*key))
            else {
                return false;
            };
            traced.id.get_or_insert_with(|| session.config().id.clone());
            let next_target = session.store().next_target();
            if let Some(complete) = traced.requested.take_if(|open| next_target > open.end) {
                traced.send_resend(sink, &complete, "requested", now_ns, None);
            }
            if let Some(complete) = traced.answered.take_if(|_| !session.is_resending()) {
                traced.send_resend(sink, &complete, "answered", now_ns, None);
            }
            traced.requested.is_some() || traced.answered.is_some()
        });
        let is_answering =
            |key: &SessionKey| traced.get(key).is_some_and(|session| session.answered.is_some());
        watched.iter().any(is_answering).then_some(steady_ns + LOOK_NS)
    }
}

impl TracedSession {
    fn attributes(&self) -> Vec<(&'static str, SpanValue)> {
        let mut attributes = vec![("network.protocol.name", "fix".into())];
        if let Some(id) = &self.id {
            attributes.extend([
                ("fix.begin_string", id.begin_string.as_str().into()),
                ("fix.sender_comp_id", (&*id.sender_comp_id).into()),
                ("fix.target_comp_id", (&*id.target_comp_id).into()),
            ]);
        }
        attributes
    }

    fn end_resends(&mut self, sink: &SpanSink, now_ns: u64, why: &'static str) {
        for (resend, direction) in
            [(self.requested.take(), "requested"), (self.answered.take(), "answered")]
        {
            if let Some(resend) = resend {
                self.send_resend(sink, &resend, direction, now_ns, Some(why));
            }
        }
    }

    /// Sends the span of a resend. `direction` is `requested` by this side, or `answered`: requested by the peer.
    fn send_resend(
        &self,
        sink: &SpanSink,
        resend: &OpenResend,
        direction: &'static str,
        now_ns: u64,
        interruption: Interruption,
    ) {
        let mut attributes = self.attributes();
        attributes.extend([
            ("fix.resend.direction", direction.into()),
            ("fix.begin_seq_no", resend.begin.into()),
            ("fix.end_seq_no", resend.end.into()),
            ("fix.resend.requests", resend.requests.into()),
        ]);
        sink.send(CompletedSpan {
            name: "fix resend",
            identity: self.identity.child(),
            start_ns: resend.since_ns,
            end_ns: now_ns.max(resend.since_ns),
            attributes,
            error: interruption.map(str::to_owned),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Receiver;
    use tickwire_fix_engine::InitiatorOptions;
    use tickwire_fix_session::{BeginString, Config, DisconnectReason, MemoryStore, SessionRole};
    use tickwire_telemetry::metrics::Metrics;

    fn traced() -> (SessionSpans, Receiver<CompletedSpan>, Sessions, SessionKey) {
        let (sink, spans) = SpanSink::new(64, &Metrics::new());
        let mut sessions = Sessions::default();
        let config =
            Config::new(SessionRole::Initiator, SessionId::new(BeginString::Fix42, "US", "THEM"));
        let options = InitiatorOptions::new(([127, 0, 0, 1], 1).into());
        let key = sessions.add_initiator(config, Box::new(MemoryStore::new()), options);
        (SessionSpans::new(sink), spans, sessions, key.unwrap())
    }

    /// Makes the session expect `seq_num`, as if it had received all messages before.
    fn expect(sessions: &mut Sessions, key: SessionKey, seq_num: u64) {
        let store = sessions.session_mut(key).unwrap().store_mut();
        store.set_next_target(seq_num).unwrap();
    }

    fn value<'s>(span: &'s CompletedSpan, name: &str) -> Option<&'s SpanValue> {
        span.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    #[test]
    fn a_resend_lasts_until_its_last_message_and_belongs_to_its_session() {
        let (mut traced, spans, mut sessions, key) = traced();
        traced.event(key, &SessionEvent::LoggedOn);
        traced.event(key, &SessionEvent::Gap { begin: 2, end: 5 });
        assert_eq!(traced.turn(&sessions, 7), None);
        expect(&mut sessions, key, 4);
        // The rest is requested once more.
        traced.event(key, &SessionEvent::Gap { begin: 4, end: 6 });
        assert_eq!(traced.turn(&sessions, 7), None);
        assert_eq!(spans.try_iter().count(), 0);
        expect(&mut sessions, key, 7);
        traced.turn(&sessions, 7);
        // The peer requests messages; none is left to send at the next turn.
        traced.event(key, &SessionEvent::ResendRequested { begin: 1, end: 3 });
        traced.turn(&sessions, 7);
        traced.event(key, &SessionEvent::Gap { begin: 9, end: 9 });
        let why = DisconnectReason::LoggedOut { text: String::new() };
        traced.event(key, &SessionEvent::Disconnect(why));

        let ended: Vec<CompletedSpan> = spans.try_iter().collect();
        let [requested, answered, cut, session] = &ended[..] else { panic!("{ended:#?}") };
        assert_eq!((requested.name, session.name), ("fix resend", "fix session"));
        let of = |span, name| value(span, name).cloned();
        assert_eq!(of(requested, "fix.resend.direction"), Some("requested".into()));
        assert_eq!(of(requested, "fix.begin_seq_no"), Some(2.into()));
        assert_eq!(of(requested, "fix.end_seq_no"), Some(6.into()));
        assert_eq!(of(requested, "fix.resend.requests"), Some(2.into()));
        assert_eq!(of(answered, "fix.resend.direction"), Some("answered".into()));
        assert_eq!(of(answered, "fix.end_seq_no"), Some(3.into()));
        assert_eq!((&requested.error, &answered.error), (&None, &None));
        assert_eq!(cut.error.as_deref(), Some("the connection ended"));
        for span in [requested, answered, cut] {
            assert!(span.identity.is_child_of(session.identity), "{ended:#?}");
            assert!(session.start_ns <= span.start_ns && span.start_ns <= span.end_ns);
            assert!(span.end_ns <= session.end_ns);
        }
        assert_eq!(of(session, "fix.begin_string"), Some("FIX.4.2".into()));
        assert_eq!(of(session, "fix.sender_comp_id"), Some("US".into()));
        assert_eq!(of(session, "fix.target_comp_id"), Some("THEM".into()));
        assert_eq!(session.error, None);
    }

    #[test]
    fn a_session_that_ends_by_a_fault_is_an_error() {
        let (mut traced, spans, sessions, key) = traced();
        traced.event(key, &SessionEvent::LoggedOn);
        traced.turn(&sessions, 7);
        traced.event(key, &SessionEvent::Disconnect(DisconnectReason::Silence));
        let ended: Vec<CompletedSpan> = spans.try_iter().collect();
        let [session] = &ended[..] else { panic!("{ended:#?}") };
        assert_eq!(session.error.as_deref(), Some("session ends: the peer is silent"));
        // A connection that never logged on is no session.
        traced.event(key, &SessionEvent::Gap { begin: 1, end: 2 });
        traced.event(key, &SessionEvent::Disconnect(DisconnectReason::LogonTimeout));
        let names: Vec<_> = spans.try_iter().map(|span| span.name).collect();
        assert_eq!(names, ["fix resend"]);
    }
}
