//! Deltas and tails of strings: the shortest encoding of a value relative to the previous one.
//!
//! Spec: FAST 1.1 §6.3.7.3, §6.3.7.4, §6.3.8.

use super::writer;

/// A string as a delta: how many bytes of the base it cuts, and the bytes it adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextDelta<'v> {
    /// Number of bytes cut. Negative values cut in front: -1 cuts nothing.
    pub(crate) subtraction: i64,
    pub(crate) added: &'v [u8],
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// True if the wire type can encode these bytes.
fn is_expressible(is_ascii: bool, bytes: &[u8]) -> bool {
    !is_ascii || writer::is_ascii_expressible(bytes)
}

/// Returns how many of the first `kept` bytes may be kept so that the rest of `value` can still be
/// encoded.
fn keep_in_front(is_ascii: bool, value: &[u8], kept: usize) -> Option<usize> {
    (0..=kept).rev().find(|&kept| is_expressible(is_ascii, &value[kept..]))
}

impl<'v> TextDelta<'v> {
    /// Returns the shortest delta from `base` to `value`; at equal length the one that cuts at the
    /// back. `None` if no ascii string can express it.
    pub(crate) fn shortest(
        is_ascii: bool,
        is_nullable: bool,
        base: &[u8],
        value: &'v [u8],
    ) -> Option<Self> {
        let back = keep_in_front(is_ascii, value, common_prefix(base, value))
            .map(|kept| Self { subtraction: (base.len() - kept) as i64, added: &value[kept..] });
        if back.is_some_and(|back| back.added.is_empty()) {
            return back;
        }
        let kept = common_suffix(base, value);
        let added = &value[..value.len() - kept];
        let front = Self { subtraction: !((base.len() - kept) as i64), added };
        let front = Some(front).filter(|front| is_expressible(is_ascii, front.added));
        let len = |delta: &Self| delta.encoded_len(is_ascii, is_nullable);
        match (back, front) {
            (Some(back), Some(front)) if len(&front) < len(&back) => Some(front),
            (Some(back), _) => Some(back),
            (None, front) => front,
        }
    }

    fn encoded_len(&self, is_ascii: bool, is_nullable: bool) -> usize {
        let shift = i64::from(is_nullable && self.subtraction >= 0);
        let added = self.added.len();
        let prefix = match is_ascii {
            true => usize::from(added == 0 || self.added[0] == 0),
            false => writer::unsigned_len(added as u64),
        };
        writer::signed_len(self.subtraction + shift) + prefix + added
    }
}

/// Returns the shortest tail that turns `base` into `value`. A tail never shortens its base; a tail
/// longer than the base replaces it.
pub(crate) fn shortest_tail<'v>(is_ascii: bool, base: &[u8], value: &'v [u8]) -> Option<&'v [u8]> {
    if value.len() < base.len() {
        return None;
    }
    let kept = if value.len() == base.len() { common_prefix(base, value) } else { 0 };
    keep_in_front(is_ascii, value, kept).map(|kept| &value[kept..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortest<'v>(base: &str, value: &'v str) -> (i64, &'v str) {
        let delta = TextDelta::shortest(true, false, base.as_bytes(), value.as_bytes());
        let TextDelta { subtraction, added } = delta.expect("expressible");
        (subtraction, std::str::from_utf8(added).unwrap())
    }

    #[test]
    fn a_delta_cuts_where_less_has_to_be_said() {
        assert_eq!(shortest("", "GEH6"), (0, "GEH6"));
        assert_eq!(shortest("GEH6", "GEM6"), (2, "M6"));
        assert_eq!(shortest("GEM6", "ESM6"), (!2, "ES"));
        assert_eq!(shortest("ESM6", "RSESM6"), (!0, "RS"));
        assert_eq!(shortest("ESM6", "ESM6"), (0, ""));
        assert_eq!(shortest("ESM6", ""), (4, ""));
    }

    #[test]
    fn a_delta_keeps_less_where_the_rest_would_begin_with_a_nul() {
        assert_eq!(shortest("AB", "AB\0C"), (1, "B\0C"));
        assert_eq!(TextDelta::shortest(true, false, b"", b"\0C"), None);
        let bytes = TextDelta::shortest(false, false, b"", b"\0C").unwrap();
        assert_eq!(bytes, TextDelta { subtraction: 0, added: b"\0C" });
    }

    #[test]
    fn a_tail_replaces_the_end_or_everything() {
        assert_eq!(shortest_tail(true, b"12:30", b"12:31"), Some(&b"1"[..]));
        assert_eq!(shortest_tail(true, b"12:30", b"12:30"), Some(&b""[..]));
        assert_eq!(shortest_tail(true, b"12:30", b"12:30:01"), Some(&b"12:30:01"[..]));
        assert_eq!(shortest_tail(true, b"", b"12"), Some(&b"12"[..]));
        assert_eq!(shortest_tail(true, b"12:30", b"12"), None);
    }
}
