//! `tickwire demo --monitor`: receives a feed whose lines lose packets and shows it in a monitor. A second
//! monitor shows a FIX session.

use super::rounds::{FeedRounds, RoundFiles};
use super::sessions::DemoSessions;
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::receive::{self, ReceiveArgs};
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Packets a second.
const RATE: u32 = 1_000;
/// Percent of packets that lines A and B lose.
const LOSS: &str = "3,2";
/// Interval at which the sending process is checked.
const TICK: Duration = Duration::from_millis(100);

/// The command line of `receive`, which the demo fills in.
#[derive(Debug, Parser)]
struct ReceiveLine {
    #[command(flatten)]
    args: ReceiveArgs,
}

/// Beginning of the names of temporary directories. The id of the process that uses one follows.
const DIRECTORY: &str = "tickwire-demo-";

/// A temporary directory, removed when this value is dropped.
struct Directory(PathBuf);

impl Directory {
    fn create() -> Result<Self, Failure> {
        let parent = std::env::temp_dir();
        remove_abandoned(&parent);
        let path = parent.join(format!("{DIRECTORY}{}", std::process::id()));
        std::fs::create_dir(&path)
            .map_err(|error| Failure::file("create", path.display(), &error))?;
        Ok(Self(path))
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // If the directory cannot be removed, it leaves only a few megabytes among the temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes the directories of demos that were killed. Those of other users cannot be removed and stay.
fn remove_abandoned(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(DIRECTORY)?.parse().ok());
        let is_own = process == Some(std::process::id());
        let is_gone = |id: u32| !Path::new("/proc").join(id.to_string()).exists();
        if is_own || process.is_some_and(is_gone) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A process that is restarted when it ends, until this value is dropped. Its standard input is a pipe, at whose end it exits:
/// it does not outlive the demo, even if that is killed.
pub struct RestartedProcess {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RestartedProcess {
    /// Starts the process. `arguments` returns its command line for each start; the process is not started while that is
    /// `None`.
    pub fn start(
        program: PathBuf,
        mut arguments: impl FnMut() -> Option<Vec<String>> + Send + 'static,
    ) -> Self {
        let (stop, stopped) = channel::<()>();
        let thread = thread::spawn(move || {
            let mut child = None;
            // The loop ends when the other end of the channel is dropped.
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if !is_running(&mut child) {
                    child = arguments().and_then(|arguments| start(&program, &arguments));
                }
            }
            if let Some(mut child) = child {
                // Fails only if the process has already ended.
                let _ = child.kill();
                let _ = child.wait();
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for RestartedProcess {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Fails only if the thread panicked, which has been printed.
            let _ = thread.join();
        }
    }
}

fn is_running(child: &mut Option<Child>) -> bool {
    child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
}

fn start(program: &Path, arguments: &[String]) -> Option<Child> {
    let mut command = Command::new(program);
    command.args(arguments).arg("--end-with-input");
    let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    started.inspect_err(|error| tell!("tickwire: {} does not start: {error}", arguments[0])).ok()
}

/// Splits a command line into words.
pub fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Sends the rounds of a feed, each by a process of its own. The next round is written while one is sent.
fn send(program: PathBuf, mut rounds: FeedRounds, options: String, seed: u64) -> RestartedProcess {
    let (written, ready) = sync_channel(0);
    // The thread ends when the receiving end is dropped.
    thread::spawn(move || {
        let mut is_wanted = true;
        while is_wanted {
            match rounds.write() {
                Ok(files) => is_wanted = written.send(files).is_ok(),
                Err(failure) => return tell!("tickwire: {}", failure.text().unwrap_or_default()),
            }
        }
    });
    let mut sent = None::<RoundFiles>;
    RestartedProcess::start(program, move || {
        let files = ready.recv().ok()?;
        let RoundFiles { number, feed, snapshots } = &files;
        // Each round loses other packets.
        let seed = seed.wrapping_add(*number);
        let line = format!(
            "multicast -f {} --snapshots {} {options} --seed {seed} --json -",
            feed.display(),
            snapshots.display(),
        );
        if let Some(sent) = sent.replace(files) {
            sent.remove();
        }
        Some(words(&line))
    })
}

/// Generates a feed, sends it on loopback and receives it with a monitor at `port`. Runs a FIX session too. Ends when
/// the user stops it. A new sending process begins after each `round` packets.
pub fn run(port: u16, seed: u64, round: u32) -> Result<Outcome, Failure> {
    let failed = |error: std::io::Error| Failure::Usage(format!("demo: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let directory = Directory::create()?;
    let templates = directory.file("templates.xml");
    let rounds = FeedRounds::create(&directory.0, Path::new(&templates), round, seed)?;
    let [_, _, high, low] = std::process::id().to_be_bytes();
    // Organisation-local scope. The last byte is even, so that line B and the snapshots differ in that byte
    // only.
    let lines =
        format!("-a 239.193.{high}.{} -p {} --line-b", low & !3, 21_000 + u16::from(low) * 4);
    let receive = format!(
        "receive -t {templates} --framing cme {lines} --snapshots --heartbeat-interval 1s --hold 5ms \
         --past-done --quiet --monitor {port}"
    );
    let receive = ReceiveLine::try_parse_from(words(&receive))
        .map_err(|error| Failure::Usage(format!("demo: {error}")))?;
    let options = format!("{lines} --rate {RATE} --loss {LOSS} --duplicate 1 --reorder 1");
    let _feed = send(program.clone(), rounds, options, seed);
    let _sessions = DemoSessions::start(&program, &directory.0, seed)?;
    tell!(
        "A feed of {RATE} packets/s. Lines A and B lose {} percent of the packets. Ctrl-C ends it.",
        LOSS.replace(',', " and ")
    );
    // The losses are intended, so they do not count as errors of this command.
    receive::run(&receive.args).map(|_| Outcome::Clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_processes_that_are_gone_are_removed() {
        let parent =
            std::env::temp_dir().join(format!("tickwire-abandoned-{}", std::process::id()));
        // Larger than any id of a process.
        let names =
            ["tickwire-demo-4294967295", "tickwire-demo-1", "tickwire-demo-x", "other-4294967295"];
        for name in names {
            std::fs::create_dir_all(parent.join(name)).unwrap();
            std::fs::write(parent.join(name).join("feed.bin"), b"x").unwrap();
        }
        remove_abandoned(&parent);
        let left = names.map(|name| parent.join(name).join("feed.bin").exists());
        assert_eq!(left, [false, true, true, true]);
        std::fs::remove_dir_all(parent).unwrap();
    }
}
