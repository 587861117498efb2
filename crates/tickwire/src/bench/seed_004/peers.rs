//! Other engines on the same bytes in the same run, each in its own program.

use super::Label;
use crate::console::tell;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Seconds to measure each operation.
const SECONDS: &str = "1";

/// An engine to compare with: its name in tables and JSON, which is also its folder's; how it is built and
/// run.
struct Peer {
    name: &'static str,
    build: &'static [&'static str],
    run: &'static str,
}

const CARGO: &[&str] = &["cargo", "build", "--release", "--quiet", "--target-dir", "target"];

/// All known engines; `peers/README.md` describes them.
const ALL: [Peer; 4] = [
    Peer { name: "fefix", build: CARGO, run: "target/release/peer-fefix" },
    Peer { name: "fixlite", build: CARGO, run: "target/release/peer-fixlite" },
    Peer { name: "ironfix", build: CARGO, run: "target/release/peer-ironfix" },
    Peer { name: "quickfix", build: &["sh", "build.sh"], run: "target/peer-quickfix" },
];

/// Operations of the tables; others are ignored.
const OPERATIONS: [&str; 4] = ["parse", "typed", "encode", "validate"];

/// Measures every peer that can be built, and reports why the others are left out.
pub fn measure(folder: &Path, messages: &[(&'static str, &[u8])]) -> Vec<(Label, f64)> {
    let mut found = Vec::new();
    for peer in &ALL {
        let folder = folder.join(peer.name);
        let left_out = |why: &str| tell!("tickwire: {} skipped: {why}", peer.name);
        if let Err(why) = run(peer.build, &[], &folder) {
            left_out(&why);
            continue;
        }
        for (message, bytes) in messages {
            match run(&[peer.run, SECONDS], bytes, &folder).and_then(|output| times(&output)) {
                Ok(times) => found.extend(times.into_iter().map(|(operation, nanos)| {
                    (Label { operation, message, engine: peer.name }, nanos)
                })),
                Err(why) => left_out(&format!("{message}: {why}")),
            }
        }
    }
    found
}

/// Reads the output of a peer: a JSON object of operations and nanoseconds.
fn times(output: &Output) -> Result<Vec<(&'static str, f64)>, String> {
    let printed: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| "it did not print what it should".to_owned())?;
    let time = |operation: &&'static str| Some((*operation, printed.get(*operation)?.as_f64()?));
    Ok(OPERATIONS.iter().filter_map(time).collect())
}

/// Runs a command to its end in `folder`, with `input` on standard input; on failure returns the first line
/// of its standard error.
fn run(command: &[&str], input: &[u8], folder: &Path) -> Result<Output, String> {
    let (&program, arguments) = command.split_first().ok_or("it has no command")?;
    if !folder.is_dir() {
        return Err(format!("{} is not there", folder.display()));
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
