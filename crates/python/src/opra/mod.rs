//! OPRA captures, for the package `tickwire.opra`.

mod batches;
mod capture;
mod message;
mod pull;

use pyo3::prelude::*;

/// OPRA in Rust for the package `tickwire.opra`, which imports this module as `tickwire._opra`.
#[pymodule(name = "opra")]
pub mod native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::batches::PyOpraBatches;
    #[pymodule_export]
    use super::capture::{PyOpraCapture, PyOpraMessages, open, simulate};
    #[pymodule_export]
    use super::message::PyOpraMessage;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let modules = module.py().import("sys")?.getattr("modules")?;
        modules.set_item("tickwire._opra", module)
    }
}
