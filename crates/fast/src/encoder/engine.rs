//! Executes a compiled program over a message.

use super::decimal::check_exponent;
use super::writer::{self, MapWriter};
use crate::decoder::integer::{Signed, Unsigned};
use crate::dictionary::{DictionaryEntries, EntryState};
use crate::error::{FastError, FastErrorKind};
use crate::limits::Limits;
use crate::message::{MessageStore, pair_of};
use crate::program::{FieldRef, Initial, Op, OpCode, Program, SegmentLayout, WireType};
use crate::template::{Decimal, StreamContent};

/// Execution of a program over one message.
///
/// The message belongs to the same program: slots and positions are valid, and every presence word
/// is initialized. Every change of the dictionaries is journalled.
pub(super) struct EncoderEngine<'e> {
    pub(super) program: &'e Program,
    pub(super) store: &'e MessageStore,
    pub(super) dictionary: &'e mut DictionaryEntries,
    pub(super) out: &'e mut Vec<u8>,
    pub(super) limits: &'e Limits,
    pub(super) obey_reset: bool,
    pub(super) entries_left: u32,
    pub(super) nesting: u32,
    /// Number of enclosing groups, sequences and dynamic references.
    pub(super) depth: u32,
    /// The next operation, a copy or increment, must write its value because its entry holds a
    /// value of another type.
    pub(super) replace: bool,
}

/// Result of encoding a field.
type FieldEncoded = Result<(), FastErrorKind>;

/// Returns an error about the message as a whole. Its offset is 0: there are no bytes of it.
fn outside(kind: FastErrorKind) -> FastError {
    FastError::new(kind, 0)
}

impl<'e> EncoderEngine<'e> {
    #[inline(always)]
    pub(super) fn initial(&self, op: &Op) -> &'e Initial {
        let program = self.program;
        &program.initials[op.initial as usize]
    }

    /// True if the operation must not use the previous value; true only once after the type check.
    #[inline(always)]
    pub(super) fn take_replace(&mut self) -> bool {
        std::mem::take(&mut self.replace)
    }

    /// Encodes one message: presence map, template id, fields.
    ///
    /// Spec: FAST 1.1 §10.3.
    pub(super) fn message(&mut self, index: u32, base: usize) -> Result<(), FastError> {
        let program = self.program;
        let template = &program.templates[index as usize];
        let Some(id) = template.id else { return Err(outside(FastErrorKind::TemplateWithoutId)) };
        let segment = &program.segments[template.segment.index()];
        let mut map = MapWriter::begin(self.out, segment.map_bits + 1);
        let known = self.dictionary.last_template() == Some(index);
        map.push(self.out, !known);
        if !known {
            writer::unsigned(self.out, u64::from(id.0), false);
            self.dictionary.set_last_template(index);
        }
        if template.reset && self.obey_reset {
            self.dictionary.reset_values();
        }
        self.fields(segment, &mut map, base)?;
        map.finish(self.out);
        Ok(())
    }

    /// Encodes a group or sequence entry: its presence map, if it has one, and its fields.
    fn segment(&mut self, segment: &'e SegmentLayout, base: usize) -> Result<(), FastError> {
        self.enter()?;
        if segment.has_map() {
            let mut map = MapWriter::begin(self.out, segment.map_bits);
            self.fields(segment, &mut map, base)?;
            map.finish(self.out);
        } else {
            self.fields(segment, &mut MapWriter::default(), base)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Enters a nested level. The depth is not restored on errors, because they end the message.
    fn enter(&mut self) -> Result<(), FastError> {
        if self.depth >= Limits::DEPTH_MAX {
            return Err(outside(FastErrorKind::NestingTooDeep));
        }
        self.depth += 1;
        Ok(())
    }

    fn fields(
        &mut self,
        segment: &'e SegmentLayout,
        map: &mut MapWriter,
        base: usize,
    ) -> Result<(), FastError> {
        let program = self.program;
        let ops = &program.code[segment.ops.start as usize..segment.ops.end as usize];
        let mut presence_at = base + segment.presence_at as usize;
        let mut present = self.word(presence_at);
        let mut pc = 0;
        while let Some(op) = ops.get(pc) {
            pc += 1;
            let is_present = present >> op.bit & 1 != 0;
            let at = base + op.slot as usize;
            let store = self.store;
            let integer = || is_present.then(|| u64::from_le_bytes(store.words[at]));
            let outcome: FieldEncoded = match op.code {
                OpCode::UIntNone | OpCode::UIntNoneOptional => self.none::<Unsigned>(op, integer()),
                OpCode::UIntDefault | OpCode::UIntDefaultOptional => {
                    self.default::<Unsigned>(op, map, integer(), StreamContent::Value)
                }
                OpCode::UIntCopy
                | OpCode::UIntCopyOptional
                | OpCode::UIntIncrement
                | OpCode::UIntIncrementOptional => {
                    self.following::<Unsigned>(op, map, integer(), StreamContent::Value)
                }
                OpCode::UIntDelta | OpCode::UIntDeltaOptional => {
                    self.delta::<Unsigned>(op, integer())
                }
                OpCode::IntNone | OpCode::IntNoneOptional => self.none::<Signed>(op, integer()),
                OpCode::IntDelta | OpCode::IntDeltaOptional => self.delta::<Signed>(op, integer()),
                OpCode::Integer => {
                    let (value, mismatch) = (integer(), FastErrorKind::ApplicationType);
                    match op.wire {
                        WireType::UInt => self.any::<Unsigned>(op, map, value, mismatch),
                        _ => self.any::<Signed>(op, map, value, mismatch),
                    }
                }
                OpCode::AsciiDefault | OpCode::AsciiDefaultOptional => {
                    self.text_default(op, map, is_present.then_some(at))
                }
                OpCode::AsciiCopy | OpCode::AsciiCopyOptional => {
                    self.text_following(op, map, is_present.then_some(at))
                }
                OpCode::AsciiNone | OpCode::AsciiNoneOptional | OpCode::Text => {
                    self.text(op, map, is_present.then_some(at))
                }
                OpCode::Decimal => {
                    let value = is_present.then(|| self.decimal_at(at));
                    self.scaled(op, map, value)
                }
                OpCode::ExponentDefault | OpCode::ExponentDefaultOptional | OpCode::Exponent => {
                    if !is_present {
                        pc += op.aux as usize;
                    }
                    self.exponent(op, map, is_present.then(|| self.decimal_at(at).exponent))
                }
                OpCode::MantissaDelta => self.delta::<Signed>(op, Some(self.word(at + 1))),
                OpCode::Mantissa => {
                    let value = Some(self.word(at + 1));
                    self.any::<Signed>(op, map, value, FastErrorKind::DecimalNotEncodable)
                }
                OpCode::Constant => Ok(()),
                OpCode::ConstantOptional => self.constant(op, map, is_present),
                OpCode::LengthNone | OpCode::Length => {
                    let count = is_present.then(|| u64::from(pair_of(self.store.words[at]).0));
                    self.any::<Unsigned>(op, map, count, FastErrorKind::ApplicationType)
                }
                OpCode::Sequence if is_present => {
                    self.sequence(op, at)?;
                    Ok(())
                }
                OpCode::Sequence => Ok(()),
                OpCode::Group if !is_present => Err(FastErrorKind::MissingValue),
                OpCode::Group => {
                    self.group(op, base)?;
                    Ok(())
                }
                OpCode::GroupOptional => {
                    map.push(self.out, is_present);
                    if is_present {
                        self.group(op, base)?;
                    }
                    Ok(())
                }
                OpCode::DynamicRef if !is_present => Err(FastErrorKind::MissingValue),
                OpCode::DynamicRef => {
                    self.dynamic(op, at)?;
                    Ok(())
                }
                OpCode::NextPresenceWord => {
                    presence_at += 1;
                    present = self.word(presence_at);
                    Ok(())
                }
                OpCode::CheckEntryType => self.check_entry_type(op),
            };
            if let Err(kind) = outcome {
                return Err(FastError::at(kind, FieldRef(op.field), 0));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.store.words[at])
    }

    #[inline(always)]
    fn decimal_at(&self, at: usize) -> Decimal {
        Decimal { exponent: self.word(at) as i32, mantissa: self.word(at + 1) as i64 }
    }

    /// Encodes the exponent of a decimal with parts; if it is absent, so is the mantissa.
    #[inline(always)]
    fn exponent(&mut self, op: &Op, map: &mut MapWriter, value: Option<i32>) -> FieldEncoded {
        if let Some(exponent) = value {
            check_exponent(exponent)?;
        }
        let value = value.map(|exponent| i64::from(exponent) as u64);
        match op.code {
            OpCode::Exponent => {
                self.any::<Signed>(op, map, value, FastErrorKind::DecimalNotEncodable)
            }
            _ => self.default::<Signed>(op, map, value, StreamContent::Value),
        }
    }

    fn group(&mut self, op: &Op, base: usize) -> Result<(), FastError> {
        let program = self.program;
        self.segment(&program.segments[op.aux as usize], base)
    }

    fn sequence(&mut self, op: &Op, at: usize) -> Result<(), FastError> {
        let (count, first) = pair_of(self.store.words[at]);
        if count > self.limits.entries_max || count > self.entries_left {
            let error = FastError::at(FastErrorKind::TooManyEntries, FieldRef(op.field), 0);
            return Err(error.with_detail(count));
        }
        self.entries_left -= count;
        let program = self.program;
        let segment = &program.segments[op.aux as usize];
        let step = segment.record_words as usize;
        for index in 0..count as usize {
            self.segment(segment, first as usize + index * step)?;
        }
        Ok(())
    }

    fn dynamic(&mut self, op: &Op, at: usize) -> Result<(), FastError> {
        let here = |kind| FastError::at(kind, FieldRef(op.field), 0);
        if self.nesting >= self.limits.nesting_max {
            return Err(here(FastErrorKind::NestingTooDeep));
        }
        let (template, place) = pair_of(self.store.words[at]);
        self.enter()?;
        self.nesting += 1;
        let outcome = self.message(template, place as usize);
        self.nesting -= 1;
        self.depth -= 1;
        outcome.map_err(|error| if error.field().is_none() { here(error.kind()) } else { error })
    }

    /// Checks the type of the entry's value (D4) for the next field. Copy and increment avoid the
    /// error by writing their value; delta and tail cannot.
    #[cold]
    fn check_entry_type(&mut self, op: &Op) -> FieldEncoded {
        let tag = op.aux as u8;
        let foreign = self.dictionary.state(op.entry) != EntryState::Undefined
            && self.dictionary.tag(op.entry) != tag;
        self.replace = foreign && op.rule.replaces_previous_value();
        if foreign && !self.replace {
            return Err(FastErrorKind::PreviousValueType);
        }
        self.dictionary.set_tag::<true>(op.entry, tag);
        Ok(())
    }
}
