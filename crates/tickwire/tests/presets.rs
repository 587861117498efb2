//! `tickwire decode` and `encode` with the framings of exchanges, on synthetic packets.

mod support;

use support::{Run, directory, file, tickwire, tickwire_with, u32be};

/// A template that keeps state, so that a missing or superfluous reset is visible.
const TEMPLATES: &str = r#"<templates>
  <template name="T" id="1">
    <uInt32 name="a"><increment/></uInt32><string name="b"><copy/></string>
  </template></templates>"#;

/// a = 5, b = "X"; 3 presence-map bits with the template id.
const FIRST: [u8; 4] = [0xf0, 0x81, 0x85, 0xd8];
/// a = 6, b = "X", template id left out.
const NEXT: [u8; 1] = [0x80];

fn decode(name: &str, framing: &str, packets: &[&[u8]]) -> Run {
    let directory = directory(&format!("preset_{name}"));
    let templates = file(&directory, "t.xml", TEMPLATES.as_bytes());
    let capture = file(&directory, "c.bin", &u32be(packets));
    tickwire(&format!("decode {capture} -t {templates} --framing {framing} --input-format u32be"))
}

/// "pkt pre off len a" of each line.
fn places(run: &Run) -> Vec<String> {
    let line = |line: &serde_json::Value| {
        let pre = line["pre"].as_str().unwrap();
        format!("{} {pre} {} {} {}", line["pkt"], line["off"], line["len"], line["msg"]["a"])
    };
    run.json_lines().iter().map(line).collect()
}

#[test]
fn cme_packets_have_five_bytes_before_and_stand_alone() {
    let packet = [&[0, 0, 0, 9, 1][..], &FIRST, &NEXT].concat();
    let cut = [&[0, 0, 0, 10, 1][..], &NEXT].concat();
    let run = decode("cme", "cme", &[&packet, &cut]);
    assert_eq!(places(&run), ["0 0000000901 5 4 5", "0 0000000901 9 1 6"]);
    assert_eq!(run.status, 1);
    assert!(run.err.contains("no template id"), "{}", run.err);
}

#[test]
fn eurex_packets_reset_by_a_template_that_the_file_does_not_have() {
    let packet = [&[0xc0, 0xf8][..], &FIRST, &NEXT, &NEXT].concat();
    let run = decode("eurex", "eurex-t7", &[&packet, &packet]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(
        places(&run),
        [
            "0  0 2 null",
            "0  2 4 5",
            "0  6 1 6",
            "0  7 1 7",
            "1  0 2 null",
            "1  2 4 5",
            "1  6 1 6",
            "1  7 1 7"
        ]
    );
}

#[test]
fn b3_messages_are_put_together_from_chunks_and_reset_each() {
    let one = |count: u8, number: u8, bytes: &[u8]| {
        [&[0, 0, 0, 9, 0, count, 0, number, 0, bytes.len() as u8][..], bytes].concat()
    };
    let packets = [one(2, 1, &FIRST[..2]), one(2, 2, &FIRST[2..]), one(1, 1, &FIRST)];
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let run = decode("b3", "b3-umdf", &packets);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(places(&run), ["1 00000009000200020002 10 4 5", "2 00000009000100010004 10 4 5"]);

    let directory = directory("preset_b3_encode");
    let templates = file(&directory, "t.xml", TEMPLATES.as_bytes());
    let out = directory.join("again.raw");
    let path = out.display().to_string();
    let arguments = ["encode", "-", "-t", &templates, "-o", &path, "--framing", "b3-umdf"];
    let arguments = [&arguments[..], &["--output-format", "raw"]].concat();
    let again = tickwire_with(&arguments, run.out.as_bytes());
    assert_eq!(again.status, 0, "{}", again.err);
    let whole = one(1, 1, &FIRST);
    assert_eq!(std::fs::read(out).unwrap(), [&whole[..], &whole].concat());
}

#[test]
fn shenzhen_blocks_are_found_in_their_messages() {
    let block = [&FIRST[..], &NEXT].concat();
    let mut message = b"8=FIXT.1.1\x019=30\x0135=UA\x0134=7\x0195=5\x0196=".to_vec();
    let offset = message.len();
    message.extend_from_slice(&block);
    message.extend_from_slice(b"\x0110=000\x01");
    let run = decode("szse", "szse-step", &[&message, &message]);
    assert_eq!(run.status, 0, "{}", run.err);
    let expected =
        [0, 1].map(|p| [format!("{p}  {offset} 4 5"), format!("{p}  {} 1 6", offset + 4)]);
    assert_eq!(places(&run), expected.concat());
}
