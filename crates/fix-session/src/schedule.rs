//! Schedules: daily or weekly sessions in any time zone.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::now::SECOND_NS;

/// Days examined before and after a moment: more than a week.
const DAYS: i64 = 8;

/// The times at which a session may be logged on.
///
/// A session lasts from the start time to the end time; both seconds belong to it. If the end is
/// before the start, the session ends on the next day. If both are equal, sessions follow each
/// other without a break.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    zone: TimeZone,
    start: Time,
    end: Time,
    days: Days,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Days {
    /// Sessions begin on these days of the week: one bit per day, Monday lowest.
    Each(u8),
    /// One session a week, from one day to another.
    Weekly { start: Weekday, end: Weekday },
}

/// The reason why a schedule is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// Not `HH:MM:SS`.
    Time(String),
    /// Not a day of the week.
    Day(String),
    /// Neither a time zone of the IANA database, such as `America/New_York`, nor `UTC`.
    TimeZone(String),
}

impl std::fmt::Display for ScheduleError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time(text) => write!(out, "'{text}' is not a time; expected HH:MM:SS"),
            Self::Day(text) => {
                write!(
                    out,
                    "'{text}' is not a day of the week; expected one such as 'Monday' or 'mon'"
                )
            }
            Self::TimeZone(text) => write!(
                out,
                "'{text}' is not a time zone; expected one such as 'America/New_York', or 'UTC'"
            ),
        }
    }
}

impl std::error::Error for ScheduleError {}

fn parse_time(text: &str) -> Result<Time, ScheduleError> {
    let fail = || ScheduleError::Time(text.to_owned());
    let parts: Vec<&str> = text.trim().split(':').collect();
    let [hour, minute, second] = parts.as_slice() else { return Err(fail()) };
    let part = |text: &str| match text.len() {
        1 | 2 => text.parse().map_err(|_| fail()),
        _ => Err(fail()),
    };
    Time::new(part(hour)?, part(minute)?, part(second)?, 0).map_err(|_| fail())
}

fn parse_day(text: &str) -> Result<Weekday, ScheduleError> {
    const NAMES: [(&str, Weekday); 7] = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let lower = text.trim().to_ascii_lowercase();
    let found = NAMES.iter().find(|(name, _)| lower.len() >= 2 && name.starts_with(&lower));
    found.map(|(_, day)| *day).ok_or_else(|| ScheduleError::Day(text.to_owned()))
}

impl Schedule {
    /// Creates a schedule for every day.
    ///
    /// # Errors
    /// [`ScheduleError`] if a time or the zone is malformed.
    pub fn daily(zone: &str, start: &str, end: &str) -> Result<Self, ScheduleError> {
        let fail = || ScheduleError::TimeZone(zone.to_owned());
        let found = match zone.trim() {
            "" | "UTC" | "GMT" => TimeZone::UTC,
            zone => TimeZone::get(zone).map_err(|_| fail())?,
        };
        Ok(Self {
            zone: found,
            start: parse_time(start)?,
            end: parse_time(end)?,
            days: Days::Each(0x7F),
        })
    }

    /// Restricts the schedule to sessions that begin on these days of the week.
    ///
    /// # Errors
    /// [`ScheduleError::Day`].
    pub fn on_days<'d>(
        mut self,
        days: impl IntoIterator<Item = &'d str>,
    ) -> Result<Self, ScheduleError> {
        let mut bits = 0;
        for day in days {
            bits |= 1 << parse_day(day)?.to_monday_zero_offset();
        }
        self.days = Days::Each(bits);
        Ok(self)
    }

    /// Makes the schedule weekly: from the start time on day `start` to the end time on day `end`.
    ///
    /// # Errors
    /// [`ScheduleError::Day`].
    pub fn weekly(mut self, start: &str, end: &str) -> Result<Self, ScheduleError> {
        self.days = Days::Weekly { start: parse_day(start)?, end: parse_day(end)? };
        Ok(self)
    }

    /// Returns start and end (exclusive) of the session that contains `wall_ns`, all in nanoseconds
    /// since 1970-01-01 UTC. `None` outside of sessions.
    pub fn session_at(&self, wall_ns: u64) -> Option<(u64, u64)> {
        self.sessions_around(wall_ns).find(|(start, end)| (*start..*end).contains(&wall_ns))
    }

    /// Returns the start of the next session, in nanoseconds since 1970-01-01 UTC.
    pub fn next_start(&self, wall_ns: u64) -> Option<u64> {
        self.sessions_around(wall_ns).map(|(start, _)| start).find(|start| *start > wall_ns)
    }

    /// True if every session of another schedule lies within a session of this one. Checks the days
    /// around one in January and one in July, because the zones may change their clocks on
    /// different days.
    pub fn holds(&self, other: &Self) -> bool {
        /// Two Wednesdays, 2024-01-17 and 2024-07-17: no zone changes its clocks on the days around
        /// them.
        const WEDNESDAYS_NS: [u64; 2] = [1_705_449_600 * SECOND_NS, 1_721_174_400 * SECOND_NS];
        WEDNESDAYS_NS.into_iter().flat_map(|ns| other.sessions_around(ns)).all(|(start, end)| {
            self.session_at(start).is_some_and(|(_, session_end)| end <= session_end)
        })
    }

    /// True if two moments lie in the same session.
    pub fn is_same_session(&self, one_ns: u64, other_ns: u64) -> bool {
        let one = self.session_at(one_ns);
        one.is_some() && one == self.session_at(other_ns)
    }

    /// Returns the sessions that begin on the days around a moment, in order.
    fn sessions_around(&self, wall_ns: u64) -> impl Iterator<Item = (u64, u64)> {
        let seconds = i64::try_from(wall_ns / SECOND_NS).unwrap_or(i64::MAX);
        let today = Timestamp::from_second(seconds)
            .ok()
            .map(|timestamp| self.zone.to_datetime(timestamp).date());
        (-DAYS..=DAYS).filter_map(move |days| {
            let date = today?.checked_add(days.days()).ok()?;
            self.session_from(date)
        })
    }

    /// Returns the session that begins on a day, if one does.
    fn session_from(&self, date: Date) -> Option<(u64, u64)> {
        let weekday = date.weekday();
        let days = match self.days {
            Days::Each(bits) => {
                if bits >> weekday.to_monday_zero_offset() & 1 == 0 {
                    return None;
                }
                i64::from(self.end <= self.start)
            }
            Days::Weekly { start, end } => {
                if weekday != start {
                    return None;
                }
                let days = i64::from(start.until(end));
                if days == 0 && self.end <= self.start { 7 } else { days }
            }
        };
        let end_date = date.checked_add(days.days()).ok()?;
        let start = self.moment(date.to_datetime(self.start))?;
        let end = self.moment(end_date.to_datetime(self.end))?;
        // The second of the end time belongs to this session unless the next session begins with
        // it.
        let tail = if self.start == self.end { 0 } else { SECOND_NS };
        Some((start, end.saturating_add(tail)))
    }

    /// Returns the moment of a local time. If a clock change skips that time, the offset before the
    /// change applies; if it occurs twice, the first occurrence counts.
    fn moment(&self, local: DateTime) -> Option<u64> {
        let timestamp = self.zone.to_ambiguous_timestamp(local).compatible().ok()?;
        u64::try_from(timestamp.as_nanosecond()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UTC time as nanoseconds.
    fn at(text: &str) -> u64 {
        let timestamp: Timestamp = text.parse().expect("well written");
        u64::try_from(timestamp.as_nanosecond()).expect("after 1970")
    }

    #[test]
    fn a_day_session_has_its_end_in_it() {
        let schedule = Schedule::daily("UTC", "08:00:00", "16:30:00").expect("well written");
        let inside = |text: &str| schedule.session_at(at(text)).is_some();
        assert!(inside("2024-03-05T08:00:00Z") && inside("2024-03-05T16:30:00Z"));
        assert!(!inside("2024-03-05T07:59:59Z") && !inside("2024-03-05T16:30:01Z"));
        assert_eq!(
            schedule.next_start(at("2024-03-05T17:00:00Z")),
            Some(at("2024-03-06T08:00:00Z"))
        );
        let same = |a: &str, b: &str| schedule.is_same_session(at(a), at(b));
        assert!(same("2024-03-05T08:00:00Z", "2024-03-05T16:00:00Z"));
        assert!(!same("2024-03-05T08:00:00Z", "2024-03-06T08:00:00Z"));
    }

    #[test]
    fn a_night_session_ends_on_the_next_day() {
        let schedule = Schedule::daily("UTC", "22:00:00", "02:00:00").expect("well written");
        let same = |a: &str, b: &str| schedule.is_same_session(at(a), at(b));
        assert!(same("2024-03-05T23:00:00Z", "2024-03-06T01:59:00Z"));
        assert!(schedule.session_at(at("2024-03-06T03:00:00Z")).is_none());
        let whole = Schedule::daily("UTC", "00:00:00", "00:00:00").expect("well written");
        assert!(!whole.is_same_session(at("2024-03-05T23:59:59Z"), at("2024-03-06T00:00:00Z")));
        assert!(whole.session_at(at("2024-03-06T00:00:00Z")).is_some());
    }

    #[test]
    fn the_zone_decides_when_clocks_change() {
        let schedule =
            Schedule::daily("America/New_York", "08:00:00", "17:00:00").expect("well written");
        let start = |text: &str| schedule.session_at(at(text)).map(|(start, _)| start);
        assert_eq!(start("2024-01-10T15:00:00Z"), Some(at("2024-01-10T13:00:00Z")));
        assert_eq!(start("2024-07-10T15:00:00Z"), Some(at("2024-07-10T12:00:00Z")));
    }

    #[test]
    fn a_week_session_and_days_of_the_week() {
        let week =
            Schedule::daily("America/Chicago", "17:00:00", "16:00:00").expect("well written");
        let week = week.weekly("sun", "Friday").expect("days");
        assert!(week.is_same_session(at("2024-03-04T00:00:00Z"), at("2024-03-08T21:00:00Z")));
        assert!(week.session_at(at("2024-03-09T12:00:00Z")).is_none());
        let days = Schedule::daily("UTC", "08:00:00", "16:00:00").expect("well written");
        let days = days.on_days(["mon", "wednesday"]).expect("days");
        assert!(days.session_at(at("2024-03-06T09:00:00Z")).is_some());
        assert!(days.session_at(at("2024-03-05T09:00:00Z")).is_none());
        let same_day = Schedule::daily("UTC", "08:00:00", "08:00:00").expect("well written");
        let same_day = same_day.weekly("mon", "mon").expect("days");
        assert!(same_day.is_same_session(at("2024-03-04T08:00:00Z"), at("2024-03-11T07:59:59Z")));
    }

    #[test]
    fn what_is_not_well_written_is_told() {
        let fails = |zone: &str, start: &str| Schedule::daily(zone, start, "00:00:00").is_err();
        assert!(fails("UTC", "8:00") && fails("UTC", "25:00:00") && fails("UTC", ""));
        assert!(fails("Mars/Olympus", "08:00:00") && !fails("Europe/Berlin", "08:00:00"));
        let schedule = Schedule::daily("UTC", "08:00:00", "09:00:00").expect("well written");
        assert!(schedule.clone().weekly("x", "mon").is_err() && schedule.on_days(["s"]).is_err());
    }
}
