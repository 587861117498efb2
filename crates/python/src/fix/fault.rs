//! What is wrong with a FIX message.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use tickwire_fix::{Checks, Error, FrameFault, Message};
use tickwire_fix_text::{Names, explained};

/// One thing that is wrong.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    /// For people, with everything below.
    pub text: String,
    pub tag: Option<u32>,
    /// Of the field in the message, in bytes.
    pub offset: Option<u32>,
    /// SessionRejectReason (373); none where the message is garbled, which is to be ignored.
    pub reason: Option<u32>,
    /// Of a text log, from 1.
    pub line: Option<u64>,
}

impl Fault {
    /// Something that no field tells.
    pub fn of_text(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// A frame that is wrong.
    pub fn of_frame(fault: &FrameFault, message: &Message<'_, '_>) -> Self {
        let (tag, offset) = match fault {
            FrameFault::BodyLength { .. } => (9, message.field_offset(1)),
            FrameFault::CheckSum { .. } => (10, message.field_offset(message.len() - 1)),
            _ => (10, u32::try_from(message.bytes().len()).ok()),
        };
        Self { text: fault.to_string(), tag: Some(tag), offset, ..Self::default() }
    }

    /// What a session would reject a message for.
    pub fn of_error(error: &Error, message: &Message<'_, '_>, names: Names<'_>) -> Self {
        Self {
            text: explained(error, message, Some((names.session, names.application))),
            tag: error.tag.map(|tag| tag.0),
            offset: Some(error.offset),
            reason: Checks::default().reason(error).map(|reason| reason.code()),
            line: None,
        }
    }

    /// All of them in one, at the place of the first that has one; none of none.
    pub fn together(faults: &[Self]) -> Option<Self> {
        let first = faults.iter().find(|fault| fault.tag.is_some()).or(faults.first())?;
        let texts: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
        Some(Self { text: texts.join("; "), ..first.clone() })
    }

    /// As an exception.
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
