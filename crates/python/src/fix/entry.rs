//! Entries of repeating groups.

use crate::fix::inner::{FieldSelector, GroupStep, ParsedMessage, attribute, get, item};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::borrow::Cow;
use std::sync::Arc;

/// An entry of a repeating group. Fields are attributes, and items by name or tag.
///
/// >>> from tickwire import fix
/// >>> text = "8=FIX.4.4|9=54|35=D|55=MSFT|54=1|44=10.50|453=1|448=BANK|447=D|452=3|10=113|"
/// >>> order = fix.parse(text)
/// >>> [party] = order.NoPartyIDs
/// >>> party.PartyID, party[452], party.raw(452), "PartyID" in party
/// ('BANK', 3, b'3', True)
/// >>> party.get("NoPartySubIDs"), party.keys()
/// (None, ['PartyID', 'PartyIDSource', 'PartyRole'])
#[pyclass(name = "Entry", module = "tickwire.fix", frozen)]
pub struct PyFixEntry {
    inner: Arc<ParsedMessage>,
    path: Vec<GroupStep>,
}

impl PyFixEntry {
    pub fn new(inner: Arc<ParsedMessage>, path: Vec<GroupStep>) -> Self {
        Self { inner, path }
    }
}

#[pymethods]
impl PyFixEntry {
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        attribute(py, &self.inner, &self.path, name)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: FieldSelector) -> PyResult<Bound<'py, PyAny>> {
        item(py, &self.inner, &self.path, &key)
    }

    fn __contains__(&self, key: FieldSelector) -> bool {
        self.inner.raw(&self.path, &key).is_some()
    }

    /// The value of a field; `default` if the entry lacks it.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: FieldSelector,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(tag) = self.inner.tag(&key) else { return Ok(default) };
        Ok(get(py, &self.inner, &self.path, tag)?.or(default))
    }

    /// The bytes of a value; None if the entry lacks the field.
    fn raw(&self, key: FieldSelector) -> Option<Cow<'_, [u8]>> {
        self.inner.raw(&self.path, &key).map(Cow::Borrowed)
    }

    /// Names of the fields; tags for fields that the dictionary lacks.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.inner.keys(py, &self.path)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Entry {}>", self.keys(py)?.repr()?))
    }
}
