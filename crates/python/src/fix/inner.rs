//! Data of a message in Python: its bytes, and an index of its fields, created on first use.

use crate::fix::entry::PyFixEntry;
use crate::fix::fault::MessageFault;
use crate::fix::values::native;
use pyo3::exceptions::{PyAttributeError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Arc, OnceLock};

use tickwire_fix::{Field, FixMessage, Reader, Tag};
use tickwire_fix_text::{FieldNode, FoundAt, Names, Versions};

/// A message: the bytes from `8=` to the last delimiter, beginning with the tags 8, 9 and 35.
pub struct ParsedMessage {
    pub bytes: Vec<u8>,
    /// Errors of its frame.
    pub faults: Vec<MessageFault>,
    pub versions: Arc<Versions>,
    /// Position in the log or capture.
    pub place: FoundAt,
    layout: OnceLock<FieldTree>,
}

struct FieldTree {
    places: Vec<FieldSpan>,
    nodes: Vec<FieldNode>,
}

/// A field in the bytes of its message.
#[derive(Clone, Copy)]
struct FieldSpan {
    tag: Tag,
    /// Start of the value.
    start: u32,
    end: u32,
}

/// Step from a list of fields to an entry of a group: the field with the group's count, and the entry's
/// index.
#[derive(Clone, Copy)]
pub struct GroupStep {
    pub node: usize,
    pub entry: usize,
}

/// A field, by name or tag.
pub enum FieldSelector {
    Tag(u32),
    Name(String),
}

impl<'py> FromPyObject<'_, 'py> for FieldSelector {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(name) = object.extract::<String>() {
            return Ok(Self::Name(name));
        }
        object.extract::<u32>().map(Self::Tag).map_err(|_| {
            let shown = object.repr().map_or_else(|_| "it".to_owned(), |text| text.to_string());
            PyTypeError::new_err(format!(
                "{shown} is no field: expected a name (str) or a tag (int, 1 to {})",
                u32::MAX
            ))
        })
    }
}

impl ParsedMessage {
    /// Creates a message from bytes that [`Reader::examine`] accepts.
    pub fn new(bytes: Vec<u8>, faults: Vec<MessageFault>, versions: Arc<Versions>) -> Self {
        let place = FoundAt::default();
        Self { bytes, faults, versions, place, layout: OnceLock::new() }
    }

    /// Adds the message's position in a log.
    pub fn with_place(self, place: FoundAt) -> Self {
        Self { place, ..self }
    }

    /// Calls `with` with the message and its field names.
    pub fn read<R>(&self, with: impl FnOnce(FixMessage<'_, '_>, Names<'_>) -> R) -> R {
        let mut reader = Reader::new();
        let (message, _) = reader.examine(&self.bytes).expect("it was examined before");
        with(message, self.versions.names(&message))
    }

    fn layout(&self) -> &FieldTree {
        self.layout.get_or_init(|| {
            self.read(|message, names| FieldTree {
                places: message.fields().map(FieldSpan::of).collect(),
                nodes: names.tree(&message),
            })
        })
    }

    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        self.layout().places.iter().map(|place| place.field(&self.bytes))
    }

    fn field(&self, at: usize) -> Field<'_> {
        self.layout().places[at].field(&self.bytes)
    }

    pub fn names(&self) -> Names<'_> {
        let version = self.fields().find(|field| matches!(field.tag.0, 1128 | 1137));
        self.versions.names_of(self.field(0).value, version.map(|field| field.value))
    }

    /// Returns the fields of the message, or of the entry at a path.
    pub fn nodes(&self, path: &[GroupStep]) -> &[FieldNode] {
        path.iter().fold(&self.layout().nodes, |nodes, step| {
            nodes[step.node].entries.as_ref().map_or(nodes, |entries| &entries[step.entry])
        })
    }

    /// Returns the tag of a field; `None` for a name that no dictionary has.
    pub fn tag(&self, key: &FieldSelector) -> Option<Tag> {
        match key {
            FieldSelector::Tag(tag) => Some(Tag(*tag)),
            FieldSelector::Name(name) => self.names().field_named(name).map(|field| field.tag()),
        }
    }

    /// Returns the index of a field among those at a path.
    fn find(&self, path: &[GroupStep], tag: Tag) -> Option<usize> {
        self.nodes(path).iter().position(|node| self.field(node.at).tag == tag)
    }

    /// Returns the value of a field as on the wire.
    pub fn raw(&self, path: &[GroupStep], key: &FieldSelector) -> Option<&[u8]> {
        let node = self.find(path, self.tag(key)?)?;
        Some(self.field(self.nodes(path)[node].at).value)
    }

    /// Returns the names of fields; tags for fields that the dictionary lacks.
    pub fn keys<'py>(&self, py: Python<'py>, path: &[GroupStep]) -> PyResult<Bound<'py, PyList>> {
        let (names, keys) = (self.names(), PyList::empty(py));
        for node in self.nodes(path) {
            let tag = self.field(node.at).tag;
            match names.field(tag) {
                Some(field) => keys.append(field.name())?,
                None => keys.append(tag.0)?,
            }
        }
        Ok(keys)
    }
}

impl FieldSpan {
    fn of(field: Field<'_>) -> Self {
        let start = field.offset;
        Self { tag: field.tag, start, end: start + field.value.len() as u32 }
    }

    fn field(self, bytes: &[u8]) -> Field<'_> {
        let mut field = Field::new(self.tag, &bytes[self.start as usize..self.end as usize]);
        field.offset = self.start;
        field
    }
}

/// Returns the value of a field; for a group's count, the list of its entries.
pub fn get<'py>(
    py: Python<'py>,
    inner: &Arc<ParsedMessage>,
    path: &[GroupStep],
    tag: Tag,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(node) = inner.find(path, tag) else { return Ok(None) };
    let found = &inner.nodes(path)[node];
    let Some(entries) = &found.entries else {
        let definition = inner.names().field(tag);
        return native(py, &inner.field(found.at), definition).map(Some);
    };
    let list = PyList::empty(py);
    for entry in 0..entries.len() {
        let path = [path, &[GroupStep { node, entry }]].concat();
        list.append(PyFixEntry::new(inner.clone(), path))?;
    }
    Ok(Some(list.into_any()))
}

/// Returns the value of a field by name; None if the message lacks it.
pub fn attribute<'py>(
    py: Python<'py>,
    inner: &Arc<ParsedMessage>,
    path: &[GroupStep],
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match inner.tag(&FieldSelector::Name(name.to_owned())) {
        Some(tag) => get(py, inner, path, tag),
        None => Err(PyAttributeError::new_err(format!("the dictionary has no field {name}"))),
    }
}

/// Returns the value of a field by name or tag.
pub fn item<'py>(
    py: Python<'py>,
    inner: &Arc<ParsedMessage>,
    path: &[GroupStep],
    key: &FieldSelector,
) -> PyResult<Bound<'py, PyAny>> {
    let value = inner.tag(key).map(|tag| get(py, inner, path, tag)).transpose()?.flatten();
    value.ok_or_else(|| match key {
        FieldSelector::Tag(tag) => PyKeyError::new_err(*tag),
        FieldSelector::Name(name) => PyKeyError::new_err(name.clone()),
    })
}
