//! Columns that tell where a message came from.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use arrow_array::types::{TimestampNanosecondType, UInt64Type};
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, Field, TimeUnit};
use tickwire_text::Header;

use crate::column::Values;

/// Time zone of capture times.
const UTC: &str = "UTC";

/// The fields of the schema that these columns are.
pub(crate) fn fields() -> Vec<Field> {
    let time = DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into()));
    [
        ("pkt", DataType::UInt64),
        ("off", DataType::UInt64),
        ("time", time),
        ("source", DataType::Utf8),
        ("destination", DataType::Utf8),
        ("line", DataType::Utf8),
    ]
    .into_iter()
    .map(|(name, data_type)| Field::new(name, data_type, true))
    .collect()
}

/// A column of few texts.
struct Texts {
    /// Index of the text in `known` of each row.
    rows: Vec<Option<u32>>,
    known: Vec<String>,
    index_of: HashMap<String, u32>,
}

impl Texts {
    fn new() -> Self {
        Self { rows: Vec::new(), known: Vec::new(), index_of: HashMap::new() }
    }

    fn append(&mut self, index: Option<u32>, count: usize) {
        self.rows.resize(self.rows.len() + count, index);
    }

    fn index(&mut self, text: &str) -> u32 {
        if let Some(index) = self.index_of.get(text) {
            return *index;
        }
        let index = self.known.len() as u32;
        self.known.push(text.to_owned());
        self.index_of.insert(text.to_owned(), index);
        index
    }

    fn take(&mut self) -> ArrayRef {
        let known = std::mem::take(&mut self.known);
        self.index_of.clear();
        let rows = self.rows.drain(..);
        let texts = rows.map(|row| row.and_then(|row| known.get(row as usize)));
        Arc::new(StringArray::from_iter(texts))
    }
}

/// Addresses, written out once each.
struct Addresses {
    texts: Texts,
    /// The address of the row before, and its index.
    last: Option<(SocketAddr, u32)>,
}

impl Addresses {
    fn append(&mut self, address: Option<SocketAddr>, count: usize) {
        let index = address.map(|address| match self.last {
            Some((last, index)) if last == address => index,
            _ => {
                let index = self.texts.index(&address.to_string());
                self.last = Some((address, index));
                index
            }
        });
        self.texts.append(index, count);
    }

    fn take(&mut self) -> ArrayRef {
        self.last = None;
        self.texts.take()
    }
}

/// The columns in the making.
pub(crate) struct HeaderColumns {
    packets: Values<UInt64Type>,
    offsets: Values<UInt64Type>,
    times: Values<TimestampNanosecondType>,
    sources: Addresses,
    destinations: Addresses,
    lines: Texts,
}

impl HeaderColumns {
    pub(crate) fn new() -> Self {
        let addresses = || Addresses { texts: Texts::new(), last: None };
        Self {
            packets: Values::new(),
            offsets: Values::new(),
            times: Values::new(),
            sources: addresses(),
            destinations: addresses(),
            lines: Texts::new(),
        }
    }

    pub(crate) fn append(&mut self, header: &Header<'_>, count: usize) {
        self.packets.append(header.packet, count);
        self.offsets.append(header.offset, count);
        // Beyond the year 2262 Arrow has no nanoseconds; captures have no such times.
        self.times.append(header.time_ns.and_then(|time| i64::try_from(time).ok()), count);
        self.sources.append(header.source, count);
        self.destinations.append(header.destination, count);
        let line = header.line.map(|line| self.lines.index(line));
        self.lines.append(line, count);
    }

    pub(crate) fn take(&mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.packets.take()),
            Arc::new(self.offsets.take()),
            Arc::new(self.times.take().with_timezone(UTC)),
            self.sources.take(),
            self.destinations.take(),
            self.lines.take(),
        ]
    }
}
