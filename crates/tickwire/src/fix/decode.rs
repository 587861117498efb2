//! `tickwire fix decode`: messages with the names of their fields and values.

use super::expected::explained;
use super::input::{Found, MessagesArgs};
use super::versions::DictionaryArgs;
use crate::failure::{Failure, Outcome};
use crate::files;
use clap::{Args, ValueEnum};
use std::io::Write;
use tickwire_fix::{Dictionary, Message, Printed, Reader, Tag};
use tickwire_text::json::{push_hex, push_string, push_unsigned};

/// Print messages with the names of their fields and values
#[derive(Debug, Args)]
pub struct DecodeArgs {
    #[command(flatten)]
    messages: MessagesArgs,
    #[command(flatten)]
    dictionary: DictionaryArgs,
    /// text: header, body and trailer, a field a line; jsonl: an object a message
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Jsonl,
}

/// Runs `tickwire fix decode`.
pub fn run(args: &DecodeArgs) -> Result<Outcome, Failure> {
    let versions = args.dictionary.open()?;
    let empty = Dictionary::parse_quickfix("<fix major='0' minor='0'/>");
    let empty = empty.map_err(|problems| Failure::Data(problems.to_string()))?;
    let mut out = files::create(None)?;
    let mut reader = Reader::new();
    let name = args.messages.name();
    let (mut count, mut errors, mut line) = (0_u64, 0_u64, Vec::new());
    args.messages.each(|place, found| {
        count += 1;
        let decoded = match found {
            Found::Broken(text) => Err(text),
            Found::Message(bytes) => {
                reader.decode(bytes).map_err(|error| format!("garbled: {error}"))
            }
        };
        let message = match decoded {
            Ok(message) => message,
            Err(text) => {
                errors += 1;
                anstream::eprintln!("{name}: {place}: {text}");
                return Ok(());
            }
        };
        let known = versions.of(&message);
        if let Some(fault) = message.fault() {
            errors += 1;
            anstream::eprintln!("{name}: {place}: {}", explained(&fault, &message, known));
        }
        let (session, application) = known.unwrap_or((&empty, &empty));
        if args.format == Format::Text {
            return Ok(writeln!(out, "{}", Printed::fixt(message, session, application))?);
        }
        line.clear();
        push_message(&mut line, place, &message, session, application);
        Ok(out.write_all(&line)?)
    })?;
    out.flush()?;
    if count == 0 {
        return Err(Failure::Data(format!("{name}: no message found: none begins with 8=FIX")));
    }
    Ok(Outcome::flawed_if(errors > 0))
}

/// Appends a message as an object on a line of its own.
fn push_message(
    out: &mut Vec<u8>,
    place: &str,
    message: &Message<'_>,
    session: &Dictionary,
    application: &Dictionary,
) {
    out.extend_from_slice(b"{\"place\":");
    push_string(out, place);
    out.extend_from_slice(b",\"msg_type\":");
    push_string(out, &String::from_utf8_lossy(message.msg_type()));
    let definition = session.message(message.msg_type());
    if let Some(found) = definition.or_else(|| application.message(message.msg_type())) {
        out.extend_from_slice(b",\"name\":");
        push_string(out, found.name());
    }
    out.extend_from_slice(b",\"fields\":[");
    for (at, field) in message.fields().enumerate() {
        out.extend_from_slice(if at == 0 { b"{\"tag\":" } else { b",{\"tag\":" });
        push_unsigned(out, u64::from(field.tag.0));
        let definition = session.field(field.tag).or_else(|| application.field(field.tag));
        if let Some(found) = definition {
            out.extend_from_slice(b",\"name\":");
            push_string(out, found.name());
        }
        match std::str::from_utf8(field.value) {
            Ok(text) => {
                out.extend_from_slice(b",\"value\":");
                push_string(out, text);
            }
            Err(_) => {
                out.extend_from_slice(b",\"hex\":\"");
                push_hex(out, field.value);
                out.push(b'"');
            }
        }
        let meaning = definition.and_then(|found| found.description(field.value));
        if let Some(meaning) = meaning.filter(|text| !text.is_empty() && field.tag != Tag::MSG_TYPE)
        {
            out.extend_from_slice(b",\"meaning\":");
            push_string(out, meaning);
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}\n");
}
