//! Options over all commands: times have units, and a name means one thing.

mod support;

use std::collections::BTreeMap;
use support::tickwire;

/// Names that take a value on some commands only, or values of different kinds, and why that is
/// one meaning all the same.
const SEVERAL_FORMS: [(&str, &str); 1] =
    [("--snapshots", "a feed of snapshots: a file to write or to send, or the live feed")];

/// What an option's line in a help text shows: its name and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    command: String,
    name: String,
    value: Option<String>,
}

/// The options of a command and its subcommands.
fn options(command: &str, shown: &mut Vec<Shown>) {
    let help = tickwire(&format!("{command} --help")).out;
    let mut in_commands = false;
    // What stands before the usage and in examples may name options too.
    let lines = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    let lines = lines.take_while(|line| !line.starts_with("Examples:"));
    for line in lines {
        let indent = line.len() - line.trim_start().len();
        in_commands = (in_commands || line == "Commands:") && !line.is_empty();
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if in_commands && indent == 2 && first != "help" && !first.starts_with('-') {
            options(&format!("{command} {first}"), shown);
        }
        let is_option = first.starts_with("--") || (first.starts_with('-') && first.ends_with(','));
        if !in_commands && indent > 0 && indent <= 6 && is_option {
            let name = if first.starts_with("--") { Some(first) } else { words.next() };
            let (command, name) = (command.to_owned(), name.expect("a name").to_owned());
            let value = words.next().filter(|word| word.starts_with(['<', '[']));
            shown.push(Shown { command, name, value: value.map(str::to_owned) });
        }
    }
}

#[test]
fn every_option_means_one_thing_and_times_have_units() {
    let mut shown = Vec::new();
    options("", &mut shown);
    assert!(shown.iter().any(|option| option.name == "--hold"), "{shown:?}");
    let mut by_name: BTreeMap<&str, Vec<&Shown>> = BTreeMap::new();
    for option in &shown {
        let value = option.value.as_deref().unwrap_or_default();
        for unit in ["SECONDS", "MILLIS", "MICROS", "NANOS", "<MS>", "<US>"] {
            assert!(!value.contains(unit), "{option:?}: times have units of their own: TIME");
        }
        by_name.entry(&option.name).or_default().push(option);
    }
    for (name, options) in by_name {
        let takes_value = options.iter().filter(|option| option.value.is_some()).count();
        let is_known = SEVERAL_FORMS.iter().any(|(known, _)| *known == name);
        let is_one = takes_value == 0 || takes_value == options.len();
        assert!(is_one || is_known, "{name} is a flag and an option: {options:?}");
        let times = options
            .iter()
            .filter(|option| option.value.as_deref().is_some_and(|value| value.contains("TIME")));
        let times = times.count();
        assert!(times == 0 || times == options.len(), "{name} is not always a time: {options:?}");
    }
}

#[test]
fn a_time_without_unit_is_refused_with_the_units_to_choose_from() {
    for arguments in [
        "receive -t x.xml --hold 2000",
        "receive -t x.xml --idle 3000",
        "multicast -f x --delay 5",
        "multicast -f x --sleep 100",
        "opra decode x --hold 2",
    ] {
        let run = tickwire(arguments);
        assert_eq!(run.status, 2, "{arguments}: {}", run.err);
        assert!(run.err.contains("has no unit: write "), "{arguments}: {}", run.err);
    }
}

#[test]
fn lines_further_apart_than_is_remembered_are_refused() {
    let run = tickwire("receive -t x.xml --skew 31s");
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("lines are at most 30s apart"), "{}", run.err);
}

#[test]
fn commands_that_need_templates_say_so_in_their_usage() {
    for command in ["decode", "encode", "explain"] {
        let usage = tickwire(&format!("{command} --help")).out;
        assert!(usage.contains("--templates <FILE>"), "{usage}");
        let line = usage.lines().find(|line| line.starts_with("Usage:")).expect("a usage");
        assert!(line.contains("--templates"), "{line}");
    }
}
