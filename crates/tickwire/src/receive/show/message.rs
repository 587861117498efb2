//! Output of messages as they arrive.

use super::args::{ShowFormat, ShowOptions};
use super::output::ReceiveOutput;
use crate::failure::Failure;
use std::io;
use std::sync::Arc;
use tickwire_fast::{FieldLayout, FieldValue, Message, Program, Record};
use tickwire_feed::arbiter::Line;
use tickwire_feed::framing::Framing;
use tickwire_feed::handler::Delivery;
use tickwire_text::{Csv, CsvColumn, Fields, Header, JsonLines, MessageWriter, Plain};

/// Columns of messages that precede those of their fields.
const COLUMNS: [CsvColumn; 7] = [
    CsvColumn::Packet,
    CsvColumn::Offset,
    CsvColumn::Time,
    CsvColumn::Line,
    CsvColumn::TemplateId,
    CsvColumn::TemplateName,
    CsvColumn::Entry,
];

/// SecurityID (48), Symbol (55) and TradingSessionID (336).
const INSTRUMENT_TAGS: [u32; 2] = [48, 55];
const SESSION_TAG: u32 = 336;

/// Writes messages.
pub struct MessagePrinter {
    options: ShowOptions,
    channel: Option<String>,
    out: ReceiveOutput,
    /// The program whose messages the writer formats.
    program: Arc<Program>,
    writer: Box<dyn MessageWriter + Send>,
    /// Bytes before the messages of each packet; `None` if a packet has several parts.
    preamble: Option<u32>,
    /// Number of packets so far with a message.
    packets: u64,
    /// Number of the latest packet.
    seq_num: Option<u64>,
}

/// Source of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSource {
    /// The line on which its packet arrived first.
    Line(Line),
    /// A replay service.
    Replay,
}

impl MessagePrinter {
    /// Creates a writer to `out`.
    pub fn new(
        options: &ShowOptions,
        channel: Option<&str>,
        program: &Arc<Program>,
        framing: &Framing,
        out: ReceiveOutput,
    ) -> Result<Self, Failure> {
        let has_parts = framing.length_field().is_some() || framing.chunk_fields().is_some();
        let preamble = u32::try_from(framing.preamble_bytes()).ok().filter(|_| !has_parts);
        Ok(Self {
            options: options.clone(),
            channel: channel.map(str::to_owned),
            writer: Self::writer(options, program, out.clone())?,
            out,
            program: program.clone(),
            preamble,
            packets: 0,
            seq_num: None,
        })
    }

    /// Creates a writer for the messages of a program.
    fn writer(
        options: &ShowOptions,
        program: &Arc<Program>,
        out: ReceiveOutput,
    ) -> Result<Box<dyn MessageWriter + Send>, Failure> {
        let fields = match &options.fields {
            Some(names) => Fields::named(program, names)
                .map_err(|error| Failure::Usage(format!("--fields: {error}")))?,
            None => Fields::all(),
        };
        let templates: Vec<usize> = (0..program.templates().len()).collect();
        Ok(match options.format {
            ShowFormat::Jsonl => Box::new(JsonLines::with_fields(out, fields)),
            ShowFormat::Csv => {
                Box::new(Csv::with_fields(out, program, &templates, &COLUMNS, &fields)?)
            }
            ShowFormat::Text => Box::new(Plain::with_fields(out, fields)),
        })
    }

    /// Switches to the messages of another program; CSV gets a new heading. Returns an error if the program
    /// lacks a field that is to be shown.
    fn set_program(&mut self, program: &Arc<Program>) -> io::Result<()> {
        let writer = Self::writer(&self.options, program, self.out.clone());
        self.writer = writer.map_err(|failure| match failure {
            Failure::Data(text) | Failure::Usage(text) => io::Error::other(text),
            Failure::OutputClosed => io::ErrorKind::BrokenPipe.into(),
        })?;
        self.program = program.clone();
        Ok(())
    }

    /// The index of a message's packet among the packets with messages.
    const fn packet_index(&mut self, delivery: &Delivery) -> u64 {
        let is_same = match (self.seq_num, delivery.seq_num) {
            (Some(last), Some(this)) => last == this && delivery.index > 0,
            _ => delivery.index > 0,
        };
        if !is_same {
            self.packets += 1;
        }
        self.seq_num = delivery.seq_num;
        self.packets.saturating_sub(1)
    }

    /// Writes a message that was received at `time_ns` since 1970.
    pub fn write(
        &mut self,
        time_ns: u64,
        delivery: &Delivery,
        origin: MessageSource,
        message: &Message,
    ) -> io::Result<()> {
        if !Arc::ptr_eq(message.program(), &self.program) {
            self.set_program(message.program())?;
        }
        let (packet, line) = match origin {
            MessageSource::Line(Line::A) => (Some(self.packet_index(delivery)), "A"),
            MessageSource::Line(Line::B) => (Some(self.packet_index(delivery)), "B"),
            MessageSource::Replay => (None, "replay"),
        };
        let is_wanted = self.options.instruments.is_empty();
        if !is_wanted && !self.names_wanted(message.root(), None) {
            return Ok(());
        }
        // Replayed messages have no preamble.
        let preamble = if origin == MessageSource::Replay { Some(0) } else { self.preamble };
        let header = Header {
            channel: self.channel.as_deref(),
            packet,
            offset: preamble.map(|preamble| u64::from(preamble) + u64::from(delivery.offset)),
            len: Some(delivery.len as usize),
            time_ns: Some(time_ns),
            line: Some(line),
            ..Header::default()
        };
        self.writer.write_message(&header, message)
    }

    /// True if a record, or one inside it, names a selected instrument. `session` is the enclosing record's
    /// TradingSessionID.
    fn names_wanted(&self, record: Record<'_>, session: Option<&str>) -> bool {
        let own = record.fields().find(|(field, _)| field.id == Some(SESSION_TAG));
        let own = own.and_then(|(_, value)| text(value));
        let session = own.as_deref().or(session);
        record.fields().any(|(field, value)| match value {
            FieldValue::Group(record) | FieldValue::Dynamic(_, record) => {
                self.names_wanted(record, session)
            }
            FieldValue::Sequence(entries) => {
                entries.iter().any(|entry| self.names_wanted(entry, session))
            }
            value => is_name(field) && self.is_wanted(value, session),
        })
    }

    fn is_wanted(&self, value: FieldValue<'_>, session: Option<&str>) -> bool {
        let Some(name) = text(value) else { return false };
        let whole = session.map(|session| format!("{name}:{session}"));
        self.options
            .instruments
            .iter()
            .any(|wanted| *wanted == name || Some(wanted) == whole.as_ref())
    }
}

fn is_name(field: &FieldLayout) -> bool {
    field.id.is_some_and(|id| INSTRUMENT_TAGS.contains(&id))
}

fn text(value: FieldValue<'_>) -> Option<String> {
    match value {
        FieldValue::UInt(number) => Some(number.to_string()),
        FieldValue::Int(number) => Some(number.to_string()),
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        _ => None,
    }
}
