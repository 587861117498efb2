//! Messages parsed from JSON in the format that decoding prints.

use super::style::OpraMessagePlace;
use tickwire_opra::{
    BEST_BID, BEST_OFFER, Category, Chars, Field, GROUP_ENTRIES_MAX, OpraEncodeError, OpraEntry,
    OpraFieldKind, OpraGroup, OpraMessage, OpraMessageDraft, OpraVersion, group_of,
};
use tickwire_text::json::Json;

/// Name of the list of group entries.
const GROUPS: &str = "groups";

/// Parses a line into `draft`, which is cleared first. Returns the index of its packet, if present.
///
/// # Errors
/// A description of the error.
pub fn read(
    draft: &mut OpraMessageDraft,
    version: OpraVersion,
    line: &str,
) -> Result<Option<u64>, String> {
    let object: Json = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let Json::Object(members) = &object else {
        return Err(format!("expected an object, found {}", object.kind()));
    };
    draft.clear();
    named_once(members)?;
    let is_field = |name: &str| name != GROUPS && !OpraMessagePlace::NAMES.contains(&name);
    for (name, value) in members.iter().filter(|(name, _)| is_field(name)) {
        let field = Field::from_name(name).ok_or_else(|| {
            format!("\"{name}\" is not an OPRA field: use the names that decode prints")
        })?;
        set(draft, version, field, value).map_err(|text| format!("\"{name}\": {text}"))?;
    }
    let category = object.member("cat").ok_or("\"cat\" is missing")?;
    let category = Category::from_code(code(category)?);
    is_of_category(category, version, members)?;
    for field in category.fields(version) {
        let is_string =
            matches!(field.kind(version), OpraFieldKind::Chars(_) | OpraFieldKind::Text);
        if is_string && !field.is_reserved() && object.member(field.name()).is_none() {
            return Err(format!("\"{}\" is missing", field.name()));
        }
    }
    if category == Category::Underlying {
        let message_type = object.member("type").map_or(Ok(0), code)?;
        if let Some(group) = group_of(version, message_type) {
            draft.set_entries(&entries(&group, object.member(GROUPS))?);
        }
    }
    lacks_nothing_of(draft, members)?;
    packet_of(&object)
}

/// Refuses a name that occurs twice: one of its values would be lost.
fn named_once(members: &[(String, Json)]) -> Result<(), String> {
    for (index, (name, _)) in members.iter().enumerate() {
        if members[..index].iter().any(|(other, _)| other == name) {
            return Err(format!("\"{name}\" occurs twice"));
        }
    }
    Ok(())
}

/// Refuses fields that the category does not have. This check comes first, so that such a field is not
/// reported as a missing value.
fn is_of_category(
    category: Category,
    version: OpraVersion,
    members: &[(String, Json)],
) -> Result<(), String> {
    let fields = category.fields(version);
    // Fields that follow the BBO indicator. In version 1.03 reserved fields also end these appendages.
    let is_appended = |field: Field| {
        BEST_BID.contains(&field) || BEST_OFFER.contains(&field) || field.is_reserved()
    };
    let may_have = |field| match category {
        // The message type determines the group and thereby the fields.
        Category::Underlying => true,
        _ => fields.contains(&field) || (fields.contains(&Field::Bbo) && is_appended(field)),
    };
    let mut named = members.iter().filter_map(|(name, _)| Field::from_name(name));
    match named.find(|field| !may_have(*field)) {
        Some(field) => Err(has_none(field.name(), category.code().into())),
        None => Ok(()),
    }
}

fn has_none(name: &str, category: char) -> String {
    format!("\"{name}\": no such field in this message of category {category}")
}

/// Refuses members that a message of this category, type and BBO indicator does not have.
fn lacks_nothing_of(
    draft: &mut OpraMessageDraft,
    members: &[(String, Json)],
) -> Result<(), String> {
    // A missing number is reported when the message is encoded.
    let Ok(message) = draft.message() else { return Ok(()) };
    let category = char::from_u32(message.category_code()).unwrap_or('?');
    for (name, _) in members {
        let has = match Field::from_name(name) {
            Some(field) => message.has(field) && !is_of_entry(&message, field),
            None if name == GROUPS => message.group().is_some(),
            None => true,
        };
        if !has {
            return Err(has_none(name, category));
        }
    }
    Ok(())
}

/// True if a field belongs to group entries, which are in their own list.
fn is_of_entry(message: &OpraMessage<'_>, field: Field) -> bool {
    message.group().is_some_and(|group| group.fields.contains(&field))
}

/// The index of the packet that a message was in.
fn packet_of(object: &Json) -> Result<Option<u64>, String> {
    let [name, ..] = OpraMessagePlace::NAMES;
    let Some(packet) = object.member(name) else { return Ok(None) };
    let index = packet.unsigned().ok_or_else(|| expected("a whole number", packet));
    index.map(Some).map_err(|text| format!("\"{name}\": {text}"))
}

/// An encoder's error with the name of its field.
pub fn describe(error: OpraEncodeError) -> String {
    match error.field {
        Some(field) => format!("\"{}\": {}", field.name(), error),
        None => error.to_string(),
    }
}

fn set(
    draft: &mut OpraMessageDraft,
    version: OpraVersion,
    field: Field,
    value: &Json,
) -> Result<(), String> {
    match field.kind(version) {
        OpraFieldKind::SeqNum(_) => {
            let seq_num = value.unsigned().ok_or_else(|| expected("a whole number", value))?;
            draft.set_seq_num(seq_num);
        }
        OpraFieldKind::Chars(_) => draft.set_chars(field, chars(field, value)?),
        OpraFieldKind::Text => {
            draft.set_text(field, text(value)?).map_err(|error| error.to_string())?
        }
        OpraFieldKind::Character => draft.set_number(field, code(value)?),
        OpraFieldKind::Number(_) => draft.set_number(field, number(value)?),
    }
    Ok(())
}

/// Parses a code: a character, or its number.
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

/// Parses a string. Decoders print an empty string for a field that the packet never gave a value.
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

fn entries(group: &OpraGroup, list: Option<&Json>) -> Result<Vec<OpraEntry>, String> {
    let Some(Json::List(list)) = list else {
        return Err(format!("\"{GROUPS}\": expected a list of objects"));
    };
    if list.len() as u64 > u64::from(GROUP_ENTRIES_MAX) {
        return Err(format!("\"{GROUPS}\": more than {GROUP_ENTRIES_MAX} entries"));
    }
    list.iter().map(|value| entry(group, value)).collect()
}

fn entry(group: &OpraGroup, value: &Json) -> Result<OpraEntry, String> {
    let mut entry = OpraEntry::default();
    if let Json::Object(members) = value {
        named_once(members).map_err(|text| format!("\"{GROUPS}\": {text}"))?;
        let is_of_group = |name: &str| group.fields.iter().any(|field| field.name() == name);
        if let Some((name, _)) = members.iter().find(|(name, _)| !is_of_group(name)) {
            return Err(format!(
                "\"{GROUPS}\": \"{name}\": no such field in the entries of this message"
            ));
        }
    }
    for field in group.fields {
        if field.is_reserved() && value.member(field.name()).is_none() {
            continue;
        }
        let name = field.name();
        let member = value.member(name).unwrap_or(&Json::Null);
        set_member(&mut entry, *field, member)
            .map_err(|text| format!("\"{GROUPS}\": \"{name}\": {text}"))?;
    }
    Ok(entry)
}

fn set_member(entry: &mut OpraEntry, field: Field, value: &Json) -> Result<(), String> {
    match field {
        Field::Reserved1 => entry.reserved = chars(field, value)?,
        Field::IndexValue => entry.value = chars(field, value)?,
        Field::BidIndexValue => entry.bid = chars(field, value)?,
        Field::OfferIndexValue => entry.offer = chars(field, value)?,
        Field::DecimalPlacement => entry.decimal_placement = number(value)?,
        Field::SpotValue => entry.spot = number(value)?,
        _ => entry.symbol = chars(field, value)?,
    }
    Ok(())
}
