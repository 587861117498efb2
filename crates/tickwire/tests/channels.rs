//! Several channels in one capture: each has its own dictionaries and chunks.

mod support;

use support::{Run, directory, file, pcap, tickwire};

/// A field whose values are sums of all earlier ones.
const DELTA: &str = r#"<templates><template name="T" id="1"><uInt32 name="a"><delta/></uInt32></template></templates>"#;

const ONE: &str = "239.0.0.1:1000";
/// The same group, another port.
const TWO: &str = "239.0.0.1:2000";
/// Another group, the same port.
const THREE: &str = "239.0.0.2:1000";

/// T with a grown by 1, by 10 and by 100.
const BY_1: &[u8] = &[0xc0, 0x81, 0x81];
const BY_10: &[u8] = &[0xc0, 0x81, 0x8a];
const BY_100: &[u8] = &[0xc0, 0x81, 0x00, 0xe4];

fn run(command: &str, name: &str, datagrams: &[(&str, &[u8])], options: &str) -> Run {
    let directory = directory(&format!("channels_{name}"));
    let templates = file(&directory, "t.xml", DELTA.as_bytes());
    let capture = file(&directory, "c.pcap", &pcap(datagrams));
    tickwire(&format!("{command} {capture} -t {templates} {options}"))
}

fn values(run: &Run) -> Vec<u64> {
    run.json_lines().iter().map(|line| line["msg"]["a"].as_u64().unwrap()).collect()
}

const MIXED: [(&str, &[u8]); 6] =
    [(ONE, BY_1), (TWO, BY_10), (THREE, BY_100), (ONE, BY_1), (TWO, BY_10), (THREE, BY_100)];

#[test]
fn each_address_and_port_has_its_own_dictionaries() {
    let run = run("decode", "mixed", &MIXED, "");
    assert_eq!((run.status, values(&run)), (0, vec![1, 10, 100, 2, 20, 200]), "{}", run.err);
}

#[test]
fn a_channel_that_fails_leaves_the_others() {
    let datagrams = [(ONE, BY_1), (TWO, BY_10), (ONE, &[0xc0, 0x87]), (TWO, BY_10), (ONE, BY_1)];
    let run = run("decode", "failed", &datagrams, "");
    assert_eq!((run.status, values(&run)), (1, vec![1, 10, 20]), "{}", run.err);
    assert!(run.err.contains("2 packets skipped"), "{}", run.err);
}

#[test]
fn chunks_of_one_channel_are_not_joined_with_those_of_another() {
    let chunk = |number: u8, bytes: &[u8]| {
        [&[0, 0, 0, 7, 0, 2, 0, number, 0, bytes.len() as u8], bytes].concat()
    };
    let (one, two) = (chunk(1, &BY_1[..2]), chunk(1, &BY_10[..1]));
    let (two_end, one_end) = (chunk(2, &BY_10[1..]), chunk(2, &BY_1[2..]));
    let datagrams: [(&str, &[u8]); 4] =
        [(ONE, &one), (TWO, &two), (TWO, &two_end), (ONE, &one_end)];
    let run = run("decode", "chunks", &datagrams, "--framing b3-umdf");
    assert_eq!((run.status, values(&run)), (0, vec![10, 1]), "{}", run.err);
}

#[test]
fn explain_decodes_the_packets_of_the_same_channel_first() {
    let run = run("explain", "explain", &MIXED, "--packet 4");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("10 -> 20"), "{}", run.out);
}

#[test]
fn address_and_port_choose_channels() {
    for (options, expected) in [
        ("--address 239.0.0.1", vec![1, 10, 2, 20]),
        ("--address 239.0.0.1 --port 2000", vec![10, 20]),
        ("--address 239.0.0.2", vec![100, 200]),
    ] {
        let run = run("decode", "filter", &MIXED, options);
        assert_eq!((run.status, values(&run)), (0, expected), "{options}: {}", run.err);
    }
    let none = run("decode", "filter", &MIXED, "--address ff02::1");
    assert_eq!((none.status, values(&none)), (1, vec![]), "{}", none.err);
    assert!(none.err.contains("no packet is sent to ff02::1"), "{}", none.err);
    let run = run("decode", "filter", &MIXED, "--address nowhere");
    assert_eq!(run.status, 2, "{}", run.err);
}

#[test]
fn files_without_addresses_are_one_channel() {
    let directory = directory("channels_none");
    let templates = file(&directory, "t.xml", DELTA.as_bytes());
    let capture = file(&directory, "c.bin", &support::u32be(&[BY_1, BY_10, BY_1]));
    let run = tickwire(&format!("decode {capture} -t {templates} --input-format u32be"));
    assert_eq!((run.status, values(&run)), (0, vec![1, 11, 12]), "{}", run.err);
}

#[test]
fn a_channel_beyond_the_limit_is_told_once() {
    let addresses: Vec<String> =
        (0..300).map(|n| format!("239.1.{}.{}:1000", n / 256, n % 256)).collect();
    let datagrams: Vec<(&str, &[u8])> = addresses.iter().map(|a| (a.as_str(), BY_1)).collect();
    let run = run("decode", "many", &datagrams, "");
    assert_eq!((run.status, values(&run)), (1, vec![1; 256]));
    assert_eq!(run.err.matches("that of 239.1.0.0:1000 is dropped").count(), 1, "{}", run.err);
    assert!(run.err.contains("44 packets skipped"), "{}", run.err);
}
