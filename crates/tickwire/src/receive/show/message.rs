//! Messages as they come.

use super::args::{ShowFormat, ShowOptions};
use super::output::Output;
use crate::failure::Failure;
use std::io;
use std::sync::Arc;
use tickwire_fast::{FieldLayout, FieldValue, Message, Program, Record};
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::Delivery;
use tickwire_text::{Column, Csv, Fields, Header, JsonLines, MessageWriter, Plain};

/// Columns of messages before those of their fields.
const COLUMNS: [Column; 5] =
    [Column::Time, Column::Line, Column::TemplateId, Column::TemplateName, Column::Entry];

/// SecurityID (48), Symbol (55) and TradingSessionID (336).
const INSTRUMENT_TAGS: [u32; 2] = [48, 55];
const SESSION_TAG: u32 = 336;

/// Writes messages.
pub struct Messages {
    channel: Option<String>,
    writer: Box<dyn MessageWriter + Send>,
    instruments: Vec<String>,
}

impl Messages {
    /// A writer to `out`.
    pub fn new(
        options: &ShowOptions,
        channel: Option<&str>,
        program: &Arc<Program>,
        out: Output,
    ) -> Result<Self, Failure> {
        let fields = match &options.fields {
            Some(names) => Fields::named(program, names)
                .map_err(|error| Failure::Usage(format!("--fields: {error}")))?,
            None => Fields::all(),
        };
        let templates: Vec<usize> = (0..program.templates().len()).collect();
        let writer: Box<dyn MessageWriter + Send> = match options.format {
            ShowFormat::Jsonl => Box::new(JsonLines::with_fields(out, fields)),
            ShowFormat::Csv => {
                Box::new(Csv::with_fields(out, program, &templates, &COLUMNS, &fields)?)
            }
            ShowFormat::Text => Box::new(Plain::with_fields(out, fields)),
        };
        let channel = channel.map(str::to_owned);
        Ok(Self { channel, writer, instruments: options.instruments.clone() })
    }

    /// Writes a message that was received at `time_ns` since 1970.
    pub fn write(
        &mut self,
        time_ns: u64,
        delivery: &Delivery,
        message: &Message,
    ) -> io::Result<()> {
        if !self.instruments.is_empty() && !self.names_wanted(message.root(), None) {
            return Ok(());
        }
        let line = match delivery.line {
            Line::A => "A",
            Line::B => "B",
        };
        let channel = self.channel.as_deref();
        let (time_ns, line) = (Some(time_ns), Some(line));
        let header = Header { channel, time_ns, line, ..Header::default() };
        self.writer.write_message(&header, message)
    }

    /// Whether a record, or one inside it, names an instrument that is wanted. `session` is the
    /// TradingSessionID around it.
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
        self.instruments.iter().any(|wanted| *wanted == name || Some(wanted) == whole.as_ref())
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
