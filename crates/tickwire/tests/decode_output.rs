//! `tickwire decode`: capture time and addresses in every format, live input, names of files.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::{Run, directory, file, pcap, tickwire, u32be};

const XML: &str = r#"<templates><template name="T" id="1">
    <uInt32 name="a" id="11"/>
    <sequence name="s"><length name="n" id="13"/><uInt32 name="q" id="14"/></sequence>
  </template></templates>"#;

/// a = 5 with q = 1 and 2; a = 6 without entries.
const PACKETS: [&[u8]; 2] = [&[0xc0, 0x81, 0x85, 0x82, 0x81, 0x82], &[0xc0, 0x81, 0x86, 0x80]];

fn decode(name: &str, options: &str) -> Run {
    let directory = directory(&format!("decode_output_{name}"));
    let templates = file(&directory, "t.xml", XML.as_bytes());
    let datagrams = PACKETS.map(|packet| ("239.1.1.1:8000", packet));
    let capture = file(&directory, "c.pcap", &pcap(&datagrams));
    tickwire(&format!("decode {capture} -t {templates} {options}"))
}

#[test]
fn json_lines_have_time_and_addresses() {
    let run = decode("jsonl", "");
    assert_eq!(
        run.out,
        "{\"pkt\": 0, \"pre\": \"\", \"off\": 0, \"len\": 6, \"time\": 0, \
         \"source\": \"10.0.0.1:9000\", \"destination\": \"239.1.1.1:8000\", \"t\": 1, \
         \"n\": \"T\", \"msg\": {\"a\": 5, \"s\": [{\"q\": 1}, {\"q\": 2}]}}\n\
         {\"pkt\": 1, \"pre\": \"\", \"off\": 0, \"len\": 4, \"time\": 1, \
         \"source\": \"10.0.0.1:9000\", \"destination\": \"239.1.1.1:8000\", \"t\": 1, \
         \"n\": \"T\", \"msg\": {\"a\": 6, \"s\": []}}\n"
    );
}

#[test]
fn csv_has_time_addresses_and_entry() {
    let run = decode("csv", "--format csv");
    assert_eq!(
        run.out,
        "pkt,off,t,n,time,source,destination,entry,a,s/q\n\
         0,0,1,T,0,10.0.0.1:9000,239.1.1.1:8000,0,5,1\n\
         0,0,1,T,0,10.0.0.1:9000,239.1.1.1:8000,1,5,2\n\
         1,0,1,T,1,10.0.0.1:9000,239.1.1.1:8000,,6,\n"
    );
}

#[test]
fn fix_text_and_plain_text_have_time_and_addresses() {
    let run = decode("fix", "--format fix -n 1");
    assert_eq!(
        run.out,
        "time=1970-01-01T00:00:00.000000000Z|source=10.0.0.1:9000|destination=239.1.1.1:8000|\
         11=5|13=2|14=1|14=2|\n"
    );
    let run = decode("fix", "--format fix -n 1 --entry-index");
    assert!(run.out.ends_with("|11=5|13=2|entry=0|14=1|entry=1|14=2|\n"), "{}", run.out);
    let run = decode("text", "--format text -n 1");
    assert_eq!(
        run.out,
        "T (1): packet 0, offset 0, 6 bytes, 1970-01-01T00:00:00.000000000Z, \
         10.0.0.1:9000 > 239.1.1.1:8000\n  a = 5\n  s[0]: q = 1\n  s[1]: q = 2\n"
    );
}

#[test]
fn threads_keep_time_and_addresses() {
    let one = decode("one", "--format csv");
    let four = decode("four", "--format csv --threads 4 --reset packet");
    assert_eq!(one.out, four.out);
}

/// A `tickwire decode -` whose input stays open.
fn decode_live(name: &str, options: &[&str]) -> Child {
    let directory = directory(&format!("decode_output_{name}"));
    let templates = file(&directory, "t.xml", XML.as_bytes());
    Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["decode", "-", "-t", &templates, "-q"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// Writes the pieces one at a time and expects a line after each before it writes the next.
fn assert_a_line_a_piece(mut child: Child, pieces: &[&[u8]]) {
    let mut input = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    for (index, piece) in pieces.iter().enumerate() {
        input.write_all(piece).expect("written");
        input.flush().expect("written");
        let line = lines.next().expect("a line").expect("text");
        let json: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(json["msg"]["a"], 5 + index, "{line}");
    }
    drop(input);
    assert!(lines.next().is_none());
    assert!(child.wait().expect("ended").success());
}

#[test]
fn each_packet_of_a_live_capture_is_written_at_once() {
    let first = pcap(&[("239.1.1.1:8000", PACKETS[0])]);
    let both = pcap(&[("239.1.1.1:8000", PACKETS[0]), ("239.1.1.1:8000", PACKETS[1])]);
    let second = &both[first.len()..];
    assert_a_line_a_piece(decode_live("live_pcap", &[]), &[&first, second]);
}

#[test]
fn each_message_of_a_live_stream_is_written_at_once() {
    let child = decode_live("live_raw", &["--input-format", "raw"]);
    assert_a_line_a_piece(child, &PACKETS);
    let child = decode_live("live_u32be", &["--input-format", "u32be"]);
    let [first, second] = PACKETS.map(|packet| u32be(&[packet]));
    assert_a_line_a_piece(child, &[&first, &second]);
}

/// Runs decode with an output file and returns its result and the file's content.
fn decode_to(name: &str, output: &str, options: &str) -> (Run, Vec<u8>) {
    let directory = directory(&format!("decode_output_{name}"));
    let templates = file(&directory, "t.xml", XML.as_bytes());
    let capture = file(&directory, "c.bin", &u32be(&PACKETS));
    let path = directory.join(output);
    let output = path.display();
    let run = tickwire(&format!("decode {capture} -t {templates} -q -o {output} {options}"));
    (run, std::fs::read(&path).unwrap_or_default())
}

#[test]
fn the_suffix_of_the_output_tells_its_format() {
    for (output, options, start) in [
        ("x.jsonl", "", "{\"pkt\": 0"),
        ("x.csv", "", "pkt,off,t,n,"),
        ("x.fix", "", "11=5|"),
        ("x.txt", "", "T (1): "),
        ("x", "", "{\"pkt\": 0"),
        ("x.csv", "--format fix", "11=5|"),
    ] {
        let (run, content) = decode_to("suffix", output, options);
        assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (0, "", ""), "{output}");
        assert!(content.starts_with(start.as_bytes()), "{output}");
    }
}

#[test]
fn columns_are_not_written_as_text_by_a_suffix() {
    for output in ["x.parquet", "x.arrow", "x.Feather"] {
        let (run, content) = decode_to("columns", output, "");
        assert_eq!((run.status, content.len()), (2, 0), "{output}: {}", run.err);
        assert!(run.err.contains("tickwire export"), "{output}: {}", run.err);
        let (run, content) = decode_to("columns", output, "--format csv");
        assert_eq!((run.status, content.starts_with(b"pkt,")), (0, true), "{output}: {}", run.err);
    }
}

#[test]
fn the_suffix_of_the_output_tells_its_compression() {
    let (_, plain) = decode_to("plain", "x.csv", "");
    let (_, gzip) = decode_to("gzip", "x.csv.gz", "");
    let mut content = Vec::new();
    flate2::read::MultiGzDecoder::new(&gzip[..]).read_to_end(&mut content).expect("gzip");
    assert_eq!(content, plain);
    let (_, zstd) = decode_to("zstd", "x.csv.zst", "");
    assert_eq!(zstd[..4], [0x28, 0xb5, 0x2f, 0xfd]);
}

#[test]
fn an_output_that_exists_or_is_the_input_is_refused() {
    let directory = directory("decode_output_overwrite");
    let templates = file(&directory, "t.xml", XML.as_bytes());
    let capture = file(&directory, "c.bin", &u32be(&PACKETS));
    let link = directory.join("link.bin");
    std::os::unix::fs::symlink(&capture, &link).expect("a link");
    let before = std::fs::read(&capture).expect("a capture");
    for output in [capture.as_str(), &link.display().to_string(), &templates] {
        for force in ["", "--force"] {
            let run = tickwire(&format!("decode {capture} -t {templates} -o {output} {force}"));
            assert_eq!(run.status, 2, "{}", run.err);
            assert!(run.err.contains("is the input"), "{}", run.err);
        }
    }
    assert_eq!(std::fs::read(&capture).expect("a capture"), before);

    let other = file(&directory, "other.jsonl", b"precious");
    let run = tickwire(&format!("decode {capture} -t {templates} -o {other}"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("exists") && run.err.contains("--force"), "{}", run.err);
    assert_eq!(std::fs::read(&other).expect("a file"), b"precious");
    let run = tickwire(&format!("decode {capture} -t {templates} -o {other} --force"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(std::fs::read_to_string(&other).expect("a file").lines().count(), 2);
    let run = tickwire(&format!("decode {capture} -t {templates} -o /dev/null"));
    assert_eq!(run.status, 0, "{}", run.err);
}

#[test]
fn a_name_that_contradicts_the_content_is_told() {
    let directory = directory("decode_output_names");
    let templates = file(&directory, "t.xml", XML.as_bytes());
    let datagrams = PACKETS.map(|packet| ("239.1.1.1:8000", packet));
    for (name, content, expected) in [
        ("c.pcap", pcap(&datagrams), ""),
        ("c.bin", pcap(&datagrams), "c.bin: its name says length-prefixed packets"),
        ("c.pcap", u32be(&PACKETS), "c.pcap: its name says pcap, its content is read as u32be"),
        ("c.pcap.gz", pcap(&datagrams), "its name says gzip, but it is not compressed"),
        ("c.fast", PACKETS.concat(), ""),
    ] {
        let capture = file(&directory, name, &content);
        let run = tickwire(&format!("decode {capture} -t {templates} -q"));
        assert_eq!((run.status, run.out.lines().count()), (0, 2), "{name}: {}", run.err);
        assert!(run.err.contains(expected), "{name}: {}", run.err);
        assert_eq!(run.err.is_empty(), expected.is_empty(), "{name}: {}", run.err);
        assert!(Path::new(&capture).exists());
    }
}
