//! FIX messages, for the package `tickwire.fix`.

mod batches;
mod dictionary;
#[cfg(feature = "net")]
mod encode;
#[cfg(feature = "net")]
mod engine;
mod entry;
mod fault;
mod inner;
mod log;
mod message;
mod parse;
mod survey;
mod values;

#[cfg(not(feature = "net"))]
use crate::without_net::engine;
use pyo3::prelude::*;

/// FIX in Rust for the package `tickwire.fix`, which imports this module as `tickwire.fix._native`.
#[pymodule(name = "fix")]
pub mod native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::batches::PyFixBatches;
    #[pymodule_export]
    use super::dictionary::PyFixDictionary;
    #[pymodule_export]
    use super::engine::PyFixEngine;
    #[pymodule_export]
    use super::entry::PyFixEntry;
    #[pymodule_export]
    use super::log::{Log, PyFixMessages, open};
    #[pymodule_export]
    use super::message::PyFixMessage;
    #[pymodule_export]
    use super::parse::parse;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let modules = module.py().import("sys")?.getattr("modules")?;
        modules.set_item("tickwire.fix._native", module)
    }
}
