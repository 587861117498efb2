//! A message as people look at it: read whatever is wrong with its frame, and told what that is.

use crate::found::Found;
use tickwire_fix::{Message, Reader};

/// Reads what was found.
///
/// # Errors
/// It is no message; why, in words.
pub fn examined<'r>(
    reader: &'r mut Reader,
    found: Found<'r>,
) -> Result<(Message<'r, 'r>, Vec<String>), String> {
    let (bytes, notes, is_completed) = match found {
        Found::Broken(text) => return Err(text),
        Found::Message { bytes, notes, is_completed } => (bytes, notes, is_completed),
    };
    // A right message needs no second look.
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
