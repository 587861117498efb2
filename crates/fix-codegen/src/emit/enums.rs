//! Emits enums.

use std::fmt::Write;

use super::put;
use crate::names::doc;
use crate::plan::{DictionaryPlan, EnumPlan, Repr};

/// Returns the name of an enum with its lifetime, if any.
pub(super) fn type_of(found: &EnumPlan) -> String {
    format!("{}{}", found.ident, if found.repr == Repr::Text { "<'m>" } else { "" })
}

/// Emits an enum and the conversions from and to its values.
pub(super) fn enumeration(out: &mut String, found: &EnumPlan) {
    let own = type_of(found);
    put!(out, "/// Values of {} ({}).", doc(&found.name), found.tag);
    put!(out, "#[derive(Clone, Copy, Debug, PartialEq, Eq)]");
    if has_common_part(found) {
        put!(out, "#[allow(clippy::enum_variant_names, reason = \"names are the dictionary's\")]");
    }
    put!(out, "pub enum {own} {{");
    for (ident, value, description) in &found.variants {
        put!(out, "    /// `{}`{}", value_doc(value), described(description));
        put!(out, "    {ident},");
    }
    put!(out, "    /// A value that the dictionary does not list.");
    let kept = match found.repr {
        Repr::Char => "u8",
        Repr::Int => "i64",
        Repr::Text => "FixText<'m>",
    };
    put!(out, "    Unlisted({kept}),\n}}\n");
    match found.repr {
        Repr::Char => {
            by_value(out, found, "u8", "from_char", "char", |value| format!("b{:?}", first(value)))
        }
        Repr::Int => by_value(out, found, "i64", "from_int", "int", ToOwned::to_owned),
        Repr::Text => by_text(out, found),
    }
    keeping(out, found);
}

/// Emits the storage of its values in slots.
fn keeping(out: &mut String, found: &EnumPlan) {
    let (form, of, to) = match found.repr {
        Repr::Char => {
            let of = "from_char(rt::WordValue::from_words(form))";
            ("(u64, u64)", of, "rt::WordValue::to_words(self.char())")
        }
        Repr::Int => {
            let of = "from_int(rt::WordValue::from_words(form))";
            ("(u64, u64)", of, "rt::WordValue::to_words(self.int())")
        }
        Repr::Text => ("FixText<'m>", "from_text(form)", "self.text()"),
    };
    put!(out, "impl<'m> rt::SlotValue<'m> for {} {{", type_of(found));
    put!(out, "    type Form = {form};\n");
    put!(out, "    #[inline(always)]");
    put!(out, "    fn from_form(form: {form}) -> Self {{\n        Self::{of}\n    }}\n");
    put!(out, "    #[inline(always)]");
    put!(out, "    fn into_form(self) -> {form} {{\n        {to}\n    }}\n}}\n");
}

/// Emits the function that prints the values of all enums, by their tags.
pub(super) fn listed(out: &mut String, plan: &DictionaryPlan) {
    let [tag, held, to] = match plan.wanted_enums().next() {
        Some(_) => ["tag", "held", "out"],
        None => ["_"; 3],
    };
    put!(out, "fn show_listed(");
    put!(
        out,
        "    {tag}: u32,\n    {held}: rt::SlotContents<'_>,\n    {to}: &mut std::fmt::Formatter<'_>,"
    );
    put!(out, ") -> std::fmt::Result {{");
    if tag == "_" {
        put!(out, "    Ok(())\n}}\n");
        return;
    }
    put!(out, "    match tag {{");
    for found in plan.wanted_enums() {
        put!(out, "        {} => rt::show_listed::<{}>(held, out),", found.tag, found.ident);
    }
    put!(out, "        _ => Ok(()),\n    }}\n}}\n");
}

fn first(value: &str) -> char {
    value.chars().next().unwrap_or('?')
}

/// Returns a value in a form that is safe in a doc comment.
fn value_doc(value: &str) -> String {
    value.chars().map(|c| if c.is_control() || c == '`' { '?' } else { c }).collect()
}

fn described(description: &str) -> String {
    match description {
        "" => ".".to_owned(),
        text => format!(", {}.", doc(text)),
    }
}

/// True if all variants begin or end with the same word, which clippy reports.
fn has_common_part(found: &EnumPlan) -> bool {
    let names: Vec<&str> = found.variants.iter().map(|(ident, ..)| ident.as_str()).collect();
    let Some((one, rest)) = names.split_first() else { return false };
    let common = |take: fn(&str, usize) -> Option<&str>| {
        let len = (1..=one.len()).take_while(|len| {
            take(one, *len)
                .is_some_and(|part| rest.iter().all(|name| take(name, *len) == Some(part)))
        });
        len.last().unwrap_or(0) > 0
    };
    !rest.is_empty() && (common(start) || common(end))
        || names.iter().any(|name| {
            name.starts_with(found.ident.as_str()) || name.ends_with(found.ident.as_str())
        })
}

fn start(name: &str, len: usize) -> Option<&str> {
    name.get(..len)
}

fn end(name: &str, len: usize) -> Option<&str> {
    name.get(name.len().checked_sub(len)?..)
}

/// Emits the conversions of an enum of characters or numbers.
fn by_value(
    out: &mut String,
    found: &EnumPlan,
    kept: &str,
    from: &str,
    to: &str,
    literal: impl Fn(&str) -> String,
) {
    put!(out, "impl {} {{", found.ident);
    put!(
        out,
        "    /// Returns the variant of a value, `Unlisted` if the dictionary does not list it."
    );
    put!(out, "    pub const fn {from}(value: {kept}) -> Self {{");
    put!(out, "        match value {{");
    for (ident, value, _) in &found.variants {
        put!(out, "            {} => Self::{ident},", literal(value));
    }
    put!(out, "            other => Self::Unlisted(other),\n        }}\n    }}\n");
    put!(out, "    /// Returns the value on the wire.");
    put!(out, "    pub const fn {to}(self) -> {kept} {{");
    put!(out, "        match self {{");
    for (ident, value, _) in &found.variants {
        put!(out, "            Self::{ident} => {},", literal(value));
    }
    put!(out, "            Self::Unlisted(other) => other,\n        }}\n    }}\n}}\n");
}

/// Emits the conversions of an enum of texts.
fn by_text(out: &mut String, found: &EnumPlan) {
    put!(out, "impl<'m> {}<'m> {{", found.ident);
    put!(
        out,
        "    /// Returns the variant of a value, `Unlisted` if the dictionary does not list it."
    );
    put!(out, "    pub const fn from_text(value: FixText<'m>) -> Self {{");
    put!(out, "        match value.0 {{");
    for (ident, value, _) in &found.variants {
        put!(out, "            {} => Self::{ident},", literal(value));
    }
    put!(out, "            _ => Self::Unlisted(value),\n        }}\n    }}\n");
    put!(out, "    /// Returns the value on the wire.");
    put!(out, "    pub const fn text(self) -> FixText<'m> {{");
    put!(out, "        match self {{");
    for (ident, value, _) in &found.variants {
        put!(out, "            Self::{ident} => FixText({}),", literal(value));
    }
    put!(out, "            Self::Unlisted(other) => other,\n        }}\n    }}\n}}\n");
    put!(out, "impl<'m> MultipleElement<'m> for {}<'m> {{", found.ident);
    put!(out, "    fn from_text(text: FixText<'m>) -> Self {{");
    put!(out, "        Self::from_text(text)\n    }}\n}}\n");
}

/// Returns a byte string literal.
fn literal(value: &str) -> String {
    format!("b\"{}\"", value.as_bytes().escape_ascii())
}
