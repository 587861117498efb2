//! OPRA tables: one table per message category, one row per message (underlying values: one row per entry).
//!
//! | field of OPRA | column |
//! |---|---|
//! | codes of one character | Utf8 |
//! | numbers | UInt32, the sequence number UInt64 |
//! | symbols, texts | Utf8 |
//! | `time` | `time_code`, as received: HHMMSSmmm, in 1.03 HHMMSS; and `message_time`, Time32 in milliseconds since midnight, null if the digits are not a valid time |
//! | prices with a denominator code | Decimal128(18, 8), exact whatever the code; or Float64 |
//! | prices of categories without one | UInt32 |
//!
//! Columns are named like the fields in `tickwire opra decode`. A table has the columns of both protocol
//! versions.

use std::sync::Arc;

use arrow_array::builder::{
    Decimal128Builder, Float64Builder, StringBuilder, Time32MillisecondBuilder, UInt32Builder,
    UInt64Builder,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field as Column, Schema, SchemaRef, TimeUnit};
use tickwire_opra::{
    BEST_BID, BEST_OFFER, Category, Chars, Field, OpraEntry, OpraFieldKind, OpraMessage,
    OpraVersion, group_of,
};
use tickwire_text::Header;

use crate::builder::ColumnValueError;
use crate::header::{self, HeaderColumns, PacketNumbers};
use crate::table::Decimals;

/// Decimal places of price columns: the most that a denominator code has.
const PRICE_SCALE: u32 = 8;
/// Digits of price columns: those of a 32-bit integer, and the decimal places.
const PRICE_PRECISION: u8 = 18;
/// Column of the entry's index in its group, from 0.
const ENTRY: &str = "entry";
/// Column of the message's own time as digits; `time` is the capture time.
const TIME_CODE: &str = "time_code";
/// Column of the message's own time, converted.
const MESSAGE_TIME: &str = "message_time";

const NO_CHARACTER: &str = "the code is no character";
const NO_DENOMINATOR: &str = "the denominator code is not a letter from A to I";

/// Every category with the name of its table.
pub const CATEGORIES: [(Category, &str); 11] = [
    (Category::Quote, "quote"),
    (Category::LastSale, "last_sale"),
    (Category::OpenInterest, "open_interest"),
    (Category::EndOfDay, "end_of_day"),
    (Category::Underlying, "underlying_value"),
    (Category::FcoQuote, "fco_quote"),
    (Category::FcoLastSale, "fco_last_sale"),
    (Category::FcoEndOfDay, "fco_end_of_day"),
    (Category::Administrative, "administrative"),
    (Category::Control, "control"),
    (Category::Default, "default"),
];

/// Returns the name of a category's table.
pub fn table_name(category: Category) -> &'static str {
    let known = CATEGORIES.iter().find(|(known, _)| *known == category);
    known.map_or("default", |(_, name)| name)
}

/// Returns all columns of a category, in wire order.
pub fn columns_of(category: Category) -> Vec<&'static str> {
    sources(category).into_iter().map(OpraColumnSource::name).collect()
}

/// Builds record batches from the messages of one category.
pub struct CategoryBuilder {
    category: Category,
    schema: SchemaRef,
    header: HeaderColumns,
    cells: Vec<(OpraColumnSource, OpraColumnBuilder)>,
    rows: usize,
}

/// Source of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpraColumnSource {
    /// A field of the message.
    Field(Field),
    /// The field `time`, converted to a time of day.
    TimeOfDay,
    /// A field of the group's entries.
    Member(Field),
    /// The index of the entry in its group.
    Entry,
}

enum OpraColumnBuilder {
    Code(StringBuilder),
    Chars(StringBuilder),
    Text(StringBuilder),
    Number(UInt32Builder),
    SeqNum(UInt64Builder),
    Time(Time32MillisecondBuilder),
    Price(Decimal128Builder),
    PriceFloat(Float64Builder),
}

impl CategoryBuilder {
    /// Creates an empty table. `wanted` selects columns by name; header columns are always included.
    pub fn new(
        category: Category,
        decimals: Decimals,
        wanted: impl Fn(&str) -> bool,
        metadata: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let wanted = |source: &OpraColumnSource| wanted(source.name());
        let cells = sources(category).into_iter().filter(wanted).map(|source| {
            let cell = OpraColumnBuilder::of(category, source, decimals);
            (source, cell)
        });
        let cells: Vec<_> = cells.collect();
        let mut fields = header::fields(PacketNumbers::None);
        fields.extend(
            cells.iter().map(|(source, cell)| Column::new(source.name(), cell.data_type(), true)),
        );
        let mut metadata: std::collections::HashMap<_, _> = metadata.into_iter().collect();
        metadata.insert("tickwire.category".to_owned(), table_name(category).to_owned());
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Self { category, schema, header: HeaderColumns::new(PacketNumbers::None), cells, rows: 0 }
    }

    /// Returns names, types and metadata of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows of the next batch so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the rows of a message and returns their number.
    ///
    /// # Errors
    /// [`ColumnValueError`] for a code that is not a character, or an undefined denominator code; no row of the message
    /// is in the table then.
    ///
    /// # Panics
    /// If the message has another category.
    pub fn push(
        &mut self,
        header: &Header<'_>,
        message: &OpraMessage<'_>,
    ) -> Result<usize, ColumnValueError> {
        assert_eq!(message.category(), self.category, "the message is of another category");
        for (source, cell) in &self.cells {
            cell.check(*source, message)
                .map_err(|why| ColumnValueError { column: source.name().to_owned(), why })?;
        }
        let entries = message.entries();
        let rows = entries.len().max(1);
        for row in 0..rows {
            let entry = entries.get(row);
            for (source, cell) in &mut self.cells {
                cell.append(*source, message, entry.map(|entry| (row, entry)));
            }
        }
        self.header.append(header, rows);
        self.rows += rows;
        Ok(rows)
    }

    /// Returns the rows since the last batch.
    ///
    /// # Errors
    /// Errors of Arrow; not expected for tables of this crate.
    pub fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut arrays = self.header.take();
        arrays.extend(self.cells.iter_mut().map(|(_, cell)| cell.finish()));
        self.rows = 0;
        RecordBatch::try_new(self.schema.clone(), arrays)
    }
}

/// Returns the sources of a category's columns: fields of version 2.0, fields of 1.03 only, then the group's.
fn sources(category: Category) -> Vec<OpraColumnSource> {
    let mut fields = category.fields(OpraVersion::V2).to_vec();
    if category == Category::Quote {
        fields.extend(BEST_BID.iter().chain(&BEST_OFFER));
    }
    let reserved = category.fields(OpraVersion::V1).iter();
    fields.extend(reserved.filter(|field| !category.fields(OpraVersion::V2).contains(field)));
    if category == Category::Quote {
        // Ends each appendage of a 1.03 message.
        fields.push(Field::Reserved2);
    }
    let mut sources: Vec<OpraColumnSource> =
        fields.into_iter().map(OpraColumnSource::Field).collect();
    if let Some(time) =
        sources.iter().position(|source| *source == OpraColumnSource::Field(Field::Time))
    {
        sources.insert(time + 1, OpraColumnSource::TimeOfDay);
    }
    if category == Category::Underlying {
        sources.extend([Field::IndexCount, Field::SpotCount].map(OpraColumnSource::Field));
        sources.push(OpraColumnSource::Entry);
        let members = [OpraVersion::V2, OpraVersion::V1].into_iter().flat_map(|version| {
            let groups = b" IF".iter().filter_map(move |code| group_of(version, (*code).into()));
            groups.flat_map(|group| group.fields).map(|field| OpraColumnSource::Member(*field))
        });
        for member in members {
            if !sources.contains(&member) {
                sources.push(member);
            }
        }
    }
    sources
}

impl OpraColumnSource {
    const fn name(self) -> &'static str {
        match self {
            Self::Field(Field::Time) => TIME_CODE,
            Self::TimeOfDay => MESSAGE_TIME,
            Self::Field(field) | Self::Member(field) => field.name(),
            Self::Entry => ENTRY,
        }
    }
}

/// Converts HHMMSSmmm (1.03: HHMMSS) to milliseconds since midnight; `None` if the digits are not a time.
fn time_of_day(version: OpraVersion, time: u32) -> Option<i32> {
    let (seconds, millis) = match version {
        OpraVersion::V2 => (time / 1_000, time % 1_000),
        OpraVersion::V1 => (time, 0),
    };
    let (hour, minute, second) = (seconds / 10_000, seconds / 100 % 100, seconds % 100);
    let is_time = hour < 24 && minute < 60 && second < 60;
    let of_day = || ((hour * 60 + minute) * 60 + second) * 1_000 + millis;
    is_time.then(of_day).and_then(|time| i32::try_from(time).ok())
}

/// Returns the digits of a price and its decimal places; `None` if the message lacks the field.
fn price(message: &OpraMessage<'_>, field: Field) -> Option<Result<(u32, u32), &'static str>> {
    // An absent price is null, whatever the denominator code.
    let value = message.number(field)?;
    if value == 0 {
        return Some(Ok((0, 0)));
    }
    let decimal = message.price(field).and_then(tickwire_opra::Price::decimal);
    let places = decimal.map(|decimal| (decimal.digits, decimal.places));
    Some(places.filter(|(_, places)| *places <= PRICE_SCALE).ok_or(NO_DENOMINATOR))
}

impl OpraColumnBuilder {
    fn of(category: Category, source: OpraColumnSource, decimals: Decimals) -> Self {
        let field = match source {
            OpraColumnSource::Field(field) | OpraColumnSource::Member(field) => field,
            OpraColumnSource::Entry => return Self::Number(UInt32Builder::new()),
            OpraColumnSource::TimeOfDay => return Self::Time(Time32MillisecondBuilder::new()),
        };
        let has = |denominator: Field| {
            category.fields(OpraVersion::V2).contains(&denominator)
                || category == Category::Quote
                    && (BEST_BID.contains(&denominator) || BEST_OFFER.contains(&denominator))
        };
        let is_price = field.denominator().is_some_and(has);
        match (field.kind(OpraVersion::V2), decimals) {
            (_, Decimals::Float64) if is_price => Self::PriceFloat(Float64Builder::new()),
            (_, Decimals::Exact) if is_price => {
                let data_type = DataType::Decimal128(PRICE_PRECISION, PRICE_SCALE as i8);
                Self::Price(Decimal128Builder::new().with_data_type(data_type))
            }
            (OpraFieldKind::Character, _) => Self::Code(StringBuilder::new()),
            (OpraFieldKind::Number(_), _) => Self::Number(UInt32Builder::new()),
            (OpraFieldKind::SeqNum(_), _) => Self::SeqNum(UInt64Builder::new()),
            (OpraFieldKind::Chars(_), _) => Self::Chars(StringBuilder::new()),
            (OpraFieldKind::Text, _) => Self::Text(StringBuilder::new()),
        }
    }

    const fn data_type(&self) -> DataType {
        match self {
            Self::Code(_) | Self::Chars(_) | Self::Text(_) => DataType::Utf8,
            Self::Number(_) => DataType::UInt32,
            Self::SeqNum(_) => DataType::UInt64,
            Self::Time(_) => DataType::Time32(TimeUnit::Millisecond),
            Self::Price(_) => DataType::Decimal128(PRICE_PRECISION, PRICE_SCALE as i8),
            Self::PriceFloat(_) => DataType::Float64,
        }
    }

    /// Checks that the column can hold the message's value.
    fn check(
        &self,
        source: OpraColumnSource,
        message: &OpraMessage<'_>,
    ) -> Result<(), &'static str> {
        let OpraColumnSource::Field(field) = source else { return Ok(()) };
        let number = message.number(field);
        match self {
            Self::Code(_) if number.is_some_and(|code| char::from_u32(code).is_none()) => {
                Err(NO_CHARACTER)
            }
            Self::Price(_) | Self::PriceFloat(_) => {
                price(message, field).map_or(Ok(()), |price| price.map(drop))
            }
            _ => Ok(()),
        }
    }

    /// Appends one value: of an entry of the group, or of a message without a group.
    fn append(
        &mut self,
        source: OpraColumnSource,
        message: &OpraMessage<'_>,
        entry: Option<(usize, &OpraEntry)>,
    ) {
        match source {
            OpraColumnSource::Field(field) => self.append_field(field, message),
            OpraColumnSource::TimeOfDay => {
                if let Self::Time(times) = self {
                    let time = message.number(Field::Time);
                    times.append_option(time.and_then(|time| time_of_day(message.version(), time)));
                }
            }
            OpraColumnSource::Entry => {
                if let Self::Number(numbers) = self {
                    numbers.append_option(entry.map(|(index, _)| index as u32));
                }
            }
            OpraColumnSource::Member(field) => {
                let is_there = |group: tickwire_opra::OpraGroup| {
                    group.fields.contains(&field) && message.has(field)
                };
                let entry = entry.filter(|_| message.group().is_some_and(is_there));
                self.append_member(field, entry.map(|(_, entry)| entry));
            }
        }
    }

    fn append_field(&mut self, field: Field, message: &OpraMessage<'_>) {
        let number = || message.number(field);
        let digits = || price(message, field).and_then(Result::ok);
        match self {
            Self::Code(codes) => {
                let code = number().and_then(char::from_u32);
                codes.append_option(code.map(|code| code.encode_utf8(&mut [0; 4]).to_owned()));
            }
            Self::Chars(texts) => append_chars(texts, message.chars(field)),
            Self::Text(texts) => {
                let text = message.text().filter(|_| message.has(field));
                // Decoded texts are ASCII.
                texts.append_option(
                    text.map(|text| text.bytes().map(char::from).collect::<String>()),
                );
            }
            Self::Number(numbers) => numbers.append_option(number()),
            Self::SeqNum(numbers) => numbers.append_option(message.seq_num()),
            Self::Price(prices) => prices.append_option(digits().map(|(digits, places)| {
                i128::from(digits) * i128::from(10_u64.pow(PRICE_SCALE - places))
            })),
            // Both operands are exact, so the quotient is the nearest float.
            Self::PriceFloat(prices) => prices.append_option(
                digits().map(|(digits, places)| f64::from(digits) / 10_f64.powi(places as i32)),
            ),
            Self::Time(_) => unreachable!("a time of day is no field of its own"),
        }
    }

    fn append_member(&mut self, field: Field, entry: Option<&OpraEntry>) {
        match self {
            Self::Number(numbers) => numbers.append_option(entry.map(|entry| match field {
                Field::DecimalPlacement => entry.decimal_placement,
                _ => entry.spot,
            })),
            Self::Chars(texts) => append_chars(
                texts,
                entry.map(|entry| match field {
                    Field::Reserved1 => entry.reserved,
                    Field::IndexValue => entry.value,
                    Field::BidIndexValue => entry.bid,
                    Field::OfferIndexValue => entry.offer,
                    _ => entry.symbol,
                }),
            ),
            _ => unreachable!("entries have numbers and strings"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        fn array(array: impl Array + 'static) -> ArrayRef {
            Arc::new(array)
        }
        match self {
            Self::Code(texts) | Self::Chars(texts) | Self::Text(texts) => array(texts.finish()),
            Self::Number(numbers) => array(numbers.finish()),
            Self::SeqNum(numbers) => array(numbers.finish()),
            Self::Time(times) => array(times.finish()),
            Self::Price(prices) => array(prices.finish()),
            Self::PriceFloat(prices) => array(prices.finish()),
        }
    }
}

fn append_chars(texts: &mut StringBuilder, chars: Option<Chars>) {
    let text = chars.map(|chars| {
        let bytes = chars.bytes().into_iter().take(chars.len());
        bytes.map(char::from).collect::<String>()
    });
    texts.append_option(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_since_midnight() {
        assert_eq!(time_of_day(OpraVersion::V2, 93_015_123), Some(34_215_123));
        assert_eq!(time_of_day(OpraVersion::V1, 93_015), Some(34_215_000));
        assert_eq!(time_of_day(OpraVersion::V2, 235_959_999), Some(86_399_999));
        for time in [240_000_000, 96_000_000, 90_060_000, u32::MAX] {
            assert_eq!(time_of_day(OpraVersion::V2, time), None, "{time}");
        }
    }

    #[test]
    fn no_two_columns_of_a_category_have_one_name() {
        for (category, _) in CATEGORIES {
            let mut names = columns_of(category);
            names.extend(["pkt", "off", "time", "source", "destination"]);
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{category:?}: {names:?}");
        }
    }
}
