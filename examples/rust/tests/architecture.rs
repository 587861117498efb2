//! The code map of ARCHITECTURE.md agrees with the manifests: every crate is in it, with the crates that it uses, and a crate uses
//! only crates above it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

/// The crates of this project among the dependencies and build-dependencies of a manifest, without `tickwire-`.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let (mut found, mut counts) = (BTreeSet::new(), false);
    for line in manifest.lines() {
        if line.starts_with('[') {
            counts = matches!(line, "[dependencies]" | "[build-dependencies]");
        } else if let Some(rest) = line.strip_prefix("tickwire-").filter(|_| counts) {
            let name = rest.split(['.', ' ', '=']).next().expect("a first part");
            found.insert(name.to_owned());
        }
    }
    found
}

/// Names of crates in a cell; features are code, crates are not.
fn names(cell: &str, crates: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let prose: String = cell.split('`').step_by(2).collect();
    let words = prose.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| crates.contains_key(*word)).map(str::to_owned).collect()
}

#[test]
fn the_code_map_says_what_the_manifests_say() {
    let crates_directory = root().join("crates");
    let mut manifests = vec![crates_directory.join("fast-codegen/check/Cargo.toml")];
    for entry in fs::read_dir(&crates_directory).expect("a directory") {
        // The Python module is a separate workspace.
        let path = entry.expect("an entry").path();
        if !path.ends_with("python") && path.join("Cargo.toml").exists() {
            manifests.push(path.join("Cargo.toml"));
        }
    }
    let mut crates = BTreeMap::new();
    for path in manifests {
        let manifest = fs::read_to_string(&path).expect("UTF-8");
        let line = manifest.lines().find(|line| line.starts_with("name = ")).expect("a name");
        let name = line.trim_start_matches("name = ").trim_matches('"');
        let name = name.strip_prefix("tickwire-").unwrap_or(name);
        crates.insert(name.to_owned(), dependencies(&manifest));
    }

    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("UTF-8");
    let (_, map) = text.split_once("\n## Code map\n").expect("the code map");
    let map = map.split("\n## ").next().expect("its section");
    let mut above = BTreeSet::new();
    for row in map.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, _, uses] = cells[..] else { panic!("three cells: {row}") };
        let name = name.trim_matches('`');
        let used = crates.get(name).unwrap_or_else(|| panic!("no crate {name}"));
        assert_eq!(names(uses, &crates), *used, "{name} uses");
        assert!(used.is_subset(&above), "{name} uses a crate below it: {used:?}");
        above.insert(name.to_owned());
    }
    assert_eq!(above, crates.into_keys().collect::<BTreeSet<_>>(), "crates in the map");
}

/// Counts the crates of a program that only receives a feed; docs/internals/feed.md has the number.
#[test]
fn a_handler_with_its_reception_compiles_few_crates() {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["tree", "--offline", "--locked", "-p", "tickwire-net"]);
    cargo.args(["--no-default-features", "-e", "normal,build", "--prefix", "none", "-f", "{p}"]);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let crates: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    assert!(crates.contains("tickwire-feed"), "{crates:?}");
    assert!(crates.len() <= 34, "{} crates: {crates:?}", crates.len());
}
