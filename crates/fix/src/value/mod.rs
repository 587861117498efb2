//! Typed values of fields.

mod decimal;
mod minute;
mod moment;
mod time;
mod zoned;

pub use decimal::FixDecimal;
pub use time::{LocalMktDate, MonthYear, MonthYearDetail, Precision, UtcTime, UtcTimestamp};
pub use zoned::{TzTime, TzTimestamp, UtcOffset};

pub(crate) use minute::Minute;
pub(crate) use moment::PackedTimestamp;
pub(crate) use time::timestamp_words;

use crate::digits::{ZEROS, are_digits, eight_digits};
use crate::error::{FixError, FixErrorKind};
use crate::reader::Field;

impl<'b> Field<'b> {
    #[inline(always)]
    fn error(&self, kind: FixErrorKind) -> FixError {
        self.refused(kind)
    }

    fn parse<T>(&self, value: Option<T>) -> Result<T, FixError> {
        value.ok_or_else(|| self.error(FixErrorKind::ValueFormat))
    }

    /// Returns an int: an optional minus and digits, leading zeros allowed.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`]; [`FixErrorKind::ValueRange`] outside 64 bits.
    #[inline(always)]
    pub fn int(&self) -> Result<i64, FixError> {
        read_int(self.value, self.tail).map_err(|kind| self.error(kind))
    }

    /// Returns a length, count or sequence number: digits only.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`]; [`FixErrorKind::ValueRange`] above 64 bits.
    #[inline(always)]
    pub fn uint(&self) -> Result<u64, FixError> {
        read_uint(self.value, self.tail).map_err(|kind| self.error(kind))
    }

    /// Returns an exact decimal; digits after the point are kept, including zeros.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`]; [`FixErrorKind::ValueRange`] above [`FixDecimal::DIGITS_MAX`], or with
    /// more than 127 digits after the point.
    #[inline(always)]
    pub fn decimal(&self) -> Result<FixDecimal, FixError> {
        read_decimal(self.value, self.tail).map_err(|kind| self.error(kind))
    }

    /// Returns a single character.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`] if the value is not one byte.
    #[inline(always)]
    pub fn char(&self) -> Result<u8, FixError> {
        match self.value {
            [byte] => Ok(*byte),
            _ => Err(self.error(FixErrorKind::ValueFormat)),
        }
    }

    /// Returns `Y` as true and `N` as false.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`] for anything else.
    #[inline(always)]
    pub fn boolean(&self) -> Result<bool, FixError> {
        match self.value {
            b"Y" => Ok(true),
            b"N" => Ok(false),
            _ => Err(self.error(FixErrorKind::ValueFormat)),
        }
    }

    /// Returns the value as text.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`] if it is not UTF-8.
    #[inline]
    pub fn str(&self) -> Result<&'b str, FixError> {
        self.parse(std::str::from_utf8(self.value).ok())
    }

    /// Returns a UTCTimestamp, `YYYYMMDD-HH:MM:SS` with up to twelve digits after a point.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`], also for a day that does not exist.
    #[inline]
    pub fn utc_timestamp(&self) -> Result<UtcTimestamp, FixError> {
        self.parse(UtcTimestamp::parse(self.value))
    }

    /// Returns a UTCTimeOnly, `HH:MM:SS` with up to twelve digits after a point.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`].
    #[inline]
    pub fn utc_time(&self) -> Result<UtcTime, FixError> {
        self.parse(UtcTime::parse(self.value))
    }

    /// Returns a TZTimestamp: `YYYYMMDD-HH:MM`, optional seconds with up to twelve digits after a
    /// point, and an optional offset from UTC: `Z`, or a sign and `hh` or `hh:mm`.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`], also for a day that does not exist or an offset beyond 14 hours.
    #[inline]
    pub fn tz_timestamp(&self) -> Result<TzTimestamp, FixError> {
        self.parse(TzTimestamp::parse(self.value))
    }

    /// Returns a TZTimeOnly, `HH:MM`, seconds and offset as in [`Self::tz_timestamp`].
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`], also for an offset beyond 14 hours.
    #[inline]
    pub fn tz_time(&self) -> Result<TzTime, FixError> {
        self.parse(TzTime::parse(self.value))
    }

    /// Returns a UTCDateOnly or LocalMktDate, `YYYYMMDD`.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`], also for a day that does not exist.
    #[inline]
    pub fn date(&self) -> Result<LocalMktDate, FixError> {
        self.parse(LocalMktDate::parse(self.value))
    }

    /// Returns a MonthYear: `YYYYMM`, `YYYYMMDD` or `YYYYMMw1` to `w5`.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`].
    #[inline]
    pub fn month_year(&self) -> Result<MonthYear, FixError> {
        self.parse(MonthYear::parse(self.value))
    }

    /// Returns the values of a MultipleValueString, MultipleStringValue or MultipleCharValue.
    pub fn values(&self) -> impl Iterator<Item = &'b [u8]> + use<'b> {
        self.value.split(|byte| *byte == b' ')
    }
}

/// Parses an int; `tail` ends with `text`.
#[inline(always)]
pub(crate) fn read_int(text: &[u8], tail: u64) -> Result<i64, FixErrorKind> {
    match short_digits(text, tail) {
        Some(value) => Ok(value as i64),
        None => parse_int(text),
    }
}

/// Parses digits; `tail` ends with `text`.
#[inline(always)]
pub(crate) fn read_uint(text: &[u8], tail: u64) -> Result<u64, FixErrorKind> {
    match short_digits(text, tail) {
        Some(value) => Ok(value),
        None => parse_uint(text),
    }
}

/// Parses a decimal; `tail` ends with `text`.
#[inline(always)]
pub(crate) fn read_decimal(text: &[u8], tail: u64) -> Result<FixDecimal, FixErrorKind> {
    match short_text(tail, text.len()).and_then(|digits| decimal::short(digits, text.len())) {
        Some((digits, places)) => Ok(FixDecimal::short(false, digits, places)),
        None => other_decimal(text, tail),
    }
}

/// Returns the number in a text; `None` if it is not one to eight digits.
#[inline(always)]
fn short_digits(text: &[u8], tail: u64) -> Option<u64> {
    let digits = short_text(tail, text.len())?;
    are_digits(digits).then(|| eight_digits(digits))
}

/// Returns the last `len` bytes of a tail, each XORed with `0`, last byte highest and zeros before
/// the first; `None` if `len` is not 1 to 8. The bytes need not be digits.
#[inline(always)]
fn short_text(tail: u64, len: usize) -> Option<u64> {
    if !matches!(len, 1..=8) {
        return None;
    }
    let above = (64 - 8 * len) & 63;
    Some((tail ^ ZEROS) >> above << above)
}

/// Parses a decimal with a sign, or of any length.
#[inline(never)]
fn other_decimal(text: &[u8], tail: u64) -> Result<FixDecimal, FixErrorKind> {
    if let [b'-', rest @ ..] = text
        && let Some(digits) = short_text(tail, rest.len())
        && let Some((digits, places)) = decimal::short(digits, rest.len())
    {
        return Ok(FixDecimal::short(true, digits, places));
    }
    FixDecimal::parse(text)
}

/// Parses an int of any length.
#[cold]
#[inline(never)]
fn parse_int(text: &[u8]) -> Result<i64, FixErrorKind> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let value = parse_uint(digits)?;
    let value = if negative { 0_i64.checked_sub_unsigned(value) } else { value.try_into().ok() };
    value.ok_or(FixErrorKind::ValueRange)
}

/// Parses any number of digits.
#[cold]
#[inline(never)]
fn parse_uint(digits: &[u8]) -> Result<u64, FixErrorKind> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(FixErrorKind::ValueFormat);
    }
    let value = digits
        .iter()
        .try_fold(0_u64, |value, byte| value.checked_mul(10)?.checked_add(u64::from(byte - b'0')));
    value.ok_or(FixErrorKind::ValueRange)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::Tag;

    fn field(value: &str) -> Field<'_> {
        Field { offset: 9, ..Field::new(Tag(44), value.as_bytes()) }
    }

    #[test]
    fn integers_keep_to_their_form() {
        assert_eq!(field("-9223372036854775808").int(), Ok(i64::MIN));
        assert_eq!(field("007").int(), Ok(7));
        for bad in ["", "-", "+1", "1.0", " 1", "1-"] {
            assert_eq!(
                field(bad).int().map_err(|e| e.kind),
                Err(FixErrorKind::ValueFormat),
                "{bad}"
            );
        }
        let error = field("9223372036854775808").int().expect_err("one too many");
        assert_eq!(
            (error.kind, error.tag, error.offset),
            (FixErrorKind::ValueRange, Some(Tag(44)), 9)
        );
        assert_eq!(field("18446744073709551615").uint(), Ok(u64::MAX));
        assert!(field("-1").uint().is_err());
        for len in 1..19 {
            let text = &"123456789012345678"[..len];
            assert_eq!(field(text).uint(), Ok(text.parse().expect("a number")));
            assert_eq!(
                field(&format!("-{text}")).int(),
                Ok(-text.parse::<i64>().expect("a number"))
            );
            for at in 0..len {
                let mut wrong = text.to_owned();
                wrong.replace_range(at..=at, "x");
                assert!(field(&wrong).uint().is_err(), "{wrong}");
                assert!(field(&wrong).int().is_err(), "{wrong}");
            }
        }
    }

    #[test]
    fn short_decimals_are_read_as_long_ones() {
        let texts = [
            "",
            "-",
            ".",
            "-.",
            "0",
            "5.",
            ".5",
            "-.5",
            "298.075",
            "-298.07",
            "12345678",
            "1234567.",
            ".1234567",
            "-1234567",
            "-12345678",
            "1.2.3",
            "1..",
            "+1",
            "1e5",
            "12x4.5",
            "--1",
            "1-2",
            "00.10",
            "123456.789012",
            "99999999.99999999",
            "-0",
            "-0.00",
            "-0.000000000000000000",
            "123456789012345678901234567890.12345",
        ];
        for text in texts {
            let expected = FixDecimal::parse(text.as_bytes());
            assert_eq!(field(text).decimal().map_err(|error| error.kind), expected, "{text}");
        }
        for good in [&b"123.45"[..], b"-1.2", b"12345678", b"7"] {
            for at in 0..good.len() {
                for byte in 0..=255 {
                    let mut text = good.to_vec();
                    text[at] = byte;
                    let found = Field::new(Tag(44), &text).decimal().map_err(|error| error.kind);
                    assert_eq!(found, FixDecimal::parse(&text), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn characters_and_booleans_are_one_byte() {
        assert_eq!(field("Y").boolean(), Ok(true));
        assert!(field("y").boolean().is_err());
        assert_eq!(field("1").char(), Ok(b'1'));
        assert!(field("12").char().is_err());
        let values: Vec<_> = field("A B C").values().collect();
        assert_eq!(values, [b"A", b"B", b"C"]);
    }
}
