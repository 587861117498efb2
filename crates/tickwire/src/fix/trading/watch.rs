//! Monitors FIX sessions: rates, events on a time line, and the last messages with the names of their fields.

use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tickwire_fix::Tag;
use tickwire_fix_engine::{SessionKey, Sessions, session_event_text};
use tickwire_fix_session::{Now, Session, SessionEvent};
use tickwire_fix_text::Versions;
use tickwire_monitor::{Panel, Rates};

/// Maximum number of events kept per session.
const EVENTS_MAX: usize = 64;
/// Maximum number of sessions whose events are kept.
const SESSIONS_MAX: usize = 1_000;
/// Maximum number of messages shown per session.
pub const MESSAGES_MAX: usize = 16;
/// Maximum number of sessions whose messages are shown: those that were active last.
const SHOWN_MAX: usize = 16;
/// The field delimiter.
const SOH: u8 = 1;
/// Position of the direction in a line of the message log, after the time.
const DIRECTION_AT: usize = 28;

/// The last lines of the message logs, by session name.
type LogTails = HashMap<String, Vec<Box<[u8]>>>;

/// Data that the engine's thread hands over to the monitor.
#[derive(Default)]
struct PanelFacts {
    sessions: Value,
    lines: LogTails,
}

#[derive(Default)]
struct SessionActivity {
    rates: Rates,
    events: VecDeque<Value>,
    /// Messages received and sent.
    messages: u64,
    /// Time of the last publication with a new message, in nanoseconds of the monotonic clock.
    active_ns: u64,
    /// True if the last publication had its messages.
    is_shown: bool,
}

/// Watches the sessions of an engine; used by the engine's thread.
#[derive(Default)]
pub struct SessionMonitor {
    shown: Arc<Mutex<PanelFacts>>,
    sessions: HashMap<SessionKey, SessionActivity>,
    events: u64,
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl SessionMonitor {
    /// Returns the panel that the monitor calls.
    pub fn panel(&self) -> Panel {
        let shown = self.shown.clone();
        let decoder = Mutex::new(TailDecoder::default());
        Box::new(move || {
            let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            let mut decoder = decoder.lock().unwrap_or_else(PoisonError::into_inner);
            decoder.decoded(&shown)
        })
    }

    /// Stores an event.
    pub fn event(&mut self, key: SessionKey, event: &SessionEvent) {
        if let Some((_, kind, text)) = session_event_text(event) {
            self.keep(key, kind, &text);
        }
    }

    /// Stores a change by the administration.
    pub fn administration(&mut self, key: SessionKey, text: &str) {
        self.keep(key, "administration", text);
    }

    fn keep(&mut self, key: SessionKey, kind: &str, text: &str) {
        if self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(&key) {
            return;
        }
        self.events += 1;
        let events = &mut self.sessions.entry(key).or_default().events;
        if events.len() == EVENTS_MAX {
            events.pop_front();
        }
        events
            .push_back(json!({"id": self.events, "at_ms": unix_ms(), "kind": kind, "text": text}));
    }

    /// Hands over the state of the sessions as of `now`. Does nothing while the monitor reads.
    pub fn publish(&mut self, sessions: &Sessions, now: Now) {
        let Now { wall_ns, steady_ns: now_ns } = now;
        let Ok(mut shown) = self.shown.try_lock() else { return };
        let mut value = sessions.to_json();
        let all = value["sessions"].as_array_mut().into_iter().flatten();
        let keys = sessions.keys().filter(|key| sessions.session(*key).is_some());
        let mut names = Vec::new();
        for (object, key) in all.zip(keys) {
            let watched = self.sessions.entry(key).or_default();
            let count = |name: &str| object["counters"][name].as_u64().unwrap_or(0);
            watched.rates.note(now_ns, vec![count("received"), count("sent")]);
            watched.note_messages(count("received") + count("sent"), now_ns);
            object["received_per_second"] = watched.rates.of(0).into();
            object["sent_per_second"] = watched.rates.of(1).into();
            let is_open = |session: &Session<_>| session.config().is_in_schedule(wall_ns);
            object["in_schedule"] = sessions.session(key).is_some_and(is_open).into();
            object["events"] = watched.events.iter().rev().cloned().collect();
            names.push((key, object["name"].as_str().unwrap_or_default().to_owned()));
        }
        self.sessions.retain(|key, _| sessions.session(*key).is_some());
        choose_shown(self.sessions.values_mut());
        names.retain(|(key, _)| self.sessions.get(key).is_some_and(|of| of.is_shown));
        let tail = |key| sessions.tail(key).map(Into::into).collect();
        shown.lines = names.into_iter().map(|(key, name)| (name, tail(key))).collect();
        shown.sessions = value;
    }
}

impl SessionActivity {
    fn note_messages(&mut self, messages: u64, now_ns: u64) {
        if messages != self.messages {
            (self.messages, self.active_ns) = (messages, now_ns);
        }
    }
}

/// Chooses the sessions whose messages are shown. Of sessions that were active at the same time, those that are shown
/// already stay.
fn choose_shown<'s>(sessions: impl Iterator<Item = &'s mut SessionActivity>) {
    let mut all: Vec<&mut SessionActivity> = sessions.collect();
    all.sort_unstable_by_key(|of| Reverse((of.active_ns, of.is_shown)));
    for (index, of) in all.into_iter().enumerate() {
        of.is_shown = index < SHOWN_MAX;
    }
}

/// Decodes messages with the names of their fields. Decodes each message only once.
#[derive(Default)]
struct TailDecoder {
    versions: Versions,
    known: HashMap<Box<[u8]>, Value>,
}

impl TailDecoder {
    fn decoded(&mut self, shown: &PanelFacts) -> Value {
        let mut sessions = shown.sessions.clone();
        if sessions.is_null() {
            return json!({"sessions": [], "unopened": [], "refused_connections": {}});
        }
        let mut known = HashMap::new();
        for object in sessions["sessions"].as_array_mut().into_iter().flatten() {
            let lines = object["name"].as_str().and_then(|name| shown.lines.get(name));
            let messages = lines.into_iter().flatten().rev().map(|line| {
                let decoded = self.known.remove(line);
                let decoded = decoded.unwrap_or_else(|| decode_line(&self.versions, line));
                known.insert(line.clone(), decoded.clone());
                decoded
            });
            object["messages"] = messages.collect();
        }
        self.known = known;
        sessions
    }
}

/// Decodes a line of the message log with the names of the fields.
fn decode_line(versions: &Versions, line: &[u8]) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let time = text(line.get(..DIRECTION_AT - 1).unwrap_or_default());
    let is_received = line.get(DIRECTION_AT) == Some(&b'<');
    let message = line.get(DIRECTION_AT + 2..).unwrap_or_default();
    let message = message.strip_suffix(b"\n").unwrap_or(message);
    let fields: Vec<(u32, &[u8])> = message
        .split(|byte| *byte == SOH)
        .filter_map(|field| {
            let at = field.iter().position(|byte| *byte == b'=')?;
            let tag = std::str::from_utf8(&field[..at]).ok()?.parse().ok()?;
            Some((tag, &field[at + 1..]))
        })
        .collect();
    let value_of = |wanted: u32| {
        fields.iter().find(|(tag, _)| *tag == wanted).map_or(&[][..], |(_, value)| *value)
    };
    let names = versions.names_of(value_of(8), None);
    let msg_type = value_of(35);
    let named = |(tag, value): &(u32, &[u8])| {
        let name = names.field(Tag(*tag)).map_or("", |field| field.name());
        json!([tag, name, text(value)])
    };
    json!({
        "time": time,
        "direction": if is_received { "in" } else { "out" },
        "msg_type": text(msg_type),
        "name": names.message(msg_type).map_or("", |message| message.name()),
        "seq_num": text(value_of(34)),
        "is_resent": value_of(43) == b"Y",
        "fields": fields.iter().map(named).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_shown_of_the_sessions_that_were_active_last() {
        let mut sessions: Vec<SessionActivity> = Vec::new();
        sessions.resize_with(SHOWN_MAX + 4, SessionActivity::default);
        let shown = |sessions: &mut Vec<SessionActivity>| {
            choose_shown(sessions.iter_mut());
            let all = sessions.iter().enumerate();
            all.filter(|(_, of)| of.is_shown).map(|(index, _)| index).collect::<Vec<_>>()
        };
        let first = shown(&mut sessions);
        assert_eq!(first.len(), SHOWN_MAX);
        // Counts that stay the same are no activity.
        sessions.iter_mut().for_each(|of| of.note_messages(0, 10));
        assert_eq!(shown(&mut sessions), first);
        let others: Vec<usize> = (0..SHOWN_MAX + 4).filter(|at| !first.contains(at)).collect();
        for at in &others {
            sessions[*at].note_messages(1, 20);
        }
        let second = shown(&mut sessions);
        assert!(second.len() == SHOWN_MAX && others.iter().all(|at| second.contains(at)));
        // All are active at once: the choice stays.
        sessions.iter_mut().for_each(|of| of.note_messages(2, 30));
        assert_eq!(shown(&mut sessions), second);
    }

    #[test]
    fn a_line_of_the_log_is_decoded_by_name() {
        let line = b"20240305-08:00:00.123456789 < 8=FIX.4.2\x019=5\x0135=2\x0134=7\x0143=Y\x017=3\x0116=0\x0110=000\x01\n";
        let decoded = decode_line(&Versions::default(), line);
        assert_eq!(
            (&decoded["time"], &decoded["direction"], &decoded["name"], &decoded["seq_num"]),
            (
                &json!("20240305-08:00:00.123456789"),
                &json!("in"),
                &json!("ResendRequest"),
                &json!("7")
            )
        );
        assert_eq!(decoded["is_resent"], true);
        assert_eq!(decoded["fields"][5], json!([7, "BeginSeqNo", "3"]));
        // A truncated or invalid message shows the fields that can be read.
        assert_eq!(decode_line(&Versions::default(), b"")["fields"], json!([]));
    }
}
