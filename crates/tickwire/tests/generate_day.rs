//! `tickwire generate day`, read back by `tickwire receive --capture`.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{directory, tickwire};

fn generate(directory: &Path, file: &str, options: &str) {
    let d = directory.display();
    let run = tickwire(&format!(
        "generate day --force -n 1500 --instruments 8 -o {d}/{file} --truth {d}/truth.jsonl \
         --write-templates {d}/t.xml {options}"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
}

fn receive(directory: &Path, options: &str) -> Value {
    let d = directory.display();
    let run = tickwire(&format!("receive -t {d}/t.xml --line-b --snapshots --json - {options}"));
    assert_eq!(run.status, 0, "{}", run.err);
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}", run.err))
}

fn count(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} of {value:#}"))
}

fn truth(directory: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(directory.join("truth.jsonl")).expect("written");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_day_is_received_whole_from_both_formats() {
    let d = directory("day-whole");
    for (file, options) in [
        ("f.pcap", "--implied --snapshot-depth"),
        ("f.pcapng", "--key symbol-session --books orders --framing moex-asts --fragments 7"),
    ] {
        generate(&d, file, options);
        let framing = if file == "f.pcap" { "cme" } else { "moex-asts" };
        let counters =
            receive(&d, &format!("--capture {} --framing {framing}", d.join(file).display()));
        assert_eq!(count(&counters, "/lines/0/received"), 1500, "{file}: {counters:#}");
        assert_eq!(count(&counters, "/lines/1/received"), 1500, "{file}");
        assert_eq!(count(&counters, "/packets"), 1500, "{file}");
        assert_eq!(count(&counters, "/books/fresh"), 8, "{file}: {counters:#}");
        assert_eq!(count(&counters, "/books/mismatches"), 0, "{file}: {counters:#}");
    }
}

#[test]
fn the_truth_is_in_the_form_of_book_lines() {
    let d = directory("day-truth");
    generate(&d, "f.pcap", "--implied --depth 5");
    let lines = truth(&d);
    assert_eq!(lines.len(), 16);
    let names: Vec<&str> = lines.iter().map(|line| line["instrument"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names[0] == "20000", "{names:?}");
    for (line, kind) in lines.iter().zip(["outright", "implied"].into_iter().cycle()) {
        assert_eq!((&line["state"], &line["reason"]), (&Value::from("fresh"), &Value::Null));
        assert_eq!(line["kind"], kind);
        let bids = line["bids"].as_array().unwrap();
        assert!(bids.len() <= 5);
        for level in bids {
            let [price, size, orders] = &level.as_array().unwrap()[..] else { panic!("{level}") };
            let is_plain = |text: &Value| {
                let text = text.as_str().unwrap();
                text.parse::<f64>().is_ok() && !text.contains('e')
            };
            assert!(is_plain(price) && is_plain(size), "{level}");
            assert_eq!(orders.is_u64(), kind == "outright");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_capture_and_faults_are_in_it() {
    let d = directory("day-faults");
    let faults = "--loss 5,0 --delay 0,30ms --silence never,300ms..500ms --late-snapshots 10 \
                  --late-by 50ms --clock-step 1s:-20ms --day-change 1 --status --empty-books 0.5";
    let bytes = |file: &str| std::fs::read(d.join(file)).expect("written");
    generate(&d, "a.pcap", faults);
    generate(&d, "b.pcap", faults);
    assert!(bytes("a.pcap") == bytes("b.pcap"));
    generate(&d, "c.pcap", "");
    assert!(bytes("c.pcap").len() > bytes("a.pcap").len());
    let lossy = receive(&d, &format!("--framing cme --capture {}", d.join("a.pcap").display()));
    let (a, b) = (count(&lossy, "/lines/0/received"), count(&lossy, "/lines/1/received"));
    assert!((1_380..1_470).contains(&a) && (1_150..1_450).contains(&b), "{a} {b}");
    for wrong in ["--clock-step 5", "--silence 2s", "--day-change x", "--depth 0"] {
        let run = tickwire(&format!("generate day -o {}/x.pcap {wrong}", d.display()));
        assert_eq!(run.status, 2, "{wrong}: {}", run.err);
    }
}
