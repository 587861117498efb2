//! Names of the tables' directories.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt::Write;
use tickwire_fast::{Program, TemplateLayout};
use tickwire_fix::Dictionary;
use tickwire_fix_text::Names;

/// Names that no table may have.
const TAKEN: [&str; 2] = [ERRORS, "manifest.json"];
/// Name of the table of data that were not decoded.
pub const ERRORS: &str = "errors";
/// Maximum bytes of a name, and of an id that is appended to it. File systems allow 255 bytes in total;
/// the rest is for a number that makes names distinct.
const NAME_BYTES_MAX: usize = 200;
const ID_BYTES_MAX: usize = 20;

/// The directory name of each template's table.
pub fn table_names(program: &Program) -> Vec<String> {
    let id = |(index, layout): (usize, &TemplateLayout)| {
        let id = layout.id.map_or(index as u64, |id| id.0.into());
        (layout.name.local.to_string(), id.to_string())
    };
    distinct(&program.templates().iter().enumerate().map(id).collect::<Vec<_>>())
}

/// The directory name of each message type's table, by MsgType.
pub fn message_tables(names: Names<'_>) -> HashMap<Vec<u8>, String> {
    let messages = [names.session, names.application].into_iter().flat_map(Dictionary::messages);
    let mut known: Vec<(String, String)> = Vec::new();
    for message in messages {
        // The first dictionary that has a type defines its columns, too.
        if !known.iter().any(|(_, msg_type)| msg_type == message.msg_type()) {
            known.push((message.name().to_owned(), message.msg_type().to_owned()));
        }
    }
    let types = known.iter().map(|(_, msg_type)| msg_type.as_bytes().to_vec());
    types.zip(distinct(&known)).collect()
}

/// Directory names for tables, given by name and id: the name without characters that file names cannot
/// contain. If several names are equal, ignoring case, the id is appended.
fn distinct(tables: &[(String, String)]) -> Vec<String> {
    let mut taken: HashSet<String> = TAKEN.map(str::to_owned).into();
    let plain_names: Vec<String> =
        tables.iter().map(|(name, _)| plain(name, NAME_BYTES_MAX)).collect();
    let mut seen = HashSet::new();
    let shared: HashSet<String> = plain_names
        .iter()
        .map(|name| name.to_lowercase())
        .filter(|name| !seen.insert(name.clone()))
        .collect();
    let mut names = Vec::new();
    for ((_, id), name) in tables.iter().zip(plain_names) {
        let with_id = format!("{name}_{}", plain(id, ID_BYTES_MAX));
        let mut found = if shared.contains(&name.to_lowercase()) { with_id.clone() } else { name };
        let mut copy = 1;
        while !taken.insert(found.to_lowercase()) {
            found = if copy == 1 { with_id.clone() } else { format!("{with_id}_{copy}") };
            copy += 1;
        }
        names.push(found);
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

fn plain(name: &str, bytes_max: usize) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let mut name: String = name.chars().map(plain).collect();
    while name.len() > bytes_max {
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
        assert!(found[9].len() <= NAME_BYTES_MAX);
    }

    #[test]
    fn message_names_that_are_no_directory_names_are_replaced() {
        let messages =
            [("A/B", "1"), ("Twice", "2"), ("Twice", "3/4"), ("errors", "5"), ("../x", "6")]
                .map(|(name, id)| format!("<message name='{name}' msgtype='{id}' msgcat='app'/>"))
                .concat();
        let xml = format!(
            "<fix major='4' minor='4'><header/><trailer/><components/><messages>{messages}</messages><fields/></fix>"
        );
        let dictionary = Dictionary::parse(&xml).unwrap();
        let tables = message_tables(Names { session: &dictionary, application: &dictionary });
        let found = ["1", "2", "3/4", "5", "6"].map(|id| tables[id.as_bytes()].as_str());
        assert_eq!(found, ["A_B", "Twice_2", "Twice_3_4", "errors_5", "_.._x"]);
    }
}
