//! `tickwire receive --record`: other commands read the recorded files.

#[path = "support/receiving.rs"]
mod receiving;
mod support;

use receiving::Receiving;
use std::net::Ipv4Addr;
use support::{directory, tickwire};

#[test]
fn a_record_of_lossy_lines_has_every_datagram_and_gives_the_same_counts() {
    let directory = directory("receive-record");
    let (d, records) = (directory.display(), directory.join("records"));
    // Files of an earlier run.
    let _ = std::fs::remove_dir_all(&records);
    let generated = tickwire(&format!(
        "generate cme -n 2000 --framing cme -o {d}/f.bin --write-templates {d}/f.xml"
    ));
    assert_eq!(generated.status, 0, "{}", generated.err);
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let group = format!("-a {} -p 25001 --line-b", Ipv4Addr::new(239, 252, high, low));
    let templates = format!("-t {d}/f.xml --framing cme --first 1 --hold 2s");
    let receiving = Receiving::start(
        &[],
        &format!(
            "{templates} {group} --idle 2s --record {} --record-rotate-size 50kB --source 127.0.0.1",
            records.display()
        ),
        2,
    );
    let sent = tickwire(&format!(
        "multicast -f {d}/f.bin {group} -s 100 --loss 3 --duplicate 5 --reorder 5 --json -"
    ));
    assert_eq!(sent.status, 0, "{}", sent.err);
    let live = receiving.finish();
    let received: u64 = live["lines"]
        .as_array()
        .expect("lines")
        .iter()
        .filter_map(|l| l["received"].as_u64())
        .sum();
    assert_eq!(live["recording"]["recorded"].as_u64(), Some(received), "{live}");
    assert_eq!(live["recording"]["unrecorded"].as_u64(), Some(0), "{live}");

    let mut files: Vec<String> = std::fs::read_dir(&records)
        .expect("listed")
        .map(|entry| entry.expect("listed").path().display().to_string())
        .collect();
    files.sort();
    assert!(files.len() > 2 && files[0].ends_with("record-000001.pcapng"), "{files:?}");
    let replay = format!("receive --capture {} {templates} {group} --json -", files.join(" "));
    let replayed = tickwire(&replay);
    assert_eq!(replayed.status, 0, "{}", replayed.err);
    let replayed: serde_json::Value = serde_json::from_str(&replayed.out).expect("JSON");
    for count in ["messages", "packets", "missing", "undecodable"] {
        assert_eq!(live[count], replayed[count], "{count}: {live} {replayed}");
    }
}
