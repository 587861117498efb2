//! Converts names of the dictionary to Rust names.

use std::collections::HashSet;

/// Words that are not valid as Rust names.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "union", "unsafe", "unsized", "use", "virtual", "where", "while",
];

/// Splits a name into words: at characters other than letters and digits, before a capital after a
/// small letter, and before the last of several capitals that is followed by a small letter.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, &found) in chars.iter().enumerate() {
        let is_small = |at: usize| chars.get(at).is_some_and(|c| c.is_ascii_lowercase());
        // The plural of an acronym, as in IDs, is not a separate word.
        let ends_plural = chars.get(at + 1) == Some(&'s')
            && !is_small(at + 2)
            && at > 0
            && chars[at - 1].is_ascii_uppercase();
        let begins = found.is_ascii_uppercase()
            && at > 0
            && (is_small(at - 1) || is_small(at + 1) && !ends_plural);
        if !found.is_ascii_alphanumeric() || begins {
            words.push(String::new());
        }
        if found.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(found);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the name of a field of a struct.
pub(crate) fn field(name: &str) -> String {
    let name = words(name).join("_").to_ascii_lowercase();
    match name.as_str() {
        "" => "unnamed".to_owned(),
        "self" | "super" | "crate" => format!("{name}_"),
        "yield" => "r#yield".to_owned(),
        _ if KEYWORDS.contains(&name.as_str()) => format!("r#{name}"),
        _ if name.starts_with(|first: char| first.is_ascii_digit()) => format!("n{name}"),
        _ => name,
    }
}

/// Returns the name of a type or variant.
pub(crate) fn camel(name: &str) -> String {
    let mut camel = String::new();
    for word in words(name) {
        let mut chars = word.chars();
        camel.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        let singular = word.strip_suffix('s').unwrap_or(&word);
        let is_shouted = singular.chars().all(|c| !c.is_ascii_lowercase());
        let rest = chars.as_str();
        camel.push_str(&if is_shouted { rest.to_ascii_lowercase() } else { rest.to_owned() });
    }
    match camel.as_str() {
        "" => "Unnamed".to_owned(),
        "Self" => "Self_".to_owned(),
        _ if camel.starts_with(|first: char| first.is_ascii_digit()) => format!("N{camel}"),
        _ => camel,
    }
}

/// Returns the name of a constant.
pub(crate) fn constant(name: &str) -> String {
    let name = words(name).join("_").to_ascii_uppercase();
    if name.starts_with(|first: char| first.is_ascii_digit()) || name.is_empty() {
        return format!("N{name}");
    }
    name
}

/// The names in use in a scope.
#[derive(Debug, Default)]
pub(crate) struct Scope(HashSet<String>);

impl Scope {
    /// Reserves a name. If it is in use, appends `suffix` and then numbers until it is unique.
    pub(crate) fn take(&mut self, name: String, suffix: &str) -> String {
        let mut candidate = name.clone();
        let mut number = 1;
        while !self.0.insert(candidate.clone()) {
            candidate = match number {
                1 if !suffix.is_empty() => format!("{name}{suffix}"),
                _ => format!("{name}{suffix}{number}"),
            };
            number += 1;
        }
        candidate
    }
}

/// Returns text for a doc comment: one line without characters that rustdoc would read as markup.
pub(crate) fn doc(text: &str) -> String {
    let mut line = String::new();
    for found in text.chars() {
        match found {
            '[' | ']' | '<' | '>' | '*' | '_' | '`' | '\\' | '#' => {
                line.push('\\');
                line.push(found);
            }
            found if found.is_control() => line.push(' '),
            found => line.push(found),
        }
    }
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_standard_become_names_of_rust() {
        let cases = [
            ("ClOrdID", "cl_ord_id", "ClOrdId"),
            ("NoPartyIDs", "no_party_ids", "NoPartyIds"),
            ("PartyIDs", "party_ids", "PartyIds"),
            ("CFICode", "cfi_code", "CfiCode"),
            ("Yield", "r#yield", "Yield"),
            ("Type", "r#type", "Type"),
            ("IOIQltyInd", "ioi_qlty_ind", "IoiQltyInd"),
            ("EncodedText", "encoded_text", "EncodedText"),
            ("AUTOMATED_EXECUTION", "automated_execution", "AutomatedExecution"),
            ("1ST_LEG", "n1st_leg", "N1stLeg"),
            ("Buy minus", "buy_minus", "BuyMinus"),
            ("Side2Text", "side2_text", "Side2Text"),
            ("--", "unnamed", "Unnamed"),
            ("self", "self_", "Self_"),
        ];
        for (name, snake, type_name) in cases {
            assert_eq!((field(name).as_str(), camel(name).as_str()), (snake, type_name), "{name}");
        }
        assert_eq!(constant("ClOrdID"), "CL_ORD_ID");
    }

    #[test]
    fn a_name_is_given_once() {
        let mut scope = Scope::default();
        let taken = ["A", "B", "A", "A", "A"].map(|name| scope.take(name.to_owned(), "X"));
        assert_eq!(taken, ["A", "B", "AX", "AX2", "AX3"]);
    }
}
