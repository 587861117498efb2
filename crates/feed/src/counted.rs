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
/// assert_eq!(counted(2_u64, "day"), "2 days");
/// ```
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {noun}");
    }
    let stem = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    match stem {
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {noun}s"),
    }
}
