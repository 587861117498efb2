//! Server and client by settings files, their message logs, and what is told of wrong settings.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A folder removed at the end.
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

/// A server, ended with the test.
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

#[test]
fn sessions_of_settings_files_trade_and_log() {
    let folder = Folder::new("config");
    let kept = text(&folder.0);
    let server = folder.write(
        "server.cfg",
        &format!(
            "[DEFAULT]\nConnectionType=acceptor\nBeginString=FIX.4.2\nSenderCompID=EXCHANGE\n\
             SocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\nHouseKey=1\n\
             FileStorePath={kept}/server\nFileLogPath={kept}/log\n[SESSION]\nTargetCompID=TRADER\n"
        ),
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "server", "--once", "--config", text(&server)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let _server = Server(child);
    let line = lines.next().expect("a line").expect("text");
    let port = line.rsplit_once(':').expect("an address").1.to_owned();
    let client = folder.write(
        "client.cfg",
        &format!(
            "[SESSION]\nConnectionType=initiator\nBeginString=FIX.4.2\nSenderCompID=TRADER\n\
             TargetCompID=EXCHANGE\nSocketConnectHost=127.0.0.1\nSocketConnectPort={port}\n\
             FileStorePath={kept}/client\nHeartBtInt=5\n"
        ),
    );
    let output = tickwire(&["client", "--orders", "40", "--config", text(&client)]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("40 NewOrderSingle msgs sent"), "{said}");
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert!(rest.iter().any(|line| line.starts_with("40 orders received")), "{rest:?}");

    let log = folder.0.join("log/FIX.4.2-EXCHANGE-TRADER.messages.log");
    let output = tickwire(&["log", "--type", "D", text(&log)]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert_eq!(printed.matches("NewOrderSingle").count(), 40, "{printed}");
    let output = tickwire(&["log", "--raw", text(&log)]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.lines().next().is_some_and(|line| line.contains(" < 8=FIX.4.2|9=")));
    assert!(printed.lines().filter(|line| line.contains(" > ")).count() > 40);
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
