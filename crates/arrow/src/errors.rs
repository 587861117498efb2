//! Table of data that could not be decoded.

use std::net::SocketAddr;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::{StringBuilder, TimestampNanosecondBuilder, UInt64Builder};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

/// Data that could not be decoded, or that no table can hold.
#[derive(Clone, Debug, Default)]
pub struct LostData {
    /// Index of the packet.
    pub packet: Option<u64>,
    /// Offset of the packet in its file.
    pub file_offset: Option<u64>,
    /// Capture time, nanoseconds since 1970-01-01 UTC.
    pub time_ns: Option<u64>,
    /// Destination address of the packet.
    pub destination: Option<SocketAddr>,
    /// The error as text.
    pub error: String,
}

/// Builds record batches of errors: columns `pkt`, `file_offset`, `time`, `destination` and `error`.
pub struct ErrorsBuilder {
    schema: SchemaRef,
    packets: UInt64Builder,
    file_offsets: UInt64Builder,
    times: TimestampNanosecondBuilder,
    destinations: StringBuilder,
    errors: StringBuilder,
    rows: usize,
}

impl Default for ErrorsBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ErrorsBuilder {
    /// Creates an empty table.
    pub fn new() -> Self {
        let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let fields = vec![
            Field::new("pkt", DataType::UInt64, true),
            Field::new("file_offset", DataType::UInt64, true),
            Field::new("time", time, true),
            Field::new("destination", DataType::Utf8, true),
            Field::new("error", DataType::Utf8, false),
        ];
        Self {
            schema: Arc::new(Schema::new(fields)),
            packets: UInt64Builder::new(),
            file_offsets: UInt64Builder::new(),
            times: TimestampNanosecondBuilder::new().with_timezone("UTC"),
            destinations: StringBuilder::new(),
            errors: StringBuilder::new(),
            rows: 0,
        }
    }

    /// Returns names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows of the next batch so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends a row.
    pub fn push(&mut self, lost: &LostData) {
        self.packets.append_option(lost.packet);
        self.file_offsets.append_option(lost.file_offset);
        self.times.append_option(lost.time_ns.and_then(|time| i64::try_from(time).ok()));
        let destination = lost.destination.map(|destination| destination.to_string());
        self.destinations.append_option(destination);
        self.errors.append_value(&lost.error);
        self.rows += 1;
    }

    /// Returns the rows since the last batch.
    ///
    /// # Errors
    /// Errors of Arrow; not expected for this table.
    pub fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        RecordBatch::try_new(
            self.schema.clone(),
            vec![
                Arc::new(self.packets.finish()),
                Arc::new(self.file_offsets.finish()),
                Arc::new(self.times.finish()),
                Arc::new(self.destinations.finish()),
                Arc::new(self.errors.finish()),
            ],
        )
    }
}
