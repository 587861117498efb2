//! `tickwire opra`: conformance cases, and traces decoded and encoded again.

mod support;

use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use support::{directory, file, shared, tickwire, u32be};
use tickwire_feed::capture::PcapWriter;
use tickwire_opra::{Field, OpraEncoder, OpraMessageDraft, OpraVersion, generate};

const DECODERS: [&str; 5] =
    ["reference", "bottom-up", "bottom-up-portable", "grammar-generated", "grammar-runtime"];

#[test]
fn every_decoder_prints_the_messages_and_errors_of_the_cases() {
    let path = tickwire_testing::vectors("opra.jsonl");
    let cases = tickwire_testing::cases("opra.jsonl");
    for decoder in DECODERS {
        let run = tickwire(&format!("opra vectors {} --decoder {decoder}", path.display()));
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{decoder}");
        let lines = run.json_lines();
        assert_eq!(lines.len(), cases.len());
        for (line, case) in lines.iter().zip(&cases) {
            assert_eq!(line["name"], case["name"]);
            assert_eq!(line["error"], case["error"], "{decoder} {}", case["name"]);
            let expected = case["messages"].as_array().cloned().unwrap_or_default();
            assert_eq!(line["messages"], Value::from(expected), "{decoder} {}", case["name"]);
        }
    }
}

#[test]
fn a_trace_has_the_messages_asked_for_in_both_versions() {
    let directory = directory("opra_generate");
    for version in ["2.0", "1.03"] {
        let trace = directory.join(version).display().to_string();
        let options = format!("--messages 1003 --seed 7 --opra-version {version}");
        assert_eq!(tickwire(&format!("opra generate --force -o {trace} {options}")).status, 0);
        for decoder in DECODERS {
            let command = format!("opra decode {trace} --input-format u32be --decoder {decoder}");
            let run = tickwire(&command);
            assert_eq!(run.status, 0, "{}", run.err);
            assert!(!run.err.contains("warning:"), "{}", run.err);
            assert_eq!(run.json_lines().len(), 1003);
        }
    }
}

#[test]
fn a_raw_file_holds_one_packet_and_no_second_one_is_written_to_it() {
    let directory = directory("opra_raw");
    let path = |name: &str| directory.join(name).display().to_string();
    let (one, many) = (path("one.raw"), path("many.raw"));
    let made = tickwire(&format!("opra generate -o {one} --messages 3"));
    assert_eq!(made.status, 0, "{}", made.err);
    let run = tickwire(&format!("opra decode {one}"));
    assert_eq!((run.status, run.json_lines().len()), (0, 3), "{}", run.err);
    let made = tickwire(&format!("opra generate -o {many} --messages 1000"));
    assert_eq!(made.status, 2, "{}", made.err);
    assert!(
        made.err.contains("many.raw: a raw file holds one packet: write u32be"),
        "{}",
        made.err
    );
    let (lines, encoded) = (path("lines.jsonl"), path("encoded.raw"));
    let trace = path("trace.bin");
    assert_eq!(tickwire(&format!("opra generate -o {trace} --messages 1000")).status, 0);
    std::fs::write(&lines, tickwire(&format!("opra decode {trace}")).out).expect("written");
    let run = tickwire(&format!("opra encode {lines} -o {encoded}"));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("a raw file holds one packet"), "{}", run.err);
}

#[test]
fn the_ascii_form_is_one_message_a_line() {
    let trace = directory("opra_ascii").join("trace").display().to_string();
    assert_eq!(tickwire(&format!("opra generate -o {trace} --messages 500")).status, 0);
    let run = tickwire(&format!("opra decode {trace} --format ascii -q"));
    assert_eq!((run.status, run.err.as_str(), run.out.lines().count()), (0, "", 500));
}

/// Decodes `trace`, encodes the output and expects the same output when it is decoded again.
fn assert_comes_back(directory: &Path, trace: &str, version: &str) {
    let path = |name: &str| directory.join(name).display().to_string();
    let (messages, again) = (path("messages"), path("again"));
    assert_eq!(tickwire(&format!("opra decode {trace} --force -o {messages}")).status, 0);
    let encode = format!("opra encode {messages} --force -o {again} --opra-version {version}");
    let run = tickwire(&encode);
    assert_eq!(run.status, 0, "{}", run.err);
    let run = tickwire(&format!("opra decode {again} -q"));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let expected = std::fs::read_to_string(&messages).expect("readable");
    assert!(run.out == expected, "version {version} of {trace}");
    let bytes = |path: &str| std::fs::read(path).expect("readable");
    assert!(bytes(&again) == bytes(trace), "version {version} of {trace}");
}

#[test]
fn what_decode_prints_encodes_to_packets_with_the_same_messages() {
    let directory = directory("opra_encode");
    let trace = directory.join("trace").display().to_string();
    for version in ["2.0", "1.03"] {
        let options = format!("--messages 20000 --opra-version {version}");
        assert_eq!(tickwire(&format!("opra generate --force -o {trace} {options}")).status, 0);
        assert_comes_back(&directory, &trace, version);
    }
}

#[test]
fn a_trace_of_every_category_decodes_and_encodes_to_the_same_messages() {
    let Some(trace) = shared("corpus/opra/trace_v2.bin") else { return };
    let directory = directory("opra_encode_trace");
    assert_comes_back(&directory, &trace.display().to_string(), "2.0");
}

#[test]
fn a_text_that_is_empty_encodes_even_behind_one_that_is_not() {
    let directory = directory("opra_encode_empty");
    let text = |seq_num: u32, text: &str| {
        format!(
            "{{\"cat\": \"H\", \"type\": 78, \"part\": 79, \"retran\": 32, \"seq\": {seq_num}, \
             \"time\": 93007532, \"text\": \"{text}\"}}\n"
        )
    };
    let lines = [text(1, ""), text(2, "CLOSED"), text(3, ""), text(4, "")].concat();
    let messages = file(&directory, "messages", lines.as_bytes());
    let packets = directory.join("packets").display().to_string();
    let run = tickwire(&format!("opra encode {messages} -o {packets}"));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let run = tickwire(&format!("opra decode {packets}"));
    assert!(run.err.contains("2 packets, 4 messages; 0 errors, 0 warnings"), "{}", run.err);
    let without_packet = |line: &str| match line.split_once(", ") {
        Some((packet, rest)) if packet.starts_with("{\"pkt\": ") => format!("{{{rest}\n"),
        _ => line.to_owned(),
    };
    assert_eq!(run.out.lines().map(without_packet).collect::<String>(), lines);
}

#[test]
fn a_line_that_is_no_message_is_named_with_its_field() {
    let directory = directory("opra_encode_wrong");
    let cases = [
        ("[]", "expected an object"),
        ("{\"cat\": \"C\", \"frob\": 1}", "\"frob\" is not an OPRA field"),
        ("{\"cat\": \"C\", \"type\": -1, \"text\": \"A\"}", "\"type\": expected a whole number"),
        ("{\"cat\": \"C\", \"text\": 7}", "\"text\": expected a string, found 7"),
        ("{\"cat\": \"zz\"}", ": \"cat\": expected one character, found \"zz\""),
        ("{\"cat\": \"k\"}", "\"symbol\" is missing"),
        (
            "{\"cat\": \"?\", \"def\": \"A\", \"bid\": 1}",
            "\"bid\": no such field in this message of category ?",
        ),
        ("{\"pkt\": \"x\", \"cat\": \"?\", \"def\": \"A\"}", "\"pkt\": expected a whole number"),
        ("{\"cat\": \"C\", \"text\": \"A\"}", "\"type\": value not set"),
        ("{\"type\": 32}", "\"cat\" is missing"),
        ("{\"cat\": \"C\", \"time\": 1, \"time\": 2}", "\"time\" occurs twice"),
        ("{\"cat\": \"C\", \"pkt\": 1, \"pkt\": 2}", "\"pkt\" occurs twice"),
        (
            "{\"cat\": \"k\", \"volume\": 5}",
            "\"volume\": no such field in this message of category k",
        ),
        (
            "{\"cat\": \"Y\", \"type\": 32, \"groups\": [{\"spot\": 1, \"spot\": 2}]}",
            "\"groups\": \"spot\" occurs twice",
        ),
    ];
    for (line, expected) in cases {
        let input = file(&directory, "lines", line.as_bytes());
        let out = directory.join("out");
        for version in ["2.0", "1.03"] {
            let options = format!("--opra-version {version} --force -o {}", out.display());
            let run = tickwire(&format!("opra encode {input} {options}"));
            assert_eq!(run.status, 1);
            assert!(run.err.contains("lines:1: ") && run.err.contains(expected), "{}", run.err);
        }
    }
}

#[test]
fn a_wrong_packet_is_named_and_the_next_one_decoded() {
    let directory = directory("opra_wrong");
    let wrong = b"\x01\x020000000001001\x05\x80\x03";
    let path = file(&directory, "packets", &u32be(&[wrong, &notice(7, 99)]));
    let run = tickwire(&format!("opra decode {path} --input-format u32be"));
    assert_eq!(run.status, 1);
    assert_eq!(run.json_lines().len(), 1);
    for text in [
        "packet 0 (file offset 4): message 0 at offset 17: end of input",
        "warning: sequence number of the header is 99, of the first message 7",
        "2 packets, 1 message; 1 error, 1 warning",
    ] {
        assert!(run.err.contains(text), "{}", run.err);
    }
}

#[test]
fn errors_and_warnings_are_bounded_and_warnings_leave_the_status() {
    let directory = directory("opra_bounded");
    let odd = notice(7, 99);
    let path = file(&directory, "packets", &u32be(&[&odd[..]; 30]));
    let run = tickwire(&format!("opra decode {path} --input-format u32be"));
    assert_eq!(run.status, 0);
    assert_eq!(run.err.lines().count(), 22, "{}", run.err);
    assert!(run.err.contains("10 more warnings not shown"), "{}", run.err);
}

/// A packet of one control message.
fn notice(seq_num: u64, header_seq_num: u64) -> Vec<u8> {
    let mut draft = OpraMessageDraft::new(OpraVersion::V2);
    for field in [Field::MessageType, Field::Participant, Field::Retransmission] {
        draft.set_number(field, 32);
    }
    draft.set_number(Field::Category, u32::from(b'H'));
    draft.set_number(Field::Time, 93_015_123);
    draft.set_seq_num(seq_num);
    draft.set_text(Field::Text, "CLOSED").expect("short");
    let mut encoder = OpraEncoder::new(OpraVersion::V2);
    encoder.begin(header_seq_num);
    encoder.push(&draft.message().expect("complete")).expect("encodes");
    encoder.finish().expect("finishes").to_vec()
}

/// A capture of two lines with both sides. Line 2 loses its packet 3 on both sides; all other packets are
/// lost on at most one side.
fn two_lines() -> Vec<u8> {
    let address = |port| SocketAddrV4::new(Ipv4Addr::new(239, 1, 1, 1), port);
    let source = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 5000);
    let mut writer = PcapWriter::new(Vec::new()).expect("writes");
    let packets =
        [1, 2].map(|seed| generate::trace(OpraVersion::V2, seed, 200).expect("generates"));
    for index in 0..8 {
        for (line, packets) in packets.iter().enumerate() {
            for (side, first_port) in [(0, 11_101), (1, 12_101)] {
                let is_lost = (index + side) % 3 == 2 || line == 1 && index == 3;
                if !is_lost {
                    let to = address(first_port + line as u16);
                    let time_ns = 1_000_000 * (10 * index + side) as u64;
                    writer.write_datagram(time_ns, source, to, &packets[index]).expect("writes");
                }
            }
        }
    }
    writer.into_inner()
}

#[test]
fn lines_come_out_once_and_what_both_sides_lost_is_reported() {
    let capture = directory("opra_lines").join("lines.pcap");
    std::fs::write(&capture, two_lines()).expect("written");
    let run = tickwire(&format!("opra decode {} --lines 24", capture.display()));
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.err.contains("are missing on both sides"), "{}", run.err);
    assert!(run.err.contains("2 lines; A received"), "{}", run.err);
    assert!(run.err.contains("1 gap of"), "{}", run.err);
    // Different seeds give each line different numbers, which rise by one except at the gap.
    let seq_nums: Vec<u64> =
        run.json_lines().iter().filter_map(|message| message["seq"].as_u64()).collect();
    let mut once: Vec<u64> = seq_nums.clone();
    once.sort_unstable();
    let pairs = once.chunk_by(|a, b| a == b).map(<[u64]>::len);
    assert!(pairs.clone().all(|count| count <= 2), "each number once a line");
    assert!(pairs.filter(|count| *count == 2).count() > 100);

    let all = tickwire(&format!("opra decode {} -q", capture.display()));
    assert!(all.json_lines().len() > seq_nums.len());
}

#[test]
fn two_files_are_the_sides_of_a_line() {
    let directory = directory("opra_sides");
    let packets = generate::trace(OpraVersion::V2, 4, 400).expect("generates");
    let side = |name: &str, lost: usize| {
        let kept = packets.iter().enumerate().filter(|(index, _)| index % 5 != lost);
        let kept: Vec<u8> = kept.flat_map(|(_, packet)| u32be(&[packet])).collect();
        let path = directory.join(name);
        std::fs::write(&path, kept).expect("written");
        path.display().to_string()
    };
    let (a, b) = (side("a", 1), side("b", 3));
    let run = tickwire(&format!("opra decode {a} --file-b {b}"));
    assert_eq!(run.status, 0, "{}", run.err);
    let seq_nums: Vec<u64> =
        run.json_lines().iter().filter_map(|message| message["seq"].as_u64()).collect();
    assert!(seq_nums.len() >= 380 && seq_nums.windows(2).all(|pair| pair[1] == pair[0] + 1));
}

#[test]
#[cfg(feature = "bench")]
fn the_bench_measures_every_decoder_and_says_where_the_time_goes() {
    let directory = directory("opra_bench");
    let path = |name: &str| directory.join(name).display().to_string();
    let (json, plot) = (path("rates.json"), path("rates.svg"));
    let run = tickwire(&format!(
        "opra bench --messages 2000 --time 0 --analysis --no-instructions --json {json} --plot {plot}"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    for text in ["optimality ratio", "presence-map-5", "packet p50", "figure 4"] {
        assert!(run.out.contains(text), "{}", run.out);
    }
    let text = std::fs::read_to_string(&json).expect("written");
    let list: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    for decoder in
        ["reference", "bottom-up-portable", "grammar-runtime", "grammar-generated", "encoder"]
    {
        for threads in [1, 2] {
            let row =
                list.iter().find(|row| row["decoder"] == decoder && row["threads"] == threads);
            let ns = row.and_then(|row| row["ns_per_message"].as_f64());
            assert!(ns.is_some_and(f64::is_finite), "{decoder} {threads}: {row:?}");
        }
    }
    // B, complete decoders and the study's margin: fields as one run and singly, with both back ends.
    for part in ["grammar only, B", "actions with grammar", "optimality ratio"] {
        for fields in ["one run", "one by one"] {
            for back_end in ["generated", "tables"] {
                let is_it = |row: &&Value| {
                    row["part"] == part && row["fields"] == fields && row["grammar_as"] == back_end
                };
                let row = list.iter().find(is_it);
                let row = row.unwrap_or_else(|| panic!("{part}, {fields}, {back_end}: {list:?}"));
                let is_margin = part == "optimality ratio";
                let name = if is_margin { "grammar_over_bottom_up" } else { "ns_per_message" };
                assert!(row[name].as_f64().is_some_and(f64::is_finite), "{row}");
                assert!(is_margin || row["engine"] == "portable", "{row}");
                assert!(!is_margin || row["study_grammar_over_bottom_up"] == 0.07, "{row}");
            }
        }
    }
    let stage = list.iter().find(|row| row["pattern"] == ".{10}").expect("a stage");
    assert_eq!(
        (stage["smallest_dfa_states"].as_u64(), stage["run_as"].as_str()),
        (Some(11), Some("any bytes"))
    );
    assert!(stage["nfa_states"].as_u64() >= Some(11), "{stage}");
    assert!(std::fs::read_to_string(&plot).expect("written").starts_with("<svg"));
}
