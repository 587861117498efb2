//! A sample as a Python object.

use super::encode::DECIMAL;
use crate::values::decimal;
use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use tickwire_distribution::SampleArrival;
use tickwire_distribution::cdr::{CdrEncoding, SampleDecoder};
use tickwire_distribution::types::{Scalar, StructType, Visitor};

/// A received sample. Members are attributes, and items by name.
///
/// >>> import tempfile, tickwire
/// >>> directory = tempfile.mkdtemp(dir="/dev/shm")
/// >>> publisher = tickwire.Publisher(["Quote"], directory=directory)
/// >>> quotes = tickwire.subscribe("Quote", directory=directory)
/// >>> publisher.publish("Quote", OrderId=7, Price=101)
/// >>> quote = next(quotes)
/// >>> quote.topic, quote.number, quote.missed, quote.is_last_value
/// ('Quote', 1, 0, False)
/// >>> quote.OrderId, quote["Price"], quote.to_dict()["Price"], quote.keys()[:3]
/// (7, 101, 101, ['MessageType', 'SequenceNumber', 'Timestamp'])
/// >>> quote.written_ns <= quote.taken_ns, type(quote.publisher)
/// (True, <class 'str'>)
#[pyclass(name = "Sample", module = "tickwire", frozen)]
pub struct PySample {
    topic: String,
    members: Py<PyDict>,
    taken: OwnedSample,
}

/// A received sample before its conversion to a Python object.
#[derive(Clone, Debug)]
pub struct OwnedSample {
    pub set: usize,
    pub bytes: Vec<u8>,
    pub encoding: CdrEncoding,
    pub written_ns: i64,
    pub taken_ns: u64,
    pub number: u64,
    pub is_last_value: bool,
    pub publisher: Option<String>,
    /// Number of samples of its writer missing directly before it.
    pub missed: u64,
}

impl OwnedSample {
    pub fn of(arrival: &SampleArrival<'_>) -> Self {
        let info = &arrival.raw.info;
        Self {
            set: arrival.set,
            bytes: arrival.raw.bytes.to_vec(),
            encoding: arrival.raw.encoding,
            written_ns: info.source_timestamp_ns,
            taken_ns: arrival.taken_ns,
            number: info.writer_seq_num,
            is_last_value: info.is_history(),
            publisher: info.participant.map(|id| id.to_string()),
            missed: arrival.missed,
        }
    }
}

#[pymethods]
impl PySample {
    /// Name of the topic.
    #[getter]
    fn topic(&self) -> &str {
        &self.topic
    }

    /// Time of writing, in nanoseconds since 1970-01-01 UTC, by the publisher's clock.
    #[getter]
    fn written_ns(&self) -> i64 {
        self.taken.written_ns
    }

    /// Time of reception, in nanoseconds since 1970-01-01 UTC, by this machine's clock.
    #[getter]
    fn taken_ns(&self) -> u64 {
        self.taken.taken_ns
    }

    /// Sequence number of the sample for its writer, from 1.
    #[getter]
    fn number(&self) -> u64 {
        self.taken.number
    }

    /// True for a last value, written before this subscriber joined.
    #[getter]
    fn is_last_value(&self) -> bool {
        self.taken.is_last_value
    }

    /// Id of the publisher; None for a publisher in this process over DDS.
    #[getter]
    fn publisher(&self) -> Option<&str> {
        self.taken.publisher.as_deref()
    }

    /// Number of samples of its writer lost directly before it.
    #[getter]
    fn missed(&self) -> u64 {
        self.taken.missed
    }

    /// All members: decimals as decimal.Decimal, structures as dictionaries, sequences as lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.members.bind(py).copy()
    }

    /// Names of the members.
    fn keys<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.members.bind(py).keys()
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.members.bind(py).get_item(name)?;
        found.ok_or_else(|| PyAttributeError::new_err(format!("{} has no {name}", self.topic)))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.members.bind(py).get_item(name)?;
        found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Sample {} {}>", self.topic, self.members.bind(py).repr()?))
    }
}

impl PySample {
    /// Creates the object. The bytes have been checked against the type.
    pub fn new(py: Python<'_>, topic: &str, of: &StructType, taken: OwnedSample) -> PyResult<Self> {
        let members = PyDict::new(py);
        let levels = vec![ValueContainer::Dict(members.clone())];
        let mut builder = Builder { py, levels, names: Vec::new(), failed: None };
        // Walking fails only for bytes that do not match the type.
        if of.walk(&mut SampleDecoder::new(&taken.bytes, taken.encoding), &mut builder).is_err() {
            return Err(pyo3::exceptions::PyValueError::new_err("a sample's bytes are damaged"));
        }
        match builder.failed {
            Some(error) => Err(error),
            None => Ok(Self { topic: topic.to_owned(), members: members.unbind(), taken }),
        }
    }
}

/// Container of the next value.
enum ValueContainer<'py> {
    Dict(Bound<'py, PyDict>),
    /// The parts of a decimal.
    Decimal {
        mantissa: i64,
        exponent: i32,
    },
    List(Bound<'py, PyList>),
}

/// Builds dictionaries and lists from a sample.
struct Builder<'py> {
    py: Python<'py>,
    levels: Vec<ValueContainer<'py>>,
    /// Names of the open structures.
    names: Vec<String>,
    failed: Option<PyErr>,
}

impl<'py> Builder<'py> {
    fn put(&mut self, name: &str, value: Bound<'py, PyAny>) {
        let put = match self.levels.last() {
            Some(ValueContainer::Dict(dict)) => {
                dict.set_item(PyString::intern(self.py, name), value)
            }
            Some(ValueContainer::List(list)) => list.append(value),
            Some(ValueContainer::Decimal { .. }) | None => Ok(()),
        };
        self.note(put);
    }

    fn note(&mut self, done: PyResult<()>) {
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
    }

    fn object(&self, value: Scalar<'_>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match value {
            Scalar::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
            Scalar::Bytes(value) => PyBytes::new(py, value).into_any(),
            Scalar::Char(value) => PyString::new(py, &char::from(value).to_string()).into_any(),
            Scalar::F64(value) => value.into_pyobject(py)?.into_any(),
            Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
            Scalar::Str(value) => PyString::new(py, value).into_any(),
            Scalar::UInt(value) => value.into_pyobject(py)?.into_any(),
        })
    }
}

impl Visitor for Builder<'_> {
    fn scalar(&mut self, name: &str, value: Scalar<'_>) {
        if let Some(ValueContainer::Decimal { mantissa, exponent }) = self.levels.last_mut() {
            match value {
                Scalar::Int(value) if name == "mantissa" => *mantissa = value,
                // The member has 32 bits, so the conversion is lossless.
                Scalar::Int(value) => *exponent = value as i32,
                _ => {}
            }
            return;
        }
        match self.object(value) {
            Ok(object) => self.put(name, object),
            Err(error) => self.note(Err(error)),
        }
    }

    fn absent(&mut self, name: &str) {
        self.put(name, self.py.None().into_bound(self.py));
    }

    fn begin_struct(&mut self, name: &str, of: &StructType) {
        if of.name == DECIMAL {
            self.levels.push(ValueContainer::Decimal { mantissa: 0, exponent: 0 });
        } else {
            let dict = PyDict::new(self.py);
            self.levels.push(ValueContainer::Dict(dict));
        }
        self.names.push(name.to_owned());
    }

    fn end_struct(&mut self) {
        let name = self.names.pop().unwrap_or_default();
        match self.levels.pop() {
            Some(ValueContainer::Dict(dict)) => self.put(&name, dict.into_any()),
            Some(ValueContainer::Decimal { mantissa, exponent }) => {
                match decimal(self.py, mantissa, exponent) {
                    Ok(value) => self.put(&name, value),
                    Err(error) => self.note(Err(error)),
                }
            }
            Some(ValueContainer::List(_)) | None => {}
        }
    }

    fn begin_sequence(&mut self, name: &str, _length: usize) {
        let list = PyList::empty(self.py);
        self.put(name, list.clone().into_any());
        self.levels.push(ValueContainer::List(list));
    }

    fn end_sequence(&mut self) {
        self.levels.pop();
    }
}
