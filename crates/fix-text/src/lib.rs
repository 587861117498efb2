//! Finds FIX messages in logs and captures and prints them.
//!
//! | item | task |
//! |---|---|
//! | [`Scanner`] | finds messages in text of any kind |
//! | [`FixStreams`] | finds messages in the TCP streams of a capture |
//! | [`LogFile`] | reads a file of either kind |
//! | [`examined`] | parses a message even if its BodyLength, CheckSum or end is wrong |
//! | [`Versions`] | the dictionaries of a message |
//! | [`Names`] | finds the entries of groups and writes a message as JSON |
//! | [`explained`] | describes an error of the validator |
//!
//! # Examples
//!
//! ```
//! use tickwire_fix::Reader;
//! use tickwire_fix_text::{Scanner, Versions, examined};
//!
//! let log = b"12:30:01 out 8=FIX.4.4|9=5|35=0|10=163|\n";
//! let (line, found) = Scanner::new(log, None).next().unwrap();
//! let mut reader = Reader::new();
//! let (message, wrong) = examined(&mut reader, found.found())?;
//! assert!(line == 1 && wrong.is_empty());
//! let versions = Versions::default();
//! let mut json = Vec::new();
//! versions.names(&message).push_message(&mut json, None, &message, &wrong);
//! assert!(json.starts_with(br#"{"msg_type":"0","name":"Heartbeat","fields":[{"tag":8,"name":"BeginString""#));
//! # Ok::<(), String>(())
//! ```

#![forbid(unsafe_code)]

mod examined;
mod explained;
mod found;
mod json;
mod mixed;
mod names;
mod pull;
mod scanner;
mod streams;
mod versions;

pub use examined::examined;
pub use explained::explained;
pub use found::FoundMessage;
pub use names::{FRAME_TAGS, FieldNode, Names};
pub use pull::{FindingPlace, FoundAt, LogFile, LogReader};
pub use scanner::{Paused, Scanner, TextMessage};
pub use streams::FixStreams;
pub use versions::Versions;

const SOH: u8 = 1;

/// True if the first bytes of a file are those of a capture.
fn is_capture(start: &[u8]) -> bool {
    matches!(
        start,
        [0xA1, 0xB2, 0xC3, 0xD4 | 0x4D, ..]
            | [0xD4 | 0x4D, 0xC3, 0xB2, 0xA1, ..]
            | [0xA1, 0xB2, 0x3C, 0x4D, ..]
            | [0x4D, 0x3C, 0xB2, 0xA1, ..]
            | [0x0A, 0x0D, 0x0D, 0x0A, ..]
    )
}
