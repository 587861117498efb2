//! Other decoders on the same captures in the same run, each in its own program.

use super::corpus::Corpus;
use super::digest::Digest;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tickwire_fast::ResetPolicy;

/// A decoder to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerDecoder {
    /// Name in tables and in JSON.
    pub name: &'static str,
    folder: &'static str,
    build: &'static [&'static str],
    run: &'static [&'static str],
}

/// All known decoders; `peers/README.md` describes them.
pub const ALL: [PeerDecoder; 4] = [
    PeerDecoder {
        name: "mfast-generated",
        folder: "mfast",
        build: &["sh", "build.sh"],
        run: &["sh", "generated.sh"],
    },
    PeerDecoder {
        name: "mfast",
        folder: "mfast",
        build: &["sh", "build.sh"],
        run: &["target/dynamic"],
    },
    PeerDecoder {
        name: "fastlib",
        folder: "fastlib",
        build: &["cargo", "build", "--release", "--quiet", "--target-dir", "target"],
        run: &["target/release/peer-fastlib"],
    },
    PeerDecoder {
        name: "openfast",
        folder: "openfast",
        build: &["mvn", "--quiet", "package"],
        run: &["java", "-cp", "target/peer-openfast.jar:target/lib/*", "peer.Main"],
    },
];

impl PeerDecoder {
    /// Builds the peer in its folder below `folder`.
    ///
    /// # Errors
    /// The reason why the peer is left out, as text for the user.
    pub fn build(&self, folder: &Path) -> Result<(), String> {
        let folder = folder.join(self.folder);
        if !folder.is_dir() {
            return Err(format!("{} does not exist", folder.display()));
        }
        output(self.build, &[], &folder).map(|_| ())
    }

    /// Measures decoding of `input` and returns the minimum in nanoseconds per message.
    ///
    /// # Errors The reason why no time was measured, as text for the user: the program failed, or it
    /// decoded other messages or values.
    pub fn measure(&self, folder: &Path, input: &PeerInput, seconds: f64) -> Result<f64, String> {
        let arguments = [
            input.templates.display().to_string(),
            input.capture.display().to_string(),
            input.preamble.to_string(),
            input.reset.to_owned(),
            seconds.to_string(),
        ];
        let output = output(self.run, &arguments, &folder.join(self.folder))?;
        let printed: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        let number = |name: &str| printed.as_ref()?.get(name)?.as_f64();
        let (Some(messages), Some(nanos)) = (number("messages"), number("ns_per_message")) else {
            return Err("its output is not the expected JSON object".to_owned());
        };
        if messages != input.messages as f64 {
            return Err(format!("it found {messages} messages, expected {}", input.messages));
        }
        match printed.as_ref().and_then(|printed| printed.get("digest")?.as_str()) {
            Some(digest) if digest != input.digest => {
                Err("it decoded values that differ from ours".to_owned())
            }
            _ => Ok(nanos),
        }
    }
}

/// The files that a peer decodes, and the number of messages and the digest that it must report.
pub struct PeerInput {
    templates: PathBuf,
    /// Capture; each packet has a big-endian 32-bit length prefix.
    capture: PathBuf,
    preamble: usize,
    reset: &'static str,
    messages: u64,
    digest: String,
}

impl PeerInput {
    /// The files of `corpus`; a generated feed is first written to `target/feeds` in `folder`.
    ///
    /// # Errors
    /// A file cannot be written; the text is for the user.
    pub fn of(corpus: &Corpus, folder: &Path) -> Result<Self, String> {
        let digest =
            Digest::of(corpus).map_err(|error| error.describe(&corpus.program).to_string())?;
        let reset = match corpus.reset {
            ResetPolicy::Never => "never",
            ResetPolicy::Template => "template",
            ResetPolicy::Message | ResetPolicy::Packet => "packet",
        };
        let (messages, digest) = (corpus.messages, format!("{digest:016x}"));
        if let Some(source) = &corpus.source {
            let absolute = |path: &Path| {
                path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
            };
            let (templates, capture) = (absolute(&source.templates)?, absolute(&source.capture)?);
            let preamble = source.preamble;
            return Ok(Self { templates, capture, preamble, reset, messages, digest });
        }
        let failed = |error: std::io::Error| format!("its files cannot be written: {error}");
        let made = folder.join("target/feeds").join(&corpus.name);
        fs::create_dir_all(&made).map_err(failed)?;
        let made = made.canonicalize().map_err(failed)?;
        let (templates, capture) = (made.join("templates.xml"), made.join("feed.bin"));
        fs::write(&templates, corpus.set.to_xml()).map_err(failed)?;
        let mut bytes = Vec::new();
        for packet in &corpus.packets {
            bytes.extend_from_slice(&(packet.len() as u32).to_be_bytes());
            bytes.extend_from_slice(packet);
        }
        fs::write(&capture, bytes).map_err(failed)?;
        Ok(Self { templates, capture, preamble: 0, reset, messages, digest })
    }
}

/// Runs a command to its end in `folder`; on failure returns the first lines of its standard error.
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
