//! Writers and readers in separate processes: killed, stopped, restarted, under another user.

mod common;

use common::Scene;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Gid, Pid, Uid, setgid, setgroups, setuid};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tickwire_shm::{
    ReaderWait, Readers, Schema, ShmChannel, ShmError, ShmEvent, ShmReader, ShmWriter, Start,
    WriterOptions,
};
use tickwire_testing::{Need, skip};

const SECOND: Duration = Duration::from_secs(10);

/// User and group `nobody`, which own none of the files.
const NOBODY: u32 = 65534;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[1..] {
        ["role", "write", directory] => write_for_ever(directory.as_ref()),
        ["role", "read", directory, user] => read_as(directory.as_ref(), user.parse().unwrap()),
        _ => test_all(),
    }
}

fn test_all() {
    type Test = (&'static str, fn());
    let tests: [Test; 4] = [
        ("a writer is killed and restarted, its readers go on", killed_writers_are_followed),
        ("a stopped reader stops nobody and has an exact gap", a_stopped_reader_has_a_gap),
        ("a killed reader that slept costs one call", a_killed_sleeper_is_forgotten),
        ("another user reads by group, and only by group", the_group_decides),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

/// Starts a process of this program in another role.
fn start(role: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut child = command.arg("role").args(role).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

fn line(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.trim().to_owned()
}

fn wait_until(mut is_done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_done() {
        assert!(begun.elapsed() < SECOND, "not in time");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn options() -> WriterOptions {
    WriterOptions {
        sample_bytes: 40,
        slots: 1 << 10,
        key_bytes: 8,
        keys: 4,
        readers: Readers::Group(None),
    }
}

fn place(directory: &Path) -> (ShmChannel, Schema) {
    (
        ShmChannel::in_directory(directory, "processes").unwrap(),
        Schema::new("Text", b"text").unwrap(),
    )
}

/// Role: publishes until it is killed. Each sample has its sequence number in every word; keys are added as it runs.
fn write_for_ever(directory: &Path) {
    let (channel, schema) = place(directory);
    let mut writer = ShmWriter::open(&channel, &schema, &options()).unwrap();
    println!("open");
    loop {
        let number = writer.next_seq_num();
        let name = format!("{}", number % 50);
        let key = writer.key(name.as_bytes()).unwrap();
        let mut sample = [0; 40];
        sample.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&number.to_le_bytes()));
        writer.publish_keyed(key, &sample).unwrap();
    }
}

/// Role: reads as another user and prints each event.
fn read_as(directory: &Path, user: u32) {
    if user != 0 {
        setgroups(&[]).unwrap();
        setgid(Gid::from_raw(user)).unwrap();
        setuid(Uid::from_raw(user)).unwrap();
    }
    let (channel, schema) = place(directory);
    match ShmReader::open(&channel, &schema, Start::Now, ReaderWait::Block) {
        Ok(mut reader) => {
            println!("open");
            loop {
                match reader.wait(SECOND) {
                    Ok(Some(ShmEvent::Sample(sample))) => println!("{}", sample.seq_num),
                    other => println!("{other:?}"),
                }
            }
        }
        Err(ShmError::Io { source, .. }) => println!("refused: {source}"),
        Err(error) => println!("refused: {error}"),
    }
}

/// Follows a channel and checks every sequence number.
struct Follower {
    reader: ShmReader,
    next: u64,
    restarts: u64,
    gone: u64,
}

impl Follower {
    fn follow(&mut self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            match self.reader.wait(Duration::from_millis(5)).unwrap() {
                Some(ShmEvent::Sample(sample)) => {
                    assert_eq!(sample.seq_num, self.next);
                    let mut words = sample.bytes.chunks_exact(8);
                    assert!(words.all(|word| word == self.next.to_le_bytes()), "a torn sample");
                    self.next += 1;
                }
                Some(ShmEvent::Gap { from, to }) => {
                    assert!(from == self.next && to > from);
                    self.next = to;
                }
                Some(ShmEvent::Restarted { at, .. }) => {
                    assert_eq!(at, self.next);
                    self.restarts += 1;
                }
                Some(ShmEvent::WriterGone) => self.gone += 1,
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
    }
}

fn killed_writers_are_followed() {
    let scene = Scene::new("killed", 0);
    let directory = scene.directory.to_str().unwrap();
    let (channel, schema) = place(&scene.directory);
    let (mut child, mut output) = start(&["write", directory]);
    assert_eq!(line(&mut output), "open");
    let reader = ShmReader::open(&channel, &schema, Start::Now, ReaderWait::Block).unwrap();
    let mut follower = Follower { next: reader.next_seq_num(), reader, restarts: 0, gone: 0 };
    for turn in 0..12_u64 {
        // Kill the writer at a different point of its loop each time.
        follower.follow(Duration::from_micros(9_137 * (turn % 4 + 1)));
        end(child);
        (child, output) = start(&["write", directory]);
        assert_eq!(line(&mut output), "open");
        // A reader that checks less often than writers restart gets an event for the newest writer
        // only.
        let begun = Instant::now();
        while follower.restarts <= turn {
            assert!(begun.elapsed() < SECOND, "a restart was not told");
            follower.follow(Duration::from_millis(1));
        }
    }
    assert_eq!((follower.restarts, follower.gone), (12, 0));
    end(child);
    follower.follow(Duration::from_millis(400));
    assert_eq!(follower.gone, 1, "told once");

    // The last value of each key is the last sample with that key. The writer may have been killed between a value and the
    // head, and the next writer completes that sample.
    drop(ShmWriter::open(&channel, &schema, &options()).unwrap());
    let mut values = follower.reader.last_values().unwrap();
    let head = values.seq_num();
    let mut found = 0;
    while let Some(sample) = values.next().unwrap() {
        assert!(sample.seq_num + 50 >= head, "{} of {head}", sample.seq_num);
        assert_eq!(sample.bytes[..8], sample.seq_num.to_le_bytes());
        found += 1;
    }
    assert_eq!(found, 50);
    channel.remove().unwrap();
    assert_eq!(std::fs::read_dir(&scene.directory).unwrap().count(), 0);
}

/// Waits until the process is stopped: a signal to another process takes effect some time later.
fn until_stopped(pid: Pid) {
    let begun = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, state) = stat.rsplit_once(") ").unwrap();
        if state.starts_with('T') {
            return;
        }
        assert!(begun.elapsed() < SECOND, "{pid} does not stop: {state}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn a_stopped_reader_has_a_gap() {
    let scene = Scene::new("stopped", 0);
    let (channel, schema) = place(&scene.directory);
    let mut writer = ShmWriter::open(&channel, &schema, &options()).unwrap();
    let (child, mut output) = start(&["read", scene.directory.to_str().unwrap(), "0"]);
    assert_eq!(line(&mut output), "open");
    writer.publish(b"0").unwrap();
    assert_eq!(line(&mut output), "0");
    let pid = Pid::from_raw(child.id() as i32);
    kill(pid, Signal::SIGSTOP).unwrap();
    until_stopped(pid);
    for number in 1..5000 {
        writer.publish(format!("{number}").as_bytes()).unwrap();
    }
    kill(pid, Signal::SIGCONT).unwrap();
    assert_eq!(line(&mut output), format!("Ok(Some(Gap {{ from: 1, to: {} }}))", 5000 - 512));
    assert_eq!(line(&mut output), (5000 - 512).to_string());
    end(child);
}

fn a_killed_sleeper_is_forgotten() {
    let scene = Scene::new("sleeper", 0);
    let (channel, schema) = place(&scene.directory);
    let mut writer = ShmWriter::open(&channel, &schema, &options()).unwrap();
    let (child, mut output) = start(&["read", scene.directory.to_str().unwrap(), "0"]);
    assert_eq!(line(&mut output), "open");
    let flag = || {
        let bytes = std::fs::read(scene.directory.join("processes.waiters")).unwrap();
        bytes[64] & 1
    };
    wait_until(|| flag() == 1);
    assert_eq!(writer.readers().unwrap(), 1);
    end(child);
    assert_eq!(writer.readers().unwrap(), 0);
    writer.publish(b"").unwrap();
    assert_eq!(flag(), 0, "the next publish calls the kernel, the one behind it does not");
}

fn the_group_decides() {
    if !Uid::effective().is_root() {
        return skip(Need::Machine, "only root can become another user");
    }
    let scene = Scene::new("group", 0);
    let directory = scene.directory.to_str().unwrap();
    let (channel, schema) = place(&scene.directory);
    let open = |readers| {
        ShmWriter::open(&channel, &schema, &WriterOptions { readers, ..options() }).unwrap()
    };
    let user = NOBODY.to_string();
    for readers in [Readers::Owner, Readers::Group(None)] {
        let _writer = open(readers);
        let (child, mut output) = start(&["read", directory, &user]);
        assert_eq!(line(&mut output), "refused: Permission denied (os error 13)", "{readers:?}");
        end(child);
    }
    for readers in [Readers::Group(Some(NOBODY)), Readers::Everyone] {
        let mut writer = open(readers);
        let (child, mut output) = start(&["read", directory, &user]);
        assert_eq!(line(&mut output), "open", "{readers:?}");
        assert_eq!(writer.readers().unwrap(), 1);
        let seq_num = writer.publish(b"").unwrap();
        assert_eq!(line(&mut output), seq_num.to_string());
        end(child);
    }
}
