//! Times with an offset from UTC: TZTimeOnly and TZTimestamp.

use super::time::{LocalMktDate, UtcTime, UtcTimestamp};

const MINUTES_PER_DAY: i64 = 24 * 60;
/// The largest offset from UTC in minutes. The standard says 12 hours, but some places are 13 and
/// 14 hours ahead.
const OFFSET_MAX: i16 = 14 * 60;

/// An offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcOffset {
    minutes: i16,
}

/// A local time of day: TZTimeOnly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TzTime {
    /// The local time of day.
    pub time: UtcTime,
    /// Its offset from UTC; `None` if not written, so the time zone is unknown.
    pub offset: Option<UtcOffset>,
}

/// A local timestamp: TZTimestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TzTimestamp {
    /// The local day.
    pub date: LocalMktDate,
    /// The local time of day.
    pub time: UtcTime,
    /// Its offset from UTC; `None` if not written, so the time zone is unknown.
    pub offset: Option<UtcOffset>,
}

impl UtcOffset {
    /// No offset, written `Z`.
    pub const UTC: Self = Self { minutes: 0 };

    /// Creates an offset in minutes, positive ahead of UTC (east); `None` beyond 14 hours.
    pub const fn from_minutes(minutes: i16) -> Option<Self> {
        if minutes < -OFFSET_MAX || minutes > OFFSET_MAX {
            return None;
        }
        Some(Self { minutes })
    }

    /// Returns the minutes ahead of UTC; negative behind it.
    pub const fn minutes(&self) -> i16 {
        self.minutes
    }

    /// Parses a sign and `hh` or `hh:mm`, or `Z`.
    fn parse(text: &[u8]) -> Option<Self> {
        let (sign, hours, minutes) = match text {
            [b'Z'] => return Some(Self::UTC),
            [sign, h1, h2] => (sign, [h1, h2], [&b'0', &b'0']),
            [sign, h1, h2, b':', m1, m2] => (sign, [h1, h2], [m1, m2]),
            _ => return None,
        };
        let minutes = two_digits(hours)? * 60 + two_digits(minutes).filter(|value| *value < 60)?;
        match sign {
            b'+' => Self::from_minutes(minutes),
            b'-' => Self::from_minutes(-minutes),
            _ => None,
        }
    }
}

fn two_digits(text: [&u8; 2]) -> Option<i16> {
    let [tens, ones] = text.map(|byte| byte.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| i16::from(tens) * 10 + i16::from(ones))
}

/// Converts a local time to UTC. Returns the time of day, and the difference of the day.
fn earlier(time: UtcTime, offset: UtcOffset) -> (UtcTime, i64) {
    let minutes = i64::from(time.hour) * 60 + i64::from(time.minute) - i64::from(offset.minutes);
    let of_day = minutes.rem_euclid(MINUTES_PER_DAY);
    let time = UtcTime { hour: (of_day / 60) as u8, minute: (of_day % 60) as u8, ..time };
    (time, minutes.div_euclid(MINUTES_PER_DAY))
}

impl TzTime {
    /// Parses `HH:MM`, optionally `:SS` with up to twelve digits after a point, and optionally the
    /// offset: `Z`, or a sign and `hh` or `hh:mm`. `None` for anything else.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let is_offset = |byte: &u8| matches!(byte, b'Z' | b'+' | b'-');
        let (time, offset) = text.split_at(text.iter().position(is_offset).unwrap_or(text.len()));
        let time = match time {
            [h1, h2, colon, m1, m2] => {
                UtcTime::parse(&[*h1, *h2, *colon, *m1, *m2, b':', b'0', b'0'])?
            }
            time => UtcTime::parse(time)?,
        };
        let offset = if offset.is_empty() { None } else { Some(UtcOffset::parse(offset)?) };
        Some(Self { time, offset })
    }

    /// Returns the time of day in UTC; `None` without an offset.
    pub fn utc(&self) -> Option<UtcTime> {
        Some(earlier(self.time, self.offset?).0)
    }
}

impl TzTimestamp {
    /// Parses `YYYYMMDD-` and the format of [`TzTime::parse`]. `None` for anything else, or for a
    /// day that does not exist.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (date, time) = text.split_at_checked(8)?;
        let TzTime { time, offset } = TzTime::parse(time.strip_prefix(b"-")?)?;
        Some(Self { date: LocalMktDate::parse(date)?, time, offset })
    }

    /// Returns the timestamp in UTC; `None` without an offset, or if its day in UTC is outside the
    /// years 0 to 9999.
    pub fn utc(&self) -> Option<UtcTimestamp> {
        let (time, days) = earlier(self.time, self.offset?);
        let date = LocalMktDate::from_unix_days(self.date.unix_days() + days)?;
        Some(UtcTimestamp { date, time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(hour: u8, minute: u8, second: u8, picos: u64) -> UtcTime {
        UtcTime::new(hour, minute, second, picos).expect("exists")
    }

    fn stamp(text: &str) -> Option<UtcTimestamp> {
        UtcTimestamp::parse(text.as_bytes())
    }

    #[test]
    fn an_offset_is_at_most_fourteen_hours_either_way() {
        for (minutes, is_offset) in
            [(-841, false), (-840, true), (0, true), (840, true), (841, false)]
        {
            let offset = UtcOffset::from_minutes(minutes);
            assert_eq!(offset.map(|offset| offset.minutes()), is_offset.then_some(minutes));
        }
    }

    #[test]
    fn a_time_may_have_seconds_a_fraction_and_an_offset() {
        let cases = [
            ("06:41", time(6, 41, 0, 0), None),
            ("06:41Z", time(6, 41, 0, 0), Some(0)),
            ("06:41:09", time(6, 41, 9, 0), None),
            ("06:41:09Z", time(6, 41, 9, 0), Some(0)),
            ("06:41-04", time(6, 41, 0, 0), Some(-240)),
            ("06:41+09", time(6, 41, 0, 0), Some(540)),
            ("06:41:09.25+05:45", time(6, 41, 9, 250_000_000_000), Some(345)),
            ("06:41:60.123456789012-03:30", time(6, 41, 60, 123_456_789_012), Some(-210)),
            ("06:41+14:00", time(6, 41, 0, 0), Some(840)),
        ];
        for (text, time, minutes) in cases {
            let offset = minutes.map(|minutes| UtcOffset::from_minutes(minutes).expect("near"));
            assert_eq!(TzTime::parse(text.as_bytes()), Some(TzTime { time, offset }), "{text}");
            let stamp = format!("20240229-{text}");
            let date = LocalMktDate::new(2024, 2, 29).expect("exists");
            let expected = Some(TzTimestamp { date, time, offset });
            assert_eq!(TzTimestamp::parse(stamp.as_bytes()), expected, "{stamp}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in [
            "",
            "Z",
            "+01",
            "06",
            "06:4",
            "6:41Z",
            "06:41:",
            "06:41:9",
            "06:41:09.Z",
            "06:41.5Z",
            "06:41:09.1234567890123Z",
            "24:00Z",
            "06:60Z",
            "06:41:61Z",
            "06:41z",
            "06:41ZZ",
            "06:41Z+01",
            "06:41 +01",
            "06:41+",
            "06:41+1",
            "06:41+001",
            "06:41+0100",
            "06:41+01:",
            "06:41+01:3",
            "06:41+01:60",
            "06:41+01:300",
            "06:41+15",
            "06:41+14:01",
            "06:41-14:01",
            "06:41+x1",
            "06:41+01:x0",
            "06:41--1",
            "06-41Z",
            "06:41+01-30",
        ] {
            assert_eq!(TzTime::parse(bad.as_bytes()), None, "{bad}");
            let bad = format!("20240229-{bad}");
            assert_eq!(TzTimestamp::parse(bad.as_bytes()), None, "{bad}");
        }
        for bad in ["20230229-06:41Z", "20240229 06:41Z", "2024022-06:41Z", "06:41Z", "20240229"] {
            assert_eq!(TzTimestamp::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn offsets_lead_to_utc_over_midnight_and_the_ends_of_years() {
        let utc = |text: &str| TzTimestamp::parse(text.as_bytes()).expect("valid").utc();
        for (text, expected) in [
            ("20240229-06:41Z", "20240229-06:41:00"),
            ("20240229-23:30:05.5-04", "20240301-03:30:05.5"),
            ("20240101-03:15+05:45", "20231231-21:30:00"),
            ("20161231-18:59:60-05", "20161231-23:59:60"),
        ] {
            assert_eq!(utc(text), Some(stamp(expected).expect("valid")), "{text}");
        }
        assert_eq!(utc("20240229-06:41"), None);
        assert_eq!(utc("00000101-00:00+01"), None);
        assert_eq!(utc("99991231-23:59-01"), None);
        let utc = |text: &str| TzTime::parse(text.as_bytes()).expect("valid").utc();
        assert_eq!(utc("03:15+05:45"), Some(time(21, 30, 0, 0)));
        assert_eq!(utc("03:15"), None);
    }
}
