//! Builds messages field by field, for an encoder.

mod required;
mod scalar;

use crate::error::{FastError, FastErrorKind};
use crate::limits::Limits;
use crate::message::{FieldHandle, Message, pair_word};
use crate::program::{FieldLayout, FieldRef, Program, SegmentRef, Storage};
use crate::template::{Decimal, FieldType, TemplateId};
use required::{RequiredFields, is_required};
use scalar::{ScalarValue, integer_of};
use std::sync::Arc;

/// Identifies a field of the record being filled: by index, [`FieldHandle`] or name.
///
/// An index is that of [`Record::value`](crate::Record::value). A handle is looked up once with
/// [`Program::handle`] and is valid only in its own segment. A name is searched at every use and
/// selects the first field of that name.
pub trait FieldKey {
    /// Returns the index of the field among the fields of `segment`.
    fn index_in(&self, program: &Program, segment: SegmentRef) -> Option<usize>;
}

impl FieldKey for usize {
    fn index_in(&self, program: &Program, segment: SegmentRef) -> Option<usize> {
        (*self < program.fields_of(segment).len()).then_some(*self)
    }
}

impl FieldKey for FieldHandle {
    fn index_in(&self, program: &Program, segment: SegmentRef) -> Option<usize> {
        (self.segment == segment).then_some(self.index)?.index_in(program, segment)
    }
}

impl FieldKey for &str {
    fn index_in(&self, program: &Program, segment: SegmentRef) -> Option<usize> {
        program.fields_of(segment).iter().position(|field| &*field.name.local == *self)
    }
}

/// A message, group, sequence, entry or dynamic reference that has begun but not ended.
#[derive(Clone, Copy, Debug)]
enum OpenRecord {
    Record { segment: SegmentRef, base: usize },
    Sequence { field: FieldRef, segment: SegmentRef, first: usize, count: u32, begun: u32 },
}

/// Builds messages of one program, one after the other. It stops allocating once its buffers have
/// grown.
///
/// [`begin`](Self::begin) a template, set its fields in any order, and [`finish`](Self::finish).
/// Groups, sequences, their entries and dynamic references are begun, filled and
/// [`end`](Self::end)ed; setters apply to the one begun last. The number of entries is fixed when a
/// sequence begins, because entries are contiguous in memory. Optional fields are absent unless
/// set, mandatory constants need not be set, and setting a field again overwrites it. A call that
/// fails changes nothing.
///
/// ```
/// use std::sync::Arc;
/// use tickwire_fast::{Encoder, MessageBuilder, Program, TemplateId, TemplateSet};
///
/// let set = TemplateSet::parse(
///     r#"<templates><template name="Quote" id="1">
///          <uInt32 name="Price"><delta/></uInt32>
///          <sequence name="Sizes"><uInt32 name="Size"/></sequence>
///        </template></templates>"#,
/// )?;
/// let program = Arc::new(Program::compile(set)?);
/// let mut builder = MessageBuilder::new(program.clone());
/// builder.begin_id(TemplateId(1))?;
/// builder.set_u64("Price", 13331)?;
/// builder.begin_sequence("Sizes", 1)?;
/// builder.begin_entry()?;
/// builder.set_u64("Size", 5)?;
/// builder.end()?;
/// builder.end()?;
/// let message = builder.finish()?;
///
/// let mut bytes = Vec::new();
/// Encoder::new(program).encode(message, &mut bytes)?;
/// assert_eq!(bytes, [0xc0, 0x81, 0x00, 0x68, 0x93, 0x81, 0x85]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MessageBuilder {
    program: Arc<Program>,
    limits: Limits,
    message: Message,
    frames: Vec<OpenRecord>,
    entries_left: u32,
    required: RequiredFields,
}

impl MessageBuilder {
    /// Creates a builder with the default limits.
    pub fn new(program: Arc<Program>) -> Self {
        Self::with_limits(program, Limits::default())
    }

    /// Creates a builder with these limits.
    pub fn with_limits(program: Arc<Program>, limits: Limits) -> Self {
        Self {
            message: Message::new(program.clone()),
            required: RequiredFields::of(&program),
            frames: Vec::new(),
            entries_left: 0,
            limits,
            program,
        }
    }

    /// Returns the program whose messages this builds.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Begins a message of the template at index `template` of the program; an unfinished message
    /// is discarded.
    ///
    /// # Errors
    /// D9 if there is no such template; [`FastErrorKind::ProjectedProgram`] if the program has a
    /// projection.
    pub fn begin(&mut self, template: usize) -> Result<(), FastError> {
        self.frames.clear();
        self.message.store.clear();
        self.entries_left = self.limits.entries_total_max;
        if !self.program.complete {
            return Err(outside(FastErrorKind::ProjectedProgram));
        }
        let (segment, base) = self.reserve_template(template).map_err(outside)?;
        self.message.set_template(template as u32);
        self.frames.push(OpenRecord::Record { segment, base });
        Ok(())
    }

    /// Begins a message of the template with this id.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_id(&mut self, id: TemplateId) -> Result<(), FastError> {
        match self.program.template_index(id) {
            Some(template) => self.begin(template),
            None => {
                self.frames.clear();
                Err(outside(FastErrorKind::UnknownTemplate).with_detail(id.0))
            }
        }
    }

    /// Sets an integer, boolean, enum or set by its unsigned value.
    ///
    /// # Errors
    /// [`FastErrorKind::UnknownField`] if there is no such field here, D1 if it is of another type,
    /// D2 if the value is outside the field's type.
    pub fn set_u64(&mut self, key: impl FieldKey, value: u64) -> Result<(), FastError> {
        self.set_integer(key, i128::from(value))
    }

    /// Sets an integer, boolean, enum, set or timestamp by its signed value.
    ///
    /// # Errors
    /// As [`set_u64`](Self::set_u64).
    pub fn set_i64(&mut self, key: impl FieldKey, value: i64) -> Result<(), FastError> {
        self.set_integer(key, i128::from(value))
    }

    /// Sets a decimal; exponent and mantissa are kept as given.
    ///
    /// # Errors
    /// As [`set_u64`](Self::set_u64), with R1 in place of D2 for an exponent outside -63 to 63.
    pub fn set_decimal(&mut self, key: impl FieldKey, value: Decimal) -> Result<(), FastError> {
        self.set(key, |field| match field.field_type {
            Some(FieldType::Decimal) if (-63..=63).contains(&value.exponent) => {
                Ok(ScalarValue::Decimal(value))
            }
            Some(FieldType::Decimal) => Err(FastErrorKind::DecimalRange),
            _ => Err(FastErrorKind::ApplicationType),
        })
    }

    /// Sets a string or byte vector.
    ///
    /// # Errors
    /// As [`set_u64`](Self::set_u64), with R2 for a unicode string that is not UTF-8, R3 for an
    /// ascii string with other characters, and the limit on strings in place of D2.
    pub fn set_bytes(&mut self, key: impl FieldKey, value: &[u8]) -> Result<(), FastError> {
        let string_max = self.limits.string_max as usize;
        self.set(key, |field| match field.field_type {
            Some(FieldType::Ascii) if !value.is_ascii() => Err(FastErrorKind::NotAscii),
            Some(FieldType::Unicode) if std::str::from_utf8(value).is_err() => {
                Err(FastErrorKind::InvalidUtf8)
            }
            Some(FieldType::Ascii | FieldType::Unicode | FieldType::ByteVector) => {
                match value.len() > string_max {
                    true => Err(FastErrorKind::StringTooLong),
                    false => Ok(ScalarValue::Bytes(value)),
                }
            }
            _ => Err(FastErrorKind::ApplicationType),
        })
    }

    /// Sets a string, or a byte vector to the bytes of a string.
    ///
    /// # Errors
    /// As [`set_bytes`](Self::set_bytes).
    pub fn set_str(&mut self, key: impl FieldKey, value: &str) -> Result<(), FastError> {
        self.set_bytes(key, value.as_bytes())
    }

    /// Makes an optional constant present.
    ///
    /// # Errors
    /// [`FastErrorKind::UnknownField`] if there is no such field here, D1 if it is not a constant.
    pub fn set_constant(&mut self, key: impl FieldKey) -> Result<(), FastError> {
        let (field, base) = self.field(key)?;
        match self.program.field(field).storage {
            Storage::Constant(_) | Storage::OptionalConstant(_) => {
                self.mark(field, base, true);
                Ok(())
            }
            _ => Err(FastError::at(FastErrorKind::ApplicationType, field, 0)),
        }
    }

    /// Makes an optional field, group or sequence absent again.
    ///
    /// # Errors
    /// [`FastErrorKind::UnknownField`] if there is no such field here,
    /// [`FastErrorKind::MissingValue`] if it is mandatory.
    pub fn clear(&mut self, key: impl FieldKey) -> Result<(), FastError> {
        let (field, base) = self.field(key)?;
        if !self.program.field(field).optional {
            return Err(FastError::at(FastErrorKind::MissingValue, field, 0));
        }
        self.mark(field, base, false);
        Ok(())
    }

    /// Begins a group. Mandatory groups must be begun and ended too.
    ///
    /// # Errors
    /// [`FastErrorKind::UnknownField`] if there is no such field here, D1 if it is not a group.
    pub fn begin_group(&mut self, key: impl FieldKey) -> Result<(), FastError> {
        let (field, base) = self.field(key)?;
        let Storage::Group(segment) = self.program.field(field).storage else {
            return Err(FastError::at(FastErrorKind::ApplicationType, field, 0));
        };
        self.mark(field, base, true);
        self.begin_record(segment, base);
        Ok(())
    }

    /// Begins a sequence of `count` entries, each to be begun with
    /// [`begin_entry`](Self::begin_entry).
    ///
    /// # Errors
    /// [`FastErrorKind::UnknownField`] if there is no such field here, D1 if it is not a sequence,
    /// and the limits on entries and memory.
    pub fn begin_sequence(&mut self, key: impl FieldKey, count: usize) -> Result<(), FastError> {
        let (field, base) = self.field(key)?;
        let here = |kind| FastError::at(kind, field, 0);
        let Storage::Sequence { slot, segment } = self.program.field(field).storage else {
            return Err(here(FastErrorKind::ApplicationType));
        };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        if count > self.limits.entries_max || count > self.entries_left {
            return Err(here(FastErrorKind::TooManyEntries).with_detail(count));
        }
        let words = self.program.segment(segment).record_words as usize;
        let total =
            words.checked_mul(count as usize).ok_or(here(FastErrorKind::MessageTooLarge))?;
        let first = self.reserve(total).map_err(here)?;
        self.entries_left -= count;
        self.message.store.words[base + slot as usize] = pair_word(count, first as u32);
        self.mark(field, base, true);
        self.frames.push(OpenRecord::Sequence { field, segment, first, count, begun: 0 });
        Ok(())
    }

    /// Begins the next entry of the sequence begun last.
    ///
    /// # Errors
    /// [`FastErrorKind::BuilderOrder`] outside a sequence, [`FastErrorKind::TooManyEntries`] for more
    /// entries than announced.
    pub fn begin_entry(&mut self) -> Result<(), FastError> {
        let Some(OpenRecord::Sequence { field, segment, first, count, begun }) =
            self.frames.last_mut()
        else {
            return Err(outside(FastErrorKind::BuilderOrder));
        };
        if begun == count {
            return Err(FastError::at(FastErrorKind::TooManyEntries, *field, 0).with_detail(*count));
        }
        let words = self.program.segment(*segment).record_words as usize;
        let (segment, base) = (*segment, *first + *begun as usize * words);
        *begun += 1;
        self.begin_record(segment, base);
        Ok(())
    }

    /// Begins the message of a dynamic template reference, with the template at index `template` of
    /// the program. The fields of references are named `#dyn`.
    ///
    /// # Errors
    /// [`FastErrorKind::UnknownField`] if there is no such field here, D1 if it is no reference, D9
    /// if there is no such template, [`FastErrorKind::TemplateWithoutId`] if it has no id.
    pub fn begin_dynamic(&mut self, key: impl FieldKey, template: usize) -> Result<(), FastError> {
        let (field, base) = self.field(key)?;
        let here = |kind| FastError::at(kind, field, 0);
        let Storage::Dynamic(slot) = self.program.field(field).storage else {
            return Err(here(FastErrorKind::ApplicationType));
        };
        let target = self.program.templates().get(template);
        let target = target.ok_or(here(FastErrorKind::UnknownTemplate))?;
        if target.id.is_none() {
            return Err(here(FastErrorKind::TemplateWithoutId));
        }
        let (segment, place) = self.reserve_template(template).map_err(here)?;
        self.message.store.words[base + slot as usize] = pair_word(template as u32, place as u32);
        self.mark(field, base, true);
        self.frames.push(OpenRecord::Record { segment, base: place });
        Ok(())
    }

    /// Ends the group, sequence, entry or dynamic reference begun last.
    ///
    /// # Errors
    /// [`FastErrorKind::MissingValue`] with the mandatory field that is not set, or with the sequence
    /// that has fewer entries than announced; [`FastErrorKind::BuilderOrder`] if only the message
    /// itself is open.
    pub fn end(&mut self) -> Result<(), FastError> {
        if self.frames.len() < 2 {
            return Err(outside(FastErrorKind::BuilderOrder));
        }
        self.check_last()?;
        self.frames.pop();
        Ok(())
    }

    /// Ends the message and returns it. It is valid until the next message begins.
    ///
    /// # Errors
    /// [`FastErrorKind::MissingValue`] with the mandatory field that is not set;
    /// [`FastErrorKind::BuilderOrder`] if no message is open, or a group, sequence or entry in it is.
    pub fn finish(&mut self) -> Result<&Message, FastError> {
        if self.frames.len() != 1 {
            return Err(outside(FastErrorKind::BuilderOrder));
        }
        self.check_last()?;
        self.frames.clear();
        Ok(&self.message)
    }

    fn check_last(&self) -> Result<(), FastError> {
        match self.frames.last() {
            Some(OpenRecord::Sequence { field, count, begun, .. }) if begun < count => {
                Err(FastError::at(FastErrorKind::MissingValue, *field, 0).with_detail(*begun))
            }
            Some(OpenRecord::Record { segment, base }) => self.check_record(*segment, *base),
            _ => Ok(()),
        }
    }

    fn check_record(&self, segment: SegmentRef, base: usize) -> Result<(), FastError> {
        let at = base + self.program.segment(segment).presence_at as usize;
        let masks = self.required.masks(segment);
        let words = &self.message.store.words[at..at + masks.len()];
        let missing = |(word, mask): (&[u8; 8], &u64)| u64::from_le_bytes(*word) & mask != *mask;
        if !words.iter().zip(masks).any(missing) {
            return Ok(());
        }
        let is_missing = |field: &FieldLayout| {
            let word = u64::from_le_bytes(words[field.presence.0 as usize]);
            is_required(field) && word >> field.presence.1 & 1 == 0
        };
        let index = self.program.fields_of(segment).iter().position(is_missing).unwrap_or_default();
        let field = self.program.field_ref(FieldHandle { segment, index });
        Err(FastError::at(FastErrorKind::MissingValue, field, 0))
    }

    /// Returns the field that a key selects in the innermost open record, and the record's base.
    fn field(&self, key: impl FieldKey) -> Result<(FieldRef, usize), FastError> {
        let Some(&OpenRecord::Record { segment, base }) = self.frames.last() else {
            return Err(outside(FastErrorKind::BuilderOrder));
        };
        let index = key
            .index_in(&self.program, segment)
            .filter(|&index| index < self.program.fields_of(segment).len())
            .ok_or(outside(FastErrorKind::UnknownField))?;
        Ok((self.program.field_ref(FieldHandle { segment, index }), base))
    }

    fn set_integer(&mut self, key: impl FieldKey, value: i128) -> Result<(), FastError> {
        self.set(key, |field| match &field.field_type {
            Some(field_type) => integer_of(field_type, value).map(ScalarValue::Integer),
            None => Err(FastErrorKind::ApplicationType),
        })
    }

    /// Sets a scalar field to the value that `convert` returns for it.
    fn set<'v>(
        &mut self,
        key: impl FieldKey,
        convert: impl FnOnce(&FieldLayout) -> Result<ScalarValue<'v>, FastErrorKind>,
    ) -> Result<(), FastError> {
        let (field, base) = self.field(key)?;
        let layout = self.program.field(field);
        let store = &mut self.message.store;
        let bytes_max = self.limits.message_bytes_max;
        let outcome = convert(layout).and_then(|value| match &layout.storage {
            Storage::Slot(slot) => value.store(store, base + *slot as usize, bytes_max),
            Storage::Constant(constant) | Storage::OptionalConstant(constant) => {
                value.check_constant(constant)
            }
            _ => Err(FastErrorKind::ApplicationType),
        });
        outcome.map_err(|kind| FastError::at(kind, field, 0))?;
        self.mark(field, base, true);
        Ok(())
    }

    /// Sets or clears a field's presence bit.
    fn mark(&mut self, field: FieldRef, base: usize, present: bool) {
        let layout = self.program.field(field);
        let (word, bit) = layout.presence;
        let at = base + (self.program.segment(layout.segment).presence_at + word) as usize;
        let word = &mut self.message.store.words[at];
        let others = u64::from_le_bytes(*word) & !(1 << bit);
        *word = (others | u64::from(present) << bit).to_le_bytes();
    }

    /// Begins a record at `base` with every field absent.
    fn begin_record(&mut self, segment: SegmentRef, base: usize) {
        let at = base + self.program.segment(segment).presence_at as usize;
        let len = self.required.masks(segment).len();
        self.message.store.words[at..at + len].fill([0; 8]);
        self.frames.push(OpenRecord::Record { segment, base });
    }

    /// Reserves the record of a template.
    fn reserve_template(&mut self, template: usize) -> Result<(SegmentRef, usize), FastErrorKind> {
        let layout =
            self.program.templates().get(template).ok_or(FastErrorKind::UnknownTemplate)?;
        let segment = layout.segment;
        let base = self.reserve(self.program.segment(segment).record_words as usize)?;
        Ok((segment, base))
    }

    /// Reserves words, all zero.
    fn reserve(&mut self, words: usize) -> Result<usize, FastErrorKind> {
        let first = self.message.store.reserve(words, self.limits.message_bytes_max)?;
        self.message.store.words[first..first + words].fill([0; 8]);
        Ok(first)
    }
}

/// Returns an error about the message as a whole, or a misuse of the builder.
fn outside(kind: FastErrorKind) -> FastError {
    FastError::new(kind, 0)
}
