//! Exceptions, which are classes of the package.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An exception of this class, with these arguments.
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

/// Something that is no error of the data: a file, an option, a template set.
pub fn usage(py: Python<'_>, text: &str) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(py, &CLASS, "TickwireError", (text,))
}

/// Everything that is wrong with templates.
pub fn templates(py: Python<'_>, errors: Vec<String>) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(py, &CLASS, "TemplateError", (errors,))
}

/// Data that cannot be decoded.
pub fn decode<'py>(py: Python<'py>, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(py, &CLASS, "DecodeError", arguments)
}

/// A message that cannot be encoded.
pub fn encode<'py>(py: Python<'py>, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(py, &CLASS, "EncodeError", arguments)
}
