//! `tickwire decode` with options for unusual feeds and files.

mod support;

use support::{directory, file, pcap, tickwire, tickwire_with, u32be};

const TICK: &str = r#"<templates>
  <template name="Tick" id="1"><uInt32 name="price" id="44"><copy/></uInt32>
    <string name="text" charset="unicode" id="58"/>
    <sequence name="legs"><length name="count" id="555"/><uInt32 name="leg"/></sequence></template>
  </templates>"#;
const OTHER: &str =
    r#"<templates><template name="Other" id="2"><uInt32 name="x"/></template></templates>"#;

/// A tick: price 5, text "é" in UTF-8, two legs.
const GOOD: [u8; 9] = [0xe0, 0x81, 0x85, 0x82, 0xc3, 0xa9, 0x82, 0x81, 0x82];
/// The same message with only the first byte of the "é".
const BROKEN: [u8; 8] = [0xe0, 0x81, 0x85, 0x81, 0xc3, 0x82, 0x81, 0x82];

/// Runs `decode` on packets with length prefixes.
fn decode(name: &str, packets: &[&[u8]], options: &str) -> support::Run {
    let directory = directory(&format!("decode_options_{name}"));
    let templates = file(&directory, "t.xml", TICK.as_bytes());
    let capture = file(&directory, "c.bin", &u32be(packets));
    tickwire(&format!("decode {capture} -t {templates} --input-format u32be {options}"))
}

#[test]
fn a_text_that_is_not_utf_8_keeps_its_bytes() {
    let run = decode("hex", &[&GOOD, &BROKEN], "--conformance lenient");
    let lines = run.json_lines();
    assert_eq!(lines[0]["msg"]["text"], "é");
    assert_eq!(lines[1]["msg"]["text"]["hex"], "c3");
    assert!(run.err.contains("1 x R2 strings not UTF-8"), "{}", run.err);
    let csv = decode("hex_csv", &[&BROKEN], "--conformance lenient --format csv");
    assert!(csv.out.contains(r#"{""hex"": ""c3""}"#), "{}", csv.out);
}

#[test]
fn an_error_names_the_limit_it_met_and_its_number() {
    for (options, limit) in [
        ("--entries-max 1", "(the limit is --entries-max 1)"),
        ("--entries-total-max 1", "(the limit is --entries-total-max 1)"),
        ("--string-max 1", "(the limit is --string-max 1)"),
        ("--message-bytes-max 8", "(the limit is --message-bytes-max 8)"),
    ] {
        let run = decode("limits", &[&GOOD], options);
        assert_eq!(run.status, 1, "{options}");
        assert!(run.err.contains(limit), "{options}: {}", run.err);
    }
}

#[test]
fn a_feed_that_never_sends_a_template_id_is_decoded_by_the_one_that_is_named() {
    // The presence map has no bit for a template id.
    let bare: Vec<u8> = [&[0xa0_u8][..], &GOOD[2..]].concat();
    let packets: [&[u8]; 2] = [&bare, &bare];
    assert_eq!(decode("id", &packets, "--reset packet").status, 1);
    let run = decode("id", &packets, "--reset packet --template-id 1");
    assert_eq!((run.status, run.json_lines().len()), (0, 2), "{}", run.err);
    assert_eq!(run.json_lines()[1]["msg"]["price"], 5);
    let run = decode("id", &packets, "--template-id 7");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("none with this id"), "{}", run.err);
}

#[test]
fn templates_come_from_several_files() {
    let directory = directory("decode_options_files");
    let tick = file(&directory, "tick.xml", TICK.as_bytes());
    let other = file(&directory, "other.xml", OTHER.as_bytes());
    let capture = file(&directory, "c.bin", &u32be(&[&GOOD, &[0xc0, 0x82, 0x87]]));
    let run = tickwire(&format!("decode {capture} --input-format u32be -t {tick} -t {other}"));
    assert_eq!((run.status, run.json_lines().len()), (0, 2), "{}", run.err);
    assert_eq!(run.json_lines()[1]["n"], "Other");
    let run = tickwire(&format!("decode {capture} --input-format u32be -t {tick} -t {tick}"));
    assert_eq!(run.status, 1);
    assert!(run.err.contains("cannot be used together"), "{}", run.err);
}

#[test]
fn a_port_or_an_address_is_refused_where_packets_have_none() {
    for option in ["--port 9000", "--address 10.0.0.1"] {
        let run = decode("port", &[&GOOD], option);
        assert_eq!(run.status, 2, "{option}");
        let name = option.split(' ').next().unwrap();
        assert!(run.err.contains(name) && run.err.contains("u32be"), "{}", run.err);
    }
}

#[test]
fn headers_are_named_as_quickfast_names_them() {
    let directory = directory("decode_options_headers");
    let templates = file(&directory, "t.xml", TICK.as_bytes());
    // Six bytes before all messages; then, before the message, a FAST-encoded number and the length
    // of the message.
    let packet = [&[1, 2, 3, 4, 5, 6, 0x01, 0x81, 0x89][..], &GOOD].concat();
    let capture = file(&directory, "c.bin", &u32be(&[&packet]));
    let arguments = format!(
        "decode -file {capture} -t {templates} --input-format u32be -pprefix 1 -pfix 4 -psuffix 1 -hfast \
         -hprefix 1 -pbig yes -datagram"
    );
    let run = tickwire(&arguments);
    assert_eq!((run.status, run.json_lines().len()), (0, 1), "{}", run.err);
    let run = tickwire(&format!("decode {capture} -t {templates} -ofix 4"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("-ofix") && run.err.contains("--framing"), "{}", run.err);
}

#[test]
fn a_hundred_thousand_threads_are_as_many_as_a_system_has() {
    let run = decode("threads", &[&GOOD, &GOOD, &GOOD], "--reset packet --threads 100000");
    assert_eq!((run.status, run.json_lines().len()), (0, 3), "{}", run.err);
}

#[test]
fn templates_in_utf_16_are_read() {
    let directory = directory("decode_options_utf16");
    let xml: Vec<u8> = TICK.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let templates = file(&directory, "t.xml", &[&[0xff, 0xfe][..], &xml].concat());
    let arguments = ["decode", "-", "-t", &templates, "--input-format", "u32be"];
    let run = tickwire_with(&arguments, &u32be(&[&GOOD]));
    assert_eq!((run.status, run.json_lines().len()), (0, 1), "{}", run.err);
}

#[test]
fn a_packet_that_the_capture_cut_short_is_given_up_once() {
    let directory = directory("decode_options_cut");
    let templates = file(&directory, "t.xml", TICK.as_bytes());
    let mut bytes = pcap(&[("239.1.1.1:9000", &GOOD)]);
    // The length follows the file's header of 24 bytes and the packet's time stamp of 8 bytes.
    let field = 32..36;
    let is_little = bytes.starts_with(&[0xd4, 0xc3, 0xb2, 0xa1])
        || bytes.starts_with(&[0x4d, 0x3c, 0xb2, 0xa1]);
    let length: [u8; 4] = bytes[field.clone()].try_into().unwrap();
    let shorter = match is_little {
        true => (u32::from_le_bytes(length) - 1).to_le_bytes(),
        false => (u32::from_be_bytes(length) - 1).to_be_bytes(),
    };
    bytes[field].copy_from_slice(&shorter);
    bytes.pop();
    let capture = file(&directory, "c.pcap", &bytes);
    let run = tickwire(&format!("decode {capture} -t {templates}"));
    assert_eq!(run.status, 1);
    assert!(run.err.contains("the capture truncated it by 1 byte"), "{}", run.err);
    assert!(
        run.err.contains("1 packet, 0 messages") && run.err.contains("; 1 packet skipped"),
        "{}",
        run.err
    );
}

#[test]
#[cfg(feature = "bench")]
fn a_capture_of_the_users_is_measured_and_counted() {
    let directory = directory("decode_options_bench");
    let templates = file(&directory, "t.xml", TICK.as_bytes());
    // Four bytes before the messages of each packet; one message has three legs.
    let many = [0xe0, 0x81, 0x85, 0x82, 0xc3, 0xa9, 0x83, 0x81, 0x82, 0x83];
    let packets: [Vec<u8>; 2] =
        [GOOD.to_vec(), many.to_vec()].map(|bytes| [&[0; 4][..], &bytes].concat());
    let capture = file(&directory, "c.bin", &u32be(&[&packets[0], &packets[1]]));
    let bench = |engine: &str| {
        tickwire(&format!(
            "bench fast --file {capture} -t {templates} --input-format u32be --framing preamble=4,reset=packet \
             --engine ={engine} --time 0.05s"
        ))
    };
    // There is no generated module of these templates.
    let run = bench("generated");
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    assert!(run.err.contains("nothing was measured"), "{}", run.err);
    let run = bench("dynamic-scalar");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.starts_with("Packets/entry/maxEntries = 2/5/3\n"), "{}", run.out);
    assert!(run.out.contains("dynamic-scalar"), "{}", run.out);
}

#[test]
#[cfg(feature = "bench")]
fn a_benchmark_that_measures_nothing_fails() {
    let run = tickwire("bench fast --corpus made/simple --engine nosuch --time 0");
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(
        run.err.contains("--engine nosuch") && run.err.contains("dynamic-scalar"),
        "{}",
        run.err
    );
    let run = tickwire("bench fast --corpus nosuch --time 0");
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.contains("cme_2012, moex_forts, made/simple"), "{}", run.err);
    let empty = directory("decode_options_no_captures");
    let run =
        tickwire(&format!("bench fast --corpora {} --corpus =cme_2012 --time 0", empty.display()));
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    assert!(run.err.contains("cme_2012_sampleMD.bin does not exist"), "{}", run.err);
    assert!(run.err.contains(".ci/fetch-captures"), "{}", run.err);
}

#[test]
fn elements_that_share_a_name_are_told_apart_by_their_numbers() {
    const SHARED: &str = r#"<templates><template name="T" id="1"><enum name="e">
        <element name="A"/><element name="A"/><element name="B"/></enum></template></templates>"#;
    let directory = directory("decode_options_enum");
    let templates = file(&directory, "t.xml", SHARED.as_bytes());
    let packets = u32be(&[&[0xC0, 0x81, 0x80], &[0xC0, 0x81, 0x81], &[0xC0, 0x81, 0x82]]);
    let capture = file(&directory, "c.bin", &packets);
    let decoded = tickwire(&format!("decode {capture} -t {templates} --framing none,reset=packet"));
    let values: Vec<_> = decoded.json_lines().iter().map(|line| line["msg"]["e"].clone()).collect();
    assert_eq!(values, [serde_json::json!(0), serde_json::json!(1), serde_json::json!("B")]);
    let lines = file(&directory, "l.jsonl", decoded.out.as_bytes());
    let again = directory.join("again.bin");
    let encode = |lines: &str| {
        let again = again.display();
        tickwire(&format!(
            "encode {lines} -t {templates} --framing none,reset=packet --force -o {again}"
        ))
    };
    let run = encode(&lines);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(std::fs::read(&again).expect("written"), packets);
    let run = encode(&file(&directory, "a.jsonl", b"{\"t\": 1, \"msg\": {\"e\": \"A\"}}\n"));
    assert_eq!(run.status, 1);
    assert!(run.err.contains("several elements are called \"A\": give one of 0, 1"), "{}", run.err);
}

#[test]
fn lines_to_encode_may_be_compressed() {
    let directory = directory("decode_options_compressed");
    let templates = file(&directory, "t.xml", TICK.as_bytes());
    let capture = file(&directory, "c.bin", &u32be(&[&GOOD, &GOOD]));
    let (lines, again) = (directory.join("l.jsonl.gz"), directory.join("again.bin"));
    for command in [
        format!(
            "decode {capture} -t {templates} --framing none,reset=packet --force -o {}",
            lines.display()
        ),
        format!(
            "encode {} -t {templates} --framing none,reset=packet --force -o {}",
            lines.display(),
            again.display()
        ),
    ] {
        let run = tickwire(&command);
        assert_eq!(run.status, 0, "{command}: {}", run.err);
    }
    assert_eq!(std::fs::read(&again).expect("written"), u32be(&[&GOOD, &GOOD]));

    let compressed = std::fs::read(&lines).expect("written");
    let cut = file(&directory, "cut.jsonl.gz", &compressed[..compressed.len() - 9]);
    let run = tickwire(&format!("encode {cut} -t {templates} --force -o {}", again.display()));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("cut.jsonl.gz"), "{}", run.err);
}

#[test]
fn messages_are_written_in_fixt_messages_and_read_back() {
    let directory = directory("decode_options_step");
    let templates = file(&directory, "t.xml", TICK.as_bytes());
    let capture = file(&directory, "c.bin", &u32be(&[&GOOD, &GOOD]));
    let decoded = tickwire(&format!("decode {capture} -t {templates} --framing none,reset=packet"));
    let lines = file(&directory, "lines.jsonl", decoded.out.as_bytes());
    for format in ["raw", "u32be"] {
        let step = directory.join(format!("step.{format}"));
        let run = tickwire(&format!(
            "encode {lines} -t {templates} --framing szse-step --output-format {format} --force -o {}",
            step.display()
        ));
        assert_eq!(run.status, 0, "{}", run.err);
        let bytes = std::fs::read(&step).expect("written");
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            text.contains("8=FIXT.1.1\u{1}9=") && text.contains("\u{1}34=2\u{1}95=9\u{1}96="),
            "{text}"
        );
        let run = tickwire(&format!(
            "decode {} -t {templates} --framing szse-step --input-format {format}",
            step.display()
        ));
        let again: Vec<_> = run.json_lines().into_iter().map(|line| line["msg"].clone()).collect();
        let expected: Vec<_> =
            decoded.json_lines().into_iter().map(|line| line["msg"].clone()).collect();
        assert_eq!(again, expected, "{}", run.err);
    }
}

/// The packet numbers continue from pass to pass, while the message numbers restart.
#[test]
#[cfg(feature = "bench")]
fn bench_fast_takes_a_capture_through_the_handler_many_times() {
    let directory = directory("decode_options_bench_handler");
    let [capture, templates] =
        ["c.bin", "t.xml"].map(|name| directory.join(name).display().to_string());
    let made = tickwire(&format!(
        "generate cme -n 300 -o {capture} --write-templates {templates} --force"
    ));
    assert_eq!(made.status, 0, "{}", made.err);
    let run = tickwire(&format!(
        "bench fast --file {capture} -t {templates} --reset packet --engine handler --time 200ms"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("handler"), "{}", run.out);
}
