//! The history of FIX sessions and topics: the last hour, second by second.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::bus::{BusState, TopicState};
use crate::history::{BoundedHistory, SECONDS_MAX};

/// Most sessions with a history.
const SESSIONS_MAX: usize = 1_024;
/// Number of sessions that can each keep a whole hour. More sessions share the memory of these: each keeps as many runs as
/// its share has room for, and an idle session needs few.
const WHOLE_HOURS: usize = 64;
/// Most runs of all sessions, of 80 bytes each.
const RUNS_MAX: usize = WHOLE_HOURS * SECONDS_MAX;

/// One second of a FIX session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionSecond {
    /// The second, in seconds since 1970.
    pub t: u64,
    /// True if the session was logged on at the end of the second.
    pub is_logged_on: bool,
    /// Messages received.
    pub received: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages sent again.
    pub resent: u64,
    /// Messages rejected.
    pub rejected: u64,
    /// Messages that waited at the end of the second.
    pub queued: u64,
    /// The next number to send at the end of the second.
    pub next_sender: u64,
    /// The next expected number at the end of the second.
    pub next_target: u64,
}

/// One second of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TopicSecond {
    /// Samples written or received.
    pub samples: u64,
    /// Matched readers or writers at the end of the second.
    pub matched: u32,
    /// Backlog at the end of the second; `null` if unknown.
    pub backlog_samples: Option<u64>,
}

/// One second of all topics of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BusSecond {
    /// The second, in seconds since 1970.
    pub t: u64,
    /// Samples found to be lost, of publishers that ended.
    pub lost: u64,
    /// Samples found missing between received ones.
    pub missing: u64,
    /// Samples dropped by the publisher.
    pub dropped: u64,
    /// Readers that joined late.
    pub late_joiners: u64,
    /// The topics, in the order of the state.
    pub topics: Vec<TopicSecond>,
}

/// Counts of a session since its start.
#[derive(Clone, Copy, Debug, Default)]
struct SessionTotals {
    received: u64,
    sent: u64,
    resent: u64,
    rejected: u64,
}

/// Returns the growth of a counter. A counter that is lower than before was restarted at 0.
pub(crate) const fn grown(before: u64, now: u64) -> u64 {
    if now < before { now } else { now - before }
}

/// A second of a session, and the idle ones after it: no message was counted, and nothing else changed.
#[derive(Debug)]
struct SecondRun {
    first: SessionSecond,
    idle: u64,
}

impl SecondRun {
    /// Returns the idle second that follows the first one after `offset` seconds.
    fn idle_second(&self, offset: u64) -> SessionSecond {
        let t = self.first.t + offset;
        SessionSecond { t, received: 0, sent: 0, resent: 0, rejected: 0, ..self.first.clone() }
    }

    fn seconds(&self) -> impl Iterator<Item = SessionSecond> {
        let idle = (1..=self.idle).map(|offset| self.idle_second(offset));
        std::iter::once(self.first.clone()).chain(idle)
    }
}

/// The last hour of a session, in runs.
#[derive(Debug, Default)]
struct SessionHistory {
    before: SessionTotals,
    runs: VecDeque<SecondRun>,
    /// Seconds of all runs.
    count: u64,
}

impl SessionHistory {
    /// Adds a second, and drops those that are older than an hour or for which `runs_max` leaves no room.
    fn push(&mut self, second: SessionSecond, runs_max: usize) {
        self.count += 1;
        match self.runs.back_mut() {
            Some(last) if second == last.idle_second(last.idle + 1) => last.idle += 1,
            _ => self.runs.push_back(SecondRun { first: second, idle: 0 }),
        }
        while self.runs.len() > runs_max {
            let dropped = self.runs.pop_front();
            self.count -= dropped.map_or(0, |run| run.idle + 1);
        }
        if self.count > SECONDS_MAX as u64 {
            self.count -= 1;
            match self.runs.front_mut() {
                Some(run) if run.idle > 0 => {
                    *run = SecondRun { first: run.idle_second(1), idle: run.idle - 1 };
                }
                _ => drop(self.runs.pop_front()),
            }
        }
    }

    /// Returns the last `count` seconds, the oldest first.
    fn seconds(&self, count: usize) -> Vec<SessionSecond> {
        let all = self.runs.iter().flat_map(SecondRun::seconds);
        all.skip((self.count as usize).saturating_sub(count)).collect()
    }
}

/// Counts of all topics since the start.
#[derive(Clone, Debug, Default)]
struct TopicTotals {
    lost: u64,
    missing: u64,
    dropped: u64,
    late_joiners: u64,
    samples: Vec<u64>,
}

/// The histories of a process.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    sessions: BTreeMap<String, SessionHistory>,
    /// True from the end of the first second on: all counts of a session that appears later are
    /// new.
    has_begun: bool,
    bus_before: Option<TopicTotals>,
    bus: BoundedHistory<BusSecond>,
    topics: Vec<String>,
}

impl Activity {
    /// Completes the second `t` of all sessions. At most [`SESSIONS_MAX`] have a history. Those that no longer exist keep theirs
    /// until there are [`WHOLE_HOURS`].
    pub(crate) fn end_second_of_sessions(&mut self, t: u64, fix: &Value) {
        let sessions = fix["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let named = || sessions.iter().filter_map(|of| Some((of["name"].as_str()?, of)));
        let has_new = || named().any(|(name, _)| !self.sessions.contains_key(name));
        if self.sessions.len() > WHOLE_HOURS || (self.sessions.len() == WHOLE_HOURS && has_new()) {
            let present: HashSet<&str> = named().map(|(name, _)| name).collect();
            self.sessions.retain(|known, _| present.contains(known.as_str()));
        }
        let runs_max = RUNS_MAX / sessions.len().clamp(WHOLE_HOURS, SESSIONS_MAX);
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        for (name, session) in named() {
            if !self.sessions.contains_key(name) {
                if self.sessions.len() >= SESSIONS_MAX {
                    continue;
                }
                let before = if has_begun { SessionTotals::default() } else { counts_of(session) };
                let history = SessionHistory { before, ..SessionHistory::default() };
                self.sessions.insert(name.to_owned(), history);
            }
            let Some(history) = self.sessions.get_mut(name) else { continue };
            let now = counts_of(session);
            let before = std::mem::replace(&mut history.before, now);
            let second = SessionSecond {
                t,
                is_logged_on: session["state"] == "logged_on",
                received: grown(before.received, now.received),
                sent: grown(before.sent, now.sent),
                resent: grown(before.resent, now.resent),
                rejected: grown(before.rejected, now.rejected),
                queued: number(&session["queued"]),
                next_sender: number(&session["next_sender"]),
                next_target: number(&session["next_target"]),
            };
            history.push(second, runs_max);
        }
    }

    /// Completes the second `t` of the topics.
    pub(crate) fn end_second_of_topics(&mut self, t: u64, bus: &BusState) {
        let now = TopicTotals {
            lost: bus.publishers.iter().filter_map(|of| of.lost_samples).sum(),
            missing: bus.publishers.iter().map(|of| of.missing_samples).sum(),
            dropped: bus.counts.get("dropped_samples").copied().unwrap_or(0),
            late_joiners: bus.late_joiners,
            samples: bus.topics.iter().map(|topic| topic.samples).collect(),
        };
        self.topics = bus.topics.iter().map(|topic| topic.name.clone()).collect();
        let before = self.bus_before.replace(now.clone()).unwrap_or_else(|| now.clone());
        let topic = |(at, topic): (usize, &TopicState)| {
            let before = before.samples.get(at).copied().unwrap_or(0);
            TopicSecond {
                samples: grown(before, topic.samples),
                matched: topic.matched,
                backlog_samples: topic.backlog_samples,
            }
        };
        self.bus.push(BusSecond {
            t,
            lost: grown(before.lost, now.lost),
            missing: grown(before.missing, now.missing),
            dropped: grown(before.dropped, now.dropped),
            late_joiners: grown(before.late_joiners, now.late_joiners),
            topics: bus.topics.iter().enumerate().map(topic).collect(),
        });
    }

    /// Returns the last `count` seconds of a session; `None` if it has no history.
    pub(crate) fn session(&self, name: &str, count: usize) -> Option<Vec<SessionSecond>> {
        Some(self.sessions.get(name)?.seconds(count))
    }

    /// Returns the names of the topics, and their last `count` seconds.
    pub(crate) fn bus(&self, count: usize) -> (Vec<String>, Vec<Arc<BusSecond>>) {
        (self.topics.clone(), self.bus.seconds(count))
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn counts_of(session: &Value) -> SessionTotals {
    let counters = &session["counters"];
    SessionTotals {
        received: number(&counters["received"]),
        sent: number(&counters["sent"]),
        resent: number(&counters["resent"]),
        rejected: number(&counters["rejected"]),
    }
}

/// Returns the seconds of a session as CSV with a header line.
pub(crate) fn session_csv(seconds: &[SessionSecond]) -> String {
    let mut out = String::from(
        "unix_seconds,logged_on,received,sent,resent,rejected,queued,next_sender,next_target\n",
    );
    for second in seconds {
        let SessionSecond { t, is_logged_on, received, sent, resent, rejected, .. } = second;
        let SessionSecond { queued, next_sender, next_target, .. } = second;
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{t},{},{received},{sent},{resent},{rejected},{queued},{next_sender},{next_target}",
            u8::from(*is_logged_on)
        );
    }
    out
}

/// Returns the seconds of topics as CSV with a header line: three columns for each topic, whose name
/// loses commas and quotes. An unknown backlog is empty.
pub(crate) fn bus_csv(topics: &[String], seconds: &[Arc<BusSecond>]) -> String {
    let mut out =
        String::from("unix_seconds,lost_samples,missing_samples,dropped_samples,late_joiners");
    for topic in topics {
        let topic = topic.replace([',', '"', '\n'], "_");
        // Writing to a string does not fail.
        let _ = write!(out, ",{topic}_samples,{topic}_matched,{topic}_backlog");
    }
    out.push('\n');
    for second in seconds {
        let BusSecond { t, lost, missing, dropped, late_joiners, topics } = &**second;
        let _ = write!(out, "{t},{lost},{missing},{dropped},{late_joiners}");
        for TopicSecond { samples, matched, backlog_samples } in topics {
            let backlog = backlog_samples.map(|count| count.to_string()).unwrap_or_default();
            let _ = write!(out, ",{samples},{matched},{backlog}");
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::{BusDescription, BusFacts, BusRole, BusTap, TopicFacts};
    use serde_json::json;

    fn sessions(names: impl IntoIterator<Item = String>, received: u64) -> Value {
        let session = |name: String| {
            let counters =
                json!({"received": received, "sent": 2 * received, "resent": 1, "rejected": 0});
            json!({"name": name, "state": "logged_on", "queued": 3, "next_sender": 8, "next_target": 9, "counters": counters})
        };
        json!({ "sessions": names.into_iter().map(session).collect::<Vec<_>>() })
    }

    #[test]
    fn a_session_has_the_changes_of_each_second() {
        let mut activity = Activity::default();
        for (t, received) in [(100, 50), (101, 60), (102, 75)] {
            let fix = sessions(["S".to_owned()], received);
            activity.end_second_of_sessions(t, &fix);
        }
        let seconds = activity.session("S", 2).unwrap();
        assert_eq!(
            session_csv(&seconds).lines().skip(1).collect::<Vec<_>>(),
            ["101,1,10,20,0,0,3,8,9", "102,1,15,30,0,0,3,8,9"]
        );
        assert!(activity.session("T", 2).is_none());
    }

    #[test]
    fn a_session_that_comes_later_or_anew_has_all_its_counts() {
        let mut activity = Activity::default();
        activity.end_second_of_sessions(100, &sessions(["S".to_owned()], 5));
        let both = || ["S".to_owned(), "T".to_owned()];
        activity.end_second_of_sessions(101, &sessions(both(), 40));
        // Both were removed and added again.
        activity.end_second_of_sessions(102, &sessions(both(), 3));
        let received = |name| {
            let seconds = activity.session(name, usize::MAX).unwrap();
            seconds.iter().map(|second| second.received).collect::<Vec<_>>()
        };
        assert_eq!((received("S"), received("T")), (vec![0, 35, 3], vec![40, 3]));
    }

    #[test]
    fn histories_are_bounded_in_seconds_and_sessions() {
        let mut activity = Activity::default();
        for t in 0..2 * SECONDS_MAX as u64 {
            activity.end_second_of_sessions(t, &sessions(["S".to_owned()], t));
        }
        let seconds = activity.session("S", usize::MAX).unwrap();
        assert_eq!((seconds.len(), seconds[0].t), (SECONDS_MAX, SECONDS_MAX as u64));
        let many = |from: usize| (from..from + 2 * SESSIONS_MAX).map(|at| format!("S{at}"));
        activity.end_second_of_sessions(1, &sessions(many(0), 1));
        assert_eq!(activity.sessions.len(), SESSIONS_MAX);
        // The first sessions are gone and make room for others.
        activity.end_second_of_sessions(2, &sessions(many(10_000), 1));
        assert_eq!(activity.sessions.len(), SESSIONS_MAX);
        assert!(activity.sessions.keys().all(|name| name.len() == 6));
    }

    #[test]
    fn idle_seconds_take_no_room_and_are_the_same_when_they_are_read() {
        let mut history = SessionHistory::default();
        let second = |t, received| SessionSecond { t, received, queued: 1, ..Default::default() };
        // The second 13 was missed, and the clock is set back after 15.
        let all = [(10, 5), (11, 0), (12, 0), (14, 0), (15, 3), (9, 0), (10, 0), (11, 0)];
        let all = all.map(|(t, received)| second(t, received));
        for second in &all {
            history.push(second.clone(), 100);
        }
        assert_eq!(history.runs.len(), 4);
        assert_eq!(history.seconds(usize::MAX), all);
        assert_eq!(history.seconds(4), all[4..]);
        history.push(second(12, 1), 3);
        let left: Vec<u64> = history.seconds(usize::MAX).iter().map(|second| second.t).collect();
        assert_eq!((left, history.count), (vec![15, 9, 10, 11, 12], 5));
        // An hour of idle seconds is dropped second by second.
        let mut history = SessionHistory::default();
        (0..2 * SECONDS_MAX as u64).for_each(|t| history.push(second(t, 0), 3));
        let left = history.seconds(usize::MAX);
        assert_eq!((left.len(), left[0].t, history.runs.len()), (SECONDS_MAX, 3600, 1));
    }

    #[test]
    fn more_than_64_sessions_have_a_history_and_share_the_room_of_64() {
        let mut activity = Activity::default();
        let names = || (0..2 * WHOLE_HOURS).map(|at| format!("S{at}"));
        for t in 0..SECONDS_MAX as u64 {
            let mut fix = sessions(names(), 1);
            // Only the first session has messages.
            fix["sessions"][0]["counters"]["received"] = t.into();
            activity.end_second_of_sessions(t, &fix);
        }
        let seconds = |name: &str| activity.session(name, usize::MAX).map(|all| all.len());
        assert_eq!((seconds("S0"), seconds("S127")), (Some(SECONDS_MAX / 2), Some(SECONDS_MAX)));
        assert_eq!(seconds("S128"), None);
    }

    #[test]
    fn topics_have_samples_and_backlog_of_each_second() {
        let (transport, topics) = ("DDS".to_owned(), vec!["Quote".to_owned(), "New".to_owned()]);
        let tap = BusTap::new(BusDescription { role: BusRole::Publisher, transport, topics });
        let mut activity = Activity::default();
        for (t, samples, backlog) in [(7, 10, None), (8, 25, Some(4))] {
            let topic = TopicFacts { samples, matched: 1, backlog };
            let topics = vec![topic, TopicFacts::default()];
            let counts = vec![("dropped_samples", samples / 10)];
            tap.publish(t, BusFacts { topics, counts, late_joiners: 1, ..BusFacts::default() });
            activity.end_second_of_topics(t, &tap.state(t));
        }
        let (names, seconds) = activity.bus(usize::MAX);
        let csv = bus_csv(&names, &seconds);
        let lines: Vec<_> = csv.lines().collect();
        assert_eq!(lines[0].split(',').count(), 11, "{csv}");
        assert_eq!(lines[1..], ["7,0,0,0,0,0,1,,0,0,", "8,0,0,1,0,15,1,4,0,0,"]);
    }
}
