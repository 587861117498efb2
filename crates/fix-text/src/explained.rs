//! Descriptions of an error in a message and of the expected value.

use tickwire_fix::dictionary::{FieldDef, FixFieldType};
use tickwire_fix::{Checks, Dictionary, FixError, FixErrorKind, FixMessage};

/// Maximum number of listed values in a description.
const VALUES_MAX: usize = 12;

/// Describes an error of a message: the field's name, the value found, the value expected, and the
/// reject reason of a session.
pub fn explained(
    error: &FixError,
    message: &FixMessage<'_, '_>,
    dictionaries: Option<(&Dictionary, &Dictionary)>,
) -> String {
    let definition = error.tag.and_then(|tag| {
        let (session, application) = dictionaries?;
        session.field(tag).or_else(|| application.field(tag))
    });
    let mut text = match (error.tag, definition) {
        (Some(tag), Some(field)) => format!("{} ({tag}) at offset {}", field.name(), error.offset),
        (Some(tag), None) => format!("tag {tag} at offset {}", error.offset),
        (None, _) => {
            let found = String::from_utf8_lossy(message.tag_text(error.offset)).into_owned();
            format!("'{}' at offset {}", found.escape_default(), error.offset)
        }
    };
    text.push_str(": ");
    let whole = error.to_string();
    text.push_str(whole.split_once(": ").map_or(whole.as_str(), |(_, what)| what));
    if let Some(field) = error.tag.and_then(|tag| message.field(tag))
        && matches!(
            error.kind,
            FixErrorKind::ValueFormat | FixErrorKind::ValueRange | FixErrorKind::GroupCount
        )
    {
        text.push_str(&format!(
            "; found '{}'",
            String::from_utf8_lossy(field.value).escape_default()
        ));
    }
    if let Some(expected) = definition.and_then(|field| expected(error.kind, field)) {
        text.push_str(&format!(", expected {expected}"));
    }
    if let Some(reason) = Checks::default().reason(error) {
        text.push_str(&format!(" [SessionRejectReason {}: {}]", reason.code(), reason.text()));
    }
    text
}

fn expected(kind: FixErrorKind, field: &FieldDef) -> Option<String> {
    match kind {
        FixErrorKind::ValueRange if !field.values().is_empty() => {
            let values = field.values().iter().take(VALUES_MAX);
            let mut listed: Vec<String> =
                values.map(|known| format!("{} {}", known.value, known.description)).collect();
            if field.values().len() > VALUES_MAX {
                listed.push("...".to_owned());
            }
            Some(format!("one of {}", listed.join(", ")))
        }
        FixErrorKind::ValueFormat => Some(form(field.field_type()).to_owned()),
        FixErrorKind::GroupCount => Some("the number of entries that follow".to_owned()),
        _ => None,
    }
}

/// Describes the form of a type's values.
fn form(field_type: FixFieldType) -> &'static str {
    use FixFieldType as T;
    match field_type {
        T::Amt | T::Float | T::Percentage | T::Price | T::PriceOffset | T::Qty => {
            "a decimal such as -12.50, without + and exponent"
        }
        T::Boolean => "Y or N",
        T::Char => "one character",
        T::DayOfMonth | T::Int | T::Length | T::NumInGroup | T::SeqNum | T::TagNum => {
            "digits, with a minus before them where negative"
        }
        T::LocalMktDate | T::UtcDateOnly => "a day that exists, YYYYMMDD",
        T::MonthYear => "YYYYMM, YYYYMMDD or YYYYMMw1 to w5",
        T::UtcTimeOnly => "HH:MM:SS with up to twelve digits after a point",
        T::UtcTimestamp => "YYYYMMDD-HH:MM:SS with up to twelve digits after a point",
        _ => "another value",
    }
}
