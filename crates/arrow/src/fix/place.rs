//! Origin of a message: line of a log or packet of a capture.

use arrow_array::ArrayRef;
use arrow_array::builder::{TimestampNanosecondBuilder, UInt64Builder};
use arrow_schema::{DataType, Field, TimeUnit};
use std::sync::Arc;

/// Position of a message in its log or capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessagePlace {
    /// Line of a text log, from 1.
    pub line: Option<u64>,
    /// Offset in a text log, bytes.
    pub offset: Option<u64>,
    /// Record of a capture, from 0, in which the message ends.
    pub packet: Option<u64>,
    /// Capture time of that record, nanoseconds since 1970-01-01 UTC.
    pub time_ns: Option<u64>,
}

/// Columns of [`MessagePlace`].
#[derive(Default)]
pub struct Places {
    lines: UInt64Builder,
    offsets: UInt64Builder,
    packets: UInt64Builder,
    times: TimestampNanosecondBuilder,
}

impl Places {
    pub fn fields() -> Vec<Field> {
        let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        vec![
            Field::new("line", DataType::UInt64, true),
            Field::new("off", DataType::UInt64, true),
            Field::new("pkt", DataType::UInt64, true),
            Field::new("time", time, true),
        ]
    }

    pub fn push(&mut self, place: &MessagePlace) {
        self.lines.append_option(place.line);
        self.offsets.append_option(place.offset);
        self.packets.append_option(place.packet);
        self.times.append_option(place.time_ns.and_then(|time| i64::try_from(time).ok()));
    }

    pub fn finish(&mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.lines.finish()),
            Arc::new(self.offsets.finish()),
            Arc::new(self.packets.finish()),
            Arc::new(self.times.finish().with_timezone("UTC")),
        ]
    }
}
