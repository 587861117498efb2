//! Fills a message builder according to a fuzzer's bytes.

use crate::choices::Choices;
use tickwire_fast::template::FieldType;
use tickwire_fast::{
    Decimal, FastError, FieldLayout, MessageBuilder, Program, SegmentRef, Storage, TemplateId,
};

const NESTING_MAX: usize = 6;
const TEXTS: [&[u8]; 8] =
    [b"", b"A", b"AB", b"ABC", b"XBC", b"\0", b"ABCDEFGHIJ", "\u{fc}ber".as_bytes()];

/// Walks a record and sets random values, with an occasional invalid call. Ends at the first error
/// of a valid call.
pub(crate) struct Fill<'c, 'd> {
    pub(crate) choices: &'c mut Choices<'d>,
    pub(crate) builder: &'c mut MessageBuilder,
    pub(crate) program: &'c Program,
}

impl<'d> Fill<'_, 'd> {
    pub(crate) fn record(&mut self, segment: SegmentRef, nesting: usize) -> Result<(), FastError> {
        for (index, field) in self.program.fields_of(segment).iter().enumerate() {
            let choice = self.choices.byte();
            if choice == 0xff {
                self.misuse();
            }
            if field.optional && choice & 3 == 0 {
                continue;
            }
            self.field(index, field, nesting)?;
            if field.optional && choice & 0x7c == 0x7c {
                self.builder.clear(index)?;
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        index: usize,
        field: &FieldLayout,
        nesting: usize,
    ) -> Result<(), FastError> {
        match field.storage {
            Storage::Slot(_) => self.scalar(index, field),
            Storage::OptionalConstant(_) => self.builder.set_constant(index),
            Storage::Group(segment) => {
                self.builder.begin_group(index)?;
                self.record(segment, nesting)?;
                self.builder.end()
            }
            Storage::Sequence { segment, .. } => {
                let count = self.choices.below(5) * (1 + self.choices.below(17));
                self.builder.begin_sequence(index, count)?;
                for _ in 0..count {
                    self.builder.begin_entry()?;
                    self.record(segment, nesting)?;
                    self.builder.end()?;
                }
                self.builder.end()
            }
            Storage::Dynamic(_) => {
                let templates = self.program.templates();
                // Without choices left, every reference would nest another one.
                let template = match nesting > NESTING_MAX || self.choices.is_used_up() {
                    true => templates.len() - 1,
                    false => self.choices.below(templates.len()),
                };
                self.builder.begin_dynamic(index, template)?;
                self.record(templates[template].segment, nesting + 1)?;
                self.builder.end()
            }
            Storage::Constant(_) | Storage::Discarded => Ok(()),
        }
    }

    fn scalar(&mut self, index: usize, field: &FieldLayout) -> Result<(), FastError> {
        match &field.field_type {
            Some(FieldType::Int(_) | FieldType::Timestamp(_)) => {
                let value = self.number() as i64;
                self.builder
                    .set_i64(index, value)
                    .or_else(|_| self.builder.set_i64(index, value & 7))
            }
            Some(FieldType::Decimal) => {
                let mantissa = self.number() as i64;
                let exponent = i32::from(self.choices.byte() as i8) % 64;
                self.builder.set_decimal(index, Decimal { mantissa, exponent })
            }
            Some(FieldType::Ascii | FieldType::Unicode | FieldType::ByteVector) => {
                let value = self.text();
                self.builder
                    .set_bytes(index, value)
                    .or_else(|_| self.builder.set_bytes(index, b"A"))
            }
            _ => {
                let value = self.number();
                self.builder
                    .set_u64(index, value)
                    .or_else(|_| self.builder.set_u64(index, value & 1))
            }
        }
    }

    /// Returns a number of any size, often a limit or near zero.
    fn number(&mut self) -> u64 {
        match self.choices.below(8) {
            0 => self.choices.word(),
            1 => u64::MAX >> self.choices.below(64),
            2 => 1 << self.choices.below(64),
            3 => (self.choices.byte() as i8) as u64,
            _ => u64::from(self.choices.byte() & 7),
        }
    }

    fn text(&mut self) -> &'d [u8] {
        match self.choices.below(4) {
            0 => {
                let len = self.choices.below(40);
                self.choices.bytes(len)
            }
            _ => self.choices.of(&TEXTS),
        }
    }

    /// Makes a call that is usually invalid here: it must be refused or have an effect, and must
    /// not break later calls.
    fn misuse(&mut self) {
        let index = self.choices.below(12);
        // It may be refused or not, depending on the position; the test looks for panics.
        let _ = match self.choices.below(8) {
            0 => self.builder.set_u64(index, 300),
            1 => self.builder.set_i64("no such field", -300),
            2 => self.builder.set_bytes(index, b"\xff\0"),
            3 => self.builder.set_decimal(index, Decimal { mantissa: 1, exponent: 64 }),
            4 => self.builder.set_constant(index),
            5 => self.builder.begin_dynamic("a", usize::MAX),
            6 => self.builder.begin_sequence("a", usize::MAX),
            _ => self.builder.begin_id(TemplateId(u32::MAX)),
        };
    }
}
