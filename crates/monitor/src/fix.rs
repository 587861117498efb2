//! Readiness of FIX sessions: the reasons why some need an operator.

use serde_json::Value;

use crate::words::counted;

/// Most sessions that are named as reasons.
const NAMED_MAX: usize = 16;

/// Returns the reasons why FIX sessions are not ready. A session should be logged on while its schedule is open; one without a
/// schedule, always. A disabled session is not ready either: an operator has to enable it again. Nor is one whose store or message
/// log cannot be opened: an operator has to repair the file.
pub(crate) fn not_ready(fix: &Value) -> Vec<String> {
    let sessions = fix["sessions"].as_array().into_iter().flatten();
    let unopened = fix["unopened"].as_array().into_iter().flatten().map(unopened);
    let mut reasons: Vec<String> = unopened.chain(sessions.filter_map(fault)).collect();
    let more = reasons.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        reasons.truncate(NAMED_MAX);
        let (one, others) = ("more FIX session is", "more FIX sessions are");
        reasons.push(format!("{} not logged on", counted(more as u64, one, others)));
    }
    reasons
}

/// Returns the reason of a session that cannot be opened.
fn unopened(session: &Value) -> String {
    let name = session["name"].as_str().unwrap_or("FIX session");
    format!("{name}: not opened: {}", session["text"].as_str().unwrap_or_default())
}

/// Returns true if the schedule of a session is open, or if the panel has no schedules.
pub(crate) fn is_in_schedule(session: &Value) -> bool {
    session["in_schedule"] != false
}

/// Returns the reason why a session that should be logged on is not ready.
pub(crate) fn fault(session: &Value) -> Option<String> {
    if !is_in_schedule(session) {
        return None;
    }
    let name = session["name"].as_str().unwrap_or("FIX session");
    if session["enabled"] == false {
        return Some(format!("{name}: disabled"));
    }
    (session["state"] != "logged_on").then(|| format!("{name}: not logged on"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sessions_are_expected_while_their_schedule_is_open() {
        let session = |name: &str, state: &str, enabled: bool, in_schedule: bool| json!({"name": name, "state": state, "enabled": enabled, "in_schedule": in_schedule});
        let sessions = json!({"sessions": [
            session("A", "logged_on", true, true),
            session("B", "connected", true, true),
            session("C", "disconnected", true, true),
            session("D", "disconnected", false, true),
            session("E", "disconnected", true, false),
            session("F", "disconnected", false, false),
        ]});
        let reasons = ["B: not logged on", "C: not logged on", "D: disabled"];
        assert_eq!(not_ready(&sessions), reasons);
        assert!(not_ready(&json!({"sessions": []})).is_empty());
    }

    #[test]
    fn a_session_that_cannot_be_opened_is_named_with_its_file() {
        let text = "store/FIX.4.4-A-ONE.journal: damaged from offset 24";
        let fix = json!({"sessions": [], "unopened": [{"name": "FIX.4.4-A-ONE", "text": text}]});
        assert_eq!(not_ready(&fix), [format!("FIX.4.4-A-ONE: not opened: {text}")]);
    }

    #[test]
    fn reasons_are_bounded() {
        let one = json!({"name": "A", "state": "disconnected", "enabled": true});
        for (count, last) in [
            (100, "84 more FIX sessions are not logged on"),
            (NAMED_MAX + 1, "1 more FIX session is not logged on"),
        ] {
            let reasons = not_ready(&json!({"sessions": vec![one.clone(); count]}));
            assert_eq!((reasons.len(), &*reasons[NAMED_MAX]), (NAMED_MAX + 1, last));
        }
    }
}
