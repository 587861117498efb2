//! `tickwire demo`: the live chain, stopped and killed.
mod support;

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::tickwire;

/// The transports of the samples.
const TRANSPORTS: &[&str] = if cfg!(feature = "dds") { &["dds", "shm"] } else { &["shm"] };

/// Longest wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(30);

/// Processes that work for the demo with this process id: their command lines contain its directory.
fn workers(demo: u32) -> Vec<u32> {
    processes_with(&format!("tickwire-demo-{demo}-"))
}

/// Processes whose command lines contain `mark`.
fn processes_with(mark: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("a /proc").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let works = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    };
    ids.filter(works).collect()
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a demo that would run for a long time, and waits until all its processes run.
fn started() -> Child {
    let child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["demo", "--messages", "200", "--live-messages", "1000000", "--rate", "1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the demo starts");
    let id = child.id();
    wait("three processes", || workers(id).len() == 3);
    child
}

#[test]
fn nothing_is_lost_between_the_lines_and_the_subscriber() {
    let path = std::env::temp_dir().join(format!("tickwire-demo-test-{}.json", std::process::id()));
    let run =
        tickwire(&format!("demo --messages 500 --live-messages 1500 --json {}", path.display()));
    let text = std::fs::read_to_string(&path).expect("a report");
    let _ = std::fs::remove_file(&path);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let feeds = json["feeds"].as_array().expect("feeds");
    assert_eq!(feeds.len(), 2 * TRANSPORTS.len());
    for feed in feeds {
        let counters = &feed["counters"];
        let count = |name: &str| counters[name].as_u64().expect("a number");
        assert_eq!(count("generated"), 1501);
        assert!(count("published") >= 1490, "{counters}");
        assert_eq!(count("received"), count("published"));
        assert_eq!((count("lost"), count("duplicates")), (0, 0));
        let lost = |line: usize| feed["multicaster"]["lines"][line]["lost"].as_u64();
        assert!(lost(0) > Some(0) && lost(1) > Some(0), "both lines lose packets");
    }
    let has = |row: &str| {
        assert!(run.out.lines().any(|line| line.starts_with(row)), "{row}: {}", run.out);
    };
    has("Simple decode ");
    has("Simple decode to published");
    has("Simple one way, round trip halved");
    has("Complex one way, shared clock");
    let heading = run.out.lines().find(|line| line.contains("p99.9")).expect("a heading");
    for transport in TRANSPORTS {
        assert!(heading.contains(&format!("{transport} p50")), "{heading}");
    }
    has("All threads block, so the times depend on how the CPUs idle: ");
    assert!(json["idle_setting"].as_str().is_some_and(|setting| !setting.is_empty()));
    has("plain UDP one way, round trip halved");
}

#[test]
fn ctrl_c_ends_all_processes_and_prints_the_table_so_far() {
    let mut demo = started();
    let id = demo.id();
    let mut out = demo.stdout.take().expect("piped");
    let status = Command::new("kill").args(["-INT", &id.to_string()]).status();
    assert!(status.expect("kill runs").success());
    let mut text = String::new();
    out.read_to_string(&mut text).expect("UTF-8");
    assert_eq!(demo.wait().expect("a status").code(), Some(1));
    assert!(text.contains(&format!("Simple {}: line A lost", TRANSPORTS[0])), "{text}");
    assert!(text.contains("Stopped before the end."), "{text}");
    assert_eq!(workers(id), [0_u32; 0]);
}

#[test]
fn a_killed_demo_leaves_no_process_behind() {
    let mut demo = started();
    let id = demo.id();
    demo.kill().expect("killed");
    demo.wait().expect("gone");
    wait("no process is left", || workers(id).is_empty());
}

#[test]
fn a_killed_demo_with_a_monitor_leaves_no_process_behind() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["demo", "--monitor", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the demo starts");
    let directory = format!("tickwire-demo-{}", demo.id());
    // The feed has a sender and a handler, the session has two ends, and the topics have a sender and, for each
    // transport, a publisher and two subscribers. Over DDS, subscribers use no file.
    let count = 5 + TRANSPORTS
        .iter()
        .map(|transport| if *transport == "dds" { 1 } else { 3 })
        .sum::<usize>();
    wait("all processes", || processes_with(&directory).len() >= count);
    demo.kill().expect("killed");
    demo.wait().expect("gone");
    wait("no process is left", || processes_with(&directory).is_empty());
    std::fs::remove_dir_all(std::env::temp_dir().join(&directory)).expect("the demo's files");
    // Publishers that ended with the demo may have removed it.
    let _ = std::fs::remove_dir_all(std::path::Path::new("/dev/shm").join(directory));
}

#[test]
fn the_feed_of_the_monitored_demo_goes_on_with_fresh_books() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    drop(listener);
    let mut demo = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        // Rounds of one second.
        .args(["demo", "--monitor", &address["127.0.0.1:".len()..], "--monitor-round", "1000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the demo starts");
    let directory = format!("tickwire-demo-{}", demo.id());
    wait("the monitor", || TcpStream::connect(&address).is_ok());
    let channel = || state(&address, "/p/feed")["channels"][0].clone();
    let delivered = |channel: &Value| channel["delivered_packets"].as_u64().unwrap_or(0);
    let fresh = |channel: &Value| channel["books"]["fresh"].as_u64().unwrap_or(0);
    // More packets than two rounds have.
    wait("packets of the third round", || delivered(&channel()) > 2_500);
    let before = channel();
    wait("fresh books after more packets", || {
        let now = channel();
        let stale: u64 = now["books"]["stale"]
            .as_object()
            .expect("reasons")
            .values()
            .filter_map(Value::as_u64)
            .sum();
        delivered(&now) > delivered(&before) + 500 && fresh(&now) > 0 && stale == 0
    });
    let now = channel();
    assert!(now["messages"].as_u64() > before["messages"].as_u64(), "{now}");
    assert_eq!((&now["status"], &now["sequence_resets"]), (&"live".into(), &0.into()));
    let status = Command::new("kill").args(["-INT", &demo.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
    assert_eq!(demo.wait().expect("a status").code(), Some(0));
    wait("no process is left", || processes_with(&directory).is_empty());
    assert!(!std::env::temp_dir().join(&directory).exists(), "the demo's files are left");
    assert!(!std::path::Path::new("/dev/shm").join(directory).exists(), "channels are left");
}

/// Returns the state of a process that a monitor serves; an error before the process answers.
fn state(address: &str, process: &str) -> Value {
    let mut stream = TcpStream::connect(address).expect("served");
    write!(stream, "GET {process}/api/v1/state HTTP/1.0\r\n\r\n").expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    let (_, body) = text.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

#[test]
fn a_question_mark_prints_the_usage_of_every_command() {
    let help = tickwire("-?");
    assert_eq!(help.status, 0);
    let commands = help.out.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<_> = commands
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for wanted in ["demo", "generate", "multicast", "publish", "subscribe"] {
        assert!(commands.contains(&wanted), "{commands:?}");
    }
    for command in commands.into_iter().filter(|command| *command != "help") {
        let help = tickwire(&format!("{command} -?"));
        assert_eq!(help.status, 0, "{command}: {}", help.err);
        assert!(help.out.contains(&format!("Usage: tickwire {command}")), "{}", help.out);
    }
}
