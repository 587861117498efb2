//! Formats of written packets by the suffix of the file, and ranges of packets.

mod support;

use support::{directory, file, tickwire};

#[test]
fn the_suffix_of_an_output_is_its_format() {
    let directory = directory("packet_files_suffix");
    let path = |name: &str| directory.join(name).display().to_string();
    let (templates, plain) = (path("t.xml"), path("f.bin"));
    let run = tickwire(&format!("generate cme -n 20 -o {plain} --write-templates {templates}"));
    assert_eq!(run.status, 0, "{}", run.err);
    let decode = |file: &str| {
        tickwire(&format!(
            "decode {file} -t {templates} --reset packet --format csv --fields MsgSeqNum"
        ))
    };
    let values = |out: &str| -> Vec<String> {
        out.lines().map(|line| line.rsplit(',').next().unwrap_or_default().to_owned()).collect()
    };
    let expected = values(&decode(&plain).out);
    assert_eq!(expected.len(), 21);
    let lines = path("f.jsonl");
    let run = tickwire(&format!("decode {plain} -t {templates} --reset packet -q -o {lines}"));
    assert_eq!(run.status, 0, "{}", run.err);
    for (name, magic) in
        [("g.pcap", [0x4D, 0x3C, 0xB2, 0xA1]), ("g.pcapng", [0x0A, 0x0D, 0x0D, 0x0A])]
    {
        let generated = path(name);
        let run = tickwire(&format!("generate cme -n 20 -o {generated}"));
        assert_eq!(run.status, 0, "{name}: {}", run.err);
        let encoded = path(&format!("e{name}"));
        let run = tickwire(&format!("encode {lines} -t {templates} --reset packet -o {encoded}"));
        assert_eq!(run.status, 0, "{name}: {}", run.err);
        for written in [generated, encoded] {
            let bytes = std::fs::read(&written).expect("written");
            assert_eq!(bytes[..4], magic, "{written}");
            let run = decode(&written);
            assert_eq!((run.status, values(&run.out)), (0, expected.clone()), "{}", run.err);
            assert!(!run.err.contains("its name says"), "{}", run.err);
        }
    }
    let opra = path("o.pcap");
    let run = tickwire(&format!("opra generate --messages 100 -o {opra}"));
    assert_eq!(run.status, 0, "{}", run.err);
    let run = tickwire(&format!("opra decode {opra} --quiet"));
    assert_eq!((run.status, run.out.lines().count()), (0, 100), "{}", run.err);
    let run = tickwire(&format!("generate cme -n 20 -o {}", path("f.pcap.gz")));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("packets are written without compression"), "{}", run.err);
    assert!(!directory.join("f.pcap.gz").exists());
}

#[test]
fn a_damaged_length_does_not_hide_the_packets_before_it() {
    let directory = directory("packet_files_damaged");
    let templates = file(&directory, "t.xml", RUNNING.as_bytes());
    let packet = [0, 0, 0, 3, 0xc0, 0x81, 0x85];
    let good = packet.repeat(40);
    let decode = |damaged_packet: usize, options: &str| {
        let mut bytes = good.clone();
        bytes[damaged_packet * packet.len()] = 1;
        let capture = file(&directory, "damaged.bin", &bytes);
        tickwire(&format!("decode {capture} -t {templates} --reset packet {options}"))
    };
    for damaged_packet in [3, 20] {
        let run = decode(damaged_packet, "");
        assert_eq!((run.status, run.out.lines().count()), (1, damaged_packet), "{}", run.err);
        let place = format!("offset {}: a packet of 16777219 bytes is longer", damaged_packet * 7);
        assert!(run.err.contains(&place), "{}", run.err);
        assert!(run.err.contains("this length is damaged, or the file has another"), "{}", run.err);
    }
    let run = decode(0, "");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("; --input-format u32be or u32le reads it as packets"), "{}", run.err);
    let run = decode(0, "--input-format u32be");
    assert!(run.err.contains("offset 0: a packet of 16777219 bytes"), "{}", run.err);
}

const RUNNING: &str = r#"<templates><template name="T" id="1">
    <uInt32 name="n"><increment value="1"/></uInt32>
    <uInt32 name="price"><delta/></uInt32>
</template></templates>"#;

#[test]
fn a_range_of_packets_has_the_values_of_the_whole_capture() {
    let directory = directory("packet_files_range");
    let templates = file(&directory, "t.xml", RUNNING.as_bytes());
    let line = |n: u32| {
        format!("{{\"pkt\":{n},\"t\":1,\"msg\":{{\"n\":{},\"price\":{}}}}}\n", n + 1, 100 + n)
    };
    let lines: String = (0..20).map(line).collect();
    let lines = file(&directory, "f.jsonl", lines.as_bytes());
    for reset in ["never", "packet"] {
        let capture = directory.join(format!("{reset}.bin")).display().to_string();
        let run = tickwire(&format!("encode {lines} -t {templates} --reset {reset} -o {capture}"));
        assert_eq!(run.status, 0, "{}", run.err);
        let run = |options: &str| {
            tickwire(&format!("decode {capture} -t {templates} --reset {reset} {options}"))
        };
        let all = run("").out;
        let of = |range: std::ops::Range<usize>| {
            all.lines()
                .skip(range.start)
                .take(range.len())
                .map(|l| l.to_owned() + "\n")
                .collect::<String>()
        };
        for (packets, range) in
            [("5..8", 5..8), ("5..=8", 5..9), ("17..", 17..20), ("..2", 0..2), ("19", 19..20)]
        {
            for threads in [1, 2] {
                let run = run(&format!("--packets {packets} --threads {threads}"));
                assert_eq!((run.status, run.out), (0, of(range.clone())), "{packets}: {}", run.err);
                let told = match range.len() {
                    1 => "1 packet, 1 message".to_owned(),
                    len => format!("{len} packets, {len} messages"),
                };
                assert!(run.err.contains(&told), "{}", run.err);
            }
        }
        let beyond = run("--packets 20..30");
        assert_eq!((beyond.status, beyond.out.as_str()), (1, ""));
        assert!(
            beyond.err.contains("no packet is in --packets 20..30: there are 20"),
            "{}",
            beyond.err
        );
        assert_eq!(run("--packets 8..5").status, 2);
        let explain = |options: &str| {
            tickwire(&format!("explain {capture} -t {templates} --reset {reset} {options}"))
        };
        let both = explain("--packets 6..8");
        assert_eq!(both.status, 0, "{}", both.err);
        let each = [explain("--packet 6").out, explain("--packet 7").out].concat();
        assert_eq!(both.out, each);
        assert_eq!(explain("--packets 20..").status, 2);
    }
}

#[test]
fn explain_counts_messages_over_a_range_and_decodes_those_behind_the_limit() {
    let directory = directory("packet_files_explain");
    let templates = file(&directory, "t.xml", RUNNING.as_bytes());
    let line = |n: u32| {
        format!(
            "{{\"pkt\":{},\"t\":1,\"msg\":{{\"n\":{},\"price\":{}}}}}\n",
            n / 2,
            n + 1,
            100 + 7 * n
        )
    };
    let lines: String = (0..20).map(line).collect();
    let lines = file(&directory, "f.jsonl", lines.as_bytes());
    let capture = directory.join("f.pcap").display().to_string();
    let run = tickwire(&format!("encode {lines} -t {templates} --reset never -o {capture}"));
    assert_eq!(run.status, 0, "{}", run.err);
    let explain = |capture: &str, options: &str| {
        tickwire(&format!("explain {capture} -t {templates} --reset never {options}"))
    };
    let limited = explain(&capture, "--packets 3..6 -n 3");
    assert_eq!(limited.status, 0, "{}", limited.err);
    let both = explain(&capture, "--packets 3..5").out;
    assert!(both.starts_with(&limited.out), "{}", limited.out);
    assert_eq!(limited.out.matches("message at offset").count(), 3, "{}", limited.out);
    assert_eq!(explain(&capture, "--packets 3..6 -n 1").out.matches("message at").count(), 1);

    // The capture truncates packet 3 by its second message, which has 2 bytes.
    let mut bytes = std::fs::read(&capture).expect("a capture");
    let mut at = 24;
    let len_at = |bytes: &[u8], at: usize| {
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize
    };
    for _ in 0..3 {
        at += 16 + len_at(&bytes, at + 8);
    }
    let len = len_at(&bytes, at + 8);
    bytes.drain(at + 16 + len - 2..at + 16 + len);
    bytes[at + 8..at + 12].copy_from_slice(&(len as u32 - 2).to_le_bytes());
    let capture = file(&directory, "cut.pcap", &bytes);
    let run = explain(&capture, "--packets 3..5");
    assert_eq!(run.status, 1, "{}", run.out);
    assert!(run.out.contains("dictionaries are lost until a reset"), "{}", run.out);
    assert_eq!(run.out.matches("message at offset").count(), 2, "{}", run.out);
}

#[test]
fn a_raw_file_of_packets_whose_dictionaries_are_reset_is_refused() {
    let directory = directory("packet_files_raw");
    let templates = file(&directory, "t.xml", RUNNING.as_bytes());
    let lines = "{\"pkt\":0,\"t\":1,\"msg\":{\"n\":1,\"price\":100}}\n";
    let lines = file(&directory, "f.jsonl", lines.as_bytes());
    for name in ["f.raw", "f.fast"] {
        let path = directory.join(name);
        let out = path.display();
        let encode = format!("encode {lines} -t {templates} -o {out} --reset");
        for command in [format!("generate cme -n 20 -o {out}"), format!("{encode} packet")] {
            let run = tickwire(&command);
            assert_eq!(run.status, 2, "{command}: {}", run.err);
            assert!(run.err.contains("the raw format has no packet boundaries"), "{}", run.err);
            assert!(run.err.contains("write u32be (x.bin), u32le (x.u32le)"), "{}", run.err);
            assert!(!path.exists(), "{command}");
        }
        let run = tickwire(&format!("{encode} never"));
        assert_eq!((run.status, path.exists()), (0, true), "{}", run.err);
    }
    let out = directory.join("f.bin").display().to_string();
    let run = tickwire(&format!(
        "encode {lines} -t {templates} --reset packet --output-format raw -o {out}"
    ));
    assert_eq!(run.status, 2, "{}", run.err);
}

#[test]
fn a_template_file_in_place_of_the_capture_is_told() {
    let directory = directory("packet_files_xml");
    let templates =
        file(&directory, "t.xml", b"\n<templates><template name=\"T\" id=\"1\"/></templates>");
    let run = tickwire(&format!("decode {templates} -t {templates}"));
    let told = "t.xml: this is an XML file and not a capture; is it the template file?";
    assert!(run.status == 1 && run.err.contains(told), "{}", run.err);
}
