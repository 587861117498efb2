//! Captures with packets to several destinations, TCP streams, and captures without the wanted packets.

mod support;

use support::{Run, directory, file, packets_of, pcap, tickwire};

const FEED: &str = "239.1.1.1:5000";
const NOISE: &str = "10.9.9.9:53";

/// A capture that begins with a packet of another protocol, and its templates.
fn capture_with_noise(name: &str) -> (String, String) {
    let directory = directory(&format!("several_destinations_{name}"));
    let path = |file: &str| directory.join(file).display().to_string();
    let (packets, templates) = (path("f.bin"), path("t.xml"));
    let run = tickwire(&format!(
        "generate cme --framing cme -n 400 -o {packets} --write-templates {templates}"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let packets = packets_of(packets.as_ref());
    let mut datagrams: Vec<(&str, &[u8])> = Vec::new();
    for (index, packet) in packets.iter().enumerate() {
        if index % 5 == 0 {
            datagrams.push((NOISE, b"GET / of another protocol"));
        }
        datagrams.push((FEED, packet));
    }
    (file(&directory, "f.pcap", &pcap(&datagrams)), templates)
}

fn decode(capture: &str, templates: &str, options: &str) -> Run {
    tickwire(&format!("decode {capture} -t {templates} {options}"))
}

#[test]
fn auto_finds_the_feed_behind_another_protocol_and_names_its_destination() {
    let (capture, templates) = capture_with_noise("auto");
    let run = decode(&capture, &templates, "--framing auto");
    let found = format!("packets to {FEED}: found --framing cme --reset packet (");
    assert!(run.err.contains(&found), "{}", run.err);
    let named = decode(&capture, &templates, "--framing cme");
    assert_eq!((run.status, run.out.lines().count()), (1, named.out.lines().count()));
    let explained =
        tickwire(&format!("explain {capture} -t {templates} --packet 1 --framing auto"));
    assert_eq!(explained.status, 0, "{}", explained.err);
}

#[test]
fn warnings_and_errors_and_the_summary_tell_destinations_apart() {
    let (capture, templates) = capture_with_noise("told");
    for threads in ["1", "2"] {
        let run = decode(&capture, &templates, &format!("--framing cme --threads {threads}"));
        let warning = format!("warning: packets to {NOISE}: only 0 of ");
        assert!(run.err.contains(&warning), "{}", run.err);
        assert!(run.err.contains("leave them out with --address and --port"), "{}", run.err);
        assert!(!run.err.contains(&format!("packets to {FEED}")), "{}", run.err);
        assert!(run.err.contains(&format!("packet 0 (file offset 82, to {NOISE}): ")));
    }
    let run = decode(&capture, &templates, "--framing cme --format summary");
    let row = |destination: &str| {
        let row = run.out.lines().find(|line| line.starts_with(destination));
        let row = row.unwrap_or_else(|| panic!("no row: {}", run.out));
        row.split_whitespace().skip(1).map(|cell| cell.parse().expect("a count")).collect()
    };
    let (feed, noise): (Vec<u64>, Vec<u64>) = (row(FEED), row(NOISE));
    assert!(feed[0] > 4 * noise[0] && feed[1] == 400, "{}", run.out);
    assert_eq!(noise[1], 0, "{}", run.out);
    let only = decode(&capture, &templates, "--framing cme --format summary --port 5000");
    assert_eq!(only.status, 0, "{}", only.err);
    assert!(!only.out.contains("destination"), "{}", only.out);
}

#[test]
fn a_port_without_packets_is_an_error_that_lists_the_destinations() {
    let (capture, templates) = capture_with_noise("port");
    let runs = [
        decode(&capture, &templates, "--framing cme --port 9999"),
        decode(&capture, &templates, "--framing cme --port 9999 --threads 2"),
        tickwire(&format!("explain {capture} -t {templates} --framing cme --port 9999")),
    ];
    for run in runs {
        assert_eq!(run.status, 1, "{}", run.err);
        assert!(run.err.contains("no packet is sent to port 9999. Packets found: "), "{}", run.err);
        assert!(run.err.contains(&format!(" to {FEED}")), "{}", run.err);
        assert!(run.err.contains(&format!(" to {NOISE}")), "{}", run.err);
    }
}

#[test]
fn an_empty_file_is_an_error() {
    let directory = directory("several_destinations_empty");
    let templates = support::templates("simple");
    for name in ["empty.pcap", "empty.bin", "empty"] {
        let empty = file(&directory, name, b"");
        for run in [
            decode(&empty, &templates, ""),
            tickwire(&format!("explain {empty} -t {templates}")),
            tickwire(&format!("receive -t {templates} --capture {empty}")),
            tickwire(&format!("multicast -f {empty}")),
        ] {
            assert_eq!(run.status, 1, "{}", run.err);
            assert!(run.err.contains(&format!("{name}: the file is empty")), "{}", run.err);
        }
    }
}

/// A pcap file of TCP segments of 100 bytes.
fn tcp_pcap(stream: &[u8]) -> Vec<u8> {
    let mut pcap = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    pcap.extend([0, 0, 4, 0, 101, 0, 0, 0]);
    for (index, segment) in stream.chunks(100).enumerate() {
        let len = 40 + segment.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(len.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([0x23, 0x28, 0xAF, 0xC8]);
        packet.extend((1 + 100 * index as u32).to_be_bytes());
        packet.extend([0, 0, 0, 1, 0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0]);
        packet.extend(segment);
        let len = u32::from(len).to_le_bytes();
        let record = [&(index as u32).to_le_bytes()[..], &[0; 4], &len, &len, &packet].concat();
        pcap.extend(record);
    }
    pcap
}

#[test]
fn segments_of_a_stream_are_no_sign_of_a_wrong_framing_and_explain_refuses_later_ones() {
    let directory = directory("several_destinations_tcp");
    let path = |file: &str| directory.join(file).display().to_string();
    let (packets, templates) = (path("f.bin"), path("t.xml"));
    let run =
        tickwire(&format!("generate complex -n 300 -o {packets} --write-templates {templates}"));
    assert_eq!(run.status, 0, "{}", run.err);
    let stream = packets_of(packets.as_ref()).concat();
    let capture = file(&directory, "f.pcap", &tcp_pcap(&stream));
    let run = decode(&capture, &templates, "--reset template");
    assert_eq!((run.status, run.out.lines().count()), (0, 301), "{}", run.err);
    assert!(!run.err.contains("warning"), "{}", run.err);
    let explain = |packet| {
        tickwire(&format!("explain {capture} -t {templates} --reset template --packet {packet}"))
    };
    assert!(explain(0).out.contains("message at offset 0"));
    let later = (1..4).map(explain).find(|run| run.status == 2).expect("a refused segment");
    assert!(later.err.contains("is a segment of a TCP stream"), "{}", later.err);
    assert!(later.err.contains("--hex"), "{}", later.err);
}

#[test]
fn explain_refuses_a_segment_inside_a_message_if_each_message_resets_the_dictionaries() {
    let directory = directory("several_destinations_tcp_reset");
    // Messages of 69 bytes: segments of 100 bytes begin inside the second and third message.
    let templates = file(
        &directory,
        "t.xml",
        br#"<templates><template name="T" id="1"><string name="a"/></template></templates>"#,
    );
    let text = [[b'x'; 66].as_slice(), &[b'x' | 0x80]].concat();
    let message = [&[0xC0, 0x81][..], &text].concat();
    assert_eq!(message.len(), 69);
    let capture = file(&directory, "f.pcap", &tcp_pcap(&message.repeat(4)));
    let explain = |packet| {
        tickwire(&format!("explain {capture} -t {templates} --reset message --packet {packet}"))
    };
    assert!(explain(0).out.contains("message at offset 0"));
    for packet in [1, 2] {
        let run = explain(packet);
        assert_eq!(run.status, 2, "{}", run.out);
        assert!(run.err.contains("is a segment of a TCP stream"), "{}", run.err);
    }
}

#[cfg(feature = "columns")]
#[test]
fn export_of_no_packet_is_an_error_unless_another_capture_has_some() {
    let (capture, templates) = capture_with_noise("export");
    let directory = directory("several_destinations_export_out");
    let export = |captures: &str, options: &str| {
        tickwire(&format!("export {captures} -t {templates} --framing cme --port 5000 {options}"))
    };
    let to = |name: &str| format!("-o {}", directory.join(name).display());
    let only_noise = file(&directory, "noise.pcap", &support::pcap(&[(NOISE, b"GET /")]));
    for output in ["d", "f.jsonl"] {
        let run = export(&only_noise, &to(output));
        assert_eq!(run.status, 1, "{}", run.err);
        assert!(run.err.contains("no packet is sent to port 5000"), "{}", run.err);
    }
    let run = export(&format!("{only_noise} {capture}"), &to("both"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.err.contains("no packet is sent to port 5000"), "{}", run.err);
}
