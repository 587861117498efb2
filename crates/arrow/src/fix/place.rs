//! Origin of a message: line of a log or packet of a capture.

use super::values::NullArrays;
use crate::header::AddressColumn;
use arrow_array::builder::{ArrayBuilder, PrimitiveBuilder};
use arrow_array::types::{ArrowPrimitiveType, TimestampNanosecondType, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, Field, TimeUnit};
use std::net::SocketAddr;
use std::sync::Arc;

/// Position of a message in its log or capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPlace {
    /// Line of a text log, from 1.
    pub line: Option<u64>,
    /// Offset in a text log, bytes.
    pub offset: Option<u64>,
    /// Record of a capture, from 0, in which the message ends.
    pub packet: Option<u64>,
    /// Capture time of that record, nanoseconds since 1970-01-01 UTC.
    pub time_ns: Option<u64>,
    /// Sender of that record.
    pub source: Option<SocketAddr>,
    /// Receiver of that record.
    pub destination: Option<SocketAddr>,
}

/// Columns of [`LogPlace`].
pub struct LogPlaceColumns {
    lines: PlaceNumbers<UInt64Type>,
    offsets: PlaceNumbers<UInt64Type>,
    packets: PlaceNumbers<UInt64Type>,
    times: PlaceNumbers<TimestampNanosecondType>,
    sources: AddressColumn,
    destinations: AddressColumn,
}

/// A column of numbers. Nulls are only counted until a number follows: a file has lines and offsets, or packets and
/// times, so that two of the four columns have no values.
struct PlaceNumbers<T: ArrowPrimitiveType> {
    values: PrimitiveBuilder<T>,
    /// Nulls after the values.
    nulls: usize,
}

impl<T: ArrowPrimitiveType> Default for PlaceNumbers<T> {
    fn default() -> Self {
        Self { values: PrimitiveBuilder::with_capacity(0), nulls: 0 }
    }
}

impl<T: ArrowPrimitiveType> PlaceNumbers<T> {
    fn push(&mut self, number: Option<T::Native>) {
        let Some(number) = number else { return self.nulls += 1 };
        self.pad();
        self.values.append_value(number);
    }

    fn pad(&mut self) {
        let nulls = std::mem::take(&mut self.nulls);
        if nulls > 0 {
            self.values.append_nulls(nulls);
        }
    }

    /// Returns the values of all rows and empties the column; `None` if all are null.
    fn finish(&mut self) -> Option<PrimitiveArray<T>> {
        if self.values.is_empty() {
            self.nulls = 0;
            return None;
        }
        self.pad();
        Some(self.values.finish())
    }
}

impl Default for LogPlaceColumns {
    fn default() -> Self {
        Self {
            lines: PlaceNumbers::default(),
            offsets: PlaceNumbers::default(),
            packets: PlaceNumbers::default(),
            times: PlaceNumbers::default(),
            sources: AddressColumn::new(),
            destinations: AddressColumn::new(),
        }
    }
}

impl LogPlaceColumns {
    pub fn fields() -> Vec<Field> {
        vec![
            Field::new("line", DataType::UInt64, true),
            Field::new("off", DataType::UInt64, true),
            Field::new("pkt", DataType::UInt64, true),
            Field::new("time", time_type(), true),
            Field::new("source", DataType::Utf8, true),
            Field::new("destination", DataType::Utf8, true),
        ]
    }

    pub fn push(&mut self, place: &LogPlace) {
        self.lines.push(place.line);
        self.offsets.push(place.offset);
        self.packets.push(place.packet);
        self.times.push(place.time_ns.and_then(|time| i64::try_from(time).ok()));
        self.sources.append(place.source, 1);
        self.destinations.append(place.destination, 1);
    }

    /// Returns the columns of `rows` rows and empties them.
    pub fn finish(&mut self, rows: usize, nulls: &mut NullArrays) -> Vec<ArrayRef> {
        let mut columns = Vec::new();
        for numbers in [&mut self.lines, &mut self.offsets, &mut self.packets] {
            columns.push(match numbers.finish() {
                Some(numbers) => Arc::new(numbers) as ArrayRef,
                None => nulls.take(&DataType::UInt64, rows),
            });
        }
        columns.push(match self.times.finish() {
            Some(times) => Arc::new(times.with_timezone("UTC")),
            None => nulls.take(&time_type(), rows),
        });
        columns.extend([self.sources.take(), self.destinations.take()]);
        columns
    }
}

fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}
