//! The keys of the schedule.

use super::keys::Keys;
use crate::config::Config;
use crate::schedule::Schedule;

/// Keys of the schedule's start, end, first and last day.
const SESSION_KEYS: [&str; 4] = ["StartTime", "EndTime", "StartDay", "EndDay"];
/// Keys of the logon time, in the same order.
const LOGON_KEYS: [&str; 4] = ["LogonTime", "LogoutTime", "LogonDay", "LogoutDay"];

/// Returns the line of the first of these keys or Weekdays that is present, or that of the section.
fn first_line(keys: &Keys, names: [&str; 4]) -> u32 {
    let present = names.into_iter().chain(["Weekdays"]).find(|name| keys.has(name));
    keys.line_of(present.unwrap_or_default())
}

/// Reads the schedule and the logon time within it.
pub(super) fn read(keys: &mut Keys, config: &mut Config) {
    let always = keys.flag("NonStopSession").unwrap_or(false);
    let local = keys.flag("UseLocalTime").unwrap_or(false);
    let line = first_line(keys, SESSION_KEYS);
    let logon_line = first_line(keys, LOGON_KEYS);
    let zone = keys.text("TimeZone");
    if local && zone.is_none() {
        let text = "UseLocalTime: name the zone with TimeZone, such as TimeZone=Europe/London";
        keys.fail(line, text.to_owned());
    }
    let weekdays = keys.text("Weekdays");
    let mut take = |names: [&str; 4]| {
        let [start, end, start_day, end_day] = names.map(|name| keys.text(name));
        ScheduleSpan {
            start,
            end,
            start_day,
            end_day,
            weekdays: weekdays.clone(),
            zone: zone.clone(),
        }
    };
    let session = take(SESSION_KEYS);
    let logon = take(LOGON_KEYS);
    let session = if always { ScheduleSpan::default() } else { session };
    let is_limited = logon.is_named();
    // Absent keys of the logon time default to those of the session.
    let logon = ScheduleSpan {
        start: logon.start.or_else(|| session.start.clone()),
        end: logon.end.or_else(|| session.end.clone()),
        start_day: logon.start_day.or_else(|| session.start_day.clone()),
        end_day: logon.end_day.or_else(|| session.end_day.clone()),
        ..logon
    };
    config.schedule = made(keys, line, &session, SESSION_KEYS);
    if is_limited {
        config.logon_schedule = made(keys, logon_line, &logon, LOGON_KEYS);
    }
    if let (Some(schedule), Some(logon)) = (&config.schedule, &config.logon_schedule)
        && !schedule.holds(logon)
    {
        let text = "LogonTime to LogoutTime must lie between StartTime and EndTime";
        keys.fail(logon_line, text.to_owned());
    }
}

/// The start and end of a schedule, as written.
#[derive(Debug, Default)]
struct ScheduleSpan {
    start: Option<String>,
    end: Option<String>,
    start_day: Option<String>,
    end_day: Option<String>,
    weekdays: Option<String>,
    zone: Option<String>,
}

impl ScheduleSpan {
    const fn is_named(&self) -> bool {
        self.start.is_some()
            || self.end.is_some()
            || self.start_day.is_some()
            || self.end_day.is_some()
    }
}

/// Creates a schedule if both times are present. Reports all errors.
fn made(keys: &mut Keys, line: u32, span: &ScheduleSpan, names: [&str; 4]) -> Option<Schedule> {
    let [start_key, end_key, start_day_key, end_day_key] = names;
    let has_days = span.start_day.is_some() || span.end_day.is_some();
    if has_days && span.weekdays.is_some() {
        let text =
            format!("{start_day_key} and {end_day_key} exclude Weekdays; remove one of them");
        keys.fail(line, text);
    }
    if span.start_day.is_some() != span.end_day.is_some() {
        let text = format!("{start_day_key} and {end_day_key} belong together; one is missing");
        keys.fail(line, text);
    }
    let (start, end) = match (&span.start, &span.end) {
        (None, None) => {
            if has_days || span.weekdays.is_some() {
                keys.fail(line, format!("days without {start_key} and {end_key}; add both"));
            }
            return None;
        }
        (Some(start), Some(end)) => (start, end),
        _ => {
            keys.fail(line, format!("{start_key} and {end_key} belong together; one is missing"));
            return None;
        }
    };
    // Times may include the zone, as in `08:00:00 Europe/London`.
    let ((start, start_zone), (end, end_zone)) = (split_zone(start), split_zone(end));
    let [start_zone, zone] =
        [start_zone, end_zone].map(|own| own.or(span.zone.as_deref()).unwrap_or_default());
    if start_zone != zone {
        let text = format!(
            "{start_key} has the zone '{start_zone}' and {end_key} the zone '{zone}'; give both the same (default: UTC)"
        );
        keys.fail(line, text);
    }
    let on_days = |schedule: Schedule| match (&span.start_day, &span.end_day, &span.weekdays) {
        (Some(first), Some(last), _) => schedule.weekly(first, last),
        (_, _, Some(days)) => schedule.on_days(days.split([',', ' ']).filter(|d| !d.is_empty())),
        _ => Ok(schedule),
    };
    let always = || Schedule::daily("UTC", MIDNIGHT, MIDNIGHT);
    let checks = [
        Schedule::daily(zone, MIDNIGHT, MIDNIGHT),
        Schedule::daily("UTC", start, MIDNIGHT),
        Schedule::daily("UTC", MIDNIGHT, end),
        always().and_then(on_days),
    ];
    for error in checks.into_iter().filter_map(Result::err) {
        keys.fail(line, format!("schedule: {error}"));
    }
    Schedule::daily(zone, start, end).and_then(on_days).ok()
}

/// A valid time, to check the other parts of a schedule on their own.
const MIDNIGHT: &str = "00:00:00";

fn split_zone(text: &str) -> (&str, Option<&str>) {
    text.split_once(' ').map_or((text, None), |(time, zone)| (time, Some(zone.trim())))
}
