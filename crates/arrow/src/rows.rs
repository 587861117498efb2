//! Tables of rows with named members: trades, best prices, books and events.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow_array::builder::{
    Decimal128Builder, StringBuilder, TimestampNanosecondBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

/// Time zone of time columns.
const UTC: &str = "UTC";
/// Digits of decimal columns.
const PRECISION: u8 = 38;
/// Decimal places of decimal columns.
const SCALE: u8 = 9;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowType {
    /// Nanoseconds since 1970-01-01 UTC.
    Time,
    /// An unsigned integer.
    Number,
    /// A decimal, with up to nine decimal places.
    Decimal,
    /// Text.
    Text,
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowValue<'v> {
    /// A time or number.
    Number(u64),
    /// Text, or the digits of a decimal, such as `-12.50`.
    Text(&'v str),
}

/// A value that its column cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowMisfit {
    /// Name of the column.
    pub column: String,
    /// The value.
    pub value: String,
}

impl fmt::Display for RowMisfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, value } = self;
        write!(
            f,
            "column {column} cannot hold {value}: a decimal has at most {SCALE} digits after the point"
        )
    }
}

impl Error for RowMisfit {}

/// Builds record batches from rows.
pub struct RowTable {
    schema: SchemaRef,
    cells: Vec<RowColumnBuilder>,
    rows: usize,
}

enum RowColumnBuilder {
    Time(TimestampNanosecondBuilder),
    Number(UInt64Builder),
    Decimal(Decimal128Builder),
    Text(StringBuilder),
}

impl RowTable {
    /// Creates an empty table with these columns.
    pub fn new<'n>(columns: impl IntoIterator<Item = (&'n str, RowType)>) -> Self {
        let columns: Vec<_> = columns
            .into_iter()
            .map(|(name, row_type)| (name, RowColumnBuilder::of(row_type)))
            .collect();
        let fields = columns.iter().map(|(name, cell)| Field::new(*name, cell.data_type(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let cells = columns.into_iter().map(|(_, cell)| cell).collect();
        Self { schema, cells, rows: 0 }
    }

    /// Returns names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows of the next batch so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends a row: `value_of` returns the value for a column's name.
    ///
    /// # Errors
    /// [`RowMisfit`] if a column cannot hold its value; the row is not in the table then.
    pub fn push<'v>(
        &mut self,
        value_of: impl Fn(&str) -> Option<RowValue<'v>>,
    ) -> Result<(), RowMisfit> {
        let fields = self.schema.fields().iter();
        let values: Vec<_> = fields.clone().map(|field| value_of(field.name())).collect();
        for ((cell, field), value) in self.cells.iter().zip(fields).zip(&values) {
            if let Some(value) = value
                && !cell.holds(*value)
            {
                let (column, value) = (field.name().clone(), format!("{value:?}"));
                return Err(RowMisfit { column, value });
            }
        }
        for (cell, value) in self.cells.iter_mut().zip(values) {
            cell.append(value);
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns the rows since the last batch.
    ///
    /// # Errors
    /// Errors of Arrow; not expected for tables of this crate.
    pub fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let arrays = self.cells.iter_mut().map(RowColumnBuilder::finish).collect();
        RecordBatch::try_new(self.schema.clone(), arrays)
    }
}

/// Parses a decimal and multiplies it by 10 to the power of [`SCALE`]; `None` if it has too many digits.
fn decimal(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let behind = behind.trim_end_matches('0');
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = behind.len() <= usize::from(SCALE)
        && whole.len() <= usize::from(PRECISION - SCALE)
        && !whole.is_empty()
        && is_number(whole)
        && is_number(behind);
    let number = format!("{whole}{behind:0<width$}", width = usize::from(SCALE));
    fits.then(|| number.parse().ok().map(|number: i128| sign * number)).flatten()
}

fn time(ns: u64) -> Option<i64> {
    i64::try_from(ns).ok()
}

impl RowColumnBuilder {
    fn of(row_type: RowType) -> Self {
        match row_type {
            RowType::Time => Self::Time(TimestampNanosecondBuilder::new().with_timezone(UTC)),
            RowType::Number => Self::Number(UInt64Builder::new()),
            RowType::Decimal => Self::Decimal(
                Decimal128Builder::new()
                    .with_data_type(DataType::Decimal128(PRECISION, SCALE as i8)),
            ),
            RowType::Text => Self::Text(StringBuilder::new()),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Time(_) => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
            Self::Number(_) => DataType::UInt64,
            Self::Decimal(_) => DataType::Decimal128(PRECISION, SCALE as i8),
            Self::Text(_) => DataType::Utf8,
        }
    }

    fn holds(&self, value: RowValue<'_>) -> bool {
        match (self, value) {
            (Self::Time(_), RowValue::Number(ns)) => time(ns).is_some(),
            (Self::Number(_), RowValue::Number(_)) | (Self::Text(_), RowValue::Text(_)) => true,
            (Self::Decimal(_), RowValue::Text(digits)) => decimal(digits).is_some(),
            _ => false,
        }
    }

    /// Appends a value that has been checked, or null.
    fn append(&mut self, value: Option<RowValue<'_>>) {
        let number = match value {
            Some(RowValue::Number(number)) => Some(number),
            _ => None,
        };
        let text = match value {
            Some(RowValue::Text(text)) => Some(text),
            _ => None,
        };
        match self {
            Self::Time(times) => times.append_option(number.and_then(time)),
            Self::Number(numbers) => numbers.append_option(number),
            Self::Decimal(decimals) => decimals.append_option(text.and_then(decimal)),
            Self::Text(texts) => texts.append_option(text),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Time(times) => Arc::new(times.finish()),
            Self::Number(numbers) => Arc::new(numbers.finish()),
            Self::Decimal(decimals) => Arc::new(decimals.finish()),
            Self::Text(texts) => Arc::new(texts.finish()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(decimal("133310"), Some(133_310_000_000_000));
        assert_eq!(decimal("-12.50"), Some(-12_500_000_000));
        assert_eq!(decimal("0.000000001"), Some(1));
        assert_eq!(decimal("0.1000000000"), Some(100_000_000));
        let longest = "9".repeat(29);
        assert!(decimal(&longest).is_some());
        for text in ["0.0000000001", "", "-", ".5", "1e5", "1.2.3", "+1", &"9".repeat(30)] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn a_row_that_does_not_fit_leaves_nothing() {
        let mut table = RowTable::new([("time", RowType::Time), ("price", RowType::Decimal)]);
        let row = |time, price| {
            move |name: &str| match name {
                "time" => Some(RowValue::Number(time)),
                _ => Some(RowValue::Text(price)),
            }
        };
        table.push(row(1, "5.25")).unwrap();
        let misfit = table.push(row(2, "0.0000000001")).unwrap_err();
        assert_eq!(misfit.column, "price");
        assert_eq!(table.push(row(u64::MAX, "1")).unwrap_err().column, "time");
        table.push(|_| None).unwrap();
        let batch = table.take_batch().unwrap();
        assert_eq!(batch.num_rows(), 2);
        assert_eq!(batch.column(1).null_count(), 1);
        assert_eq!(table.rows(), 0);
    }
}
