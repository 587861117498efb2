//! Formats the generated text.

use crate::GenerateError;
use syn::parse::Parser;
use syn::{Attribute, Item, Visibility};

/// Parses and formats source.
pub(crate) fn layout(text: &str) -> Result<String, GenerateError> {
    let mut file = syn::parse_file(text).map_err(|error| GenerateError::NotRust {
        message: error.to_string(),
        source: text.to_owned(),
    })?;
    file.items.iter_mut().for_each(allow_dead_code);
    Ok(prettyplease::unparse(&file))
}

/// Allows dead code: crates that include the module privately use only a part of its public items.
fn allow_dead_code(item: &mut Item) {
    let is_public = |visibility: &Visibility| matches!(visibility, Visibility::Public(_));
    let attributes = match item {
        Item::Const(item) if is_public(&item.vis) => &mut item.attrs,
        Item::Enum(item) if is_public(&item.vis) => &mut item.attrs,
        Item::Impl(item) if item.trait_.is_none() => &mut item.attrs,
        Item::Struct(item) if is_public(&item.vis) => &mut item.attrs,
        Item::Type(item) if is_public(&item.vis) => &mut item.attrs,
        _ => return,
    };
    attributes.extend(Attribute::parse_outer.parse_str("#[allow(dead_code)]").unwrap_or_default());
}

/// Returns a byte string literal.
pub(crate) fn bytes(value: &[u8]) -> String {
    format!("b\"{}\"", value.escape_ascii())
}

/// Returns a doc comment of one line.
pub(crate) fn doc(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    format!("#[doc = {:?}]\n", format!(" {text}"))
}
