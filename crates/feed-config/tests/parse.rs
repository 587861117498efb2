//! Feed files: parsed values, every error with its position, and the round trip.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tickwire_feed_config::{
    Address, BookKind, BooksBy, Continuity, FeedConfig, KeyField, LoadError, SeqNumSource,
};

const FULL: &str = include_str!("../testdata/full.toml");

fn feed() -> FeedConfig {
    FeedConfig::parse(FULL).unwrap()
}

/// Returns `head` with a complete channel after it.
fn with(head: &str) -> String {
    format!(
        "templates = \"t.xml\"\n{head}\n[channels.x.lines]\na = {{ group = \"233.252.0.1\", port = 9001 }}\n"
    )
}

fn errors(text: &str) -> String {
    FeedConfig::parse(text).unwrap_err().to_string()
}

#[test]
fn channels_keep_their_order_and_take_the_settings_of_the_feed() {
    let config = feed();
    let names: Vec<&str> = config.channels.iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(names, ["futures", "equities", "recorded"]);

    let futures = config.settings(config.channel("futures").unwrap());
    assert_eq!(futures.arbitration.hold, Some(Duration::from_millis(2)));
    assert_eq!(futures.books.depth, Some(20));
    assert_eq!(futures.books.key, Some(vec![KeyField::Tag(48)]));
    assert_eq!(futures.recovery.continuity, Some(Continuity::RptSeq));
    assert_eq!(futures.interface.as_deref(), Some("127.0.0.1"));

    let equities = config.settings(config.channel("equities").unwrap());
    assert_eq!(equities.arbitration.hold, Some(Duration::from_micros(500)));
    assert_eq!(equities.arbitration.skew, Some(Duration::from_secs(1)));
    assert_eq!(equities.books.by, Some(BooksBy::Order));
    assert_eq!(equities.books.kinds, Some(vec![BookKind::Outright, BookKind::Implied]));
    assert_eq!(equities.seq_num, Some(SeqNumSource::Field("34".to_owned())));
    assert_eq!(equities.framing.unwrap().framing().preamble_bytes(), 4);
}

#[test]
fn addresses_and_replay_are_read() {
    let config = feed();
    let futures = config.channel("futures").unwrap();
    let Some(Address::Group { group, port, source, interface }) = &futures.lines.b else {
        panic!("{:?}", futures.lines)
    };
    assert_eq!((group.to_string(), *port), ("233.252.0.2".to_owned(), 9001));
    assert_eq!(source.unwrap().to_string(), "192.0.2.2");
    assert_eq!(*interface, None);
    let replay = futures.replay.as_ref().unwrap();
    assert_eq!(replay.addresses, ["192.0.2.10:9004", "192.0.2.11:9004"]);
    assert_eq!(replay.timeout, Some(Duration::from_secs(5)));
    let recorded = config.channel("recorded").unwrap();
    assert_eq!(recorded.lines.a, Some(Address::Capture("increment_a.dat".into())));
    assert_eq!(futures.instruments[0].id, "49634118");
}

#[test]
fn what_is_written_is_read_back() {
    let config = feed();
    let text = config.to_toml();
    assert_eq!(FeedConfig::parse(&text).unwrap(), config, "{text}");
    // The written text is stable.
    assert_eq!(FeedConfig::parse(&text).unwrap().to_toml(), text);
}

#[test]
fn strings_of_any_text_survive_the_round_trip() {
    for text in ["a \"quoted\" 'word'", "back\\slash", "Фьючерсы # [x]", "''' and \"\"\""] {
        let mut config = feed();
        config.description = Some(text.to_owned());
        config.channels[0].settings.templates = vec![text.into()];
        let written = config.to_toml();
        assert_eq!(FeedConfig::parse(&written).unwrap(), config, "{written}");
    }
}

#[test]
fn all_errors_come_at_once_with_their_places() {
    let text = "\
templtes = \"t.xml\"
framing = \"moex-spectr\"
reset = \"packets\"

[arbitration]
hold = 2000
skew = \"31s\"

[channels.x]
lines = 3
[channels.x.books]
depth = 0
by = \"price\"
";
    assert_eq!(
        errors(text),
        "\
line 1, column 1: unknown key `templtes`: did you mean `templates`?
line 2, column 11: framing \"moex-spectr\": unknown preset: give key=value items, or one of cme \
moex-asts moex-spectra moex-forts b3-umdf eurex-t7 cqg szse-step none: did you mean \
`moex-spectra`?
line 3, column 9: unknown value `packets`: did you mean `packet`?
line 6, column 8: `hold` must be a duration with its unit, such as \"2ms\", not integer
line 7, column 8: `31s` must be from 0s to 30s
line 9, column 11: neither the channel nor the feed has `templates`
line 10, column 9: `lines` must be a table, not integer
line 12, column 9: `depth` must be a number from 1 to 10000"
    );
}

#[test]
fn errors_of_syntax_have_places_too() {
    let found = errors("templates = \n[channels.x\nfoo = 1\n");
    assert!(found.starts_with("line 1, column "), "{found}");
    assert!(found.lines().count() >= 2, "{found}");
}

#[test]
fn contradictions_are_errors() {
    let line = |group: &str| format!("a = {{ group = \"{group}\", port = 9001 }}");
    let cases = [
        (with("framing = \"preamble=2,seq=0:4:be\""), "line 2, column 11: framing"),
        (with("seq_num = \"preamble\""), "no sequence number in its preamble"),
        (
            with("seq_num = \"none\"") + &line("233.252.0.2").replace('a', "b"),
            "cannot be arbitrated",
        ),
        (with("[arbitration]\nhold = \"2s\"\nskew = \"1s\""), "`skew` is below `hold`"),
        (with("[books]\nkey = []"), "at least one field"),
        (with("[books]\nkey = [48, 48]"), "a field occurs twice"),
        (with("[books]\nkinds = [\"implied\", \"implied\"]"), "`implied` occurs twice"),
        (
            with("") + "[channels.x.snapshots]\n" + &line("233.252.0.1"),
            "line 6, column 5: 233.252.0.1:9001 is already the address of x.lines.a",
        ),
        (
            with("") + "[channels.y.lines]\n" + &line("233.252.0.1"),
            "already the address of x.lines.a",
        ),
        (
            with("") + "[channels.y.lines]\nb = { group = \"233.252.0.7\", port = 1 }",
            "B without a line A",
        ),
        (
            with("") + "[channels.y.lines]\na = { group = \"233.252.0.7\" }",
            "the line has no `port`",
        ),
        (
            with("")
                + "[channels.y.lines]\na = { group = \"192.0.2.1\", port = 1, source = \"192.0.2.2\" }",
            "not a multicast group, so it cannot have a source",
        ),
        (
            with("")
                + "[channels.y.lines]\na = { group = \"233.252.0.9\", port = 1, source = \"233.252.0.1\" }",
            "not the address of a sender",
        ),
        (with("") + "[channels.x.replay]\naddresses = [\"host\"]", "`host` is not HOST:PORT"),
        (
            with("") + "[channels.x.replay]\naddresses = [\"h:1\"]\npassword = \"x\"",
            "without a `user`",
        ),
        (with("") + "[channels.\"a b\".lines]\n" + &line("233.252.0.8"), "channel name `a b`"),
        ("templates = \"t.xml\"".to_owned(), "has no channel"),
        ("templates = \"t.xml\"\n[channels]".to_owned(), "the table has no channel"),
        (with("") + "[channels.y.lines]", "`lines` has neither a line `a` nor `b`"),
        (with("") + "[channels.y]", "the channel has no lines"),
    ];
    for (text, expected) in cases {
        let found = errors(&text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}

#[test]
fn channels_may_share_definitions() {
    let definitions = "a = { group = \"233.252.0.5\", port = 9003 }\n";
    let text = with("")
        + "[channels.x.definitions]\n"
        + definitions
        + "[channels.y.lines]\na = { group = \"233.252.0.2\", port = 9001 }\n[channels.y.definitions]\n"
        + definitions;
    assert_eq!(FeedConfig::parse(&text).unwrap().channels.len(), 2);
}

#[test]
fn more_errors_than_the_limit_are_counted() {
    let keys: String = (0..100).map(|index| format!("zz{index:02} = 1\n")).collect();
    let errors = FeedConfig::parse(&(keys + &with(""))).unwrap_err();
    assert_eq!((errors.errors.len(), errors.omitted), (64, 36));
    assert!(errors.to_string().ends_with("\nand 36 more"));
}

#[test]
fn templates_may_be_in_several_files() {
    let text = with("").replace("\"t.xml\"", "[\"t.xml\", \"more/u.xml\"]");
    let config = FeedConfig::parse(&text).unwrap();
    let names = |paths: &[&str]| -> Vec<PathBuf> { paths.iter().map(PathBuf::from).collect() };
    assert_eq!(config.templates(&config.channels[0]), names(&["t.xml", "more/u.xml"]));
    assert_eq!(FeedConfig::parse(&config.to_toml()).unwrap(), config);

    let own = text
        + "[channels.y]\ntemplates = \"y.xml\"\n[channels.y.lines]\na = { capture = \"y.pcap\" }\n";
    let config = FeedConfig::parse(&own).unwrap();
    assert_eq!(config.templates(config.channel("y").unwrap()), names(&["y.xml"]));

    let none = with("").replace("\"t.xml\"", "[]");
    let errors = FeedConfig::parse(&none).unwrap_err().to_string();
    assert_eq!(errors, "line 1, column 13: the array of template files is empty");
}

#[test]
fn files_that_are_named_must_exist() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("files_that_are_named_must_exist");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("feed.toml");
    std::fs::write(&file, with("")).unwrap();
    let Err(LoadError::Config(errors)) = FeedConfig::load(&file) else { panic!("no templates") };
    assert_eq!(errors.to_string(), "line 1, column 13: there is no file t.xml");
    std::fs::write(dir.join("t.xml"), "").unwrap();
    let config = FeedConfig::load(&file).unwrap();
    assert_eq!(config.templates(&config.channels[0]), [dir.join("t.xml")]);
    let missing = FeedConfig::load(&dir.join("nothing.toml"));
    assert!(matches!(missing, Err(LoadError::Read(_))), "{missing:?}");
}

#[test]
fn passwords_are_not_in_debug_output() {
    let text = with("")
        + "[channels.x.replay]\naddresses = [\"h:1\"]\nuser = \"u\"\npassword = \"geheim\"";
    let config = FeedConfig::parse(&text).unwrap();
    assert!(!format!("{config:?}").contains("geheim"));
    assert!(config.to_toml().contains("geheim"));
}

/// The example in the reference page is a feed file without errors.
#[test]
fn the_documented_example_is_right() {
    let page = include_str!("../../../docs/feed-file.md");
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let config = FeedConfig::parse(example).unwrap();
    assert_eq!(config.channels[0].name, "futures");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}", cut in 0..FULL.len(), junk in "\\PC{0,3}") {
        let _ = FeedConfig::parse(&text);
        let mut mutilated = FULL.to_owned();
        if mutilated.is_char_boundary(cut) {
            mutilated.insert_str(cut, &junk);
        }
        let _ = FeedConfig::parse(&mutilated);
        if FULL.is_char_boundary(cut) {
            let _ = FeedConfig::parse(&FULL[..cut]);
        }
    }
}
