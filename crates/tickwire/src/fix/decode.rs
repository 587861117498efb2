//! `tickwire fix decode`: messages with the names of their fields and values.

use super::input::MessagesArgs;
use super::versions::DictionaryArgs;
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::files;
use clap::{Args, ValueEnum};
use std::io::Write;
use tickwire_fix::{Printed, Reader};
use tickwire_fix_text::{examined, explained};

/// Print messages with the names of their fields and values
///
/// Finds messages in logs, mails, JSON and captures, with any separator, quotes or brackets, and in
/// lines without BeginString. A message with a wrong CheckSum, BodyLength or last delimiter is
/// printed after the error, and the exit status is 1.
#[derive(Debug, Args)]
pub struct FixDecodeArgs {
    #[command(flatten)]
    messages: MessagesArgs,
    #[command(flatten)]
    dictionary: DictionaryArgs,
    /// text: header, body and trailer, one field per line. jsonl: one object per message, with
    /// numbers and flags as JSON types and groups as lists of entries. For tables see `tickwire
    /// export --fix`
    #[arg(long, value_enum, default_value = "text")]
    format: FixOutputFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FixOutputFormat {
    Text,
    Jsonl,
}

/// Runs `tickwire fix decode`.
pub fn run(args: &FixDecodeArgs) -> Result<Outcome, Failure> {
    let versions = args.dictionary.open()?;
    let mut out = files::create(None)?;
    let mut reader = Reader::new();
    let name = args.messages.name();
    let (mut count, mut errors, mut line) = (0_u64, 0_u64, Vec::new());
    args.messages.each(|place, found| {
        count += 1;
        let (message, mut wrong) = match examined(&mut reader, found) {
            Ok(examined) => examined,
            Err(text) => {
                errors += 1;
                tell!("{name}: {place}: {text}");
                return Ok(());
            }
        };
        let known = versions.of(&message);
        wrong.extend(message.fault().map(|fault| explained(&fault, &message, known)));
        errors += u64::from(!wrong.is_empty());
        for text in &wrong {
            tell!("{name}: {place}: {text}");
        }
        let names = versions.names(&message);
        if args.format == FixOutputFormat::Text {
            for text in &wrong {
                writeln!(out, "wrong: {text}")?;
            }
            return Ok(writeln!(
                out,
                "{}",
                Printed::fixt(message, names.session, names.application)
            )?);
        }
        line.clear();
        names.push_message(&mut line, Some(place), &message, &wrong);
        Ok(out.write_all(&line)?)
    })?;
    out.flush()?;
    if count == 0 {
        return Err(Failure::Data(format!("{name}: no message found: none begins with 8=FIX")));
    }
    Ok(Outcome::flawed_if(errors > 0))
}
