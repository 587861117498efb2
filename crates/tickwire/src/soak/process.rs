//! Processes of a soak: started, watched, interrupted and killed.

use crate::failure::Failure;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(20);

/// A `tickwire` process; killed when dropped.
pub struct Process {
    child: Child,
    output: PathBuf,
}

impl Process {
    /// Starts `tickwire` with these arguments, its standard output in a file.
    pub fn start(arguments: &[String], output: &Path) -> Result<Self, Failure> {
        let failed =
            |error| Failure::Usage(format!("cannot start tickwire {arguments:?}: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let out = File::create(output).map_err(failed)?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        Ok(Self { child, output: output.to_owned() })
    }

    /// True if it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Kills it as `kill -9` does.
    pub fn kill(&mut self) {
        // Fails where the process has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Interrupts it as Ctrl-C does and waits, `timeout` at most, for what it then writes.
    pub fn interrupt(mut self, timeout: Duration) -> Result<String, Failure> {
        let _ = i32::try_from(self.child.id()).map(|id| kill(Pid::from_raw(id), Signal::SIGINT));
        let started = Instant::now();
        while !self.has_ended() {
            if started.elapsed() > timeout {
                return Err(Failure::Data("a process did not end when interrupted".to_owned()));
            }
            std::thread::sleep(TICK);
        }
        std::fs::read_to_string(&self.output)
            .map_err(|error| Failure::file("read", self.output.display(), &error))
    }

    /// Resident memory in bytes, while it runs.
    pub fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib << 10)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
