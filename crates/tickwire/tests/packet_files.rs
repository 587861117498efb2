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
                let told = format!("{} packets, {} messages", range.len(), range.len());
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
