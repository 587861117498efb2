//! `tickwire opra vectors`: decodes conformance cases and prints the results.

use super::decoder::{DecoderName, OpraDecoder};
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::files;
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use tickwire_opra::{Decode, json};
use tickwire_text::json::{parse_hex, push_string};

/// Decode conformance cases and print the results
///
/// FILE has one JSON object per line with "name" and "hex", the bytes of one packet. Each case
/// prints one line {"name": .., "messages": [..], "error": ..}. "error" is null or one of a few
/// fixed texts; the messages before an error are printed. The command does not judge the results:
/// compare the lines with the expected ones.
#[derive(Debug, clap::Args)]
pub struct OpraVectorsArgs {
    /// File of conformance cases, JSON lines; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Decoder to use
    #[arg(long, value_name = "NAME", default_value = "bottom-up")]
    decoder: DecoderName,
}

/// Runs the command.
pub fn run(args: &OpraVectorsArgs) -> Result<Outcome, Failure> {
    let input = BufReader::new(files::open(&args.input)?);
    let mut out = files::create(None)?;
    let mut decoder = args.decoder.decoder()?;
    let name = files::name_of(&args.input);
    let mut flawed = false;
    for (index, line) in input.lines().enumerate() {
        let line = line.map_err(|error| Failure::file("read", &name, &error))?;
        if line.trim().is_empty() {
            continue;
        }
        match case_line(&mut decoder, &line) {
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
fn case_line(decoder: &mut OpraDecoder, line: &str) -> Result<Vec<u8>, String> {
    let case: Json = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let member = |name: &str| case[name].as_str().ok_or(format!("\"{name}\": expected a string"));
    let packet = parse_hex(member("hex")?).map_err(|error| format!("\"hex\": {error}"))?;

    let mut messages = String::new();
    let decoded = decoder.decode_packet(&packet, |message| {
        if message.index() > 0 {
            messages.push_str(", ");
        }
        json::print_message(&message, &mut messages);
    });
    let mut out = b"{\"name\": ".to_vec();
    push_string(&mut out, member("name")?);
    out.extend_from_slice(format!(", \"messages\": [{messages}], \"error\": ").as_bytes());
    match decoded {
        Ok(_) => out.extend_from_slice(b"null"),
        Err(error) => push_string(&mut out, &error.cause().to_string()),
    }
    out.extend_from_slice(b"}\n");
    Ok(out)
}
