//! Suggests the known key for a misspelt one.

use std::collections::BTreeSet;

/// Least similarity of a suggestion: one minus the edits per letter. Feed files and grammars have the same rule.
const SIMILARITY_MIN: f64 = 0.7;
/// Fewest letters of a key that is the start of a known one.
const START_LETTERS_MIN: usize = 8;

/// Returns the known key that resembles `key` most, if one does.
pub(super) fn nearest<'k>(key: &str, known: &'k BTreeSet<String>) -> Option<&'k str> {
    let key = key.to_ascii_lowercase();
    let similarity = |candidate: &'k String| {
        let other = candidate.to_ascii_lowercase();
        let is_start = key.len() >= START_LETTERS_MIN && other.starts_with(&key);
        let by = strsim::normalized_damerau_levenshtein(&key, &other);
        (if is_start { by.max(SIMILARITY_MIN) } else { by }, candidate)
    };
    let similar = known.iter().map(similarity).filter(|(by, _)| *by >= SIMILARITY_MIN);
    similar.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, candidate)| &**candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_and_shortened_keys_have_a_nearest_key_and_others_none() {
        let known = ["RequiredPassword", "AllowedRemoteAddresses", "HeartBtInt", "Password"];
        let known = known.map(str::to_owned).into();
        for (key, expected) in [
            ("ReqiredPassword", Some("RequiredPassword")),
            ("requiredpass", Some("RequiredPassword")),
            ("AllowedRemote", Some("AllowedRemoteAddresses")),
            ("AllowRemoteAddress", Some("AllowedRemoteAddresses")),
            ("HeartbeatInt", Some("HeartBtInt")),
            ("Pasword", Some("Password")),
            ("AllowPosDup", None),
            ("Allowed", None),
            ("MyOwnKey", None),
        ] {
            assert_eq!(nearest(key, &known), expected, "{key}");
        }
    }
}
