//! The file of a session's message log, rotated by size.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tickwire_fix_session::files::private_file;
use tickwire_fix_session::settings::LogRotation;

/// Size of the write buffer in bytes.
const BUFFER_LEN: usize = 1 << 16;

/// A message log on disk, readable by its owner only. At its size limit it is renamed `NAME.1`, the
/// previous one `NAME.2`, and so on; the oldest is removed. While writing fails, for example on a
/// full disk, lines are left out.
#[derive(Debug)]
pub struct MessageLog {
    path: PathBuf,
    out: BufWriter<File>,
    len: u64,
    rotation: Option<LogRotation>,
    /// Lines left out since writing failed; `None` while it works.
    left_out: Option<u64>,
}

fn lines_of(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn open(path: &Path) -> io::Result<File> {
    private_file().append(true).create(true).open(path)
}

impl MessageLog {
    /// Opens a file for appending. Without `rotation` it grows without limit.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: PathBuf, rotation: Option<LogRotation>) -> io::Result<Self> {
        let file = open(&path)?;
        let len = file.metadata()?.len();
        Ok(Self {
            out: BufWriter::with_capacity(BUFFER_LEN, file),
            path,
            len,
            rotation,
            left_out: None,
        })
    }

    /// Appends whole lines. Returns the first error, which names the file; later lines are left
    /// out.
    pub(super) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if let Some(left_out) = &mut self.left_out {
            *left_out += lines_of(lines);
            return Ok(());
        }
        self.append(lines).map_err(|error| {
            let named = self.interrupted(&error);
            self.left_out = self.left_out.map(|waiting| waiting + lines_of(lines));
            named
        })
    }

    /// Writes the buffered lines to the file; errors are those of `write`. If lines were left out
    /// and writing works again, returns their number.
    pub(super) fn flush(&mut self) -> io::Result<Option<u64>> {
        let Some(left_out) = self.left_out else {
            return self.out.flush().map(|()| None).map_err(|error| self.interrupted(&error));
        };
        // Opened by name: a rotation may have failed after it had renamed the file.
        let Ok(mut file) = open(&self.path) else { return Ok(None) };
        // The last line in the file may be incomplete.
        if file.write_all(b"\n").is_err() {
            return Ok(None);
        }
        self.len = file.metadata()?.len();
        let out = BufWriter::with_capacity(BUFFER_LEN, file);
        // Buffered lines count as left out: written later, they would be out of order.
        drop(std::mem::replace(&mut self.out, out).into_parts());
        self.left_out = None;
        Ok(Some(left_out))
    }

    /// Leaves out the buffered lines and all further ones.
    fn interrupted(&mut self, error: &io::Error) -> io::Error {
        self.left_out = Some(lines_of(self.out.buffer()));
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
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

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    fn rotate(&mut self, kept: u32) -> io::Result<()> {
        self.out.flush()?;
        // Numbers are consecutive: files are renamed up to the first missing number.
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
    fn a_log_goes_on_when_there_is_room_again_and_tells_what_it_lacks() {
        let path = std::env::temp_dir().join(format!("tickwire-full-{}.log", std::process::id()));
        let mut log = MessageLog::open(path.clone(), None).unwrap();
        log.write(b"one\n").unwrap();
        assert_eq!(log.flush().unwrap(), None);
        let aside = path.with_extension("aside");
        fs::rename(&path, &aside).unwrap();
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        log.out = BufWriter::with_capacity(BUFFER_LEN, open(&path).unwrap());
        log.write(b"two\nthree\n").unwrap();
        assert!(log.flush().unwrap_err().to_string().contains("tickwire-full"));
        log.write(b"four\n").unwrap();
        assert_eq!(log.flush().unwrap(), None, "told once, and it is still full");
        fs::rename(aside, &path).unwrap();
        assert_eq!(log.flush().unwrap(), Some(3));
        log.write(b"five\n").unwrap();
        assert_eq!(log.flush().unwrap(), None);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n\nfive\n");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_log_whose_rotation_stopped_half_way_goes_on_under_its_own_name() {
        let folder = std::env::temp_dir().join(format!("tickwire-half-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.log");
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let rotation = Some(LogRotation { bytes_max: 15, kept: 9 });
        let mut log = MessageLog::open(path.clone(), rotation).unwrap();
        log.write(b"line one\n").unwrap();
        log.flush().unwrap();
        // The file was renamed, and then there was no descriptor or no room for the next one.
        fs::rename(&path, folder.join("a.log.1")).unwrap();
        assert!(log.write(b"line two\n").unwrap_err().to_string().contains("a.log"));
        assert_eq!(log.flush().unwrap(), Some(1), "line two");
        log.write(b"line three\n").unwrap();
        log.write(b"line four\n").unwrap();
        log.flush().unwrap();
        assert_eq!(read("a.log.1"), "\nline three\n");
        assert_eq!((read("a.log"), read("a.log.2")), ("line four\n".into(), "line one\n".into()));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_log_that_has_grown_to_its_limit_is_numbered_and_the_oldest_removed() {
        let folder = std::env::temp_dir().join(format!("tickwire-rotate-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.log");
        let rotation = Some(LogRotation { bytes_max: 30, kept: 2 });
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        for line in 0..10 {
            // Reopened, the log continues at its end.
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
        // A message longer than the limit is written to a file of its own.
        let mut log = MessageLog::open(path, rotation).unwrap();
        log.write(&[b'x'; 100]).unwrap();
        log.flush().unwrap();
        assert_eq!(read("a.log").len(), 100);
        fs::remove_dir_all(folder).unwrap();
    }
}
