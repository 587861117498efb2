//! `tickwire explain`: small packets with many steps need little memory.

mod support;

use std::process::{Command, Output};
use support::{directory, file};

/// Limit of the command's address space: the program, its threads and its data.
const KIBIBYTES: u32 = 600_000;

/// Explains a raw file within the limit.
fn explain(name: &str, fields: &str, packet: &[u8]) -> String {
    let directory = directory(&format!("explain_memory_{name}"));
    let xml = format!("<templates><template name='T' id='1'>{fields}</template></templates>");
    let templates = file(&directory, "t.xml", xml.as_bytes());
    let packet = file(&directory, "p.bin", packet);
    let command = format!(
        "ulimit -v {KIBIBYTES}; exec '{}' explain '{packet}' --input-format raw -t '{templates}'",
        env!("CARGO_BIN_EXE_tickwire")
    );
    let Output { status, stdout, stderr } =
        Command::new("sh").args(["-c", &command]).output().expect("runs");
    let stderr = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(0), "{stderr}");
    String::from_utf8(stdout).expect("UTF-8")
}

#[test]
fn a_million_entries_in_a_few_bytes_are_counted() {
    let inner = "<sequence name='i'><length><constant value='1000'/></length>\
                 <string name='a'><constant value='x'/></string></sequence>";
    let fields = format!("<sequence name='o'>{inner}</sequence>");
    // 1000 outer entries.
    let out = explain("entries", &fields, &[0xc0, 0x81, 0x07, 0xe8]);
    assert!(out.lines().count() < 30_000);
    let more = out.lines().find_map(|line| line.strip_prefix("and ")?.strip_suffix(" more"));
    let more: u64 = more.expect("and N more").parse().expect("a number");
    assert!(more > 1_000_000, "{more}");
}

#[test]
fn a_presence_map_of_megabytes_is_shown_in_part() {
    let mut packet = vec![0x40];
    packet.extend(vec![0; 4 << 20]);
    packet.extend([0x80, 0x81, 0x85]);
    let out = explain("map", "<uInt32 name='a'/>", &packet);
    assert!(out.contains(&format!("and {} more", (4 << 20) + 2 - 64)), "{}", &out[..2000]);
    assert!(out.lines().count() < 100);
}

#[test]
fn a_string_of_a_megabyte_is_shown_in_part() {
    let mut packet = vec![0xe0, 0x81];
    packet.extend(vec![b'x'; 1_000_000]);
    packet.push(b'x' | 0x80);
    let out = explain("string", "<string name='a'><copy/></string>", &packet);
    assert!(out.contains("and 999489 more"), "bytes");
    assert!(out.contains(".. and 998"), "value");
    assert!(out.len() < 100_000, "{}", out.len());
}
