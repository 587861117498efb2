//! Generates a module for every template set that the tests use.

#[allow(dead_code)]
#[path = "../../fast/tests/support/own_vectors.rs"]
mod own_vectors;
#[allow(dead_code)]
#[path = "../../fast/tests/support/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tickwire_fast::TemplateSet;
use tickwire_fast::template::Instruction;
use tickwire_fast_codegen::{GenerateOptions, generate_set};
use tickwire_testing::Choices;

/// Default number of random template sets; the environment variable overrides it.
const SEEDS: u64 = 14;
/// Larger random sets are skipped: their modules take too long to compile.
const FIELDS_MAX: usize = 150;
/// If this variable is set, modules of the conformance cases and of the recorded captures are
/// generated too. They take minutes to compile.
const ALL_VARIABLE: &str = "TICKWIRE_CHECK_ALL";
/// Random sets for which a projection is generated too.
const PROJECTIONS: usize = 4;
const SEEDS_VARIABLE: &str = "TICKWIRE_CHECK_SEEDS";

fn main() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    included(&root.join("tests/support/included.xml"));
    let mut sets: BTreeMap<String, TemplateSet> = BTreeMap::new();
    if std::env::var_os("CARGO_FEATURE_SETS").is_none() {
        return write(&sets, &[]);
    }
    own_vectors(&root.join("../../fast/testdata"), &mut sets);
    println!("cargo::rerun-if-env-changed={ALL_VARIABLE}");
    if std::env::var_os(ALL_VARIABLE).is_some() {
        conformance_cases(&mut sets);
        for folder in ["../../../captures", "../../../../shared/corpus"] {
            corpora(&root.join(folder), &mut sets);
        }
    }
    println!("cargo::rerun-if-env-changed={SEEDS_VARIABLE}");
    let seeds = std::env::var(SEEDS_VARIABLE).ok();
    for seed in 0..seeds.map_or(SEEDS, |seeds| seeds.parse().expect("a number of seeds")) {
        let set = random::template_set(&mut Choices::seeded(seed));
        if set.templates().iter().map(|template| count(&template.instructions)).sum::<usize>()
            <= FIELDS_MAX
        {
            sets.insert(format!("random {seed}"), set);
        }
    }
    for (name, xml) in NESTED {
        sets.insert(name.to_owned(), TemplateSet::parse(xml).expect("valid"));
    }
    let many = TemplateSet::parse(&many_entries()).expect("valid");
    sets.insert(MANY_ENTRIES.to_owned(), many);
    write(&sets, &projections(&sets));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=tests/support/many.rs");
    println!("cargo::rerun-if-changed=tests/support/nested.rs");
    println!("cargo::rerun-if-changed=../../fast/tests/support/own_vectors.rs");
    println!("cargo::rerun-if-changed=../../fast/tests/support/random.rs");
}

/// Generates the module that a test includes the way an application does.
fn included(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
    let set = TemplateSet::parse(&std::fs::read_to_string(path).expect("UTF-8")).expect("valid");
    let source = generate_set(set, &GenerateOptions::default()).expect("generates");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("a build script"));
    std::fs::write(folder.join("included.rs"), source).expect("writable");
}

/// Adds the template files of the test vectors, named `testdata FILE NAME`.
fn own_vectors(folder: &Path, sets: &mut BTreeMap<String, TemplateSet>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for vector in own_vectors::all(folder) {
        let name = format!("testdata {} {}", vector.file, vector.name);
        sets.insert(name, vector.template_set());
    }
}

/// Adds the conformance cases, named `shared NAME`.
fn conformance_cases(sets: &mut BTreeMap<String, TemplateSet>) {
    let path = tickwire_testing::vectors("fast.jsonl");
    println!("cargo::rerun-if-changed={}", path.display());
    for case in tickwire_testing::fast_cases() {
        // Cases that test static errors have no decoder.
        if let Ok(set) = TemplateSet::parse(&case.template_xml) {
            sets.insert(format!("shared {}", case.name), set);
        }
    }
}

/// Adds the template files of the recorded captures, named `corpus FOLDER`.
fn corpora(folder: &Path, sets: &mut BTreeMap<String, TemplateSet>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("readable").path();
        let Ok(xml) = std::fs::read(path.join("templates.xml")) else { continue };
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        sets.insert(format!("corpus {name}"), TemplateSet::parse_bytes(&xml).expect("valid"));
    }
}

include!("tests/support/wanted.rs");
include!("tests/support/nested.rs");
include!("tests/support/many.rs");

/// Returns the number of fields of a template, without expanding references.
fn count(instructions: &[Instruction]) -> usize {
    let fields = |instruction: &Instruction| match instruction {
        Instruction::Group(group) => count(&group.instructions),
        _ => 1,
    };
    instructions.iter().map(fields).sum()
}

/// Returns random sets that store only some fields, named `projected SEED`.
fn projections(sets: &BTreeMap<String, TemplateSet>) -> Vec<(String, TemplateSet, Vec<String>)> {
    let random = sets.iter().filter_map(|(name, set)| {
        let seed = name.strip_prefix("random ")?.parse().ok()?;
        let is_dynamic =
            set.templates().iter().any(|template| has_reference(&template.instructions));
        (!is_dynamic).then_some(())?;
        Some((format!("projected {seed}"), set.clone(), wanted_fields(seed, set)))
    });
    random.take(PROJECTIONS).collect()
}

/// Writes the modules, one for all sets with the same signature, and the table of their engines.
fn write(sets: &BTreeMap<String, TemplateSet>, projections: &[(String, TemplateSet, Vec<String>)]) {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("a build script"));
    let mut modules = BTreeMap::new();
    let (mut mods, mut table) = (String::new(), String::new());
    for (name, set) in sets {
        let next = modules.len();
        let number = *modules.entry(set.signature()).or_insert(next);
        if number == next {
            let options = GenerateOptions::default().command(name.clone());
            match generate_set(set.clone(), &options) {
                Ok(source) => {
                    let file = folder.join(format!("set_{number}.rs"));
                    std::fs::write(file, source).expect("writable");
                }
                Err(error) => panic!("{name}: {error}"),
            }
            writeln!(mods, "#[allow(missing_docs)] pub mod set_{number} {{ include!(concat!(env!(\"OUT_DIR\"), \"/set_{number}.rs\")); }}").unwrap();
        }
        writeln!(table, "({name:?}, make::<set_{number}::Templates>),").unwrap();
    }
    for (number, (name, set, fields)) in projections.iter().enumerate() {
        let options = GenerateOptions::default().command(name.clone()).fields(Some(fields.clone()));
        let source = generate_set(set.clone(), &options).expect("generates");
        std::fs::write(folder.join(format!("projected_{number}.rs")), source).expect("writable");
        writeln!(mods, "#[allow(missing_docs)] pub mod projected_{number} {{ include!(concat!(env!(\"OUT_DIR\"), \"/projected_{number}.rs\")); }}").unwrap();
        writeln!(table, "({name:?}, make::<projected_{number}::Templates>),").unwrap();
    }
    let source = format!(
        "{mods}\n/// Names of sets and their engines.\nconst SETS: &[(&str, Make)] = &[{table}];\n"
    );
    std::fs::write(folder.join("sets.rs"), source).expect("writable");
}
