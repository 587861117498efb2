//! Times with their precision.

use crate::error::{FixError, FixErrorKind};
use crate::reader::Field;
use crate::value::{Precision, UtcTime, UtcTimestamp};

/// A time or timestamp with its precision, so that it is encoded as it was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWithPrecision<T> {
    /// The time.
    pub value: T,
    /// Number of digits after the point. Numbers between those of the standard are rounded up.
    pub precision: Precision,
}

impl<T> TimeWithPrecision<T> {
    /// Creates a time with a precision.
    pub const fn new(value: T, precision: Precision) -> Self {
        Self { value, precision }
    }
}

/// Returns the precision of a text of `len` bytes; the time without a point has `whole` bytes.
#[inline(always)]
pub(super) fn precision(len: usize, whole: usize) -> Precision {
    match len.saturating_sub(whole + 1) {
        0 => Precision::Seconds,
        1..=3 => Precision::Millis,
        4..=6 => Precision::Micros,
        7..=9 => Precision::Nanos,
        _ => Precision::Picos,
    }
}

impl TimeWithPrecision<UtcTimestamp> {
    /// Reads a UTCTimestamp.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`].
    #[inline(always)]
    pub fn decode(field: &Field<'_>) -> Result<Self, FixError> {
        match UtcTimestamp::parse(field.value) {
            Some(value) => Ok(Self::new(value, precision(field.value.len(), 17))),
            None => Err(field.refused(FixErrorKind::ValueFormat)),
        }
    }
}

impl TimeWithPrecision<UtcTime> {
    /// Reads a UTCTimeOnly.
    ///
    /// # Errors
    /// [`FixErrorKind::ValueFormat`].
    #[inline(always)]
    pub fn decode(field: &Field<'_>) -> Result<Self, FixError> {
        match UtcTime::parse(field.value) {
            Some(value) => Ok(Self::new(value, precision(field.value.len(), 8))),
            None => Err(field.refused(FixErrorKind::ValueFormat)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::Tag;

    #[test]
    fn digits_after_the_point_are_kept() {
        let found = |text: &'static str| {
            let field = Field::new(Tag(52), text.as_bytes());
            TimeWithPrecision::<UtcTimestamp>::decode(&field).map(|found| found.precision)
        };
        assert_eq!(found("20260105-11:20:43"), Ok(Precision::Seconds));
        assert_eq!(found("20260105-11:20:43.5"), Ok(Precision::Millis));
        assert_eq!(found("20260105-11:20:43.123"), Ok(Precision::Millis));
        assert_eq!(found("20260105-11:20:43.123456"), Ok(Precision::Micros));
        assert_eq!(found("20260105-11:20:43.123456789"), Ok(Precision::Nanos));
        assert_eq!(found("20260105-11:20:43.123456789012"), Ok(Precision::Picos));
        let error = found("20260105 11:20:43").expect_err("no dash");
        assert_eq!(error.kind, FixErrorKind::ValueFormat);
    }
}
