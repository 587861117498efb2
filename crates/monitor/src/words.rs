//! Counts in sentences.

/// Returns a count with the words after it: `one` after 1, otherwise `more`.
pub(crate) fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}
