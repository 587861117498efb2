//! Names of the tables' directories.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Write;
use tickwire_fast::Program;

/// Names that no table may have.
const TAKEN: [&str; 2] = [ERRORS, "manifest.json"];
/// Name of the table of data that were not decoded.
pub const ERRORS: &str = "errors";
/// Longest name in bytes. File systems allow 255; the rest is for suffixes that make names distinct.
const BYTES_MAX: usize = 200;

/// The directory name of each template's table: the template's name without characters that file names may
/// not have. If several names are equal, ignoring case, the template id or index is appended.
pub fn table_names(program: &Program) -> Vec<String> {
    let mut taken: HashSet<String> = TAKEN.map(str::to_owned).into();
    let plain: Vec<String> =
        program.templates().iter().map(|layout| plain(&layout.name.local)).collect();
    let mut seen = HashSet::new();
    let shared: HashSet<String> = plain
        .iter()
        .map(|name| name.to_lowercase())
        .filter(|name| !seen.insert(name.clone()))
        .collect();
    let mut names = Vec::new();
    for (index, (layout, plain)) in program.templates().iter().zip(plain).enumerate() {
        let id = layout.id.map_or(index as u64, |id| id.0.into());
        let mut name = match shared.contains(&plain.to_lowercase()) {
            true => format!("{plain}_{id}"),
            false => plain.clone(),
        };
        let mut copy = id;
        while !taken.insert(name.to_lowercase()) {
            name = format!("{plain}_{copy}");
            copy += 1;
        }
        names.push(name);
    }
    names
}

/// A file name as text. Bytes that are not UTF-8 are written in hex, so that different names have different
/// texts.
pub fn text_of(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}

fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let mut name: String = name.chars().map(plain).collect();
    while name.len() > BYTES_MAX {
        name.pop();
    }
    match name.is_empty() || name.starts_with('.') {
        true => format!("_{name}"),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_fast::TemplateSet;

    #[test]
    fn no_two_tables_have_one_name() {
        let names =
            ["A/B", "A_B", "a_b", "errors", "errors_4", "manifest.json", "..", "Плаза", "Plain"];
        let templates: String = (1..)
            .zip(names)
            .map(|(id, name)| {
                format!("<template name=\"{name}\" id=\"{id}\"><uInt32 name=\"n\"/></template>")
            })
            .collect();
        let long = format!(
            "<template name=\"{}\" id=\"99\"><uInt32 name=\"n\"/></template>",
            "я".repeat(300)
        );
        let set = TemplateSet::parse(&format!("<templates>{templates}{long}</templates>")).unwrap();
        let found = table_names(&Program::compile(set).unwrap());
        assert_eq!(
            found[..9],
            [
                "A_B_1",
                "A_B_2",
                "a_b_3",
                "errors_4",
                "errors_4_5",
                "manifest.json_6",
                "_..",
                "Плаза",
                "Plain"
            ]
        );
        assert!(found[9].len() <= BYTES_MAX);
    }
}
