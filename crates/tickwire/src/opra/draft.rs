//! Messages read from JSON, in the form that decoding prints.

use tickwire_opra::{
    Category, Chars, Draft, EncodeError, Entry, Field, GROUP_ENTRIES_MAX, Group, Kind, Version,
    group_of,
};
use tickwire_text::json::Json;

/// Name of the list of group entries.
const GROUPS: &str = "groups";

/// Reads a line into `draft`, which forgets what it held.
///
/// # Errors
/// What is wrong, in words.
pub fn read(draft: &mut Draft, version: Version, line: &str) -> Result<(), String> {
    let object: Json = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let Json::Object(members) = &object else {
        return Err(format!("expected an object, found {}", object.kind()));
    };
    draft.clear();
    for (name, value) in members.iter().filter(|(name, _)| name != GROUPS) {
        let field = Field::from_name(name).ok_or_else(|| {
            format!("\"{name}\" is no field of OPRA: take the names that decode prints")
        })?;
        set(draft, version, field, value).map_err(|text| format!("\"{name}\": {text}"))?;
    }
    let category = object.member("cat").ok_or("\"cat\" is missing")?;
    let category = Category::from_code(code(category)?);
    for field in category.shape(version).fields {
        let is_string = matches!(field.kind(version), Kind::Chars(_) | Kind::Text);
        if is_string && object.member(field.name()).is_none() {
            return Err(format!("\"{}\" is missing", field.name()));
        }
    }
    if category == Category::Underlying {
        let message_type = object.member("type").and_then(Json::unsigned).unwrap_or_default();
        if let Some(group) = u32::try_from(message_type).ok().and_then(group_of) {
            draft.set_entries(&entries(&group, object.member(GROUPS))?);
        }
    }
    Ok(())
}

/// An encoder's error with its field.
pub fn describe(error: EncodeError) -> String {
    match error.field {
        Some(field) => format!("\"{}\": {}", field.name(), error),
        None => error.to_string(),
    }
}

fn set(draft: &mut Draft, version: Version, field: Field, value: &Json) -> Result<(), String> {
    match field.kind(version) {
        _ if field == Field::Category => draft.set_number(field, code(value)?),
        Kind::SeqNum(_) => {
            let seq_num = value.unsigned().ok_or_else(|| expected("a whole number", value))?;
            draft.set_seq_num(seq_num);
        }
        Kind::Chars(_) => draft.set_symbol(chars(field, value)?),
        Kind::Text => draft.set_text(field, text(value)?).map_err(|error| error.to_string())?,
        _ => draft.set_number(field, number(value)?),
    }
    Ok(())
}

/// The code of a category: a character, or a number where it is none.
fn code(value: &Json) -> Result<u32, String> {
    match value {
        Json::Text(text) => match text.as_bytes() {
            [code] => Ok((*code).into()),
            _ => Err(format!("expected one character, found \"{text}\"")),
        },
        value => number(value),
    }
}

fn number(value: &Json) -> Result<u32, String> {
    let number = value.unsigned().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| expected("a whole number below 2^32", value))
}

/// A string. An empty one is what a decoder prints where the packet never gave it a value.
fn text(value: &Json) -> Result<&str, String> {
    value.text().ok_or_else(|| expected("a string", value))
}

fn chars(field: Field, value: &Json) -> Result<Chars, String> {
    let text = text(value)?;
    let chars = Chars::new(text.as_bytes()).filter(|chars| chars.len() <= field.bytes_max());
    let max = field.bytes_max();
    chars.ok_or_else(|| format!("expected up to {max} ASCII characters, found \"{text}\""))
}

fn expected(what: &str, found: &Json) -> String {
    match found {
        Json::Integer(number) => format!("expected {what}, found {number}"),
        found => format!("expected {what}, found {}", found.kind()),
    }
}

fn entries(group: &Group, list: Option<&Json>) -> Result<Vec<Entry>, String> {
    let Some(Json::List(list)) = list else {
        return Err(format!("\"{GROUPS}\": expected a list of objects"));
    };
    if list.len() as u64 > u64::from(GROUP_ENTRIES_MAX) {
        return Err(format!("\"{GROUPS}\": more than {GROUP_ENTRIES_MAX} entries"));
    }
    list.iter().map(|value| entry(group, value)).collect()
}

fn entry(group: &Group, value: &Json) -> Result<Entry, String> {
    let mut entry = Entry::default();
    for field in group.fields {
        let name = field.name();
        let member = value.member(name).unwrap_or(&Json::Null);
        set_member(&mut entry, *field, member)
            .map_err(|text| format!("\"{GROUPS}\": \"{name}\": {text}"))?;
    }
    Ok(entry)
}

fn set_member(entry: &mut Entry, field: Field, value: &Json) -> Result<(), String> {
    match field {
        Field::IndexValue => entry.value = chars(field, value)?,
        Field::BidIndexValue => entry.bid = chars(field, value)?,
        Field::OfferIndexValue => entry.offer = chars(field, value)?,
        Field::DecimalPlacement => entry.decimal_placement = number(value)?,
        Field::SpotValue => entry.spot = number(value)?,
        _ => entry.symbol = chars(field, value)?,
    }
    Ok(())
}
