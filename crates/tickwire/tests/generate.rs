//! `tickwire generate`.

mod support;

use serde_json::Value;
use support::{directory, tickwire};

/// Runs `tickwire` with `{d}` replaced by the directory, and expects success.
fn run(directory: &std::path::Path, arguments: &str) -> support::Run {
    let run = tickwire(&arguments.replace("{d}", &directory.display().to_string()));
    assert_eq!((run.status, run.err.lines().count() <= 1), (0, true), "{arguments}: {}", run.err);
    run
}

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn what_is_generated_can_be_decoded() {
    let d = directory("generate");
    for feed in [
        "simple --packet-size 700",
        "complex -seq 2 -nosplit",
        "cme",
        "cme --channel 9",
        "random-cme",
    ] {
        let generate =
            format!("generate {feed} --force -n 200 -o {{d}}/f.bin --write-templates {{d}}/f.xml");
        run(&d, &generate);
        let first = std::fs::read(d.join("f.bin")).expect("a file");
        let messages = run(&d, "decode {d}/f.bin -t {d}/f.xml --reset packet").json_lines();
        let done = usize::from(!feed.contains("cme"));
        assert_eq!(messages.len(), 200 + done, "{feed}");
        run(&d, &format!("{generate} -t {{d}}/f.xml"));
        assert!(std::fs::read(d.join("f.bin")).is_ok_and(|bytes| bytes == first), "{feed}");
        run(&d, &format!("{generate} --seed 2"));
        assert!(std::fs::read(d.join("f.bin")).is_ok_and(|bytes| bytes != first), "{feed}");
    }
}

#[test]
fn packets_carry_the_preamble_of_a_framing() {
    let d = directory("generate_framing");
    for (framing, preamble) in
        [("cme", "0000000700"), ("moex-asts", "07000000"), ("b3-umdf", "00000007000100010002")]
    {
        let options = "-n 0 --first-seq-num 7 --write-templates {d}/f.xml";
        run(&d, &format!("generate simple --force {options} --framing {framing} -o {{d}}/f.bin"));
        let decode = format!("decode {{d}}/f.bin -t {{d}}/f.xml --framing {framing}");
        let messages = run(&d, &decode).json_lines();
        assert_eq!(messages.len(), 1);
        assert_eq!((&messages[0]["n"], &messages[0]["pre"]), (&"Done".into(), &preamble.into()));
    }
}

#[test]
fn the_truth_has_a_line_a_packet_and_one_at_the_end() {
    let d = directory("generate_truth");
    let files = "-o {d}/f.bin --truth {d}/truth.jsonl --snapshots {d}/s.bin";
    let options = "-n 100 --securities 3 --snapshot-every 10 --write-templates {d}/f.xml";
    run(&d, &format!("generate cme {files} {options}"));
    let truth = lines(&d.join("truth.jsonl"));
    assert_eq!(truth.len(), 101);
    assert_eq!((&truth[0]["pkt"], &truth[0]["seq_num"]), (&0.into(), &1.into()));
    let end = &truth[100];
    assert_eq!((&end["final"], &end["seq_num"]), (&true.into(), &100.into()));
    let snapshots = run(&d, "decode {d}/s.bin -t {d}/f.xml --reset packet").json_lines();
    assert_eq!(snapshots.len(), 10 + 3);
    for snapshot in &snapshots[10..] {
        let snapshot = &snapshot["msg"];
        assert_eq!(snapshot["LastMsgSeqNumProcessed"], 100);
        let books = end["books"].as_array().expect("books");
        let book = books.iter().find(|book| book["security"] == snapshot["SecurityID"]);
        let book = book.expect("the security");
        assert_eq!(book["rpt_seq"], snapshot["RptSeq"]);
        let levels: Vec<_> = ["bids", "offers"].into_iter().map(|side| &book[side]).collect();
        let levels = levels.into_iter().flat_map(|side| side.as_array().expect("levels"));
        let entries = snapshot["MDEntries"].as_array().expect("entries");
        assert_eq!(levels.clone().count(), entries.len());
        for (level, entry) in levels.zip(entries) {
            assert_eq!(level["price"], entry["MDEntryPx"]);
            assert_eq!(level["size"], entry["MDEntrySize"]);
            assert_eq!(level["orders"], entry["NumberOfOrders"]);
        }
    }
}

#[test]
fn a_question_mark_shows_the_usage_everywhere() {
    for command in ["generate", "generate simple", "generate complex", "generate cme"] {
        let run = tickwire(&format!("{command} -?"));
        assert_eq!(run.status, 0, "{}", run.err);
        assert!(run.out.contains("Usage: tickwire generate"), "{}", run.out);
    }
}

#[test]
fn wrong_arguments_are_refused_in_words() {
    let d = directory("generate_wrong");
    let out = d.join("f.bin").display().to_string();
    let other = support::templates("complex");
    for (arguments, expected) in [
        (
            &*format!("simple -t {other}"),
            "complex.xml: cannot make the feed: the template set lacks",
        ),
        (
            "simple --packet-size 20",
            "packets of 20 bytes are too small for this feed: allow at least ",
        ),
        ("complex -seq 0", "average of 0 entries per message: 1 to 500"),
        ("simple --framing cqg", "no place for a sequence number: choose cme"),
        ("simple --framing nyse", "unknown framing: give one of cme"),
        ("simple --securities 0", "0 securities: 1 to 10000"),
        ("simple -n many", "invalid value 'many'"),
        ("cme --channel 10", "possible values: 9, 11"),
        ("simple -t /no/such/file", "cannot open /no/such/file"),
        ("cme --packet-size 100 --snapshots /dev/null", "packets of 100 bytes are too small"),
    ] {
        let run = tickwire(&format!("generate {arguments} -o {out}"));
        assert_ne!(run.status, 0, "{arguments}");
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    }
    assert!(tickwire("generate simple").err.contains("--output <FILE>"));
}

#[test]
fn outputs_of_one_name_and_existing_files_are_refused() {
    let directory = directory("generate_refused");
    let path = directory.join("x.bin").display().to_string();
    let run = tickwire(&format!("generate cme -n 10 -o {path} --snapshots {path}"));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("is named for two outputs"), "{}", run.err);
    assert_eq!(tickwire(&format!("generate cme -n 10 -o {path}")).status, 0);
    let run = tickwire(&format!("generate cme -n 20 -o {path}"));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("replace it with --force"), "{}", run.err);
    assert_eq!(tickwire(&format!("generate cme -n 20 -o {path} --force")).status, 0);
}
