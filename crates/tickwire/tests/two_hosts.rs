//! Sender and receiver on two hosts: network namespaces joined by a virtual cable.

#[path = "support/receiving.rs"]
mod receiving;
mod support;

use receiving::Receiving;
use serde_json::Value;
use std::process::{Command, Output};
use support::{directory, tickwire};
use tickwire_testing::{Need, skip};

/// Two namespaces with one joined interface each, removed when dropped.
struct TwoHosts {
    names: [String; 2],
}

fn ip(arguments: &str) -> Option<Output> {
    Command::new("ip").args(arguments.split_whitespace()).output().ok()
}

fn succeeds(arguments: &str) -> bool {
    ip(arguments).is_some_and(|output| output.status.success())
}

impl TwoHosts {
    /// Creates them, or prints the reason and returns `None`.
    fn new() -> Option<Self> {
        let id = std::process::id();
        let hosts = Self { names: [format!("tickwire-{id}-a"), format!("tickwire-{id}-b")] };
        let [a, b] = &hosts.names;
        let steps = [
            format!("netns add {a}"),
            format!("netns add {b}"),
            format!("-n {a} link add wire type veth peer name wire netns {b}"),
            format!("-n {a} addr add 10.201.7.1/24 dev wire"),
            format!("-n {b} addr add 10.201.7.2/24 dev wire"),
            format!("-n {a} link set wire up"),
            format!("-n {b} link set wire up"),
        ];
        for step in &steps {
            let Some(output) = ip(step) else {
                skip(Need::Programs, "there is no command ip, so no second host can be made");
                return None;
            };
            if !output.status.success() {
                let why = String::from_utf8_lossy(&output.stderr);
                skip(Need::Machine, format_args!("ip {step}: {}", why.trim()));
                return None;
            }
        }
        Some(hosts)
    }

    /// Makes the cable lose, duplicate and reorder packets; returns false if the kernel cannot.
    fn worsen(&self) -> bool {
        let [a, _] = &self.names;
        let netem =
            "tc qdisc add dev wire root netem delay 200us loss 1% duplicate 1% reorder 95% 50%";
        succeeds(&format!("netns exec {a} {netem}"))
    }

    fn prefix(&self, host: usize) -> [&str; 4] {
        ["ip", "netns", "exec", &self.names[host]]
    }
}

impl Drop for TwoHosts {
    fn drop(&mut self) {
        for name in &self.names {
            succeeds(&format!("netns del {name}"));
        }
    }
}

fn count(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} of {value}"))
}

/// Runs `tickwire` on a host and returns its counters.
fn run_on(hosts: &TwoHosts, host: usize, arguments: &str) -> Value {
    let [command, words @ ..] = hosts.prefix(host);
    let output = Command::new(command)
        .args(words)
        .arg(env!("CARGO_BIN_EXE_tickwire"))
        .args(arguments.split_whitespace())
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_feed_crosses_a_bad_wire_whole() {
    let Some(hosts) = TwoHosts::new() else { return };
    let d = directory("two-hosts");
    let d = d.display();
    let made = tickwire(&format!(
        "generate cme -n 5000 --framing cme -o {d}/f.bin --snapshots {d}/s.bin --write-templates {d}/f.xml"
    ));
    assert_eq!(made.status, 0, "{}", made.err);
    let is_worse = hosts.worsen();
    println!("netem {}", if is_worse { "makes the wire worse" } else { "is not there" });
    let feeds = "-a 239.1.2.3 -p 14000 --line-b";
    let receiving = Receiving::start(
        &hosts.prefix(1),
        &format!(
            "-t {d}/f.xml --framing cme {feeds} --snapshots --interface wire --first 1 \
             --hold 2s --idle 3s"
        ),
        3,
    );
    let sent = run_on(
        &hosts,
        0,
        &format!(
            "multicast -f {d}/f.bin --snapshots {d}/s.bin {feeds} --interface wire -s 100 --loss 1 \
             --duplicate 2 --reorder 5 --json -"
        ),
    );
    // Snapshots are sent cyclically: one more cycle follows here, after every gap was declared lost.
    run_on(
        &hosts,
        0,
        &format!("multicast -f {d}/s.bin -a 239.1.2.5 -p 14002 --interface wire -s 14000 --json -"),
    );
    let received = receiving.finish();
    println!("{received}");
    assert_eq!(count(&sent, "/packets"), 5000 + count(&sent, "/lines/2/taken"));
    let (messages, missing) = (count(&received, "/messages"), count(&received, "/missing"));
    // Losses of both lines at the very end cannot be detected.
    assert!((4_990..=5_000).contains(&(messages + missing)), "{received}");
    assert!(missing < 25, "{received}");
    assert_eq!((count(&received, "/undecodable"), count(&received, "/books/mismatches")), (0, 0));
    assert_eq!(count(&received, "/books/fresh"), count(&received, "/books/known"), "{received}");
    if !is_worse {
        for line in 0..2 {
            let sent = count(&sent, &format!("/lines/{line}/sent"));
            assert_eq!(count(&received, &format!("/lines/{line}/received")), sent);
        }
    }
}
