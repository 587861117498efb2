//! Replaces sockets, sessions and the simulated exchange in builds without `net`, such as on systems other
//! than Linux: classes that raise an error.

use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Returns the error of a missing class.
fn missing(what: &str) -> PyErr {
    PyNotImplementedError::new_err(format!(
        "this build of tickwire has no {what}: it is in builds with the feature net, on Linux"
    ))
}

macro_rules! missing_classes {
    ($module:literal, $($class:ident $name:literal: $what:literal),+) => {$(
        #[doc = concat!("Not in this build: no ", $what, ".")]
        #[pyclass(name = $name, module = $module, frozen)]
        pub struct $class;

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (*_args, **_keywords))]
            fn new(
                _args: &Bound<'_, PyTuple>,
                _keywords: Option<&Bound<'_, PyDict>>,
            ) -> PyResult<Self> {
                Err(missing($what))
            }
        }
    )+};
}

/// Replaces publishers and subscribers.
pub mod distribution {
    use super::*;

    missing_classes!(
        "tickwire",
        PyPublisher "Publisher": "publisher",
        PySample "Sample": "subscriber",
        PySamples "Samples": "subscriber"
    );
}

/// Replaces the feed handler.
pub mod handler {
    use super::*;

    missing_classes!(
        "tickwire",
        PyHandler "Handler": "feed handler",
        Events "Events": "feed handler",
        PyBook "Book": "feed handler",
        PyGap "Gap": "feed handler",
        PyFeedEvent "FeedEvent": "feed handler",
        PyTrade "Trade": "feed handler"
    );
}

/// Replaces FIX sessions.
pub mod engine {
    use super::*;

    missing_classes!("tickwire.fix", PyFixEngine "Engine": "FIX sessions");
}

/// Replaces the simulated exchange.
pub mod simulate {
    use super::*;

    missing_classes!("tickwire", PyDay "Day": "simulated exchange");

    /// Raises an error: not in this build.
    #[pyfunction]
    #[pyo3(signature = (*_args, **_keywords))]
    pub fn day(
        _args: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyDay> {
        Err(missing("simulated exchange"))
    }
}
