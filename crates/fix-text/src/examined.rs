//! Decodes a message for inspection, whatever the faults of its frame, and describes the faults.

use crate::found::FoundMessage;
use tickwire_fix::{FixMessage, Reader};

/// Decodes a found message. Returns it with the descriptions of its faults.
///
/// # Errors
/// The bytes are not a message; the text describes why.
pub fn examined<'r>(
    reader: &'r mut Reader,
    found: FoundMessage<'r>,
) -> Result<(FixMessage<'r, 'r>, Vec<String>), String> {
    let (bytes, notes, is_completed) = match found {
        FoundMessage::Broken(text) => return Err(text),
        FoundMessage::Message { bytes, notes, is_completed } => (bytes, notes, is_completed),
    };
    // A valid message needs no inspection.
    if notes.is_empty() && !is_completed && reader.decode(bytes).is_ok() {
        let message = reader.decode(bytes).map_err(|error| error.to_string())?;
        return Ok((message, Vec::new()));
    }
    let (message, faults) = reader.examine(bytes).map_err(|error| format!("garbled: {error}"))?;
    let mut wrong = notes.to_vec();
    if !is_completed {
        wrong.extend(faults.iter().map(ToString::to_string));
    }
    Ok((message, wrong))
}
