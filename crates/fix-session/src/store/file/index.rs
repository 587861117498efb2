//! Where in the journal each message lies: a file of entries of fixed length, one a number.
//!
//! It is made anew from the journal when a store is opened, so it needs no care of its own. The newest
//! entries are in memory and written many at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of an entry.
const ENTRY_LEN: u64 = 12;
/// Entries in memory.
const NEWEST_MAX: usize = 4096;

/// Where a message lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// In the journal.
    pub offset: u64,
    /// Never 0.
    pub len: u32,
}

impl Entry {
    fn bytes(self) -> [u8; ENTRY_LEN as usize] {
        let mut bytes = [0; ENTRY_LEN as usize];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }
}

#[derive(Debug)]
pub(super) struct Index {
    file: File,
    /// Consecutive entries from number `first` on; a length of 0 stands for no message.
    newest: Vec<Entry>,
    first: u64,
}

impl Index {
    /// Takes a file and empties it.
    pub fn empty(file: File) -> io::Result<Self> {
        let mut index = Self { file, newest: Vec::new(), first: 1 };
        index.clear()?;
        Ok(index)
    }

    pub fn clear(&mut self) -> io::Result<()> {
        self.newest.clear();
        self.first = 1;
        self.file.set_len(0)
    }

    /// Adds an entry; numbers passed over have no message.
    pub fn push(&mut self, seq_num: u64, entry: Entry) -> io::Result<()> {
        let next = self.first + self.newest.len() as u64;
        let room = NEWEST_MAX.saturating_sub(self.newest.len()) as u64;
        let passed = seq_num.checked_sub(next).filter(|passed| *passed < room);
        let Some(passed) = passed else {
            self.write()?;
            self.first = seq_num;
            self.newest.push(entry);
            return Ok(());
        };
        let none = Entry { offset: 0, len: 0 };
        self.newest.extend((0..passed).map(|_| none));
        self.newest.push(entry);
        Ok(())
    }

    /// Forgets all entries from `seq_num` on, if there can be any.
    pub fn cut(&mut self, seq_num: u64, next_sender: u64) -> io::Result<()> {
        if seq_num >= next_sender {
            return Ok(());
        }
        self.write()?;
        self.first = seq_num;
        let len = seq_num.saturating_mul(ENTRY_LEN);
        if self.file.metadata()?.len() > len { self.file.set_len(len) } else { Ok(()) }
    }

    /// Writes what is in memory.
    fn write(&mut self) -> io::Result<()> {
        let bytes: Vec<u8> = self.newest.iter().flat_map(|entry| entry.bytes()).collect();
        self.file.write_all_at(&bytes, self.first.saturating_mul(ENTRY_LEN))?;
        self.first += self.newest.len() as u64;
        self.newest.clear();
        Ok(())
    }

    /// Returns the entry of a number.
    pub fn read(&self, seq_num: u64) -> io::Result<Option<Entry>> {
        let in_memory = seq_num
            .checked_sub(self.first)
            .and_then(|at| self.newest.get(usize::try_from(at).ok()?));
        let entry = match in_memory {
            Some(entry) => *entry,
            None => {
                let mut bytes = [0; ENTRY_LEN as usize];
                let offset = seq_num.saturating_mul(ENTRY_LEN);
                match self.file.read_exact_at(&mut bytes, offset) {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                    Err(error) => return Err(error),
                }
                let [a, b, c, d, e, f, g, h, len @ ..] = bytes;
                let offset = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
                Entry { offset, len: u32::from_le_bytes(len) }
            }
        };
        Ok((entry.len > 0).then_some(entry))
    }
}
