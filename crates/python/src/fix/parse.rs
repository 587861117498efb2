//! Parses one message from bytes or text.

use crate::fix::dictionary::{PyFixDictionary, versions};
use crate::fix::fault::MessageFault;
use crate::fix::inner::ParsedMessage;
use crate::fix::message::PyFixMessage;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use std::sync::{Arc, LazyLock};
use tickwire_fix::Reader;
use tickwire_fix_text::{FoundMessage, Paused, Scanner, Versions};

/// A scanner for any separator; its patterns are compiled once.
static SCANNER: LazyLock<Paused> = LazyLock::new(|| Paused::new(None));

/// Bytes, or text in UTF-8.
#[derive(FromPyObject)]
pub enum BytesOrText {
    #[pyo3(transparent, annotation = "bytes")]
    Bytes(PyBackedBytes),
    #[pyo3(transparent, annotation = "str")]
    Text(PyBackedStr),
}

impl BytesOrText {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }
}

/// Parses the only message of a text. `separator` separates fields; detected by default.
#[pyfunction]
#[pyo3(signature = (text, separator = None, dictionary = None, checks = true))]
pub fn parse(
    py: Python<'_>,
    text: BytesOrText,
    separator: Option<BytesOrText>,
    dictionary: Option<&PyFixDictionary>,
    checks: bool,
) -> PyResult<PyFixMessage> {
    let versions = versions(dictionary);
    let separator = separator.as_ref().map(BytesOrText::bytes);
    let inner = only(text.bytes(), separator, versions).map_err(|fault| fault.exception(py))?;
    match MessageFault::together(&inner.faults).filter(|_| checks) {
        Some(fault) => Err(fault.exception(py)),
        None => Ok(PyFixMessage::new(inner)),
    }
}

fn only(
    text: &[u8],
    separator: Option<&[u8]>,
    versions: Arc<Versions>,
) -> Result<ParsedMessage, MessageFault> {
    // A message in wire format needs no search.
    if separator.is_none_or(|separator| separator == b"\x01") && Reader::new().decode(text).is_ok()
    {
        return Ok(ParsedMessage::new(text.to_vec(), Vec::new(), versions));
    }
    let mut scanner = match separator {
        None => SCANNER.clone().resume(text),
        Some(b"") => {
            return Err(MessageFault::of_text("a separator has at least one byte".to_owned()));
        }
        Some(separator) => Scanner::new(text, Some(separator)),
    };
    let Some((_, found)) = scanner.next() else {
        return Err(MessageFault::of_text("no message found: none begins with 8=FIX".to_owned()));
    };
    if scanner.next().is_some() {
        return Err(MessageFault::of_text("several messages, expected one".to_owned()));
    }
    inner(found.found(), versions)
}

/// Returns a message that was found, with the errors of its frame.
pub fn inner(
    found: FoundMessage<'_>,
    versions: Arc<Versions>,
) -> Result<ParsedMessage, MessageFault> {
    let (bytes, notes, is_completed) = match found {
        FoundMessage::Broken(text) => return Err(MessageFault::of_text(text)),
        FoundMessage::Message { bytes, notes, is_completed } => (bytes, notes, is_completed),
    };
    let mut reader = Reader::new();
    if notes.is_empty() && !is_completed && reader.decode(bytes).is_ok() {
        return Ok(ParsedMessage::new(bytes.to_vec(), Vec::new(), versions));
    }
    let examined = reader.examine(bytes);
    let (message, frame) = examined.map_err(|error| MessageFault {
        text: format!("garbled: {error}"),
        tag: error.tag.map(|tag| tag.0),
        offset: Some(error.offset),
        ..MessageFault::default()
    })?;
    let mut faults: Vec<MessageFault> = notes.iter().cloned().map(MessageFault::of_text).collect();
    if !is_completed {
        faults.extend(frame.iter().map(|fault| MessageFault::of_frame(fault, &message)));
    }
    Ok(ParsedMessage::new(bytes.to_vec(), faults, versions))
}
