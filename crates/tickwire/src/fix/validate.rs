//! `tickwire fix validate`: messages against the dictionaries.

use crate::failure::{Failure, Outcome};
use crate::files;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{Dictionary, Framer, Reader, Step, Validator};

/// Longest file read.
const INPUT_BYTES_MAX: u64 = 1 << 30;

/// Check messages against the dictionary of their version
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Messages, fields separated by SOH; - is standard input
    file: PathBuf,
}

/// Runs `tickwire fix validate`.
pub fn run(args: &ValidateArgs) -> Result<Outcome, Failure> {
    let bytes = files::read_whole(&args.file, INPUT_BYTES_MAX, "")?;
    let mut out = files::create(None)?;
    let (mut framer, mut reader) = (Framer::default(), Reader::new());
    let (mut at, mut errors) = (0, 0);
    while at < bytes.len() {
        let (len, error) = match framer.step(&bytes[at..]) {
            Step::Message(message) => (message.len(), judge(&mut reader, message)?),
            Step::Garbage(len) => (len, Some(format!("{len} bytes are no message"))),
            Step::NeedMore(_) => {
                (bytes.len() - at, Some("the file ends inside a message".to_owned()))
            }
        };
        if let Some(error) = error {
            writeln!(out, "message at offset {at}: {error}")?;
            errors += 1;
        }
        at += len.max(1);
    }
    out.flush()?;
    Ok(Outcome::flawed_if(errors > 0))
}

/// Returns what is wrong with a message.
fn judge(reader: &mut Reader, bytes: &[u8]) -> Result<Option<String>, Failure> {
    let message = match reader.decode(bytes) {
        Ok(message) => message,
        Err(error) => return Ok(Some(format!("garbled: {error}"))),
    };
    let version: String = String::from_utf8_lossy(message.begin_string()).replace('.', "");
    let Some((_, text)) = shipped::ALL.iter().find(|(name, _)| *name == version) else {
        return Ok(Some(format!("no dictionary for {version}")));
    };
    let dictionary =
        Dictionary::parse_quickfix(text).map_err(|error| Failure::Data(error.to_string()))?;
    let error = Validator::default().validate(&message, &dictionary).err();
    Ok(error.map(|error| format!("invalid: {error}")))
}
