//! Converts decoded messages to FIX messages, with field ids as tags.

use std::collections::HashMap;
use std::fmt;

use tickwire_fast::template::{
    Element, Enumeration, Epoch, FieldType, Instruction, TimeUnit, Timestamp,
};
use tickwire_fast::{
    Entries, FieldHandle, FieldLayout, FieldRef, FieldValue, Message, Program, Record,
};
use tickwire_fix::{DataFields, FixDecimal, Precision, Tag, UtcTimestamp, Writer};

use crate::fix::tags_of;
use crate::outline::Outline;

/// MsgType.
const MSG_TYPE: u32 = 35;
/// Fields that the FIX writer writes itself: BeginString, BodyLength, CheckSum and MsgType.
const FRAME: [u32; 4] = [8, 9, 10, MSG_TYPE];
/// The largest tag that FIX readers accept.
const TAG_MAX: u32 = 999_999_999;

/// The reason why a message is not converted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConvertError {
    /// No field has id 35, so there is no MsgType.
    MsgType,
    /// The tag of a byte vector is not that of a data field, so a reader could not find its end.
    LengthTag {
        /// The field's name.
        name: String,
        /// Its id.
        tag: u32,
    },
    /// The entries of a sequence begin with different fields, so a FIX reader could not separate
    /// them.
    EntryStart {
        /// The sequence's name.
        name: String,
    },
    /// FIX cannot represent a value: a time before 1970, or an exponent of more than two digits.
    Value {
        /// The field's name.
        name: String,
    },
    /// The FIX writer refuses the message: the buffer is too small, or a text contains a delimiter.
    Fix(tickwire_fix::FixError),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MsgType => out.write_str("the message has no field with id 35, MsgType"),
            Self::LengthTag { name, tag } => {
                write!(
                    out,
                    "{name}: tag {tag} is not a data field of FIX, so a byte vector has no length field"
                )
            }
            Self::EntryStart { name } => {
                write!(out, "{name}: not every entry begins with the same field")
            }
            Self::Value { name } => write!(out, "{name}: FIX cannot represent the value"),
            Self::Fix(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for ConvertError {}

impl From<tickwire_fix::FixError> for ConvertError {
    fn from(error: tickwire_fix::FixError) -> Self {
        Self::Fix(error)
    }
}

/// Writes decoded FAST messages as FIX messages: each field by its id, in the template's order.
///
/// | FAST | FIX |
/// |---|---|
/// | group, static and dynamic reference | its fields |
/// | sequence | NumInGroup by the length's id, or the sequence's own, and the entries |
/// | decimal | digits, with zeros where the exponent is positive |
/// | byte vector, and string with the tag of a data field | length field and data |
/// | boolean | `Y`, `N` |
/// | enum, set | ids of the elements, or names where they have none; several with spaces |
/// | timestamp | UTCTimestamp, UTCDateOnly (days), UTCTimeOnly (since midnight) |
///
/// Fields without an id ([`Self::untagged`]) or without a value are omitted, and so are empty
/// strings, because FIX has no empty values.
///
/// ```
/// use std::sync::Arc;
/// use tickwire_fast::{Decoder, Program, TemplateSet};
/// use tickwire_text::FixConverter;
///
/// let xml = r#"<templates><template name="Refresh" id="1">
///   <string name="MessageType" id="35"><constant value="X"/></string>
///   <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
///     <string name="MDEntryType" id="269"/><decimal name="MDEntryPx" id="270"/>
///   </sequence></template></templates>"#;
/// let program = Arc::new(Program::compile(TemplateSet::parse(xml)?)?);
/// let converter = FixConverter::new(&program);
/// let mut decoder = Decoder::new(program);
/// // One entry with type 0 and price 298.5.
/// let decoded = decoder.decode(&[0xC0, 0x81, 0x81, 0xB0, 0xFF, 0x17, 0xA9])?;
///
/// let mut out = [0; 200];
/// let bytes = converter.encode(decoded.message, "FIX.4.4", &mut out)?;
/// let text = String::from_utf8_lossy(bytes).replace('\x01', "|");
/// assert!(text.starts_with("8=FIX.4.4|9=27|35=X|268=1|269=0|270=298.5|10="), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FixConverter {
    tags: HashMap<FieldRef, u32>,
    untagged: Vec<String>,
    /// The length field before each data field.
    lengths: HashMap<u32, u32>,
}

/// The state of writing a message.
struct Conversion<'c, 'w, 'b, F> {
    converter: &'c FixConverter,
    writer: &'w mut Writer<'b>,
    wants: F,
    /// The first tag written since `first` was last cleared.
    first: Option<u32>,
}

impl FixConverter {
    /// Creates a converter for a program's messages, with the standard's data fields.
    pub fn new(program: &Program) -> Self {
        let tags: HashMap<FieldRef, u32> =
            tags_of(program).into_iter().filter(|(_, tag)| (1..=TAG_MAX).contains(tag)).collect();
        let outline = Outline::of(program);
        let untagged = outline.fields().iter().filter(|(field, instruction)| {
            let is_valued = match instruction {
                Instruction::Field(_) => true,
                Instruction::Group(group) => group.length.is_some(),
                Instruction::StaticRef(..) | Instruction::DynamicRef(_) => false,
            };
            is_valued && !tags.contains_key(field)
        });
        let untagged =
            untagged.map(|(field, _)| program.field(*field).name.local.to_string()).collect();
        Self { tags, untagged, lengths: HashMap::new() }.data_fields(&DataFields::standard())
    }

    /// Adds pairs of length and data fields.
    #[must_use]
    pub fn data_fields(mut self, data_fields: &DataFields) -> Self {
        self.lengths.extend(data_fields.pairs().map(|(length, data)| (data, length)));
        self
    }

    /// Returns the names of the fields that are omitted because they have no id, or an id that is
    /// not a valid tag.
    pub fn untagged(&self) -> impl Iterator<Item = &str> {
        self.untagged.iter().map(String::as_str)
    }

    /// Returns the value of the field with id 35.
    pub fn msg_type<'m>(&self, message: &'m Message) -> Option<&'m str> {
        self.text_of(message.root(), MSG_TYPE)
    }

    /// Encodes a FIX message to `out`, which must be [`Writer::OVERHEAD`] bytes longer than it.
    /// Writes all fields of the message except BeginString, BodyLength, MsgType and CheckSum, which
    /// the FIX writer generates.
    ///
    /// # Errors
    /// [`ConvertError`].
    pub fn encode<'b>(
        &self,
        message: &Message,
        begin_string: &str,
        out: &'b mut [u8],
    ) -> Result<&'b [u8], ConvertError> {
        let msg_type = self.msg_type(message).ok_or(ConvertError::MsgType)?;
        let mut writer = Writer::new(out, begin_string, msg_type);
        self.write_fields(message, &mut writer, |_| true)?;
        Ok(writer.finish()?)
    }

    /// Writes the fields whose tags `wanted` accepts, for a FIX session that writes the header
    /// itself. Never writes BeginString, BodyLength, MsgType and CheckSum.
    ///
    /// # Errors
    /// [`ConvertError`] except [`ConvertError::Fix`]: the writer reports its errors when it is
    /// finished.
    pub fn write_fields(
        &self,
        message: &Message,
        writer: &mut Writer<'_>,
        wants: impl Fn(u32) -> bool,
    ) -> Result<(), ConvertError> {
        let wants = |tag| !FRAME.contains(&tag) && wants(tag);
        Conversion { converter: self, writer, wants, first: None }.record(message.root())
    }

    fn tag(&self, record: Record<'_>, index: usize) -> Option<u32> {
        let handle = FieldHandle { segment: record.segment(), index };
        self.tags.get(&record.program().field_ref(handle)).copied()
    }

    /// Returns the text of the first field with this tag outside of sequences.
    fn text_of<'m>(&self, record: Record<'m>, wanted: u32) -> Option<&'m str> {
        record.fields().enumerate().find_map(|(index, (_, value))| match value {
            FieldValue::Group(inner) | FieldValue::Dynamic(_, inner) => self.text_of(inner, wanted),
            FieldValue::Ascii(text) | FieldValue::Unicode(text)
                if self.tag(record, index) == Some(wanted) =>
            {
                std::str::from_utf8(text).ok().filter(|text| !text.is_empty())
            }
            _ => None,
        })
    }
}

fn name(field: &FieldLayout) -> String {
    field.name.local.to_string()
}

impl<F: Fn(u32) -> bool> Conversion<'_, '_, '_, F> {
    fn record(&mut self, record: Record<'_>) -> Result<(), ConvertError> {
        for (index, (field, value)) in record.fields().enumerate() {
            match value {
                FieldValue::Absent | FieldValue::Discarded => continue,
                FieldValue::Group(inner) | FieldValue::Dynamic(_, inner) => {
                    self.record(inner)?;
                    continue;
                }
                _ => {}
            }
            let tag = self.converter.tag(record, index).filter(|tag| (self.wants)(*tag));
            let Some(tag) = tag else { continue };
            match value {
                FieldValue::Sequence(entries) => self.sequence(field, tag, entries)?,
                value if !self.is_length(record, index, tag) => self.scalar(field, tag, value)?,
                // The length of the following data field, which is written with that field.
                _ => {}
            }
        }
        Ok(())
    }

    /// True if a field is the length of the data field that follows it.
    fn is_length(&self, record: Record<'_>, index: usize, tag: u32) -> bool {
        let next = self.converter.tag(record, index + 1);
        let length = next.and_then(|next| self.converter.lengths.get(&next));
        length == Some(&tag) && index + 1 < record.layouts().len()
    }

    fn sequence(
        &mut self,
        field: &FieldLayout,
        tag: u32,
        entries: Entries<'_>,
    ) -> Result<(), ConvertError> {
        self.writer.uint(Tag(tag), entries.len() as u64);
        let before = self.first.take().or(Some(tag));
        let mut delimiter = None;
        for entry in entries.iter() {
            self.first = None;
            self.record(entry)?;
            if self.first.is_none() || delimiter.is_some_and(|tag| Some(tag) != self.first) {
                return Err(ConvertError::EntryStart { name: name(field) });
            }
            delimiter = self.first;
        }
        self.first = before;
        Ok(())
    }

    fn scalar(
        &mut self,
        field: &FieldLayout,
        tag: u32,
        value: FieldValue<'_>,
    ) -> Result<(), ConvertError> {
        let wrong = || ConvertError::Value { name: name(field) };
        let (writer, number) = (&mut *self.writer, Tag(tag));
        match (value, &field.field_type) {
            (FieldValue::UInt(0), Some(FieldType::Boolean)) => writer.boolean(number, false),
            (FieldValue::UInt(1), Some(FieldType::Boolean)) => writer.boolean(number, true),
            (FieldValue::UInt(value), Some(FieldType::Enum(listed))) => {
                match listed.elements.iter().find(|element| element.value == value) {
                    Some(element) => writer.str(number, code(element)),
                    None => writer.uint(number, value),
                }
            }
            (FieldValue::UInt(bits), Some(FieldType::Set(listed))) => match codes(listed, bits) {
                codes if codes.is_empty() => return Ok(()),
                codes => writer.str(number, &codes),
            },
            (FieldValue::UInt(value), _) => writer.uint(number, value),
            (FieldValue::Int(value), Some(FieldType::Timestamp(kind))) => {
                moment(writer, number, *kind, value).ok_or_else(wrong)?;
            }
            (FieldValue::Int(value), _) => writer.int(number, value),
            (FieldValue::Decimal(value), _) => {
                let exponent = i8::try_from(value.exponent).map_err(|_| wrong())?;
                writer.decimal(number, FixDecimal::new(value.mantissa, exponent));
            }
            (FieldValue::Ascii([]) | FieldValue::Unicode([]) | FieldValue::Bytes([]), _) => {
                return Ok(());
            }
            (
                FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) | FieldValue::Bytes(bytes),
                _,
            ) => match (self.converter.lengths.get(&tag), value) {
                (Some(length), _) => {
                    self.first.get_or_insert(*length);
                    writer.data(Tag(*length), number, bytes);
                }
                (None, FieldValue::Bytes(_)) => {
                    return Err(ConvertError::LengthTag { name: name(field), tag });
                }
                (None, _) => writer.text(number, bytes),
            },
            _ => return Err(wrong()),
        }
        self.first.get_or_insert(tag);
        Ok(())
    }
}

/// Returns the FIX value of an element: its id, or its name if it has no id.
fn code(element: &Element) -> &str {
    if element.id.is_empty() { &element.name } else { &element.id }
}

/// Returns the values of a set's elements, separated by spaces.
fn codes(listed: &Enumeration, bits: u64) -> String {
    let chosen = listed.elements.iter().filter(|element| element.value & bits != 0);
    chosen.map(code).collect::<Vec<_>>().join(" ")
}

/// Writes a timestamp; `None` if it is before its epoch or too late.
fn moment(writer: &mut Writer<'_>, tag: Tag, kind: Timestamp, value: i64) -> Option<()> {
    const DAY_NS: u64 = 86_400_000_000_000;
    let (unit_ns, precision) = match kind.unit {
        TimeUnit::Day => (DAY_NS, Precision::Seconds),
        TimeUnit::Second => (1_000_000_000, Precision::Seconds),
        TimeUnit::Millisecond => (1_000_000, Precision::Millis),
        TimeUnit::Microsecond => (1000, Precision::Micros),
        TimeUnit::Nanosecond => (1, Precision::Nanos),
    };
    let nanos = u64::try_from(value).ok()?.checked_mul(unit_ns)?;
    let UtcTimestamp { date, time } = UtcTimestamp::from_unix_nanos(nanos);
    match (kind.epoch, kind.unit) {
        (Epoch::Unix, TimeUnit::Day) => writer.date(tag, date),
        (Epoch::Unix, _) => writer.utc_timestamp(tag, UtcTimestamp { date, time }, precision),
        (Epoch::Today, _) if nanos < DAY_NS => writer.utc_time(tag, time, precision),
        (Epoch::Today, _) => return None,
    }
    Some(())
}
