//! Template files that form one set, in every command that takes templates.

mod support;

use std::path::Path;
use support::{Run, directory, file, tickwire};

/// Splits a template file into a file with its first template and one with the others.
fn halves(directory: &Path, xml: &Path) -> [String; 2] {
    let xml = std::fs::read_to_string(xml).expect("templates");
    let starts: Vec<usize> = xml.match_indices("<template ").map(|(at, _)| at).collect();
    let end = xml.rfind("</templates>").expect("an end");
    let (head, first, others) =
        (&xml[..starts[0]], &xml[starts[0]..starts[1]], &xml[starts[1]..end]);
    let half = |name, part| file(directory, name, format!("{head}{part}</templates>").as_bytes());
    [half("first.xml", first), half("others.xml", others)]
}

fn run(arguments: &str) -> Run {
    let run = tickwire(arguments);
    assert_eq!(run.status, 0, "{arguments}: {}", run.err);
    run
}

#[test]
fn every_command_takes_templates_from_several_files() {
    let d = directory("several_templates");
    let name = |name: &str| d.join(name).display().to_string();
    let (feed, whole) = (name("f.bin"), name("f.xml"));
    run(&format!("generate simple -n 200 -o {feed} --write-templates {whole}"));
    let [first, others] = halves(&d, Path::new(&whole));
    let several = format!("-t {first} -t {others}");

    let again = name("again.bin");
    run(&format!("generate simple -n 200 -o {again} {several}"));
    let bytes = |name: &str| std::fs::read(name).expect("packets");
    assert_eq!(bytes(&again), bytes(&feed));

    let of_whole = run(&format!("decode {feed} -t {whole} --reset packet"));
    let decoded = run(&format!("decode {feed} {several} --reset packet"));
    assert_eq!(decoded.out, of_whole.out);
    let lines = file(&d, "lines.jsonl", decoded.out.as_bytes());
    let encoded = name("encoded.bin");
    run(&format!("encode {lines} {several} --framing none,reset=packet -o {encoded}"));
    assert_eq!(bytes(&encoded), bytes(&feed));

    let of_whole = run(&format!("explain {feed} -t {whole} --reset packet"));
    assert_eq!(run(&format!("explain {feed} {several} --reset packet")).out, of_whole.out);

    let tables = |files: &str| run(&format!("templates show {files}")).out;
    assert_eq!(tables(&format!("{first} {others}")), tables(&whole));
    let signature = |files: &str| run(&format!("templates signature {files}")).out;
    let of_both = signature(&format!("{first} {others}"));
    assert!(of_both.contains(&format!("{first}, {others}\n")), "{of_both}");
    let signatures = |text: &str| -> Vec<String> {
        text.split_whitespace().filter(|word| word.len() == 64).map(str::to_owned).collect()
    };
    assert!(signatures(&of_both).len() > 2);
    assert_eq!(signatures(&of_both), signatures(&signature(&whole)));
    let module = |files: &str| {
        let module = run(&format!("templates generate {files}")).out;
        // The command is beside the version or, if it is long, on a separate line.
        let names_files = |line: &str| {
            let version = line.trim().strip_suffix(',').unwrap_or("x");
            line.starts_with("//")
                || line.contains("templates generate")
                || version.chars().all(|c| c.is_ascii_digit())
        };
        module.lines().filter(|line| !names_files(line)).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(module(&format!("{first} {others}")), module(&whole));

    let received =
        run(&format!("receive {several} --reset packet --capture {feed} --books none --json -"));
    let received: serde_json::Value = serde_json::from_str(&received.out).expect("JSON");
    assert_eq!((&received["messages"], &received["undecodable"]), (&201.into(), &0.into()));

    if cfg!(feature = "bench") {
        let measured = run(&format!(
            "bench fast -f {feed} {several} --reset packet --engine =dynamic-scalar --time 0.01s"
        ));
        assert!(measured.out.contains("dynamic-scalar"), "{}", measured.out);
    }

    let published = name("published.json");
    run(&format!("publish -f {feed} {several} --reset packet --empty-builder --json {published}"));
    let published = std::fs::read_to_string(published).expect("a report");
    assert!(published.contains("\"messages\": 201"), "{published}");
}

#[test]
fn without_templates_every_command_says_what_to_do() {
    let d = directory("no_templates");
    let feed = d.join("f.bin").display().to_string();
    run(&format!("generate simple -n 2 -o {feed}"));
    for arguments in [
        format!("decode {feed}"),
        format!("encode {feed} -o {feed}.out"),
        format!("explain {feed}"),
        format!("receive --capture {feed}"),
    ] {
        let run = tickwire(&arguments);
        assert_eq!(run.status, 2, "{arguments}");
        assert!(run.err.contains("--templates"), "{}", run.err);
    }
    if cfg!(feature = "bench") {
        let run = tickwire("bench fast -t t.xml");
        assert!((run.status, run.err.contains("--file")) == (2, true), "{}", run.err);
    }
}
