//! Child processes that run as long as the demo, each restarted when it ends.

use crate::console::tell;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Interval at which a process is checked.
const TICK: Duration = Duration::from_millis(100);

/// A process that is restarted when it ends, until this value is dropped. It exits when the pipe at its standard
/// input closes, so it does not outlive the demo, even if the demo is killed.
pub struct RestartedProcess {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RestartedProcess {
    /// Starts the process. `arguments` returns its command line for each start; the process is not started while it
    /// returns `None`.
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
    command.args(["--log-format", "json"]).args(arguments).arg("--end-with-input");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let failed = |error: std::io::Error| {
        tell!("tickwire: {} does not start: {error}", arguments[0]);
    };
    let mut child = command.spawn().map_err(failed).ok()?;
    if let Some(lines) = child.stderr.take() {
        let name = arguments[0].clone();
        // The thread ends with the process.
        thread::spawn(move || forward(&name, lines));
    }
    Some(child)
}

/// Writes the errors of a process to standard error. Omits its notes, such as the address of its own monitor, and its
/// warnings, which report the losses that the demo simulates.
fn forward(name: &str, lines: ChildStderr) {
    for line in BufReader::new(lines).lines().map_while(Result::ok) {
        if let Some(text) = worth_telling(&line) {
            tell!("{name}: {text}");
        }
    }
}

/// Returns the text of an error. Text that is not JSON, such as a panic message, counts as an error.
fn worth_telling(line: &str) -> Option<String> {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return Some(line.to_owned()) };
    let is_error = value["level"] == "ERROR";
    is_error.then(|| value["message"].as_str().unwrap_or(line).to_owned())
}

/// Splits a command line into words.
pub fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_are_told() {
        let line = |level: &str| format!(r#"{{"level":"{level}","message":"text"}}"#);
        assert_eq!(worth_telling(&line("INFO")), None);
        assert_eq!(worth_telling(&line("WARN")), None);
        assert_eq!(worth_telling(&line("ERROR")).as_deref(), Some("text"));
        assert_eq!(worth_telling("thread panicked").as_deref(), Some("thread panicked"));
    }
}
