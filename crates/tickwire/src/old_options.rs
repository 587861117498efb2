//! Spellings that users of older FAST tools type by habit.

use std::ffi::OsString;

/// Long options that those tools write with a single dash.
const SINGLE_DASH: [&str; 10] = [
    "-pfix",
    "-hfix",
    "-hprefix",
    "-hsuffix",
    "-hbig",
    "-head",
    "-seq",
    "-nosplit",
    "-noecho",
    "-emptyBuilder",
];

/// Rewrites them: `-pfix 4` becomes `--pfix 4`, `-?` becomes `--help`, and behind `multicast`
/// `-s 1000` becomes `-s 1000us`. Nothing after `--` changes.
pub fn rewrite(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut options_ended = false;
    let mut is_multicast = false;
    let mut is_sleep = false;
    let rewritten = |argument: OsString| {
        options_ended |= argument == "--";
        is_multicast |= argument == "multicast";
        let is_value_of_sleep = std::mem::replace(&mut is_sleep, is_multicast && argument == "-s");
        if is_value_of_sleep && let Some(time) = argument.to_str().and_then(microseconds) {
            return time;
        }
        match argument.to_str() {
            Some(text) if !options_ended => spelling(text).map_or(argument, OsString::from),
            _ => argument,
        }
    };
    arguments.map(rewritten).collect()
}

/// A bare number is microseconds, as older senders of multicast have it.
fn microseconds(text: &str) -> Option<OsString> {
    text.parse::<u64>().is_ok().then(|| format!("{text}us").into())
}

fn spelling(text: &str) -> Option<String> {
    if text == "-?" {
        return Some("--help".to_owned());
    }
    let name = text.split('=').next()?;
    SINGLE_DASH.contains(&name).then(|| format!("-{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(arguments: &[&str]) -> Vec<String> {
        let arguments = arguments.iter().map(OsString::from);
        rewrite(arguments).into_iter().map(|argument| argument.into_string().unwrap()).collect()
    }

    #[test]
    fn single_dash_options_become_long_ones() {
        assert_eq!(
            rewritten(&["decode", "-pfix", "4", "-hprefix=2", "-t", "x"]),
            ["decode", "--pfix", "4", "--hprefix=2", "-t", "x"]
        );
    }

    #[test]
    fn a_bare_sleep_of_multicast_is_microseconds() {
        assert_eq!(
            rewritten(&["multicast", "-s", "1000", "7"]),
            ["multicast", "-s", "1000us", "7"]
        );
        assert_eq!(rewritten(&["multicast", "-s", "2ms"]), ["multicast", "-s", "2ms"]);
        assert_eq!(rewritten(&["decode", "-s", "1000"]), ["decode", "-s", "1000"]);
    }

    #[test]
    fn a_question_mark_asks_for_help() {
        assert_eq!(rewritten(&["-?"]), ["--help"]);
    }

    #[test]
    fn what_follows_two_dashes_is_left_alone() {
        assert_eq!(rewritten(&["--", "-?", "-pfix"]), ["--", "-?", "-pfix"]);
    }
}
