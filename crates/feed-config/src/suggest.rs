//! Suggestions for misspelt words.

/// Least similarity of a suggestion: one minus the edits per letter. Grammars and the settings of FIX sessions have
/// the same rule.
const SIMILARITY_MIN: f64 = 0.7;

/// Returns the candidate that resembles `word` most, if any does.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    let similarity = |candidate: &'a str| {
        let by = strsim::normalized_damerau_levenshtein(&word, &candidate.to_lowercase());
        (by, candidate)
    };
    let similar = candidates.into_iter().map(similarity).filter(|(by, _)| *by >= SIMILARITY_MIN);
    similar.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, candidate)| candidate)
}

/// Returns `: did you mean ...?`, or nothing if no candidate resembles `word`.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> String {
    let closest = closest(word, candidates);
    closest.map_or_else(String::new, |closest| format!(": did you mean `{closest}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_words_are_suggested() {
        assert_eq!(closest("templtes", ["framing", "templates"]), Some("templates"));
        assert_eq!(closest("Port", ["port", "group"]), Some("port"));
        assert_eq!(closest("hodl", ["hold", "held"]), Some("hold"));
        assert_eq!(closest("portal", ["port", "group"]), None);
    }
}
