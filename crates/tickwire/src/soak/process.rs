//! Processes of a soak: starts, watches, interrupts and kills them.

use crate::failure::Failure;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(20);

/// A `tickwire` process; killed when dropped.
pub struct SoakProcess {
    command: String,
    child: Child,
    output: PathBuf,
    errors: PathBuf,
}

impl SoakProcess {
    /// Starts `tickwire` with these arguments. Standard output goes to the file `output` and standard error
    /// to a file beside it.
    pub fn start(arguments: &[String], output: &Path) -> Result<Self, Failure> {
        let failed =
            |error| Failure::Usage(format!("cannot start tickwire {arguments:?}: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let create = |path: &Path| {
            File::create(path).map_err(|error| Failure::file("write", path.display(), &error))
        };
        let errors = output.with_extension("err");
        let (out, err) = (create(output)?, create(&errors)?);
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(failed)?;
        let command = arguments.first().cloned().unwrap_or_default();
        Ok(Self { command, child, output: output.to_owned(), errors })
    }

    /// Returns whether the process has ended by itself.
    ///
    /// # Errors
    /// The process failed: a status above 1, or a signal. The failure contains the last line that it printed
    /// to standard error.
    pub fn has_ended(&mut self) -> Result<bool, Failure> {
        let status = self.child.try_wait().map_err(|error| {
            Failure::Usage(format!("cannot wait for tickwire {}: {error}", self.command))
        })?;
        match status {
            None => Ok(false),
            Some(status) if matches!(status.code(), Some(0 | 1)) => Ok(true),
            Some(status) => {
                let told = std::fs::read_to_string(&self.errors).unwrap_or_default();
                let last = told.lines().last().unwrap_or_default();
                let text = format!("tickwire {} failed, {status}: {last}", self.command);
                Err(Failure::Usage(text))
            }
        }
    }

    /// True if the process has ended with status 0.
    pub fn is_success(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(status)) if status.success())
    }

    /// Returns the last line of standard error as a failure.
    pub fn failure(&self) -> Failure {
        let told = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let last = told.lines().last().unwrap_or_default();
        Failure::Data(format!("tickwire {} ended: {last}", self.command))
    }

    /// Kills the process as `kill -9` does.
    pub fn kill(&mut self) {
        // Fails if the process has already ended, which is the aim.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Interrupts the process as Ctrl-C does, waits at most `timeout` for it to end, and returns its output.
    pub fn interrupt(mut self, timeout: Duration) -> Result<String, Failure> {
        let _ = i32::try_from(self.child.id()).map(|id| kill(Pid::from_raw(id), Signal::SIGINT));
        let started = Instant::now();
        while !self.has_ended()? {
            if started.elapsed() > timeout {
                return Err(Failure::Data("a process did not end when interrupted".to_owned()));
            }
            std::thread::sleep(TICK);
        }
        std::fs::read_to_string(&self.output)
            .map_err(|error| Failure::file("read", self.output.display(), &error))
    }

    /// Resident memory in bytes while the process runs.
    pub fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib << 10)
    }
}

impl Drop for SoakProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_could_not_do_its_work_is_an_error_and_not_an_end() {
        let directory =
            std::env::temp_dir().join(format!("tickwire-process-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let output = directory.join("books.jsonl");
        // The started program is this test binary, which does not have the option.
        let process = SoakProcess::start(&["--no-such-option".to_owned()], &output).unwrap();
        let failure = process.interrupt(Duration::from_secs(20)).unwrap_err();
        let Failure::Usage(text) = failure else { panic!("{failure:?}") };
        assert!(text.contains("tickwire --no-such-option failed"), "{text}");
        let output = directory.join("none").join("books.jsonl");
        let failure = SoakProcess::start(&[], &output).err().unwrap();
        assert!(matches!(failure, Failure::Usage(text) if text.contains("books.jsonl")));
        std::fs::remove_dir_all(directory).unwrap();
    }
}
