//! `tickwire receive` requests, from a TCP replay service, the packets that both lines lost.

mod support;

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{directory, file, packets_of, tickwire, u32be};
use tickwire_exchange::replay_server::{ReplayServer, ReplayServerOptions};
use tickwire_net::clock::unix_ns;

/// Bytes of the preamble, which the service's frames lack.
const PREAMBLE: usize = 5;

/// Serves packets with numbers from 1 on, without their preamble, on this many connections; returns the
/// address.
fn serve(packets: &[Vec<u8>], options: ReplayServerOptions) -> String {
    let mut server = ReplayServer::new(options);
    for (number, packet) in (1..).zip(packets) {
        assert!(server.publish(number, &packet[PREAMBLE..]));
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    // The thread ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            serve_one(&mut server, stream);
        }
    });
    address
}

fn serve_one(server: &mut ReplayServer, mut stream: TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    let mut connection = server.connect();
    let mut buffer = [0; 1000];
    while stream.write_all(&connection.take_bytes()).is_ok() && !connection.is_closed() {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => connection.handle_bytes(unix_ns(), server, &buffer[..read]),
        }
    }
}

/// Output and counters of `receive` for a feed of 400 packets, of which 101 to 105 and 300 are lost.
fn receive(d: &Path, port: u16, options: ReplayServerOptions, show: &str) -> (String, Value, i32) {
    let dir = d.display();
    let run = tickwire(&format!(
        "generate cme -n 400 --framing cme -o {dir}/f.bin --write-templates {dir}/f.xml"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let packets = packets_of(&d.join("f.bin"));
    let is_lost = |number: usize| (101..=105).contains(&number) || number == 300;
    let sent = packets.iter().zip(1..).filter(|(_, number)| !is_lost(*number));
    let sent: Vec<&[u8]> = sent.map(|(packet, _)| packet.as_slice()).collect();
    let lossy = file(d, "lossy.bin", &u32be(&sent));
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let text = format!(
        "templates = \"f.xml\"\nframing = \"cme\"\n[channels.x.lines]\n\
         a = {{ group = \"239.251.{high}.{low}\", port = {port} }}\n\
         [channels.x.replay]\naddresses = [\"{}\"]\nuser = \"user\"\npassword = \"password\"\n",
        serve(&packets, options)
    );
    let feed = file(d, "feed.toml", text.as_bytes());
    let (out, json) = (d.join("out.jsonl"), d.join("counters.json"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["receive", "--log", "info", "--idle", "2s", "--quiet", "--feed", &feed])
        .args(show.split_whitespace())
        .args(["--json".as_ref(), json.as_os_str()])
        .stdout(File::create(&out).expect("a file"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains(" on ") {
        line.clear();
        assert!(log.read_line(&mut line).expect("readable") > 0, "it ended");
    }
    let run = tickwire(&format!("multicast --feed {feed} -f {lossy} -s 500us --json -"));
    assert_eq!(run.status, 0, "{}", run.err);
    let mut rest = String::new();
    log.read_to_string(&mut rest).expect("UTF-8");
    let status = child.wait().expect("it ends").code().expect("a status");
    let read = |path| std::fs::read_to_string(path).expect("a file");
    let counters = serde_json::from_str(&read(json)).unwrap_or_else(|_| panic!("{rest}"));
    (read(out), counters, status)
}

fn numbers(out: &str) -> Vec<(u64, String)> {
    let of = |line: &str| {
        let message: Value = serde_json::from_str(line).expect("JSON");
        let number = message["msg"]["MsgSeqNum"].as_u64().expect("a number");
        (number, message["line"].as_str().expect("a line").to_owned())
    };
    out.lines().map(of).collect()
}

#[test]
fn lost_messages_are_asked_for_shown_in_order_and_counted() {
    for (name, engine, port) in
        [("dynamic", "automatic", 24_600), ("generated", "generated", 24_700)]
    {
        let d = directory(&format!("tcp-replay-{name}"));
        // Connections break at random, and the rest is requested again.
        let options = ReplayServerOptions { disconnect: 0.2, ..ReplayServerOptions::default() };
        let show = format!("--show messages --engine {engine}");
        let (out, counters, status) = receive(&d, port, options, &show);
        let shown = numbers(&out);
        let expected: Vec<u64> = (1..=400).collect();
        assert_eq!(shown.iter().map(|(number, _)| *number).collect::<Vec<_>>(), expected);
        let replayed = shown.iter().filter(|(_, line)| line == "replay").map(|(number, _)| *number);
        assert_eq!(replayed.collect::<Vec<_>>(), [101, 102, 103, 104, 105, 300]);
        assert_eq!((&counters["gaps"], &counters["missing"]), (&2.into(), &6.into()));
        let replay = &counters["replay"];
        assert_eq!((&replay["gaps"], &replay["replayed"]), (&2.into(), &6.into()), "{replay}");
        assert_eq!(replay["abandoned"], 0, "{replay}");
        assert_eq!(status, 0);
    }
}

#[test]
fn what_the_service_refuses_is_counted_and_the_rest_is_shown() {
    let d = directory("tcp-replay-refused");
    let options =
        ReplayServerOptions { password: "another".to_owned(), ..ReplayServerOptions::default() };
    let (out, counters, status) = receive(&d, 24_800, options, "--show messages");
    let shown = numbers(&out);
    assert_eq!(shown.len(), 394);
    assert!(shown.iter().all(|(_, line)| line == "A"));
    let replay = &counters["replay"];
    let counts = ["replayed", "abandoned", "refused"].map(|name| replay[name].as_u64());
    assert_eq!(counts, [Some(0), Some(5), Some(1)], "a wrong login is not tried again: {replay}");
    assert_eq!(status, 0, "lost packets do not change the status");
}
