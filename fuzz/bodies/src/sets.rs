//! The template sets of the targets.

use crate::choices::Choices;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use tickwire_fast::{CompileOptions, Limits, Program, Storage, TemplateSet};
use tickwire_testing::template_file;

/// A compiled set: whole, with constants as operations for a visitor, and with a projection.
pub(crate) struct CompiledSet {
    pub(crate) whole: Arc<Program>,
    pub(crate) visited: Arc<Program>,
    pub(crate) projected: Arc<Program>,
    /// Names of the fields that the projection keeps.
    pub(crate) wanted: Vec<String>,
}

/// Small, so that inputs reach the limits.
pub(crate) fn limits() -> Limits {
    Limits::default()
        .entries_max(64)
        .entries_total_max(256)
        .string_max(256)
        .nesting_max(4)
        .message_bytes_max(64 << 10)
        .stream_bytes_max(64 << 10)
}

/// The template files of the sets.
pub(crate) const XML: [&str; 7] = [
    include_str!("../templates/decimals.xml"),
    include_str!("../templates/dictionaries.xml"),
    include_str!("../templates/extended.xml"),
    include_str!("../templates/integers.xml"),
    include_str!("../templates/structure.xml"),
    include_str!("../templates/texts.xml"),
    include_str!("../templates/wide.xml"),
];

/// Takes a set. A first byte below 0x80 selects a built-in set, compiled once; one above is 0x80 plus the number of bytes that follow and
/// draw a set.
pub(crate) fn take(choices: &mut Choices<'_>) -> Arc<CompiledSet> {
    static SETS: LazyLock<Vec<Arc<CompiledSet>>> =
        LazyLock::new(|| XML.iter().map(|xml| Arc::new(compile(xml))).collect());
    let first = choices.byte();
    match first.checked_sub(0x80) {
        None => SETS[usize::from(first) % SETS.len()].clone(),
        Some(len) => Arc::new(drawn(choices.bytes(len.into()))),
    }
}

/// Returns the set that these bytes draw: each is a choice.
fn drawn(bytes: &[u8]) -> CompiledSet {
    let words = bytes.iter().map(|byte| u16::from(*byte)).collect();
    compile(&template_file(&mut tickwire_testing::Choices::tape(words)))
}

fn compile(xml: &str) -> CompiledSet {
    let set = TemplateSet::parse(xml).unwrap_or_else(|errors| panic!("{errors}"));
    let program = |options: CompileOptions| {
        let program =
            Program::compile_with(set.clone(), &options).expect("sets within the limits compile");
        Arc::new(program)
    };
    let whole = program(CompileOptions::default());
    let visited = program(CompileOptions::default().constants(true));
    let wanted = every_second_field(&whole);
    let projected = program(CompileOptions::default().fields(Some(wanted.clone())));
    CompiledSet { whole, visited, projected, wanted }
}

fn every_second_field(program: &Program) -> Vec<String> {
    let fields =
        program.templates().iter().flat_map(|template| program.fields_of(template.segment));
    let named = fields.filter(|field| !matches!(field.storage, Storage::Dynamic(_)));
    let names: BTreeSet<String> =
        named.step_by(2).map(|field| field.name.local.to_string()).collect();
    names.into_iter().collect()
}
