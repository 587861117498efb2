//! The README of each crate equals its documentation, which lists the features of its manifest.
//! `TICKWIRE_BLESS=1` writes the READMEs again.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates with a handwritten README, for users who do not write Rust.
const BY_HAND: [&str; 3] = ["python", "shm", "tickwire"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates")
}

/// Returns the documentation at the root of a crate as Markdown for readers outside rustdoc.
fn documentation(source: &str) -> String {
    let (mut text, mut in_code) = (String::new(), false);
    for line in source.lines().filter_map(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.starts_with("```") {
            in_code = !in_code;
            let is_rust = in_code && !line.contains("text") && !line.contains("toml");
            text.push_str(if is_rust { "```rust" } else { line });
        } else if in_code {
            if line == "#" || line.starts_with("# ") {
                continue;
            }
            text.push_str(line);
        } else if line.starts_with('#') {
            // The name of the crate is the title; `# Examples` becomes a section below it.
            text.push('#');
            text.push_str(line);
        } else {
            text.push_str(&without_items(line));
        }
        text.push('\n');
    }
    text
}

/// Returns a line without links to items: [`Decoder`] and [`rt`](crate::rt) become code.
fn without_items(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once('[') {
        text.push_str(before);
        let (label, behind) = after.split_once(']').expect("a bracket ends on its line");
        let target = behind.strip_prefix('(').and_then(|behind| behind.split_once(')'));
        rest = match target {
            Some((target, behind)) if !target.contains("://") => {
                text.push_str(label);
                behind
            }
            Some((target, behind)) => {
                write!(text, "[{label}]({target})").expect("a string takes it");
                behind
            }
            None => {
                text.push_str(label);
                behind
            }
        };
    }
    text + rest
}

/// Returns the features of a manifest as rows, each with the comment above it.
fn features(manifest: &str) -> Vec<(String, String)> {
    let section = manifest.split_once("\n[features]\n").map_or("", |(_, rest)| rest);
    let section = section.split("\n[").next().unwrap_or_default();
    let default = section.split_once("default = [").map_or("", |(_, rest)| rest);
    let default = default.split(']').next().unwrap_or_default();
    let (mut rows, mut comment) = (Vec::new(), String::new());
    for line in section.lines() {
        if let Some(words) = line.strip_prefix("# ") {
            comment = format!("{comment} {words}").trim().to_owned();
        } else if let Some((name, _)) =
            line.split_once(" = ").filter(|(name, _)| !name.contains(' '))
        {
            if name != "default" {
                let is_default = default.contains(&format!("\"{name}\""));
                rows.push((
                    format!("`{name}`{}", if is_default { ", on by default" } else { "" }),
                    comment,
                ));
            }
            comment = String::new();
        }
    }
    rows
}

fn readme(directory: &Path) -> String {
    let manifest = fs::read_to_string(directory.join("Cargo.toml")).expect("a manifest");
    let root = directory.join("src/lib.rs");
    let name =
        manifest.split_once("name = \"").expect("a name").1.split('"').next().expect("a name");
    let mut text =
        format!("# {name}\n\n{}", documentation(&fs::read_to_string(root).expect("UTF-8")));
    let features = features(&manifest);
    if !features.is_empty() {
        let mut table = "\n## Features\n\n| feature | what it is |\n|---|---|\n".to_owned();
        for (name, comment) in features {
            writeln!(table, "| {name} | {comment} |").expect("a string takes it");
        }
        assert!(text.ends_with(&table), "the documentation of {name} must end with:\n{table}");
    }
    text.push_str(
        "\n## More\n\n[The book](../../docs/introduction.md), [examples](../../examples/README.md), \
         [all crates](../../ARCHITECTURE.md#code-map). Licensed under MIT or Apache-2.0.\n\n\
         <!-- Written from the crate's documentation by the test `readmes` of tickwire-examples. -->\n",
    );
    text
}

#[test]
fn every_crate_has_a_readme_that_says_what_its_documentation_says() {
    let mut count = 0;
    for entry in fs::read_dir(crates()).expect("a directory") {
        let directory = entry.expect("an entry").path();
        let name = directory.file_name().expect("a name").to_string_lossy().into_owned();
        if BY_HAND.contains(&&*name) || !directory.join("Cargo.toml").exists() {
            continue;
        }
        count += 1;
        let (path, expected) = (directory.join("README.md"), readme(&directory));
        if std::env::var_os("TICKWIRE_BLESS").is_some() {
            fs::write(&path, &expected).expect("writable");
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == expected,
            "{} differs from the crate's documentation: \
             TICKWIRE_BLESS=1 cargo test -p tickwire-examples --test readmes",
            path.display()
        );
    }
    assert!(count > 15, "{count}");
}

#[test]
fn links_to_items_become_text() {
    assert_eq!(
        without_items("[`A`] and [b](crate::b), [c](https://c)"),
        "`A` and b, [c](https://c)"
    );
    let source = "//! T.\n//!\n//! # Examples\n//! ```\n//! # hidden\n//! shown\n//! ```\n";
    assert_eq!(documentation(source), "T.\n\n## Examples\n```rust\nshown\n```\n");
}
