//! Random template sets as XML, and random messages of them, generated from a test's choices.

use std::sync::Arc;
use tickwire_fast::template::FieldType;
use tickwire_fast::{
    Decimal, FieldLayout, Message, MessageBuilder, Program, SegmentRef, Storage, TemplateSet,
};
use tickwire_testing::{Choices, template_file};

/// A template set of one to four templates, see [`template_file`].
pub fn template_set(choices: &mut Choices) -> TemplateSet {
    let xml = template_file(choices);
    TemplateSet::parse(&xml).unwrap_or_else(|errors| panic!("{errors}\n{xml}"))
}

/// Builds a message of a template; values are often those that an operator expects.
pub fn message<'b>(
    choices: &mut Choices,
    builder: &'b mut MessageBuilder,
    template: usize,
) -> &'b Message {
    let program = builder.program().clone();
    let segment = program.templates()[template].segment;
    builder.begin(template).expect("a template of the set");
    Filler { choices, builder: &mut *builder, program }.record(segment, 0);
    builder.finish().expect("every mandatory field is set")
}

const TEXTS: [&[u8]; 9] =
    [b"", b"A", b"AB", b"ABC", b"XBC", b"\0", b"ABCDEFGHIJ", b"ABCDEFGHIK", b"ABCXEFGHIJ"];

struct Filler<'c> {
    choices: &'c mut Choices,
    builder: &'c mut MessageBuilder,
    program: Arc<Program>,
}

impl Filler<'_> {
    fn record(&mut self, segment: SegmentRef, nesting: usize) {
        let program = self.program.clone();
        for (index, field) in program.fields_of(segment).iter().enumerate() {
            if field.optional && self.choices.once_in(3) {
                continue;
            }
            match field.storage {
                Storage::Slot(_) => self.scalar(index, field),
                Storage::OptionalConstant(_) => self.builder.set_constant(index).unwrap(),
                Storage::Group(inner) => {
                    self.builder.begin_group(index).unwrap();
                    self.record(inner, nesting);
                    self.builder.end().unwrap();
                }
                Storage::Sequence { segment: inner, .. } => {
                    let count = self.choices.of(&[0, 1, 1, 2, 3]);
                    self.builder.begin_sequence(index, count).unwrap();
                    for _ in 0..count {
                        self.builder.begin_entry().unwrap();
                        self.record(inner, nesting);
                        self.builder.end().unwrap();
                    }
                    self.builder.end().unwrap();
                }
                Storage::Dynamic(_) => {
                    let last = program.templates().len() - 1;
                    let template = if nesting > 2 { last } else { self.choices.index(last + 1) };
                    self.builder.begin_dynamic(index, template).unwrap();
                    self.record(program.templates()[template].segment, nesting + 1);
                    self.builder.end().unwrap();
                }
                Storage::Constant(_) | Storage::Discarded => {}
            }
        }
    }

    fn scalar(&mut self, index: usize, field: &FieldLayout) {
        match field.field_type.as_ref().expect("a scalar") {
            FieldType::UInt(width) => {
                let max = u64::MAX >> (64 - *width as u32);
                let value = self.choices.of(&[0, 1, 2, 3, 4, 5, max - 1, max]);
                self.builder.set_u64(index, value).unwrap();
            }
            FieldType::Int(width) => {
                let max = i64::MAX >> (64 - *width as u32);
                let value = self.choices.of(&[0, -1, 2, 3, 4, 5, max, -1 - max]);
                self.builder.set_i64(index, value).unwrap();
            }
            FieldType::Boolean => {
                let value = self.choices.of(&[0, 1]);
                self.builder.set_u64(index, value).unwrap();
            }
            FieldType::Enum(elements) => {
                let element = self.choices.index(elements.elements.len());
                self.builder.set_u64(index, elements.elements[element].value).unwrap();
            }
            FieldType::Set(elements) => {
                let value = self.choices.index(1 << elements.elements.len()) as u64;
                self.builder.set_u64(index, value).unwrap();
            }
            FieldType::Timestamp(_) => {
                let value = self.choices.of(&[0, 3, 4, 5, i64::MAX, i64::MIN]);
                self.builder.set_i64(index, value).unwrap();
            }
            FieldType::Decimal => {
                let mantissa = self.choices.of(&[0, 3, 4, 15, i64::MAX, i64::MIN]);
                let exponent = self.choices.of(&[-1, -1, 0, 1, -63, 63]);
                self.builder.set_decimal(index, Decimal { mantissa, exponent }).unwrap();
            }
            FieldType::Ascii | FieldType::Unicode | FieldType::ByteVector => {
                let value = self.choices.of(&TEXTS);
                self.builder.set_bytes(index, value).unwrap();
            }
        }
    }
}
