//! The server of the monitor: the clients that it answers, and the lines that it prints.
mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a line.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command that runs until this value is dropped.
struct Running {
    child: Child,
    remarks: BufReader<ChildStderr>,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let remarks = BufReader::new(child.stderr.take().expect("piped"));
        Self { child, remarks }
    }

    /// Returns the next line on standard error that has this text.
    fn line(&mut self, wanted: &str) -> String {
        let (end, mut line) = (Instant::now() + PATIENCE, String::new());
        while !line.contains(wanted) {
            line.clear();
            let len = self.remarks.read_line(&mut line).expect("text");
            assert!(len > 0 && Instant::now() < end, "no line has {wanted:?}");
        }
        line
    }

    /// Returns the port of its monitor.
    fn port(&mut self) -> u16 {
        let line = self.line("monitor at ");
        let (_, url) = line.split_once("monitor at ").expect("an address");
        let rest = url.split(':').nth(2).expect("a port");
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Requests a path; returns the status and the body.
fn get(port: u16, path: &str, headers: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("served");
    write!(stream, "GET {path} HTTP/1.0\r\n{headers}\r\n").expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let (_, body) = text.split_once("\r\n\r\n").expect("a body");
    (status, body.to_owned())
}

fn folder(name: &str) -> PathBuf {
    support::directory(&format!("monitor-{name}"))
}

/// Writes the configuration of a page over one process that does not run.
fn configuration(name: &str) -> String {
    let text = b"[[process]]\nname = \"feed\"\naddress = \"127.0.0.1:1\"\n";
    support::file(&folder(name), "processes.toml", text)
}

#[test]
fn an_address_of_other_hosts_needs_a_token_or_certificates() {
    let config = configuration("open");
    let refused = support::tickwire(&format!("monitor --config {config} --monitor 0.0.0.0:0"));
    assert_eq!(refused.status, 2, "{}", refused.err);
    let wanted = "--monitor 0.0.0.0:0: the address is reachable from other hosts: protect it with --monitor-token \
                  FILE or --monitor-tls-clients FILE";
    assert!(refused.err.contains(wanted), "{}", refused.err);

    let token = folder("token").join("token");
    let token = token.to_str().expect("text");
    let arguments =
        ["monitor", "--config", &config, "--monitor", "0.0.0.0:0", "--monitor-token", token];
    let mut running = Running::start(&arguments);
    let port = running.port();
    assert_eq!(get(port, "/health", "").0, 401);
    let warning = running.line("no token");
    assert!(warning.contains("127.0.0.1:") && warning.contains("/health"), "{warning}");
    let token = std::fs::read_to_string(token).expect("made");
    let shown = format!("Authorization: Bearer {}\r\n", token.trim());
    assert_eq!(get(port, "/health", &shown).0, 200);
    let (_, metrics) = get(port, "/metrics", &shown);
    assert!(metrics.contains("tickwire_http_unauthorized_requests_total 1\n"), "{metrics}");
}

#[test]
fn the_page_over_several_processes_has_metrics() {
    let config = configuration("metrics");
    let mut running = Running::start(&["monitor", "--config", &config, "--monitor", "0"]);
    let (status, text) = get(running.port(), "/metrics", "");
    assert_eq!(status, 200);
    let info = format!("tickwire_build_info{{version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&info) && text.contains("resident_memory_bytes"), "{text}");
}

#[test]
fn every_command_that_serves_metrics_tells_its_build() {
    let config = configuration("builds");
    let folder = folder("builds-feed");
    let place = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let (feed, templates) = (place("feed.bin"), place("feed.xml"));
    let made = support::tickwire(&format!(
        "generate simple -n 5000 -o {feed} --write-templates {templates}"
    ));
    assert_eq!(made.status, 0, "{}", made.err);
    let lines = "-a 239.255.87.1 -p 46871";
    for (command, arguments) in [
        ("monitor", format!("monitor --config {config}")),
        ("fix server", "fix server --port 0".to_owned()),
        ("receive", format!("receive -t {templates} --reset packet {lines}")),
        ("multicast", format!("multicast -f {feed} {lines} --rate 1")),
    ] {
        let arguments = format!("{arguments} --monitor 0");
        let mut running = Running::start(&arguments.split(' ').collect::<Vec<_>>());
        let port = running.port();
        let (_, metrics) = get(port, "/metrics", "");
        let line = metrics.lines().find(|line| line.starts_with("tickwire_build_info{"));
        let line = line.unwrap_or_else(|| panic!("{command}: {metrics}"));
        let (_, build) = get(port, "/build", "");
        let build: Value = serde_json::from_str(&build).expect("JSON");
        for label in ["version", "commit", "command"] {
            let value = build[label].as_str().unwrap_or_else(|| panic!("{command}: {build}"));
            assert!(line.contains(&format!("{label}=\"{value}\"")), "{command}: {line} {build}");
        }
        assert!(line.contains(&format!("command=\"{command}\"")), "{line}");
    }
}

#[test]
fn with_json_logs_every_line_is_an_object() {
    let config = configuration("json");
    let arguments = ["--log-format", "json", "monitor", "--config", &config, "--monitor", "0"];
    let mut running = Running::start(&arguments);
    let line: Value = serde_json::from_str(&running.line("monitor at ")).expect("JSON");
    assert_eq!((&line["level"], &line["target"]), (&"INFO".into(), &"tickwire".into()));
    assert!(line["timestamp"].as_str().expect("a time").ends_with('Z'), "{line}");
    let failed = support::tickwire("--log-format json monitor --config /nowhere");
    let line: Value = serde_json::from_str(&failed.err).expect("JSON");
    assert_eq!(line["level"], "ERROR");
    assert!(line["message"].as_str().expect("text").contains("/nowhere"), "{line}");
}

#[test]
fn lines_to_the_journal_begin_with_their_priority() {
    let folder = folder("journal");
    let d = folder.display();
    let generated = support::tickwire(&format!(
        "generate day -o {d}/day.pcap --write-templates {d}/day.xml -n 500 --loss 10 --seed 7"
    ));
    assert_eq!(generated.status, 0, "{}", generated.err);
    let path = folder.join("journal");
    let lost = format!("receive -t {d}/day.xml --framing cme --capture {d}/day.pcap");
    let run = |arguments: &str, is_journal: bool| {
        let file = std::fs::File::create(&path).expect("a file");
        let of_file = file.metadata().expect("of the file");
        let inode = of_file.ino() + u64::from(!is_journal);
        Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(arguments.split(' '))
            .env("JOURNAL_STREAM", format!("{}:{inode}", of_file.dev()))
            .stdout(Stdio::null())
            .stderr(file)
            .status()
            .expect("the command runs");
        std::fs::read_to_string(&path).expect("UTF-8")
    };
    for (arguments, priority, level) in [
        (format!("--log-format json {lost}"), "<4>", "WARN"),
        ("--log-format json monitor --config /nowhere".to_owned(), "<3>", "ERROR"),
    ] {
        let text = run(&arguments, true);
        let object = text.lines().find_map(|line| line.strip_prefix(priority));
        let object = object.unwrap_or_else(|| panic!("no line with {priority}: {text}"));
        let object: Value = serde_json::from_str(object).expect("JSON");
        assert_eq!(object["level"], level, "{text}");
        // If standard error is not the journal, there are no prefixes, even if the variable is
        // inherited from the parent.
        let text = run(&arguments, false);
        assert!(text.lines().any(|line| line.starts_with('{')), "{text}");
        assert!(!text.lines().any(|line| line.starts_with('<')), "{text}");
    }
    let text = run(&lost, true);
    assert!(text.lines().any(|line| line.starts_with("<4>")), "{text}");
    // A command line that is refused, as with a mistake in the options of a unit.
    for arguments in ["receive --no-such-option", "receive", "decode -e x"] {
        let text = run(arguments, true);
        assert!(text.lines().all(|line| line.starts_with("<3>")), "{arguments}: {text}");
        assert!(text.contains("<3>"), "{arguments}");
    }
}

/// Returns the value of a key of a systemd unit.
fn of_unit<'u>(unit: &'u str, key: &str) -> &'u str {
    let value = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {key}: {unit}"))
}

/// Starts each unit's command with settings as its comment describes them, and stops it by the unit's signal.
/// `.ci/units` does the same with systemd.
#[test]
fn the_commands_of_the_systemd_units_run_with_their_settings_and_end_by_their_signal() {
    let folder = folder("units");
    let d = folder.display();
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let generated = support::tickwire(&format!(
        "generate day -o {d}/day.pcap --write-templates {d}/templates.xml -n 500 --seed 7 -a 239.252.{high}.{low} -p 22150"
    ));
    assert_eq!(generated.status, 0, "{}", generated.err);
    let feed = format!(
        "templates = \"templates.xml\"\nframing = \"cme\"\n[channels.futures.lines]\n\
         a = {{ group = \"239.252.{high}.{low}\", port = 22150 }}\n"
    );
    support::file(&folder, "one.toml", feed.as_bytes());
    let settings = format!(
        "[SESSION]\nConnectionType=acceptor\nSocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\n\
         FileStorePath={d}/store\nBeginString=FIX.4.2\nSenderCompID=A\nTargetCompID=B\n"
    );
    support::file(&folder, "one.cfg", settings.as_bytes());
    let processes = b"[[process]]\nname = \"feed\"\naddress = \"127.0.0.1:1\"\n";
    support::file(&folder, "processes.toml", processes);
    let transport = format!("--transport shm --shm-directory {d}/channels");
    let units = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ops/systemd"));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(units).expect("units") {
        let path = entry.expect("a unit").path();
        let name = path.file_stem().expect("a name").to_str().expect("text").to_owned();
        let unit = std::fs::read_to_string(&path).expect("a unit");
        let options = match name.as_str() {
            "tickwire-multicast@" => "--rate 1",
            _ => transport.as_str(),
        };
        let line = of_unit(&unit, "ExecStart")
            .replace("/etc/tickwire", &d.to_string())
            .replace("/var/lib/tickwire/%i", &d.to_string())
            .replace("%i", "one")
            .replace("${CAPTURE}", &format!("{d}/day.pcap"))
            .replace("${MONITOR}", "0")
            .replace("$OPTIONS", options);
        let arguments: Vec<&str> = line.split(' ').collect();
        assert_eq!(arguments[0], "/usr/bin/tickwire", "{name}");
        assert!(!line.contains(['$', '%']), "{name}: {line}");
        let mut running = Running::start(&arguments[1..]);
        assert_eq!(get(running.port(), "/health", "").0, 200, "{name}");
        let signal = of_unit(&unit, "KillSignal").trim_start_matches("SIG");
        let id = running.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status().expect("kill runs");
        assert!(sent.success(), "{name}");
        let status = running.child.wait().expect("it ends");
        assert!(status.success(), "{name}: {status}");
        names.push(name);
    }
    assert_eq!(names.len(), 6, "{names:?}");
}

#[test]
fn receive_shows_the_topics_that_it_publishes() {
    let folder = folder("published");
    let made = support::tickwire(&format!(
        "generate cme -n 10 --framing cme -o {0}/f.bin --write-templates {0}/t.xml",
        folder.display()
    ));
    assert_eq!(made.status, 0, "{}", made.err);
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let line = format!(
        "receive -t {0}/t.xml --framing cme -a 239.252.{high}.{low} -p 22140 --publish --transport shm \
         --shm-directory {0}/channels --quiet --monitor 0",
        folder.display()
    );
    let mut running = Running::start(&line.split_whitespace().collect::<Vec<_>>());
    let port = running.port();
    let end = Instant::now() + PATIENCE;
    let bus = loop {
        let (_, state) = get(port, "/api/v1/state", "");
        let state: Value = serde_json::from_str(&state).expect("JSON");
        if state["bus"]["status"] == "live" {
            break state["bus"].clone();
        }
        assert!(Instant::now() < end, "{state}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!((&bus["role"], &bus["transport"]), (&"publisher".into(), &"shared memory".into()));
    let topics = bus["topics"].as_array().expect("topics");
    assert!(topics.iter().any(|topic| topic["name"] == "BookTop"), "{bus}");
    let (_, metrics) = get(port, "/metrics", "");
    assert!(
        metrics.contains("tickwire_publish_written_samples_total{kind=\"BookTop\"} 0"),
        "{metrics}"
    );
}

#[test]
fn metrics_at_the_port_of_the_monitor_are_refused_with_the_reason() {
    let file = support::templates("simple");
    for command in [
        format!("receive -t {file}"),
        "subscribe --transport shm".to_owned(),
        format!("publish -t {file}"),
        "fix server".to_owned(),
    ] {
        let run = support::tickwire(&format!("{command} --metrics 24987 --monitor 24987"));
        assert_eq!(run.status, 2, "{command}: {}", run.err);
        assert!(run.err.contains("the monitor serves /metrics too"), "{command}: {}", run.err);
    }
}
