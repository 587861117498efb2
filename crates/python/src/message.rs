//! Decoded messages and their nested records.

use crate::values::{json_dict, native};
use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;
use tickwire_fast::{FieldValue, Record as FastRecord};
use tickwire_feed::arbiter::Line;

/// A decoded message with its origin.
#[derive(Clone)]
pub struct OwnedMessage {
    pub message: Arc<tickwire_fast::Message>,
    pub packet: Option<u64>,
    pub time_ns: Option<u64>,
    pub offset: Option<u64>,
    pub len: Option<usize>,
    /// Sequence number of the packet.
    pub seq_num: Option<u64>,
    /// The line on which that packet arrived first.
    pub line: Option<Line>,
}

/// A decoded message. Fields are attributes, and items by name.
///
/// >>> import decimal, tickwire
/// >>> xml = '''<templates><template name="Quote" id="1"><string name="Symbol"/>
/// ... <sequence name="Levels"><decimal name="Price"/></sequence></template></templates>'''
/// >>> templates = tickwire.TemplateSet.parse(xml)
/// >>> fields = {"Symbol": "AB", "Levels": [{"Price": decimal.Decimal("10.50")}]}
/// >>> packet = tickwire.Encoder(templates).encode({"n": "Quote", "msg": fields})
/// >>> [message] = tickwire.Decoder(templates).decode(packet)
/// >>> message.template, message.id, message.offset, message.length
/// ('Quote', 1, 0, 8)
/// >>> message.Symbol, message["Symbol"], "Price" in message, message.keys()
/// ('AB', 'AB', False, ['Symbol', 'Levels'])
/// >>> message.Levels[0].Price
/// Decimal('10.50')
/// >>> message.to_dict()
/// {'Symbol': 'AB', 'Levels': [{'Price': {'m': 1050, 'e': -2}}]}
/// >>> message.packet, message.time, message.seq_num, message.line  # of captures, and of a handler"s lines
/// (None, None, None, None)
#[pyclass(name = "Message", module = "tickwire", frozen)]
pub struct PyMessage {
    owned: OwnedMessage,
}

impl From<OwnedMessage> for PyMessage {
    fn from(owned: OwnedMessage) -> Self {
        Self { owned }
    }
}

#[pymethods]
impl PyMessage {
    /// Name of the template.
    #[getter]
    fn template(&self) -> &str {
        self.owned.message.template_name()
    }

    /// Id of the template; None if it has none.
    #[getter]
    fn id(&self) -> Option<u32> {
        self.owned.message.template_id().map(|id| id.0)
    }

    /// Index of the packet in its capture, from 0.
    #[getter]
    fn packet(&self) -> Option<u64> {
        self.owned.packet
    }

    /// Capture time in nanoseconds since 1970-01-01 UTC.
    #[getter]
    fn time(&self) -> Option<u64> {
        self.owned.time_ns
    }

    /// Offset of the message in its packet or stream, in bytes.
    #[getter]
    fn offset(&self) -> Option<u64> {
        self.owned.offset
    }

    /// Length of the message in bytes.
    #[getter]
    fn length(&self) -> Option<usize> {
        self.owned.len
    }

    /// Sequence number in the packet's preamble; None if the framing has none.
    #[getter]
    fn seq_num(&self) -> Option<u64> {
        self.owned.seq_num
    }

    /// The line on which the packet arrived first, A or B; only for messages of a handler.
    #[getter]
    fn line(&self) -> Option<&'static str> {
        self.owned.line.map(|line| match line {
            Line::A => "A",
            Line::B => "B",
        })
    }

    /// All fields in the JSON form of `tickwire decode`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json_dict(py, self.owned.message.root())
    }

    /// Names of the fields.
    fn keys(&self) -> Vec<String> {
        keys(self.owned.message.root())
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        attribute(py, &self.owned.message, &[], name)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        item(py, &self.owned.message, &[], name)
    }

    fn __contains__(&self, name: &str) -> bool {
        self.owned.message.root().index_of(name).is_some()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = self.to_dict(py)?.repr()?;
        Ok(format!("<{} {fields}>", self.template()))
    }
}

/// A group, or an entry of a sequence.
///
/// >>> import decimal, tickwire
/// >>> xml = '''<templates><template name="Quote" id="1"><string name="Symbol"/>
/// ... <sequence name="Levels"><decimal name="Price"/></sequence></template></templates>'''
/// >>> templates = tickwire.TemplateSet.parse(xml)
/// >>> fields = {"Symbol": "AB", "Levels": [{"Price": decimal.Decimal("10.50")}]}
/// >>> packet = tickwire.Encoder(templates).encode({"n": "Quote", "msg": fields})
/// >>> [message] = tickwire.Decoder(templates).decode(packet)
/// >>> [level] = message.Levels
/// >>> level.Price, level["Price"], "Price" in level
/// (Decimal('10.50'), Decimal('10.50'), True)
/// >>> level.keys(), level.to_dict()
/// (['Price'], {'Price': {'m': 1050, 'e': -2}})
#[pyclass(name = "Record", module = "tickwire", frozen)]
pub struct PyRecord {
    message: Arc<tickwire_fast::Message>,
    path: Vec<RecordStep>,
}

/// Step from a record to a nested one: the field, and for a sequence the entry.
#[derive(Clone, Copy)]
struct RecordStep {
    field: usize,
    entry: usize,
}

#[pymethods]
impl PyRecord {
    /// All fields in the JSON form of `tickwire decode`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json_dict(py, resolve(&self.message, &self.path)?)
    }

    /// Names of the fields.
    fn keys(&self) -> PyResult<Vec<String>> {
        Ok(keys(resolve(&self.message, &self.path)?))
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        attribute(py, &self.message, &self.path, name)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        item(py, &self.message, &self.path, name)
    }

    fn __contains__(&self, name: &str) -> PyResult<bool> {
        Ok(resolve(&self.message, &self.path)?.index_of(name).is_some())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<{}>", self.to_dict(py)?.repr()?))
    }
}

fn keys(record: FastRecord<'_>) -> Vec<String> {
    let fields = record.fields().filter(|(_, value)| !matches!(value, FieldValue::Discarded));
    fields.map(|(field, _)| field.name.local.to_string()).collect()
}

/// Returns the record at a path.
fn resolve<'m>(
    message: &'m tickwire_fast::Message,
    path: &[RecordStep],
) -> PyResult<FastRecord<'m>> {
    path.iter().try_fold(message.root(), |record, step| match record.value(step.field) {
        FieldValue::Group(inner) | FieldValue::Dynamic(_, inner) => Ok(inner),
        FieldValue::Sequence(entries) => {
            entries.entry(step.entry).ok_or_else(|| PyKeyError::new_err(step.entry))
        }
        _ => Err(PyKeyError::new_err(step.field)),
    })
}

fn attribute<'py>(
    py: Python<'py>,
    message: &Arc<tickwire_fast::Message>,
    path: &[RecordStep],
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    match field(py, message, path, name)? {
        Some(value) => Ok(value),
        None => {
            let template = message.template_name();
            Err(PyAttributeError::new_err(format!("{template} has no field {name} here")))
        }
    }
}

fn item<'py>(
    py: Python<'py>,
    message: &Arc<tickwire_fast::Message>,
    path: &[RecordStep],
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    field(py, message, path, name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
}

/// Returns the value of a field of the record at a path; `None` if the record lacks it, or it is not stored.
fn field<'py>(
    py: Python<'py>,
    message: &Arc<tickwire_fast::Message>,
    path: &[RecordStep],
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let record = resolve(message, path)?;
    let Some(index) = record.index_of(name) else { return Ok(None) };
    let inner = |entry| PyRecord {
        message: message.clone(),
        path: [path, &[RecordStep { field: index, entry }]].concat(),
    };
    let value = match record.value(index) {
        FieldValue::Discarded => return Ok(None),
        FieldValue::Group(_) | FieldValue::Dynamic(..) => Bound::new(py, inner(0))?.into_any(),
        FieldValue::Sequence(entries) => {
            let list = PyList::empty(py);
            for entry in 0..entries.len() {
                list.append(Bound::new(py, inner(entry))?)?;
            }
            list.into_any()
        }
        value => native(py, &record.layouts()[index], value)?,
    };
    Ok(Some(value))
}
