//! Builds messages to send from Python dictionaries.

use crate::fix::fault::MessageFault;
use crate::fix::inner::FieldSelector;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList};
use tickwire_fix::dictionary::{FixFieldType, MemberDef};
use tickwire_fix::reader::SOH;
use tickwire_fix::{Dictionary as Rules, Tag, Writer};
use tickwire_fix_session::AdditionalFields;
use tickwire_fix_text::{Names, Versions};

/// A message without the fields that the session writes.
#[derive(Clone, Default)]
pub struct ApplicationMessage {
    pub msg_type: String,
    /// Header fields, in order of their tags.
    pub head: Vec<(Tag, Vec<u8>)>,
    pub body: Vec<OutgoingField>,
}

/// A field to send. A data field includes its length field.
#[derive(Clone)]
pub struct OutgoingField {
    length: Option<Tag>,
    tag: Tag,
    value: Vec<u8>,
}

impl OutgoingField {
    /// Adds the field to an outgoing message.
    pub fn add_to(&self, added: &mut AdditionalFields) {
        match self.length {
            Some(length) => added.data(length, self.tag, &self.value),
            None => added.text(self.tag, &self.value),
        }
    }
}

impl ApplicationMessage {
    pub fn write(&self, writer: &mut Writer<'_>) {
        for OutgoingField { length, tag, value } in &self.body {
            match length {
                Some(length) => writer.data(*length, *tag, value),
                None => writer.text(*tag, value),
            }
        }
    }

    /// Builds a message from field names or tags and values; groups are lists of such dictionaries.
    pub fn of(
        py: Python<'_>,
        message: &Bound<'_, PyDict>,
        begin_string: &str,
        versions: &Versions,
    ) -> PyResult<Self> {
        let mut outgoing = Self::default();
        for found in [message.get_item("MsgType")?, message.get_item(35)?].into_iter().flatten() {
            outgoing.msg_type = found.extract().map_err(|_| {
                PyTypeError::new_err(format!(
                    "MsgType (35) is {found}: expected a str, such as 'D'"
                ))
            })?;
        }
        if outgoing.msg_type.is_empty() {
            return Err(wrong(py, "a message to send has a MsgType".to_owned(), Some(35)));
        }
        let encoder =
            FixFieldEncoder { py, names: versions.names_of(begin_string.as_bytes(), None) };
        let body = encoder.names.message(outgoing.msg_type.as_bytes());
        let body = body.map_or(&[][..], |found| found.members());
        let header = encoder.names.session.header();
        for (key, value) in message {
            let tag = encoder.tag(&key)?;
            let is_header = header.iter().any(|member| member.tag == tag);
            match is_header {
                _ if tag == Tag::MSG_TYPE => {}
                true => outgoing.head.push((tag, encoder.value(&value)?)),
                false => encoder.push(&mut outgoing.body, body, tag, &value)?,
            }
        }
        outgoing.head.sort_by_key(|(tag, _)| *tag);
        Ok(outgoing)
    }
}

struct FixFieldEncoder<'p, 'v> {
    py: Python<'p>,
    names: Names<'v>,
}

impl FixFieldEncoder<'_, '_> {
    fn tag(&self, key: &Bound<'_, PyAny>) -> PyResult<Tag> {
        match key.extract()? {
            FieldSelector::Tag(0) => Err(wrong(self.py, "0 is no tag of a field".to_owned(), None)),
            FieldSelector::Tag(tag) => Ok(Tag(tag)),
            FieldSelector::Name(name) => {
                let field = self.names.field_named(&name).map(|field| field.tag());
                field.ok_or_else(|| {
                    wrong(self.py, format!("the dictionary has no field {name}"), None)
                })
            }
        }
    }

    /// Appends a field, or a group: its count and its entries.
    fn push(
        &self,
        out: &mut Vec<OutgoingField>,
        members: &[MemberDef],
        tag: Tag,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if let Ok(entries) = value.cast::<PyList>() {
            return self.push_entries(out, members, tag, entries);
        }
        let definition = self.names.field(tag);
        let is_data = definition.is_some_and(|field| {
            matches!(field.field_type(), FixFieldType::Data | FixFieldType::XmlData)
        });
        let length = is_data.then(|| self.length_of(tag)).flatten();
        // Length fields are written with their data fields.
        if self.is_length(tag) {
            return Ok(());
        }
        if tag == Tag::CHECK_SUM {
            return Err(self.unfit(tag, "the session writes it"));
        }
        let value = self.value(value)?;
        if value.is_empty() {
            return Err(self.unfit(tag, "the value is empty; leave the field out"));
        }
        if length.is_none() && value.contains(&SOH) {
            return Err(self.unfit(tag, "the value contains the delimiter, byte 1"));
        }
        out.push(OutgoingField { length, tag, value });
        Ok(())
    }

    /// Returns the error for a field, with its name.
    fn unfit(&self, tag: Tag, why: &str) -> PyErr {
        wrong(self.py, format!("{}: {why}", self.label(tag)), Some(tag.0))
    }

    /// Returns name and tag of a field.
    fn label(&self, tag: Tag) -> String {
        match self.names.field(tag) {
            Some(field) => format!("{} ({tag})", field.name()),
            None => tag.to_string(),
        }
    }

    /// Returns the length field of a data field.
    fn length_of(&self, data: Tag) -> Option<Tag> {
        let found = |rules: &Rules| {
            let pairs = rules.data_fields();
            let found = pairs.pairs().find(|(_, known)| *known == data.0);
            found.map(|(length, _)| Tag(length))
        };
        found(self.names.session).or_else(|| found(self.names.application))
    }

    fn is_length(&self, tag: Tag) -> bool {
        self.names.field(tag).is_some_and(|field| field.field_type() == FixFieldType::Length)
    }

    fn push_entries(
        &self,
        out: &mut Vec<OutgoingField>,
        members: &[MemberDef],
        tag: Tag,
        entries: &Bound<'_, PyList>,
    ) -> PyResult<()> {
        let id = members.iter().find(|member| member.tag == tag).and_then(|member| member.group);
        let group = id.and_then(|id| {
            [self.names.application, self.names.session]
                .into_iter()
                .find_map(|rules| rules.group(id).filter(|group| group.count() == tag))
        });
        let Some(group) = group else {
            return Err(self.unfit(tag, "it is no group here, but a list is given"));
        };
        let value = entries.len().to_string().into_bytes();
        out.push(OutgoingField { length: None, tag, value });
        for entry in entries {
            let entry = entry.cast_into::<PyDict>().map_err(|_| {
                let count = self.label(group.count());
                PyTypeError::new_err(format!("{count}: an entry is a dict of its fields"))
            })?;
            let mut given = Vec::new();
            for (key, value) in &entry {
                given.push((self.tag(&key)?, value));
            }
            let place = |tag: Tag| group.members().iter().position(|member| member.tag == tag);
            if let Some((tag, _)) = given.iter().find(|(tag, _)| place(*tag).is_none()) {
                let (count, field) = (self.label(group.count()), self.label(*tag));
                let text = format!("entries of {count} have no field {field}");
                return Err(wrong(self.py, text, Some(tag.0)));
            }
            given.sort_by_key(|(tag, _)| place(*tag));
            let delimiter = group.delimiter();
            if given.first().is_none_or(|(tag, _)| *tag != delimiter) {
                let (count, first) = (self.label(group.count()), self.label(delimiter));
                let text = format!("an entry of {count} begins with {first}");
                return Err(wrong(self.py, text, Some(delimiter.0)));
            }
            for (tag, value) in given {
                self.push(out, group.members(), tag, &value)?;
            }
        }
        Ok(())
    }

    /// Encodes a value as on the wire.
    fn value(&self, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        wire(self.py, value)
    }
}

/// Encodes a value as on the wire.
fn wire(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    static WIRE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let text = WIRE.import(py, "tickwire.fix._wire", "wire")?.call1((value,))?;
    Ok(text.cast::<PyBytes>()?.as_bytes().to_vec())
}

/// Returns the fields of a dictionary (by tag or name) to add to a message. Groups cannot be added.
pub fn added(
    py: Python<'_>,
    fields: &Bound<'_, PyDict>,
    names: Names<'_>,
) -> PyResult<Vec<OutgoingField>> {
    let (encoder, mut written) = (FixFieldEncoder { py, names }, Vec::new());
    for (key, value) in fields {
        encoder.push(&mut written, &[], encoder.tag(&key)?, &value)?;
    }
    Ok(written)
}

fn wrong(py: Python<'_>, text: String, tag: Option<u32>) -> PyErr {
    MessageFault { text, tag, ..MessageFault::default() }.exception(py)
}
