//! Tests that flags and keys of a feed file set the options of the handler.

use crate::arguments::{Command, CommandLine};
use crate::failure::Failure;
use crate::receive::described::DescribedChannel;
use clap::Parser;
use std::path::PathBuf;
use tickwire_feed::arbiter::UnexpectedPolicy;
use tickwire_feed::handler::HandlerOptions;
use tickwire_feed::recovery::{BookKinds, Continuity};

/// A flag, the equivalent key of a feed file, and the options that both change.
type Case = (&'static str, &'static str, fn(&mut HandlerOptions));

const CASES: [Case; 17] = [
    ("--hold 3ms", "arbitration.hold = '3ms'", |to| to.arbiter.hold_ns = 3_000_000),
    ("--single-line-hold 700us", "arbitration.single_line_hold = '700us'", |to| {
        to.arbiter.reorder_ns = 700_000;
    }),
    ("--skew 5s", "arbitration.skew = '5s'", |to| to.arbiter.skew_ns = 5_000_000_000),
    ("--heartbeat-interval 7s", "arbitration.heartbeat = '7s'", |to| {
        to.arbiter.silent_after_ns = 7_000_000_000;
        to.heartbeat_ns = Some(7_000_000_000);
    }),
    ("--held-max 77", "arbitration.held = 77", |to| to.arbiter.packets_held_max = 77),
    ("--explicit-restarts", "arbitration.explicit_restarts = true", |to| {
        to.arbiter.unexpected = UnexpectedPolicy::Drop;
    }),
    ("--no-rpt-seq", "recovery.continuity = 'msgseqnum'", |to| {
        to.recovery.continuity = Continuity::SeqNum;
    }),
    ("--natural-refresh", "recovery.natural_refresh = true", |to| {
        to.recovery.natural_refresh = true;
    }),
    ("--silent-after 8s", "recovery.silence = '8s'", |to| to.heartbeat_ns = Some(4_000_000_000)),
    ("--updates-held-max 55", "recovery.updates_held_max = 55", |to| {
        to.recovery.updates_held_max = 55;
    }),
    ("--updates-held-total-max 66", "recovery.updates_held_total_max = 66", |to| {
        to.recovery.updates_held_total_max = 66;
    }),
    ("--depth 5", "books.depth = 5", |to| to.recovery.depth = Some(5)),
    ("--implied", "books.kinds = ['outright', 'implied']", |to| {
        to.recovery.kinds = BookKinds::OutrightAndImplied;
    }),
    ("--no-checks", "books.checks = false", |to| to.recovery.checks = false),
    ("--starts-empty true", "books.starts_empty = true", |to| to.recovery.starts_empty = true),
    ("--instruments-max 44", "books.instruments_max = 44", |to| to.recovery.instruments_max = 44),
    (
        "--single-line-hold 0 --held-max 0",
        "arbitration = { single_line_hold = '0s', held = 0 }",
        |to| {
            to.arbiter.reorder_ns = 0;
            to.arbiter.packets_held_max = 0;
        },
    ),
];

/// The handler's options of `tickwire receive` with a feed file that contains this key, and with these flags.
fn options(name: &str, key: &str, flags: &str) -> Result<HandlerOptions, Failure> {
    let directory = std::env::temp_dir().join(format!("tickwire-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let feed: PathBuf = directory.join("feed.toml");
    let templates = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/templates/cme.xml");
    let framing = if key.starts_with("framing") { "" } else { "framing = 'cme'" };
    let text = format!(
        "templates = {templates:?}\n{framing}\n{key}\n\
         [channels.x.lines]\na = {{ group = '233.252.0.1', port = 9001 }}\n"
    );
    std::fs::write(&feed, text).expect("a feed file");
    let words = ["tickwire", "receive", "--feed"].into_iter();
    let words = words.chain([feed.to_str().expect("UTF-8")]).chain(flags.split_whitespace());
    let Command::Receive(args) = CommandLine::parse_from(words).command else {
        panic!("another command");
    };
    let channels = args.of_channels();
    std::fs::remove_dir_all(&directory).expect("the directory is removed");
    let channel = channels?.pop().expect("a channel");
    DescribedChannel::new(channel, 0).map(|described| described.options)
}

#[test]
fn flags_and_keys_reach_the_options() {
    let options = |key, flags| options("reach", key, flags).expect("options");
    let default = options("", "");
    for (flag, key, change) in CASES {
        let mut expected = default.clone();
        change(&mut expected);
        let expected = format!("{expected:?}");
        assert_ne!(format!("{default:?}"), expected, "{flag} is the default");
        assert_eq!(format!("{:?}", options("", flag)), expected, "{flag}");
        assert_eq!(format!("{:?}", options(key, "")), expected, "{key}");
    }
}

#[test]
fn flags_override_keys() {
    for (key, flag, is_so) in [
        ("arbitration.heartbeat = '7s'", "--heartbeat-interval 9s", {
            |of: &HandlerOptions| of.arbiter.silent_after_ns == 9_000_000_000
        }
            as fn(&HandlerOptions) -> bool),
        ("books.starts_empty = true", "--starts-empty false", |of| {
            !of.recovery.starts_empty && of.recovery.carries_over
        }),
        ("books.starts_empty = false", "--starts-empty true", |of| !of.recovery.carries_over),
        ("recovery.silence = '8s'", "--silent-after 6s", |of| {
            of.heartbeat_ns == Some(3_000_000_000)
        }),
        ("books.instruments_max = 5", "--instruments-max 6", |of| of.recovery.instruments_max == 6),
        ("books.checks = true", "--no-checks", |of| !of.recovery.checks),
    ] {
        let options = options("override", key, flag).expect("options");
        assert!(is_so(&options), "{key}, {flag}: {options:?}");
    }
}

#[test]
fn the_preset_that_is_named_says_how_often_lines_are_heard() {
    for (flags, seconds) in [
        ("--framing moex-forts", 30),
        ("--framing eurex-t7 --reset never", 10),
        ("--framing cme,reset=message", 30),
        ("--framing none", 60),
        ("", 30),
    ] {
        let options = options("heard", "", flags).expect("options");
        assert_eq!(options.arbiter.silent_after_ns, seconds * 1_000_000_000, "{flags}");
        assert_eq!(options.heartbeat_ns, Some(seconds * 1_000_000_000), "{flags}");
    }
    let named = options("heard", "framing = 'moex-forts'", "").expect("options");
    assert_eq!(named.arbiter.silent_after_ns, 30_000_000_000);
}

#[test]
fn books_that_would_always_be_stale_are_refused() {
    for (key, flags) in [
        ("", "--heartbeat-interval 9s --silent-after 8s"),
        ("arbitration.heartbeat = '9s'", "--silent-after 8s"),
        ("recovery.silence = '8s'", "--heartbeat-interval 9s"),
    ] {
        match options("stale", key, flags) {
            Err(Failure::Usage(text)) => assert!(text.contains("always be stale"), "{text}"),
            other => panic!("{key}, {flags}: {other:?}"),
        }
    }
}

#[test]
fn a_wait_for_one_line_is_no_longer_than_that_for_either() {
    for (key, flags) in [
        ("", "--hold 3ms --single-line-hold 4ms"),
        ("", "--single-line-hold 3ms"),
        ("arbitration = { hold = '3ms', single_line_hold = '4ms' }", ""),
        ("arbitration.single_line_hold = '1ms'", "--hold 500us"),
    ] {
        match options("holds", key, flags) {
            Err(Failure::Usage(text)) => assert!(text.contains("--single-line-hold"), "{text}"),
            other => panic!("{key}, {flags}: {other:?}"),
        }
    }
    options("holds", "", "--hold 100us")
        .expect("the default wait for one line is limited to the hold");
}

#[test]
fn a_key_has_at_most_eight_fields() {
    options("key", "", "--instrument-key 1,2,3,4,5,6,7,8").expect("eight fields");
    match options("key", "", "--instrument-key 1,2,3,4,5,6,7,8,9") {
        Err(Failure::Usage(text)) => assert!(text.contains("at most 8"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_hold_has_the_limit_of_a_feed_file() {
    for flags in ["--hold 11s", "--hold 1h", "--single-line-hold 11s"] {
        let words = ["tickwire", "receive"].into_iter().chain(flags.split_whitespace());
        let error = CommandLine::try_parse_from(words).expect_err(flags).to_string();
        assert!(error.contains("the longest possible wait is 10s"), "{error}");
    }
}
