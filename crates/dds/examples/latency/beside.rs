//! Plain UDP, a listener here and Cyclone's example in C, in turns.

use std::path::Path;
use std::process::{Command, Stdio};

use tickwire_dds::DomainConfig;

use super::{measure_row, stop, wire_id};

/// Round trips of a turn here; the example in C takes as many as it can in [`PEER_SECONDS`].
const ROUND_TRIPS: u32 = 20_000;
/// The example warms up for five seconds before.
const PEER_SECONDS: &str = "3";
/// Bytes of its samples, as many as a quote has at most.
const PEER_BYTES: &str = "32";

/// Half the round trips of one turn, in microseconds.
struct Halves {
    p50: f64,
    p99: f64,
}

/// Compares them in this number of rounds. `peer` is the folder with the programs `ping` and `pong`.
pub fn compare(peer: &Path, rounds: u32) {
    let here = |row| {
        let mut halves = measure_row(row, ROUND_TRIPS).halves;
        halves.sort_unstable();
        let at = |part: f64| halves[(halves.len() as f64 * part) as usize] as f64 / 1000.0;
        Halves { p50: at(0.5), p99: at(0.99) }
    };
    let mut rows = [
        ("plain UDP, blocking", Vec::new()),
        ("Quote, reliable, listener", Vec::new()),
        ("Cyclone's example in C, listener", Vec::new()),
    ];
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        rows[0].1.push(here("udp-blocking"));
        rows[1].1.push(here("quote-reliable-listener"));
        rows[2].1.push(of_peer(peer));
    }
    println!(
        "{:<34} {:>26} {:>26}",
        "half the round trip, us", "p50 of the rounds", "p99 of the rounds"
    );
    println!("{:<34} {:>26} {:>26}", "", "least / median / most", "least / median / most");
    for (title, halves) in &rows {
        let p50 = spread(halves.iter().map(|of| of.p50).collect());
        let p99 = spread(halves.iter().map(|of| of.p99).collect());
        println!("{title:<34} {p50:>26} {p99:>26}");
    }
    println!("The example in C prints whole microseconds.");
}

fn spread(mut all: Vec<f64>) -> String {
    all.sort_unstable_by(f64::total_cmp);
    let (least, most) = (all[0], all[all.len() - 1]);
    format!("{least:.1} / {:.1} / {most:.1}", all[all.len() / 2])
}

/// Runs the example in C with the settings of a participant here.
fn of_peer(peer: &Path) -> Halves {
    let config = DomainConfig { wire_id: Some(wire_id()), ..DomainConfig::default() };
    let settings = config.print_xml(0).unwrap();
    let start = |program: &str| {
        let mut command = Command::new(peer.join(program));
        command.env("CYCLONEDDS_URI", &settings).arg("-l").stdin(Stdio::null());
        command
    };
    let pong = start("pong").stdout(Stdio::null()).spawn().expect("pong starts");
    let ping = start("ping").args([PEER_BYTES, "0", PEER_SECONDS]).output();
    stop(pong);
    let output = String::from_utf8(ping.expect("ping starts").stdout).expect("text");
    let overall = output.lines().find_map(|line| line.trim().strip_prefix("# Overall"));
    let overall = overall.unwrap_or_else(|| panic!("ping printed no result: {output}"));
    // Count, median, least, 99 %, most.
    let columns: Vec<f64> =
        overall.split_whitespace().map(|column| column.parse().expect("a number")).collect();
    Halves { p50: columns[1], p99: columns[3] }
}
