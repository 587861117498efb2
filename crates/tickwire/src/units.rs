//! Values with units on the command line: times and sizes.

use bytesize::ByteSize;
use jiff::SignedDuration;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use tickwire_feed_config::HOLD_MAX;

/// A length of time, such as `2ms`, `500us`, `1.5s` or `1m30s`; `0` needs no unit.
///
/// It is at most a hundred years, so that nanoseconds fit 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan(Duration);

/// The longest time.
const SPAN_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl TimeSpan {
    /// The time.
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// The time in nanoseconds.
    pub fn nanoseconds(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "0" {
            return Ok(Self::default());
        }
        if text.parse::<f64>().is_ok() {
            return Err(format!(
                "{text} has no unit: write {text}us, {text}ms, {text}s or {text}m"
            ));
        }
        let parsed = text.parse::<SignedDuration>().ok();
        let time = parsed.and_then(|time| Duration::try_from(time).ok());
        time.filter(|time| *time <= SPAN_MAX)
            .map(Self)
            .ok_or_else(|| "expected a time with its unit, such as 500us, 2ms or 1.5s".to_owned())
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SignedDuration::try_from(self.0) {
            Ok(time) => write!(f, "{time:#}"),
            Err(_) => fmt::Debug::fmt(&self.0, f),
        }
    }
}

/// Parses a time; a number without a unit is in seconds.
fn seconds_or_span(text: &str) -> Result<TimeSpan, String> {
    match text.trim().parse::<f64>() {
        Ok(_) => format!("{}s", text.trim()).parse(),
        Err(_) => text.parse(),
    }
}

/// Parses a hold time, with the same maximum as in a feed file.
pub fn hold(text: &str) -> Result<TimeSpan, String> {
    let span: TimeSpan = text.parse()?;
    let is_fit = span.duration() <= HOLD_MAX;
    is_fit.then_some(span).ok_or_else(|| format!("the longest possible wait is {HOLD_MAX:?}"))
}

/// Parses a time within `range`, whose bounds are texts such as `1s`; a number without a unit is in seconds.
pub fn span_in(
    range: RangeInclusive<&'static str>,
) -> impl Fn(&str) -> Result<TimeSpan, String> + Clone {
    move |text| {
        let time = seconds_or_span(text)?;
        let (least, most) = (range.start().parse::<TimeSpan>()?, range.end().parse::<TimeSpan>()?);
        if (least..=most).contains(&time) {
            return Ok(time);
        }
        Err(format!("{text} is not from {} to {}", range.start(), range.end()))
    }
}

/// Parses a time that is a whole number of seconds; a number without a unit is in seconds.
pub fn whole_seconds(text: &str) -> Result<u32, String> {
    let time = seconds_or_span(text)?.duration();
    let seconds = u32::try_from(time.as_secs()).ok().filter(|_| time.subsec_nanos() == 0);
    seconds.ok_or_else(|| "expected whole seconds, such as 10s".to_owned())
}

/// A number of bytes, such as `1500`, `64KiB`, `1MB` or `1GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteCount(pub u64);

impl ByteCount {
    /// The number of bytes; `usize::MAX` if it does not fit.
    pub fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Parses a number of bytes that must be in this range.
pub fn size_in(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<ByteCount, String> + Clone {
    move |text| {
        let size: ByteCount = text.parse()?;
        if range.contains(&size.0) {
            return Ok(size);
        }
        Err(format!("{text} is not from {} to {} bytes", range.start(), range.end()))
    }
}

impl FromStr for ByteCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.trim().parse::<ByteSize>();
        let size = parsed.map_err(|_| "expected bytes, such as 1500, 64KiB or 1GB".to_owned())?;
        Ok(Self(size.as_u64()))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let fits = |(unit, _): &&(u64, &str)| self.0 >= *unit && self.0.is_multiple_of(*unit);
        match UNITS.iter().find(fits) {
            Some((unit, name)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanoseconds(text: &str) -> Result<u64, String> {
        text.parse().map(TimeSpan::nanoseconds)
    }

    #[test]
    fn times_have_units() {
        for (text, expected) in [
            ("0", 0),
            ("0s", 0),
            ("7ns", 7),
            ("500us", 500_000),
            ("2ms", 2_000_000),
            ("1.5s", 1_500_000_000),
            ("1m30s", 90_000_000_000),
            ("2h", 7_200_000_000_000),
        ] {
            assert_eq!(nanoseconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_refused_and_the_units_are_named() {
        for text in ["2000", "0.5", "-3"] {
            let error = nanoseconds(text).unwrap_err();
            assert!(error.contains(&format!("{text}ms")), "{error}");
        }
        for text in ["", "ms", "2parsecs", "-2ms", "200000000h"] {
            assert!(nanoseconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_print_as_they_parse() {
        for text in ["2ms", "500us", "10s", "1m 30s", "1s 500ms"] {
            let time: TimeSpan = text.parse().unwrap();
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        assert_eq!("2ms".parse::<TimeSpan>().unwrap().to_string(), "2ms");
        assert_eq!("0".parse::<TimeSpan>().unwrap().to_string(), "0s");
    }

    #[test]
    fn ranges_are_kept() {
        let lease = span_in("100ms"..="1h");
        assert!(lease("1h").is_ok() && lease("100ms").is_ok());
        assert_eq!(lease("2h").unwrap_err(), "2h is not from 100ms to 1h");
    }

    #[test]
    fn where_seconds_are_usual_a_bare_number_is_seconds() {
        let lease = span_in("100ms"..="1h");
        assert_eq!(lease("40"), lease("40s"));
        assert_eq!(lease("0.5"), lease("500ms"));
        assert!(lease("-1").is_err() && lease("nan").is_err() && lease("1e99").is_err());
        assert_eq!((whole_seconds("30"), whole_seconds("30s")), (Ok(30), Ok(30)));
        assert!(whole_seconds("0.5").is_err());
    }

    #[test]
    fn sizes_may_have_units() {
        for (text, expected) in
            [("1500", 1500), ("64KiB", 65_536), ("1MB", 1_000_000), ("1GiB", 1 << 30), ("0", 0)]
        {
            assert_eq!(text.parse(), Ok(ByteCount(expected)), "{text}");
        }
        assert!("many".parse::<ByteCount>().is_err());
        assert_eq!(ByteCount(8 << 20).to_string(), "8MiB");
        assert_eq!(ByteCount(1500).to_string(), "1500");
    }
}
