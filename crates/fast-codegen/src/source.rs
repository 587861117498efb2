//! From the generator's text to source for reading.

use crate::GenerateError;

/// Parses and lays out source.
pub(crate) fn layout(text: &str) -> Result<String, GenerateError> {
    let file = syn::parse_file(text).map_err(|error| GenerateError::NotRust {
        message: error.to_string(),
        source: text.to_owned(),
    })?;
    Ok(prettyplease::unparse(&file))
}

/// A byte string literal.
pub(crate) fn bytes(value: &[u8]) -> String {
    format!("b\"{}\"", value.escape_ascii())
}

/// A doc comment of one line.
pub(crate) fn doc(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    format!("#[doc = {:?}]\n", format!(" {text}"))
}
