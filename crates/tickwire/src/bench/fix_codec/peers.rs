//! Other engines on the same bytes in the same run, each in its own program.

use super::MeasurementLabel;
use crate::console::tell;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tickwire_fix::Reader;

/// Seconds to measure each operation.
const SECONDS: &str = "1";

/// An engine to compare with: its name in tables and JSON, which is also its folder's; how it is built and
/// run.
struct PeerEngine {
    name: &'static str,
    build: &'static [&'static str],
    run: &'static str,
}

const CARGO: &[&str] = &["cargo", "build", "--release", "--quiet", "--target-dir", "target"];

/// All known engines; `peers/README.md` describes them.
const ALL: [PeerEngine; 4] = [
    PeerEngine { name: "fefix", build: CARGO, run: "target/release/peer-fefix" },
    PeerEngine { name: "fixlite", build: CARGO, run: "target/release/peer-fixlite" },
    PeerEngine { name: "ironfix", build: CARGO, run: "target/release/peer-ironfix" },
    PeerEngine { name: "quickfix", build: &["sh", "build.sh"], run: "target/peer-quickfix" },
];

/// Operations of the tables; others are ignored.
const OPERATIONS: [&str; 4] = ["parse", "typed", "encode", "validate"];

/// Measures every peer that can be built, and reports why the others are left out.
pub fn measure(folder: &Path, messages: &[(&'static str, &[u8])]) -> Vec<(MeasurementLabel, f64)> {
    let mut found = Vec::new();
    for peer in &ALL {
        let folder = folder.join(peer.name);
        let left_out = |why: &str| tell!("tickwire: {} skipped: {why}", peer.name);
        if let Err(why) = run(peer.build, &[], &folder) {
            left_out(&why);
            continue;
        }
        for (message, bytes) in messages {
            let expected = digest(bytes);
            let times = run(&[peer.run, SECONDS], bytes, &folder)
                .and_then(|output| times(&output, &expected));
            match times {
                Ok(times) => found.extend(times.into_iter().map(|(operation, nanos)| {
                    (MeasurementLabel { operation, message, engine: peer.name }, nanos)
                })),
                Err(why) => left_out(&format!("{message}: {why}")),
            }
        }
    }
    found
}

/// Reads the output of a peer: a JSON object of operations and nanoseconds, and the digest of the values that it read.
///
/// # Errors
/// The output is not JSON, or the digest is not the `expected` one; the text is for the user.
fn times(output: &Output, expected: &str) -> Result<Vec<(&'static str, f64)>, String> {
    let printed: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| "its output is not the expected JSON object".to_owned())?;
    if printed.get("digest").is_some_and(|digest| digest != expected) {
        return Err("it read values that differ from ours".to_owned());
    }
    let time = |operation: &&'static str| Some((*operation, printed.get(*operation)?.as_f64()?));
    Ok(OPERATIONS.iter().filter_map(time).collect())
}

/// Returns the FNV-1a hash over 64-bit words, in hexadecimal digits. For each field, in the order of tags, it covers
/// the tag, the length of the value and its bytes. BodyLength and CheckSum are left out, because the peers verify
/// them.
fn digest(bytes: &[u8]) -> String {
    let mut reader = Reader::new();
    let message = reader.decode(bytes).expect("the messages of the benchmark are valid");
    let mut fields: Vec<_> =
        message.fields().filter(|field| !matches!(field.tag.0, 9 | 10)).collect();
    fields.sort_by_key(|field| field.tag);
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let mut word = |word: u64| state = (state ^ word).wrapping_mul(0x100_0000_01b3);
    for field in fields {
        word(field.tag.0.into());
        word(field.value.len() as u64);
        field.value.iter().for_each(|&byte| word(byte.into()));
    }
    format!("{state:016x}")
}

/// Runs a command to its end in `folder`, with `input` on standard input; on failure returns the first line
/// of its standard error.
fn run(command: &[&str], input: &[u8], folder: &Path) -> Result<Output, String> {
    let (&program, arguments) = command.split_first().ok_or("it has no command")?;
    if !folder.is_dir() {
        return Err(format!("{} does not exist", folder.display()));
    }
    let start = |error: std::io::Error| format!("{program} does not start: {error}");
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start)?;
    // A program that ends without reading has failed and reports why.
    if let Some(mut pipe) = child.stdin.take() {
        _ = pipe.write_all(input);
    }
    let output = child.wait_with_output().map_err(start)?;
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty());
    Err(line.unwrap_or("it failed without a message").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn printed(text: &str) -> Output {
        let stdout = text.as_bytes().to_vec();
        Output { status: ExitStatus::from_raw(0), stdout, stderr: Vec::new() }
    }

    #[test]
    fn a_peer_that_read_other_values_has_no_times() {
        let bytes = super::super::framed("35=0|49=A|56=B|34=1|52=20260105-11:20:43|");
        let other = super::super::framed("35=0|49=A|56=B|34=2|52=20260105-11:20:43|");
        let expected = digest(&bytes);
        assert_ne!(expected, digest(&other));
        let right = printed(&format!("{{\"parse\": 100.5, \"digest\": \"{expected}\"}}"));
        assert_eq!(times(&right, &expected), Ok(vec![("parse", 100.5)]));
        assert_eq!(
            times(&right, &digest(&other)),
            Err("it read values that differ from ours".to_owned())
        );
        assert_eq!(times(&printed("{\"parse\": 2}"), &expected), Ok(vec![("parse", 2.0)]));
    }

    #[test]
    fn the_order_of_fields_does_not_change_the_digest() {
        let one = super::super::framed("35=0|49=A|56=B|34=1|52=20260105-11:20:43|");
        let other = super::super::framed("35=0|34=1|49=A|52=20260105-11:20:43|56=B|");
        assert_eq!(digest(&one), digest(&other));
    }
}
