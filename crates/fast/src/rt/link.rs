//! Putting a generated module and a template set together at start-up.

use super::facts::Templates;
use super::plan::ModulePlan;
use super::state::{LastTemplate, Previous, sealed::Handover};
use crate::dictionary::{Dictionary, EntryState};
use crate::program::Program;
use crate::rt::facts::{EntryFacts, ValueKind};
use crate::template::Signature;
use std::collections::HashMap;
use std::fmt;

/// Why a generated module does not run a template set.
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
    /// The program leaves fields out, or was compiled for other operations.
    ProjectedProgram,
    /// The module was generated for some fields only, so that it cannot encode.
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

/// How the templates and entries of a module and of a program correspond.
#[derive(Clone, Debug)]
pub(super) struct Links {
    /// By number in the module: index in the set, if the template is the same there.
    pub(super) indexes: Vec<Option<usize>>,
    /// By index in the set: number in the module.
    numbers: Vec<Option<usize>>,
    /// Entries that both engines know: number in the module's entries, and in the program.
    shared: Vec<(usize, u32)>,
    /// By index in the set: which of `shared` a template uses; `None` is all, for dynamic references.
    used: Vec<Option<Vec<(usize, u32)>>>,
    is_whole: bool,
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
        let plan = ModulePlan::of(program);
        let mut links = Self {
            indexes: vec![None; T::TEMPLATES.len()],
            numbers: vec![None; set.templates().len()],
            shared: Vec::new(),
            used: Vec::new(),
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
            let entries = plan.entries_of(index);
            if entries.len() != T::TEMPLATES[number].entries.len() {
                continue;
            }
            let of_module = T::TEMPLATES[number].entries.iter().map(|&entry| usize::from(entry));
            let pairs: Vec<_> = of_module.zip(entries).collect();
            // One entry of the module is one of the program, the other way round too; and if types
            // share it there, they do here.
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
        for index in 0..set.templates().len() {
            let used = (!plan.is_dynamic(index)).then(|| {
                let mut used: Vec<(usize, u32)> = plan
                    .entries_of(index)
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

    /// The error if the module is not for this very set.
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

    /// By number in the module: whether the template may run.
    pub(super) fn enabled(&self) -> Vec<bool> {
        self.indexes.iter().map(Option::is_some).collect()
    }

    /// The number of a template of the set in the module.
    pub(super) fn number(&self, index: usize) -> Option<usize> {
        self.numbers.get(index).copied().flatten()
    }

    /// The entries that a message of a template of the set may touch and the module knows.
    fn entries(&self, index: Option<usize>) -> &[(usize, u32)] {
        match index.and_then(|index| self.used.get(index)) {
            Some(Some(used)) => used,
            _ => &self.shared,
        }
    }

    /// Hands previous values over to the dynamic engine, for a message of the template `index`.
    pub(super) fn lend<T: Templates>(
        &self,
        index: Option<usize>,
        state: &T::State,
        dictionary: &mut Dictionary,
    ) {
        dictionary.set_last(self.last_index(state.last()));
        for &(module, program) in self.entries(index) {
            let facts = &T::ENTRIES[module];
            let tag = state.tag(facts.slot);
            dictionary.set_tag::<false>(program, tag);
            match state.previous(facts.slot, kind_of(facts, tag)) {
                Previous::Undefined => dictionary.set_undefined(program),
                Previous::Empty => dictionary.set_empty::<false>(program),
                Previous::Word(value) => dictionary.set_integer::<false>(program, value),
                Previous::Scaled(m, e) => dictionary.set_decimal::<false>(program, m, e),
                Previous::Bytes(bytes) => dictionary.set_bytes::<false>(program, bytes),
            }
        }
    }

    /// Takes them back, as the message left them.
    pub(super) fn take_back<T: Templates>(
        &self,
        index: Option<usize>,
        state: &mut T::State,
        dictionary: &Dictionary,
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

/// What an entry's value is while it has this type tag.
fn kind_of(facts: &EntryFacts, tag: u8) -> ValueKind {
    match facts.kinds {
        [(_, kind)] => *kind,
        kinds => kinds
            .iter()
            .find(|(of_tag, _)| *of_tag == tag)
            .map_or(ValueKind::Integer, |(_, kind)| *kind),
    }
}
