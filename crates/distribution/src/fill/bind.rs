//! Pairs the members of samples with the fields of templates.

use super::source::{IntegerSource, NumberFrom, PriceSource, StringSource, WordsFrom};
use super::{Misfits, TemplateMismatch};
use tickwire_fast::template::{FieldType, Value};
use tickwire_fast::{
    Decimal, FieldHandle, FieldLayout, Program, Repeated, Slot, SlotKind, Storage,
};

/// Maximum number of template names listed in an error.
const NAMES_MAX: usize = 8;

const NUMBER: &str = "an integer";
const PRICE: &str = "a decimal";
const WORDS: &str = "a string";
const SEQUENCE: &str = "a sequence";

/// Looks up fields and collects the mismatches.
pub(super) struct FieldBinder<'p> {
    program: &'p Program,
    misfits: Vec<TemplateMismatch>,
}

impl<'p> FieldBinder<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Self { program, misfits: Vec::new() }
    }

    pub(super) fn template(&mut self, index: usize) -> TemplateFields<'_, 'p> {
        TemplateFields { binder: self, template: index, prefix: "", silent: false }
    }

    pub(super) fn no_template(&mut self) {
        let names = self.program.templates().iter().take(NAMES_MAX);
        let found = names.map(|template| template.name.local.to_string()).collect();
        self.misfits.push(TemplateMismatch::NoTemplate { found });
    }

    pub(super) fn finish(self) -> Result<(), Misfits> {
        if self.misfits.is_empty() { Ok(()) } else { Err(Misfits(self.misfits)) }
    }
}

/// The fields of one template, or of the entries of one of its sequences.
pub(super) struct TemplateFields<'b, 'p> {
    binder: &'b mut FieldBinder<'p>,
    template: usize,
    /// Path of the sequence, followed by a slash; empty for the template's own fields.
    prefix: &'static str,
    /// True if the sequence itself is missing. That is reported once, so its missing fields are not reported.
    silent: bool,
}

impl<'p> TemplateFields<'_, 'p> {
    pub(super) fn template_name(&self) -> &'p str {
        &self.binder.program.templates()[self.template].name.local
    }

    /// Returns the fields of the entries of a sequence of this template; `prefix` ends in a slash.
    pub(super) fn inside(&mut self, prefix: &'static str) -> TemplateFields<'_, 'p> {
        let silent = self.find(prefix.trim_end_matches('/')).is_none();
        TemplateFields { binder: self.binder, template: self.template, prefix, silent }
    }

    /// Returns the source of an integer that the template must have.
    pub(super) fn number(&mut self, name: &'static str) -> IntegerSource {
        self.required(name, NUMBER);
        self.optional_number(name)
    }

    /// Returns the source of an integer; 0 if the template has no such field.
    pub(super) fn optional_number(&mut self, name: &'static str) -> IntegerSource {
        let Some((handle, field)) = self.find(name) else { return self.unused(name) };
        let from = match &field.storage {
            Storage::Constant(Value::UInt(value)) => NumberFrom::Fixed((*value).into()),
            Storage::Constant(Value::Int(value)) => NumberFrom::Fixed((*value).into()),
            Storage::OptionalConstant(Value::UInt(_) | Value::Int(_)) => {
                NumberFrom::View(handle.index)
            }
            _ => {
                let unsigned = self.slot(handle).map(NumberFrom::Unsigned);
                let found = unsigned.or_else(|| self.slot(handle).map(NumberFrom::Signed));
                found.unwrap_or_else(|| self.wrong_type(name, field, NUMBER, NumberFrom::Fixed(0)))
            }
        };
        IntegerSource { member: name, from }
    }

    /// Returns the source of a member that this template's samples do not use; its value is 0.
    pub(super) fn unused(&self, name: &'static str) -> IntegerSource {
        IntegerSource { member: name, from: NumberFrom::Fixed(0) }
    }

    /// Returns the source of a decimal that the template must have.
    pub(super) fn price(&mut self, name: &'static str) -> PriceSource {
        self.required(name, PRICE);
        self.optional_price(name)
    }

    /// Returns the source of a decimal; 0 if the template has no such field.
    pub(super) fn optional_price(&mut self, name: &'static str) -> PriceSource {
        let nothing = PriceSource::Fixed(Decimal { mantissa: 0, exponent: 0 });
        let Some((handle, field)) = self.find(name) else { return nothing };
        match &field.storage {
            Storage::Constant(Value::Decimal(value)) => PriceSource::Fixed(*value),
            Storage::OptionalConstant(Value::Decimal(_)) => PriceSource::View(handle.index),
            _ => match self.slot(handle) {
                Some(slot) => PriceSource::Scaled(slot),
                None => self.wrong_type(name, field, PRICE, nothing),
            },
        }
    }

    /// Returns the source of a string that the template must have.
    pub(super) fn words(&mut self, name: &'static str) -> StringSource {
        self.required(name, WORDS);
        self.optional_words(name)
    }

    /// Returns the source of a string; empty if the template has no such field.
    pub(super) fn optional_words(&mut self, name: &'static str) -> StringSource {
        let fixed = |text: &str| WordsFrom::Fixed(text.into());
        let Some((handle, field)) = self.find(name) else {
            return StringSource { member: name, from: fixed("") };
        };
        let is_string = matches!(field.field_type, Some(FieldType::Ascii | FieldType::Unicode));
        let from = match (&field.storage, is_string) {
            (Storage::Constant(Value::Bytes(bytes)), true) => match std::str::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => fixed(text),
                _ => self.wrong_type(name, field, "a string of UTF-8 without NUL", fixed("")),
            },
            (Storage::OptionalConstant(Value::Bytes(_)), true) => WordsFrom::View(handle.index),
            (_, is_string) => match self.slot(handle).filter(|_| is_string) {
                Some(slot) => WordsFrom::Slot(slot),
                None => self.wrong_type(name, field, WORDS, fixed("")),
            },
        };
        StringSource { member: name, from }
    }

    /// Returns a sequence that the template must have.
    pub(super) fn sequence(&mut self, name: &'static str) -> Option<Slot<Repeated>> {
        self.required(name, SEQUENCE);
        let (handle, field) = self.find(name)?;
        let slot = self.slot(handle);
        if slot.is_none() {
            self.wrong_type(name, field, SEQUENCE, ());
        }
        slot
    }

    fn find(&self, name: &str) -> Option<(FieldHandle, &'p FieldLayout)> {
        let program = self.binder.program;
        let handle = program.handle(self.template, &self.path(name))?;
        Some((handle, program.field(program.field_ref(handle))))
    }

    fn slot<K: SlotKind>(&self, handle: FieldHandle) -> Option<Slot<K>> {
        self.binder.program.slot(handle)
    }

    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn required(&mut self, name: &'static str, wanted: &'static str) {
        if self.find(name).is_none() && !self.silent {
            let (template, path) = (self.template_name().to_owned(), self.path(name));
            self.binder.misfits.push(TemplateMismatch::MissingField { template, path, wanted });
        }
    }

    /// Reports a field of the wrong type and returns `instead`, so that binding continues with the next field.
    fn wrong_type<T>(
        &mut self,
        name: &str,
        field: &FieldLayout,
        wanted: &'static str,
        instead: T,
    ) -> T {
        let found = match (&field.field_type, &field.storage) {
            (_, Storage::Discarded) => "left out by the projection".to_owned(),
            (Some(field_type), _) => field_type.name().to_owned(),
            (None, Storage::Sequence { .. }) => "a sequence".to_owned(),
            (None, _) => "a group or template reference".to_owned(),
        };
        let (template, path) = (self.template_name().to_owned(), self.path(name));
        self.binder.misfits.push(TemplateMismatch::WrongType { template, path, found, wanted });
        instead
    }
}
