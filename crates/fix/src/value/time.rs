//! Dates and times in the standard's formats. Exact to the picosecond; leap seconds are kept.

use super::moment::PackedTimestamp;
use crate::digits::{ZEROS, are_digits, eight_digits, pairs, short_word};

/// Picoseconds in a second.
const PICOS: u64 = 1_000_000_000_000;

/// Number of digits after the point in a written time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// None, and no point.
    Seconds,
    /// Three.
    Millis,
    /// Six.
    Micros,
    /// Nine.
    Nanos,
    /// Twelve.
    Picos,
}

/// A day: UTCDateOnly, LocalMktDate. It exists in the calendar; years 0 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalMktDate {
    pub(crate) year: u16,
    pub(crate) month: u8,
    pub(crate) day: u8,
}

/// A time of day: UTCTimeOnly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime {
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
    pub(crate) picos: u64,
}

/// A timestamp: UTCTimestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTimestamp {
    /// The day.
    pub date: LocalMktDate,
    /// The time of day.
    pub time: UtcTime,
}

/// A month of a year, with an optional day or week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MonthYear {
    /// 0 to 9999.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// The optional part after the month.
    pub detail: MonthYearDetail,
}

/// The optional part after the month in a [`MonthYear`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MonthYearDetail {
    /// Nothing.
    Month,
    /// A day of the month.
    Day(u8),
    /// A week of the month, 1 to 5.
    Week(u8),
}

/// Parses `N` digits at `at`.
#[inline]
fn digits<const N: usize>(text: &[u8], at: usize) -> Option<u32> {
    let digits: &[u8; N] = text.get(at..)?.first_chunk()?;
    let mut value = 0;
    let mut wrong = false;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        wrong |= digit > 9;
        value = value * 10 + u32::from(digit);
    }
    (!wrong).then_some(value)
}

const fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

impl LocalMktDate {
    /// 1970-01-01.
    pub const EPOCH: Self = Self { year: 1970, month: 1, day: 1 };

    /// Creates a day; `None` if it does not exist.
    pub const fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        if year > 9999 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) {
            return None;
        }
        Some(Self { year, month, day })
    }

    /// Returns the year.
    pub const fn year(&self) -> u16 {
        self.year
    }

    /// Returns the month, 1 to 12.
    pub const fn month(&self) -> u8 {
        self.month
    }

    /// Returns the day of the month, 1 to 31.
    pub const fn day(&self) -> u8 {
        self.day
    }

    #[inline]
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        Self::from_word(u64::from_le_bytes(text.try_into().ok()?))
    }

    /// Parses eight bytes, first byte lowest.
    #[inline(always)]
    fn from_word(word: u64) -> Option<Self> {
        let digits = word ^ ZEROS;
        let [century, _, year, _, month, _, day, _] = pairs(digits).to_le_bytes();
        let year = u16::from(century) * 100 + u16::from(year);
        if !are_digits(digits) || !matches!(month, 1..=12) || day < 1 {
            return None;
        }
        // Every month has 28 days; later days need the exact check.
        (day <= 28 || day <= days_in_month(year, month)).then_some(Self { year, month, day })
    }

    /// Returns the days since 1970-01-01; negative before.
    pub const fn unix_days(&self) -> i64 {
        // Years begin in March here, so that the leap day is the last day of its year.
        let month = self.month as i64;
        let year = self.year as i64 - (month <= 2) as i64;
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + self.day as i64 - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// Returns the day `days` days after 1970-01-01; `None` outside the years 0 to 9999.
    pub const fn from_unix_days(days: i64) -> Option<Self> {
        if days < -719_528 || days > 2_932_896 {
            return None;
        }
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = (month_from_march + 2) % 12 + 1;
        let year = era * 400 + year_of_era + (month <= 2) as i64;
        Self::new(year as u16, month as u8, day as u8)
    }
}

impl UtcTime {
    /// 00:00:00.
    pub const MIDNIGHT: Self = Self { hour: 0, minute: 0, second: 0, picos: 0 };

    /// Creates a time of day; second 60 is a leap second. `None` if out of range.
    #[inline(always)]
    pub const fn new(hour: u8, minute: u8, second: u8, picos: u64) -> Option<Self> {
        if hour > 23 || minute > 59 || second > 60 || picos >= PICOS {
            return None;
        }
        Some(Self { hour, minute, second, picos })
    }

    /// Returns the hour, 0 to 23.
    pub const fn hour(&self) -> u8 {
        self.hour
    }

    /// Returns the minute, 0 to 59.
    pub const fn minute(&self) -> u8 {
        self.minute
    }

    /// Returns the second, 0 to 60.
    pub const fn second(&self) -> u8 {
        self.second
    }

    /// Returns the picoseconds of the second.
    pub const fn picos(&self) -> u64 {
        self.picos
    }

    #[inline]
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let (whole, fraction) = text.split_first_chunk()?;
        Self::from_word(u64::from_le_bytes(*whole), fraction)
    }

    /// Parses `HH:MM:SS` as a word, first byte lowest, and the fraction after it.
    #[inline(always)]
    fn from_word(word: u64, fraction: &[u8]) -> Option<Self> {
        const COLONS: u64 = (b':' ^ b'0') as u64 * 0x0000_0100_0001_0000;
        const COLON_PLACES: u64 = 0x0000_FF00_00FF_0000;
        let digits = word ^ ZEROS ^ COLONS;
        let [hour, _, _, minute, _, _, second, _] = pairs(digits).to_le_bytes();
        if !are_digits(digits) || digits & COLON_PLACES != 0 {
            return None;
        }
        let picos = if fraction.is_empty() { 0 } else { parse_fraction(fraction)? };
        Self::new(hour, minute, second, picos)
    }
}

/// Parses a point and one to twelve digits as picoseconds.
pub(crate) fn parse_fraction(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b".").filter(|digits| matches!(digits.len(), 1..=12))?;
    let (high, low) = digits.split_at(digits.len().min(8));
    // Missing digits count as zeros.
    let word = |digits: &[u8]| {
        let zeros = ZEROS.checked_shl(8 * digits.len() as u32).unwrap_or(0);
        short_word(digits) ^ ZEROS ^ zeros
    };
    let (high, low) = (word(high), word(low));
    let valid = are_digits(high) && are_digits(low);
    valid.then(|| eight_digits(high) * 10_000 + eight_digits(low) / 10_000)
}

impl UtcTimestamp {
    /// 1970-01-01 00:00:00.
    pub const EPOCH: Self = Self { date: LocalMktDate::EPOCH, time: UtcTime::MIDNIGHT };

    // Returned in registers: a result behind a pointer would be read in other units than it was
    // written, which defeats store forwarding.
    #[inline(always)]
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let (whole, fraction) = text.split_first_chunk::<17>()?;
        let [date @ .., b'-', _, _, _, _, _, _, _, _] = whole else { return None };
        let (_, time) = whole.split_last_chunk()?;
        let date = LocalMktDate::from_word(u64::from_le_bytes(*date))?;
        Some(Self { date, time: UtcTime::from_word(u64::from_le_bytes(*time), fraction)? })
    }

    /// Returns the seconds since 1970-01-01; a leap second counts as the second after it.
    pub const fn unix_seconds(&self) -> i64 {
        let time = &self.time;
        let of_day = time.hour as i64 * 3600 + time.minute as i64 * 60 + time.second as i64;
        self.date.unix_days() * 86_400 + of_day
    }

    /// Returns the nanoseconds since 1970-01-01, truncated.
    pub const fn unix_nanos(&self) -> i128 {
        self.unix_seconds() as i128 * 1_000_000_000 + (self.time.picos / 1000) as i128
    }

    /// Returns the timestamp `nanos` nanoseconds after 1970-01-01.
    pub const fn from_unix_nanos(nanos: u64) -> Self {
        let seconds = nanos / 1_000_000_000;
        let of_day = seconds % 86_400;
        let time = UtcTime {
            hour: (of_day / 3600) as u8,
            minute: (of_day / 60 % 60) as u8,
            second: (of_day % 60) as u8,
            picos: nanos % 1_000_000_000 * 1000,
        };
        let date = match LocalMktDate::from_unix_days((seconds / 86_400) as i64) {
            Some(date) => date,
            // 64 bits of nanoseconds end in the year 2554.
            None => unreachable!(),
        };
        Self { date, time }
    }
}

/// Parses a UTCTimestamp to the word of a [`PackedTimestamp`] and picoseconds. The result is that of
/// [`UtcTimestamp::parse`], but all parts are checked at once.
///
/// 1. XOR with `0` and `:` turns the characters of date and time into digits, and colons into 0.
/// 2. Adding 0x76 to each byte (0x7F at a colon) sets the high bit of those that are invalid.
/// 3. [`pairs`] joins two digits each; the pairs are moved to the bytes of a [`PackedTimestamp`].
/// 4. Adding `ABOVE` sets the high bit of each part above its maximum; subtracting 1 sets that of a
///    month or day 0. Days 29 to 31 are left to the exact check.
#[inline(always)]
pub(crate) fn timestamp_words(text: &[u8]) -> Option<(u64, u64)> {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const COLONS: u64 = (b':' ^ b'0') as u64 * 0x0000_0100_0001_0000;
    /// Addends that set the high bit of a byte above 9, and at the colons of a byte above 0.
    const DATE_OTHERS: u64 = 0x7676_7676_7676_7676;
    const TIME_OTHERS: u64 = 0x7676_7F76_767F_7676;
    const TIME_PLACES: u64 = 0x00FF_0000_FF00_00FF;
    /// Addend that sets the high bit for an hour above 23, minute above 59, month above 12, second
    /// above 60, day above 28: 127 minus the maximum in each byte.
    const ABOVE: u64 = 0x6343_7300_4400_0068;
    const ABOVE_BITS: u64 = 0x8080_8000_8000_0080;
    const MONTH_AND_DAY: u64 = 0xFF00_FF00_0000_0000;
    const ONES: u64 = 0x0100_0100_0000_0000;
    const DAY_BIT: u64 = 1 << 63;
    let (whole, fraction) = text.split_first_chunk::<17>()?;
    let (Some(date), Some(time)) = (whole.first_chunk(), whole.last_chunk()) else { return None };
    let date = u64::from_le_bytes(*date) ^ ZEROS;
    let time = u64::from_le_bytes(*time) ^ ZEROS ^ COLONS;
    let others = (date & !HIGH).wrapping_add(DATE_OTHERS) | date;
    let others = others | (time & !HIGH).wrapping_add(TIME_OTHERS) | time;
    if others & HIGH | u64::from(whole[8] ^ b'-') != 0 {
        return None;
    }
    let (date, time) = (PackedTimestamp::of_pairs(pairs(date)), pairs(time) & TIME_PLACES);
    let parts = PackedTimestamp(time).and(date);
    let above = parts.0.wrapping_add(ABOVE) & ABOVE_BITS;
    // Sets the high bit if month or day is 0.
    let below = (parts.0 & MONTH_AND_DAY).wrapping_sub(ONES) & (ONES << 7);
    if above | below != 0 {
        // Every month has 28 days; later days need the exact check.
        let LocalMktDate { year, month, day } = parts.date();
        if above != DAY_BIT || below != 0 || day > days_in_month(year, month) {
            return None;
        }
    }
    let picos = if fraction.is_empty() { 0 } else { parse_fraction(fraction)? };
    Some((parts.0, picos))
}

impl MonthYear {
    /// January 1970.
    pub const EPOCH: Self = Self { year: 1970, month: 1, detail: MonthYearDetail::Month };

    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let year = digits::<4>(text, 0)? as u16;
        let month = digits::<2>(text, 4)? as u8;
        let detail = match text.get(6..)? {
            [] => MonthYearDetail::Month,
            [b'w' | b'W', week @ b'1'..=b'5'] => MonthYearDetail::Week(week - b'0'),
            _ => MonthYearDetail::Day(LocalMktDate::parse(text)?.day),
        };
        matches!(month, 1..=12).then_some(Self { year, month, detail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_ten_thousand_years_counts_on() {
        let mut days = LocalMktDate::new(0, 1, 1).expect("exists").unix_days();
        for year in 0..=9999 {
            for month in 1..=12 {
                for day in [1, days_in_month(year, month)] {
                    let date = LocalMktDate::new(year, month, day).expect("exists");
                    assert_eq!(date.unix_days(), days + i64::from(day) - 1);
                    assert_eq!(LocalMktDate::from_unix_days(date.unix_days()), Some(date));
                }
                days += i64::from(days_in_month(year, month));
            }
        }
        assert_eq!(LocalMktDate::from_unix_days(days), None);
    }

    #[test]
    fn moments_are_counted_and_named_alike() {
        let text = b"20181227-11:20:43.123456789";
        let stamp = UtcTimestamp::parse(text).expect("nanoseconds");
        let (date, time) = (stamp.date, stamp.time);
        assert_eq!((date.year(), date.month(), date.day()), (2018, 12, 27));
        assert_eq!((time.hour(), time.minute(), time.second()), (11, 20, 43));
        let nanos = stamp.unix_nanos() as u64;
        assert_eq!(nanos, 1_545_909_643_123_456_789);
        for step in [0, 1, 999, 61_000_000_000, 3_599_000_000_000, 86_399_999_999_999] {
            let later = UtcTimestamp::from_unix_nanos(nanos + step);
            assert_eq!(later.unix_nanos(), i128::from(nanos + step));
        }
        assert_eq!(UtcTimestamp::from_unix_nanos(nanos), stamp);
    }

    #[test]
    fn timestamps_are_exact() {
        let stamp = UtcTimestamp::parse(b"20181227-11:20:43").expect("seconds");
        assert_eq!(stamp.unix_seconds(), 1_545_909_643);
        let stamp = UtcTimestamp::parse(b"20181227-11:20:43.123456789012").expect("picoseconds");
        assert_eq!(stamp.time.picos(), 123_456_789_012);
        assert_eq!(
            UtcTimestamp::from_unix_nanos(stamp.unix_nanos() as u64).time.picos(),
            123_456_789_000
        );
        let stamp = UtcTimestamp::parse(b"20161231-23:59:60.5").expect("leap second");
        assert_eq!((stamp.time.second(), stamp.time.picos()), (60, 500_000_000_000));
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in [
            "",
            "20181227",
            "20181227-",
            "20181227-11:20",
            "20181227-11:20:43.",
            "20181227-11:20:43.1234567890123",
            "20181227-24:00:00",
            "20180229-11:20:43",
            "20181227 11:20:43",
            "2018122x-11:20:43",
            "20181227-11:20:43Z",
        ] {
            assert_eq!(UtcTimestamp::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn both_ways_to_read_a_timestamp_agree() {
        let agree = |text: &[u8]| {
            let words = UtcTimestamp::parse(text).map(|UtcTimestamp { date, time }| {
                let UtcTime { hour, minute, second, .. } = time;
                let [century, year] = [date.year / 100, date.year % 100].map(|part| part as u8);
                let parts = [hour, century, year, minute, 0, date.month, second, date.day];
                (u64::from_le_bytes(parts), time.picos)
            });
            assert_eq!(timestamp_words(text), words, "{}", String::from_utf8_lossy(text));
        };
        for year in [0, 1900, 2000, 2023, 2024, 9999] {
            for month in 0..=13 {
                for day in (0..=32).chain([99]) {
                    agree(format!("{year:04}{month:02}{day:02}-11:20:43").as_bytes());
                }
            }
        }
        for of_day in 0..100 {
            agree(format!("20240229-{of_day:02}:20:43").as_bytes());
            agree(format!("20240229-11:{of_day:02}:43.5").as_bytes());
            agree(format!("20240131-11:20:{of_day:02}.123456789012").as_bytes());
        }
        let good = b"20240131-11:20:43.125";
        for at in 0..good.len() {
            agree(&good[..at]);
            for byte in 0..=255 {
                let mut text = *good;
                text[at] = byte;
                agree(&text);
            }
        }
    }

    #[test]
    fn a_month_may_have_a_day_or_a_week() {
        let detail = |text: &str| MonthYear::parse(text.as_bytes()).map(|month| month.detail);
        assert_eq!(detail("202406"), Some(MonthYearDetail::Month));
        assert_eq!(detail("20240630"), Some(MonthYearDetail::Day(30)));
        assert_eq!(detail("202406w3"), Some(MonthYearDetail::Week(3)));
        for bad in ["20240631", "202413", "202406w6", "20240", "2024063"] {
            assert_eq!(detail(bad), None, "{bad}");
        }
    }
}
