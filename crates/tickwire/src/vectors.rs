//! `tickwire vectors`: decodes conformance cases and prints the results.

use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::files;
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::Arc;
use tickwire_fast::{Decoder, FastError, FastErrorKind, Message, Program, TemplateSet};
use tickwire_text::json::{JsonForm, parse_hex, push_record, push_string};

/// Decode conformance cases and print the results.
///
/// FILE has one JSON object per line: "name", "template_xml" and "hex", a list of buffers that one
/// strict decoder decodes in order. A buffer that starts with ! is preceded by a reset. Each case
/// prints one line {"name": .., "messages": [{"t": template, "f": {field: value}}], "error": ..}.
/// Absent fields are omitted. "error" is null, a code of the specification such as "D5",
/// "truncated", or the name of the exceeded limit. The command does not judge the results: compare
/// the lines with the expected ones.
#[derive(Debug, clap::Args)]
pub struct VectorsArgs {
    /// File of conformance cases, JSON lines; - is standard input.
    #[arg(value_name = "FILE")]
    input: PathBuf,
}

/// Runs the command.
pub fn run(args: &VectorsArgs) -> Result<Outcome, Failure> {
    let input = BufReader::new(files::open(&args.input)?);
    let mut out = files::create(None)?;
    let name = files::name_of(&args.input);
    let mut flawed = false;
    for (index, line) in input.lines().enumerate() {
        let line = line.map_err(|error| Failure::file("read", &name, &error))?;
        if line.trim().is_empty() {
            continue;
        }
        match case_line(&line) {
            Ok(result) => out.write_all(&result)?,
            Err(text) => {
                flawed = true;
                tell!("{name}:{}: {text}", index + 1);
            }
        }
    }
    out.flush()?;
    Ok(Outcome::flawed_if(flawed))
}

/// The result line of a case, or the reason why the line is not a case.
fn case_line(line: &str) -> Result<Vec<u8>, String> {
    let case: Json = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let member = |name: &str| case[name].as_str().ok_or(format!("\"{name}\": expected a string"));
    let buffers = case["hex"].as_array().ok_or("\"hex\": expected a list of strings")?;
    let buffers: Vec<VectorInput> =
        buffers.iter().map(VectorInput::parse).collect::<Result<_, _>>()?;
    let mut messages = Vec::new();
    let error = decode(member("template_xml")?, &buffers, &mut messages).err();

    let mut out = b"{\"name\": ".to_vec();
    push_string(&mut out, member("name")?);
    out.extend_from_slice(b", \"messages\": [");
    out.extend_from_slice(&messages);
    out.extend_from_slice(b"], \"error\": ");
    match error {
        Some(error) => push_string(&mut out, &error),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b"}\n");
    Ok(out)
}

/// Bytes to decode, with or without a reset before them.
struct VectorInput {
    reset: bool,
    bytes: Vec<u8>,
}

impl VectorInput {
    fn parse(text: &Json) -> Result<Self, String> {
        let text = text.as_str().ok_or("\"hex\": expected a list of strings")?;
        let digits = text.strip_prefix('!');
        let bytes = parse_hex(digits.unwrap_or(text)).map_err(|e| format!("\"hex\": {e}"))?;
        Ok(Self { reset: digits.is_some(), bytes })
    }
}

/// Decodes a case, appending each message, until the error that ends it.
fn decode(xml: &str, buffers: &[VectorInput], messages: &mut Vec<u8>) -> Result<(), String> {
    let set = TemplateSet::parse(xml).map_err(|errors| {
        let code = errors.errors.first().and_then(|error| error.code);
        code.map_or("limit", |code| code.as_str()).to_owned()
    })?;
    let program = Program::compile(set).map_err(|error| format!("{error:?}"))?;
    let mut decoder = Decoder::new(Arc::new(program));
    for buffer in buffers {
        if buffer.reset {
            decoder.reset();
        }
        let mut rest = &buffer.bytes[..];
        while !rest.is_empty() {
            let decoded = decoder.decode(rest).map_err(|error| error_name(&error))?;
            push_message(messages, decoded.message);
            rest = &rest[decoded.len..];
        }
    }
    Ok(())
}

fn push_message(out: &mut Vec<u8>, message: &Message) {
    if !out.is_empty() {
        out.extend_from_slice(b", ");
    }
    out.extend_from_slice(b"{\"t\": ");
    push_string(out, message.template_name());
    out.extend_from_slice(b", \"f\": ");
    push_record(out, message.root(), JsonForm::Wire);
    out.push(b'}');
}

fn error_name(error: &FastError) -> String {
    match (error.code(), error.kind()) {
        (Some(code), _) => code.to_string(),
        (None, FastErrorKind::Truncated) => "truncated".to_owned(),
        (None, kind) => format!("{kind:?}"),
    }
}
