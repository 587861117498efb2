//! Commands that write files: existing files are replaced only with --force, and inputs never.

mod support;

use support::{directory, file, templates, tickwire};

const PRECIOUS: &[u8] = b"precious";

#[test]
fn an_output_that_exists_is_replaced_with_force_alone() {
    let directory = directory("outputs_exist");
    let [complex, existing] = [templates("complex"), file(&directory, "existing.bin", PRECIOUS)];
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="a"/></template></templates>"#;
    let own = file(&directory, "t.xml", xml.as_bytes());
    let lines = file(&directory, "lines.jsonl", b"{\"t\": 1, \"msg\": {\"a\": 5}}\n");
    let configuration = concat!(env!("CARGO_MANIFEST_DIR"), "/../feed-config/testdata/cme.xml");
    let trace = directory.join("trace.bin").display().to_string();
    assert_eq!(tickwire(&format!("opra generate --messages 50 -o {trace}")).status, 0);
    let quotes = directory.join("quotes.jsonl").display().to_string();
    assert_eq!(tickwire(&format!("opra decode {trace} -o {quotes}")).status, 0);
    let free = directory.join("free").display().to_string();
    for command in [
        format!("encode {lines} -t {own} -o {existing}"),
        format!("templates generate {complex} -o {existing}"),
        format!("feed import {configuration} -o {existing}"),
        format!("opra generate --messages 50 -o {existing}"),
        format!("opra decode {trace} -o {existing}"),
        format!("opra encode {quotes} -o {existing}"),
        format!("generate day -n 20 -o {free} --truth {existing}"),
        format!("generate day -n 20 -o {existing}"),
    ] {
        std::fs::write(&existing, PRECIOUS).expect("written");
        let run = tickwire(&command);
        assert_eq!(run.status, 2, "{command}: {}", run.err);
        assert!(run.err.contains("replace it with --force"), "{command}: {}", run.err);
        assert_eq!(std::fs::read(&existing).expect("a file"), PRECIOUS, "{command}");
        assert!(!std::fs::exists(&free).expect("looked"), "{command}");
        let run = tickwire(&format!("{command} --force"));
        assert_eq!(run.status, 0, "{command}: {}", run.err);
        assert_ne!(std::fs::read(&existing).expect("a file"), PRECIOUS, "{command}");
        let _ = std::fs::remove_file(&free);
    }
}

#[test]
fn an_output_that_is_not_whole_is_removed() {
    let directory = directory("outputs_not_whole");
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="a"/></template></templates>"#;
    let own = file(&directory, "t.xml", xml.as_bytes());
    let lines = b"{\"t\": 1, \"msg\": {\"a\": 5}}\n{\"t\": 1, \"msg\": {\"a\": -1}}\n";
    let lines = file(&directory, "lines.jsonl", lines);
    let out = directory.join("out.bin");
    for _ in 0..2 {
        let run = tickwire(&format!("encode {lines} -t {own} -o {}", out.display()));
        assert!(run.status == 1 && run.err.contains("lines.jsonl:2: field a"), "{}", run.err);
        assert!(!out.exists());
    }
}

#[test]
fn an_input_is_never_replaced() {
    let directory = directory("outputs_input");
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="a"/></template></templates>"#;
    let own = file(&directory, "t.xml", xml.as_bytes());
    let lines = file(&directory, "lines.jsonl", b"{\"t\": 1, \"msg\": {\"a\": 5}}\n");
    let trace = directory.join("trace.bin").display().to_string();
    assert_eq!(tickwire(&format!("opra generate --messages 50 -o {trace}")).status, 0);
    let quotes = directory.join("quotes.jsonl").display().to_string();
    assert_eq!(tickwire(&format!("opra decode {trace} -o {quotes}")).status, 0);
    for (command, input) in [
        (format!("encode {lines} -t {own} -o {lines}"), &lines),
        (format!("encode {lines} -t {own} -o {own}"), &own),
        (format!("templates generate {own} -o {own}"), &own),
        (format!("feed import {own} -o {own}"), &own),
        (format!("opra decode {trace} -o {trace}"), &trace),
        (format!("opra encode {quotes} -o {quotes}"), &quotes),
    ] {
        let before = std::fs::read(input).expect("a file");
        let run = tickwire(&format!("{command} --force"));
        assert_eq!(run.status, 2, "{command}: {}", run.err);
        assert!(run.err.contains("is the input"), "{command}: {}", run.err);
        assert_eq!(&std::fs::read(input).expect("a file"), &before, "{command}");
    }
}

#[test]
fn what_standard_input_was_redirected_from_is_never_replaced() {
    let directory = directory("outputs_redirected");
    let trace = directory.join("trace.bin").display().to_string();
    assert_eq!(tickwire(&format!("opra generate --messages 50 -o {trace}")).status, 0);
    let before = std::fs::read(&trace).expect("a file");
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["opra", "decode", "-", "-o", &trace, "--force"])
        .stdin(std::fs::File::open(&trace).expect("a file"))
        .output()
        .expect("it runs");
    let err = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{err}");
    assert!(err.contains("is the input"), "{err}");
    assert_eq!(std::fs::read(&trace).expect("a file"), before);
}

#[test]
fn links_to_files_that_do_not_exist_yet_are_followed() {
    let directory = directory("outputs_link");
    let (name, link) = (directory.join("x"), directory.join("link"));
    std::os::unix::fs::symlink("x", &link).expect("a link");
    let run = tickwire(&format!(
        "generate cme -n 20 -o {} --snapshots {}",
        name.display(),
        link.display()
    ));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("two outputs") && !name.exists(), "{}", run.err);
}

#[test]
fn two_outputs_of_one_name_are_refused() {
    let directory = directory("outputs_twice");
    let name = directory.join("x").display().to_string();
    let other = directory.join(".").join("x").display().to_string();
    let longer = format!("{}/../outputs_twice/x", directory.display());
    for command in [
        format!("generate cme -n 20 -o {name} --snapshots {name}"),
        format!("generate cme -n 20 -o {name} --snapshots {other}"),
        format!("generate cme -n 20 -o {name} --truth {longer}"),
        format!("generate cme -n 20 -o {name} --write-templates {longer}"),
        format!("generate day -n 20 -o {name} --truth {name}"),
        format!("generate day -n 20 -o {name} --truth {longer}"),
        format!("bench fast --json {name} --plot {longer}"),
        format!("opra bench --messages 50 --time 0 --json {name} --plot {longer}"),
    ]
    .into_iter()
    .filter(is_built)
    {
        let run = tickwire(&command);
        assert_eq!(run.status, 2, "{command}: {}", run.err);
        assert!(run.err.contains("two outputs"), "{command}: {}", run.err);
        assert!(!std::fs::exists(&name).expect("looked"), "{command}");
    }
}

/// True if the program under test has this command.
#[expect(clippy::ptr_arg, reason = "a filter of strings")]
fn is_built(command: &String) -> bool {
    cfg!(feature = "bench") || !command.contains("bench ")
}

/// A feed with its templates in a directory.
struct Feed {
    directory: std::path::PathBuf,
    packets: String,
    templates: String,
}

impl Feed {
    fn generate(name: &str) -> Self {
        let directory = directory(name);
        let path = |name: &str| directory.join(name).display().to_string();
        let (packets, templates) = (path("feed.bin"), path("feed.xml"));
        let options = format!("-n 20 -o {packets} --write-templates {templates}");
        let run = tickwire(&format!("generate complex {options}"));
        assert_eq!(run.status, 0, "{}", run.err);
        Self { directory, packets, templates }
    }

    fn receive(&self) -> String {
        let Self { packets, templates, .. } = self;
        format!("receive -t {templates} --reset packet --capture-line a={packets} -q")
    }

    fn multicast(&self) -> String {
        format!("multicast -f {} -a 239.255.77.1 -p 29977 --maximum", self.packets)
    }

    fn bench(&self) -> String {
        let Self { packets, templates, .. } = self;
        format!("bench fast -f {packets} -t {templates} --reset packet --engine scalar --time 0")
    }

    /// Expects that each command refuses `path` with an error that contains `text`.
    fn assert_refused(&self, commands: &[String], path: &str, text: &str) {
        let before = std::fs::read(path).expect("a file");
        for command in commands.iter().filter(|command| is_built(command)) {
            let run = tickwire(command);
            assert_eq!(run.status, 2, "{command}: {}", run.err);
            assert!(run.err.contains(text), "{command}: {}", run.err);
            assert_eq!(std::fs::read(path).expect("a file"), before, "{command}");
        }
    }
}

#[test]
fn a_report_replaces_no_input() {
    let feed = Feed::generate("outputs_report_input");
    let of = |path: &str| {
        let mut commands: Vec<String> = [feed.receive(), feed.bench()].to_vec();
        if path == feed.packets {
            commands.push(feed.multicast());
            commands.push(format!("opra bench --messages 50 --time 0 -f {path}"));
        }
        commands.iter().map(|command| format!("{command} --json {path} --force")).collect()
    };
    for path in [&feed.packets, &feed.templates] {
        let commands: Vec<String> = of(path);
        feed.assert_refused(&commands, path, "is the input");
    }
    let plot = format!("{} --plot {} --force", feed.bench(), feed.packets);
    feed.assert_refused(&[plot], &feed.packets, "is the input");
    let Feed { templates, .. } = &feed;
    let own = format!("generate complex -n 20 -t {templates} -o {templates} --force");
    feed.assert_refused(&[own], templates, "is the input");
}

#[test]
fn a_report_that_exists_is_replaced_with_force_alone() {
    let feed = Feed::generate("outputs_report_exists");
    let existing = file(&feed.directory, "existing", PRECIOUS);
    let opra = "opra bench --messages 50 --time 0 --threads 1";
    for command in [
        format!("{} --json {existing}", feed.receive()),
        format!("{} --json {existing}", feed.multicast()),
        format!("{} --json {existing}", feed.bench()),
        format!("{} --plot {existing}", feed.bench()),
        format!("bench fix --time 0 --json {existing}"),
        format!("{opra} --json {existing}"),
        format!("{opra} --plot {existing}"),
        format!("fix generate FIX42 --only Heartbeat -o {existing}"),
    ]
    .into_iter()
    .filter(is_built)
    {
        std::fs::write(&existing, PRECIOUS).expect("written");
        feed.assert_refused(std::slice::from_ref(&command), &existing, "replace it with --force");
        let run = tickwire(&format!("{command} --force"));
        assert_eq!(run.status, 0, "{command}: {}", run.err);
        assert_ne!(std::fs::read(&existing).expect("a file"), PRECIOUS, "{command}");
    }
    // These commands take long if the output is not refused.
    std::fs::write(&existing, PRECIOUS).expect("written");
    let mut commands = ["bench cme-day --time 0 -n 20", "bench cme-messages --time 0"].to_vec();
    commands.extend(["bench samples --time 0", "soak feed --days 1 -n 100"]);
    let commands: Vec<String> =
        commands.iter().map(|command| format!("{command} --json {existing}")).collect();
    feed.assert_refused(&commands, &existing, "replace it with --force");
}

#[test]
fn reports_of_publishers_and_subscribers_replace_a_file_with_force_alone() {
    let feed = Feed::generate("outputs_dds");
    let Feed { packets, templates, .. } = &feed;
    let existing = file(&feed.directory, "existing", PRECIOUS);
    let publish = format!("publish -t {templates} -f {packets} --reset packet --empty-builder");
    let commands = [
        format!("{publish} --json {existing}"),
        format!("subscribe --domain 99 --json {existing}"),
        format!("demo --messages 50 --live-messages 0 --json {existing}"),
    ];
    feed.assert_refused(&commands, &existing, "replace it with --force");
    for path in [packets, templates] {
        feed.assert_refused(&[format!("{publish} --json {path} --force")], path, "is the input");
    }
    let run = tickwire(&format!("{publish} --json {existing} --force"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_ne!(std::fs::read(&existing).expect("a file"), PRECIOUS);
}

#[test]
fn a_demo_that_is_saved_replaces_files_with_force_alone() {
    let feed = Feed::generate("outputs_demo");
    let existing = file(&feed.directory, "complex.xml", PRECIOUS);
    let directory = feed.directory.display();
    let demo = format!("demo --messages 50 --live-messages 0 --save {directory}");
    feed.assert_refused(std::slice::from_ref(&demo), &existing, "replace it with --force");
    assert!(!std::fs::exists(feed.directory.join("simple.bin")).expect("looked"));
    let run = tickwire(&format!("{demo} --force"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_ne!(std::fs::read(&existing).expect("a file"), PRECIOUS);
}
