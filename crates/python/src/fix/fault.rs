//! Errors of FIX messages.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use tickwire_fix::{Checks, FixError, FixMessage, FrameFault};
use tickwire_fix_text::{Names, explained};

/// An error of a message.
#[derive(Clone, Debug, Default)]
pub struct MessageFault {
    /// Description that includes the other fields.
    pub text: String,
    pub tag: Option<u32>,
    /// Offset of the field in the message, bytes.
    pub offset: Option<u32>,
    /// SessionRejectReason (373); `None` if the message is garbled, and must be ignored.
    pub reason: Option<u32>,
    /// Line of a text log, from 1.
    pub line: Option<u64>,
}

impl MessageFault {
    /// Creates an error without a field.
    pub fn of_text(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// Creates the error of a frame.
    pub fn of_frame(fault: &FrameFault, message: &FixMessage<'_, '_>) -> Self {
        let (tag, offset) = match fault {
            FrameFault::BodyLength { .. } => (9, message.field_offset(1)),
            FrameFault::CheckSum { .. } => (10, message.field_offset(message.len() - 1)),
            _ => (10, u32::try_from(message.bytes().len()).ok()),
        };
        Self { text: fault.to_string(), tag: Some(tag), offset, ..Self::default() }
    }

    /// Creates the error for which a session would reject a message.
    pub fn of_error(error: &FixError, message: &FixMessage<'_, '_>, names: Names<'_>) -> Self {
        Self {
            text: explained(error, message, Some((names.session, names.application))),
            tag: error.tag.map(|tag| tag.0),
            offset: Some(error.offset),
            reason: Checks::default().reason(error).map(|reason| reason.code()),
            line: None,
        }
    }

    /// Joins errors to one, at the position of the first that has one; `None` without errors.
    pub fn together(faults: &[Self]) -> Option<Self> {
        let first = faults.iter().find(|fault| fault.tag.is_some()).or(faults.first())?;
        let texts: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
        Some(Self { text: texts.join("; "), ..first.clone() })
    }

    /// Converts the error to an exception.
    pub fn exception(self, py: Python<'_>) -> PyErr {
        let Self { text, tag, offset, reason, line } = self;
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let class = CLASS.import(py, "tickwire.fix._errors", "FixError");
        match class.and_then(|class| class.call1((text, tag, offset, reason, line))) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }
}
