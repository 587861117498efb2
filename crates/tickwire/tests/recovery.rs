//! Headers before messages allow decoding to continue after a message that fails.

mod support;

use support::{Run, directory, file, tickwire, tickwire_with, u32be};

/// Template U keeps state and does not reset; R resets.
const TEMPLATES: &str = r#"<templates>
  <template name="U" id="1"><uInt32 name="a"><copy/></uInt32></template>
  <template name="R" id="2" reset="Y"><uInt32 name="a"><copy/></uInt32></template>
</templates>"#;

const R_3: &[u8] = &[0xe0, 0x82, 0x83];
const U_4: &[u8] = &[0xe0, 0x81, 0x84];
/// There is no template 5.
const UNKNOWN: &[u8] = &[0xe0, 0x85, 0x81];

/// Blocks, each with its length in one byte before it.
fn blocks(blocks: &[&[u8]]) -> Vec<u8> {
    blocks.iter().flat_map(|block| [&[block.len() as u8], *block].concat()).collect()
}

fn raw(name: &str, stream: &[u8], options: &str) -> Run {
    let directory = directory(&format!("recovery_{name}"));
    let templates = file(&directory, "t.xml", TEMPLATES.as_bytes());
    let mut arguments = vec!["decode", "-", "-t", &templates, "--input-format", "raw"];
    arguments.extend(options.split_whitespace());
    tickwire_with(&arguments, stream)
}

/// "off n" of each line.
fn places(run: &Run) -> Vec<String> {
    let line = |line: &serde_json::Value| format!("{} {}", line["off"], line["n"]);
    run.json_lines().iter().map(line).collect()
}

const EXPECTED: [&str; 3] = ["1 \"R\"", "13 \"R\"", "17 \"U\""];

#[test]
fn a_stream_goes_on_behind_the_block_of_a_bad_message() {
    let stream = blocks(&[R_3, UNKNOWN, U_4, R_3, U_4]);
    let run = raw("stream", &stream, "--hfix 1");
    assert_eq!((run.status, places(&run)), (1, EXPECTED.map(str::to_owned).to_vec()));
    let place = "packet 0 (file offset 0), stream offset 6, in the message at 5: D9: byte 1";
    assert!(run.err.contains(place), "{}", run.err);
    assert!(run.err.contains("template id 5") && run.err.contains("; 3 bytes skipped"));
    assert!(run.err.contains("1 block skipped because an earlier one failed"), "{}", run.err);
    assert!(run.err.contains("3 messages, 20 bytes; 2 blocks skipped"), "{}", run.err);
}

#[test]
fn a_stream_with_encoded_lengths_goes_on_too() {
    let block = |bytes: &[u8]| [&[0x81, 0x80 | bytes.len() as u8], bytes].concat();
    let stream = [block(UNKNOWN), block(R_3), block(U_4)].concat();
    let run = raw("encoded", &stream, "--hprefix 1");
    assert_eq!((run.status, run.out.lines().count()), (1, 2), "{}", run.err);
}

#[test]
fn the_rest_of_a_bad_block_is_lost_with_it() {
    let block = [U_4, UNKNOWN, R_3].concat();
    let stream = blocks(&[R_3, &block, R_3]);
    let run = raw("rest", &stream, "--hfix 1");
    assert_eq!(places(&run), ["1 \"R\"", "5 \"U\"", "15 \"R\""]);
    assert!(run.err.contains("; 6 bytes skipped"), "{}", run.err);
}

#[test]
fn a_datagram_goes_on_behind_the_block_of_a_bad_message() {
    let directory = directory("recovery_datagram");
    let templates = file(&directory, "t.xml", TEMPLATES.as_bytes());
    let packets = [&blocks(&[R_3, UNKNOWN, U_4, R_3, U_4])[..], &blocks(&[U_4])];
    let capture = file(&directory, "c.bin", &u32be(&packets));
    let options = format!("{capture} -t {templates} --input-format u32be --hfix 1");
    let run = tickwire(&format!("decode {options}"));
    assert_eq!((run.status, &places(&run)[..3]), (1, &EXPECTED.map(str::to_owned)[..]));
    assert_eq!(run.out.lines().count(), 4);
    assert!(run.err.contains("packet 0 (file offset 4): D9: byte 6: "), "{}", run.err);
    assert!(run.err.contains("2 blocks skipped"), "{}", run.err);
    let run = tickwire(&format!("explain {options}"));
    assert_eq!(run.status, 1);
    assert!(run.out.contains("D9: byte 6: "), "{}", run.out);
    assert!(run.out.contains("message at offset 17, 3 bytes"), "{}", run.out);
    let run = tickwire(&format!("explain {options} --packet 1"));
    assert_eq!(run.status, 0, "{}", run.out);
}

#[test]
fn a_packet_that_ends_inside_a_block_leaves_its_dictionaries_in_doubt() {
    let directory = directory("recovery_cut");
    let templates = file(&directory, "t.xml", TEMPLATES.as_bytes());
    let packets = [&blocks(&[R_3])[..], &[9, 0xe0], &blocks(&[U_4]), &blocks(&[R_3])];
    let capture = file(&directory, "c.bin", &u32be(&packets));
    let options = format!("{capture} -t {templates} --input-format u32be --hfix 1");
    let run = tickwire(&format!("decode {options}"));
    assert_eq!((run.status, run.out.lines().count()), (1, 2), "{}", run.err);
    let run = tickwire(&format!("explain {options} --packet 2"));
    assert!(run.out.contains("dictionaries are lost until a reset"), "{}", run.out);
}

#[test]
fn a_stream_without_lengths_is_given_up() {
    let run = raw("bare", &[R_3, UNKNOWN, R_3].concat(), "");
    assert_eq!((run.status, run.out.lines().count()), (1, 1));
    assert!(run.err.contains("stream offset 4, in the message at 3: D9"), "{}", run.err);
    let doubt = "; the message before it may be wrong, too\n";
    assert!(run.err.contains(&format!("; 6 bytes skipped{doubt}")), "{}", run.err);
    let run = raw("bare_first", UNKNOWN, "");
    assert!(run.err.contains("; 3 bytes skipped\n") && !run.err.contains(doubt), "{}", run.err);
}

#[test]
fn a_header_that_is_none_ends_a_stream_with_its_offset() {
    let stream = [blocks(&[R_3, U_4]), vec![0], blocks(&[R_3])].concat();
    let run = raw("zero", &stream, "--hfix 1");
    assert_eq!((run.status, run.out.lines().count()), (1, 2), "{}", run.err);
    assert!(run.err.contains("stream offset 8: the block length is zero (D12)"), "{}", run.err);
}

#[test]
fn a_bad_block_of_a_fixt_message_leaves_the_next() {
    let fixt = |block: &[u8]| {
        let head = format!("8=FIXT.1.1\x0134=1\x0195={}\x0196=", block.len());
        [head.as_bytes(), block, b"\x0110=000\x01"].concat()
    };
    let stream = [fixt(R_3), fixt(UNKNOWN), fixt(U_4)].concat();
    let run = raw("fixt", &stream, "--framing szse-step");
    assert_eq!((run.status, run.out.lines().count()), (1, 2), "{}", run.err);
}
