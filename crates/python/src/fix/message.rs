//! FIX messages.

use crate::fix::dictionary::{PyFixDictionary, versions};
use crate::fix::fault::MessageFault;
use crate::fix::inner::{FieldSelector, ParsedMessage, attribute, get, item};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::borrow::Cow;
use std::sync::Arc;
use tickwire_fix::{Printed, Validator};

/// A message. Fields are attributes, and items by name or tag.
///
/// >>> from tickwire import fix
/// >>> text = "8=FIX.4.4|9=54|35=D|55=MSFT|54=1|44=10.50|453=1|448=BANK|447=D|452=3|10=113|"
/// >>> order = fix.parse(text)
/// >>> order.msg_type, order.name, order.Symbol, order.Price, order[54]
/// ('D', 'NewOrderSingle', 'MSFT', Decimal('10.50'), '1')
/// >>> order.ClOrdID, "ClOrdID" in order, order.get("ClOrdID", "none")
/// (None, False, 'none')
/// >>> order.raw("Price"), order.fields()[:2], order.keys()[3:6]
/// (b'10.50', [(8, b'FIX.4.4'), (9, b'54')], ['Symbol', 'Side', 'Price'])
/// >>> order.NoPartyIDs[0].PartyID
/// 'BANK'
/// >>> order.to_dict()["name"]
/// 'NewOrderSingle'
/// >>> order.validate()[0].tag, order.wrong
/// (49, [])
/// >>> bytes(order)[:10]
/// b'8=FIX.4.4\x01'
/// >>> order.line, order.offset, order.packet, order.time  # of logs and captures
/// (None, None, None, None)
#[pyclass(name = "Message", module = "tickwire.fix", frozen)]
pub struct PyFixMessage {
    inner: Arc<ParsedMessage>,
}

impl PyFixMessage {
    pub fn new(inner: ParsedMessage) -> Self {
        Self { inner: Arc::new(inner) }
    }
}

#[pymethods]
impl PyFixMessage {
    /// MsgType (35).
    #[getter]
    fn msg_type(&self) -> String {
        self.inner.read(|message, _| String::from_utf8_lossy(message.msg_type()).into_owned())
    }

    /// Name of the message type; None if the dictionary lacks it.
    #[getter]
    fn name(&self) -> Option<String> {
        let name = |message: tickwire_fix::FixMessage<'_, '_>,
                    names: tickwire_fix_text::Names<'_>| {
            names.message(message.msg_type()).map(|found| found.name().to_owned())
        };
        self.inner.read(name)
    }

    /// Errors of its frame, as text.
    #[getter]
    fn wrong(&self) -> Vec<String> {
        self.inner.faults.iter().map(|fault| fault.text.clone()).collect()
    }

    /// Line of the text log, from 1.
    #[getter]
    fn line(&self) -> Option<u64> {
        self.inner.place.line
    }

    /// Offset in the text log, in bytes.
    #[getter]
    fn offset(&self) -> Option<u64> {
        self.inner.place.offset
    }

    /// Record of the capture, from 0, in which the message ends.
    #[getter]
    fn packet(&self) -> Option<u64> {
        self.inner.place.packet
    }

    /// Capture time of that record in nanoseconds since 1970-01-01 UTC.
    #[getter]
    fn time(&self) -> Option<u64> {
        self.inner.place.time_ns
    }

    /// All fields in order: tag, and value as on the wire.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let pairs = self.inner.fields();
        PyList::new(
            py,
            pairs.map(|field| (field.tag.0, PyBytes::new(py, field.value))).collect::<Vec<_>>(),
        )
    }

    /// The JSON form of `tickwire fix decode --format jsonl`; numbers with a decimal point are
    /// `decimal.Decimal`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let mut json = Vec::new();
        let wrong = self.wrong();
        self.inner.read(|message, names| names.push_message(&mut json, None, &message, &wrong));
        let options = PyDict::new(py);
        options.set_item("parse_float", DECIMAL.import(py, "decimal", "Decimal")?)?;
        LOADS.import(py, "json", "loads")?.call((PyBytes::new(py, &json),), Some(&options))
    }

    /// Returns its errors without raising them: those of its frame, then the first one for which a session
    /// would reject it.
    #[pyo3(signature = (dictionary = None))]
    fn validate(&self, py: Python<'_>, dictionary: Option<&PyFixDictionary>) -> Vec<Py<PyAny>> {
        let versions =
            dictionary.map_or_else(|| self.inner.versions.clone(), |_| versions(dictionary));
        let mut faults = self.inner.faults.clone();
        self.inner.read(|message, _| {
            let names = versions.names(&message);
            faults.extend(match versions.of(&message) {
                None => {
                    let version = message.begin_string().escape_ascii();
                    Some(MessageFault::of_text(format!(
                        "no dictionary for BeginString '{version}'"
                    )))
                }
                Some((session, application)) => Validator::default()
                    .validate_fixt(&message, session, application)
                    .err()
                    .map(|error| MessageFault::of_error(&error, &message, names)),
            });
        });
        let value = |fault: MessageFault| fault.exception(py).into_value(py).into_any();
        faults.into_iter().map(value).collect()
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        attribute(py, &self.inner, &[], name)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: FieldSelector) -> PyResult<Bound<'py, PyAny>> {
        item(py, &self.inner, &[], &key)
    }

    fn __contains__(&self, key: FieldSelector) -> bool {
        self.inner.raw(&[], &key).is_some()
    }

    /// The value of a field; `default` if the message lacks it.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: FieldSelector,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(tag) = self.inner.tag(&key) else { return Ok(default) };
        Ok(get(py, &self.inner, &[], tag)?.or(default))
    }

    /// The bytes of a value; None if the message lacks the field.
    fn raw(&self, key: FieldSelector) -> Option<Cow<'_, [u8]>> {
        self.inner.raw(&[], &key).map(Cow::Borrowed)
    }

    /// Names of the fields, without those of entries; tags for fields that the dictionary lacks.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.inner.keys(py, &[])
    }

    fn __bytes__(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.inner.bytes)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner.bytes == other.inner.bytes
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyBytes::new(py, &self.inner.bytes).hash()
    }

    fn __str__(&self) -> String {
        self.inner.read(|message, names| {
            Printed::fixt(message, names.session, names.application).to_string()
        })
    }

    fn __repr__(&self) -> String {
        let text = String::from_utf8_lossy(&self.inner.bytes).replace('\u{1}', "|");
        format!("<Message {text}>")
    }
}
