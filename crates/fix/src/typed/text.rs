//! Text in its wire form.

use std::fmt;

/// Bytes that are usually text; FIX does not define the encoding.
///
/// Prints and compares by its bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FixText<'m>(pub &'m [u8]);

impl<'m> FixText<'m> {
    /// Returns the bytes.
    #[inline]
    pub const fn as_bytes(self) -> &'m [u8] {
        self.0
    }

    /// Returns the text if it is UTF-8.
    pub const fn as_str(self) -> Option<&'m str> {
        match std::str::from_utf8(self.0) {
            Ok(text) => Some(text),
            Err(_) => None,
        }
    }
}

impl<'m> From<&'m str> for FixText<'m> {
    fn from(text: &'m str) -> Self {
        Self(text.as_bytes())
    }
}

impl<'m> From<&'m [u8]> for FixText<'m> {
    fn from(text: &'m [u8]) -> Self {
        Self(text)
    }
}

impl PartialEq<str> for FixText<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for FixText<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for FixText<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&String::from_utf8_lossy(self.0))
    }
}

impl fmt::Debug for FixText<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(self.0).fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_prints_what_it_can() {
        let text = FixText::from("BHP");
        assert_eq!((format!("{text:>5}"), format!("{text:?}")), ("  BHP".into(), "\"BHP\"".into()));
        assert_eq!((text.as_str(), text == "BHP"), (Some("BHP"), true));
        assert_eq!(text.as_bytes(), b"BHP");
        let text = FixText(&[0xE9, b'x']);
        assert_eq!((text.as_str(), text.to_string()), (None, "\u{FFFD}x".to_owned()));
    }
}
