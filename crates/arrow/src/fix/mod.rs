//! FIX messages as Arrow columns: one table per message type, one row per message, repeating groups as lists
//! of structs.

mod block;
mod other;
mod place;
mod rows;
mod values;

pub use place::LogPlace;

use crate::table::Decimals;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use block::MessageBlock;
use other::Other;
use place::LogPlaceColumns;
use rows::FixColumns;
use std::fmt;
use std::sync::Arc;
use tickwire_fix::{Dictionary, FixMessage, Tag};
use values::NullArrays;

/// Selects the columns of a message type.
#[derive(Clone, Copy)]
pub struct MessageTable<'d> {
    /// Dictionary of header, trailer and session messages.
    pub session: &'d Dictionary,
    /// Dictionary of application messages.
    pub application: &'d Dictionary,
    /// Value of MsgType (35).
    pub msg_type: &'d [u8],
    /// How decimals become columns. FIX does not fix the exponent, so exact columns have 18 decimal places.
    pub decimals: Decimals,
    /// Selects the fields that become columns, members of groups included.
    pub wanted: &'d dyn Fn(Tag) -> bool,
}

/// The dictionary does not have the message type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMsgType(pub String);

impl fmt::Display for UnknownMsgType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the dictionary has no message with MsgType {}", self.0)
    }
}

impl std::error::Error for UnknownMsgType {}

/// Makes record batches of the messages of one type.
///
/// | type of the field | column |
/// |---|---|
/// | Int, Length, NumInGroup, SeqNum, TagNum, DayOfMonth | Int64 |
/// | Amt, Float, Percentage, Price, PriceOffset, Qty | Decimal128 with 38 digits, 18 of them after the point, for numbers of up to 35 digits; Float64 on request |
/// | Boolean | Boolean |
/// | UTCTimestamp | Timestamp in nanoseconds, UTC |
/// | UTCDateOnly, LocalMktDate | Date32 |
/// | UTCTimeOnly | Time64 in nanoseconds |
/// | Data, XMLData | Binary |
/// | count of a repeating group | List of Struct, an entry each; Int64 if no field of its entries is wanted |
/// | others | Utf8 |
///
/// Columns have the names of the fields, in the order of the dictionary: header, body, trailer. The first
/// columns are `line` and `off` for text logs, `pkt`, `time`, `source` and `destination` for captures. The last column, `other`, lists
/// the tags and values that have no column: fields that the dictionary does not define there, repeated
/// fields, values that their column cannot hold (it is null then), and counts that differ from the number of
/// entries.
pub struct FixBatchBuilder {
    schema: SchemaRef,
    places: LogPlaceColumns,
    rows: FixColumns,
    block: MessageBlock,
    other: Other,
    nulls: NullArrays,
    bytes: usize,
}

impl FixBatchBuilder {
    /// Creates an empty table.
    ///
    /// # Errors
    /// The dictionaries do not have the message type.
    pub fn new(table: &MessageTable<'_>) -> Result<Self, UnknownMsgType> {
        let MessageTable { session, application, msg_type, .. } = *table;
        let found = [session, application]
            .into_iter()
            .find_map(|dictionary| Some((dictionary, dictionary.message(msg_type)?)));
        let unknown = || UnknownMsgType(String::from_utf8_lossy(msg_type).into_owned());
        let (dictionary, message) = found.ok_or_else(unknown)?;
        let mut rows = FixColumns::default();
        rows.add(session, session.header(), table);
        rows.add(dictionary, message.members(), table);
        rows.add(session, session.trailer(), table);
        let mut fields = LogPlaceColumns::fields();
        fields.extend(rows.fields());
        fields.push(Other::field());
        let metadata = [("tickwire.msg_type".to_owned(), message.msg_type().to_owned())];
        let schema = Schema::new(fields).with_metadata(metadata);
        let (block, other) = (MessageBlock::default(), Other::default());
        let (places, nulls) = (LogPlaceColumns::default(), NullArrays::default());
        Ok(Self { schema: Arc::new(schema), places, rows, block, other, nulls, bytes: 0 })
    }

    /// Returns names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows of the next batch so far.
    pub fn rows(&self) -> usize {
        self.rows.len
    }

    /// Returns the size in bytes of the messages in the batch. Arrow's offsets do not reach beyond 2 GiB:
    /// take the batch before.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends a message of the type.
    pub fn push(&mut self, place: &LogPlace, message: &FixMessage<'_, '_>) {
        self.bytes += message.bytes().len();
        self.places.push(place);
        self.rows.push(message, &mut self.block);
        if self.block.is_full() {
            self.append_block();
        }
    }

    /// Appends the values of the block to their columns.
    fn append_block(&mut self) {
        self.block.close();
        self.rows.append_block(&mut self.block);
        self.block.finish(&mut self.other);
    }

    /// Returns the rows since the last batch.
    ///
    /// # Errors
    /// Errors of Arrow: the batch is too large for 32-bit offsets.
    pub fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        self.bytes = 0;
        self.append_block();
        let mut columns: Vec<ArrayRef> = self.places.finish(self.rows.len, &mut self.nulls);
        columns.extend(self.rows.finish(&mut self.nulls)?);
        columns.push(self.other.finish()?);
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}
