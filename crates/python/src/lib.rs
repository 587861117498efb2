//! Tickwire for Python: decodes captures to messages and Arrow columns.
//!
//! This is the module `tickwire._tickwire`. Users import the package `python/tickwire`, which adds the parts
//! that need other libraries.

mod batches;
mod capture;
mod codec;
mod collected;
#[cfg(feature = "net")]
mod distribution;
mod errors;
mod explain;
mod fault;
mod fix;
mod from_python;
#[cfg(feature = "net")]
mod handler;
mod lost;
mod message;
mod opra;
mod parquet;
mod plan;
mod pull;
mod signals;
#[cfg(feature = "net")]
mod simulate;
mod templates;
mod values;
mod warnings;
#[cfg(not(feature = "net"))]
mod without_net;

use pyo3::prelude::*;
#[cfg(not(feature = "net"))]
use without_net::{distribution, handler, simulate};

/// Decoding in Rust, for the package `tickwire`.
#[pymodule]
mod _tickwire {
    #[pymodule_export]
    use super::batches::{PyBatches, end_streams};
    #[pymodule_export]
    use super::capture::{PyCapture, PyMessages, open};
    #[pymodule_export]
    use super::codec::{PyDecoder, PyEncoder};
    #[pymodule_export]
    use super::collected::PyCollectedBatches;
    #[pymodule_export]
    use super::distribution::{PyPublisher, PySample, PySamples};
    #[pymodule_export]
    use super::explain::{PyExplanation, explain};
    #[pymodule_export]
    use super::fix::native;
    #[pymodule_export]
    use super::handler::{Events, PyBook, PyFeedEvent, PyGap, PyHandler, PyTrade};
    #[pymodule_export]
    use super::lost::PyDecodingErrors;
    #[pymodule_export]
    use super::message::{PyMessage, PyRecord};
    #[pymodule_export]
    use super::opra::native as opra;
    #[pymodule_export]
    use super::plan::{captures_of, plan_capture};
    #[pymodule_export]
    use super::simulate::{PyDay, day};
    #[pymodule_export]
    use super::templates::{PyTemplateSet, template_set};
}
