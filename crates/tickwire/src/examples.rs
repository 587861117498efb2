//! The examples in each command's help, and the command line that contains them.

use crate::arguments::CommandLine;
use clap::{Command, CommandFactory};

/// Examples by command. A line that starts with `#` describes the next command.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "",
        "\
# A tour of about a minute:
tickwire demo --save feed
# The messages of a capture as JSON lines:
tickwire decode day.pcap -t templates.xml --framing auto
# A feed handler, shown live in a browser:
tickwire receive --feed feed.toml --monitor 9100",
    ),
    ("bench", "taskset -c 1 tickwire bench fast"),
    ("bench cme-day", "taskset -c 1 tickwire bench cme-day --json times.json"),
    ("bench cme-messages", "taskset -c 1 tickwire bench cme-messages --time 20s"),
    (
        "bench fast",
        "\
# Generated feeds and every engine, on one core:
taskset -c 1 tickwire bench fast
# A capture of your own:
tickwire bench fast -f day.pcap -t templates.xml --framing cme",
    ),
    ("bench fix", "taskset -c 1 tickwire bench fix"),
    (
        "bench instructions",
        "\
# Count now, compare after a change:
tickwire bench instructions --record before.txt
tickwire bench instructions --check before.txt",
    ),
    (
        "bench receive",
        "\
# All receivers, as root:
tickwire bench receive
# Two of them, two lines, ten messages per packet:
tickwire bench receive --receivers recvmmsg,ring --messages 10 --lines 2 --json figures.json",
    ),
    ("bench samples", "taskset -c 1 tickwire bench samples"),
    (
        "completions",
        "\
# Bash, for this user:
tickwire completions bash > ~/.local/share/bash-completion/completions/tickwire
# Zsh, in a directory of $fpath:
tickwire completions zsh > ~/.zfunc/_tickwire
# Fish:
tickwire completions fish > ~/.config/fish/completions/tickwire.fish",
    ),
    (
        "decode",
        "\
# One JSON object per message:
tickwire decode day.pcap.zst -t templates.xml --framing cme
# Detect framing and reset from the packets:
tickwire decode day.pcap -t templates.xml --framing auto --format summary
# Two fields of one template as CSV, on all cores:
tickwire decode day.pcap -t templates.xml --framing cme --threads 0 \\
    --template MDIncrementalRefresh --fields SecurityID,MDEntryPx -o prices.csv",
    ),
    (
        "demo",
        "\
# Codecs and the live chain, about a minute:
tickwire demo
# Codecs only, and feeds to try other commands on:
tickwire demo --live-messages 0 --save feed",
    ),
    (
        "doctor",
        "\
# Settings of this machine that cost latency, and how to change them:
tickwire doctor
# Only the costly settings, for a script:
tickwire doctor --json - | jq '.findings[] | select(.verdict == \"costs\")'",
    ),
    (
        "encode",
        "\
# Decode, edit, encode:
tickwire decode feed/simple.bin -t feed/simple.xml --reset packet > simple.jsonl
tickwire encode simple.jsonl -t feed/simple.xml --reset packet -o again.bin",
    ),
    (
        "explain",
        "\
# The second packet of a capture:
tickwire explain feed/complex.bin -t feed/complex.xml --reset packet --packet 1
# Bytes from a log:
tickwire explain -t templates.xml --hex 'c0 81 85'",
    ),
    (
        "export",
        "\
# A directory of Parquet files, one table per template:
tickwire export day.pcap.zst -t templates.xml --framing cme -o day --threads 0
# FIX logs and OPRA captures:
tickwire export --fix orders.log -o orders
tickwire export --opra trace.pcap -o opra",
    ),
    ("feed", "tickwire feed check feed.toml"),
    ("feed check", "tickwire feed check feed.toml"),
    (
        "feed import",
        "\
tickwire feed import config.xml -t templates.xml -o feed.toml
tickwire feed check feed.toml",
    ),
    ("feed show", "tickwire feed show feed.toml"),
    (
        "fix",
        "\
tickwire fix decode orders.log
tickwire fix server & tickwire fix client --orders 1000",
    ),
    (
        "fix acceptance",
        "\
# Listen on a free port, which is printed:
tickwire fix acceptance --port 0",
    ),
    (
        "fix client",
        "\
# 1000 orders to `tickwire fix server`; nothing is lost if either side restarts:
tickwire fix client --orders 1000 --store client-store --journal reports --reliable
# Single round trips:
tickwire fix client --orders 1000 --window 1",
    ),
    (
        "fix decode",
        "\
# Any log that contains FIX, or a capture:
tickwire fix decode orders.log
tickwire fix decode session.pcap --format jsonl
# One message:
echo '8=FIX.4.4|9=5|35=0|10=163|' | tickwire fix decode -",
    ),
    (
        "fix dictionary",
        "\
# A copy, to which you add the counterparty's fields:
tickwire fix dictionary FIX44 -o counterparty.xml",
    ),
    (
        "fix generate",
        "\
tickwire fix generate FIX44 --only NewOrderSingle ExecutionReport -o orders.rs
tickwire fix generate counterparty.xml -o counterparty.rs",
    ),
    ("fix log", "tickwire fix log --type D,8 log/FIX.4.4-TRADER-VENUE.messages.log"),
    (
        "fix server",
        "\
# Keep messages on disk, serve metrics and administration:
tickwire fix server --store server-store --metrics 9100 --admin 9101
# Sessions of a settings file in QuickFIX's format:
tickwire fix server --config acceptor.cfg",
    ),
    ("fix soak", "tickwire fix soak --sessions 10 --time 1m --kill-every 5s"),
    ("fix store", "tickwire fix store list server-store"),
    ("fix store check", "tickwire fix store check server-store/*.journal"),
    ("fix store cut", "tickwire fix store cut server-store/FIX.4.2-TEX_DLD-DLD_TEX.journal"),
    ("fix store list", "tickwire fix store list server-store"),
    (
        "fix validate",
        "\
tickwire fix validate orders.log
tickwire fix validate orders.log --dictionary counterparty.xml",
    ),
    ("generate", "tickwire generate complex -o complex.bin --write-templates complex.xml"),
    (
        "generate cme",
        "\
tickwire generate cme -o cme.bin --snapshots snapshots.bin --framing cme \\
    --write-templates cme.xml",
    ),
    (
        "generate complex",
        "\
# A feed, and its true books:
tickwire generate complex -o complex.bin --truth books.jsonl --write-templates complex.xml",
    ),
    (
        "generate day",
        "\
# A day whose lines lose packets, then the feed handler:
tickwire generate day -o day.pcap --write-templates day.xml --truth books.jsonl --loss 1
tickwire receive -t day.xml --framing cme --capture day.pcap --line-b --snapshots \\
    --show books --at-end",
    ),
    (
        "generate random-cme",
        "tickwire generate random-cme -o random.bin --write-templates random.xml",
    ),
    (
        "generate simple",
        "tickwire generate simple -n 1000000 -o simple.bin --write-templates simple.xml",
    ),
    ("grammar", "tickwire grammar check words.dsp"),
    ("grammar check", "tickwire grammar check words.dsp"),
    ("grammar generate", "tickwire grammar generate words.dsp > words.rs"),
    (
        "grammar run",
        "\
tickwire grammar run words.dsp packet.bin
printf 'bid;offer;' | tickwire grammar run words.dsp -",
    ),
    (
        "grammar show",
        "\
tickwire grammar show words.dsp
tickwire grammar show words.dsp --dot | dot -Tsvg > words.svg",
    ),
    (
        "man",
        "\
tickwire man ~/.local/share/man/man1
man tickwire-receive",
    ),
    (
        "monitor",
        "\
# One page, on port 9100, over a process that runs with --monitor 9101:
printf '[[process]]\\nname = \"feed\"\\naddress = \"127.0.0.1:9101\"\\n' > processes.toml
tickwire monitor --config processes.toml",
    ),
    (
        "multicast",
        "\
# Lines A and B on loopback, each losing 1 %:
tickwire multicast -f feed/simple.bin --line-b --loss 1
# A capture with its own times, ten times as fast, on a network:
tickwire multicast -f day.pcap --original 10 --interface eth0 -a 239.1.1.1 -p 5000
# Line B of a capture of several lines:
tickwire multicast -f day.pcap --capture-port 13015 -a 224.1.2.134 -p 13015 --original",
    ),
    (
        "opra",
        "\
tickwire opra generate -o trace.bin
tickwire opra decode trace.bin --limit 3",
    ),
    (
        "opra bench",
        "\
taskset -c 1 tickwire opra bench
tickwire opra bench trace.pcap --analysis",
    ),
    (
        "opra decode",
        "\
tickwire opra decode trace.bin --prices --names
tickwire opra decode trace.bin --show bbo --quiet",
    ),
    ("opra encode", "tickwire opra encode trace.jsonl -o trace.bin"),
    (
        "opra generate",
        "\
tickwire opra generate -o trace.bin
tickwire opra decode trace.bin --limit 3",
    ),
    (
        "opra receive",
        "\
# Four lines, sides A and B, best prices:
tickwire opra receive -a 233.43.202.1 --group-b 233.43.202.129 --lines 4 --interface eth0 \\
    --show bbo",
    ),
    ("opra vectors", "tickwire opra vectors cases.jsonl"),
    (
        "publish",
        "\
# A file to one subscriber; waits for the subscriber:
tickwire subscribe &
tickwire publish -f feed/simple.bin -t feed/simple.xml --reset packet
# From lines A and B on loopback:
tickwire publish -t feed/simple.xml --reset packet --line-b --subscribers 1
# Over shared memory, for subscribers on this host:
tickwire subscribe --transport shm &
tickwire publish -f feed/simple.bin -t feed/simple.xml --reset packet --transport shm",
    ),
    (
        "receive",
        "\
# Live, best prices:
tickwire receive -t templates.xml --framing cme -a 239.1.1.1 -p 5000 --interface eth0 \\
    --line-b --snapshots --show bbo
# A capture, and the books at its end:
tickwire receive -t templates.xml --framing cme --capture day.pcap.zst --show books --at-end
# Length-prefixed files, one per line:
tickwire receive -t templates.xml --framing moex-forts --capture-line a=a.bin \\
    --capture-line b=b.bin --show messages --instrument 49634118 --format csv
# Channels of a feed file on two threads:
tickwire receive --feed feed.toml --threads 2 --show bbo",
    ),
    ("soak", "tickwire soak feed --time 1h"),
    ("soak feed", "tickwire soak feed --time 1h --json sums.json"),
    (
        "subscribe",
        "\
tickwire subscribe
# Busy-polling on a dedicated CPU, for the lowest latency:
tickwire subscribe --spin --cpu 1",
    ),
    ("templates", "tickwire templates check templates.xml"),
    ("templates check", "tickwire templates check templates.xml"),
    ("templates diff", "tickwire templates diff --decoding templates-old.xml templates-new.xml"),
    ("templates generate", "tickwire templates generate templates.xml -o src/templates.rs"),
    ("templates show", "tickwire templates show templates.xml --template MDIncrementalRefresh"),
    ("templates signature", "tickwire templates signature templates.xml"),
    (
        "top",
        "\
tickwire top 9100
# A process on another host, through ssh:
ssh -fNL 9100:127.0.0.1:9100 host && tickwire top",
    ),
    ("vectors", "tickwire vectors cases.jsonl"),
];

/// Returns the command line; each command's help ends with its examples.
pub fn command_line() -> Command {
    EXAMPLES.iter().fold(CommandLine::command(), |command, (path, examples)| {
        let words: Vec<_> = path.split_whitespace().collect();
        append(command, &words, examples)
    })
}

/// True for a command that this program was built without.
fn is_left_out(command: &str) -> bool {
    match command {
        "bench" => !cfg!(feature = "bench"),
        "export" => !cfg!(feature = "columns"),
        "top" => !cfg!(feature = "top"),
        _ => false,
    }
}

/// Appends `examples` to the help of the subcommand at `path`. Skips commands that this program was built
/// without.
fn append(command: Command, path: &[&str], examples: &str) -> Command {
    let Some((name, rest)) = path.split_first() else {
        return command.after_help(format!("Examples:\n{}", indented(examples)));
    };
    if command.find_subcommand(name).is_none() || is_left_out(name) {
        return command;
    }
    command.mut_subcommand(name, |subcommand| append(subcommand, rest, examples))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths of all commands below `command`.
    fn paths(command: &Command, path: &str) -> Vec<String> {
        let below = command.get_subcommands().filter(|sub| sub.get_name() != "help");
        let with_own = below.flat_map(|sub| {
            let path = format!("{path} {}", sub.get_name()).trim().to_owned();
            [vec![path.clone()], paths(sub, &path)].concat()
        });
        with_own.collect()
    }

    #[test]
    fn every_command_has_examples() {
        for path in paths(&CommandLine::command(), "") {
            assert!(EXAMPLES.iter().any(|(command, _)| *command == path), "{path} has none");
        }
        assert!(EXAMPLES.is_sorted_by_key(|(path, _)| *path));
    }

    #[test]
    fn every_example_is_a_command_line_that_is_accepted() {
        let left_out = |path: &str| path.split(' ').any(is_left_out);
        let built = EXAMPLES.iter().filter(|(path, _)| !left_out(path)).count();
        let mut parsed = 0;
        for (path, examples) in EXAMPLES.iter().filter(|(path, _)| !left_out(path)) {
            let joined = examples.replace("\\\n", " ");
            for line in joined.lines().filter(|line| !line.starts_with('#')) {
                assert!(
                    line.len() < 200 && examples.lines().all(|line| line.len() <= 96),
                    "{line}"
                );
                for command in line.split(['|', '&']).filter(|part| part.contains("tickwire ")) {
                    let command = command.split('>').next().unwrap_or_default();
                    let begin = command.find("tickwire ").expect("it is there");
                    let words = shell_words(&command[begin..]);
                    if left_out(&words[1]) {
                        continue;
                    }
                    let result = command_line().try_get_matches_from(&words);
                    assert!(result.is_ok(), "{path}: {command}: {}", result.unwrap_err());
                    parsed += 1;
                }
            }
            assert!(joined.contains(&format!("tickwire {path}")), "{path}: {joined}");
        }
        assert!(parsed >= built, "{parsed}");
    }

    /// Splits text into words as a shell does, with single quotes.
    fn shell_words(text: &str) -> Vec<String> {
        let parts = text.split('\'').enumerate();
        let words = parts.flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }

    #[cfg(not(feature = "top"))]
    #[test]
    fn the_help_of_a_command_that_was_not_built_in_says_how_to_build_it() {
        let mut command = command_line();
        let top = command.find_subcommand_mut("top").expect("it is there");
        let help = top.render_long_help().to_string();
        assert!(help.contains("cargo build --release --features top"), "{help}");
        assert!(!help.contains("Examples"), "{help}");
    }

    #[test]
    fn help_shows_the_examples() {
        let mut command = command_line();
        let decode = command.find_subcommand_mut("decode").expect("it is there");
        let help = decode.render_long_help().to_string();
        assert!(help.contains("Examples:\n  # One JSON object per message:\n"), "{help}");
    }
}
