//! `--framing auto`, and warnings of a wrong framing or a forgotten reset.

mod support;

#[path = "support/receiving.rs"]
mod receiving;

use receiving::Receiving;
use support::{Run, directory, file, shared, tickwire, tickwire_with, u32be};

/// A generated feed: its packets and templates.
fn feed(name: &str, kind: &str, options: &str) -> (String, String) {
    let directory = directory(&format!("framing_auto_{name}"));
    let path = |file: &str| directory.join(file).display().to_string();
    let (packets, templates) = (path("f.bin"), path("t.xml"));
    let run = tickwire(&format!(
        "generate {kind} -o {packets} -n 400 --write-templates {templates} {options}"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    (packets, templates)
}

fn decode(packets: &str, templates: &str, options: &str) -> Run {
    tickwire(&format!("decode {packets} -t {templates} {options}"))
}

#[test]
fn the_framing_of_a_generated_feed_is_found_and_told() {
    for (name, kind, options, expected) in [
        ("cme", "cme", "--framing cme", "--framing cme --reset packet"),
        ("bare", "cme", "", "--framing none --reset packet"),
        ("mid", "cme", "--channel 11 --framing cme", "--framing cme --reset packet"),
        ("random", "random-cme", "--framing moex-asts", "--framing moex-asts --reset packet"),
        ("simple", "simple", "--packet-size 200", "--framing none --reset packet"),
    ] {
        let (packets, templates) = feed(name, kind, options);
        let found = decode(&packets, &templates, "--framing auto");
        assert_eq!(found.status, 0, "{name}: {}", found.err);
        assert!(found.err.contains(&format!("found {expected} (")), "{name}: {}", found.err);
        let named = decode(&packets, &templates, expected);
        assert!(found.out == named.out, "{name}: other values");
        assert!(!named.err.contains("warning"), "{name}: {}", named.err);
    }
}

#[test]
fn standard_input_and_explain_and_captures_of_receive_find_it_too() {
    let (packets, templates) = feed("others", "cme", "--framing cme");
    let named = decode(&packets, &templates, "--framing cme");
    let bytes = std::fs::read(&packets).expect("packets");
    let arguments = ["decode", "-", "-t", &templates, "--framing", "auto"];
    let run = tickwire_with(&arguments, &bytes);
    assert_eq!((run.status, run.out == named.out), (0, true), "{}", run.err);
    let run = tickwire(&format!("explain {packets} -t {templates} --packet 3 --framing auto"));
    assert_eq!(run.status, 0, "{}", run.err);
    let explained = run.out;
    let run = tickwire(&format!("explain {packets} -t {templates} --packet 3 --framing cme"));
    assert_eq!(explained, run.out);
    let run =
        tickwire(&format!("receive -t {templates} --framing auto --capture {packets} --json -"));
    assert!(run.err.contains("found --framing cme --reset packet"), "{}", run.err);
    let counters: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(counters["lines"][0]["first"], named.out.lines().count(), "{}", run.out);
    assert_eq!(counters["lines"][0]["malformed"], 0, "{}", run.out);
}

#[test]
fn pipes_are_read_once() {
    let (packets, templates) = feed("pipes", "cme", "--framing cme");
    let bytes = std::fs::read(&packets).expect("packets");
    let pipe = directory("framing_auto_fifo").join("feed.bin").display().to_string();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    for command in ["decode", "explain --packet 3", "explain --packets 390.."] {
        let expected = tickwire(&format!("{command} {packets} -t {templates} --framing cme"));
        let arguments = format!("{command} {pipe} -t {templates} --framing auto");
        let (name, content) = (pipe.clone(), bytes.clone());
        let writer = std::thread::spawn(move || std::fs::write(name, content));
        let run = tickwire(&arguments);
        writer.join().expect("the writer ends").expect("all is read");
        assert_eq!(run.status, 0, "{command}: {}", run.err);
        assert_eq!(run.out.replace(&pipe, &packets), expected.out, "{command}");
        let arguments = arguments.replace(&pipe, "-");
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let run = tickwire_with(&arguments, &bytes);
        assert_eq!(run.status, 0, "{command}: {}", run.err);
        assert_eq!(run.out.replace("standard input", &packets), expected.out, "{command}");
    }
}

/// A sample has at most 8 MiB.
#[test]
fn packets_after_the_sample_of_a_pipe_are_read() {
    let (packets, templates) = feed("long", "cme", "--framing cme");
    let bytes = std::fs::read(&packets).expect("packets");
    let times = (9 << 20) / bytes.len() + 1;
    let (mut packets_in_feed, mut rest) = (0, &bytes[..]);
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        rest = &tail[u32::from_be_bytes(*len) as usize..];
        packets_in_feed += 1;
    }
    let last = times * packets_in_feed - 1;
    let all = file(&directory("framing_auto_repeated"), "all.bin", &bytes.repeat(times));
    let expected =
        tickwire(&format!("explain {all} -t {templates} --framing auto --packet {last}"));
    assert_eq!(expected.status, 0, "{}", expected.err);
    let arguments = format!("explain - -t {templates} --framing auto --packet {last}");
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let run = tickwire_with(&arguments, &bytes.repeat(times));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(run.out.replace("standard input", &all), expected.out);
}

#[test]
fn where_packets_do_not_tell_nothing_is_decoded_and_the_status_is_1() {
    let (packets, templates) = feed("untold", "cme", "--framing cme");
    let directory = directory("framing_auto_noise");
    let noise: Vec<Vec<u8>> = (0u32..50)
        .map(|n| (0..40).map(|i| ((n * 40 + i).wrapping_mul(2_654_435_761) >> 13) as u8).collect())
        .collect();
    let noise: Vec<&[u8]> = noise.iter().map(Vec::as_slice).collect();
    let noise = file(&directory, "noise.bin", &u32be(&noise));
    let one = std::fs::read(&packets).expect("packets");
    let len = u32::from_be_bytes(one[..4].try_into().expect("4 bytes")) as usize;
    let one = file(&directory, "one.bin", &one[..4 + len]);
    for (capture, expected) in [(noise, "the best candidate decodes 0 of 50"), (one, "too few")] {
        let run = decode(&capture, &templates, "--framing auto");
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{}", run.err);
        assert!(run.err.contains("cannot tell the framing"), "{}", run.err);
        assert!(run.err.contains(expected), "{}", run.err);
    }
    let run = tickwire("receive -t x.xml --framing auto");
    assert_eq!(run.status, 2, "{}", run.err);
}

#[test]
fn a_forgotten_reset_is_warned_of() {
    let (packets, templates) = feed("reset", "cme", "--framing cme");
    for reset in ["never", "template"] {
        let run = decode(&packets, &templates, &format!("--framing cme --reset {reset}"));
        assert!(run.err.contains("warning: the values look wrong"), "{reset}: {}", run.err);
        assert!(run.err.contains("try --reset packet"), "{reset}: {}", run.err);
    }
    let run = decode(&packets, &templates, "--framing cme --reset never --threads 2");
    assert!(run.err.contains("try --reset packet"), "{}", run.err);
}

#[test]
fn a_wrong_framing_is_warned_of_with_the_right_one() {
    let (packets, templates) = feed("wrong", "cme", "--framing cme");
    let run = decode(&packets, &templates, "");
    assert_eq!(run.status, 1);
    let expected = "200 packets decode: they fit --framing cme --reset packet";
    assert!(run.err.contains("warning: only 0 of "), "{}", run.err);
    assert!(run.err.contains(expected), "{}", run.err);
}

#[test]
fn the_likely_cause_comes_before_many_errors() {
    let directory = directory("framing_auto_early");
    let xml = r#"<templates><template name="T" id="1"><string name="s"/></template></templates>"#;
    let templates = file(&directory, "t.xml", xml.as_bytes());
    // Two needless zero bytes before the string: R9.
    let packets = [&[0xc0, 0x81, 0, 0, 0xc1][..]; 40];
    let packets = file(&directory, "f.bin", &u32be(&packets));
    let run = decode(&packets, &templates, "--reset packet");
    assert_eq!((run.status, run.out.as_str()), (1, ""), "{}", run.err);
    let lines: Vec<&str> = run.err.lines().collect();
    assert!(lines[0].contains("R9: byte 2"), "{}", run.err);
    assert!(lines[0].contains("(is --framing or the template file wrong?)"), "{}", run.err);
    assert!(lines[8].contains("warning: only 0 of 8 packets decode: "), "{}", run.err);
    assert!(lines[8].contains("`tickwire templates diff`"), "{}", run.err);
    assert_eq!(run.err.matches("only 0 of 40").count(), 1, "{}", run.err);
}

#[test]
fn a_real_capture_without_its_reset_is_warned_of() {
    let Some(capture) = shared("corpus/cme_2012/cme_2012_sampleMD.bin") else { return };
    let templates = capture.with_file_name("templates.xml");
    let (capture, templates) = (capture.display().to_string(), templates.display().to_string());
    let run = decode(&capture, &templates, "--framing cme --reset template");
    assert!(run.err.contains("try --reset packet"), "{}", run.err);
    let run = decode(&capture, &templates, "--framing cme");
    assert!(!run.err.contains("warning"), "{}", run.err);
}

#[test]
fn receive_warns_of_a_forgotten_reset_from_captures_and_live() {
    let (packets, templates) = feed("receive_doubt", "cme", "--framing cme");
    let captured = |options: &str| {
        let run =
            tickwire(&format!("receive -t {templates} --capture-line a={packets} -q {options}"));
        run.err
    };
    let wrong = captured("--framing cme --reset never");
    assert!(wrong.contains("try --reset packet"), "{wrong}");
    let right = captured("--framing cme");
    assert!(!right.contains("reset"), "{right}");
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let group = format!("-a 239.250.{high}.{low} -p 24900");
    let arguments = format!("-t {templates} --framing cme --reset never {group} --idle 1s");
    let mut receiving = Receiving::start(&[], &arguments, 1);
    let run = tickwire(&format!("multicast -f {packets} {group} -s 100us --json -"));
    assert_eq!(run.status, 0, "{}", run.err);
    receiving.wait_for("try --reset packet", 1);
    let run = tickwire(&format!("receive -t {templates} --framing auto {group}"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("let `tickwire decode CAPTURE --framing auto"), "{}", run.err);
}

/// Templates of a feed whose dictionaries are never reset.
const RUNNING: &str = r#"<templates><template name="Trade" id="1">
    <uInt32 name="MsgSeqNum" id="34"><increment value="1"/></uInt32>
    <uInt32 name="TradeDate" id="75"><delta/></uInt32>
    <decimal name="Price" id="44"><exponent><copy/></exponent><mantissa><delta/></mantissa></decimal>
    <string name="Symbol" id="55"><copy/></string>
</template></templates>"#;

/// Encodes a session of trades on one date, one per packet, that resets nothing after its start.
fn session(directory: &std::path::Path, name: &str, templates: &str, date: u32) -> Vec<u8> {
    session_of(60, directory, name, templates, date)
}

fn session_of(
    count: u32,
    directory: &std::path::Path,
    name: &str,
    templates: &str,
    date: u32,
) -> Vec<u8> {
    let line = |n: u32| {
        format!(
            r#"{{"pkt":{n},"t":1,"msg":{{"MsgSeqNum":{},"TradeDate":{date},"Price":{{"m":{},"e":-2}},"Symbol":"A{}"}}}}"#,
            n + 1,
            10_000 + n * 7 % 13,
            n / 9
        ) + "\n"
    };
    let lines: String = (0..count).map(line).collect();
    let lines = file(directory, &format!("{name}.jsonl"), lines.as_bytes());
    let path = directory.join(format!("{name}.bin"));
    let run =
        tickwire(&format!("encode {lines} -t {templates} --reset never -o {}", path.display()));
    assert_eq!(run.status, 0, "{}", run.err);
    std::fs::read(path).expect("packets")
}

#[test]
fn a_second_session_in_a_capture_is_an_error_that_names_its_packet() {
    let directory = directory("framing_auto_joined");
    let templates = file(&directory, "t.xml", RUNNING.as_bytes());
    let one = session(&directory, "one", &templates, 20_260_105);
    let other = session(&directory, "other", &templates, 20_260_106);
    let alone = file(&directory, "alone.bin", &one);
    let run = decode(&alone, &templates, "--framing auto");
    assert_eq!((run.status, run.out.lines().count()), (0, 60), "{}", run.err);
    let alike = "in these packets --framing cqg gives the same values";
    assert!(run.err.contains(alike), "{}", run.err);
    let offset = one.len() + 4;
    let joined = file(&directory, "joined.bin", &[one, other].concat());
    for options in ["", "--threads 2", "--format summary", "--fields TradeDate"] {
        let run = decode(&joined, &templates, &format!("--framing auto {options}"));
        assert_eq!(run.status, 1, "{options}: {}", run.err);
        let place = format!("packet 60 (file offset {offset}): byte 0: the message is refused");
        assert!(run.err.contains(&place), "{options}: {}", run.err);
        assert!(run.err.contains("decode the capture with --reset-at 60"), "{}", run.err);
        assert!(!run.out.contains("40520"), "{options}: a wrong date");
    }
    let explained = tickwire(&format!("explain {joined} -t {templates} --packet 3 --framing auto"));
    assert_eq!(explained.status, 1, "{}", explained.err);
    assert!(explained.err.contains(&format!("packet 60 (file offset {offset}): byte 0")));
    assert!(explained.err.contains("run the command with --reset-at 60"), "{}", explained.err);
    let received =
        tickwire(&format!("receive -t {templates} --framing auto --capture {joined} --json -"));
    assert_eq!((received.status, received.out.as_str()), (1, ""), "{}", received.err);
    for framing in ["auto", "none --reset never"] {
        let options = format!("-t {templates} --framing {framing} --reset-at 60");
        let explained = tickwire(&format!("explain {joined} {options} --packet 61"));
        assert_eq!(explained.status, 0, "{}", explained.err);
        assert!(explained.out.contains(" 20260106 "), "{}", explained.out);
        let both = tickwire(&format!("receive {options} --capture {joined} {joined}"));
        assert_eq!(both.status, 2, "{}", both.err);
        assert!(both.err.contains("--reset-at counts the packets of one capture"), "{}", both.err);
    }
    let options = format!("-t {templates} --framing auto --capture {joined} {joined}");
    let both = tickwire(&format!("receive {options}"));
    let remedy = "wrong; split the capture before this packet, or name --framing and --reset";
    assert!(both.err.contains(remedy), "{}", both.err);
    // Two channels of one capture each are several captures, too.
    let line = "lines]\na = { capture = \"joined.bin\" }\n";
    let feed = format!("templates = \"t.xml\"\n[channels.x.{line}[channels.y.{line}");
    let feed = file(&directory, "feed.toml", feed.as_bytes());
    let both = tickwire(&format!("receive --feed {feed} --framing auto"));
    assert!(both.err.contains(remedy), "{}", both.err);
    // Both sessions are decoded with a reset between them.
    for options in ["auto", "none --reset never", "auto --threads 2", "none --threads 2"] {
        let run = decode(&joined, &templates, &format!("--framing {options} --reset-at 60"));
        assert_eq!((run.status, run.out.lines().count()), (0, 120), "{options}: {}", run.err);
        assert_eq!(run.out.matches("20260106").count(), 60, "{options}");
    }
    // A named framing is trusted.
    let run = decode(&joined, &templates, "--framing none --reset never");
    assert_eq!((run.status, run.out.lines().count()), (0, 120), "{}", run.err);
}

#[test]
fn a_session_that_no_named_packet_begins_is_refused() {
    let directory = directory("framing_auto_named");
    let templates = file(&directory, "t.xml", RUNNING.as_bytes());
    let session = |date| session(&directory, &format!("s{date}"), &templates, date);
    let joined = [20_260_105, 20_260_106, 20_260_107].map(session).concat();
    let joined = file(&directory, "joined.bin", &joined);
    let options = format!("-t {templates} --framing auto");
    let explain = |packet: u32, named: &str| {
        tickwire(&format!("explain {joined} {options} --packet {packet} --reset-at {named}"))
    };
    let receive = |named: &str| {
        tickwire(&format!("receive --capture {joined} {options} --reset-at {named} --json -"))
    };
    for (named, packet, remedy) in [("0", 60, "0,60"), ("60", 120, "60,120")] {
        for run in [explain(packet, named), receive(named)] {
            assert_eq!((run.status, run.out.as_str()), (1, ""), "{named}: {}", run.err);
            assert!(run.err.contains(&format!("packet {packet} (file offset ")), "{}", run.err);
            let remedy = format!("run the command with --reset-at {remedy};");
            assert!(run.err.contains(&remedy), "{named}: {}", run.err);
        }
    }
    // Packet 1 begins no session: it has no template id.
    let run = explain(60, "1");
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.out.contains("dictionaries are lost until a reset"), "{}", run.out);
    let run = explain(121, "60,120");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains(" 20260107 "), "{}", run.out);
}

/// Templates of a feed whose sequence numbers show where a session begins.
fn numbered() -> String {
    RUNNING.replace(r#"<increment value="1"/>"#, "")
}

#[test]
fn numbers_that_go_back_under_a_named_framing_without_resets_are_an_error() {
    let directory = directory("framing_auto_back");
    let templates = file(&directory, "t.xml", numbered().as_bytes());
    let one = session(&directory, "one", &templates, 20_260_105);
    let other = session(&directory, "other", &templates, 20_260_106);
    let joined = file(&directory, "joined.bin", &[one.clone(), other.clone()].concat());
    let place = format!("packet 60 (file offset {}): byte 0", one.len() + 4);
    for options in [
        "--framing none",
        "--reset never",
        "--framing cqg",
        "--framing cqg --threads 2",
        "--framing cqg --fields TradeDate",
        "--framing cqg --packets 60..",
    ] {
        let run = decode(&joined, &templates, options);
        assert_eq!(run.status, 1, "{options}: {}", run.err);
        let expected = format!("{place}: MsgSeqNum went back from 60 to 1 in packet 60; if ");
        assert_eq!(run.err.matches(&expected).count(), 1, "{options}: {}", run.err);
        assert!(run.err.contains("with --reset-at 60"), "{options}: {}", run.err);
        let run = decode(&joined, &templates, &format!("{options} --reset-at 60"));
        assert_eq!(run.status, 0, "{options}: {}", run.err);
        assert_eq!(run.out.matches("20260106").count(), 60, "{options}");
        assert!(!run.err.contains("MsgSeqNum"), "{options}: {}", run.err);
    }
    // In a raw file, decreasing sequence numbers also show a new session.
    let packets = |file: &[u8]| -> Vec<u8> {
        let (mut rest, mut all) = (file, Vec::new());
        while let Some((len, tail)) = rest.split_first_chunk::<4>() {
            let (packet, tail) = tail.split_at(u32::from_be_bytes(*len) as usize);
            all.extend(packet);
            rest = tail;
        }
        all
    };
    let stream = file(&directory, "joined.raw", &[packets(&one), packets(&other)].concat());
    let run = decode(&stream, &templates, "--framing cqg --input-format raw");
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.err.contains("went back from 60 to 1"), "{}", run.err);
    assert!(run.err.contains("decode each session as a file of its own"), "{}", run.err);
}

#[test]
fn numbers_that_go_back_are_no_error_where_no_value_depends_on_earlier_messages() {
    let directory = directory("framing_auto_stateless");
    let stateless = numbered().replace("<delta/>", "").replace("<copy/>", "");
    let templates = file(&directory, "t.xml", stateless.as_bytes());
    let one = session(&directory, "one", &templates, 20_260_105);
    let twice = file(&directory, "twice.bin", &one.repeat(2));
    let run = decode(&twice, &templates, "--framing cqg");
    assert_eq!((run.status, run.out.lines().count()), (0, 120), "{}", run.err);
    assert!(!run.err.contains("MsgSeqNum"), "{}", run.err);
    // Resets in the feed keep values right, too.
    let cme = feed("back_cme", "cme", "--framing cme");
    let twice = std::fs::read(&cme.0).expect("packets").repeat(2);
    let twice = file(&directory, "cme.bin", &twice);
    let run = decode(&twice, &cme.1, "--framing cme");
    assert_eq!(run.status, 0, "{}", run.err);
}

#[test]
fn an_error_that_lenient_decoding_passes_does_not_end_the_check() {
    let directory = directory("framing_auto_lenient");
    let templates = file(&directory, "t.xml", RUNNING.as_bytes());
    let mut one = session_of(1_500, &directory, "one", &templates, 20_260_105);
    let other = session(&directory, "other", &templates, 20_260_106);
    // The last packet gets an overlong symbol (R9).
    let last = one.split_off(one.len() - 7);
    assert_eq!(last[..6], [0, 0, 0, 3, 0x80, 0x80]);
    one.extend([0, 0, 0, 6, 0x88, 0x80, last[6], 0x00, b'A', b'Z' | 0x80]);
    let joined = file(&directory, "joined.bin", &[one, other].concat());
    let run = decode(&joined, &templates, "--framing auto --conformance lenient");
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.err.contains("packet 1500 (file offset "), "{}", run.err);
    assert!(run.err.contains("the message is refused"), "{}", run.err);
    assert!(!run.out.contains("40520"), "a wrong date");
}

#[test]
fn a_real_capture_of_two_sessions_is_refused_where_the_second_begins() {
    let Some(capture) = shared("corpus/cqg_2024/cqg_2024_fastlib.bin") else { return };
    let templates = capture.with_file_name("templates.xml").display().to_string();
    let run = decode(&capture.display().to_string(), &templates, "--framing auto");
    assert_eq!((run.status, run.out.lines().count()), (1, 10), "{}", run.err);
    assert!(run.err.contains("packet 10 (file offset "), "{}", run.err);
    assert!(!run.out.contains("40482258"), "a wrong date");
    let run = decode(&capture.display().to_string(), &templates, "--framing cqg");
    assert_eq!(run.status, 1, "{}", run.err);
    let expected =
        "packet 10 (file offset 1008): byte 0: MsgSeqNum went back from 966 to 1 in packet 8; ";
    assert!(run.err.contains(expected), "{}", run.err);
    let options = "--framing cqg --reset-at 8";
    let run = decode(&capture.display().to_string(), &templates, options);
    assert_eq!((run.status, run.out.lines().count()), (0, 11), "{}", run.err);
    assert!(!run.out.contains("40482258"), "a wrong date");
    assert_eq!(run.out.lines().nth(5).map(message), run.out.lines().nth(10).map(message));
}

/// The values of a JSON line.
fn message(line: &str) -> &str {
    line.split_once("\"msg\": ").map_or("", |(_, message)| message)
}
