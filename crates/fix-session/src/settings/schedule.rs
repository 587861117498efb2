//! The keys of the schedule.

use super::keys::Keys;
use crate::config::Config;
use crate::schedule::{Schedule, ScheduleError};

/// Reads the schedule and the logon time within it.
pub(super) fn read(keys: &mut Keys, config: &mut Config) {
    let always = keys.flag("NonStopSession").unwrap_or(false);
    let local = keys.flag("UseLocalTime").unwrap_or(false);
    let line = keys.line_of("StartTime");
    let logon_line = keys.line_of("LogonTime");
    let zone = keys.text("TimeZone");
    if local && zone.is_none() {
        let text = "UseLocalTime: name the zone with TimeZone, such as TimeZone=Europe/London";
        keys.fail(line, text.to_owned());
    }
    let weekdays = keys.text("Weekdays");
    let mut take = |names: [&str; 4]| {
        let [start, end, start_day, end_day] = names.map(|name| keys.text(name));
        Span { start, end, start_day, end_day, weekdays: weekdays.clone(), zone: zone.clone() }
    };
    let session = take(["StartTime", "EndTime", "StartDay", "EndDay"]);
    let logon = take(["LogonTime", "LogoutTime", "LogonDay", "LogoutDay"]);
    let session = if always { Span::default() } else { session };
    let is_limited = logon.is_named();
    // Absent keys of the logon time default to those of the session.
    let logon = Span {
        start: logon.start.or_else(|| session.start.clone()),
        end: logon.end.or_else(|| session.end.clone()),
        start_day: logon.start_day.or_else(|| session.start_day.clone()),
        end_day: logon.end_day.or_else(|| session.end_day.clone()),
        ..logon
    };
    config.schedule = made(keys, line, &session, ["StartTime", "EndTime"]);
    if is_limited {
        config.logon_schedule = made(keys, logon_line, &logon, ["LogonTime", "LogoutTime"]);
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
struct Span {
    start: Option<String>,
    end: Option<String>,
    start_day: Option<String>,
    end_day: Option<String>,
    weekdays: Option<String>,
    zone: Option<String>,
}

impl Span {
    const fn is_named(&self) -> bool {
        self.start.is_some()
            || self.end.is_some()
            || self.start_day.is_some()
            || self.end_day.is_some()
    }
}

/// Creates a schedule if both times are present.
fn made(keys: &mut Keys, line: u32, span: &Span, names: [&str; 2]) -> Option<Schedule> {
    let (start, end) = match (&span.start, &span.end) {
        (None, None) => return None,
        (Some(start), Some(end)) => (start, end),
        _ => {
            let [start, end] = names;
            keys.fail(line, format!("{start} and {end} belong together; one is missing"));
            return None;
        }
    };
    // Times may include the zone, as in `08:00:00 Europe/London`.
    let ((start, start_zone), (end, end_zone)) = (split_zone(start), split_zone(end));
    let [start_zone, zone] =
        [start_zone, end_zone].map(|own| own.or(span.zone.as_deref()).unwrap_or_default());
    if start_zone != zone {
        let [start, end] = names;
        let text = format!(
            "{start} has the zone '{start_zone}' and {end} the zone '{zone}'; give both the same (default: UTC)"
        );
        keys.fail(line, text);
        return None;
    }
    let made = Schedule::daily(zone, start, end).and_then(|schedule| {
        match (&span.start_day, &span.end_day, &span.weekdays) {
            (Some(first), Some(last), None) => schedule.weekly(first, last),
            (None, None, Some(days)) => {
                schedule.on_days(days.split([',', ' ']).filter(|d| !d.is_empty()))
            }
            (None, None, None) => Ok(schedule),
            _ => Err(ScheduleError::Day("StartDay without EndDay, or both with Weekdays".into())),
        }
    });
    made.map_err(|error| keys.fail(line, format!("schedule: {error}"))).ok()
}

fn split_zone(text: &str) -> (&str, Option<&str>) {
    text.split_once(' ').map_or((text, None), |(time, zone)| (time, Some(zone.trim())))
}
