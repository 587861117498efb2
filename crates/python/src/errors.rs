//! Exceptions; their classes are defined in the Python package.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Returns an exception of this class with these arguments.
fn raise<'py>(
    py: Python<'py>,
    class: &PyOnceLock<Py<PyType>>,
    name: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyErr {
    let made = class.import(py, "tickwire._errors", name).and_then(|class| class.call1(arguments));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// Returns an error of usage: of a file, an option or a template set, not of the data.
pub fn usage(py: Python<'_>, text: &str) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(py, &CLASS, "TickwireError", (text,))
}

/// Returns the exception for errors in templates.
pub fn templates(py: Python<'_>, errors: Vec<String>) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(py, &CLASS, "TemplateError", (errors,))
}

/// Returns the exception for undecodable data.
pub fn decode<'py>(py: Python<'py>, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(py, &CLASS, "DecodeError", arguments)
}

/// Returns the exception for a message that cannot be encoded.
pub fn encode<'py>(py: Python<'py>, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(py, &CLASS, "EncodeError", arguments)
}
