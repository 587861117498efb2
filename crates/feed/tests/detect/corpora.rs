//! Captures, with their framing and reset policy.

use tickwire_testing::shared;

use tickwire_fast::TemplateSet;
use tickwire_feed::capture::{CaptureOptions, CaptureReader};
use tickwire_feed::framing::detect::{Detected, Undetected, detect};

/// A capture and its true framing.
#[derive(Clone, Copy)]
pub struct Corpus {
    /// Name of the capture, without `.bin`.
    pub name: &'static str,
    /// Its folder.
    pub folder: &'static str,
    /// Bytes before the messages of a packet.
    pub preamble_bytes: usize,
    /// The option that a preset gives.
    pub preset: &'static str,
    /// Correct reset policies.
    pub resets: &'static [&'static str],
}

const fn corpus(
    folder: &'static str,
    name: &'static str,
    preset: &'static str,
    preamble_bytes: usize,
    resets: &'static [&'static str],
) -> Corpus {
    Corpus { name, folder, preamble_bytes, preset, resets }
}

/// All captures of FAST packets.
pub const CORPORA: [Corpus; 10] = [
    corpus("cme_2012", "cme_2012_sampleMD", "cme", 5, &["packet"]),
    corpus("cme_like", "cme30000", "none", 0, &["packet", "message"]),
    corpus("cme_like", "cme_channel9_30000", "none", 0, &["packet", "message"]),
    corpus("cme_like", "cme_channel11_30000", "none", 0, &["packet", "message"]),
    corpus("cqg_2024", "cqg_2024_fastlib", "none", 0, &["template", "never"]),
    corpus("moex_forts", "moex_forts_2013.increment_a", "none", 0, &["template", "packet"]),
    corpus("moex_forts", "moex_forts_2013.increment_b", "none", 0, &["template", "packet"]),
    corpus("moex_forts", "moex_forts_2013.snapshot", "none", 0, &["template", "packet"]),
    corpus("oci_complex", "oci_complex30000", "none", 0, &["template", "packet", "message"]),
    corpus("simple", "simple30000", "none", 0, &["packet"]),
];

impl Corpus {
    /// Returns its packets and templates; `None`, with a printed note, if it is missing.
    pub fn read(&self) -> Option<(Vec<Vec<u8>>, TemplateSet)> {
        let file = shared(&format!("corpus/{}/{}.bin", self.folder, self.name))?;
        let bytes = std::fs::read(&file).expect("a capture");
        let mut reader = CaptureReader::open(&bytes[..], CaptureOptions::new()).expect("opened");
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet().expect("a packet") {
            packets.push(packet.bytes.to_vec());
        }
        let xml = std::fs::read(file.with_file_name("templates.xml")).expect("templates");
        Some((packets, TemplateSet::parse_bytes(&xml).expect("templates")))
    }

    /// Returns the error of a result; `None` if it is correct.
    pub fn objection(&self, found: &Detected, preamble_bytes: usize) -> Option<String> {
        let reset = found.framing.reset_policy().name();
        let is_right = found.framing.preamble_bytes() == preamble_bytes
            && found.framing.header_before_message().is_none()
            && found.framing.chunk_fields().is_none()
            && self.resets.contains(&reset);
        (!is_right).then(|| format!("{}: {found}", self.name))
    }
}

#[test]
fn every_capture_is_recognised() {
    let mut wrong = Vec::new();
    for corpus in CORPORA {
        let Some((packets, set)) = corpus.read() else { continue };
        let found: Result<Detected, Undetected> = detect(&packets, &set);
        match found {
            Ok(found) => {
                println!("{}: {found}", corpus.name);
                let preset = found.preset.map(|preset| preset.name());
                wrong.extend(corpus.objection(&found, corpus.preamble_bytes));
                if preset != Some(corpus.preset) {
                    wrong.push(format!("{}: preset {preset:?}", corpus.name));
                }
            }
            Err(error) => wrong.push(format!("{}: {error}", corpus.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
