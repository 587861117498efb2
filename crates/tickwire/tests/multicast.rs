//! `tickwire multicast`, received on loopback.

mod support;

use serde_json::Value;
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{directory, shared, tickwire};
use tickwire_net::clock::KernelTimes;
use tickwire_net::multicast::{Endpoint, Receiver, ReceiverOptions, wait_readable};

/// An endpoint that only this process uses; each test has its own port.
fn endpoint(port: u16) -> Endpoint {
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    Endpoint::loopback(Ipv4Addr::new(239, 254, high, low), port)
}

fn receiver(endpoint: Endpoint) -> Receiver {
    Receiver::open(endpoint, ReceiverOptions::default()).expect("a receiver")
}

/// A length-prefixed file of packets `0`, `1` and so on, removed when dropped.
struct Numbered(std::path::PathBuf);

impl Numbered {
    fn new(name: &str, count: u32) -> Self {
        let path = std::env::temp_dir().join(format!("tickwire-{}-{name}", std::process::id()));
        let packets = (0..count).flat_map(|number| [[0, 0, 0, 4], number.to_be_bytes()]);
        std::fs::write(&path, packets.flatten().collect::<Vec<_>>()).expect("written");
        Self(path)
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns everything that has arrived, after the sender has ended.
fn arrived(receiver: &mut Receiver) -> Vec<Vec<u8>> {
    let mut times = KernelTimes::new();
    let mut packets = Vec::new();
    while receiver.fill(&mut times).expect("received") > 0 {
        while let Some(datagram) = receiver.take() {
            packets.push(datagram.bytes.to_vec());
        }
    }
    packets
}

#[test]
fn both_lines_are_sent_with_the_same_faults_for_the_same_seed() {
    let file = Numbered::new("lines", 2000);
    let (a, b) = (endpoint(21_000), endpoint(21_001));
    let mut runs = Vec::new();
    for _ in 0..2 {
        let (mut on_a, mut on_b) = (receiver(a), receiver(b));
        let run = tickwire(&format!(
            "multicast -f {} -a {} -p {} -s 20 --group-b {} --loss 2 --duplicate 3,0 \
             --reorder 0,10 --seed 9 --json -",
            file.0.display(),
            a.group,
            a.port,
            b.group,
        ));
        assert_eq!(run.status, 0, "{}", run.err);
        let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        let packets = [arrived(&mut on_a), arrived(&mut on_b)];
        for (line, packets) in report["lines"].as_array().expect("lines").iter().zip(&packets) {
            assert_eq!(line["sent"], packets.len());
            assert!((10..100).contains(&line["lost"].as_u64().expect("a count")), "{line}");
            assert_eq!(line["taken"], 2000);
        }
        assert!(packets[0].is_sorted() && !packets[1].is_sorted());
        assert_eq!(report["lines"][1]["duplicated"], 0);
        assert!(report["elapsed_s"].as_f64() > Some(0.039));
        let [a, b] = packets;
        runs.push((a, {
            let mut b = b;
            b.sort();
            b
        }));
    }
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn each_packet_of_a_real_capture_arrives_on_each_line() {
    let Some(a_file) = shared("corpus/moex_forts/moex_forts_2013.increment_a.bin") else { return };
    let b_file = a_file.with_file_name("moex_forts_2013.increment_b.bin");
    let (a, b) = (endpoint(21_010), endpoint(21_011));
    let (mut on_a, mut on_b) = (receiver(a), receiver(b));
    let run = tickwire(&format!(
        "multicast -f {} --file-b {} -a {} -p {} --group-b {} --rate 20000",
        a_file.display(),
        b_file.display(),
        a.group,
        a.port,
        b.group,
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    for (file, receiver) in [(a_file, &mut on_a), (b_file, &mut on_b)] {
        let mut file = &std::fs::read(file).expect("read")[..];
        for packet in arrived(receiver) {
            let (len, rest) = file.split_first_chunk().expect("a length");
            let (expected, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
            assert_eq!(packet, expected);
            file = rest;
        }
        assert!(file.is_empty());
    }
}

/// Starts a sender that would take hours.
fn start_slow(file: &Numbered, to: Endpoint) -> Child {
    let (path, group, port) = (file.0.display(), to.group.to_string(), to.port.to_string());
    Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["multicast", "-f", &path.to_string(), "-a", &group, "-p", &port, "-s", "100000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

#[test]
fn ctrl_c_ends_it_with_the_table_so_far() {
    let file = Numbered::new("slow", 100_000);
    let to = endpoint(21_020);
    let receiver = receiver(to);
    let child = start_slow(&file, to);
    assert!(wait_readable(&[receiver], Duration::from_secs(20)).expect("waited"));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(out.contains("Stopped before the end.") && out.contains("taken"), "{out}");
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let file = Numbered::new("mistakes", 3);
    let path = file.0.display();
    for (arguments, expected) in [
        (format!("-f {path} --interface nowhere0"), "no interface nowhere0"),
        (format!("-f {path} --original"), "--original needs a pcap file"),
        (format!("-f {path} --input-format raw"), "name its layout, u32be or u32le"),
        (format!("-f {path}.not-there"), "cannot open"),
        (format!("-f {path} -s 1 --rate 3"), "cannot be used with"),
        (format!("-f {path} --loss 200"), "from 0 to 100"),
    ] {
        let run = tickwire(&format!("multicast {arguments}"));
        assert_eq!(run.status, 2, "{arguments}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    }
    assert_eq!(tickwire("multicast -?").status, 0);
}

/// The options are those of `generate day`, whose tests cover them.
#[test]
fn lines_are_silent_and_snapshots_lost_as_options_say() {
    let d = directory("multicast-faults");
    let dir = d.display();
    let run = tickwire(&format!(
        "generate cme -n 300 --framing cme --snapshots {dir}/s.bin -o {dir}/f.bin --write-templates \
         {dir}/f.xml"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let sent = |options: &str| -> Value {
        let [high, low] = (std::process::id() as u16).to_be_bytes();
        let run = tickwire(&format!(
            "multicast -f {dir}/f.bin --snapshots {dir}/s.bin -a 239.249.{high}.{low} -p 24950 \
             --line-b -s 200us --json - {options}"
        ));
        assert_eq!(run.status, 0, "{options}: {}", run.err);
        serde_json::from_str(&run.out).expect("JSON")
    };
    let packets = |counters: &Value, line: usize| counters["lines"][line]["sent"].as_u64();
    let whole = sent("");
    assert_eq!((packets(&whole, 0), packets(&whole, 1)), (Some(300), Some(300)), "{whole:#}");
    let faulty = sent("--silence never,20ms..40ms --snapshot-loss 100 --drift 0,2ms");
    assert_eq!(packets(&faulty, 0), Some(300));
    assert!(packets(&faulty, 1) < Some(270), "{faulty:#}");
    assert_eq!(packets(&faulty, 2), Some(0), "{faulty:#}");
}

/// Writes a capture of packets with these numbers. The time of packet n is n milliseconds plus
/// `late_ns`.
fn timed(path: &std::path::Path, numbers: std::ops::Range<u32>, late_ns: u64) -> String {
    let packets: Vec<_> = numbers.map(|number| (number, number.to_be_bytes())).collect();
    let datagrams = packets.iter().map(|(number, packet)| {
        (1_000_000 * u64::from(*number) + late_ns, "239.1.1.1:5000", packet.as_slice())
    });
    std::fs::write(path, support::timed_pcap(datagrams)).expect("written");
    path.display().to_string()
}

#[test]
fn captures_of_both_lines_and_of_snapshots_are_aligned_by_their_times() {
    let d = directory("multicast-aligned");
    let file_a = timed(&d.join("a.pcap"), 10..40, 0);
    let file_b = timed(&d.join("b.pcap"), 0..30, 100_000);
    let snapshots = timed(&d.join("s.pcap"), 25..26, 200_000);
    let ends = [21_040, 21_041, 21_042].map(endpoint);
    let mut receivers = ends.map(receiver);
    let run = tickwire(&format!(
        "multicast -f {file_a} --file-b {file_b} --snapshots {snapshots} -a {0} -p {1} --group-b {0} \
         --port-b {2} --snapshot-group {0} --snapshot-port {3} -s 500us --json -",
        ends[0].group, ends[0].port, ends[1].port, ends[2].port
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let mut all = Vec::new();
    for (receiver, line) in receivers.iter_mut().zip(["a", "b", "s"]) {
        let mut times = KernelTimes::new();
        while receiver.fill(&mut times).expect("received") > 0 {
            while let Some(datagram) = receiver.take() {
                let number = u32::from_be_bytes(datagram.bytes.try_into().expect("a number"));
                all.push((datagram.received_ns, format!("{line}{number}")));
            }
        }
    }
    all.sort();
    let order: Vec<String> = all.into_iter().map(|(_, packet)| packet).collect();
    let mut expected = Vec::new();
    for number in 0..40 {
        expected.extend((10..40).contains(&number).then(|| format!("a{number}")));
        expected.extend((0..30).contains(&number).then(|| format!("b{number}")));
        expected.extend((number == 25).then(|| "s25".to_owned()));
    }
    assert_eq!(order, expected);
    // Nine packets of line B alone, then thirty of line A: each line is sent at the requested pace.
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    assert!(report["elapsed_s"].as_f64() >= Some(38.0 * 0.0005), "{report}");

    let untimed = Numbered::new("untimed", 5);
    let run = tickwire(&format!("multicast -f {file_a} --file-b {}", untimed.0.display()));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("aligned by capture time, and"), "{}", run.err);
}

#[test]
fn times_that_go_back_are_told() {
    let d = directory("multicast-back");
    let packet = [1, 2, 3, 4];
    let times = [5_000_000, 3_000_000, 6_000_000];
    let datagrams = times.map(|ns| (ns, "239.1.1.1:5000", packet.as_slice()));
    let file = support::file(&d, "back.pcap", &support::timed_pcap(datagrams));
    let told = "1 packet with a time before that of an earlier packet, by up to 2ms";
    let to = endpoint(21_060);
    let templates = support::templates("simple");
    for command in [
        format!("multicast -f {file} -a {} -p {}", to.group, to.port),
        format!("decode {file} -t {templates} -q"),
        format!("receive --capture {file} -t {templates} -a 239.1.1.1 -p 5000 --framing cme"),
        format!("explain {file} -t {templates} --packets 0.."),
        format!("opra decode -f {file} -q"),
        format!("opra decode -f {file} --show events -q"),
    ] {
        let run = tickwire(&command);
        assert!(run.err.contains(told), "{command}: {}", run.err);
    }
}

#[test]
fn packets_of_a_capture_with_several_destinations_go_to_their_lines() {
    let directory = directory("multicast_several");
    let (a, b) = (endpoint(21_070), endpoint(21_071));
    let (to_a, to_b) = (a.address().to_string(), b.address().to_string());
    let datagrams: Vec<(&str, &[u8])> = vec![
        (&to_a, b"a1"),
        ("10.9.9.9:53", b"dns"),
        (&to_b, b"b1"),
        (&to_a, b"a2"),
        (&to_b, b"b2"),
    ];
    let capture = support::file(&directory, "day.pcap", &support::pcap(&datagrams));
    let send = |options: &str| tickwire(&format!("multicast -f {capture} -s 20us {options}"));
    let (mut on_a, mut on_b) = (receiver(a), receiver(b));
    let line_a = format!("-a {} -p {}", a.group, a.port);
    let run = send(&format!("{line_a} --group-b {} --port-b {}", b.group, b.port));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(arrived(&mut on_a), [b"a1", b"a2"]);
    assert_eq!(arrived(&mut on_b), [b"b1", b"b2"]);
    assert!(run.err.contains("day.pcap: 1 packet to other destinations not sent"), "{}", run.err);
    // If the capture has no packets for line B, line B carries the packets of line A.
    let elsewhere = endpoint(21_072);
    let mut on_b = receiver(elsewhere);
    let run = send(&format!("{line_a} --group-b {} --port-b {}", b.group, elsewhere.port));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(arrived(&mut on_a), [b"a1", b"a2"]);
    assert_eq!(arrived(&mut on_b), [b"a1", b"a2"]);
    // One line, whose packets are chosen by their destination in the capture.
    let run = send(&format!("{line_a} --capture-port 53"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(arrived(&mut on_a), [b"dns"]);
    let run = send(&format!("{line_a} --json -"));
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(report["to_other_destinations"], 3, "{report}");
    assert!(run.err.contains("day.pcap: 3 packets to other destinations not sent"), "{}", run.err);
    let run = send("-a 239.254.0.1 -p 21072");
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("has packets to several destinations"), "{}", run.err);
    assert!(run.err.contains(&format!("2 to {to_a}")), "{}", run.err);
    assert!(run.err.contains("--capture-address and --capture-port"), "{}", run.err);
    let run = send(&format!("{line_a} --capture-port 9999"));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains(&format!("2 to {to_a}")), "{}", run.err);
}

/// A FIFO in `directory` into which another process writes `content` once.
fn fifo(directory: &std::path::Path, content: &str) -> (String, Child) {
    let path = directory.join("fifo").display().to_string();
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    let script = format!("cat {content} > {path}");
    (path, Command::new("sh").args(["-c", &script]).spawn().expect("a writer"))
}

/// Runs `tickwire`, which must end within a minute.
fn ends(arguments: &str) -> std::process::Output {
    let limited = ["60", env!("CARGO_BIN_EXE_tickwire")];
    let command = Command::new("timeout").args(limited).args(arguments.split_whitespace()).output();
    command.expect("timeout runs")
}

#[test]
fn a_pipe_is_sent_whole_and_decoded_once() {
    let directory = directory("multicast_pipe");
    let (to, other) = (endpoint(21_080), endpoint(21_081).address().to_string());
    let to_a = to.address().to_string();
    let datagrams: Vec<(&str, &[u8])> = vec![(&to_a, b"1"), (&other, b"2"), (&to_a, b"3")];
    let capture = support::file(&directory, "day.pcap", &support::pcap(&datagrams));
    let mut receiver = receiver(to);
    let (path, mut writer) = fifo(&directory, &capture);
    let run = ends(&format!("multicast -f {path} -a {} -p {} --rate 1000", to.group, to.port));
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(arrived(&mut receiver), [b"1", b"2", b"3"]);
    let _ = writer.kill();
    writer.wait().expect("the writer ends");

    std::fs::remove_file(&path).expect("removed");
    let (path, mut writer) = fifo(&directory, &capture);
    let run = ends(&format!("decode {path} -t {} --port 9999", support::templates("simple")));
    let err = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{err}");
    assert!(err.contains("no packet is sent to port 9999, but 3 to others"), "{err}");
    let _ = writer.kill();
    writer.wait().expect("the writer ends");
}

#[test]
fn original_times_begin_with_the_first_packet_that_is_sent() {
    let directory = directory("multicast_original");
    let (a, b) = (endpoint(21_090), endpoint(21_091));
    let (to_a, to_b) = (a.address().to_string(), b.address().to_string());
    let hours_ns = 7_200_000_000_000;
    let datagrams: [(u64, &str, &[u8]); 3] =
        [(0, "10.9.9.9:53", b"dns"), (hours_ns, &to_a, b"a"), (hours_ns + 1_000_000, &to_b, b"b")];
    let capture = support::file(&directory, "day.pcap", &support::timed_pcap(datagrams));
    let (mut on_a, mut on_b) = (receiver(a), receiver(b));
    let run = ends(&format!(
        "multicast -f {capture} --original -a {} -p {} --group-b {} --port-b {}",
        a.group, a.port, b.group, b.port
    ));
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(
        (arrived(&mut on_a), arrived(&mut on_b)),
        (vec![b"a".to_vec()], vec![b"b".to_vec()])
    );
}

#[test]
fn a_line_is_found_behind_any_number_of_other_destinations() {
    let directory = directory("multicast_ports");
    let to = endpoint(21_100);
    let to_a = to.address().to_string();
    let ports: Vec<String> = (1024..3000).map(|port| format!("10.9.9.9:{port}")).collect();
    let noise = ports.iter().map(|port| (port.as_str(), &b"answer"[..]));
    let feed: [(&str, &[u8]); 2] = [(&to_a, b"a1"), (&to_a, b"a2")];
    let datagrams: Vec<_> = noise.chain(feed).collect();
    let capture = support::file(&directory, "day.pcap", &support::pcap(&datagrams));
    let mut receiver = receiver(to);
    let run = tickwire(&format!("multicast -f {capture} -a {} -p {} -s 20us", to.group, to.port));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(arrived(&mut receiver), [b"a1", b"a2"]);
    // The feed has the most packets, so it is listed first.
    let run = tickwire(&format!("multicast -f {capture} -a 239.254.0.1 -p 21072"));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(
        run.err.contains(&format!("Packets found: 2 to {to_a}, 1 to 10.9.9.9:")),
        "{}",
        run.err
    );
    assert!(run.err.contains(" to 1957 other destinations"), "{}", run.err);
}
