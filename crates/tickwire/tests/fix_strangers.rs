//! Unauthenticated peers: limits on what they can use if a template admits any CompID.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A server and its folder, removed with the test.
struct Server {
    child: Child,
    folder: PathBuf,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts a server that can have at most 110 open files, with a session for TRADER and a template for
/// everybody else.
fn server() -> Server {
    let name = format!("tickwire-strangers-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let kept = folder.display();
    let config = folder.join("server.cfg");
    let settings = format!(
        "[DEFAULT]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nUseDataDictionary=N\n\
         SocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\nFileStorePath={kept}/store\nFileLogPath={kept}/log\n\
         [SESSION]\nTargetCompID=TRADER\n[SESSION]\nTargetCompID=*\nAcceptorTemplate=Y\n"
    );
    std::fs::write(&config, settings).expect("written");
    let exe = env!("CARGO_BIN_EXE_tickwire");
    let command = format!("ulimit -n 110; exec {exe} fix server --config {}", config.display());
    let mut child = Command::new("sh")
        .args(["-c", &command])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let stdout = child.stdout.take().expect("piped");
    let line = BufReader::new(stdout).lines().next().expect("a line").expect("text");
    let address = line.rsplit_once(' ').expect("an address").1.to_owned();
    Server { child, folder, address }
}

fn logon(sender: &str) -> Vec<u8> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after");
    let now = tickwire_fix::UtcTimestamp::from_unix_nanos(now.as_nanos() as u64);
    let (date, time) = (now.date, now.time);
    let body = format!(
        "35=A|34=1|49={sender}|52={:04}{:02}{:02}-{:02}:{:02}:{:02}|56=A|98=0|108=30|141=Y|",
        date.year(),
        date.month(),
        date.day(),
        time.hour(),
        time.minute(),
        time.second()
    );
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

/// True if a Logon with this SenderCompID is answered by a Logon.
fn is_let_in(server: &Server, sender: &str) -> bool {
    let mut stream = TcpStream::connect(&server.address).expect("connects");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).expect("a socket");
    stream.write_all(&logon(sender)).expect("writes");
    let mut answer = [0; 512];
    let len = stream.read(&mut answer).unwrap_or(0);
    answer[..len].windows(6).any(|window| window == b"\x0135=A\x01")
}

#[test]
fn names_that_nobody_has_leave_descriptors_for_those_that_somebody_has() {
    let server = server();
    let let_in = (0..120).filter(|number| is_let_in(&server, &format!("INV{number}"))).count();
    assert_eq!(let_in, 120, "one after the other each finds a place");
    // Idle connections that send nothing are open too.
    let idle: Vec<_> = (0..12).map(|_| TcpStream::connect(&server.address)).collect();
    for _ in 0..3 {
        assert!(is_let_in(&server, "TRADER"));
    }
    assert!(idle.iter().all(Result::is_ok));
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).expect("Linux").count();
    assert!(open < 110, "{open} are open");
}
