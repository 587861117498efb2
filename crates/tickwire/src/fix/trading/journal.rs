//! A record on disk of the execution reports that the client's application has handled, one per line.
//!
//! A line is written before the session commits that the report was received. After the process was killed, a
//! report is therefore either in the journal and in the session's store, or it is received again as a
//! possible duplicate and recognised by its line.

use crate::failure::Failure;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use tickwire_fix_session::files::{make_private_folder, private_file};

/// Execution reports that the application has handled.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    known: HashSet<Vec<u8>>,
    line: Vec<u8>,
    /// Number of finished orders.
    finished: u64,
}

impl Journal {
    /// Opens a journal and reads its lines; an incomplete last line is dropped.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::file("open", path.display(), &error);
        if let Some(folder) = path.parent() {
            make_private_folder(folder).map_err(failed)?;
        }
        let file =
            private_file().read(true).append(true).create(true).open(path).map_err(failed)?;
        let mut reader = BufReader::new(&file);
        let (mut known, mut line, mut len, mut finished) = (HashSet::new(), Vec::new(), 0, 0);
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).map_err(failed)?;
            if line.pop() != Some(b'\n') {
                break;
            }
            len += read as u64;
            let mut words = line.split(|byte| *byte == b' ');
            let exec_id = words.next().unwrap_or_default().to_vec();
            finished += u64::from(words.next() == Some(b"last"));
            known.insert(exec_id);
        }
        file.set_len(len).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file, known, line, finished })
    }

    /// Returns the number of finished orders.
    pub const fn finished(&self) -> u64 {
        self.finished
    }

    /// Records a report and returns whether it is new. An error names the file.
    pub fn add(&mut self, exec_id: &[u8], is_last: bool) -> io::Result<bool> {
        if !self.known.insert(exec_id.to_vec()) {
            return Ok(false);
        }
        self.line.clear();
        self.line.extend_from_slice(exec_id);
        self.line.extend_from_slice(if is_last { b" last\n" } else { b" more\n" });
        self.finished += u64::from(is_last);
        let written = self.file.write_all(&self.line);
        let name = self.path.display();
        written.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        Ok(true)
    }
}
