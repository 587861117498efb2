//! The key kernels need as many instructions as recorded, within the tolerance.
//!
//! After an intended change, record again:
//! `UPDATE_INSTRUCTIONS=1 cargo test -p tickwire-kernels --test instructions -- --ignored`

use std::path::{Path, PathBuf};
use std::process::Command;
use tickwire_kernels::{COMPILER, InstructionCounts, TOLERANCE_PERCENT, callgrind};
use tickwire_testing::{Need, skip};

const UPDATE: &str =
    "UPDATE_INSTRUCTIONS=1 cargo test -p tickwire-kernels --test instructions -- --ignored";

/// Builds this crate's program with optimization in a separate folder, because the counts should be
/// those of a release build.
fn program() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("optimised");
    let build = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--locked", "--bins", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target)
        // Flags in the environment of the test would change the instructions.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .expect("cargo starts");
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    target.join("release/tickwire-kernels")
}

#[test]
#[ignore = "builds a release and counts for minutes: `.ci/full instructions`"]
fn instructions_of_the_key_kernels_are_as_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions.json");
    if !callgrind::is_available() {
        return skip(Need::Programs, "valgrind is not installed, so no instructions are counted");
    }
    let count =
        || InstructionCounts::count(COMPILER, &program(), &[]).unwrap_or_else(|e| panic!("{e}"));
    if std::env::var_os("UPDATE_INSTRUCTIONS").is_some() {
        return std::fs::write(&path, count().to_json()).expect("writable");
    }
    let recorded = std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; record counts: {UPDATE}", path.display()));
    let recorded = InstructionCounts::parse(&recorded)
        .unwrap_or_else(|| panic!("{}: no file of counts; record them: {UPDATE}", path.display()));
    if recorded.compiler != COMPILER {
        let why = format_args!(
            "instructions are recorded for {}, this is {COMPILER}, which makes others; \
             record them anew: {UPDATE}",
            recorded.compiler
        );
        return skip(Need::Machine, why);
    }
    let counts = count();
    let table = counts.compared(&recorded);
    println!("{table}");
    assert!(
        !counts.are_off(&recorded),
        "instructions a message are more than {TOLERANCE_PERCENT} % off what is recorded:\n{table}\n\
         If that is meant to be so: {UPDATE}"
    );
}
