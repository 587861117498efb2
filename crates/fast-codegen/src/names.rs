//! Converts names of templates and fields to Rust identifiers.

use std::collections::HashSet;

const KEYWORDS: [&str; 54] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "raw",
    "ref", "return", "self", "Self", "static", "struct", "super", "trait", "true", "try", "type",
    "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Splits a name into words: at characters that identifiers cannot have, and before an upper-case
/// letter that follows a lower-case letter or digit.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let characters: Vec<char> = name.chars().collect();
    for (index, &character) in characters.iter().enumerate() {
        if !character.is_ascii_alphanumeric() {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            continue;
        }
        let before = index.checked_sub(1).and_then(|index| characters.get(index));
        let after = characters.get(index + 1);
        let starts = character.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase)
            });
        if starts && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.push(character.to_ascii_lowercase());
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Converts to snake case: `MDEntryPx` becomes `md_entry_px`.
pub(crate) fn snake(name: &str) -> String {
    let mut text = words(name).join("_");
    if text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit()) {
        text.insert(0, 'n');
    }
    if KEYWORDS.contains(&text.as_str()) {
        text.push('_');
    }
    text
}

/// Converts to camel case: `MDEntries` becomes `MdEntries`.
pub(crate) fn camel(name: &str) -> String {
    let mut text = String::new();
    for word in words(name) {
        let mut characters = word.chars();
        text.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        text.push_str(characters.as_str());
    }
    if text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit()) {
        text.insert(0, 'T');
    }
    if text == "Self" {
        text.push('_');
    }
    text
}

/// Converts to upper case: `MDEntryPx` becomes `MD_ENTRY_PX`.
pub(crate) fn upper(name: &str) -> String {
    snake(name).to_ascii_uppercase()
}

/// Names already used in one scope.
#[derive(Debug, Default)]
pub(crate) struct NameScope(HashSet<String>);

impl NameScope {
    /// Creates a scope in which these names, separated by spaces, are used.
    pub(crate) fn with(taken: &str) -> Self {
        Self(taken.split(' ').map(str::to_owned).collect())
    }

    /// Returns the name, with the first number appended that makes it unique if necessary. `also`
    /// returns derived names, which must be unique too.
    pub(crate) fn claim(&mut self, name: &str, also: impl Fn(&str) -> Vec<String>) -> String {
        self.claim_numbered(name, &format!("{}_", name.trim_end_matches('_')), also)
    }

    /// As [`claim`](Self::claim), for type names: the number is appended without an underscore.
    pub(crate) fn claim_type(&mut self, name: &str) -> String {
        self.claim_numbered(name, name, |_| Vec::new())
    }

    fn claim_numbered(
        &mut self,
        name: &str,
        numbered: &str,
        also: impl Fn(&str) -> Vec<String>,
    ) -> String {
        let is_free = |name: &String| !self.0.contains(name);
        let name = std::iter::once(name.to_owned())
            .chain((2..).map(|number| format!("{numbered}{number}")))
            .find(|name| is_free(name) && also(name).iter().all(is_free))
            .unwrap_or_default();
        self.0.extend(also(&name));
        self.0.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_words_of_the_template() {
        assert_eq!(snake("MDEntryPx"), "md_entry_px");
        assert_eq!(snake("MsgSeqNum"), "msg_seq_num");
        assert_eq!(snake("type"), "type_");
        assert_eq!(snake("52WeekHigh"), "n52_week_high");
        assert_eq!(snake("#dyn"), "dyn_");
        assert_eq!(snake(""), "n");
        assert_eq!(camel("MDIncRefresh_81"), "MdIncRefresh81");
        assert_eq!(camel("X-DF-Snapshot"), "XDfSnapshot");
        assert_eq!(camel("1"), "T1");
        assert_eq!(upper("ApplVerID"), "APPL_VER_ID");
    }

    #[test]
    fn a_name_taken_gets_a_number() {
        let mut scope = NameScope::with("arena");
        let setter = |name: &str| vec![format!("set_{name}")];
        assert_eq!(scope.claim("price", setter), "price");
        assert_eq!(scope.claim("price", setter), "price_2");
        assert_eq!(scope.claim("set_price", setter), "set_price_3");
        assert_eq!(scope.claim("arena", setter), "arena_2");
    }
}
