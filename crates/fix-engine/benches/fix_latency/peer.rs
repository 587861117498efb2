//! A program that measures another engine, controlled by its standard input.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::CPUS;

/// A running program.
pub struct Peer {
    name: String,
    child: Child,
    wishes: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a program, with the CPUs of its two threads as arguments.
    pub fn start(path: &Path) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(path);
        command.args(CPUS.map(|cpu| cpu.to_string()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let wishes = child.stdin.take().ok_or("its input is a pipe")?;
        let answers = BufReader::new(child.stdout.take().ok_or("its output is a pipe")?);
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into());
        Ok(Self { name, child, wishes, answers })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn round(&mut self, count: usize) -> Result<Vec<u64>, Box<dyn Error>> {
        writeln!(self.wishes, "run {count}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let times: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        match times.len() == count {
            true => Ok(times),
            false => Err(format!("{} answers with {} times", self.name, times.len()).into()),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The child may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
