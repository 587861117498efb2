//! Processes of FIX commands, observed through their output.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time limit for expected output, on a busy machine.
pub const TIME_MAX: Duration = Duration::from_secs(60);

/// A process that is killed with the test, and the lines of both its outputs.
pub struct Process {
    pub child: Child,
    lines: Receiver<String>,
    /// Lines printed so far. The outputs are interleaved arbitrarily, so an awaited line may have arrived
    /// before another one.
    printed: Vec<String>,
}

impl Process {
    pub fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(["--log", "info", "fix"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let (sender, lines) = channel();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("piped")),
            Box::new(child.stderr.take().expect("piped")),
        ];
        for output in outputs {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                // The channel is closed when the test is over.
                lines.for_each(|line| drop(sender.send(line)));
            });
        }
        Self { child, lines, printed: Vec::new() }
    }

    /// Waits for a line that contains `text` and returns the rest of it up to a `/` or the end.
    pub fn after(&mut self, text: &str) -> String {
        let end = Instant::now() + TIME_MAX;
        loop {
            let found = self.printed.iter().find_map(|line| line.split_once(text));
            if let Some((_, rest)) = found {
                return rest.split('/').next().unwrap_or_default().trim().to_owned();
            }
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| {
                panic!("'{text}' was not printed: {:?}", self.printed);
            });
            self.printed.push(line);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
