//! Links in the book, the READMEs and the other pages are valid, and the book contains every page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

/// Collects the Markdown files below `directory`, except built and fetched ones.
fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&&*name)
        {
            pages(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// Returns the text without code blocks.
fn prose(text: &str) -> String {
    let parts = text.split("\n```").enumerate();
    parts.filter(|(index, _)| index % 2 == 0).map(|(_, part)| part).collect()
}

/// Returns the link targets in a text.
fn targets(text: &str) -> Vec<&str> {
    let after = text.split("](").skip(1);
    after.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// Returns the anchor that GitHub and mdBook generate for a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().replace(' ', "-")
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut found = Vec::new();
    pages(&root(), &mut found);
    let (mut links, mut broken) = (0, Vec::new());
    for page in &found {
        let text = fs::read_to_string(page).expect("UTF-8");
        for target in targets(&prose(&text)) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => page.clone(),
                file => page.parent().expect("a directory").join(file),
            };
            let leads = file.exists()
                && (heading.is_empty() || {
                    let text = fs::read_to_string(&file).expect("UTF-8");
                    let prose = prose(&text);
                    let mut headings = prose.lines().filter(|line| line.starts_with('#'));
                    headings.any(|line| anchor(line) == heading)
                });
            if !leads {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(links > 100, "{links}");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_book_has_every_page_and_its_rust_is_tested() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("UTF-8");
    let named: BTreeSet<_> = targets(&summary).into_iter().map(str::to_owned).collect();
    let mut found = Vec::new();
    pages(&docs, &mut found);
    let name = |path: &PathBuf| path.strip_prefix(&docs).expect("below").display().to_string();
    let there: BTreeSet<_> = found.iter().map(name).filter(|name| name != "SUMMARY.md").collect();
    assert_eq!(named, there);

    let tested =
        concat!(include_str!("../src/lib.rs"), include_str!("../../../crates/dsparser/src/lib.rs"));
    for page in there {
        let text = fs::read_to_string(docs.join(&page)).expect("UTF-8");
        if text.contains("\n```rust") {
            assert!(tested.contains(&page), "the Rust of {page} is not among the doctests");
        }
    }
}
