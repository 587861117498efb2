//! The examples run on synthetic data and print the expected output.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example, which cargo has built beside this test.
fn output(name: &str) -> String {
    let test = std::env::current_exe().expect("a path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps");
    let example: PathBuf = profile.join("examples").join(name);
    let output = Command::new(&example).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", example.display()));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_capture_is_decoded() {
    let text = output("decode_capture");
    assert!(text.starts_with("{\"pkt\": 0, \"pre\": \"0000000100\""), "{text}");
    assert!(text.ends_with("\n1000 messages, 0 errors\n"), "{text}");
}

#[test]
fn generated_code_decodes_a_feed() {
    let text = output("generated_code");
    assert!(text.contains(" entries, size ") && !text.starts_with("0 "), "{text}");
}

#[test]
fn books_equal_those_of_the_exchange() {
    let text = output("feed_books");
    assert!(text.starts_with("first gap: 1 from sequence number 35\n"), "{text}");
    assert!(text.contains(" fresh books equal the exchange's, "), "{text}");
    assert!(!text.contains("\n0 fresh"), "{text}");
}

#[test]
fn a_grammar_takes_a_packet_apart() {
    assert_eq!(output("packet_grammar"), "IBM bid 130\nGE offer 5\n19 of 19 bytes\n");
}

#[test]
fn a_sample_type_of_ones_own_is_published_and_subscribed_to() {
    assert_eq!(output("own_sample"), "the last of TICK: 36.99 to 37.00; lost: [Some(0)]\n");
}
