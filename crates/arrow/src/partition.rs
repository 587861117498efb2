//! Splits rows by column values into directories named `KEY=VALUE` (Hive's layout, which Spark, DuckDB and
//! Polars read).

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::hash::Hash;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::date32_to_datetime;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef, TimeUnit};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

/// Directory value of rows without a value, as Hive names it.
const NONE: &str = "__HIVE_DEFAULT_PARTITION__";
/// Longest name of a directory, bytes; file systems allow 255.
const NAME_BYTES_MAX: usize = 250;
const SECONDS_PER_DAY: i64 = 86_400;
/// Columns with the time of a message; the first that the table has is used.
const TIMES: [&str; 2] = ["time", "SendingTime"];
/// Fields that identify a security, by id and name, in order of preference; OPRA's field has no id.
const SECURITIES: [(Option<&str>, &str); 3] =
    [(Some("48"), "SecurityID"), (Some("55"), "Symbol"), (None, "symbol")];

/// A value of a row that names its partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionKey {
    /// Date in UTC: of the capture time, otherwise of SendingTime.
    Date,
    /// SecurityID (48); Symbol (55) in rows without it.
    Security,
    /// A column, given by its path, the last part of its path, or the field's id.
    Column(String),
}

impl PartitionKey {
    /// Parses a key as options name it: `date`, `security`, otherwise a column.
    pub fn named(name: &str) -> Self {
        match name {
            "date" => Self::Date,
            "security" => Self::Security,
            column => Self::Column(column.to_owned()),
        }
    }
}

/// Why a table cannot be partitioned by a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitKey(String);

impl fmt::Display for UnfitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for UnfitKey {}

/// How the rows of a table are partitioned.
#[derive(Clone, Debug)]
pub struct Partitioning {
    levels: Vec<PartitionLevel>,
}

/// A level of directories, one per key.
#[derive(Clone, Debug)]
struct PartitionLevel {
    name: String,
    /// Columns of the key; a row's value is that of the first column that is not null. Empty if the table
    /// lacks the key.
    columns: Vec<usize>,
    is_date: bool,
}

impl Partitioning {
    /// Finds the columns of the keys. If the table lacks a key, its rows are in the directory of rows without
    /// a value.
    ///
    /// # Errors
    /// A key matches several columns, or a column whose type cannot name directories; two keys have the same
    /// name.
    pub fn new(schema: &Schema, keys: &[PartitionKey]) -> Result<Self, UnfitKey> {
        let mut levels: Vec<PartitionLevel> = Vec::new();
        for key in keys {
            let level = PartitionLevel::of(schema, key)?;
            if levels.iter().any(|other| other.name == level.name) {
                return Err(UnfitKey(format!("two partition keys have the name {}", level.name)));
            }
            levels.push(level);
        }
        Ok(Self { levels })
    }

    /// True if the table has a column for the key at this index.
    pub fn has(&self, key: usize) -> bool {
        self.levels.get(key).is_some_and(|level| !level.columns.is_empty())
    }

    /// Returns the rows of each partition with the path of its directory, such as
    /// `date=2012-02-10/SecurityID=5`. Rows keep their order; partitions are in the order of their first
    /// rows. The rows of a partition are copied when the iterator returns them.
    ///
    /// # Errors
    /// A value is too long for a directory name; errors of Arrow.
    pub fn split<'b>(
        &self,
        batch: &'b RecordBatch,
    ) -> Result<
        impl ExactSizeIterator<Item = Result<(String, RecordBatch), ArrowError>> + use<'b>,
        ArrowError,
    > {
        let mut parts = vec![0_u32; batch.num_rows()];
        let mut names = vec![String::new()];
        for level in &self.levels {
            let (codes, values) = level.values(batch)?;
            let mut joined = Codes::default();
            for (part, code) in parts.iter_mut().zip(codes) {
                *part = joined.code((*part, code));
            }
            let name = |(part, code): &(u32, u32)| {
                let value = values[*code as usize].as_deref();
                let name = directory(&level.name, value)?;
                let before = &names[*part as usize];
                Ok(if before.is_empty() { name } else { format!("{before}/{name}") })
            };
            names = joined.known.iter().map(name).collect::<Result<_, ArrowError>>()?;
        }
        let is_one = names.len() == 1;
        let mut rows = vec![Vec::new(); names.len()];
        for (row, part) in (0_u32..).zip(parts) {
            rows[part as usize].push(row);
        }
        Ok(names.into_iter().zip(rows).map(move |(name, rows)| match is_one {
            true => Ok((name, batch.clone())),
            false => Ok((name, take_record_batch(batch, &UInt32Array::from(rows))?)),
        }))
    }
}

/// Concatenates batches.
///
/// # Errors
/// Errors of Arrow: a batch has another schema, or there are too many rows for 32-bit offsets.
pub fn joined(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<RecordBatch, ArrowError> {
    match <[RecordBatch; 1]>::try_from(batches) {
        Ok([batch]) => Ok(batch),
        Err(batches) => concat_batches(schema, &batches),
    }
}

impl PartitionLevel {
    fn of(schema: &Schema, key: &PartitionKey) -> Result<Self, UnfitKey> {
        let fields = schema.fields();
        let found = |is_it: &dyn Fn(&str, Option<&str>) -> bool| -> Vec<usize> {
            let id = |at: usize| fields[at].metadata().get("tickwire.id").map(String::as_str);
            (0..fields.len()).filter(|at| is_it(fields[*at].name(), id(*at))).collect()
        };
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let by_name = |name: &str| found(&|path, _| last(path) == name);
        let (name, columns) = match key {
            PartitionKey::Date => {
                let is_time =
                    |at: &usize| matches!(fields[*at].data_type(), DataType::Timestamp(..));
                let times = TIMES.iter().flat_map(|time| found(&|name, _| name == *time));
                let columns = times.filter(is_time).collect();
                return Ok(Self { name: "date".to_owned(), columns, is_date: true });
            }
            PartitionKey::Security => {
                let columns = SECURITIES.iter().map(|(tag, field)| {
                    let by_id = found(&|_, id| tag.is_some() && id == *tag);
                    if by_id.is_empty() { by_name(field) } else { by_id }
                });
                ("security".to_owned(), columns.collect())
            }
            PartitionKey::Column(wanted) => {
                let mut columns = found(&|name, _| name == wanted);
                if columns.is_empty() {
                    columns = found(&|name, id| last(name) == *wanted || id == Some(wanted));
                }
                let name = columns.first().map_or(wanted, |at| fields[*at].name());
                (last(name), vec![columns])
            }
        };
        for candidates in &columns {
            if let [first, second, ..] = candidates[..] {
                return Err(UnfitKey(format!(
                    "{name} is the key of a partition and could be {} or {}: name the column by its path",
                    fields[first].name(),
                    fields[second].name()
                )));
            }
        }
        let columns: Vec<usize> = columns.into_iter().flatten().collect();
        if let Some(at) = columns.iter().find(|at| !names_directories(fields[**at].data_type())) {
            return Err(UnfitKey(format!(
                "{} cannot be the key of a partition: its values are {}, and those of a key are integers, texts, flags \
                 or dates",
                fields[*at].name(),
                fields[*at].data_type()
            )));
        }
        Ok(Self { name, columns, is_date: false })
    }

    /// Returns each row's value as an index, and the distinct values as text. A row's value is that of the
    /// first column that is not null.
    fn values(&self, batch: &RecordBatch) -> Result<(Vec<u32>, Vec<Option<String>>), ArrowError> {
        let columns = self.columns.iter().map(|at| batch.column(*at));
        let columns = columns.filter(|column| column.null_count() < column.len());
        let columns = columns.map(|column| values_of(column.as_ref(), self.is_date));
        let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
        if columns.len() < 2 {
            return Ok(columns.pop().unwrap_or_else(|| (vec![0; batch.num_rows()], vec![None])));
        }
        let mut known = Codes::default();
        let rows = (0..batch.num_rows()).map(|row| {
            let values =
                columns.iter().map(|(codes, values)| values[codes[row] as usize].as_deref());
            known.code(values.flatten().next())
        });
        let rows = rows.collect();
        let texts = known.known.iter().map(|text| text.map(str::to_owned)).collect();
        Ok((rows, texts))
    }
}

fn names_directories(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => **values == DataType::Utf8,
        DataType::Utf8 | DataType::Boolean | DataType::Date32 => true,
        other => other.is_integer(),
    }
}

fn date(days: i32) -> String {
    date32_to_datetime(days).map_or_else(|| days.to_string(), |time| time.date().to_string())
}

fn values_of(
    column: &dyn Array,
    is_date: bool,
) -> Result<(Vec<u32>, Vec<Option<String>>), ArrowError> {
    if let (true, DataType::Timestamp(unit, _)) = (is_date, column.data_type()) {
        return Ok(match unit {
            TimeUnit::Second => dates::<TimestampSecondType>(column, 1),
            TimeUnit::Millisecond => dates::<TimestampMillisecondType>(column, 1_000),
            TimeUnit::Microsecond => dates::<TimestampMicrosecondType>(column, 1_000_000),
            TimeUnit::Nanosecond => dates::<TimestampNanosecondType>(column, 1_000_000_000),
        });
    }
    if let Some(dictionary) = column.as_any_dictionary_opt() {
        let (codes, values) = values_of(dictionary.values().as_ref(), false)?;
        let keys = dictionary.normalized_keys();
        let mut known = Codes::default();
        let rows = keys.into_iter().enumerate().map(|(row, key)| {
            let code = codes.get(key).filter(|_| column.is_valid(row)).copied();
            known.code(code)
        });
        let rows = rows.collect();
        let texts = known.known.iter().map(|code| values[(*code)? as usize].clone());
        return Ok((rows, texts.collect()));
    }
    Ok(match column.data_type() {
        DataType::UInt8 => integers::<UInt8Type>(column),
        DataType::UInt16 => integers::<UInt16Type>(column),
        DataType::UInt32 => integers::<UInt32Type>(column),
        DataType::UInt64 => integers::<UInt64Type>(column),
        DataType::Int8 => integers::<Int8Type>(column),
        DataType::Int16 => integers::<Int16Type>(column),
        DataType::Int32 => integers::<Int32Type>(column),
        DataType::Int64 => integers::<Int64Type>(column),
        DataType::Date32 => coded(column.as_primitive::<Date32Type>().iter(), date),
        DataType::Boolean => coded(column.as_boolean().iter(), |flag| flag.to_string()),
        DataType::Utf8 => coded(column.as_string::<i32>().iter(), str::to_owned),
        other => {
            let text = format!("rows cannot be partitioned by values of type {other}");
            return Err(ArrowError::InvalidArgumentError(text));
        }
    })
}

/// Numbers the dates of timestamps, of which a second has `per_second` units.
fn dates<T: ArrowPrimitiveType<Native = i64>>(
    column: &dyn Array,
    per_second: i64,
) -> (Vec<u32>, Vec<Option<String>>) {
    let day = |time: i64| i32::try_from(time.div_euclid(SECONDS_PER_DAY * per_second)).ok();
    coded(column.as_primitive::<T>().iter().map(|time| time.and_then(day)), date)
}

fn integers<T: ArrowPrimitiveType>(column: &dyn Array) -> (Vec<u32>, Vec<Option<String>>)
where
    T::Native: Hash + Eq + ToString,
{
    coded(column.as_primitive::<T>().iter(), |value| value.to_string())
}

/// Numbers distinct values from 0, and formats each once.
fn coded<T: Hash + Eq + Copy>(
    rows: impl Iterator<Item = Option<T>>,
    text: impl Fn(T) -> String,
) -> (Vec<u32>, Vec<Option<String>>) {
    let mut known = Codes::default();
    let rows = rows.map(|value| known.code(value)).collect();
    let texts = known.known.iter().map(|value| value.map(&text)).collect();
    (rows, texts)
}

/// Numbers of distinct values, in order of first appearance.
struct Codes<T> {
    known: Vec<T>,
    code_of: HashMap<T, u32>,
    /// The previous value: most rows repeat it.
    last: Option<(T, u32)>,
}

impl<T> Default for Codes<T> {
    fn default() -> Self {
        Self { known: Vec::new(), code_of: HashMap::new(), last: None }
    }
}

impl<T: Hash + Eq + Copy> Codes<T> {
    fn code(&mut self, value: T) -> u32 {
        if let Some((last, code)) = self.last
            && last == value
        {
            return code;
        }
        let known = &mut self.known;
        let code = *self.code_of.entry(value).or_insert_with(|| {
            known.push(value);
            (known.len() - 1) as u32
        });
        self.last = Some((value, code));
        code
    }
}

/// Returns the name of a directory. Characters with a meaning in paths are written as `%` and two hex digits.
fn directory(key: &str, value: Option<&str>) -> Result<String, ArrowError> {
    let mut name = format!("{}=", escaped(key));
    match value {
        None => name.push_str(NONE),
        // Escapes a value that equals the name for "no value".
        Some(NONE) => name.push_str(&NONE.replacen('_', "%5F", 1)),
        Some(value) => name.push_str(&escaped(value)),
    }
    if name.len() > NAME_BYTES_MAX {
        let text = format!("the value {name:?} is too long for a directory name");
        return Err(ArrowError::InvalidArgumentError(text));
    }
    Ok(name)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'+' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        ArrayRef, DictionaryArray, StringArray, TimestampMicrosecondArray,
        TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
    };
    use arrow_schema::Field;
    use std::sync::Arc;

    const NANOS_PER_DAY: i64 = SECONDS_PER_DAY * 1_000_000_000;

    fn batch() -> RecordBatch {
        let day = NANOS_PER_DAY;
        let times = vec![Some(day - 1), Some(day), None, Some(day), Some(-1)];
        let words: DictionaryArray<Int8Type> =
            [Some("a/b"), Some("x"), None, Some("a/b"), Some("x")].into_iter().collect();
        let utc = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let fields = vec![
            Field::new("time", utc, true),
            Field::new("Entries/SecurityID", DataType::UInt32, true),
            Field::new("Entries/Word", words.data_type().clone(), true),
            Field::new("Other/Word", DataType::Utf8, true),
        ];
        RecordBatch::try_new(
            Arc::new(Schema::new(fields)),
            vec![
                Arc::new(TimestampNanosecondArray::from(times).with_timezone("UTC")),
                Arc::new(UInt32Array::from(vec![Some(7), Some(8), Some(7), None, Some(7)])),
                Arc::new(words),
                Arc::new(StringArray::from(vec!["a"; 5])),
            ],
        )
        .unwrap()
    }

    fn split(keys: &[&str]) -> Vec<(String, Vec<Option<u32>>)> {
        let keys: Vec<_> = keys.iter().map(|key| PartitionKey::named(key)).collect();
        let batch = batch();
        let parts = Partitioning::new(batch.schema_ref(), &keys).unwrap().split(&batch).unwrap();
        let ids = |rows: RecordBatch| rows.column(1).as_primitive::<UInt32Type>().iter().collect();
        parts.map(Result::unwrap).map(|(name, rows)| (name, ids(rows))).collect()
    }

    #[test]
    fn every_row_is_in_the_partition_of_its_values() {
        let found = split(&["date", "security"]);
        let expected = [
            ("date=1970-01-01/security=7", vec![Some(7)]),
            ("date=1970-01-02/security=8", vec![Some(8)]),
            ("date=__HIVE_DEFAULT_PARTITION__/security=7", vec![Some(7)]),
            ("date=1970-01-02/security=__HIVE_DEFAULT_PARTITION__", vec![None]),
            ("date=1969-12-31/security=7", vec![Some(7)]),
        ];
        assert_eq!(found, expected.map(|(name, ids)| (name.to_owned(), ids)));
    }

    #[test]
    fn dates_are_those_of_timestamps_of_every_unit() {
        let day = SECONDS_PER_DAY;
        let columns: [ArrayRef; 4] = [
            Arc::new(TimestampSecondArray::from(vec![day - 1, day])),
            Arc::new(TimestampMillisecondArray::from(vec![day * 1_000 - 1, day * 1_000])),
            Arc::new(TimestampMicrosecondArray::from(vec![day * 1_000_000 - 1, day * 1_000_000])),
            Arc::new(TimestampNanosecondArray::from(vec![NANOS_PER_DAY - 1, NANOS_PER_DAY])),
        ];
        for column in columns {
            let field = Field::new("SendingTime", column.data_type().clone(), true);
            let schema = Arc::new(Schema::new(vec![field]));
            let batch = RecordBatch::try_new(schema.clone(), vec![column]).unwrap();
            let partitioning = Partitioning::new(&schema, &[PartitionKey::Date]).unwrap();
            let parts = partitioning.split(&batch).unwrap();
            let names: Vec<String> = parts.map(|part| part.unwrap().0).collect();
            assert_eq!(names, ["date=1970-01-01", "date=1970-01-02"], "{schema}");
        }
    }

    #[test]
    fn words_name_directories_and_never_leave_them() {
        let found = split(&["Entries/Word"]);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Word=a%2Fb", "Word=x", "Word=__HIVE_DEFAULT_PARTITION__"]);
        assert_eq!(found[0].1, [Some(7), None]);
        assert_eq!(escaped(".."), "..", "harmless behind KEY=");
    }

    #[test]
    fn a_text_is_never_taken_for_no_value() {
        assert_eq!(directory("k", None).unwrap(), "k=__HIVE_DEFAULT_PARTITION__");
        assert_eq!(directory("k", Some(NONE)).unwrap(), "k=%5F_HIVE_DEFAULT_PARTITION__");
        assert_eq!(directory("k", Some("")).unwrap(), "k=");
    }

    #[test]
    fn keys_that_do_not_fit_are_refused() {
        let refused = |keys: &[&str]| {
            let keys: Vec<_> = keys.iter().map(|key| PartitionKey::named(key)).collect();
            Partitioning::new(batch().schema_ref(), &keys).unwrap_err().to_string()
        };
        assert!(refused(&["Word"]).contains("Entries/Word or Other/Word"));
        assert!(refused(&["time"]).contains("Timestamp"));
        assert!(refused(&["security", "security"]).contains("two partition keys"));
        let missing = [PartitionKey::named("Nothing")];
        assert!(!Partitioning::new(batch().schema_ref(), &missing).unwrap().has(0));
    }
}
