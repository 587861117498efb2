//! Runs the built command.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader, PcapWriter};

/// Capture, folder of the template file, framing.
pub const CORPORA: [(&str, &str, &str); 10] = [
    ("cme_2012/cme_2012_sampleMD", "cme_2012", "cme"),
    ("cme_like/cme30000", "cme_like", "none,reset=packet"),
    ("cme_like/cme_channel11_30000", "cme_like", "none,reset=packet"),
    ("cme_like/cme_channel9_30000", "cme_like", "none,reset=packet"),
    ("cqg_2024/cqg_2024_fastlib", "cqg_2024", "cqg"),
    ("moex_forts/moex_forts_2013.increment_a", "moex_forts", "moex-forts"),
    ("moex_forts/moex_forts_2013.increment_b", "moex_forts", "moex-forts"),
    ("moex_forts/moex_forts_2013.snapshot", "moex_forts", "moex-forts"),
    ("oci_complex/oci_complex30000", "oci_complex", "none"),
    ("simple/simple30000", "simple", "none,reset=packet"),
];

/// Result of running the command.
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// The output lines as JSON.
    pub fn json_lines(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// Runs `tickwire` with arguments separated by white space.
pub fn tickwire(arguments: &str) -> Run {
    tickwire_with(&arguments.split_whitespace().collect::<Vec<_>>(), b"")
}

/// Runs `tickwire` with these arguments and this input.
pub fn tickwire_with(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(arguments)
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A command that needs no input may close it.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("the writer ends");
    Run {
        status: output.status.code().expect("an exit status"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

pub use tickwire_testing::shared;

/// A template file of the demo.
pub fn templates(name: &str) -> String {
    format!("{}/../exchange/templates/{name}.xml", env!("CARGO_MANIFEST_DIR"))
}

/// Creates an empty directory for the files of one test.
pub fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}

/// Writes a file of a test and returns its path.
pub fn file(directory: &Path, name: &str, content: &[u8]) -> String {
    let path = directory.join(name);
    std::fs::write(&path, content).expect("a file");
    path.display().to_string()
}

/// Packets with big-endian 32-bit length prefixes.
pub fn u32be(packets: &[&[u8]]) -> Vec<u8> {
    let framed = |packet: &&[u8]| [&(packet.len() as u32).to_be_bytes(), *packet].concat();
    packets.iter().flat_map(framed).collect()
}

/// A valid message of FIX 4.4 with these fields, each ending with `|`.
pub fn fix_message(fields: &str) -> String {
    let body = fields.replace('|', "\x01");
    let head = format!("8=FIX.4.4\x019={}\x01", body.len());
    let sum: u32 = head.bytes().chain(body.bytes()).map(u32::from).sum();
    format!("{head}{body}10={:03}\x01", sum % 256)
}

/// A pcap file of datagrams, each with its address and port.
pub fn pcap(datagrams: &[(&str, &[u8])]) -> Vec<u8> {
    let source = "10.0.0.1:9000".parse().expect("an address");
    let mut writer = PcapWriter::new(Vec::new()).expect("a header");
    for (index, (destination, payload)) in datagrams.iter().enumerate() {
        let destination = destination.parse().expect("an address");
        writer.write_datagram(index as u64, source, destination, payload).expect("a datagram");
    }
    writer.into_inner()
}

/// A pcap file of datagrams, each with its capture time, address and port.
pub fn timed_pcap<'p>(datagrams: impl IntoIterator<Item = (u64, &'p str, &'p [u8])>) -> Vec<u8> {
    let source = "10.0.0.1:9000".parse().expect("an address");
    let mut writer = PcapWriter::new(Vec::new()).expect("a header");
    for (time_ns, destination, payload) in datagrams {
        let destination = destination.parse().expect("an address");
        writer.write_datagram(time_ns, source, destination, payload).expect("a datagram");
    }
    writer.into_inner()
}

/// A pcap file of TCP segments without gaps from 10.0.0.1 to 10.0.0.2, each with its destination port. Each port
/// has one stream.
pub fn tcp_pcap(segments: &[(u16, &[u8])]) -> Vec<u8> {
    let mut capture = Vec::new();
    // Microseconds, little-endian; link type 101 is IP without a link layer.
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        capture.extend(word.to_le_bytes());
    }
    let mut sent = std::collections::HashMap::<u16, u32>::new();
    for (second, (port, payload)) in (0_u32..).zip(segments) {
        let seq = sent.entry(*port).or_insert(1);
        let len = 40 + payload.len() as u16;
        for word in [1_700_000_000 + second, 0, len.into(), len.into()] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend([0x45, 0]);
        capture.extend(len.to_be_bytes());
        capture.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        capture.extend(40_000_u16.to_be_bytes());
        capture.extend(port.to_be_bytes());
        capture.extend(seq.to_be_bytes());
        capture.extend([0, 0, 0, 1, 0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0]);
        capture.extend(*payload);
        *seq += payload.len() as u32;
    }
    capture
}

/// The packets of a file with big-endian length prefixes.
pub fn packets_of(path: &Path) -> Vec<Vec<u8>> {
    let options = CaptureOptions::new().format(CaptureFormat::U32Be);
    let file = std::fs::File::open(path).expect("a file");
    let mut reader = CaptureReader::open(file, options).expect("a capture");
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet().expect("a packet") {
        packets.push(packet.bytes.to_vec());
    }
    packets
}

/// Compares with a file in `tests/golden`, or writes it if UPDATE_GOLDEN is set.
pub fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("written");
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text, golden,
        "{name} differs from tests/golden; if that is wanted, run again with UPDATE_GOLDEN=1"
    );
}
