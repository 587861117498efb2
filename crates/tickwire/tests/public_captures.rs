//! Public captures of real feeds (`.ci/fetch-captures`): every value equals that of two independent decoders.

mod support;

use sha2::{Digest, Sha256};
use support::tickwire;
use tickwire_testing::shared;

struct Capture {
    folder: &'static str,
    name: &'static str,
    framing: &'static str,
    messages: usize,
    /// SHA-256 of the messages as JSON lines.
    digest: &'static str,
    /// A part of the error, if there is one.
    error: Option<&'static str>,
}

#[rustfmt::skip]
const CAPTURES: [Capture; 6] = [
    Capture {
        folder: "cme_2012", name: "cme_2012_sampleMD", framing: "cme", messages: 10_000,
        digest: "de28fa9e76df50ed7921eef9cade88b5f42fdf53733b21232a3be9f40e0e4fff",
        error: None,
    },
    // Two sessions, decoded as one: the second one resets the dictionaries.
    Capture {
        folder: "cqg_2024", name: "cqg_2024_fastlib", framing: "cqg", messages: 11,
        digest: "abe92693b5774279ce5cc2095bd5c24785a08c7eb9805eb1044f513b2bcab98e",
        error: Some("--reset-at 8"),
    },
    Capture {
        folder: "moex_forts", name: "moex_forts_2013.increment_a", framing: "moex-forts", messages: 16_202,
        digest: "bb448845d2f7330d3a71e330afd519221f696e3b7ab34b8be9bf07fd0f265a04",
        error: None,
    },
    Capture {
        folder: "moex_forts", name: "moex_forts_2013.increment_b", framing: "moex-forts", messages: 16_176,
        digest: "0f27632fe1d34e1626d2772cb07462adaa8193c499ce757946307e527605871b",
        error: None,
    },
    Capture {
        folder: "moex_forts", name: "moex_forts_2013.snapshot", framing: "moex-forts", messages: 18_628,
        digest: "bf6954c4ccb943e53d6a19fc293db244d4cd0c409ff015271874f2ad81bc8426",
        error: None,
    },
    Capture {
        folder: "oci_complex", name: "oci_complex30000", framing: "none", messages: 30_001,
        digest: "d66f0efb519ba3373f554c12ae4a0245aed097faa4446af36d22009424d73c9e",
        error: None,
    },
];

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_value_of_public_captures_is_as_expected() {
    for Capture { folder, name, framing, messages, digest: expected, error } in CAPTURES {
        let file = shared(&format!("corpus/{folder}/{name}.bin"));
        let templates = shared(&format!("corpus/{folder}/templates.xml"));
        let (Some(file), Some(templates)) = (file, templates) else { continue };
        let run = tickwire(&format!(
            "decode -q {} -t {} --framing {framing} --input-format u32be --format jsonl",
            file.display(),
            templates.display()
        ));
        match error {
            None => assert_eq!((run.status, run.err.as_str()), (0, ""), "{name}"),
            Some(error) => assert!(run.status == 1 && run.err.contains(error), "{}", run.err),
        }
        assert_eq!(run.out.lines().count(), messages, "{name}");
        assert_eq!(digest(&run.out), expected, "{name}: other values, or written in another form");
    }
}

#[test]
fn every_value_of_the_opra_test_set_is_as_expected() {
    let Some(file) = shared("corpus/opra_v1/messages.bin") else { return };
    for decoder in ["reference", "bottom-up", "grammar-generated", "grammar-runtime"] {
        let run = tickwire(&format!(
            "opra decode -q {} --input-format u32be --decoder {decoder}",
            file.display()
        ));
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{decoder}");
        assert_eq!(run.out.lines().count(), 63, "{decoder}");
        assert_eq!(
            digest(&run.out),
            "e7fab034467c76588bd3cb11b46a54e1e085507d40ebb58540a195bc66b0853c",
            "{decoder}: other values, or written in another form"
        );
    }
}
