//! Child processes of this program that end when it ends.

use crate::failure::Failure;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tickwire_net::Stop;

/// Longest sleep, so that a request to stop is noticed.
const TICK: Duration = Duration::from_millis(20);

/// A child process of this program. Its standard input is a pipe: the child ends when the pipe closes, either
/// on request or because this process is gone. Dropping this value kills the child.
pub struct ChildProcess {
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl ChildProcess {
    /// Starts `tickwire` with these arguments.
    pub fn start<A: AsRef<OsStr>>(
        name: &'static str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Self, Failure> {
        let failed = |error| Failure::Usage(format!("cannot start the {name}: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let input = child.stdin.take();
        let (send, lines) = channel();
        if let Some(output) = child.stdout.take() {
            // Keeps reading after the receiver is gone, so that the child never blocks on a full pipe.
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            });
        }
        Ok(Self { name, child, input, lines })
    }

    /// Waits for a line that begins with `start`.
    ///
    /// # Errors
    /// The child ended without printing it, `timeout` passed, or the user stopped this process.
    pub fn wait_line(&self, start: &str, timeout: Duration, stop: &Stop) -> Result<(), Failure> {
        let started = Instant::now();
        loop {
            match self.lines.recv_timeout(TICK) {
                Ok(line) if line.starts_with(start) => return Ok(()),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) if stop.is_set() => {
                    return Err(Failure::Usage("stopped".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) if started.elapsed() < timeout => {}
                Err(RecvTimeoutError::Timeout) => return Err(self.failed("was not ready in time")),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.failed("ended before it was ready"));
                }
            }
        }
    }

    /// Returns the pipe to the child's standard input; dropping it ends the child.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.input.take()
    }

    /// Asks the child to end cleanly.
    pub fn stop(&mut self) {
        drop(self.input.take());
    }

    /// Sends SIGINT, as Ctrl-C does, for a child that does not watch its standard input.
    pub fn interrupt(&self) {
        // Fails if the child has already ended, which is the aim.
        let _ = i32::try_from(self.id()).map(|id| kill(Pid::from_raw(id), Signal::SIGINT));
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the exit status, if the child has ended.
    pub fn status(&mut self) -> Result<Option<ExitStatus>, Failure> {
        self.child
            .try_wait()
            .map_err(|error| Failure::Usage(format!("cannot wait for the {}: {error}", self.name)))
    }

    /// Waits at most `timeout` for the child to end; false if it has not ended, or the user stopped this
    /// process.
    pub fn wait(&mut self, timeout: Duration, stop: &Stop) -> Result<bool, Failure> {
        let started = Instant::now();
        while self.status()?.is_none() {
            if started.elapsed() >= timeout || stop.is_set() {
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
        Ok(true)
    }

    fn failed(&self, how: &str) -> Failure {
        Failure::Usage(format!("the {} {how}: its output is above", self.name))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // Fails if the child has already ended, which is the aim.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
