//! Other decoders on the same captures in the same run, each in a program of its own.

use super::corpus::Corpus;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tickwire_fast::ResetPolicy;

/// A decoder to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Name in tables and in JSON, and of its folder.
    pub name: &'static str,
    build: &'static [&'static str],
    run: &'static [&'static str],
}

/// All that are known; `peers/README.md` says what they are.
pub const ALL: [Peer; 2] = [
    Peer {
        name: "fastlib",
        build: &["cargo", "build", "--release", "--quiet", "--target-dir", "target"],
        run: &["target/release/peer-fastlib"],
    },
    Peer {
        name: "openfast",
        build: &["mvn", "--quiet", "package"],
        run: &["java", "-cp", "target/peer-openfast.jar:target/lib/*", "peer.Main"],
    },
];

impl Peer {
    /// Builds the peer in its folder below `folder`.
    ///
    /// # Errors
    /// Why it is left out, for the user.
    pub fn build(&self, folder: &Path) -> Result<(), String> {
        let folder = folder.join(self.name);
        if !folder.is_dir() {
            return Err(format!("{} is not there", folder.display()));
        }
        output(self.build, &[], &folder).map(|_| ())
    }

    /// Measures decoding of `corpus`; the least nanoseconds a message.
    ///
    /// # Errors
    /// Why there is no time, for the user.
    pub fn measure(&self, folder: &Path, corpus: &Corpus, seconds: f64) -> Result<f64, String> {
        let Some(source) = &corpus.source else { return Err("it has no file".to_owned()) };
        let reset = match corpus.reset {
            ResetPolicy::Never => "never",
            ResetPolicy::Template => "template",
            ResetPolicy::Message | ResetPolicy::Packet => "packet",
        };
        let absolute = |path: &Path| {
            let path =
                path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(path.display().to_string())
        };
        let arguments = [
            absolute(&source.templates)?,
            absolute(&source.capture)?,
            source.preamble.to_string(),
            reset.to_owned(),
            seconds.to_string(),
        ];
        let output = output(self.run, &arguments, &folder.join(self.name))?;
        let printed: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        let number = |name: &str| printed.as_ref()?.get(name)?.as_f64();
        let (Some(theirs), Some(nanos)) = (number("messages"), number("ns_per_message")) else {
            return Err("it did not print what it should".to_owned());
        };
        let ours = corpus.messages as f64;
        match theirs == ours {
            true => Ok(nanos),
            false => Err(format!("it found {theirs} messages, not {ours}")),
        }
    }
}

/// Runs a command to its end in `folder`; its first lines of error where it fails.
fn output(command: &[&str], arguments: &[String], folder: &Path) -> Result<Output, String> {
    let (&program, rest) = command.split_first().ok_or("it has no command")?;
    let output = Command::new(program)
        .args(rest)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("{program} does not start: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty());
    Err(line.unwrap_or("it failed without a message").to_owned())
}
