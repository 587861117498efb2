//! QuickFIX's session acceptance definitions (`.ci/fetch-captures`), played against `tickwire fix acceptance`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tickwire_testing::shared;

const SOH: u8 = 1;
/// Limit for the next message or the disconnection. A test request takes 15 s.
const PATIENCE: Duration = Duration::from_secs(120);

/// The acceptor, killed when dropped.
struct Acceptor(Child);

impl Drop for Acceptor {
    fn drop(&mut self) {
        // Fails if it has already ended, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the acceptor on a free port; returns it with its address.
fn start() -> (Acceptor, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "acceptance", "--port", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let port = line.trim().rsplit_once(':').expect("an address").1.to_owned();
    (Acceptor(child), format!("127.0.0.1:{port}"))
}

/// A connection to the acceptor.
struct Peer {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Peer {
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the acceptor listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("an option");
        Self { stream, received: Vec::new() }
    }

    /// Reads once. Returns the number of bytes, 0 if the acceptor has closed the connection.
    fn read(&mut self) -> Result<usize, String> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(count) => {
                self.received.extend_from_slice(&buffer[..count]);
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(0),
            Err(error) => Err(format!("nothing arrives: {error}")),
        }
    }

    fn message(&mut self) -> Result<Vec<u8>, String> {
        loop {
            if let Some(len) = message_len(&self.received) {
                return Ok(self.received.drain(..len).collect());
            }
            if self.read()? == 0 {
                return Err(format!("disconnected after {:?}", shown(&self.received)));
            }
        }
    }

    /// Waits until the acceptor closes the connection.
    fn closed(&mut self) -> Result<(), String> {
        if self.received.is_empty() && self.read()? == 0 {
            return Ok(());
        }
        Err(format!("expected a disconnection, got {:?}", shown(&self.received)))
    }

    /// Closes the connection and waits until the acceptor has done so too, so that its session can log on again.
    fn close(mut self) -> Result<(), String> {
        // Fails if the acceptor has closed it.
        let _ = self.stream.shutdown(Shutdown::Write);
        while self.read()? > 0 {}
        Ok(())
    }
}

/// Returns the length of the first message, by its BodyLength and the separator after CheckSum.
fn message_len(received: &[u8]) -> Option<usize> {
    let length = find(received, b"\x019=")? + 3;
    let body = length + find(&received[length..], &[SOH])? + 1;
    let digits = std::str::from_utf8(&received[length..body - 1]).expect("ASCII");
    let trailer = body + digits.parse::<usize>().expect("a BodyLength");
    Some(trailer + find(received.get(trailer..)?, &[SOH])? + 1)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn shown(message: &[u8]) -> String {
    String::from_utf8_lossy(message).replace(char::from(SOH), "|")
}

/// Replaces `<TIME>`, `<TIME+n>` and `<TIME-n>` by the current time and n seconds later or earlier.
fn with_times(text: &str) -> String {
    let mut parts = text.split("<TIME");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (offset, rest) = part.split_once('>').expect("a closed <TIME>");
        let seconds = if offset.is_empty() { 0 } else { offset.parse().expect("seconds") };
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        out.push_str(&at.strftime("%Y%m%d-%H:%M:%S").to_string());
        out.push_str(rest);
    }
    out
}

/// Adds BodyLength and CheckSum to a message that lacks them; values that a definition gives are sent as they are.
fn with_length_and_checksum(message: Vec<u8>) -> Vec<u8> {
    let Some(head) = find(&message, &[SOH]).filter(|_| message.starts_with(b"8=")) else {
        return message;
    };
    let (head, mut rest) = message.split_at(head + 1);
    let given = find(rest, b"\x0110=").filter(|_| rest.ends_with(&[SOH]));
    let (body, checksum) = rest.split_at(given.unwrap_or(rest.len()));
    rest = body;
    let mut out = head.to_vec();
    if find(&message, b"\x019=").is_none() {
        out.extend(format!("9={}\x01", rest.len()).bytes());
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(checksum);
    if given.is_none() {
        let sum = out.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        out.extend(format!("10={sum:03}\x01").bytes());
    }
    out
}

/// True if `value` has the form of the pattern, in which 0 is any digit.
fn has_form(value: &str, pattern: &str) -> bool {
    let fits = |(byte, of): (u8, u8)| if of == b'0' { byte.is_ascii_digit() } else { byte == of };
    value.len() == pattern.len() && value.bytes().zip(pattern.bytes()).all(fits)
}

/// Compares fields in order. Times and the checksum only need the right form.
fn compare(expected: &str, received: &str) -> Result<(), String> {
    let fields = |text: &'_ str| -> Vec<(String, String)> {
        let field = |field: &str| {
            let (tag, value) = field.split_once('=').unwrap_or((field, ""));
            (tag.to_owned(), value.to_owned())
        };
        text.split_terminator(char::from(SOH)).map(field).collect()
    };
    let (expected, received) = (fields(expected), fields(received));
    for ((tag, value), (other_tag, other)) in expected.iter().zip(&received) {
        let is_same = match tag.as_str() {
            "10" => has_form(other, "000"),
            "42" | "52" | "60" | "122" => {
                has_form(other, "00000000-00:00:00") || has_form(other, "00000000-00:00:00.000")
            }
            _ => value == other,
        };
        if tag != other_tag || !is_same {
            return Err(format!("expected {tag}={value}, got {other_tag}={other}"));
        }
    }
    match expected.len() == received.len() {
        true => Ok(()),
        false => Err(format!("expected {} fields, got {}", expected.len(), received.len())),
    }
}

/// Plays one step. Its first character says who acts: `i` and `I` the test, `e` and `E` the acceptor; capital letters are
/// messages. A digit and a comma after it number the connection.
fn step(line: &str, address: &str, peers: &mut HashMap<char, Peer>) -> Result<(), String> {
    let kind = line.chars().next().expect("not empty");
    let (number, body) = match line.as_bytes() {
        [_, digit @ b'0'..=b'9', b',', ..] => (char::from(*digit), &line[3..]),
        _ => ('1', &line[1..]),
    };
    if (kind, body) == ('i', "CONNECT") {
        peers.insert(number, Peer::connect(address));
        return Ok(());
    }
    let mut peer = peers.remove(&number).ok_or("no such connection")?;
    match (kind, body) {
        ('i', "DISCONNECT") => return peer.close(),
        ('e', "DISCONNECT") => return peer.closed(),
        ('I', _) => {
            let message = with_length_and_checksum(with_times(body).into_bytes());
            peer.stream.write_all(&message).map_err(|error| format!("cannot send: {error}"))?;
        }
        ('E', _) => {
            let expected = with_length_and_checksum(with_times(body).into_bytes());
            let received = peer.message()?;
            let latin =
                |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
            compare(&latin(&expected), &latin(&received))
                .map_err(|error| format!("{error}\n  in {}", shown(&received)))?;
        }
        _ => return Err("not a step".to_owned()),
    }
    peers.insert(number, peer);
    Ok(())
}

/// Plays a definition.
fn play(file: &Path, address: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).expect("UTF-8");
    let mut peers = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = |error| format!("{}:{}: {error}", file.display(), index + 1);
        step(line, address, &mut peers).map_err(at)?;
    }
    peers.into_values().try_for_each(Peer::close)
}

/// Plays definitions of one version, one after the other: they use the same sessions. Returns the errors.
fn play_all(files: &[PathBuf], address: &str) -> Vec<String> {
    files.iter().filter_map(|file| play(file, address).err()).collect()
}

#[test]
fn every_case_of_the_suite_passes() {
    let Some(folder) = shared("fix/at") else { return };
    // The cases of group 6 wait half a minute for test requests, so they run against a separate
    // acceptor.
    let ((_short, short), (_long, long)) = (start(), start());
    let (short, long) = (short.as_str(), long.as_str());
    let mut count = 0;
    let failures: Vec<String> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for version in ["fix42", "fix44", "fix50sp2", "validate"] {
            let entries = std::fs::read_dir(folder.join(version)).expect("a folder");
            let mut files: Vec<PathBuf> =
                entries.map(|entry| entry.expect("readable").path()).collect();
            files.retain(|file| file.extension().is_some_and(|extension| extension == "def"));
            files.sort();
            count += files.len();
            let is_long = |file: &PathBuf| {
                file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("6_"))
            };
            let (slow, fast): (Vec<_>, Vec<_>) = files.into_iter().partition(is_long);
            threads.push(scope.spawn(move || play_all(&fast, short)));
            threads.push(scope.spawn(move || play_all(&slow, long)));
        }
        threads.into_iter().flat_map(|thread| thread.join().expect("played")).collect()
    });
    assert_eq!(count, 178, "definitions in {}", folder.display());
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_comparison_finds_each_difference() {
    let expected = "8=FIX.4.2\x019=1\x0152=00000000-00:00:00.000\x0158=text\x0110=000\x01";
    let same = "8=FIX.4.2\x019=1\x0152=20261127-16:00:00.123\x0158=text\x0110=217\x01";
    assert_eq!(compare(expected, same), Ok(()));
    for (old, new, error) in [
        ("58=text", "58=texts", "expected 58=text, got 58=texts"),
        ("58=text", "59=text", "expected 58=text, got 59=text"),
        ("-16:00", "-16.00", "expected 52=00000000-00:00:00.000, got 52=20261127-16.00:00.123"),
        ("10=217", "10=21", "expected 10=000, got 10=21"),
        ("10=217\x01", "", "expected 5 fields, got 4"),
        ("10=217\x01", "10=217\x0111=1\x01", "expected 5 fields, got 6"),
    ] {
        assert_eq!(compare(expected, &same.replace(old, new)), Err(error.to_owned()));
    }
    let message = with_length_and_checksum(b"8=FIX.4.2\x0135=0\x01".to_vec());
    assert_eq!(shown(&message), "8=FIX.4.2|9=5|35=0|10=161|");
    let wrong = b"8=FIX.4.2\x019=7\x0135=0\x0110=0\x01";
    assert_eq!(with_length_and_checksum(wrong.to_vec()), wrong);
}
