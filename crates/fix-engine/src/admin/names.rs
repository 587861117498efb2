//! Names of sessions in paths.

use super::super::sessions::SessionKey;

/// The reason why no session is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfound {
    /// No session has this name.
    Missing,
    /// Several sessions have the decoded name.
    Ambiguous,
}

/// Finds a session by the name in a path. Names themselves contain `%` with hex digits. Clients may
/// write them unchanged, percent-encode each `%` again, or write the decoded characters, which may
/// match several sessions.
pub(super) fn find(
    named: impl Iterator<Item = (SessionKey, String)>,
    written: &str,
) -> Result<SessionKey, Unfound> {
    let read = decoded(written);
    let mut named: Vec<(SessionKey, String)> = named.collect();
    let is_exact = |(_, name): &&(SessionKey, String)| name == written;
    let is_encoded = |(_, name): &&(SessionKey, String)| name.as_bytes() == read;
    let exact = named.iter().find(is_exact).or_else(|| named.iter().find(is_encoded));
    if let Some((key, _)) = exact {
        return Ok(*key);
    }
    named.retain(|(_, name)| decoded(name) == read);
    match named[..] {
        [(key, _)] => Ok(key),
        [] => Err(Unfound::Missing),
        _ => Err(Unfound::Ambiguous),
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
