//! Option spellings of older FAST tools.

use std::ffi::OsString;

/// Replacement of an option of the older tools.
#[derive(Clone, Copy, Debug)]
enum Old {
    /// A long option that the older tools spell with a single dash; its value follows.
    Dash,
    /// The option has another name here; its value follows.
    Is(&'static str),
    /// The option is another option here, with this value.
    With(&'static str, &'static str),
    /// The option asks for the default behaviour; it is dropped with this many values.
    Default(usize),
    /// The option asks for the default behaviour; it is dropped with an optional value from this list.
    DefaultOr(&'static [&'static str]),
    /// A flag that may be followed by `yes` or `no`.
    YesNo,
    /// `IP:PORT`, two separate options here.
    GroupAndPort,
    /// The transport of the data bus.
    Transport,
    /// The option has no counterpart here; the text names the alternative.
    Refused(&'static str),
}

const ECHO: Old = Old::Refused(
    "a copy of the input: tickwire receive --record DIR keeps every packet, tickwire explain shows the bytes of messages",
);

const OPTIONS: [(&str, Old); 43] = [
    ("-?", Old::Is("--help")),
    ("-pfix", Old::Dash),
    ("-pprefix", Old::Dash),
    ("-psuffix", Old::Dash),
    ("-hfix", Old::Dash),
    ("-hfast", Old::Dash),
    ("-hprefix", Old::Dash),
    ("-hsuffix", Old::Dash),
    ("-hbig", Old::YesNo),
    ("-hnone", Old::Default(0)),
    ("-pnone", Old::Default(0)),
    // The size in a packet's header is skipped with the rest of the header.
    ("-pbig", Old::DefaultOr(&["yes", "no"])),
    (
        "-pfast",
        Old::Refused("packet headers of FAST-encoded fields: describe the packet with --framing"),
    ),
    (
        "-ofix",
        Old::Refused("headers of the output: describe them with --framing, as for the input"),
    ),
    ("-head", Old::Dash),
    ("-limit", Old::Is("--head")),
    ("-seq", Old::Dash),
    ("-nosplit", Old::Dash),
    ("-noecho", Old::Dash),
    ("-emptyBuilder", Old::Dash),
    ("-e", ECHO),
    ("-echo", ECHO),
    ("-eraw", ECHO),
    ("-ehex", ECHO),
    ("-enone", Old::Default(0)),
    ("-threads", Old::Dash),
    ("-file", Old::Is("--file")),
    ("-afile", Old::Is("--file")),
    ("-bfile", Old::Is("--file")),
    ("-pcap", Old::Is("--file")),
    ("-pcapsource", Old::Default(1)),
    ("-multicast", Old::GroupAndPort),
    ("-mlisten", Old::Is("--interface")),
    (
        "-mbind",
        Old::Refused("sockets are bound to their group: name the interface with --interface"),
    ),
    (
        "-tcp",
        Old::Refused("a TCP stream is read from standard input: nc HOST PORT | tickwire decode -"),
    ),
    ("-datagram", Old::Default(0)),
    ("-streaming", Old::DefaultOr(&["block", "noblock"])),
    ("-buffersize", Old::Default(1)),
    ("-buffers", Old::Default(1)),
    ("-reset", Old::With("--reset", "message")),
    ("-strict", Old::With("--conformance", "lenient")),
    ("-vo", Old::Refused("the bytes of each field are shown by tickwire explain")),
    ("-tr", Old::Transport),
];

/// Rewrites the options: `-pfix 4` becomes `--pfix 4`, `-?` becomes `--help`, and after `multicast`
/// `-s 1000` becomes `-s 1000us`. Nothing after `--` changes.
///
/// # Errors
/// The alternative to an option that has no counterpart.
pub fn rewrite(arguments: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let mut arguments = arguments.peekable();
    let mut rewritten = Vec::new();
    let mut is_multicast = false;
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            rewritten.push(argument);
            rewritten.extend(arguments);
            break;
        }
        is_multicast |= argument == "multicast";
        let is_sleep = is_multicast && argument == "-s";
        match argument.to_str().and_then(old) {
            Some((name, value, old)) => {
                rewrite_one(name, value, old, &mut arguments, &mut rewritten)?
            }
            None => rewritten.push(argument),
        }
        if is_sleep
            && let Some(time) = arguments.peek().and_then(|time| microseconds(time.to_str()?))
        {
            arguments.next();
            rewritten.push(time);
        }
    }
    Ok(rewritten)
}

/// Splits off the value after `=`, if there is one, and finds the replacement of the option.
fn old(text: &str) -> Option<(&str, Option<&str>, Old)> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let (_, old) = OPTIONS.iter().find(|(option, _)| *option == name)?;
    Some((name, value, *old))
}

fn rewrite_one(
    name: &str,
    value: Option<&str>,
    old: Old,
    arguments: &mut std::iter::Peekable<impl Iterator<Item = OsString>>,
    rewritten: &mut Vec<OsString>,
) -> Result<(), String> {
    let with_value = |name: String| match value {
        Some(value) => format!("{name}={value}").into(),
        None => OsString::from(name),
    };
    let mut next = || match value {
        Some(value) => Some(value.to_owned()),
        None => arguments.next().and_then(|argument| argument.into_string().ok()),
    };
    match old {
        Old::Dash => rewritten.push(with_value(format!("-{name}"))),
        Old::Is(here) => rewritten.push(with_value(here.to_owned())),
        Old::With(here, value) => rewritten.extend([here, value].map(OsString::from)),
        Old::Default(values) => (0..values).for_each(|_| _ = next()),
        Old::DefaultOr(words) => {
            let follows = |next: &OsString| words.iter().any(|word| next == word);
            if value.is_none() && arguments.peek().is_some_and(follows) {
                arguments.next();
            }
        }
        Old::YesNo => {
            let answer = match arguments.peek().and_then(|next| next.to_str()) {
                Some(word @ ("yes" | "no")) => word.to_owned(),
                _ => String::new(),
            };
            if !answer.is_empty() {
                arguments.next();
            }
            if answer != "no" {
                rewritten.push(format!("-{name}").into());
            }
        }
        Old::GroupAndPort => {
            let address = next().unwrap_or_default();
            let (group, port) = address
                .split_once(':')
                .ok_or_else(|| format!("{name} {address}: write it as IP:PORT"))?;
            rewritten.extend(["-a", group, "-p", port].map(OsString::from));
        }
        Old::Transport => match next().as_deref() {
            Some("udp") => {}
            Some("mcast") => {
                return Err(
                    "-tr mcast: samples go to several hosts by multicast with --network any"
                        .to_owned(),
                );
            }
            Some(other) => {
                return Err(format!("-tr {other}: samples travel over UDP; leave it out"));
            }
            None => return Err("-tr: samples travel over UDP; leave it out".to_owned()),
        },
        Old::Refused(instead) => return Err(format!("{name}: {instead}")),
    }
    Ok(())
}

/// Appends `us` to a bare number: older multicast senders give the time in microseconds.
fn microseconds(text: &str) -> Option<OsString> {
    text.parse::<u64>().is_ok().then(|| format!("{text}us").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_rewritten(line: &str) -> Result<String, String> {
        let arguments = rewrite(line.split_whitespace().map(OsString::from))?;
        let words: Vec<_> =
            arguments.into_iter().map(|argument| argument.into_string().unwrap()).collect();
        Ok(words.join(" "))
    }

    fn rewritten(line: &str) -> String {
        try_rewritten(line).unwrap()
    }

    #[test]
    fn single_dash_options_become_long_ones() {
        assert_eq!(
            rewritten("decode -pfix 4 -hprefix=2 -hfast -psuffix 1 -t x"),
            "decode --pfix 4 --hprefix=2 --hfast --psuffix 1 -t x"
        );
        assert_eq!(rewritten("publish -noecho -emptyBuilder"), "publish --noecho --emptyBuilder");
    }

    #[test]
    fn options_with_another_name_here() {
        assert_eq!(
            rewritten("receive -multicast 224.1.2.133:13014 -mlisten 10.0.0.1 -threads 2"),
            "receive -a 224.1.2.133 -p 13014 --interface 10.0.0.1 --threads 2"
        );
        assert_eq!(
            rewritten("decode -pcap x.pcap -pcapsource 64 -limit 5 -reset -strict"),
            "decode --file x.pcap --head 5 --reset message --conformance lenient"
        );
        assert!(try_rewritten("receive -multicast 224.1.2.133").unwrap_err().contains("IP:PORT"));
    }

    #[test]
    fn what_is_done_anyway_is_passed_over() {
        assert_eq!(
            rewritten("decode -hnone -pnone -pbig no -datagram -streaming block -buffers 4 -t x"),
            "decode -t x"
        );
        assert_eq!(rewritten("decode -hbig no -hbig yes -hbig -t x"), "decode --hbig --hbig -t x");
        assert_eq!(rewritten("subscribe -tr udp -noecho"), "subscribe --noecho");
    }

    #[test]
    fn what_there_is_not_here_is_refused_with_what_there_is() {
        for (line, hint) in [
            ("decode -ofix 4", "--framing"),
            ("decode -pfast", "--framing"),
            ("receive -tcp host:1", "decode -"),
            ("receive -mbind 1.2.3.4", "--interface"),
            ("decode -vo x", "explain"),
            ("decode -e copy.dat", "--record"),
            ("receive -echo copy.dat", "--record"),
            ("subscribe -tr tcp", "UDP"),
            ("subscribe -tr mcast", "--network any"),
        ] {
            let error = try_rewritten(line).unwrap_err();
            assert!(error.contains(hint), "{line}: {error}");
        }
    }

    #[test]
    fn a_bare_sleep_of_multicast_is_microseconds() {
        assert_eq!(rewritten("multicast -s 1000 7"), "multicast -s 1000us 7");
        assert_eq!(rewritten("multicast -s 2ms"), "multicast -s 2ms");
        assert_eq!(rewritten("decode -s 1000"), "decode -s 1000");
    }

    #[test]
    fn a_question_mark_asks_for_help() {
        assert_eq!(rewritten("-?"), "--help");
    }

    #[test]
    fn what_follows_two_dashes_is_left_alone() {
        assert_eq!(rewritten("-- -? -pfix -ofix"), "-- -? -pfix -ofix");
    }
}
