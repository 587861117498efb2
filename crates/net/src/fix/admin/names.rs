//! Names of sessions in paths.

use super::super::sessions::SessionKey;

/// Why no session is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfound {
    /// There is none of that name.
    None,
    /// The name without `%` is that of several.
    Several,
}

/// Finds a session by the name in a path. Names have `%` and hex digits of their own: clients write them as they
/// are, or with each `%` encoded again, or with what `%` stands for, which may name several sessions.
pub(super) fn find(
    named: impl Iterator<Item = (SessionKey, String)>,
    written: &str,
) -> Result<SessionKey, Unfound> {
    let read = decoded(written);
    let mut alike = Vec::new();
    for (key, name) in named {
        if name == written || name.as_bytes() == read {
            return Ok(key);
        }
        if decoded(&name) == read {
            alike.push(key);
        }
    }
    match alike[..] {
        [key] => Ok(key),
        [] => Err(Unfound::None),
        _ => Err(Unfound::Several),
    }
}

/// Replaces `%` and two hex digits by their byte.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match digit(0).zip(digit(1)).filter(|_| *first == b'%') {
            Some((high, low)) => {
                bytes.push((high << 4 | low) as u8);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_and_two_hex_digits_are_a_byte() {
        for (text, bytes) in [
            ("A%2dB", &b"A-B"[..]),
            ("A%2DB%25", b"A-B%"),
            ("%c3%A4", "\u{e4}".as_bytes()),
            ("%2", b"%2"),
            ("%", b"%"),
            ("%+2", b"%+2"),
            ("%%2d", b"%-"),
            ("", b""),
        ] {
            assert_eq!(decoded(text), bytes, "{text}");
        }
    }
}
