//! Fields that identify an instrument, by FIX tag or by their name in the templates.

use tickwire_feed_config::KeyField;

/// Parses a field of `--instrument-key`.
pub fn parse(text: &str) -> Result<KeyField, String> {
    match text.parse() {
        Ok(tag) => Ok(KeyField::Tag(tag)),
        Err(_) if text.is_empty() => Err("a tag or a name is expected".to_owned()),
        Err(_) => Ok(KeyField::Name(text.to_owned())),
    }
}
