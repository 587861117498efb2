//! Output of `tickwire receive` live, from its own record, and with a feed file.

mod support;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::{directory, file, tickwire};

/// `tickwire receive` in the background, with its output in a file.
struct Live {
    child: Child,
    log: BufReader<std::process::ChildStderr>,
}

impl Live {
    /// Starts it and waits until it listens to this many lines.
    fn start(arguments: &str, out: &Path, lines: usize) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(["receive", "--log", "info"])
            .args(arguments.split_whitespace())
            .stdout(File::create(out).expect("a file"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut log = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        for _ in 0..lines {
            line.clear();
            while !line.contains(" on ") {
                line.clear();
                assert!(log.read_line(&mut line).expect("readable") > 0, "it ended");
            }
        }
        Self { child, log }
    }

    fn finish(mut self) {
        let log: Vec<String> = (&mut self.log).lines().map_while(Result::ok).collect();
        assert!(self.child.wait().expect("it ends").success(), "{log:?}");
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // It may still run if a test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(arguments: &str) {
    let run = tickwire(arguments);
    assert_eq!(run.status, 0, "{arguments}: {}", run.err);
}

fn address() -> String {
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    format!("239.252.{high}.{low}")
}

#[test]
fn a_record_shows_what_was_shown_live() {
    let d = directory("replay-record");
    let snapshots = d.join("s.bin");
    let (templates, feed) = (d.join("f.xml"), d.join("f.bin"));
    run(&format!(
        "generate cme -n 2000 --framing cme --snapshots {} -o {} --write-templates {}",
        snapshots.display(),
        feed.display(),
        templates.display()
    ));
    let record = d.join("record");
    // Groups and ports of B and of the snapshots follow from A's.
    let lines = format!("-a {} -p 23100", address());
    let common = format!(
        "-t {} --framing cme {lines} --line-b --snapshots --show messages,books,events",
        templates.display()
    );
    let out = d.join("live.jsonl");
    let live = Live::start(&format!("{common} --record {} --idle 2s", record.display()), &out, 3);
    run(&format!(
        "multicast -f {} {lines} --line-b --snapshots {} -s 50 --loss 3 --duplicate 3 --json -",
        feed.display(),
        snapshots.display()
    ));
    live.finish();
    let mut files: Vec<String> = std::fs::read_dir(&record)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path().display().to_string())
        .collect();
    files.sort();
    let replayed = tickwire(&format!("receive {common} --capture {}", files.join(" ")));
    assert_eq!(replayed.status, 0, "{}", replayed.err);
    let live = std::fs::read_to_string(&out).expect("a file");
    assert!(live.lines().count() > 4_000, "{}", live.lines().count());
    assert!(live.contains("\"event\": \"gap\""), "no packet was lost on both lines");
    for (live, replayed) in live.lines().zip(replayed.out.lines()) {
        assert_eq!(live, replayed);
    }
    assert_eq!(live.lines().count(), replayed.out.lines().count());
}

#[test]
fn a_feed_file_stands_in_for_options_and_options_override_it() {
    let d = directory("replay-feed");
    run(&format!(
        "generate cme -n 100 --framing cme -o {0}/f.bin --write-templates {0}/f.xml",
        d.display()
    ));
    let packets = support::packets_of(&d.join("f.bin"));
    let datagrams = packets.iter().zip(0_u64..).flat_map(|(packet, ns)| {
        ["233.252.0.11:29011", "233.252.0.12:29012"].map(|to| (ns, to, packet.as_slice()))
    });
    let capture = file(&d, "f.pcap", &support::timed_pcap(datagrams));
    let text = "templates = \"f.xml\"\nframing = \"cme\"\n\
                books = { depth = 10 }\n\
                [channels.x.lines]\n\
                a = { group = \"233.252.0.11\", port = 29011 }\n\
                b = { group = \"233.252.0.12\", port = 29012 }\n\
                [channels.y.lines]\n\
                a = { capture = \"f.bin\" }\n";
    let feed = file(&d, "feed.toml", text.as_bytes());
    let counters = |arguments: &str| -> serde_json::Value {
        let run = tickwire(&format!("receive --feed {feed} --json - {arguments}"));
        assert_eq!(run.status, 0, "{arguments}: {}", run.err);
        serde_json::from_str(&run.out).expect("JSON")
    };
    let of_channel = counters(&format!("--channel x --capture {capture}"));
    assert_eq!((&of_channel["packets"], &of_channel["missing"]), (&100.into(), &0.into()));
    assert_eq!(of_channel["lines"][1]["duplicate"], 100);
    let overridden = counters(&format!("--channel x --capture {capture} --port-b 29013"));
    assert_eq!(overridden["lines"][1]["received"], 0);
    let of_file = counters("--channel y");
    assert_eq!((&of_file["packets"], &of_file["end"]), (&100.into(), &"captures".into()));

    let run = tickwire(&format!("receive --feed {feed} --capture {capture}"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("channel y has no groups"), "{}", run.err);
    let run = tickwire(&format!("receive --feed {feed}"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("lines of y are captures and those of x groups"), "{}", run.err);
}
