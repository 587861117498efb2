//! Checks the options of all commands: times have units, and each long or short name has one meaning.

mod support;

use std::collections::BTreeMap;
use support::tickwire;

/// Names that take a value only on some commands, or values of different kinds, and the reason why this is
/// still one meaning.
const SEVERAL_FORMS: [(&str, &str); 2] = [
    ("--show", "prints what arrives: the kinds where there are several, samples otherwise"),
    ("--snapshots", "a feed of snapshots: a file to write or to send, or the live feed"),
];

/// Short flags with a different long form on one command, and the reason. On all other commands a short flag
/// has the same long form.
const OTHER_LONG_FORMS: [(&str, &str, &str, &str); 1] = [(
    "fix client",
    "-p",
    "--preload",
    "hftest, which it mirrors: hftest client -p 150000 -u 50000",
)];

/// The short flag for counts; its long form names the counted items.
const COUNTS: (&str, [&str; 3]) = ("-n", ["--limit", "--messages", "--packet-count"]);

/// Words in a help text that indicate a duration.
const WORDS_OF_TIMES: [&str; 9] = [
    "how long",
    "so long",
    "longest wait",
    "longest time",
    "interval",
    "silence",
    "seconds",
    "minutes",
    "time to ",
];

/// Options whose help text has such words but whose value is not a single duration, and the reason.
const NO_TIMES: [(&str, &str); 1] = [("--silence", "from one time to another, both with units")];

/// Parts of an option in a help text: its names, its value and its description.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    command: String,
    short: Option<String>,
    name: String,
    value: Option<String>,
    about: String,
}

impl Shown {
    fn is_time(&self) -> bool {
        self.value.as_deref().is_some_and(|value| value.contains("TIME"))
    }
}

/// The options of a command and its subcommands.
fn options(command: &str, shown: &mut Vec<Shown>) {
    let help = tickwire(&format!("{command} --help")).out;
    let mut in_commands = false;
    // Text before the usage and examples may also mention options.
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
        if in_commands || indent == 0 {
            continue;
        }
        if indent <= 6 && first.starts_with('-') {
            let short = (!first.starts_with("--")).then(|| first.trim_end_matches(',').to_owned());
            let name = if short.is_none() { Some(first) } else { words.next() };
            let name = name.filter(|name| name.starts_with("--"));
            let name =
                name.unwrap_or_else(|| panic!("{command}: {first} has no long form: {line}"));
            let (command, name) = (command.trim().to_owned(), name.to_owned());
            let value = words.clone().next().filter(|word| word.starts_with(['<', '[']));
            let value = value.map(str::to_owned);
            shown.push(Shown { command, short, name, value, about: String::new() });
        }
        if let Some(option) = shown.last_mut() {
            let words = line.split_whitespace();
            option.about.extend(words.flat_map(|word| [word, " "]).map(str::to_lowercase));
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
        for unit in ["MINUTES", "SECONDS", "MILLIS", "MICROS", "NANOS", "<MS>", "<US>"] {
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
        let ranges = options.iter().filter(|option| option.value.as_deref() == Some("<FROM..TO>"));
        let ranges = ranges.count();
        assert!(
            ranges == 0 || ranges == options.len(),
            "{name} is not always a range: {options:?}"
        );
    }
}

/// The parser's error for a command line that ends with an unknown option.
fn refusal(arguments: &str) -> String {
    // The value is parsed before the unknown option is reported.
    let run = tickwire(&format!("{arguments} --log off --no-such-option"));
    assert_eq!(run.status, 2, "{arguments}: {}", run.err);
    run.err
}

#[test]
fn a_short_flag_means_one_thing() {
    let mut shown = Vec::new();
    options("", &mut shown);
    let mut long_forms: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    let mut exceptions = 0;
    for option in &shown {
        let (Some(short), name) = (option.short.as_deref(), option.name.as_str()) else { continue };
        let is_exception = OTHER_LONG_FORMS.iter().any(|(command, known, long, _)| {
            (*command, *known, *long) == (option.command.as_str(), short, name)
        });
        exceptions += usize::from(is_exception);
        if short == COUNTS.0 {
            assert_eq!(option.value.as_deref(), Some("<COUNT>"), "{option:?}");
            assert!(COUNTS.1.contains(&name), "{option:?}");
        } else if !is_exception {
            let commands = long_forms.entry(short).or_default().entry(name).or_default();
            commands.push(&option.command);
        }
    }
    assert!(long_forms.contains_key("-p"), "{long_forms:?}");
    assert_eq!(exceptions, OTHER_LONG_FORMS.len(), "an exception that no command needs");
    for (short, long) in long_forms {
        assert_eq!(long.len(), 1, "{short} has several meanings: {long:?}");
    }
}

#[test]
fn every_length_of_time_takes_units() {
    let mut shown = Vec::new();
    options("", &mut shown);
    assert!(shown.iter().filter(|option| option.is_time()).count() > 20, "{shown:?}");
    for option in &shown {
        let is_told = WORDS_OF_TIMES.iter().any(|words| option.about.contains(words));
        let is_no_time = NO_TIMES.iter().any(|(name, _)| *name == option.name);
        if option.value.is_some() && is_told && !is_no_time {
            assert!(option.is_time(), "{option:?} is a time: its value is a TIME");
        }
    }
    for Shown { command, name, .. } in shown.iter().filter(|option| option.is_time()) {
        for time in ["500us", "2ms", "1.5s"] {
            let error = refusal(&format!("{command} {name} {time}"));
            // Values outside a range and fractions of seconds are reported only after the time was parsed.
            let is_read = ["'--no-such-option'", " is not from ", "expected whole seconds"];
            let is_read = is_read.iter().any(|text| error.contains(text));
            assert!(is_read, "{command} {name} {time}: {error}");
        }
        let error = refusal(&format!("{command} {name} 2furlongs"));
        assert!(error.contains("'2furlongs'"), "{command} {name}: {error}");
    }
}

#[test]
fn spellings_of_the_programs_that_commands_mirror_are_accepted() {
    for arguments in [
        "generate simple -t t.xml -o x.dat -n 30000",
        "generate complex -t t.xml -o x.dat -n 30000 -seq 4",
        "multicast -f x.dat -a 224.1.2.133 -p 13014 -s 1000",
        "publish -t t.xml -f x.dat -tr udp -noecho",
        "publish -t t.xml -tr udp -emptyBuilder",
        "subscribe -tr udp -noecho",
        "fix client -p 150000 -u 50000",
        "fix client -r -p 150000 -u 50000",
        "soak feed --minutes 3",
    ] {
        let error = refusal(arguments);
        assert!(error.contains("'--no-such-option'"), "{arguments}: {error}");
    }
    let both = tickwire("soak feed --minutes 3 --time 3m");
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
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
    assert!(run.err.contains("the largest possible skew is 30s"), "{}", run.err);
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
