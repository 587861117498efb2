//! Columns of values. A column is only as long as its last row with a value; nulls after it are appended when
//! the batch is taken.

use super::block::{MessageBlock, WaitingValue};
use super::other::{ascending, offsets};
use crate::table::Decimals;
use crate::text;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float64Type, Int64Type, Time64NanosecondType,
    TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, new_null_array};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use std::ops::Range;
use std::sync::Arc;
use tickwire_fix::dictionary::{FieldDef, FixFieldType};
use tickwire_fix::value::UtcTime;
use tickwire_fix::{Field as Value, FixDecimal, Tag, UtcTimestamp};

/// Digits of a decimal column, and its digits after the point.
const PRECISION: u8 = 38;
const SCALE: i8 = 18;
/// The least number with more than [`PRECISION`] digits.
const DECIMAL_END: u128 = 10_u128.pow(PRECISION as u32);
/// Powers of ten that fit 64 bits.
const POWERS: [u64; 20] = {
    let (mut powers, mut at) = ([1; 20], 1);
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};
const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
const PICOS_PER_NANO: u64 = 1000;
/// Digits of nanoseconds after the point of a second.
const NANO_DIGITS: usize = 9;
/// Length of `YYYYMMDD-HH:MM:SS`.
const SECOND_LEN: usize = 17;

/// A column of one field.
pub struct FixColumn {
    name: String,
    tag: Tag,
    present: Present,
    values: FixColumnValues,
}

/// Which rows have values.
#[derive(Default)]
struct Present {
    len: usize,
    /// Validity bits, allocated at the first null.
    valid: Option<BooleanBufferBuilder>,
}

enum FixColumnValues {
    Binary(Bytes),
    Boolean(BooleanBufferBuilder),
    Date(Vec<i32>),
    Decimal(Vec<i128>),
    Float(Vec<f64>),
    Int(Vec<i64>),
    Text(Bytes),
    Time(Vec<i64>),
    Timestamp(Timestamps),
}

/// Concatenated values, and where each ends.
struct Bytes {
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

/// Nanoseconds since 1970-01-01 UTC.
struct Timestamps {
    values: Vec<i64>,
    /// Text of the second parsed last, and its time.
    second: [u8; SECOND_LEN],
    second_ns: i64,
}

impl Default for Timestamps {
    fn default() -> Self {
        Self { values: Vec::new(), second: *b"19700101-00:00:00", second_ns: 0 }
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self { ends: vec![0], bytes: Vec::new() }
    }
}

impl Bytes {
    /// Appends the first `len` bytes. Most values are short: a constant number of bytes is copied
    /// by single instructions, without a call of memcpy, and the bytes after the value are
    /// truncated.
    #[inline]
    fn push(&mut self, bytes: &[u8], len: usize) {
        let end = self.bytes.len() + len;
        match (bytes.first_chunk::<16>(), bytes.first_chunk::<32>()) {
            (Some(chunk), _) if len <= chunk.len() => self.bytes.extend_from_slice(chunk),
            (_, Some(chunk)) if len <= chunk.len() => self.bytes.extend_from_slice(chunk),
            _ => self.bytes.extend_from_slice(&bytes[..len]),
        }
        self.bytes.truncate(end);
        self.ends.push(end as i32);
    }

    /// Takes the values, and reserves memory for the same number.
    fn take(&mut self) -> Self {
        let mut room = Vec::with_capacity(self.ends.len());
        room.push(0);
        Self { ends: std::mem::replace(&mut self.ends, room), bytes: taken(&mut self.bytes) }
    }
}

impl Timestamps {
    /// Appends a value; returns false if it is not a time that fits. Most times are in the same
    /// second as the previous value; only their fractions are parsed.
    #[inline]
    fn push(&mut self, field: &Value<'_>) -> bool {
        let parsed = match field.value.split_first_chunk() {
            Some((second, fraction)) if is_same(second, &self.second) => {
                short_fraction(fraction).and_then(|nanos| self.second_ns.checked_add(nanos))
            }
            _ => None,
        };
        let value = parsed.or_else(|| self.parse(field));
        value.map(|value| self.values.push(value)).is_some()
    }

    /// Parses a value, and stores its second for the next value.
    fn parse(&mut self, field: &Value<'_>) -> Option<i64> {
        let time = field.utc_timestamp().ok()?;
        let nanos = unix_nanos(time)?;
        let fraction = (time.time.picos() / PICOS_PER_NANO) as i64;
        if let Some(second) = field.value.first_chunk() {
            (self.second, self.second_ns) = (*second, nanos - fraction);
        }
        Some(nanos)
    }
}

/// Compares seconds as two overlapping words of 16 bytes; 17 bytes would be compared by a call of memcmp.
#[inline]
fn is_same(one: &[u8; SECOND_LEN], other: &[u8; SECOND_LEN]) -> bool {
    one.first_chunk::<16>() == other.first_chunk() && one.last_chunk::<16>() == other.last_chunk()
}

/// Returns the nanoseconds of a fraction of up to nine digits after a point; `None` for other texts.
#[inline]
fn short_fraction(text: &[u8]) -> Option<i64> {
    let digits = match text {
        [] => return Some(0),
        [b'.', digits @ ..] if matches!(digits.len(), 1..=NANO_DIGITS) => digits,
        _ => return None,
    };
    let add = |number: u64, digit: &u8| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    };
    let number = digits.iter().try_fold(0, add)?;
    Some((number * POWERS[NANO_DIGITS - digits.len()]) as i64)
}

/// Values that are padded where rows have none.
trait PaddedValues {
    /// Appends arbitrary values until there are `rows`.
    fn pad(&mut self, rows: usize);
}

impl<T: Clone + Default> PaddedValues for Vec<T> {
    fn pad(&mut self, rows: usize) {
        self.resize(rows, T::default());
    }
}

impl PaddedValues for BooleanBufferBuilder {
    fn pad(&mut self, rows: usize) {
        self.append_n(rows - self.len(), false);
    }
}

impl PaddedValues for Bytes {
    fn pad(&mut self, rows: usize) {
        self.ends.resize(rows + 1, self.bytes.len() as i32);
    }
}

impl PaddedValues for Timestamps {
    fn pad(&mut self, rows: usize) {
        self.values.pad(rows);
    }
}

impl Present {
    /// Appends nulls up to `rows`.
    fn pad(&mut self, rows: usize, values: &mut (impl PaddedValues + ?Sized)) {
        let (len, missing) = (self.len, rows - self.len);
        if missing == 0 {
            return;
        }
        self.len = rows;
        let all_valid = || {
            let mut valid = BooleanBufferBuilder::new(rows);
            valid.append_n(len, true);
            valid
        };
        self.valid.get_or_insert_with(all_valid).append_n(missing, false);
        values.pad(rows);
    }

    /// Appends a value, if the row has none; returns true if `push` did so.
    #[inline(always)]
    fn push<V: PaddedValues>(
        &mut self,
        row: usize,
        values: &mut V,
        push: impl FnOnce(&mut V) -> bool,
    ) -> bool {
        if self.len > row {
            return false;
        }
        if self.len < row {
            self.pad(row, values);
        }
        let is_pushed = push(values);
        if is_pushed {
            self.len += 1;
            if let Some(valid) = &mut self.valid {
                valid.append(true);
            }
        }
        is_pushed
    }
}

impl FixColumn {
    pub fn new(field: &FieldDef, decimals: Decimals) -> Self {
        use FixFieldType as T;
        let values = match (field.field_type(), decimals) {
            (
                T::Amt | T::Float | T::Percentage | T::Price | T::PriceOffset | T::Qty,
                Decimals::Exact,
            ) => FixColumnValues::Decimal(Vec::new()),
            (T::Amt | T::Float | T::Percentage | T::Price | T::PriceOffset | T::Qty, _) => {
                FixColumnValues::Float(Vec::new())
            }
            (T::Boolean, _) => FixColumnValues::Boolean(BooleanBufferBuilder::new(0)),
            (T::DayOfMonth | T::Int | T::Length | T::NumInGroup | T::SeqNum | T::TagNum, _) => {
                FixColumnValues::Int(Vec::new())
            }
            (T::Data | T::XmlData, _) => FixColumnValues::Binary(Bytes::default()),
            (T::LocalMktDate | T::UtcDateOnly, _) => FixColumnValues::Date(Vec::new()),
            (T::UtcTimeOnly, _) => FixColumnValues::Time(Vec::new()),
            (T::UtcTimestamp, _) => FixColumnValues::Timestamp(Timestamps::default()),
            _ => FixColumnValues::Text(Bytes::default()),
        };
        let (name, tag) = (field.name().to_owned(), field.tag());
        Self { name, tag, present: Present::default(), values }
    }

    pub fn field(&self) -> Field {
        Field::new(&self.name, self.data_type(), true)
    }

    fn data_type(&self) -> DataType {
        match self.values {
            FixColumnValues::Binary(_) => DataType::Binary,
            FixColumnValues::Boolean(_) => DataType::Boolean,
            FixColumnValues::Date(_) => DataType::Date32,
            FixColumnValues::Decimal(_) => DataType::Decimal128(PRECISION, SCALE),
            FixColumnValues::Float(_) => DataType::Float64,
            FixColumnValues::Int(_) => DataType::Int64,
            FixColumnValues::Text(_) => DataType::Utf8,
            FixColumnValues::Time(_) => DataType::Time64(TimeUnit::Nanosecond),
            FixColumnValues::Timestamp(_) => {
                DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
            }
        }
    }

    /// Appends the values of a block, and empties `waiting`. A value that does not fit, or whose row already has one, goes
    /// to the fields without a column.
    pub fn append(&mut self, waiting: &mut Vec<WaitingValue>, block: &mut MessageBlock) {
        if waiting.is_empty() {
            return;
        }
        let Self { tag, present, values, .. } = self;
        let MessageBlock { bytes, is_ascii, others, .. } = block;
        let after = |field: &Value<'_>| &bytes[field.offset as usize..];
        let mut fill = ColumnFill { tag: *tag, present, waiting, bytes, others };
        match values {
            FixColumnValues::Binary(values) => fill.values(values, |values, field| {
                values.push(after(field), field.value.len());
                true
            }),
            FixColumnValues::Boolean(values) => fill.values(values, |values, field| {
                field.boolean().map(|value| values.append(value)).is_ok()
            }),
            FixColumnValues::Date(values) => fill.values(values, |values, field| {
                let days = field.date().ok().and_then(|day| i32::try_from(day.unix_days()).ok());
                days.map(|days| values.push(days)).is_some()
            }),
            FixColumnValues::Decimal(values) => fill.values(values, |values, field| {
                let value = field.decimal().ok().and_then(scaled);
                value.map(|value| values.push(value)).is_some()
            }),
            FixColumnValues::Float(values) => fill.values(values, |values, field| {
                let text = field.decimal().ok().and_then(|_| std::str::from_utf8(field.value).ok());
                text.and_then(|text| text.parse().ok()).map(|value| values.push(value)).is_some()
            }),
            FixColumnValues::Int(values) => fill.values(values, |values, field| {
                field.int().map(|value| values.push(value)).is_ok()
            }),
            FixColumnValues::Text(values) => fill.values(values, |values, field| {
                let is_text = *is_ascii || std::str::from_utf8(field.value).is_ok();
                if is_text {
                    values.push(after(field), field.value.len());
                }
                is_text
            }),
            FixColumnValues::Time(values) => fill.values(values, |values, field| {
                let nanos = field.utc_time().ok().and_then(of_day);
                nanos.map(|nanos| values.push(nanos)).is_some()
            }),
            FixColumnValues::Timestamp(values) => fill.values(values, Timestamps::push),
        }
    }

    /// Appends nulls up to `rows`.
    fn pad(&mut self, rows: usize) {
        let values: &mut dyn PaddedValues = match &mut self.values {
            FixColumnValues::Boolean(values) => values,
            FixColumnValues::Date(values) => values,
            FixColumnValues::Decimal(values) => values,
            FixColumnValues::Float(values) => values,
            FixColumnValues::Binary(values) | FixColumnValues::Text(values) => values,
            FixColumnValues::Int(values) | FixColumnValues::Time(values) => values,
            FixColumnValues::Timestamp(times) => times,
        };
        self.present.pad(rows, values);
    }

    /// Returns the values of all rows and empties the column.
    pub fn finish(&mut self, rows: usize, nulls: &mut NullArrays) -> Result<ArrayRef, ArrowError> {
        if self.present.len == 0 {
            return Ok(nulls.take(&self.data_type(), rows));
        }
        self.pad(rows);
        let present = std::mem::take(&mut self.present);
        let nulls = present.valid.map(|mut valid| NullBuffer::new(valid.finish()));
        Ok(match &mut self.values {
            FixColumnValues::Binary(values) => {
                let Bytes { ends, bytes } = values.take();
                Arc::new(BinaryArray::try_new(offsets(ends)?, bytes.into(), nulls)?)
            }
            FixColumnValues::Boolean(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            FixColumnValues::Date(values) => primitive::<Date32Type>(values, nulls)?,
            FixColumnValues::Decimal(values) => {
                let values = ScalarBuffer::from(taken(values));
                let array = PrimitiveArray::<Decimal128Type>::try_new(values, nulls)?;
                Arc::new(array.with_precision_and_scale(PRECISION, SCALE)?)
            }
            FixColumnValues::Float(values) => primitive::<Float64Type>(values, nulls)?,
            FixColumnValues::Int(values) => primitive::<Int64Type>(values, nulls)?,
            FixColumnValues::Text(values) => {
                let Bytes { ends, bytes } = values.take();
                Arc::new(text::array(ascending(ends)?.into(), bytes.into(), nulls)?)
            }
            FixColumnValues::Time(values) => primitive::<Time64NanosecondType>(values, nulls)?,
            FixColumnValues::Timestamp(times) => {
                let values = ScalarBuffer::from(taken(&mut times.values));
                let array = PrimitiveArray::<TimestampNanosecondType>::try_new(values, nulls)?;
                Arc::new(array.with_timezone("UTC"))
            }
        })
    }
}

/// Appends the values of a block to a column.
struct ColumnFill<'c> {
    tag: Tag,
    present: &'c mut Present,
    waiting: &'c mut Vec<WaitingValue>,
    /// The block.
    bytes: &'c [u8],
    others: &'c mut Vec<(Tag, Range<u32>)>,
}

impl ColumnFill<'_> {
    /// `push` appends a value; it returns false if the value does not fit.
    #[inline(always)]
    fn values<V: PaddedValues>(
        &mut self,
        values: &mut V,
        mut push: impl FnMut(&mut V, &Value<'_>) -> bool,
    ) {
        for WaitingValue { row, range } in self.waiting.drain(..) {
            let field = Value::within(self.tag, self.bytes, range.clone());
            let is_pushed = field
                .is_some_and(|field| self.present.push(row, values, |values| push(values, &field)));
            if !is_pushed {
                self.others.push((self.tag, range));
            }
        }
    }
}

/// The columns without a value, which share one array per type: most fields of a dictionary are absent in most
/// batches, and the nulls of a decimal column of 8,192 rows take 128 KiB.
#[derive(Default)]
pub struct NullArrays(Vec<ArrayRef>);

impl NullArrays {
    /// Returns `rows` nulls.
    pub fn take(&mut self, data_type: &DataType, rows: usize) -> ArrayRef {
        let known = self.0.iter().position(|array| array.data_type() == data_type);
        let at = known.unwrap_or_else(|| {
            self.0.push(new_null_array(data_type, rows));
            self.0.len() - 1
        });
        if self.0[at].len() < rows {
            self.0[at] = new_null_array(data_type, rows);
        }
        self.0[at].slice(0, rows)
    }
}

fn primitive<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let values = ScalarBuffer::from(taken(values));
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values, nulls)?))
}

/// Takes values, and reserves memory for the same number.
fn taken<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(values.len());
    std::mem::replace(values, room)
}

/// Returns the decimal scaled to 18 decimal places; `None` if it has nonzero digits beyond them, or more than
/// 38 digits in total.
fn scaled(value: FixDecimal) -> Option<i128> {
    let (digits, places) = (value.digits(), i32::from(value.exponent()) + i32::from(SCALE));
    // Nearly all decimals fit 64 bits: one widening multiplication.
    let digits =
        match (u64::try_from(digits), POWERS.get(usize::try_from(places).unwrap_or(usize::MAX))) {
            (Ok(digits), Some(factor)) => u128::from(digits) * u128::from(*factor),
            _ => {
                let factor = 10_u128.checked_pow(places.unsigned_abs())?;
                match places >= 0 {
                    true => digits.checked_mul(factor)?,
                    false if digits % factor == 0 => digits / factor,
                    false => return None,
                }
            }
        };
    let digits = i128::try_from(digits).ok().filter(|_| digits < DECIMAL_END)?;
    Some(if value.is_negative() { -digits } else { digits })
}

/// Returns nanoseconds since 1970-01-01 UTC; `None` out of range, for leap seconds, and for more than nine
/// fractional digits.
fn unix_nanos(value: UtcTimestamp) -> Option<i64> {
    let midnight = (value.date.unix_days() * SECONDS_PER_DAY).checked_mul(NANOS_PER_SECOND)?;
    midnight.checked_add(of_day(value.time)?)
}

/// Returns nanoseconds since midnight; `None` for leap seconds and for more than nine fractional digits.
fn of_day(time: UtcTime) -> Option<i64> {
    if time.second() > 59 || !time.picos().is_multiple_of(PICOS_PER_NANO) {
        return None;
    }
    let seconds =
        i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    Some(seconds * NANOS_PER_SECOND + (time.picos() / PICOS_PER_NANO) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_length_are_appended() {
        let text: Vec<u8> = (0..70).collect();
        let (mut bytes, mut expected) = (Bytes::default(), Vec::new());
        for len in (0..text.len()).chain((0..text.len()).rev()) {
            for room in [len, text.len()] {
                bytes.push(&text[..room], len);
                expected.extend_from_slice(&text[..len]);
                assert_eq!(bytes.bytes, expected, "{len} of {room}");
                assert_eq!(bytes.ends.last(), Some(&(expected.len() as i32)));
            }
        }
        let taken = bytes.take();
        assert_eq!((taken.bytes, taken.ends.len()), (expected, 281));
        assert_eq!((bytes.bytes.len(), &bytes.ends[..]), (0, &[0][..]));
    }

    #[test]
    fn times_are_the_same_after_any_other() {
        let seconds = [
            "19700101-00:00:00",
            "20260105-12:30:01",
            "20260105-12:30:02",
            "20161231-23:59:60",
            "20260231-12:30:01",
            "22620411-23:47:16",
            "22620411-23:47:17",
            "16770921-00:12:43",
            "16770922-00:00:00",
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        ];
        let fractions = [
            "",
            ".",
            ".5",
            ".123",
            ".854775807",
            ".854775808",
            ".1234567890",
            ".1234567891",
            ".123456789012",
            ".1234567890123",
            ".12x",
            "x123",
            "Z",
        ];
        let texts: Vec<String> = seconds
            .iter()
            .flat_map(|second| fractions.map(|fraction| format!("{second}{fraction}")))
            .chain(["".to_owned(), "20260105".to_owned()])
            .collect();
        let parse = |text: &String| {
            let field = Value::new(Tag(52), text.as_bytes());
            field.utc_timestamp().ok().and_then(unix_nanos)
        };
        for before in &texts {
            for text in &texts {
                let mut times = Timestamps::default();
                for text in [before, text] {
                    times.push(&Value::new(Tag(52), text.as_bytes()));
                }
                let expected: Vec<i64> = [before, text].into_iter().filter_map(parse).collect();
                assert_eq!(times.values, expected, "{before}, {text}");
            }
        }
    }
}
