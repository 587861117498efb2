//! Totals of an engine's sessions, and their publication as metrics.

use std::collections::HashMap;

use tickwire_fix_session::{Now, Refusal, Session, SessionCounters, SessionId};

use super::sessions::{BoxStore, SessionKey, Sessions};
use tickwire_telemetry::metrics::{Counter, Gauge, Metrics};

/// Most sessions with their own metrics: each adds a line to every metric.
const SESSIONS_MAX: usize = 1000;
/// Least time between two publications.
const PUBLISH_NS: u64 = 250_000_000;

/// Totals of an engine's sessions. Counters only grow; the others are current values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixCounters {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of sessions that are logged on.
    pub logged_on: u64,
    /// Number of sessions whose store or message log cannot be opened ([`Sessions::unopened`]).
    pub unopened: u64,
    /// Messages received that were not garbled.
    pub received: u64,
    /// Messages passed to the application.
    pub delivered: u64,
    /// Messages sent, without resends.
    pub sent: u64,
    /// Messages sent again.
    pub resent: u64,
    /// Messages refused.
    pub rejected: u64,
    /// Messages rejected by peers.
    pub refused: u64,
    /// Garbled messages and runs of garbage.
    pub garbled: u64,
    /// Resend requests sent.
    pub gaps: u64,
    /// Messages with a sequence number that was already received, ignored.
    pub duplicates: u64,
    /// Logons completed.
    pub logons: u64,
    /// Messages queued until peers read them.
    pub queued: u64,
}

impl FixCounters {
    /// Adds the counters of a session.
    pub(super) fn add(&mut self, counters: &SessionCounters) {
        self.received += counters.received;
        self.delivered += counters.delivered;
        self.sent += counters.sent;
        self.resent += counters.resent;
        self.rejected += counters.rejected;
        self.refused += counters.refused;
        self.garbled += counters.garbled;
        self.gaps += counters.gaps;
        self.duplicates += counters.duplicates;
        self.logons += counters.logons;
    }
}

impl Sessions {
    /// Returns the totals of all sessions, including removed ones.
    pub fn counters(&self) -> FixCounters {
        let unopened = self.unopened().count() as u64;
        let mut sum = FixCounters { sessions: self.len() as u64, unopened, ..self.gone };
        for session in self.keys().filter_map(|key| self.session(key)) {
            sum.add(session.counters());
            sum.logged_on += u64::from(session.is_logged_on());
            sum.queued += session.backlog();
        }
        sum
    }
}

/// Returns a counter of the totals.
type FixCounterAccessor = fn(&FixCounters) -> u64;
/// Name, help text and accessor of a counter.
type NamedFixCounter = (&'static str, &'static str, FixCounterAccessor);

const COUNTERS: [NamedFixCounter; 10] = [
    ("fix_received_messages", "Messages received that were not garbled", |c| c.received),
    ("fix_delivered_messages", "Messages passed to the application", |c| c.delivered),
    ("fix_sent_messages", "Messages sent, without resends", |c| c.sent),
    ("fix_resent_messages", "Messages resent", |c| c.resent),
    ("fix_rejected_messages", "Messages rejected by this side", |c| c.rejected),
    ("fix_refused_messages", "Messages rejected by peers", |c| c.refused),
    ("fix_garbled_messages", "Garbled messages and runs of garbage", |c| c.garbled),
    ("fix_resend_requests", "Resend requests sent", |c| c.gaps),
    ("fix_duplicate_messages", "Messages with a sequence number that was already received", |c| {
        c.duplicates
    }),
    ("fix_logons", "Logons completed", |c| c.logons),
];

const GAUGES: [NamedFixCounter; 4] = [
    ("fix_sessions", "Sessions", |c| c.sessions),
    ("fix_logged_on_sessions", "Sessions that are logged on", |c| c.logged_on),
    ("fix_unopened_sessions", "Sessions whose store or message log cannot be opened", |c| {
        c.unopened
    }),
    ("fix_queued_messages", "Messages queued until peers read them", |c| c.queued),
];

/// Name, help text and accessor of a counter of one session.
type NamedOfSession = (&'static str, &'static str, fn(&SessionCounters) -> u64);

const SESSION_COUNTERS: [NamedOfSession; 5] = [
    ("fix_session_received_messages", "Messages received in a session", |c| c.received),
    ("fix_session_sent_messages", "Messages sent in a session, without resends", |c| c.sent),
    ("fix_session_resent_messages", "Messages resent in a session", |c| c.resent),
    ("fix_session_rejected_messages", "Messages of a session rejected by this side", |c| {
        c.rejected
    }),
    ("fix_session_logons", "Logons of a session completed", |c| c.logons),
];

/// Metrics of one session.
#[derive(Debug)]
struct OfSession {
    counters: [Counter; SESSION_COUNTERS.len()],
    logged_on: Gauge,
    in_schedule: Gauge,
    enabled: Gauge,
    queued: Gauge,
    next_sender: Gauge,
    next_target: Gauge,
}

impl OfSession {
    fn new(metrics: &Metrics, id: &SessionId) -> Self {
        let id = id.to_string();
        let labels = [("session", id.as_str())];
        let gauge = |name, help| metrics.gauge(name, help, &labels);
        Self {
            counters: SESSION_COUNTERS.map(|(name, help, _)| metrics.counter(name, help, &labels)),
            logged_on: gauge("fix_session_logged_on", "1 while the session is logged on"),
            in_schedule: gauge(
                "fix_session_in_schedule",
                "1 while the schedule lets the session be logged on, or without a schedule",
            ),
            enabled: gauge("fix_session_enabled", "1 unless the session was disabled"),
            queued: gauge(
                "fix_session_queued_messages",
                "Messages queued until the peer reads them",
            ),
            next_sender: gauge("fix_session_next_sender", "MsgSeqNum of the next message to send"),
            next_target: gauge("fix_session_next_target", "MsgSeqNum of the next message expected"),
        }
    }

    fn publish(&self, session: &Session<BoxStore>, is_enabled: bool, wall_ns: u64) {
        for (counter, (.., at)) in self.counters.iter().zip(SESSION_COUNTERS) {
            counter.set(at(session.counters()));
        }
        self.logged_on.set(u64::from(session.is_logged_on()));
        self.in_schedule.set(u64::from(session.config().is_in_schedule(wall_ns)));
        self.enabled.set(u64::from(is_enabled));
        self.queued.set(session.backlog());
        self.next_sender.set(session.store().next_sender());
        self.next_target.set(session.store().next_target());
    }
}

/// Publishes the counters of an engine's sessions: totals, and those of up to 1,000 single
/// sessions.
#[derive(Debug)]
pub struct FixMetrics {
    metrics: Metrics,
    sessions: HashMap<SessionKey, OfSession>,
    counters: Vec<(Counter, FixCounterAccessor)>,
    gauges: Vec<(Gauge, FixCounterAccessor)>,
    refusals: Vec<(Counter, Refusal)>,
    next_ns: u64,
}

impl FixMetrics {
    /// Registers all metrics.
    pub fn new(metrics: &Metrics) -> Self {
        let counters = COUNTERS.map(|(name, help, at)| (metrics.counter(name, help, &[]), at));
        let gauges = GAUGES.map(|(name, help, at)| (metrics.gauge(name, help, &[]), at));
        let help = "Connections refused before their Logon was accepted, by reason";
        let refusal = |refusal: Refusal| {
            let labels = [("reason", refusal.as_str())];
            (metrics.counter("fix_refused_connections", help, &labels), refusal)
        };
        let refusals = Refusal::ALL.map(refusal).into();
        Self {
            metrics: metrics.clone(),
            sessions: HashMap::new(),
            counters: counters.into(),
            gauges: gauges.into(),
            refusals,
            next_ns: 0,
        }
    }

    /// Publishes the counters, at most every 250 ms. Returns true if it did.
    pub fn publish(&mut self, sessions: &Sessions, now: Now) -> bool {
        if now.steady_ns < self.next_ns {
            return false;
        }
        self.next_ns = now.steady_ns.saturating_add(PUBLISH_NS);
        let counts = sessions.counters();
        for (counter, at) in &self.counters {
            counter.set(at(&counts));
        }
        for (counter, refusal) in &self.refusals {
            counter.set(sessions.refusals(*refusal));
        }
        for (gauge, at) in &self.gauges {
            gauge.set(at(&counts));
        }
        self.sessions.retain(|key, published| {
            let is_there = sessions.session(*key).is_some();
            if !is_there {
                published.logged_on.set(0);
                published.enabled.set(0);
                published.queued.set(0);
            }
            is_there
        });
        for key in sessions.keys() {
            let Some(session) = sessions.session(key) else { continue };
            if self.sessions.len() < SESSIONS_MAX || self.sessions.contains_key(&key) {
                let made = || OfSession::new(&self.metrics, &session.config().id);
                let published = self.sessions.entry(key).or_insert_with(made);
                published.publish(session, sessions.is_enabled(key), now.wall_ns);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;
    use tickwire_fix_session::{
        BeginString, Config, MemoryStore, Schedule, SessionId, SessionRole,
    };

    #[test]
    fn counts_are_published_now_and_then() {
        let metrics = Metrics::new();
        let mut publisher = FixMetrics::new(&metrics);
        let mut sessions = Sessions::default();
        let id = SessionId::new(BeginString::Fix42, "A", "B");
        let store = Box::new(MemoryStore::new());
        let added =
            sessions.add(Config::new(SessionRole::Acceptor, id), store, Access::default(), None);
        added.expect("the first");
        let at = |steady_ns| Now { wall_ns: 0, steady_ns };
        assert!(publisher.publish(&sessions, at(1)));
        assert!(!publisher.publish(&sessions, at(PUBLISH_NS)));
        let text = metrics.encode();
        assert!(text.contains("tickwire_fix_sessions{} 1\n"), "{text}");
        assert!(text.contains("tickwire_fix_sent_messages_total{} 0\n"), "{text}");
        for line in
            ["logged_on{session=\"FIX.4.2:A->B\"} 0", "next_sender{session=\"FIX.4.2:A->B\"} 1"]
        {
            assert!(text.contains(&format!("tickwire_fix_session_{line}\n")), "{text}");
        }
        sessions.count_refusal(Refusal::CompId, None);
        assert!(publisher.publish(&sessions, at(2 * PUBLISH_NS)));
        let text = metrics.encode();
        let counted = "tickwire_fix_refused_connections_total{reason=\"comp_id\"} 1\n";
        assert!(text.contains(counted), "{text}");
    }

    #[test]
    fn a_session_outside_its_schedule_or_disabled_is_told_apart_from_one_that_is_down() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let metrics = Metrics::new();
        let mut publisher = FixMetrics::new(&metrics);
        let mut sessions = Sessions::default();
        let mut config =
            Config::new(SessionRole::Acceptor, SessionId::new(BeginString::Fix42, "A", "B"));
        config.schedule = Some(Schedule::daily("UTC", "08:00:00", "16:00:00").unwrap());
        let store = Box::new(MemoryStore::new());
        let key = sessions.add(config, store, Access::default(), None).unwrap();
        let mut published = |sessions: &Sessions, hour: u64| {
            let now = Now { wall_ns: hour * HOUR_NS, steady_ns: hour * HOUR_NS };
            assert!(publisher.publish(sessions, now));
            let text = metrics.encode();
            ["logged_on", "in_schedule", "enabled"].map(|name| {
                let name = format!("tickwire_fix_session_{name}{{session=\"FIX.4.2:A->B\"}} ");
                let value = text.lines().find_map(|line| line.strip_prefix(&name));
                value.unwrap_or_else(|| panic!("no {name}: {text}")).to_owned()
            })
        };
        assert_eq!(published(&sessions, 7), ["0", "0", "1"]);
        assert_eq!(published(&sessions, 9), ["0", "1", "1"]);
        sessions.set_enabled(key, false, Now::default());
        assert_eq!(published(&sessions, 10), ["0", "1", "0"]);
        assert_eq!(published(&sessions, 17), ["0", "0", "0"]);
    }
}
