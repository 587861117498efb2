//! OPRA messages as Python objects.

use pyo3::exceptions::{PyAttributeError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyType};
use std::net::SocketAddr;
use tickwire_arrow::opra::table_name;
use tickwire_opra::{Chars, Field, OpraEntry, OpraFieldKind, OpraMessage, OpraVersion, json};
use tickwire_text::Header;

/// A value of a message.
#[derive(Clone, Debug)]
enum OpraValue {
    Number(u64),
    Text(String),
    /// A price as digits; `None` if its denominator code is undefined.
    Price(Option<String>),
    /// The entries of a group.
    Entries(Vec<Vec<(&'static str, OpraValue)>>),
}

/// An OPRA message. Fields are attributes, and items by name.
///
/// >>> import pathlib, tempfile
/// >>> from tickwire import opra
/// >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.bin"
/// >>> opra.simulate(path, messages=500, seed=7)
/// >>> capture = opra.open(path)
/// >>> quote = next(message for message in capture if message.category == "quote")
/// >>> quote.symbol, quote.bid, quote["offer"], "bid" in quote
/// ('G    ', Decimal('943.0'), Decimal('887.5'), True)
/// >>> quote.packet, quote.offset, quote.time, quote.source, quote.destination
/// (0, 16, None, None, None)
/// >>> quote.keys()[:4]
/// ['cat', 'type', 'part', 'retran']
/// >>> quote.to_dict()["symbol"] == quote.symbol
/// True
#[pyclass(name = "Message", module = "tickwire.opra", frozen)]
pub struct PyOpraMessage {
    category: &'static str,
    packet: Option<u64>,
    offset: Option<u64>,
    time_ns: Option<u64>,
    source: Option<SocketAddr>,
    destination: Option<SocketAddr>,
    fields: Vec<(&'static str, OpraValue)>,
    json: String,
}

impl PyOpraMessage {
    /// Copies a message.
    pub fn new(header: &Header<'_>, message: &OpraMessage<'_>) -> Self {
        let fields = message.wire_order().map(|field| (name(field), value(message, field)));
        let mut fields: Vec<_> = fields.collect();
        if let Some(group) = message.group() {
            let entries = message.entries().iter().map(|entry| {
                let there = group.fields.iter().filter(|field| message.has(**field));
                there.map(|field| (field.name(), member(entry, *field))).collect()
            });
            let count = message.number(group.count).unwrap_or_default();
            fields.push((group.count.name(), OpraValue::Number(count.into())));
            fields.push(("groups", OpraValue::Entries(entries.collect())));
        }
        Self {
            category: table_name(message.category()),
            packet: header.packet,
            offset: header.offset,
            time_ns: header.time_ns,
            source: header.source,
            destination: header.destination,
            fields,
            json: json::to_string(message),
        }
    }

    fn find(&self, name: &str) -> Option<&OpraValue> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// Returns the attribute name of a field: `time` is that of the capture, so the message's own time is
/// renamed.
const fn name(field: Field) -> &'static str {
    match field {
        Field::Time => "time_code",
        field => field.name(),
    }
}

fn value(message: &OpraMessage<'_>, field: Field) -> OpraValue {
    let number = message.number(field).unwrap_or_default();
    let has_denominator = field.denominator().is_some_and(|denominator| message.has(denominator));
    // As for columns: one type for both protocol versions.
    match field.kind(OpraVersion::V2) {
        OpraFieldKind::SeqNum(_) => OpraValue::Number(message.seq_num().unwrap_or_default()),
        OpraFieldKind::Chars(_) => {
            OpraValue::Text(message.chars(field).map_or_else(String::new, text))
        }
        OpraFieldKind::Text => {
            let text = message.text().unwrap_or_default();
            OpraValue::Text(text.bytes().map(char::from).collect())
        }
        OpraFieldKind::Character => match char::from_u32(number) {
            Some(code) => OpraValue::Text(code.to_string()),
            None => OpraValue::Number(number.into()),
        },
        // Zero is zero, whatever the denominator code.
        _ if has_denominator && number == 0 => OpraValue::Price(Some("0".to_owned())),
        _ if has_denominator => {
            let decimal = message.price(field).and_then(tickwire_opra::Price::decimal);
            OpraValue::Price(decimal.map(|decimal| decimal.to_string()))
        }
        _ => OpraValue::Number(number.into()),
    }
}

fn member(entry: &OpraEntry, field: Field) -> OpraValue {
    match field {
        Field::DecimalPlacement => OpraValue::Number(entry.decimal_placement.into()),
        Field::SpotValue => OpraValue::Number(entry.spot.into()),
        Field::Reserved1 => OpraValue::Text(text(entry.reserved)),
        Field::IndexValue => OpraValue::Text(text(entry.value)),
        Field::BidIndexValue => OpraValue::Text(text(entry.bid)),
        Field::OfferIndexValue => OpraValue::Text(text(entry.offer)),
        _ => OpraValue::Text(text(entry.symbol)),
    }
}

fn text(chars: Chars) -> String {
    chars.bytes().into_iter().take(chars.len()).map(char::from).collect()
}

impl OpraValue {
    fn native<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        Ok(match self {
            Self::Number(number) => number.into_pyobject(py)?.into_any(),
            Self::Text(text) => text.into_pyobject(py)?.into_any(),
            Self::Price(Some(digits)) => {
                DECIMAL.import(py, "decimal", "Decimal")?.call1((digits,))?
            }
            Self::Price(None) => {
                return Err(PyValueError::new_err(format!(
                    "{name}: the denominator code is not a letter from A to I; to_dict() has the digits"
                )));
            }
            Self::Entries(entries) => {
                let list = PyList::empty(py);
                for entry in entries {
                    let dict = PyDict::new(py);
                    for (name, value) in entry {
                        dict.set_item(name, value.native(py, name)?)?;
                    }
                    list.append(dict)?;
                }
                list.into_any()
            }
        })
    }
}

#[pymethods]
impl PyOpraMessage {
    /// The category as the name of its table, such as `quote`.
    #[getter]
    fn category(&self) -> &'static str {
        self.category
    }

    /// Index of the packet in its capture, from 0.
    #[getter]
    fn packet(&self) -> Option<u64> {
        self.packet
    }

    /// Capture time in nanoseconds since 1970-01-01 UTC.
    #[getter]
    fn time(&self) -> Option<u64> {
        self.time_ns
    }

    /// Offset of the message in its packet, in bytes.
    #[getter]
    fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Source of the packet, as IP:PORT.
    #[getter]
    fn source(&self) -> Option<String> {
        self.source.map(|address| address.to_string())
    }

    /// Destination of the packet, as IP:PORT.
    #[getter]
    fn destination(&self) -> Option<String> {
        self.destination.map(|address| address.to_string())
    }

    /// All fields in the JSON form of `tickwire opra decode`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        LOADS.import(py, "json", "loads")?.call1((&self.json,))
    }

    /// Names of the fields.
    fn keys(&self) -> Vec<&'static str> {
        self.fields.iter().map(|(name, _)| *name).collect()
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = self.find(name).ok_or_else(|| {
            let (category, keys) = (self.category, self.keys().join(", "));
            let text = format!("this {category} message has no field {name}; it has {keys}");
            PyAttributeError::new_err(text)
        })?;
        value.native(py, name)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = self.find(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        value.native(py, name)
    }

    fn __contains__(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn __repr__(&self) -> String {
        format!("<{} {}>", self.category, self.json)
    }
}
