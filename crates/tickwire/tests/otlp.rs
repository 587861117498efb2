//! `--otlp`: spans of `receive` and `fix server` at a collector on loopback, which need the feature `otlp`.

#[path = "trading/printing.rs"]
mod printing;
#[path = "support/receiving.rs"]
mod receiving;
mod support;

use printing::{Process, TIME_MAX};
use receiving::Receiving;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use support::{directory, tickwire};

/// A collector that takes everything and passes on the requests with their heads. The names and texts of a request are readable
/// in its protobuf.
fn collector() -> (SocketAddr, Receiver<String>) {
    collector_with("")
}

/// A collector with this answer.
fn collector_with(answer: &'static str) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let (sender, bodies) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n")
                && stream.read_line(&mut head).is_ok_and(|len| len > 0)
            {}
            let length = head
                .to_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            let mut body = vec![0; length.expect("a length")];
            stream.read_exact(&mut body).expect("a body");
            let length = answer.len();
            write!(
                stream.get_mut(),
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{answer}"
            )
            .expect("answered");
            if sender.send(head + &String::from_utf8_lossy(&body)).is_err() {
                return;
            }
        }
    });
    (address, bodies)
}

/// Reads requests until they have all of these texts.
fn wait_for(bodies: &Receiver<String>, wanted: &[&str]) -> String {
    let mut all = String::new();
    while !wanted.iter().all(|text| all.contains(text)) {
        let body = bodies.recv_timeout(TIME_MAX);
        all += &body.unwrap_or_else(|_| panic!("{wanted:?} are not all in {all}"));
    }
    all
}

#[test]
fn gaps_and_books_of_a_lossy_feed_reach_the_collector() {
    let d = directory("otlp-receive");
    let d = d.display();
    let made = tickwire(&format!(
        "generate cme -n 3000 --framing cme --snapshot-every 20 -o {d}/f.bin --snapshots {d}/s.bin --write-templates {d}/f.xml"
    ));
    assert_eq!(made.status, 0, "{}", made.err);
    let (address, bodies) = collector();
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let group = format!("-a 239.252.{high}.{low} -p 22100 --line-b");
    let receiving = Receiving::start_showing(
        &format!(
            "-t {d}/f.xml --framing cme {group} --snapshots --hold 20ms --otlp http://{address}"
        ),
        3,
    );
    let sent = tickwire(&format!(
        "multicast -f {d}/f.bin --snapshots {d}/s.bin {group} --rate 1000 --loss 5 --seed 7 --json -"
    ));
    assert_eq!(sent.status, 0, "{}", sent.err);
    let wanted = [
        "service.name",
        "tickwire.command",
        "receive",
        "gap recovery",
        "feed.gap.first_seq_num",
        "feed.gap.filled_by",
        "snapshots",
        "book recovery",
        "feed.books.recovered_by_snapshot",
    ];
    wait_for(&bodies, &wanted);
    receiving.interrupt();
}

#[test]
fn a_gap_that_is_filled_just_before_the_end_is_not_reported_as_lost() {
    let d = directory("otlp-end");
    let path = d.join("f.bin");
    let d = d.display();
    let made = tickwire(&format!(
        "generate cme -n 40 --securities 2 --framing cme --snapshot-every 4 -o {d}/f.bin --snapshots {d}/s.bin \
         --write-templates {d}/f.xml"
    ));
    assert_eq!(made.status, 0, "{}", made.err);
    // Leaves out the 15th packet. Each packet follows its length.
    let mut bytes = std::fs::read(&path).expect("generated");
    let end_of = |at: usize| {
        at + 4 + u32::from_be_bytes(bytes[at..at + 4].try_into().expect("a length")) as usize
    };
    let begin = (0..14).fold(0, |at, _| end_of(at));
    let end = end_of(begin);
    bytes.drain(begin..end);
    std::fs::write(&path, bytes).expect("written");
    let (address, bodies) = collector();
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let group = format!("-a 239.252.{high}.{low} -p 22130");
    let receiving = Receiving::start_showing(
        &format!("-t {d}/f.xml --framing cme {group} --snapshots --otlp http://{address}"),
        2,
    );
    // Until Done: some 10 ms, a tenth of the time between two publications to the monitor.
    let sent = tickwire(&format!(
        "multicast -f {d}/f.bin --snapshots {d}/s.bin {group} --rate 4000 --json -"
    ));
    assert_eq!(sent.status, 0, "{}", sent.err);
    let text = wait_for(&bodies, &["gap recovery", "feed.gap.filled_by"]);
    assert!(!text.contains("the gap was not filled"), "{text}");
    drop(receiving);
}

/// Receives a feed of five seconds in which a single line loses packets, with these options and variables. Returns standard
/// error.
fn receive_gaps(name: &str, port: u16, options: &str, variables: &[(&str, &str)]) -> String {
    let d = directory(name);
    let d = d.display();
    let made = tickwire(&format!(
        "generate cme -n 2000 --framing cme -o {d}/f.bin --write-templates {d}/f.xml"
    ));
    assert_eq!(made.status, 0, "{}", made.err);
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let group = format!("-a 239.252.{high}.{low} -p {port}");
    let arguments =
        format!("receive -t {d}/f.xml --framing cme {group} --idle 3s --json - {options}");
    let receiving = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(arguments.split_whitespace())
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    std::thread::sleep(Duration::from_secs(2));
    let sent = tickwire(&format!("multicast -f {d}/f.bin {group} --rate 400 --loss 5 --json -"));
    assert_eq!(sent.status, 0, "{}", sent.err);
    let output = receiving.wait_with_output().expect("it ends");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn the_environment_names_collector_and_service() {
    let (address, bodies) = collector();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*format!("http://{address}")),
        ("OTEL_SERVICE_NAME", "futures-a"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20dXNlcjpzZWNyZXQ="),
    ];
    receive_gaps("otlp-environment", 22112, "", &variables);
    let wanted = [
        "authorization: Basic dXNlcjpzZWNyZXQ=\r\n",
        "futures-a",
        "deployment.environment.name",
        "gap recovery",
    ];
    wait_for(&bodies, &wanted);
}

/// Runs `fix server` with these variables until it listens. Returns standard error.
fn serve_briefly(options: &[&str], variables: &[(&str, &str)]) -> String {
    let mut server = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "server", "--port", "0"])
        .args(options)
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut line = String::new();
    let mut out = BufReader::new(server.stdout.take().expect("piped"));
    out.read_line(&mut line).expect("readable");
    server.kill().expect("it runs");
    let output = server.wait_with_output().expect("it ends");
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(line.starts_with("listening on "), "{line}{told}");
    told
}

#[test]
fn an_environment_for_others_keeps_nothing_from_starting() {
    let endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";
    for (value, wanted) in [
        ("https://user:secret@c:4318", "OTEL_EXPORTER_OTLP_ENDPOINT: user and"),
        ("grpc://c:4317", "OTEL_EXPORTER_OTLP_ENDPOINT: expected http://HOST:PORT or https"),
    ] {
        let told = serve_briefly(&[], &[(endpoint, value)]);
        assert_eq!(told.matches("no spans are exported: ").count(), 1, "{told}");
        assert!(told.contains(wanted) && !told.contains("secret"), "{told}");
    }
}

#[test]
fn a_disabled_sdk_exports_nothing() {
    let (address, bodies) = collector();
    let address = format!("http://{address}");
    let disabled = ("OTEL_SDK_DISABLED", "true");
    let variables = [disabled, ("OTEL_EXPORTER_OTLP_ENDPOINT", &*address)];
    assert_eq!(serve_briefly(&[], &variables), "");
    let told = receive_gaps("otlp-disabled", 22116, &format!("--otlp {address}"), &[disabled]);
    let wanted = "no spans are exported: OTEL_SDK_DISABLED is true";
    assert_eq!(told.matches(wanted).count(), 1, "{told}");
    assert!(bodies.try_recv().is_err());
}

#[test]
fn the_text_of_a_collector_that_rejects_spans_is_told_once() {
    // The answer's partial_success (1): rejected_spans (1) 1, error_message (2).
    let (address, _bodies) = collector_with("\x0a\x0b\x08\x01\x12\x07too old");
    let told = receive_gaps("otlp-rejected", 22120, &format!("--otlp http://{address}"), &[]);
    let wanted = "the collector rejected 1 spans: \"too old\"";
    assert_eq!(told.matches(wanted).count(), 1, "{told}");
}

#[test]
fn a_collector_that_is_down_is_told_once() {
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr());
    let address = closed.expect("a port");
    // Gaps over some seconds: several batches fail.
    let told = receive_gaps("otlp-refused", 22108, &format!("--otlp http://{address}"), &[]);
    assert_eq!(told.matches("spans are not exported to http://127.0.0.1").count(), 1, "{told}");
}

#[test]
fn a_collector_that_hangs_delays_the_end_by_two_seconds_at_most() {
    let d = directory("otlp-down");
    let d = d.display();
    let made = tickwire(&format!(
        "generate cme -n 500 --framing cme -o {d}/f.bin --write-templates {d}/f.xml"
    ));
    assert_eq!(made.status, 0, "{}", made.err);
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let group = format!("-a 239.252.{high}.{low} -p 22104");
    // Accepts in its backlog and never answers.
    let hanging = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = hanging.local_addr().expect("bound");
    let mut receiving = Receiving::start(
        &[],
        &format!(
            "-t {d}/f.xml --framing cme {group} --otlp http://{address} --metrics 0 --idle 2s"
        ),
        1,
    );
    receiving.wait_for("metrics at http://", 1);
    let sent = tickwire(&format!("multicast -f {d}/f.bin {group} --rate 5000 --loss 5 --json -"));
    assert_eq!(sent.status, 0, "{}", sent.err);
    let begun = Instant::now();
    receiving.wait_for("the collector of spans did not answer within 2s", 1);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

/// Sends a request of administration.
fn ask(address: &str, token: &str, request: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("served");
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    text
}

#[test]
fn a_resend_and_its_session_reach_the_collector() {
    let d = directory("otlp-fix");
    let file = |name: &str| d.join(name).display().to_string();
    let (address, bodies) = collector();
    let mut server = Process::start(&[
        "server",
        "--port",
        "0",
        "--admin",
        "0",
        "--admin-token",
        &file("token"),
        "--store",
        &file("server"),
        "--otlp",
        &format!("http://{address}"),
    ]);
    let listening = server.after("listening on ");
    let served = server.after("administration at http://");
    let token = std::fs::read_to_string(d.join("token")).expect("made");
    let client = Process::start(&[
        "client",
        &listening,
        "--reliable",
        "--reconnect",
        "50ms",
        "--store",
        &file("client"),
    ]);
    let name = "FIX.4.2-TEX_DLD-DLD_TEX";
    let wait = |text: &str| {
        let begun = Instant::now();
        let look = || ask(&served, token.trim(), &format!("GET /sessions/{name}"), "");
        while !look().contains(text) {
            assert!(begun.elapsed() < TIME_MAX, "{text} is not in {}", look());
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait("\"logged_on\"");
    writeln!(client.child.stdin.as_ref().expect("piped"), "N 20").expect("the menu listens");
    wait("\"delivered\":20");
    // The server forgets that it has received the last messages, and requests them again.
    let act = |act: &str, body: &str| {
        let answer = ask(&served, token.trim(), &format!("POST /sessions/{name}/{act}"), body);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    };
    act("disable", "");
    wait("\"disconnected\"");
    act("numbers", "{\"next_target\": 10}");
    act("enable", "");
    let wanted = [
        "fix server",
        "fix session",
        "fix.disconnect_reason",
        "fix resend",
        "fix.resend.direction",
        "requested",
        "fix.sender_comp_id",
        "TEX_DLD",
        "FIX.4.2",
    ];
    wait_for(&bodies, &wanted);
}

#[test]
fn a_wrong_address_is_refused_before_anything_starts() {
    for (address, wanted) in [
        ("localhost:4318", "--otlp: expected http://HOST:PORT"),
        ("http://:4318", "--otlp: expected http://HOST:PORT"),
        ("http://user:secret@127.0.0.1:9", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("grpc://localhost:4317", "--otlp: expected http://HOST:PORT or https://HOST:PORT"),
    ] {
        let run = tickwire(&format!("fix server --port 0 --metrics 0 --otlp {address}"));
        assert_eq!((run.status, &*run.out), (2, ""), "{}", run.err);
        assert!(run.err.contains(wanted) && !run.err.contains("secret"), "{}", run.err);
        assert!(!run.err.contains("metrics at"), "{}", run.err);
    }
}
