//! Kernel settings of this machine, read from files under a root: `/`, or a tree created by a test.

use std::fs;
use std::path::PathBuf;

/// The files of a machine.
#[derive(Clone, Debug)]
pub struct MachineFiles {
    root: PathBuf,
}

impl MachineFiles {
    /// Creates a machine whose `proc`, `sys` and `dev` are in this directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the path of a file or directory, such as `dev/shm`.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns the text of a file, such as `proc/cmdline`, without surrounding white space; `None` if it cannot be
    /// read.
    pub fn text(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(self.root.join(path)).ok()?.trim().to_owned())
    }

    /// Returns the number in a file.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Returns the names in a directory that begin with `prefix`, sorted; numbers are sorted by value.
    pub fn names(&self, directory: &str, prefix: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
        let number = |name: &str| name[prefix.len()..].parse::<u64>().unwrap_or(u64::MAX);
        names.sort_by(|a, b| number(a).cmp(&number(b)).then_with(|| a.cmp(b)));
        names
    }

    /// Returns the last path component of a symbolic link's target; `None` if the path is not a
    /// link.
    pub fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.root.join(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// Returns true if a file or directory exists.
    pub fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }
}
