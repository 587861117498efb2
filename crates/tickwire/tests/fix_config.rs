//! Server and client with settings files, their message logs, and the reports of wrong settings.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tickwire-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server, killed when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tickwire(args: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_tickwire")).arg("fix").args(args).output();
    command.expect("the command runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Starts a server and writes the settings of its client; sessions have these lines. Returns the server, what
/// it prints, and the path of the client's settings.
fn serve(
    folder: &Folder,
    version: &str,
    lines: &str,
    more: &[&str],
) -> (Server, Lines<BufReader<ChildStdout>>, PathBuf) {
    let kept = text(&folder.0);
    let server = folder.write(
        "server.cfg",
        &format!(
            "[DEFAULT]\nConnectionType=acceptor\nBeginString={version}\nSenderCompID=EXCHANGE\n\
             SocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\n{lines}\
             FileStorePath={kept}/server\nFileLogPath={kept}/log\n[SESSION]\nTargetCompID=TRADER\n"
        ),
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "server", "--config", text(&server)])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut printed = BufReader::new(child.stdout.take().expect("piped")).lines();
    let server = Server(child);
    let line = printed.next().expect("a line").expect("text");
    let port = line.rsplit_once(':').expect("an address").1.to_owned();
    let client = folder.write(
        "client.cfg",
        &format!(
            "[SESSION]\nConnectionType=initiator\nBeginString={version}\nSenderCompID=TRADER\n{lines}\
             TargetCompID=EXCHANGE\nSocketConnectHost=127.0.0.1\nSocketConnectPort={port}\n\
             FileStorePath={kept}/client\nHeartBtInt=5\n"
        ),
    );
    (server, printed, client)
}

/// Runs a server and a client with settings files whose sessions have these lines; returns the text of the client and the
/// path of the server's message log.
fn trade(folder: &Folder, version: &str, orders: &str, lines: &str) -> (String, PathBuf) {
    let (_server, printed, client) = serve(folder, version, lines, &["--once"]);
    let output = tickwire(&["client", "--orders", orders, "--config", text(&client)]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{version} {lines}: {said}{failed}");
    let rest: Vec<String> = printed.map(|line| line.expect("text")).collect();
    let received = format!("{orders} orders received");
    assert!(rest.iter().any(|line| line.starts_with(&received)), "{rest:?}");
    (said, folder.0.join(format!("log/{version}-EXCHANGE-TRADER.messages.log")))
}

#[test]
fn the_menu_logs_out_although_reports_of_earlier_orders_are_unknown() {
    let folder = Folder::new("earlier-orders");
    let (_server, _printed, client) = serve(&folder, "FIX.4.2", "", &[]);
    let output = tickwire(&["client", "--orders", "5", "--config", text(&client)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut menu = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "client", "--config", text(&client)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    menu.stdin.take().expect("piped").write_all(b"n\nl\n").expect("written");
    let begun = Instant::now();
    while menu.try_wait().expect("waits").is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            let _ = menu.kill();
            let output = menu.wait_with_output().expect("ended");
            panic!("the client goes on: {}", String::from_utf8_lossy(&output.stdout));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = menu.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 NewOrderSingle msgs sent"), "{said}");
}

#[test]
fn a_built_in_dictionary_is_printed_and_taken_again() {
    let folder = Folder::new("dictionary");
    let path = folder.0.join("own.xml");
    let output = tickwire(&["dictionary", "fix44", "-o", text(&path)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let again = tickwire(&["dictionary", "fix44", "-o", text(&path)]);
    assert_eq!(again.status.code(), Some(2), "an existing file is kept");
    let orders = folder.0.join("orders.rs");
    let only = ["--only", "NewOrderSingle", "-o", text(&orders)];
    let output = tickwire(&[&["generate", text(&path)][..], &only].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = tickwire(&["dictionary"]);
    assert!(String::from_utf8_lossy(&names.stdout).lines().any(|line| line == "FIXT11"));
    let unknown = tickwire(&["dictionary", "FIX45"]);
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(unknown.status.code() == Some(2) && said.contains("FIX44"), "{said}");
}

#[test]
fn a_transport_dictionary_without_logon_is_told_at_the_start() {
    let folder = Folder::new("no-logon");
    let path = folder.0.join("messages.xml");
    let output = tickwire(&["dictionary", "FIX50SP2", "-o", text(&path)]);
    assert!(output.status.success());
    let settings = folder.write(
        "server.cfg",
        &format!(
            "[SESSION]\nConnectionType=acceptor\nBeginString=FIXT.1.1\nDefaultApplVerID=FIX.5.0SP2\n\
             SenderCompID=A\nTargetCompID=B\nSocketAcceptPort=0\nDataDictionary={}\n",
            text(&path)
        ),
    );
    let output = tickwire(&["server", "--config", text(&settings)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("AppDataDictionary"), "{said}");
}

#[test]
fn sessions_of_settings_files_trade_and_log() {
    let folder = Folder::new("config");
    let (said, log) = trade(&folder, "FIX.4.2", "40", "HouseKey=1\n");
    assert!(said.contains("40 NewOrderSingle msgs sent"), "{said}");
    assert!(!said.contains(" 0 usecs"), "encoding and decoding are timed: {said}");
    let output = tickwire(&["log", "--type", "D", text(&log)]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert_eq!(printed.matches("NewOrderSingle").count(), 40, "{printed}");
    let named = tickwire(&["log", "--type", "newordersingle", text(&log)]);
    assert_eq!(String::from_utf8_lossy(&named.stdout), printed);
    let output = tickwire(&["log", "--raw", text(&log)]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.lines().next().is_some_and(|line| line.contains(" < 8=FIX.4.2|9=")));
    assert!(printed.lines().filter(|line| line.contains(" > ")).count() > 40);
}

/// Orders and reports of every version are valid by its dictionary, which both sides check.
#[test]
fn orders_and_reports_are_of_the_sessions_version() {
    let fixt = ["FIX.5.0", "FIX.5.0SP1", "FIX.5.0SP2"];
    let fixt = fixt.map(|version| ("FIXT.1.1", format!("DefaultApplVerID={version}\n")));
    let versions = ["FIX.4.0", "FIX.4.1", "FIX.4.2", "FIX.4.3", "FIX.4.4"];
    let versions = versions.map(|version| (version, String::new()));
    for (version, lines) in versions.into_iter().chain(fixt) {
        let folder = Folder::new(&format!("version-{version}{}", lines.len()));
        let (_, log) = trade(&folder, version, "60", &format!("UseDataDictionary=Y\n{lines}"));
        let output = tickwire(&["validate", text(&log)]);
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{version} {lines}: {found}");
        let printed = tickwire(&["log", "--raw", "--type", "8", text(&log)]);
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        // Rejects, cancels, confirmations and fills.
        for status in ["|39=8|", "|39=4|", "|39=0|", "|39=1|", "|39=2|"] {
            assert!(printed.contains(status), "{version} {lines}: {status}");
        }
        let is_old = ["FIX.4.0", "FIX.4.1", "FIX.4.2"].contains(&version);
        assert_eq!((printed.contains("|20=0|"), printed.contains("|150=F|")), (is_old, !is_old));
    }
}

#[test]
fn wrong_settings_are_told_with_their_lines() {
    let folder = Folder::new("wrong-config");
    let path = folder.write("wrong.cfg", "[SESSION]\nBeginString=FIX.4.2\nHeartBtInt=soon\n");
    let output = tickwire(&["server", "--config", text(&path)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("line 3: HeartBtInt") && said.contains("SenderCompID"), "{said}");
}

#[test]
fn a_folder_of_stores_is_listed_not_checked() {
    let folder = Folder::new("store-folder");
    let output = tickwire(&["store", "check", text(&folder.0)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("fix store list"), "{said}");
}

#[test]
fn options_that_a_settings_file_replaces_are_errors_beside_it() {
    for arguments in [
        &["server", "--config", "a.cfg", "--port", "3"][..],
        &["server", "--config", "a.cfg", "--store", "s"],
        &["client", "--config", "a.cfg", "127.0.0.1:1"],
        &["client", "--config", "a.cfg", "--heartbeat", "5s"],
    ] {
        let output = tickwire(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_told = said.contains("cannot be used with") && said.contains("--config");
        assert!(output.status.code() == Some(2) && is_told, "{said}");
    }
}

#[test]
fn a_client_says_why_it_did_not_log_on() {
    let folder = Folder::new("no-logon-told");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = nobody.local_addr().expect("an address").port();
    drop(nobody);
    // A schedule of one second a day, which is not now.
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let hour = (seconds / 3600 + 12) % 24;
    let schedule = format!("StartTime={hour:02}:00:00\nEndTime={hour:02}:00:01\n");
    for (lines, expected) in [
        (
            "",
            format!(
                "no Logon was received: cannot connect to 127.0.0.1:{port}: Connection refused"
            ),
        ),
        (&schedule, "the session is outside the schedule until ".to_owned()),
    ] {
        let path = folder.write(
            "client.cfg",
            &format!(
                "[SESSION]\nConnectionType=initiator\nBeginString=FIX.4.2\nSenderCompID=A\nTargetCompID=B\n\
                 SocketConnectHost=127.0.0.1\nSocketConnectPort={port}\n{lines}"
            ),
        );
        let output =
            tickwire(&["client", "--orders", "1", "--timeout", "1s", "--config", text(&path)]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(&expected), "{said}");
    }
}

/// A message in the format of logs.
fn logged(sign: &str, body: &str) -> String {
    let body = body.replace('|', "\u{1}");
    let head = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len());
    let sum: u32 = head.bytes().map(u32::from).sum();
    format!("20260105-08:00:00.123456789 {sign} {head}10={:03}\u{1}\n", sum & 0xFF)
}

#[test]
fn what_is_wrong_in_a_log_is_told_with_its_line() {
    let folder = Folder::new("wrong-log");
    let beat = logged(">", "35=0|49=A|56=B|34=7|52=20260105-08:00:00.123|");
    let garbled = beat.replace("49=A", "49=C");
    let odd = logged("<", "35=0|49=B|56=A|34=8|52=20260105-08:00:00.123|abc=1|");
    let junk = "junk\n".repeat(30);
    let path = folder.write("a.log", &format!("{beat}{garbled}{odd}{junk}{beat}"));
    let output = tickwire(&["log", text(&path)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("line 2: garbled: tag 10"), "{said}");
    assert!(said.contains("line 3: 'abc' at offset"), "{said}");
    assert!(said.contains("line 4: not a message: expected a time, < or >"), "{said}");
    assert!(said.contains("30 lines are not messages") && said.lines().count() == 13, "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.matches("MsgType (35): HEARTBEAT (0)").count(), 3, "{printed}");
    for (name, bytes) in [("empty.log", ""), ("other.log", "2026-01-05 started\n")] {
        let output = tickwire(&["log", text(&folder.write(name, bytes))]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("no message found") && said.contains("fix decode"), "{said}");
    }
    let output = tickwire(&["log", "--dictionary", "FIX45", text(&path)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("FIX44, FIX50"), "{said}");
}

#[test]
fn a_file_for_the_other_side_and_one_that_is_no_text_are_refused() {
    let folder = Folder::new("other-side");
    let session = "BeginString=FIX.4.2\nSenderCompID=A\nTargetCompID=B\n";
    let acceptor = format!("[SESSION]\nConnectionType=acceptor\nSocketAcceptPort=0\n{session}");
    let acceptor = folder.write("acceptor.cfg", &acceptor);
    let initiator = format!(
        "[SESSION]\nConnectionType=initiator\nSocketConnectHost=127.0.0.1\nSocketConnectPort=1\n{session}"
    );
    let initiator = folder.write("initiator.cfg", &initiator);
    for (side, path, wanted) in [
        ("client", &acceptor, "line 1: the first session must be an initiator"),
        ("server", &initiator, "line 1: the first session must be an acceptor"),
    ] {
        let output = tickwire(&[side, "--config", text(path)]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
    let path = folder.0.join("latin.cfg");
    std::fs::write(&path, b"[SESSION]\n# Z\xfcrich\n").expect("written");
    let output = tickwire(&["server", "--config", text(&path)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("line 2: not UTF-8"), "{said}");
    let output = tickwire(&["server", "--port", "0", "--cpu", "9999"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && said.contains("pin the thread to that CPU"),
        "{said}"
    );
}

#[test]
fn a_message_of_a_log_cannot_forge_lines_of_the_printed_log() {
    let folder = Folder::new("forged-log");
    let beat = logged(">", "35=0|49=A|56=B|34=7|52=20260105-08:00:00.123|");
    let forged = format!("x\n{}", beat.trim_end().replace("> 8", "< 8"));
    let data = format!(
        "35=B|49=A|56=B|34=8|52=20260105-08:00:00.123|148=h|95={}|96={forged}|",
        forged.len()
    );
    let line = logged("<", &data);
    let written = line.trim_end().replace('\n', "\\n") + "\n";
    let path = folder.write("a.log", &format!("{beat}{written}"));
    for raw in [&["--raw"][..], &[]] {
        let arguments: Vec<&str> =
            ["log"].iter().chain(raw).copied().chain([text(&path)]).collect();
        let output = tickwire(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout);
        let times = printed.lines().filter(|line| line.starts_with("20260105-")).count();
        assert_eq!(times, 2, "{printed}");
    }
}

#[test]
fn sections_that_want_different_things_of_one_port_are_told_with_file_and_lines() {
    let folder = Folder::new("conflict");
    let base = "ConnectionType=acceptor\nBeginString=FIX.4.2\nSenderCompID=A\nSocketAcceptPort=0\n";
    let tls = "SERVER_CERTIFICATE_FILE=a.pem\nSERVER_CERTIFICATE_KEY_FILE=a.key\n";
    let cases = [
        (format!("TargetCompID=C\n{tls}"), "session of line 6 and session of line 8: "),
        (
            "TargetCompID=B\n".to_owned(),
            "line 8: the session FIX.4.2:A->B is already defined in line 6",
        ),
        ("TargetCompID=C\nSSLEnable=N\nSSLCACertificate=ca.pem\n".to_owned(), "line 11: SSLCACert"),
    ];
    for (second, wanted) in cases {
        let text_of = format!("[DEFAULT]\n{base}[SESSION]\nTargetCompID=B\n[SESSION]\n{second}");
        let path = folder.write("a.cfg", &text_of);
        let output = tickwire(&["server", "--config", text(&path)]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(wanted) && said.contains("a.cfg"), "{said}");
    }
}

#[test]
fn damage_of_a_store_is_told_by_check_and_by_the_server() {
    use tickwire_fix_session::{FileStore, FileStoreOptions, Fsync, Store};
    let folder = Folder::new("store-check");
    let options = FileStoreOptions {
        folder: folder.0.clone(),
        name: "FIX.4.2-A-B".to_owned(),
        fsync: Fsync::None,
        archives_max: 0,
    };
    let mut store = FileStore::open(options, 1_709_210_096_789_000_000).expect("opens");
    for number in 1..=3 {
        store.append(format!("message {number}").as_bytes()).expect("kept");
        store.commit().expect("written");
    }
    drop(store);
    let path = folder.0.join("FIX.4.2-A-B.journal");
    let bytes = std::fs::read(&path).expect("there");
    let check = || {
        let output = tickwire(&["store", "check", text(&path)]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (status, said) = check();
    assert!(status == Some(0) && said.contains("4 to send, 1 expected"), "{said}");
    assert!(
        said.contains("3 messages in 3 commits") && said.contains("2024-02-29 12:34:56"),
        "{said}"
    );
    let config = folder.write(
        "server.cfg",
        &format!(
            "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.2\nSenderCompID=A\nTargetCompID=B\n\
             SocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\nFileStorePath={}\n",
            text(&folder.0)
        ),
    );
    let mut flipped = bytes.clone();
    flipped[40] ^= 4;
    std::fs::write(&path, &flipped).expect("written");
    let (status, said) = check();
    assert!(status == Some(1) && said.contains("damaged from offset 24 to "), "{said}");
    let output = tickwire(&["server", "--config", text(&config)]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && told.contains("damaged from offset 24 to"),
        "{told}"
    );
    std::fs::write(&path, &bytes[..bytes.len() - 5]).expect("written");
    let (status, said) = check();
    assert!(status == Some(1) && said.contains("moved away"), "{said}");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "server", "--config", text(&config)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let stderr = child.stderr.take().expect("piped");
    let _server = Server(child);
    let told = BufReader::new(stderr).lines().next().expect("a line").expect("text");
    assert!(told.contains("moved to") && told.contains("cut-"), "{told}");
    assert_eq!(check().0, Some(0));
}

#[test]
fn more_sessions_than_there_are_descriptors_are_an_error_that_says_so() {
    let folder = Folder::new("descriptors");
    let mut config = format!(
        "[DEFAULT]\nConnectionType=acceptor\nBeginString=FIX.4.2\nSenderCompID=A\nUseDataDictionary=N\n\
         SocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\nFileStorePath={}\n",
        text(&folder.0)
    );
    (0..40).for_each(|number| config += &format!("[SESSION]\nTargetCompID=T{number}\n"));
    let path = folder.write("many.cfg", &config);
    let command = format!(
        "ulimit -n 100; exec {} fix server --config {}",
        env!("CARGO_BIN_EXE_tickwire"),
        text(&path)
    );
    let output = Command::new("sh").args(["-c", &command]).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("40 sessions") && said.contains("ulimit -n 144"), "{said}");
    // A soft limit below the hard limit is raised.
    let command = format!(
        "ulimit -S -n 100; ulimit -H -n 200; exec {} fix server --config {}",
        env!("CARGO_BIN_EXE_tickwire"),
        text(&path)
    );
    let mut child =
        Command::new("sh").args(["-c", &command]).stdout(Stdio::piped()).spawn().expect("starts");
    let stdout = child.stdout.take().expect("piped");
    let _server = Server(child);
    let line = BufReader::new(stdout).lines().next().expect("a line").expect("text");
    assert!(line.contains("listening"), "{line}");
}

#[test]
fn a_server_that_is_told_to_end_logs_its_sessions_out() {
    let folder = Folder::new("sigterm");
    let kept = text(&folder.0);
    let server = folder.write(
        "server.cfg",
        &format!(
            "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.2\nSenderCompID=EXCHANGE\n\
             TargetCompID=TRADER\nSocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\nFileLogPath={kept}\n"
        ),
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "server", "--config", text(&server)])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let pid = child.id().to_string();
    let mut server = Server(child);
    let line = lines.next().expect("a line").expect("text");
    let port = line.rsplit_once(':').expect("an address").1.to_owned();
    let client = folder.write(
        "client.cfg",
        &format!(
            "[SESSION]\nConnectionType=initiator\nBeginString=FIX.4.2\nSenderCompID=TRADER\n\
             TargetCompID=EXCHANGE\nSocketConnectHost=127.0.0.1\nSocketConnectPort={port}\n"
        ),
    );
    let client = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "client", "--orders", "1000000", "--rate", "100", "--config", text(&client)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let _client = Server(client);
    let log = folder.0.join("FIX.4.2-EXCHANGE-TRADER.messages.log");
    let begun = std::time::Instant::now();
    let logged =
        |wanted: &str| std::fs::read_to_string(&log).is_ok_and(|text| text.contains(wanted));
    while !logged("\u{1}35=D\u{1}") {
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "no order comes");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-TERM", &pid]).status().expect("runs");
    assert!(killed.success());
    let status = server.0.wait().expect("ends");
    assert!(status.success(), "{status}");
    let text = std::fs::read_to_string(&log).expect("there");
    let logouts: Vec<&str> = text.lines().filter(|line| line.contains("\u{1}35=5\u{1}")).collect();
    assert_eq!(logouts.len(), 2, "{logouts:?}");
    assert!(logouts[0].contains(" > ") && logouts[1].contains(" < "), "{logouts:?}");
}

#[test]
fn refusals_are_logged_by_reason_and_a_flood_does_not_fill_the_log() {
    use std::io::{Read, Write};
    let folder = Folder::new("event-log");
    let config = folder.write(
        "server.cfg",
        "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\n\
         SocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\n",
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "server", "--config", text(&config)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let stdout = child.stdout.take().expect("piped");
    let stderr = child.stderr.take().expect("piped");
    let mut server = Server(child);
    let line = BufReader::new(stdout).lines().next().expect("a line").expect("text");
    let address = line.rsplit_once(' ').expect("an address").1.to_owned();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after");
    let now = tickwire_fix::UtcTimestamp::from_unix_nanos(now.as_nanos() as u64);
    let time = format!(
        "{:04}{:02}{:02}-{:02}:{:02}:{:02}",
        now.date.year(),
        now.date.month(),
        now.date.day(),
        now.time.hour(),
        now.time.minute(),
        now.time.second()
    );
    let attempt = |sender: &str| {
        let body = format!("35=A|34=1|49={sender}|52={time}|56=A|98=0|108=30|554=hush|");
        let body = body.replace('|', "\u{1}");
        let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
        let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
        bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
        let mut stream = std::net::TcpStream::connect(&address).expect("connects");
        stream.write_all(&bytes).expect("writes");
        // The connection is closed with or without an answer.
        let _ = stream.read_to_end(&mut Vec::new());
    };
    (0..50).for_each(|_| attempt("EVIL\n2026 WARN forged"));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    attempt("EVIL");
    server.0.kill().expect("ends");
    let mut told = String::new();
    BufReader::new(stderr).read_to_string(&mut told).expect("text");
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("refused: comp_id")).collect();
    assert!((2..=5).contains(&lines.len()) && told.lines().count() == lines.len(), "{told}");
    assert!(lines.last().is_some_and(|line| line.contains("more of this kind")), "{told}");
    assert!(told.contains("EVIL\\\\n2026") || told.contains("EVIL\\n2026"), "{told}");
    assert!(!told.contains("hush"), "{told}");
}

#[test]
fn all_journals_of_a_folder_are_told() {
    use tickwire_fix_session::{FileStore, FileStoreOptions, Fsync, Store};
    let folder = Folder::new("store-list");
    let options = FileStoreOptions {
        folder: folder.0.clone(),
        name: "FIX.4.2-A-B".to_owned(),
        fsync: Fsync::None,
        archives_max: 2,
    };
    let mut store = FileStore::open(options, 7).expect("opens");
    for _ in 0..2 {
        store.append(b"message").expect("kept");
        store.commit().expect("written");
        store.reset(8).expect("begins anew");
    }
    drop(store);
    std::fs::write(folder.0.join("FIX.4.2-A-B.journal.cut-99"), "torn").expect("written");
    std::fs::write(folder.0.join("notes.txt"), "mine").expect("written");
    let list = || {
        let output = tickwire(&["store", "list", text(&folder.0)]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (status, said) = list();
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(said.matches("1 message in 1 commit").count(), 2, "{said}");
    for name in
        ["A-B.journal\n", "A-B.journal.archive-00000001\n", "A-B.journal.archive-00000002\n"]
    {
        assert!(said.contains(name), "{said}");
    }
    assert!(
        said.contains("cut-99\n  4 bytes that were not a complete commit")
            && !said.contains("notes")
    );
    // A file that is not a journal does not prevent the check of the others.
    std::fs::write(folder.0.join("FIX.4.2-A-A.journal"), "x").expect("written");
    let (status, said) = list();
    assert!(status == Some(1) && said.contains("it ends in its header"), "{said}");
    assert!(said.contains("A-B.journal.archive-00000002\n"), "{said}");
}

#[test]
fn a_damaged_journal_opens_again_once_a_person_gives_its_end_up() {
    use tickwire_fix_session::{FileStore, FileStoreOptions, Fsync, Store};
    let folder = Folder::new("store-cut");
    let open = || {
        FileStore::open(
            FileStoreOptions {
                folder: folder.0.clone(),
                name: "s".to_owned(),
                fsync: Fsync::None,
                archives_max: 0,
            },
            7,
        )
    };
    let mut store = open().expect("opens");
    for message in [&b"one"[..], b"two"] {
        store.append(message).expect("kept");
        store.commit().expect("written");
    }
    drop(store);
    let journal = folder.0.join("s.journal");
    let mut bytes = std::fs::read(&journal).expect("a journal");
    *bytes.last_mut().expect("bytes") ^= 1;
    std::fs::write(&journal, &bytes).expect("written");
    let run = |action: &str| {
        let output = tickwire(&["store", action, text(&journal)]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert!(open().is_err());
    let (status, said) = run("check");
    assert!(status == Some(1) && said.contains("to the end: the store is not opened"), "{said}");
    let (status, said) = run("cut");
    assert!(status == Some(0) && said.contains("next MsgSeqNum: 2 to send"), "{said}");
    assert_eq!(open().expect("opens").next_sender(), 2);
    let (status, said) = run("cut");
    assert!(status == Some(0) && said.contains("nothing is damaged"), "{said}");
}
