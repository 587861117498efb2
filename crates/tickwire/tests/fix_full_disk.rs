//! Stores, message logs and journals of FIX sessions on a full disk.

mod support;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::{directory, file, tickwire};

/// A server, killed when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts a server and returns it with its port.
    fn start(arguments: &str) -> (Self, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(["fix", "server"])
            .args(arguments.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("text");
        let port = line.trim_end().rsplit_once(':').expect("an address").1.to_owned();
        (Self(child), port)
    }

    /// Waits for its end; returns the status and its standard error.
    fn end(mut self) -> (Option<i32>, String) {
        let mut told = String::new();
        let mut out = self.0.stderr.take().expect("piped");
        out.read_to_string(&mut told).expect("text");
        (self.0.wait().expect("ends").code(), told)
    }
}

/// Makes `name` in `folder` a file on which every write fails with "no space left".
fn full(folder: &Path, name: &str) -> String {
    std::fs::create_dir_all(folder).expect("a folder");
    let path = folder.join(name);
    symlink("/dev/full", &path).expect("a link");
    path.display().to_string()
}

/// A settings file of a server with a message log.
fn settings(folder: &Path, store: &str) -> String {
    let kept = folder.display();
    let text = format!(
        "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.2\nSenderCompID=TEX_DLD\n\
         TargetCompID=DLD_TEX\nResetOnLogon=Y\nSocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\n\
         FileStorePath={kept}/{store}\nFileLogPath={kept}/log\n"
    );
    file(folder, "server.cfg", text.as_bytes())
}

#[test]
fn a_message_log_that_finds_no_room_is_told_and_trading_goes_on() {
    let folder = directory("fix_full_log");
    let log = full(&folder.join("log"), "FIX.4.2-TEX_DLD-DLD_TEX.messages.log");
    let config = settings(&folder, "store");
    let (server, port) = Server::start(&format!("--once --config {config}"));
    let run = tickwire(&format!("fix client 127.0.0.1:{port} --orders 20"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("20 NewOrderSingle msgs sent"), "{}", run.out);
    let (status, told) = server.end();
    assert_eq!(status, Some(1), "{told}");
    let wanted = format!("the message log is interrupted: {log}: No space left on device");
    assert_eq!(told.matches(&wanted).count(), 1, "{told}");
    assert!(told.contains("tickwire: a message log was interrupted: "), "{told}");
}

#[test]
fn the_log_of_a_client_that_finds_no_room_is_told() {
    let folder = directory("fix_full_client_log");
    let log = full(&folder.join("log"), "FIX.4.2-DLD_TEX-TEX_DLD.messages.log");
    let (_server, port) = Server::start("--port 0");
    let text = format!(
        "[SESSION]\nConnectionType=initiator\nBeginString=FIX.4.2\nSenderCompID=DLD_TEX\n\
         TargetCompID=TEX_DLD\nResetOnLogon=Y\nSocketConnectHost=127.0.0.1\n\
         SocketConnectPort={port}\nFileLogPath={}\n",
        folder.join("log").display()
    );
    let config = file(&folder, "client.cfg", text.as_bytes());
    let run = tickwire(&format!("fix client --orders 20 --config {config}"));
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(
        run.err.contains(&format!("tickwire: the message log was interrupted: {log}: ")),
        "{}",
        run.err
    );
    assert!(run.out.contains("20 NewOrderSingle msgs sent"), "{}", run.out);
}

#[test]
fn a_journal_that_finds_no_room_is_named() {
    let folder = directory("fix_full_journal");
    let (_server, port) = Server::start("--port 0");
    let journal = folder.join("reports").display().to_string();
    // Limits files to zero blocks.
    let run = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"])
        .args([env!("CARGO_BIN_EXE_tickwire"), "fix", "client", &format!("127.0.0.1:{port}")])
        .args(["--orders", "20", "--journal", &journal])
        .output()
        .expect("runs");
    let told = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{told}");
    assert!(told.contains(&format!("cannot write the journal {journal}: ")), "{told}");
}

/// Runs a program whose files are limited to two blocks each.
const LIMITED: &str = "trap '' XFSZ; ulimit -f 2; exec \"$@\"";

#[test]
fn a_store_that_finds_no_room_is_named_and_the_status_says_so() {
    let folder = directory("fix_full_store");
    let store = folder.join("store");
    let mut child = Command::new("sh")
        .args(["-c", LIMITED, "sh", env!("CARGO_BIN_EXE_tickwire"), "fix", "server", "--port", "0"])
        .args(["--store", &store.display().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("text");
    let port = line.trim_end().rsplit_once(':').expect("an address").1.to_owned();
    let server = Server(child);
    let run = tickwire(&format!("fix client 127.0.0.1:{port} --orders 200"));
    assert_eq!(run.status, 1, "{}", run.err);
    let id = i32::try_from(server.0.id()).expect("fits");
    let interrupt = nix::sys::signal::Signal::SIGINT;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), interrupt).expect("is mine");
    let (status, told) = server.end();
    assert_eq!(status, Some(1), "{told}");
    let path = store.join("FIX.4.2-TEX_DLD-DLD_TEX.journal").display().to_string();
    assert!(told.contains(&format!("tickwire: message store: cannot write {path}: ")), "{told}");

    let store = folder.join("client");
    let (_server, port) = Server::start("--port 0");
    let run = Command::new("sh")
        .args(["-c", LIMITED, "sh", env!("CARGO_BIN_EXE_tickwire"), "fix", "client"])
        .args([&format!("127.0.0.1:{port}"), "--orders", "200"])
        .args(["--store", &store.display().to_string()])
        .output()
        .expect("runs");
    let told = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{told}");
    let path = store.join("FIX.4.2-DLD_TEX-TEX_DLD.journal").display().to_string();
    assert!(told.contains(&format!("tickwire: message store: cannot write {path}: ")), "{told}");
}

#[test]
fn no_token_file_is_left_without_a_token() {
    let token = directory("fix_full_token").join("token");
    let run = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"])
        .args([env!("CARGO_BIN_EXE_tickwire"), "fix", "server", "--port", "0", "--admin", "0"])
        .args(["--admin-token", &token.display().to_string()])
        .output()
        .expect("runs");
    let told = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert!(told.contains(&format!("{}: ", token.display())), "{told}");
    assert!(!token.exists());
}
