//! Decodes captures and compares the values with the expected ones.

mod support;

use flate2::read::GzDecoder;
use std::io::Read;
use support::{CORPORA, shared, tickwire};

#[test]
fn every_message_of_every_capture_is_as_expected() {
    for (capture, folder, framing) in CORPORA {
        let (Some(file), Some(templates), Some(expected)) = (
            shared(&format!("corpus/{capture}.bin")),
            shared(&format!("corpus/{folder}/templates.xml")),
            shared(&format!("corpus/{capture}.expected.jsonl.gz")),
        ) else {
            continue;
        };
        let run = tickwire(&format!(
            "decode {} --templates {} --framing {framing} --input-format u32be --format jsonl",
            file.display(),
            templates.display()
        ));
        // The expected values of CQG come from a decoder that keeps the dictionaries of the first session in the
        // second one.
        let has_two_sessions = folder == "cqg_2024";
        assert_eq!(run.status, i32::from(has_two_sessions), "{capture}: {}", run.err);
        assert_eq!(run.err.contains("--reset-at 8"), has_two_sessions, "{capture}: {}", run.err);
        let mut text = String::new();
        let expected = std::fs::File::open(expected).expect("readable");
        GzDecoder::new(expected).read_to_string(&mut text).expect("UTF-8");
        assert_eq!(run.out.lines().count(), text.lines().count(), "{capture}");
        for (index, (got, expected)) in run.out.lines().zip(text.lines()).enumerate() {
            if got != expected {
                let json = |line| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
                assert_eq!(json(got), json(expected), "{capture}, line {index}");
            }
        }
    }
}

#[test]
fn what_was_decoded_encodes_to_a_file_with_the_same_messages() {
    let directory = support::directory("round_trip");
    for (capture, folder, framing) in CORPORA {
        let (Some(file), Some(templates)) = (
            shared(&format!("corpus/{capture}.bin")),
            shared(&format!("corpus/{folder}/templates.xml")),
        ) else {
            continue;
        };
        let options = format!("-q -n 2000 -t {} --framing {framing}", templates.display());
        let first = tickwire(&format!("decode {} {options}", file.display()));
        let lines = support::file(&directory, "lines.jsonl", first.out.as_bytes());
        let encoded = directory.join("encoded.bin").display().to_string();
        let run = tickwire(&format!(
            "encode {lines} -t {} --framing {framing} -o {encoded} --force",
            templates.display()
        ));
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{capture}");
        let second = tickwire(&format!("decode {encoded} --input-format u32be {options}"));
        let values = |run: &support::Run| -> Vec<serde_json::Value> {
            let mut lines = run.json_lines();
            for line in &mut lines {
                line["off"].take();
                line["len"].take();
            }
            lines
        };
        assert_eq!(values(&first), values(&second), "{capture}");
    }
}
