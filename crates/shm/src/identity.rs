//! Identity of the writer's process, and whether that process still runs.

use crate::error::{ShmError, ShmOperation};
use crate::layout::header;
use crate::memory::{Memory, MemoryMut};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Identifies a process within one boot: process numbers are reused, start times tell the processes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    pub pid: u64,
    start_ticks: u64,
    namespace: u64,
    boot: [u64; 2],
}

/// State of the writer's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessPresence {
    /// Its process runs or is stopped.
    Alive,
    /// Its process has ended.
    Gone,
    /// Its process cannot be seen from here (another process namespace, a hidden `/proc`).
    Unknown,
}

impl ProcessIdentity {
    /// Returns the identity of this process.
    pub fn own() -> Result<Self, ShmError> {
        let pid = u64::from(std::process::id());
        let (namespace, boot) = surroundings()?;
        let path = stat_path(pid);
        let start_ticks = start_ticks(&path).map_err(|source| identify(&path, source))?;
        Ok(Self { pid, start_ticks, namespace, boot })
    }

    pub fn read(ring: &impl Memory) -> Self {
        let load = |index| ring.load(index);
        Self {
            pid: load(header::PID),
            start_ticks: load(header::PID_START),
            namespace: load(header::PID_NAMESPACE),
            boot: [load(header::BOOT), load(header::BOOT + 1)],
        }
    }

    pub fn write(&self, ring: &impl MemoryMut) {
        ring.store(header::PID, self.pid);
        ring.store(header::PID_START, self.start_ticks);
        ring.store(header::PID_NAMESPACE, self.namespace);
        ring.store(header::BOOT, self.boot[0]);
        ring.store(header::BOOT + 1, self.boot[1]);
    }

    /// Checks whether the process runs.
    pub fn presence(&self) -> ProcessPresence {
        let Ok((namespace, boot)) = surroundings() else { return ProcessPresence::Unknown };
        if boot != self.boot {
            return ProcessPresence::Gone;
        }
        if namespace != self.namespace {
            return ProcessPresence::Unknown;
        }
        match start_ticks(&stat_path(self.pid)) {
            Ok(ticks) if ticks == self.start_ticks => ProcessPresence::Alive,
            Ok(_) => ProcessPresence::Gone,
            // With hidepid, other users' processes are missing from `/proc` although they run.
            Err(_) if !Path::new("/proc/1/stat").exists() => ProcessPresence::Unknown,
            Err(_) => ProcessPresence::Gone,
        }
    }
}

fn stat_path(pid: u64) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/stat"))
}

fn identify(path: &Path, source: std::io::Error) -> ShmError {
    ShmError::Io { attempt: ShmOperation::Identify, path: path.to_owned(), source }
}

/// Returns the inode of the process namespace and the boot's identifier, neither of which a process can change.
fn surroundings() -> Result<(u64, [u64; 2]), ShmError> {
    static FOUND: OnceLock<(u64, [u64; 2])> = OnceLock::new();
    match FOUND.get() {
        Some(found) => Ok(*found),
        None => Ok(*FOUND.get_or_init({
            let found = read_surroundings()?;
            move || found
        })),
    }
}

fn read_surroundings() -> Result<(u64, [u64; 2]), ShmError> {
    let namespace = Path::new("/proc/self/ns/pid");
    let inode = fs::metadata(namespace).map_err(|source| identify(namespace, source))?.ino();
    let boot = Path::new("/proc/sys/kernel/random/boot_id");
    let text = fs::read_to_string(boot).map_err(|source| identify(boot, source))?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16)
        .map_err(|error| identify(boot, std::io::Error::other(error)))?;
    Ok((inode, [number as u64, (number >> 64) as u64]))
}

/// Returns field 22 of `/proc/PID/stat`, the start time in clock ticks. The command's name before it is in parentheses
/// and may hold any bytes. A zombie counts as ended.
fn start_ticks(path: &Path) -> std::io::Result<u64> {
    let invalid = || std::io::Error::from(std::io::ErrorKind::InvalidData);
    let bytes = fs::read(path)?;
    let end = bytes.iter().rposition(|byte| *byte == b')').ok_or_else(invalid)?;
    let text = str::from_utf8(&bytes[end + 1..]).map_err(|_| invalid())?;
    let mut fields = text.split_ascii_whitespace();
    if matches!(fields.next(), Some("Z" | "X")) {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    fields.nth(18).and_then(|field| field.parse().ok()).ok_or_else(invalid)
}
