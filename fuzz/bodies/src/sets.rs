//! The template sets of the targets.

use std::sync::{Arc, OnceLock};
use tickwire_fast::{CompileOptions, Limits, Program, Storage, TemplateSet};

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

/// Returns all sets, compiled once.
pub(crate) fn all() -> &'static [CompiledSet] {
    static SETS: OnceLock<Vec<CompiledSet>> = OnceLock::new();
    SETS.get_or_init(|| XML.iter().map(|xml| compile(xml)).collect())
}

fn compile(xml: &str) -> CompiledSet {
    let set = TemplateSet::parse(xml).unwrap_or_else(|errors| panic!("{errors}"));
    let program = |options: CompileOptions| {
        let program = Program::compile_with(set.clone(), &options).expect("small sets compile");
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
    named.step_by(2).map(|field| field.name.local.to_string()).collect()
}
