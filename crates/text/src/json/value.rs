//! Parsed JSON that keeps all members of an object in order, because a message may have two fields
//! with the same name.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A JSON value. All numbers are integers, because messages have no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Integer(i128),
    /// A list.
    List(Vec<Json>),
    /// `null`.
    Null,
    /// An object.
    Object(Vec<(String, Json)>),
    /// A string.
    Text(String),
}

impl Json {
    /// Returns the first member with this name; `None` if it is missing or `null`, or if this is
    /// not an object.
    pub fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        let found = members.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value).filter(|value| **value != Self::Null)
    }

    /// Returns the value if it is a non-negative integer.
    pub fn unsigned(&self) -> Option<u64> {
        match self {
            Self::Integer(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// Returns the value if it is a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the name of the kind of value, for error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::List(_) => "a list",
            Self::Null => "null",
            Self::Object(_) => "an object",
            Self::Text(_) => "a string",
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON whose numbers are integers of at most 64 bits")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_one_name_are_all_kept() {
        let json: Json = serde_json::from_str(r#"{"a": 1, "a": [null, true, "x"]}"#).unwrap();
        let Json::Object(members) = json else { panic!("an object") };
        assert_eq!(members.len(), 2);
        assert_eq!(members[0].1, Json::Integer(1));
    }

    #[test]
    fn fractions_are_refused() {
        assert!(serde_json::from_str::<Json>("1.5").is_err());
        assert!(serde_json::from_str::<Json>("18446744073709551615").is_ok());
    }
}
