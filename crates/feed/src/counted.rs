//! Counts in messages.

use std::fmt::Display;

/// Returns a count with its noun, which is in the plural unless the count is 1.
///
/// # Examples
///
/// ```
/// use tickwire_feed::counted;
///
/// assert_eq!(counted(1_u64, "packet"), "1 packet");
/// assert_eq!(counted(0_usize, "packet"), "0 packets");
/// assert_eq!(counted(2_u64, "recovery"), "2 recoveries");
/// ```
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {noun}s"),
    }
}
