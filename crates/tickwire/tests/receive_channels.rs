//! Several channels of a feed file in one `tickwire receive`.

mod support;

#[path = "support/receiving.rs"]
mod receiving;

use receiving::Receiving;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use support::{directory, file, packets_of, tickwire, timed_pcap};

fn run(arguments: &str) {
    let run = tickwire(arguments);
    assert_eq!(run.status, 0, "{arguments}: {}", run.err);
}

/// Feeds x and y with snapshots, and a feed file with both. Groups are `net`.1 and so on, ports start at
/// `port`.
fn feeds(d: &Path, net: &str, port: u16) -> String {
    let dir = d.display();
    for (name, seed) in [("x", 1), ("y", 2)] {
        run(&format!(
            "generate cme -n 400 --seed {seed} --framing cme --snapshots {dir}/{name}s.bin -o \
             {dir}/{name}.bin --write-templates {dir}/{name}.xml"
        ));
    }
    let channel = |name: &str, group: u8, port: u16| {
        format!(
            "[channels.{name}]\ntemplates = \"{name}.xml\"\n\
             [channels.{name}.lines]\n\
             a = {{ group = \"{net}.{group}\", port = {port} }}\n\
             [channels.{name}.snapshots]\n\
             a = {{ group = \"{net}.{}\", port = {} }}\n",
            group + 1,
            port + 1
        )
    };
    let text = format!(
        "framing = \"cme\"\n[books]\nkey = [\"SecurityID\"]\n{}{}",
        channel("x", 1, port),
        channel("y", 11, port + 10)
    );
    file(d, "feed.toml", text.as_bytes())
}

/// Splits a line of output into the line without its channel and the channel.
fn split(line: &str) -> (String, String) {
    let rest = line.strip_prefix("{\"channel\": \"").expect(line);
    let (channel, rest) = rest.split_once("\", ").expect(line);
    (channel.to_owned(), format!("{{{rest}"))
}

/// Writes a capture in which packets of both channels alternate.
fn capture_of_both(d: &Path) -> String {
    let mut datagrams = Vec::new();
    for (name, to, snapshots_to, start) in [
        ("x", "233.252.1.1:29100", "233.252.1.2:29101", 0_u64),
        ("y", "233.252.1.11:29110", "233.252.1.12:29111", 500),
    ] {
        let updates = packets_of(&d.join(format!("{name}.bin")));
        let snapshots = packets_of(&d.join(format!("{name}s.bin")));
        let of = |to: &'static str, packets: Vec<Vec<u8>>| {
            (0..).zip(packets).map(move |(index, packet)| (start + index * 1_000, to, packet))
        };
        datagrams.extend(of(to, updates).chain(of(snapshots_to, snapshots)));
    }
    datagrams.sort_by_key(|(time_ns, ..)| *time_ns);
    let borrowed = datagrams.iter().map(|(ns, to, packet)| (*ns, *to, packet.as_slice()));
    file(d, "both.pcap", &timed_pcap(borrowed))
}

#[test]
fn channels_of_captures_are_received_together_and_each_line_tells_its_channel() {
    let d = directory("receive-channels");
    let feed = feeds(&d, "233.252.1", 29_100);
    let capture = capture_of_both(&d);
    let json = d.join("counters.json");
    let show = format!("--capture {capture} --show messages,books,events");
    let both = tickwire(&format!("receive --feed {feed} {show} --json {}", json.display()));
    assert_eq!(both.status, 0, "{}", both.err);
    let lines: Vec<(String, String)> = both.out.lines().map(split).collect();
    for name in ["x", "y"] {
        let alone = tickwire(&format!("receive --feed {feed} --channel {name} {show}"));
        assert_eq!(alone.status, 0, "{}", alone.err);
        assert!(alone.out.contains("\"state\": \"fresh\""), "{}", alone.out);
        let together = lines.iter().filter(|(channel, _)| channel == name);
        let together: Vec<&str> = together.map(|(_, line)| line.as_str()).collect();
        assert_eq!(together, alone.out.lines().collect::<Vec<_>>(), "channel {name}");
    }
    let times: Vec<u64> =
        both.json_lines().iter().map(|line| line["time"].as_u64().expect("a time")).collect();
    assert!(times.is_sorted(), "lines of both channels come in the order of time");
    let counters = std::fs::read_to_string(&json).expect("a file");
    let counters: serde_json::Value = serde_json::from_str(&counters).expect("JSON");
    let [x, y] = [0, 1].map(|index| &counters["channels"][index]);
    assert_eq!((&x["channel"], &x["packets"]), (&"x".into(), &400.into()));
    assert_eq!((&y["channel"], &y["packets"]), (&"y".into(), &400.into()));
    assert_eq!(counters["end"], "captures");
    for (heading, format) in [("channel,time,instrument", "csv"), ("x 19", "text")] {
        let run = tickwire(&format!(
            "receive --feed {feed} --channel x,y --capture {capture} --show bbo --format {format}"
        ));
        assert_eq!(run.status, 0, "{}", run.err);
        assert!(run.out.starts_with(heading), "{}", &run.out[..200]);
        assert!(run.out.lines().any(|line| line.starts_with("y")), "{}", run.out);
    }
}

/// The best prices of a line of output, by channel.
fn best_price(line: &str) -> [serde_json::Value; 3] {
    let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
    ["channel", "instrument", "time"].map(|name| row[name].clone())
}

#[test]
fn channels_are_published_together_and_each_sample_names_its_channel() {
    let d = directory("publish-channels");
    let feed = feeds(&d, "233.252.1", 29_100);
    let capture = capture_of_both(&d);
    let channels = format!("/dev/shm/tickwire-test-{}-channels", std::process::id());
    let at = format!("--transport shm --shm-directory {channels}");
    let subscribe = format!("subscribe --show --topic BookTop --no-echo {at}");
    let subscriber = std::process::Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(subscribe.split(' '))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let samples = std::thread::spawn(|| subscriber.wait_with_output().expect("it ends"));
    let published = tickwire(&format!("receive --feed {feed} --capture {capture} --publish {at}"));
    let samples = samples.join().expect("no panic");
    let _ = std::fs::remove_dir_all(&channels);
    assert_eq!(published.status, 0, "{}", published.err);
    assert!(samples.status.success(), "nothing is lost: {samples:?}");

    let samples = String::from_utf8(samples.stdout).expect("UTF-8");
    let samples: Vec<_> = samples.lines().map(best_price).collect();
    let shown = tickwire(&format!("receive --feed {feed} --capture {capture} --show bbo"));
    let shown: Vec<_> = shown.out.lines().map(best_price).collect();
    for name in ["x", "y"] {
        let of = |rows: &[[serde_json::Value; 3]]| {
            let rows = rows.iter().filter(|[channel, ..]| channel == name);
            rows.cloned().collect::<Vec<_>>()
        };
        assert!(of(&shown).len() > 50, "{}", of(&shown).len());
        assert_eq!(of(&samples), of(&shown), "channel {name}");
    }
}

#[test]
fn a_key_field_that_no_template_has_is_refused() {
    let d = directory("receive-channels-key");
    let feed = feeds(&d, "233.252.3", 29_300);
    let text = std::fs::read_to_string(&feed).expect("a file").replace("SecurityID", "SecurityId");
    std::fs::write(&feed, text).expect("a file");
    let run = tickwire(&format!("receive --feed {feed} --channel x --capture {feed}"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("instrument key SecurityId: no template has a field"), "{}", run.err);
}

#[test]
fn options_of_one_channel_are_refused_for_several() {
    let d = directory("receive-channels-refused");
    let feed = feeds(&d, "233.252.2", 29_200);
    for (arguments, expected) in [
        ("-a 239.1.1.1", "addresses on the command line: select one channel with --channel"),
        (
            "--capture-line a=x.bin",
            "--capture-line on the command line: select one channel with --channel",
        ),
        ("--capture x.bin --lines auto", "--lines auto on the command line"),
        ("--show messages --format csv", "name one --channel"),
        ("--threads 2 --cpu 0", "--cpu names 1 CPUs for 2 threads"),
        ("--channel z", "no channel `z`; the file has x, y"),
    ] {
        let run = tickwire(&format!("receive --feed {feed} {arguments}"));
        assert_eq!(run.status, 2, "{arguments}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    }
}

/// Returns the metrics that a process serves at an address.
fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("metrics are served");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("UTF-8");
    text
}

#[test]
fn channels_on_two_threads_are_received_live_with_metrics_of_each() {
    let d = directory("receive-channels-live");
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let feed = feeds(&d, &format!("239.{}.{low}", 200 | (high & 15)), 24_300);
    let arguments = format!("--feed {feed} --threads 2 --hold 200ms --idle 3s --metrics 0");
    let mut receiving = Receiving::start(&[], &arguments, 4);
    let address = receiving.wait_for("http://", 1);
    let address = address.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    for name in ["x", "y"] {
        run(&format!(
            "multicast --feed {feed} --channel {name} -f {0}/{name}.bin --snapshots {0}/{name}s.bin \
             -s 20us --json -",
            d.display()
        ));
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    let metrics = scrape(address.expect("an address"));
    for name in ["x", "y"] {
        let delivered = format!("tickwire_feed_delivered_packets_total{{channel=\"{name}\"}} 400");
        assert!(metrics.contains(&delivered), "{metrics}");
    }
    for thread in ["0", "1"] {
        let steps = format!("tickwire_net_clock_steps_total{{thread=\"{thread}\"}}");
        assert!(metrics.contains(&steps), "{metrics}");
    }
    let counters = receiving.finish();
    for index in [0, 1] {
        assert_eq!(counters["channels"][index]["packets"], 400, "{counters:#}");
        assert_eq!(counters["channels"][index]["missing"], 0);
    }
    assert_eq!(counters["end"], "idle");
}
