//! `tickwire feed`: check, show and import feed files.

mod support;

use support::{directory, file, templates, tickwire};

const FEED: &str = r#"
description = "Test feed"
templates = "templates.xml"
framing = "moex-spectra"

[arbitration]
hold = "2ms"

[books]
key = [48]

[channels.futures.lines]
a = { group = "233.252.0.1", port = 9001, source = "192.0.2.1" }
b = { group = "233.252.0.2", port = 9001 }

[channels.futures.replay]
addresses = ["192.0.2.10:9004"]

[channels.equities]
arbitration = { hold = "500us" }
lines = { a = { group = "233.252.0.3", port = 9002, interface = "lo" } }
"#;

#[test]
fn a_feed_file_is_checked_with_the_templates_it_names() {
    let directory = directory("feed_check");
    let feed = file(&directory, "feed.toml", FEED.as_bytes());
    let run = tickwire(&format!("feed check {feed}"));
    assert_eq!(run.status, 1);
    assert!(run.out.contains("feed.toml:3:13: there is no file templates.xml"), "{}", run.out);

    file(&directory, "templates.xml", &std::fs::read(templates("simple")).unwrap());
    let run = tickwire(&format!("feed check {feed}"));
    assert_eq!(
        (run.status, run.out.as_str()),
        (0, format!("{feed}: 2 channels, no errors\n").as_str())
    );

    file(&directory, "templates.xml", b"<templates><template/></templates>");
    let run = tickwire(&format!("feed check {feed}"));
    assert_eq!(run.status, 1);
    assert!(run.out.contains("templates.xml:1:"), "{}", run.out);

    let wrong = file(&directory, "wrong.toml", FEED.replace("hold", "hodl").as_bytes());
    let run = tickwire(&format!("feed check {wrong}"));
    assert_eq!(run.status, 1);
    assert!(
        run.out.contains("wrong.toml:7:1: unknown key `hodl`: did you mean `hold`?"),
        "{}",
        run.out
    );
    assert!(run.out.contains("wrong.toml:20:17: unknown key `hodl`"), "{}", run.out);

    let run = tickwire(&format!("feed check {feed}.missing"));
    assert_eq!(run.status, 2);
}

#[test]
fn a_feed_file_is_shown_as_tables() {
    let directory = directory("feed_show");
    let feed = file(&directory, "feed.toml", FEED.as_bytes());
    file(&directory, "templates.xml", b"");
    let run = tickwire(&format!("feed show {feed}"));
    assert_eq!(run.status, 0, "{}", run.err);
    let expected = "\
Test feed

channel   feed         line  address           source     interface
-------------------------------------------------------------------
futures   incremental  A     233.252.0.1:9001  192.0.2.1  127.0.0.1
          incremental  B     233.252.0.2:9001             127.0.0.1
          replay       TCP   192.0.2.10:9004
equities  incremental  A     233.252.0.3:9002             lo

channel   templates      framing       numbers   hold  books  depth  key  description
-------------------------------------------------------------------------------------
futures   templates.xml  moex-spectra             2ms                48
equities  templates.xml  moex-spectra           500µs                48
";
    assert_eq!(run.out, expected);
}

#[test]
fn an_imported_configuration_passes_the_check() {
    let directory = directory("feed_import");
    let set = file(&directory, "t.xml", &std::fs::read(templates("simple")).unwrap());
    let testdata = concat!(env!("CARGO_MANIFEST_DIR"), "/../feed-config/testdata");
    for (name, channels) in
        [("cme", "2 channels"), ("moex_spectra", "3 channels"), ("moex_asts", "2 channels")]
    {
        let feed = directory.join(format!("{name}.toml")).display().to_string();
        let run = tickwire(&format!("feed import {testdata}/{name}.xml -o {feed} -t {set}"));
        assert_eq!(run.status, 0, "{}", run.err);
        let run = tickwire(&format!("feed check {feed}"));
        assert_eq!(run.status, 0, "{}", run.out);
        assert!(run.out.contains(channels), "{}", run.out);
    }
    let run = tickwire(&format!("feed import {testdata}/cme.xml"));
    assert!(run.out.starts_with("# Imported from "), "{}", run.out);
    assert!(run.err.contains("connection `SMBO` (Snapshot MBO) was left out"), "{}", run.err);

    let wrong = file(&directory, "wrong.xml", b"<configuration>\n<channel/></configuration>");
    let run = tickwire(&format!("feed import {wrong}"));
    assert_eq!(run.status, 1);
    assert!(run.err.contains("wrong.xml:2:1: the channel has no id"), "{}", run.err);
}

/// The paths in an imported feed file are valid in every current directory.
#[test]
fn an_imported_feed_names_files_relative_to_itself() {
    let d = directory("feed_import_paths");
    for folder in ["exchange", "feeds", "sets"] {
        std::fs::create_dir_all(d.join(folder)).expect("a directory");
    }
    file(&d.join("sets"), "t.xml", &std::fs::read(templates("simple")).unwrap());
    let xml =
        "<config><feeds><feed type=\"increment\"><file value=\"a.bin\"/></feed></feeds></config>";
    file(&d.join("exchange"), "config.xml", xml.as_bytes());
    file(&d.join("exchange"), "a.bin", b"");
    let import = |directory: &str, arguments: &str| {
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(["feed", "import"])
            .args(arguments.split(' '))
            .current_dir(d.join(directory))
            .output()
            .expect("the program");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let text = std::fs::read_to_string(d.join("feeds/feed.toml")).expect("a feed file");
        let check = tickwire(&format!("feed check {}/feeds/feed.toml", d.display()));
        assert_eq!(check.status, 0, "{}", check.out);
        // The first line names the configuration as the command line does.
        text.split_once('\n').expect("lines").1.to_owned()
    };
    let first = import(".", "exchange/config.xml -t sets/t.xml -o feeds/feed.toml");
    assert!(
        first.contains("\"../sets/t.xml\"") && first.contains("\"../exchange/a.bin\""),
        "{first}"
    );
    let again = import("sets", "../exchange/config.xml -t t.xml -o ../feeds/feed.toml --force");
    assert_eq!(again, first);
}

/// A feed file with one channel on loopback ports.
fn loopback_feed(directory: &std::path::Path, extra: &str) -> String {
    file(directory, "templates.xml", &std::fs::read(templates("simple")).unwrap());
    let text = format!(
        "templates = \"templates.xml\"\n\
         [channels.x.lines]\n\
         a = {{ group = \"233.252.0.11\", port = 29011 }}\n\
         b = {{ group = \"233.252.0.12\", port = 29012 }}\n{extra}"
    );
    file(directory, "feed.toml", text.as_bytes())
}

#[test]
fn multicast_sends_to_the_lines_of_a_channel() {
    let directory = directory("feed_multicast");
    let feed = loopback_feed(&directory, "");
    let capture = file(&directory, "c.bin", &support::u32be(&[b"one", b"two"]));
    let run = tickwire(&format!("multicast -f {capture} --feed {feed} --json - -s 1"));
    assert_eq!(run.status, 0, "{}", run.err);
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let lines = report["lines"].as_array().unwrap();
    let lines: Vec<_> =
        lines.iter().map(|line| (&line["group"], &line["port"], &line["sent"])).collect();
    assert_eq!(
        lines,
        [
            (&"233.252.0.11".into(), &29011.into(), &2.into()),
            (&"233.252.0.12".into(), &29012.into(), &2.into()),
        ]
    );
    let run = tickwire(&format!("multicast -f {capture} --feed {feed} --channel y"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("no channel `y`; the file has x"), "{}", run.err);
    let two = "[channels.y.lines]\na = { group = \"233.252.0.13\", port = 29013 }\n";
    let feed = loopback_feed(&directory, two);
    let run = tickwire(&format!("multicast -f {capture} --feed {feed}"));
    assert!(run.err.contains("name a --channel: x, y"), "{}", run.err);
    let run = tickwire(&format!("multicast -f {capture} --channel x"));
    assert_eq!(run.status, 2, "a channel needs a feed file");
}

/// The lines of a channel are captures; flags override the file.
#[test]
fn receive_reads_the_captures_of_a_channel() {
    let directory = directory("feed_receive");
    file(&directory, "templates.xml", &std::fs::read(templates("cme")).unwrap());
    let args =
        format!("generate cme --messages 500 --framing cme -o {}/a.bin", directory.display());
    let run = tickwire(&args);
    assert_eq!(run.status, 0, "{}", run.err);
    let feed = |books: &str| {
        let text = format!(
            "templates = \"templates.xml\"\nframing = \"cme\"\n[books]\nby = \"{books}\"\n\
             [channels.x.lines]\na = {{ capture = \"a.bin\" }}\n"
        );
        file(&directory, &format!("{books}.toml"), text.as_bytes())
    };
    let receive = |feed: &str, more: &str| {
        let run = tickwire(&format!("receive --feed {feed} --json - {more}"));
        let report: serde_json::Value = serde_json::from_str(&run.out)
            .unwrap_or_else(|error| panic!("{error}: {} {}", run.out, run.err));
        (report["messages"].as_u64().unwrap(), report["books"]["known"].as_u64().unwrap())
    };
    let (decoded, books) = receive(&feed("level"), "");
    assert!(decoded >= 500 && books > 0, "{decoded} {books}");
    assert_eq!(receive(&feed("none"), ""), (decoded, 0));
    assert_eq!(receive(&feed("none"), "--books level"), (decoded, books));
}

/// The templates of an exchange do not fit the samples of `publish`; the error names the command for
/// feeds of exchanges.
#[test]
fn publishing_an_exchanges_feed_ends_at_once_and_names_the_command_for_it() {
    let directory = directory("feed_publish");
    let (d, packets) = (directory.display(), directory.join("x.bin"));
    let run = tickwire(&format!(
        "generate cme -n 10 -o {} --write-templates {d}/templates.xml",
        packets.display()
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let text = FEED.replace("moex-spectra", "cme");
    let feed = file(&directory, "feed.toml", text.as_bytes());
    let shm = format!("--transport shm --shm-directory {d}/channels");
    let run = tickwire(&format!("publish --feed {feed} --channel futures {shm}"));
    assert_eq!(run.status, 1, "{}{}", run.out, run.err);
    let command = format!("tickwire receive --feed {feed} --publish");
    assert!(run.err.contains(&command), "{}", run.err);
}
