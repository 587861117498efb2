//! Header columns: where a message comes from.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use arrow_array::types::{ArrowPrimitiveType, TimestampNanosecondType, UInt64Type};
use arrow_schema::{DataType, Field, TimeUnit};
use tickwire_text::Header;

use crate::strings::MissingTexts;
use crate::values::{ColumnNumbers, RowSpread};

/// Time zone of capture times.
const UTC: &str = "UTC";

/// Column for the sequence number in a packet's preamble, if the table has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketNumbers {
    /// `seq_num`.
    Column,
    /// No column: messages have sequence numbers of their own.
    None,
}

/// Returns the schema fields of the header columns.
pub(crate) fn fields(numbers: PacketNumbers) -> Vec<Field> {
    let time = DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into()));
    let seq_num = (numbers == PacketNumbers::Column).then_some(("seq_num", DataType::UInt64));
    let first = [("pkt", DataType::UInt64), ("off", DataType::UInt64), ("time", time)];
    let last = ["source", "destination"].map(|name| (name, DataType::Utf8));
    let all = first.into_iter().chain(seq_num).chain(last);
    all.map(|(name, data_type)| Field::new(name, data_type, true)).collect()
}

/// A column of few distinct texts, kept as run lengths until the batch is taken.
struct Texts {
    /// Index of the text in `known`, and the number of rows of the run.
    runs: Vec<(Option<u32>, usize)>,
    rows: usize,
    known: Vec<String>,
    index_of: HashMap<String, u32>,
    missing: MissingTexts,
}

impl Texts {
    fn new() -> Self {
        let (known, index_of) = (Vec::new(), HashMap::new());
        Self { runs: Vec::new(), rows: 0, known, index_of, missing: MissingTexts::default() }
    }

    fn append(&mut self, index: Option<u32>, count: usize) {
        self.rows += count;
        match self.runs.last_mut() {
            Some((last, rows)) if *last == index => *rows += count,
            _ => self.runs.push((index, count)),
        }
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
        let rows = std::mem::take(&mut self.rows);
        let runs = std::mem::take(&mut self.runs);
        if let [] | [(None, _)] = &runs[..] {
            return self.missing.take(rows);
        }
        let text_of = |index: Option<u32>| index.and_then(|index| known.get(index as usize));
        let bytes =
            runs.iter().map(|(index, count)| text_of(*index).map_or(0, String::len) * count);
        let mut texts = StringBuilder::with_capacity(rows, bytes.sum());
        for (index, count) in runs {
            let text = text_of(index);
            (0..count).for_each(|_| texts.append_option(text));
        }
        Arc::new(texts.finish())
    }
}

/// A column of addresses; each distinct address is formatted once.
pub(crate) struct AddressColumn {
    texts: Texts,
    /// The previous row's address and its index.
    last: Option<(SocketAddr, u32)>,
}

impl AddressColumn {
    pub(crate) fn new() -> Self {
        Self { texts: Texts::new(), last: None }
    }

    /// Appends an address `count` times.
    pub(crate) fn append(&mut self, address: Option<SocketAddr>, count: usize) {
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

    /// Returns the addresses as texts and empties the column.
    pub(crate) fn take(&mut self) -> ArrayRef {
        self.last = None;
        self.texts.take()
    }
}

/// Messages whose headers are collected before they are appended to columns.
const WAITING_MAX: usize = 64;

/// Numbers of messages, each repeated for the message's rows.
struct RepeatedValues<A: ArrowPrimitiveType> {
    waiting: [A::Native; WAITING_MAX],
    presence: u64,
    values: ColumnNumbers<A>,
}

impl<A: ArrowPrimitiveType> RepeatedValues<A> {
    fn new() -> Self {
        let waiting = [A::Native::default(); WAITING_MAX];
        Self { waiting, presence: 0, values: ColumnNumbers::new() }
    }

    fn set(&mut self, message: usize, value: Option<A::Native>) {
        self.waiting[message] = value.unwrap_or_default();
        self.presence |= u64::from(value.is_some()) << message;
    }

    fn append(&mut self, spread: &RowSpread<'_>, count: usize, all: u64) {
        let waiting = self.waiting[..count].iter().copied();
        self.values.append_block(waiting, self.presence, all, spread);
        self.presence = 0;
    }
}

/// Header columns under construction.
pub(crate) struct HeaderColumns {
    /// Number of rows of each collected message.
    counts: Vec<u32>,
    packets: RepeatedValues<UInt64Type>,
    offsets: RepeatedValues<UInt64Type>,
    times: RepeatedValues<TimestampNanosecondType>,
    seq_nums: Option<RepeatedValues<UInt64Type>>,
    sources: AddressColumn,
    destinations: AddressColumn,
}

impl HeaderColumns {
    pub(crate) fn new(numbers: PacketNumbers) -> Self {
        Self {
            counts: Vec::with_capacity(WAITING_MAX),
            packets: RepeatedValues::new(),
            offsets: RepeatedValues::new(),
            times: RepeatedValues::new(),
            seq_nums: (numbers == PacketNumbers::Column).then(RepeatedValues::new),
            sources: AddressColumn::new(),
            destinations: AddressColumn::new(),
        }
    }

    pub(crate) fn append(&mut self, header: &Header<'_>, rows: usize) {
        if self.counts.len() == WAITING_MAX {
            self.append_waiting();
        }
        let message = self.counts.len();
        self.packets.set(message, header.packet);
        self.offsets.set(message, header.offset);
        // Arrow's nanoseconds end in the year 2262; later times become null.
        self.times.set(message, header.time_ns.and_then(|time| i64::try_from(time).ok()));
        if let Some(seq_nums) = &mut self.seq_nums {
            seq_nums.set(message, header.seq_num);
        }
        self.sources.append(header.source, rows);
        self.destinations.append(header.destination, rows);
        // A message has fewer than 2^32 entries.
        self.counts.push(rows as u32);
    }

    fn append_waiting(&mut self) {
        let count = self.counts.len();
        let spread = RowSpread::of(&self.counts);
        let all = if count == 0 { 0 } else { u64::MAX >> (WAITING_MAX - count) };
        self.packets.append(&spread, count, all);
        self.offsets.append(&spread, count, all);
        self.times.append(&spread, count, all);
        if let Some(seq_nums) = &mut self.seq_nums {
            seq_nums.append(&spread, count, all);
        }
        self.counts.clear();
    }

    pub(crate) fn take(&mut self) -> Vec<ArrayRef> {
        self.append_waiting();
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.packets.values.take()),
            Arc::new(self.offsets.values.take()),
            Arc::new(self.times.values.take().with_timezone(UTC)),
        ];
        let seq_nums = self.seq_nums.as_mut().map(|seq_nums| seq_nums.values.take());
        columns.extend(seq_nums.map(|seq_nums| Arc::new(seq_nums) as ArrayRef));
        columns.extend([self.sources.take(), self.destinations.take()]);
        columns
    }
}
