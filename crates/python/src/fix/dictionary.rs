//! Dictionaries: names, types and rules of FIX messages.

use crate::errors;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use tickwire_fix::dictionary::{DictionaryProblem, EnumValue, shipped};
use tickwire_fix::{Dictionary as Rules, Tag};
use tickwire_fix_text::{Names, Versions};

/// The dictionaries that are part of the package, each parsed on first use.
static SHIPPED: LazyLock<Arc<Versions>> = LazyLock::new(Arc::default);

/// Returns the given dictionary, or those that are part of the package.
pub fn versions(given: Option<&PyFixDictionary>) -> Arc<Versions> {
    given.map_or_else(|| SHIPPED.clone(), |dictionary| dictionary.versions.clone())
}

/// A dictionary: names, types and rules of messages.
///
/// >>> from tickwire import fix
/// >>> dictionary = fix.Dictionary.version("FIX.4.4")
/// >>> dictionary.begin_string, dictionary.messages["D"], dictionary.tag("Symbol"), dictionary.name(55)
/// ('FIX.4.4', 'NewOrderSingle', 55, 'Symbol')
/// >>> dictionary.values("Side")["1"], dictionary.type("Price"), dictionary.warnings
/// ('BUY', 'Price', [])
/// >>> xml = '''<fix major="4" minor="4"><header/><trailer/><components/>
/// ... <messages><message name="Ping" msgtype="U1" msgcat="app"><field name="Text" required="Y"/></message></messages>
/// ... <fields><field number="58" name="Text" type="STRING"/></fields></fix>'''
/// >>> fix.Dictionary.parse(xml).messages
/// {'U1': 'Ping', '0': 'Heartbeat', '1': 'TestRequest', '2': 'ResendRequest', '3': 'Reject', '4': 'SequenceReset', '5': 'Logout', 'A': 'Logon'}
#[pyclass(name = "Dictionary", module = "tickwire.fix", frozen)]
pub struct PyFixDictionary {
    versions: Arc<Versions>,
}

#[pymethods]
impl PyFixDictionary {
    /// Reads a file of QuickFIX or FIX Orchestra.
    #[new]
    #[pyo3(signature = (path, session = None))]
    fn new(py: Python<'_>, path: PathBuf, session: Option<PathBuf>) -> PyResult<Self> {
        let read = |path: &Path| read(path).map_err(|text| errors::usage(py, &text));
        let (application, session) = (read(&path)?, session.as_deref().map(read).transpose()?);
        Ok(Self::of(application, session))
    }

    /// Parses the text of a file.
    #[staticmethod]
    #[pyo3(signature = (xml, session = None))]
    fn parse(py: Python<'_>, xml: &str, session: Option<&str>) -> PyResult<Self> {
        let parse = |xml: &str| {
            Rules::parse(xml).map_err(|problems| errors::usage(py, &lines("", &problems.0)))
        };
        Ok(Self::of(parse(xml)?, session.map(parse).transpose()?))
    }

    /// Returns a dictionary that is part of the package, such as "FIX.4.4" or "FIX44".
    #[staticmethod]
    fn version(py: Python<'_>, name: &str) -> PyResult<Self> {
        let wanted = name.replace('.', "");
        let Some((_, text)) = shipped::ALL.iter().find(|(known, _)| *known == wanted) else {
            let known: Vec<&str> = shipped::ALL.iter().map(|(name, _)| *name).collect();
            let text = format!("no dictionary {name}: expected one of {}", known.join(", "));
            return Err(errors::usage(py, &text));
        };
        Self::parse(py, text, None)
    }

    /// BeginString of the version; for FIX 5.0 and later the version's name, such as "FIX.5.0SP2".
    #[getter]
    fn begin_string(&self) -> &str {
        self.names().application.begin_string()
    }

    /// Harmless errors in the file, one line each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.names().application.warnings().iter().map(ToString::to_string).collect()
    }

    /// Names of the messages by MsgType.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (names, messages) = (self.names(), PyDict::new(py));
        for message in names.application.messages().iter().chain(names.session.messages()) {
            messages.set_item(message.msg_type(), message.name())?;
        }
        Ok(messages)
    }

    /// The tag of a field; None if no field has the name.
    fn tag(&self, name: &str) -> Option<u32> {
        self.names().field_named(name).map(|field| field.tag().0)
    }

    /// The name of a field; None if no field has the tag.
    fn name(&self, tag: u32) -> Option<&str> {
        self.names().field(Tag(tag)).map(|field| field.name())
    }

    /// The type of a field's values, such as "Price" or "UtcTimestamp"; None if no field has the name.
    #[pyo3(name = "type")]
    fn type_of(&self, name: &str) -> Option<String> {
        self.names().field_named(name).map(|field| format!("{:?}", field.field_type()))
    }

    /// The allowed values of a field, with their names; empty if any value is allowed.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        let field = self.names().field_named(name);
        let field = field.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        for EnumValue { value, description } in field.values() {
            values.set_item(value, description)?;
        }
        Ok(values)
    }

    fn __repr__(&self) -> String {
        format!("<Dictionary {}>", self.begin_string())
    }
}

impl PyFixDictionary {
    fn of(application: Rules, session: Option<Rules>) -> Self {
        Self { versions: Arc::new(Versions::named(application, session)) }
    }

    fn names(&self) -> Names<'_> {
        self.versions.names_of(b"", None)
    }
}

fn read(path: &Path) -> Result<Rules, String> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    Rules::parse_bytes(&bytes).map_err(|problems| lines(&format!("{name}: "), &problems.0))
}

/// Formats all problems, one line each.
fn lines(before: &str, problems: &[DictionaryProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(|problem| format!("{before}{problem}")).collect();
    lines.join("\n")
}
