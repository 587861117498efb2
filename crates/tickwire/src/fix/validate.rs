//! `tickwire fix validate`: checks messages against the dictionaries.

use super::input::MessagesArgs;
use super::versions::DictionaryArgs;
use crate::failure::{Failure, Outcome};
use crate::files;
use clap::Args;
use std::io::Write;
use tickwire_feed::counted;
use tickwire_fix::{FixMessage, Reader, Tag, Validator};
use tickwire_fix_text::{Versions, examined, explained};

/// Check messages against the dictionary of their version
///
/// Prints one line per garbled or invalid message: the position, the field, the value found and the
/// value expected, and the reason with which a session would reject it.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    #[command(flatten)]
    messages: MessagesArgs,
    #[command(flatten)]
    dictionary: DictionaryArgs,
}

/// Runs `tickwire fix validate`.
pub fn run(args: &ValidateArgs) -> Result<Outcome, Failure> {
    let versions = args.dictionary.open()?;
    let mut out = files::create(None)?;
    let (mut reader, mut validator) = (Reader::new(), Validator::default());
    let name = args.messages.name();
    let (mut count, mut errors) = (0_u64, 0_u64);
    args.messages.each(|place, found| {
        count += 1;
        let wrong = match examined(&mut reader, found) {
            Err(text) => Some(text),
            Ok((message, frame)) if frame.is_empty() => wrong(&mut validator, &versions, &message),
            Ok((message, frame)) => {
                let garbled = format!("garbled, to be ignored: {}", frame.join("; "));
                let fields = wrong(&mut validator, &versions, &message);
                Some(fields.map_or(garbled.clone(), |fields| format!("{garbled}; {fields}")))
            }
        };
        if let Some(wrong) = wrong {
            errors += 1;
            writeln!(out, "{name}: {place}: {wrong}")?;
        }
        Ok(())
    })?;
    writeln!(out, "{name}: {}, {errors} wrong", counted(count, "message"))?;
    out.flush()?;
    if count == 0 {
        return Err(Failure::Data(format!("{name}: no message found: none begins with 8=FIX")));
    }
    Ok(Outcome::flawed_if(errors > 0))
}

/// Returns the errors of a message.
fn wrong(
    validator: &mut Validator,
    versions: &Versions,
    message: &FixMessage<'_, '_>,
) -> Option<String> {
    let msg_type = String::from_utf8_lossy(message.msg_type()).into_owned();
    let seq_num = message.field(Tag::MSG_SEQ_NUM).map_or(&[][..], |field| field.value);
    let which = format!("MsgType {msg_type}, MsgSeqNum {}", String::from_utf8_lossy(seq_num));
    let Some((session, application)) = versions.of(message) else {
        let version = String::from_utf8_lossy(message.begin_string()).into_owned();
        return Some(format!(
            "{which}: no dictionary for BeginString '{}': name one with --dictionary",
            version.escape_default()
        ));
    };
    let error = validator.validate_fixt(message, session, application).err()?;
    Some(format!("{which}: {}", explained(&error, message, Some((session, application)))))
}
