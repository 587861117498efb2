//! Soak test of the broadcast: `soak SECONDS [DIRECTORY]`. It runs a writer process and several reader processes. One
//! reader is stopped and continued again and again, one is killed every second, and the writer is killed and restarted.
//! The exit status is 1 unless
//!
//! - the median cost of a publish stays within 1.25 times the cost before the first disturbance,
//! - the undisturbed reader has received or reported as a gap every sample, and has seen every restart and the end,
//! - the same holds for the reader that is stopped again and again,
//! - no file is left behind.

mod reader;
mod writer;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel as queue};
use std::thread;
use std::time::{Duration, Instant};
use tickwire_shm::{Schema, ShmChannel};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match arguments[..] {
        ["role", "write", directory] => writer::run(directory.as_ref()),
        ["role", "read", directory] => reader::run(directory.as_ref()),
        [seconds] => soak(seconds, &std::env::temp_dir().join("tickwire-soak")),
        [seconds, directory] => soak(seconds, directory.as_ref()),
        _ => Err("usage: soak SECONDS [DIRECTORY]".into()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the channel of the soak and its schema.
fn place(directory: &Path) -> Outcome<(ShmChannel, Schema)> {
    Ok((ShmChannel::in_directory(directory, "soak")?, Schema::new("Numbers", b"25 equal words")?))
}

/// A child process of this program in another role, and the lines that it prints.
struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    fn start(role: &str, directory: &Path) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["role", role]).arg(directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let (sender, lines) = queue();
        thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let process = Self { child, lines };
        match process.lines.recv_timeout(Duration::from_secs(10))?.as_str() {
            "open" => Ok(process),
            line => Err(format!("{role} says {line}").into()),
        }
    }

    fn signal(&self, signal: Signal) -> Outcome<()> {
        Ok(kill(Pid::from_raw(self.child.id() as i32), signal)?)
    }

    fn kill(mut self) -> Outcome<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Returns the costs of a publish, in nanoseconds, that the writer has reported since the last call.
    fn costs(&self) -> Vec<f64> {
        self.lines.try_iter().filter_map(|line| line.strip_prefix("cost ")?.parse().ok()).collect()
    }

    /// Returns the last line that a reader prints, which it does once the channel is done.
    fn verdict(mut self) -> Outcome<String> {
        let line = self.lines.recv_timeout(Duration::from_secs(30))?;
        match self.child.wait()?.success() {
            true => Ok(line),
            false => Err(line.into()),
        }
    }
}

/// Periods of the disturbances.
const KILL_READER: Duration = Duration::from_secs(1);
const STOP_READER: Duration = Duration::from_secs(3);
const KILL_WRITER: Duration = Duration::from_secs(7);

fn soak(seconds: &str, directory: &Path) -> Outcome<()> {
    let time = Duration::from_secs(seconds.parse()?);
    let mut writer = Process::start("write", directory)?;
    let steady = Process::start("read", directory)?;
    let stopped = Process::start("read", directory)?;
    let mut victim = Process::start("read", directory)?;
    // The first tenth of the time passes undisturbed, as the baseline.
    thread::sleep((time / 10).max(Duration::from_secs(3)));
    let peace = median(writer.costs())?;

    let (mut costs, mut killed_writers, mut killed_readers, mut stops) =
        (Vec::new(), 0_u64, 0_u64, 0_u64);
    let begun = Instant::now();
    let mut due = [KILL_READER, STOP_READER, KILL_WRITER].map(|every| begun + every);
    let mut is_stopped = false;
    while begun.elapsed() < time {
        thread::sleep(Duration::from_millis(20));
        let now = Instant::now();
        if now >= due[0] {
            due[0] += KILL_READER;
            victim.kill()?;
            victim = Process::start("read", directory)?;
            killed_readers += 1;
        }
        if now >= due[1] {
            due[1] += STOP_READER / 2;
            is_stopped = !is_stopped;
            stopped.signal(if is_stopped { Signal::SIGSTOP } else { Signal::SIGCONT })?;
            stops += u64::from(is_stopped);
        }
        if now >= due[2] {
            due[2] += KILL_WRITER;
            costs.extend(writer.costs());
            writer.kill()?;
            writer = Process::start("write", directory)?;
            killed_writers += 1;
        }
    }
    stopped.signal(Signal::SIGCONT)?;
    costs.extend(writer.costs());
    let disturbed = median(costs)?;
    // The writer ends the channel when its standard input is closed.
    drop(writer.child.stdin.take());
    println!(
        "{killed_readers} readers killed, {stops} times a reader stopped, {killed_writers} writers killed"
    );
    println!(
        "publish, median ns: {peace:.1} in peace, {disturbed:.1} disturbed, ratio {:.2}",
        disturbed / peace
    );
    for (name, process) in
        [("steady reader", steady), ("stopped reader", stopped), ("last reader", victim)]
    {
        let verdict = process.verdict()?;
        println!("{name}: {verdict}");
        let expected = format!("restarts {killed_writers} ");
        if name != "last reader" && !verdict.contains(&expected) {
            return Err(format!("{name}: {expected}expected").into());
        }
    }
    if !writer.child.wait()?.success() {
        return Err("the writer failed".into());
    }
    let left: Vec<_> = std::fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    if !left.is_empty() {
        return Err(format!("left behind: {left:?}").into());
    }
    std::fs::remove_dir(directory)?;
    println!("nothing left behind");
    match disturbed <= 1.25 * peace {
        true => Ok(()),
        false => Err("publishing became dearer".into()),
    }
}

fn median(mut costs: Vec<f64>) -> Outcome<f64> {
    costs.sort_by(f64::total_cmp);
    costs.get(costs.len() / 2).copied().ok_or_else(|| "the writer reported no costs".into())
}
