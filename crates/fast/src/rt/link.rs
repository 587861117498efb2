//! Matches a generated module with a template set at start-up.

use super::facts::Templates;
use super::state::{LastTemplate, Previous, sealed::Handover};
use super::visit::Building;
use crate::builder::MessageBuilder;
use crate::dictionary::{DictionaryEntries, EntryState};
use crate::error::{FastError, FastErrorKind};
use crate::message::Message;
use crate::program::{OpCode, Program, is_valid_exponent};
use crate::rt::facts::{EntryFacts, ValueKind};
use crate::template::Signature;
use std::collections::HashMap;
use std::fmt;

/// Why a generated module cannot run a template set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// The module was generated from another template set.
    OtherTemplates {
        /// Signature of the set the module was generated from.
        generated_from: Signature,
        /// Signature of the set that was given.
        given: Signature,
    },
    /// The program has a projection, or was compiled with other options.
    ProjectedProgram,
    /// The module was generated with a projection, so it cannot encode.
    ProjectedModule,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherTemplates { generated_from, given } => write!(
                f,
                "this decoder was generated from the template set {generated_from}, \
                 but the templates given are {given}: generate it again from them, or let the \
                 dynamic engine decode what has changed"
            ),
            Self::ProjectedModule => f.write_str(
                "the module was generated for some fields only and cannot encode: \
                 generate it without --fields",
            ),
            Self::ProjectedProgram => f.write_str(
                "the template set was compiled for some fields only: compile it with all fields; \
                 which ones generated code stores was chosen when it was generated",
            ),
        }
    }
}

impl std::error::Error for LinkError {}

/// Correspondence between templates and entries of a module and a program.
#[derive(Clone, Debug)]
pub(super) struct Links {
    /// Index in the set, by number in the module; `None` if the set's template differs.
    pub(super) indexes: Vec<Option<usize>>,
    /// Number in the module, by index in the set.
    numbers: Vec<Option<usize>>,
    /// Entries that both engines have: index in the module's entries, and in the program's.
    shared: Vec<(usize, u32)>,
    /// Entries of `shared` that a template uses, by the template's index in the set; `None` if it may
    /// use all of them, because of dynamic references.
    used: Vec<Option<Vec<(usize, u32)>>>,
    is_whole: bool,
    /// Entries of exponents in runs, in order.
    exponents: Vec<u32>,
    /// Words of the program's largest record.
    pub(super) record_words: usize,
}

impl Links {
    pub(super) fn of<T: Templates>(program: &Program) -> Result<Self, LinkError> {
        if !program.complete {
            return Err(LinkError::ProjectedProgram);
        }
        let set = program.set();
        let signatures = set.signatures();
        let templates: Vec<_> =
            (0..set.templates().len()).map(|index| TemplateEntries::of(program, index)).collect();
        let mut links = Self {
            indexes: vec![None; T::TEMPLATES.len()],
            numbers: vec![None; set.templates().len()],
            shared: Vec::new(),
            used: Vec::new(),
            exponents: exponents_of(program),
            record_words: program
                .segments
                .iter()
                .map(|s| s.record_words as usize)
                .max()
                .unwrap_or(0),
            is_whole: *set.signature().as_bytes() == T::SIGNATURE,
        };
        let (mut to_program, mut to_module) = (HashMap::new(), HashMap::new());
        for (index, signature) in signatures.iter().enumerate() {
            let same = |number: &usize| T::TEMPLATES[*number].signature == *signature.as_bytes();
            let Some(number) = (0..T::TEMPLATES.len()).find(same) else { continue };
            let entries = &templates[index].entries;
            if entries.len() != T::TEMPLATES[number].entries.len() {
                continue;
            }
            let of_module = T::TEMPLATES[number].entries.iter().map(|&entry| usize::from(entry));
            let pairs: Vec<_> = of_module.zip(entries.iter().copied()).collect();
            // The entries must correspond one to one; entries that several types share in the
            // program must be shared in the module too.
            let agree = pairs.iter().all(|&(module, (program, is_mixed))| {
                to_program.get(&module).is_none_or(|known| *known == program)
                    && to_module.get(&program).is_none_or(|known| *known == module)
                    && is_mixed == (T::ENTRIES[module].kinds.len() > 1)
            });
            if agree {
                for (module, (program, _)) in pairs {
                    to_program.insert(module, program);
                    to_module.insert(program, module);
                }
                links.indexes[number] = Some(index);
                links.numbers[index] = Some(number);
            }
        }
        links.shared = to_program.into_iter().collect();
        links.shared.sort_unstable();
        for TemplateEntries { entries, is_dynamic } in &templates {
            let used = (!is_dynamic).then(|| {
                let mut used: Vec<(usize, u32)> = entries
                    .iter()
                    .filter_map(|(entry, _)| Some((*to_module.get(entry)?, *entry)))
                    .collect();
                used.sort_unstable();
                used.dedup();
                used
            });
            links.used.push(used);
        }
        Ok(links)
    }

    /// Converts a message of the module to one of the dynamic engine.
    pub(super) fn copy<'b, T: Templates>(
        &self,
        message: T::Message<'_>,
        builder: &'b mut MessageBuilder,
    ) -> Result<&'b Message, FastError> {
        let index = self.indexes.get(T::number(message)).copied().flatten();
        builder.begin(index.ok_or(FastError::new(FastErrorKind::UnknownTemplate, 0))?)?;
        T::visit(message, &mut Building { builder, indexes: &self.indexes })?;
        builder.finish()
    }

    /// Returns an error unless the module has exactly this set.
    pub(super) fn check<T: Templates>(&self, program: &Program) -> Result<(), LinkError> {
        let all = self.indexes.iter().all(Option::is_some);
        if self.is_whole && all {
            return Ok(());
        }
        Err(LinkError::OtherTemplates {
            generated_from: Signature::from_bytes(T::SIGNATURE),
            given: program.set().signature(),
        })
    }

    /// Returns, by number in the module, whether the template is usable.
    pub(super) fn enabled(&self) -> Vec<bool> {
        self.indexes.iter().map(Option::is_some).collect()
    }

    /// Returns a template's number in the module, for its index in the set.
    pub(super) fn number(&self, index: usize) -> Option<usize> {
        self.numbers.get(index).copied().flatten()
    }

    /// Returns the shared entries that a message of a template may use.
    fn entries(&self, index: Option<usize>) -> &[(usize, u32)] {
        match index.and_then(|index| self.used.get(index)) {
            Some(Some(used)) => used,
            _ => &self.shared,
        }
    }

    /// Passes previous values to the dynamic engine, for a message of the template `index`.
    pub(super) fn lend<T: Templates>(
        &self,
        index: Option<usize>,
        state: &T::State,
        dictionary: &mut DictionaryEntries,
    ) {
        dictionary.set_last(self.last_index(state.last()));
        for &(module, program) in self.entries(index) {
            let facts = &T::ENTRIES[module];
            let tag = state.tag(facts.slot);
            dictionary.set_tag::<false>(program, tag);
            match state.previous(facts.slot, kind_of(facts, tag)) {
                Previous::Undefined => dictionary.set_undefined(program),
                Previous::Empty => dictionary.set_empty::<false>(program),
                Previous::Word(value) => {
                    dictionary.set_integer::<false>(program, value);
                    let is_valid = is_valid_exponent(value as i64);
                    if !is_valid && self.exponents.binary_search(&program).is_ok() {
                        dictionary.set_unfit::<false>(program);
                    }
                }
                Previous::Scaled(m, e) => dictionary.set_decimal::<false>(program, m, e),
                Previous::Bytes(bytes) => dictionary.set_bytes::<false>(program, bytes),
            }
        }
    }

    /// Takes the previous values back, as the message left them.
    pub(super) fn take_back<T: Templates>(
        &self,
        index: Option<usize>,
        state: &mut T::State,
        dictionary: &DictionaryEntries,
    ) {
        state.set_last(self.last_template(dictionary.last_template()));
        for &(module, program) in self.entries(index) {
            let facts = &T::ENTRIES[module];
            let tag = dictionary.tag(program);
            state.set_tag(facts.slot, tag);
            let value = match (dictionary.state(program), kind_of(facts, tag)) {
                (EntryState::Undefined, _) => Previous::Undefined,
                (EntryState::Empty, _) => Previous::Empty,
                (_, ValueKind::Integer) => Previous::Word(dictionary.integer(program)),
                (_, ValueKind::Scaled) => {
                    let (mantissa, exponent) = dictionary.decimal(program);
                    Previous::Scaled(mantissa, exponent)
                }
                (_, ValueKind::Text) => Previous::Bytes(dictionary.bytes(program)),
            };
            state.set_previous(facts.slot, value);
        }
    }

    pub(super) fn last_index(&self, last: LastTemplate) -> Option<u32> {
        match last {
            LastTemplate::Undefined => None,
            LastTemplate::Known(number) => {
                self.indexes.get(number as usize).copied().flatten().map(|index| index as u32)
            }
            LastTemplate::Foreign(index) => Some(index),
        }
    }

    fn last_template(&self, index: Option<u32>) -> LastTemplate {
        match index {
            None => LastTemplate::Undefined,
            Some(index) => match self.number(index as usize) {
                Some(number) => LastTemplate::Known(number as u32),
                None => LastTemplate::Foreign(index),
            },
        }
    }
}

/// The entries of a template's operators in template order, and whether several types share them.
#[derive(Default)]
struct TemplateEntries {
    entries: Vec<(u32, bool)>,
    /// True if it has a dynamic reference.
    is_dynamic: bool,
}

impl TemplateEntries {
    fn of(program: &Program, template: usize) -> Self {
        let (mut to, mut is_mixed) = (Self::default(), false);
        program.for_each_op(program.templates()[template].segment, &mut |op| match op.code {
            OpCode::CheckEntryType => is_mixed = true,
            OpCode::DynamicRef => to.is_dynamic = true,
            _ if op.rule.uses_dictionary() => {
                to.entries.push((op.entry, std::mem::take(&mut is_mixed)));
            }
            _ => {}
        });
        to
    }
}

/// Returns the entries of exponents in runs, in order.
fn exponents_of(program: &Program) -> Vec<u32> {
    let lanes = program.runs.iter().flat_map(|run| &run.entries);
    let mut exponents: Vec<u32> =
        lanes.filter(|lane| lane.checked).map(|lane| lane.entry).collect();
    exponents.sort_unstable();
    exponents.dedup();
    exponents
}

/// Returns the kind of an entry's value with this type tag.
fn kind_of(facts: &EntryFacts, tag: u8) -> ValueKind {
    match facts.kinds {
        [(_, kind)] => *kind,
        kinds => kinds
            .iter()
            .find(|(of_tag, _)| *of_tag == tag)
            .map_or(ValueKind::Integer, |(_, kind)| *kind),
    }
}
