//! Template sets.

use crate::errors;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::{Path, PathBuf};
use tickwire_fast::template::ParseLimits;
use tickwire_fast::{CompileOptions, Program};

/// Templates of a feed: FAST 1.1 or 1.2 XML, from one file or several files that form one set.
///
/// >>> import pathlib, tempfile, tickwire
/// >>> xml = '<templates><template name="Quote" id="1"><uInt32 name="Id"/><decimal name="Px"/></template></templates>'
/// >>> tickwire.TemplateSet.parse(xml).names
/// ['Quote']
/// >>> path = pathlib.Path(tempfile.mkdtemp()) / "quotes.xml"
/// >>> _ = path.write_text(xml)
/// >>> tickwire.TemplateSet(path).signature == tickwire.TemplateSet.parse(xml).signature
/// True
/// >>> _ = path.write_text(xml.replace("uInt32", "uInt31").replace("decimal", "decimals"))
/// >>> for line in tickwire.TemplateSet.check(path):
/// ...     print(line.removeprefix(str(path)))
/// : line 1, column 42: S1: template "Quote": element <uInt31> is not known inside <template>; help: check the spelling; a vendor's own elements need a namespace of their own
/// : line 1, column 61: S1: template "Quote": element <decimals> is not known inside <template>; help: check the spelling; a vendor's own elements need a namespace of their own
#[pyclass(name = "TemplateSet", module = "tickwire", frozen)]
pub struct PyTemplateSet {
    pub set: tickwire_fast::TemplateSet,
    /// Names and texts of the files, for pickling.
    files: Files,
}

/// Name and bytes of template files.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// Creates a set from these files; used to unpickle a set.
#[pyfunction]
pub fn template_set(py: Python<'_>, files: Files) -> PyResult<PyTemplateSet> {
    Ok(PyTemplateSet { set: set_of(py, &files)?, files })
}

#[pymethods]
impl PyTemplateSet {
    /// Reads template files.
    #[new]
    fn new(py: Python<'_>, paths: Paths) -> PyResult<Self> {
        template_set(py, read_files(py, &paths.0)?)
    }

    /// Parses templates from text.
    #[staticmethod]
    fn parse(py: Python<'_>, xml: &str) -> PyResult<Self> {
        template_set(py, vec![(PathBuf::from("templates"), xml.as_bytes().to_vec())])
    }

    /// All errors in template files, one line each; empty if they are usable.
    #[staticmethod]
    fn check(py: Python<'_>, paths: Paths) -> PyResult<Vec<String>> {
        let mut lines = Vec::new();
        for path in &paths.0 {
            lines.extend(parse(path, &read_bytes(py, path)?).err().unwrap_or_default());
        }
        if lines.is_empty()
            && let Err(error) = read(py, &paths.0)
        {
            lines.push(error.value(py).to_string());
        }
        Ok(lines)
    }

    /// Names of the templates, in the order of the file.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.set.templates().iter().map(|template| template.name.local.to_string()).collect()
    }

    /// Digest of the templates' decoding behaviour, independent of their formatting.
    #[getter]
    fn signature(&self) -> String {
        self.set.signature().to_string()
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (PickledFiles<'py>,))> {
        let make = py.import("tickwire._tickwire")?.getattr("template_set")?;
        let files = self.files.iter();
        let files = files.map(|(name, bytes)| (name.clone(), PyBytes::new(py, bytes)));
        Ok((make, (files.collect(),)))
    }

    fn __repr__(&self) -> String {
        format!("<TemplateSet of {} templates, {}>", self.set.templates().len(), self.signature())
    }
}

type PickledFiles<'py> = Vec<(PathBuf, Bound<'py, PyBytes>)>;

/// One path or several.
pub struct Paths(pub Vec<PathBuf>);

impl<'py> FromPyObject<'_, 'py> for Paths {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<PathBuf>() {
            Ok(path) => Ok(Self(vec![path])),
            Err(_) => object.extract::<Vec<PathBuf>>().map(Self),
        }
    }
}

/// Templates as an argument: a set, or paths.
pub struct TemplatesInput(pub tickwire_fast::TemplateSet);

impl<'py> FromPyObject<'_, 'py> for TemplatesInput {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyTemplateSet>() {
            Ok(set) => Ok(Self(set.get().set.clone())),
            Err(_) => Ok(Self(read(object.py(), &object.extract::<Paths>()?.0)?)),
        }
    }
}

fn read_bytes(py: Python<'_>, path: &Path) -> PyResult<Vec<u8>> {
    std::fs::read(path)
        .map_err(|error| errors::usage(py, &format!("cannot open {}: {error}", path.display())))
}

fn read_files(py: Python<'_>, paths: &[PathBuf]) -> PyResult<Files> {
    paths.iter().map(|path| Ok((path.clone(), read_bytes(py, path)?))).collect()
}

/// Reads template files.
pub fn read(py: Python<'_>, paths: &[PathBuf]) -> PyResult<tickwire_fast::TemplateSet> {
    set_of(py, &read_files(py, paths)?)
}

fn set_of(py: Python<'_>, files: &[(PathBuf, Vec<u8>)]) -> PyResult<tickwire_fast::TemplateSet> {
    let mut sets = Vec::new();
    for (path, bytes) in files {
        let parsed = parse(path, bytes);
        sets.push(parsed.map_err(|lines| errors::templates(py, lines))?);
    }
    if let [set] = &sets[..] {
        return Ok(set.clone());
    }
    let templates = sets.iter().flat_map(|set| set.templates().iter().cloned()).collect();
    tickwire_fast::TemplateSet::from_templates(templates, &ParseLimits::default())
        .map_err(|wrong| errors::templates(py, vec![wrong.to_string()]))
}

/// Parses a template file. Returns all errors as `FILE:line:column: text`.
fn parse(path: &Path, bytes: &[u8]) -> Result<tickwire_fast::TemplateSet, Vec<String>> {
    tickwire_fast::TemplateSet::parse_bytes(bytes).map_err(|wrong| {
        let mut lines: Vec<String> =
            wrong.errors.iter().map(|error| format!("{}: {error}", path.display())).collect();
        if wrong.omitted > 0 {
            lines.push(format!("and {} more", wrong.omitted));
        }
        lines
    })
}

/// Compiles a set, with a projection if fields are given.
pub fn compile(
    py: Python<'_>,
    set: tickwire_fast::TemplateSet,
    fields: Option<Vec<String>>,
) -> PyResult<Program> {
    let options = CompileOptions::default().fields(fields);
    Program::compile_with(set, &options).map_err(|error| errors::usage(py, &error.to_string()))
}
