//! Serializes messages with serde in the form of Tickwire's JSON lines: absent fields are null,
//! decimals are objects with `m` and `e`, bytes and strings that are not UTF-8 are objects with
//! `hex`.

use crate::message::{Entries, FieldValue, Message, Record};
use crate::template::Decimal;
use crate::value::HexDigits;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Decimal", 2)?;
        fields.serialize_field("m", &self.mantissa)?;
        fields.serialize_field("e", &self.exponent)?;
        fields.end()
    }
}

/// Serializes the fields of the message.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root().serialize(serializer)
    }
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        for (field, value) in self.fields() {
            if !matches!(value, FieldValue::Discarded) {
                fields.serialize_entry(&*field.name.local, &value)?;
            }
        }
        fields.end()
    }
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries = serializer.serialize_seq(Some(self.len()))?;
        self.iter().try_for_each(|entry| entries.serialize_element(&entry))?;
        entries.end()
    }
}

impl Serialize for FieldValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Absent | Self::Discarded => serializer.serialize_none(),
            Self::UInt(value) => serializer.serialize_u64(value),
            Self::Int(value) => serializer.serialize_i64(value),
            Self::Decimal(value) => value.serialize(serializer),
            Self::Ascii(bytes) | Self::Unicode(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => serializer.serialize_str(text),
                Err(_) => serialize_hex(bytes, serializer),
            },
            Self::Bytes(bytes) => serialize_hex(bytes, serializer),
            Self::Group(record) | Self::Dynamic(_, record) => record.serialize(serializer),
            Self::Sequence(entries) => entries.serialize(serializer),
        }
    }
}

fn serialize_hex<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("Bytes", 1)?;
    fields.serialize_field("hex", &HexDigits(bytes).to_string())?;
    fields.end()
}
