//! `tickwire decode` of byte streams: raw files of any length, and TCP with any segmentation.

#[allow(dead_code)]
#[path = "../../feed/tests/capture_files/build.rs"]
mod build;
mod support;

use fastrand::Rng;
use std::path::Path;
use support::{Run, directory, file, tickwire};

const XML: &str = r#"<templates>
  <template name="T" id="1"><uInt32 name="a"><copy/></uInt32><string name="b"/></template>
  <template name="U" id="2"><uInt32 name="c"/>
    <sequence name="s"><length name="n"/><uInt32 name="d"><increment value="7"/></uInt32></sequence>
  </template></templates>"#;

/// Messages: T with a = 5, T with a copied, U with three entries, T with a long string.
const MESSAGES: [&[u8]; 4] = [
    &[0xe0, 0x81, 0x85, 0x58, 0xd9],
    &[0x80, 0xd8],
    &[0xc0, 0x82, 0x01, 0x88, 0x83, 0x80, 0xc0, 0x89, 0x80],
    &[0xc0, 0x81, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0xc8],
];

/// Options of a framing, and the function that adds its header to a message.
type Framed = (&'static str, fn(&[u8]) -> Vec<u8>);

const FRAMINGS: [Framed; 6] = [
    ("--framing none", |_| Vec::new()),
    ("--framing header=fixed:3:0:be:0", |_| vec![0xc0, 0x81, 0x80]),
    ("--framing header=fixed:0:2:be:0", |message| vec![0, message.len() as u8]),
    ("--framing header=encoded:1:0", |message| vec![0x81, 0x80 | message.len() as u8]),
    ("--framing preamble=4,length=2:2:be", |message| vec![0xc0, 0x81, 0, message.len() as u8]),
    ("--framing b3-umdf,reset=template", |message| {
        vec![0, 0, 0, 1, 0, 1, 0, 1, 0, message.len() as u8]
    }),
];

/// A TCP stream in segments of up to 12 bytes, some of which are reordered or duplicated.
fn segments(numbers: &mut Rng, stream: &[u8]) -> Vec<u8> {
    let mut frames = vec![build::segment(99, true, b"")];
    let mut at = 0;
    while at < stream.len() {
        let len = (1 + numbers.usize(..12)).min(stream.len() - at);
        let frame = build::segment(100 + at as u32, false, &stream[at..at + len]);
        let place =
            frames.len() - if at > 0 { numbers.usize(..3).min(frames.len() - 2) } else { 0 };
        if numbers.usize(..4) == 0 {
            frames.push(frame.clone());
        }
        frames.insert(place, frame);
        at += len;
    }
    build::pcap(1, &frames)
}

fn decode(directory: &Path, name: &str, content: &[u8], options: &str) -> Run {
    let templates = file(directory, "t.xml", XML.as_bytes());
    let capture = file(directory, name, content);
    tickwire(&format!("decode {capture} -t {templates} {options}"))
}

/// Names and values of the messages.
fn values(run: &Run) -> Vec<String> {
    let lines = run.json_lines();
    lines.iter().map(|line| format!("{} {}", line["n"], line["msg"])).collect()
}

#[test]
fn tcp_segments_cut_anywhere_give_the_messages_of_a_raw_file() {
    let directory = directory("streams_tcp");
    for (options, header) in FRAMINGS {
        let messages = MESSAGES.repeat(5);
        let stream: Vec<u8> =
            messages.iter().flat_map(|message| [&header(message)[..], message].concat()).collect();
        let whole = decode(&directory, "whole", &stream, &format!("{options} --input-format raw"));
        assert_eq!((whole.status, values(&whole).len()), (0, 20), "{options}: {}", whole.err);
        for seed in 0..6 {
            let capture = segments(&mut Rng::with_seed(seed), &stream);
            let run = decode(&directory, "tcp.pcap", &capture, options);
            assert_eq!(run.status, 0, "{options}, seed {seed}: {}", run.err);
            assert_eq!(values(&run), values(&whole), "{options}, seed {seed}");
        }
    }
}

#[test]
fn a_range_of_packets_may_end_inside_a_message_of_a_stream() {
    let directory = directory("streams_range");
    let b3 = [0, 0, 0, 1, 0, 1, 0, 1, 0, 5];
    for (options, header) in [("--framing none", &[][..]), ("--framing b3-umdf", &b3)] {
        let message = [header, MESSAGES[0]].concat();
        let (first, last) = message.split_at(message.len() - 2);
        let pieces = [&message[..], first, last];
        let mut frames = vec![build::segment(99, true, b"")];
        let mut seq_num = 100;
        for piece in pieces {
            frames.push(build::segment(seq_num, false, piece));
            seq_num += piece.len() as u32;
        }
        let capture = build::pcap(1, &frames);
        let end = decode(&directory, "all.pcap", &capture, options).json_lines()[1]["pkt"].clone();
        for threads in [1, 2] {
            let range = format!("{options} --threads {threads} --packets 0..");
            let run = decode(&directory, "cut.pcap", &capture, &format!("{range}{end}"));
            assert_eq!((run.status, values(&run).len()), (0, 1), "{options}: {}", run.err);
            let run = decode(&directory, "end.pcap", &build::pcap(1, &frames[..3]), &range);
            assert_eq!((run.status, values(&run).len()), (1, 1), "{options}: {}", run.err);
        }
    }
}

#[test]
fn a_stream_that_ends_inside_a_packet_is_flawed() {
    let directory = directory("streams_cut");
    let stream = [0, 0, 0, 1, 0, 1, 0, 1, 0, 5, 0xe0, 0x81, 0x85, 0x58, 0xd9];
    let options = "--framing b3-umdf --input-format raw";
    for (len, messages) in [(15, 1), (14, 0), (9, 0)] {
        let run = decode(&directory, "cut", &stream[..len], options);
        assert_eq!(
            (run.status, values(&run).len()),
            (i32::from(len < 15), messages),
            "{}",
            run.err
        );
        assert_eq!(run.err.contains("ends inside a packet"), len < 15, "{}", run.err);
    }
}

#[test]
fn a_raw_file_of_packets_may_be_longer_than_memory_for_a_packet() {
    const TEXT: usize = 60_000;
    const PACKETS: usize = 300;
    let directory = directory("streams_long");
    let mut message = vec![0xe0, 0x81, 0x85];
    message.extend([b'x'; TEXT - 1]);
    message.push(b'x' | 0x80);
    let mut packet = vec![0, 0, 0, 1, 0, 1, 0, 1];
    packet.extend((message.len() as u16).to_be_bytes());
    packet.extend(&message);
    let stream = packet.repeat(PACKETS);
    assert!(stream.len() > 16 << 20);
    let run = decode(
        &directory,
        "long",
        &stream,
        "--framing b3-umdf --input-format raw --format csv --fields a",
    );
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(run.out.lines().count(), PACKETS + 1);
}
