//! The file of a session's message log, rotated by size.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tickwire_fix_session::files::private_file;
use tickwire_fix_session::settings::LogRotation;

/// Bytes that wait to be written.
const BUFFER_LEN: usize = 1 << 16;

/// A message log on disk. Only its owner can read it. Grown to its limit it becomes `NAME.1`, the one before
/// it `NAME.2`, and so on; the oldest is removed.
#[derive(Debug)]
pub struct MessageLog {
    path: PathBuf,
    out: BufWriter<File>,
    len: u64,
    rotation: Option<LogRotation>,
}

fn open(path: &Path) -> io::Result<File> {
    private_file().append(true).create(true).open(path)
}

impl MessageLog {
    /// Opens a file to be appended to; it never ends without a rotation.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: PathBuf, rotation: Option<LogRotation>) -> io::Result<Self> {
        let file = open(&path)?;
        let len = file.metadata()?.len();
        Ok(Self { out: BufWriter::with_capacity(BUFFER_LEN, file), path, len, rotation })
    }

    /// Appends whole lines. Errors name the file.
    pub(super) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.append(lines).map_err(|error| self.named(&error))
    }

    /// Hands the lines to the file. Errors name it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| self.named(&error))
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let len = lines.len() as u64;
        if let Some(rotation) = self.rotation
            && self.len > 0
            && self.len.saturating_add(len) > rotation.bytes_max
        {
            self.rotate(rotation.kept)?;
        }
        self.len += len;
        self.out.write_all(lines)
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    fn rotate(&mut self, kept: u32) -> io::Result<()> {
        self.out.flush()?;
        // Numbers are dense: what is to be moved ends at the first that is not there.
        let last = (1..kept).find(|number| !self.numbered(*number).exists()).unwrap_or(kept);
        for number in (1..last).rev() {
            fs::rename(self.numbered(number), self.numbered(number + 1))?;
        }
        match kept {
            0 => fs::remove_file(&self.path)?,
            _ => fs::rename(&self.path, self.numbered(1))?,
        }
        self.out = BufWriter::with_capacity(BUFFER_LEN, open(&self.path)?);
        self.len = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_log_that_has_grown_to_its_limit_is_numbered_and_the_oldest_removed() {
        let folder = std::env::temp_dir().join(format!("tickwire-rotate-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.log");
        let rotation = Some(LogRotation { bytes_max: 30, kept: 2 });
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        for line in 0..10 {
            // Opened again it goes on where it was.
            let mut log = MessageLog::open(path.clone(), rotation).unwrap();
            log.write(format!("line {line} of ten\n").as_bytes()).unwrap();
            log.flush().unwrap();
        }
        assert_eq!(read("a.log"), "line 8 of ten\nline 9 of ten\n");
        assert_eq!(read("a.log.1"), "line 6 of ten\nline 7 of ten\n");
        assert_eq!(read("a.log.2"), "line 4 of ten\nline 5 of ten\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        let mode = fs::metadata(folder.join("a.log")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // What is longer than the limit is written all the same, alone.
        let mut log = MessageLog::open(path, rotation).unwrap();
        log.write(&[b'x'; 100]).unwrap();
        log.flush().unwrap();
        assert_eq!(read("a.log").len(), 100);
        fs::remove_dir_all(folder).unwrap();
    }
}
