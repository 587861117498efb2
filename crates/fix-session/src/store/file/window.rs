//! A part of the journal in memory, for reading consecutive messages.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::format::{FrameHeader, JournalRecord, JournalVersion, Records, corrupt};

/// Bytes read at a time.
const CHUNK: usize = 128 << 10;
const HEAD: usize = JournalVersion::Two.head_len();

/// A frame whose sums were verified.
#[derive(Debug, Default)]
struct Loaded {
    at: u64,
    /// Length with head in bytes; 0 if no frame is loaded.
    len: u64,
    records: Vec<u8>,
    /// Numbers of its messages, ascending, each with its range in the records.
    messages: Vec<(u64, usize, usize)>,
}

impl Loaded {
    fn fill(&mut self, at: u64, records: &[u8]) -> io::Result<()> {
        self.len = 0;
        self.records.clear();
        self.records.extend_from_slice(records);
        self.messages.clear();
        for record in Records::new(&self.records) {
            match record? {
                JournalRecord::Message { seq_num, message } => {
                    let start = message.as_ptr().addr() - self.records.as_ptr().addr();
                    self.messages.push((seq_num, start, message.len()));
                }
                JournalRecord::Sender(seq_num) => {
                    self.messages.retain(|(number, ..)| *number < seq_num)
                }
                JournalRecord::Target(_) => {}
            }
        }
        (self.at, self.len) = (at, (HEAD + records.len()) as u64);
        Ok(())
    }

    /// Returns the first number from `seq_num` on that has a message.
    fn first_from(&self, seq_num: u64) -> Option<u64> {
        let at = self.messages.partition_point(|(number, ..)| *number < seq_num);
        self.messages.get(at).map(|(number, ..)| *number)
    }
}

#[derive(Debug, Default)]
pub(super) struct JournalWindow {
    bytes: Vec<u8>,
    /// Offset of `bytes` in the journal.
    at: u64,
    loaded: Loaded,
    /// The number searched last, and the frame in which the search ended.
    reached: Option<(u64, u64)>,
}

impl JournalWindow {
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Drops what was found from a number on, because the number is reused.
    pub fn cut(&mut self, seq_num: u64) {
        self.reached = self.reached.filter(|(reached, _)| *reached < seq_num);
    }

    /// Searches the frames from `from` to `end` for the first message with this number or a later
    /// one. Returns its number and its frame.
    pub fn find(
        &mut self,
        journal: &File,
        from: u64,
        end: u64,
        seq_num: u64,
    ) -> io::Result<Option<(u64, u64)>> {
        let near = self.reached.filter(|(reached, _)| *reached <= seq_num).map(|(_, at)| at);
        let mut at = near.map_or(from, |near| near.max(from));
        while at < end {
            self.load(journal, at, end)?;
            if let Some(number) = self.loaded.first_from(seq_num) {
                self.reached = Some((seq_num, at));
                return Ok(Some((number, at)));
            }
            at += self.loaded.len;
        }
        Ok(None)
    }

    /// Returns a message of the frame found last; empty if that frame has none with this number.
    pub fn message(&self, seq_num: u64) -> &[u8] {
        let Loaded { records, messages, .. } = &self.loaded;
        let at = messages.binary_search_by_key(&seq_num, |(number, ..)| *number);
        let place = at.ok().map(|at| messages[at]);
        place.and_then(|(_, start, len)| records.get(start..start + len)).unwrap_or_default()
    }

    /// Loads the frame at `at` and checks its sums.
    fn load(&mut self, journal: &File, at: u64, end: u64) -> io::Result<()> {
        if self.loaded.len > 0 && self.loaded.at == at {
            return Ok(());
        }
        let damaged = || corrupt(format!("the frame at offset {at} is damaged"));
        let start = self.read(journal, at, HEAD, end)?;
        let head = self.bytes.get(start..start + HEAD).ok_or_else(damaged)?;
        let head = FrameHeader::parse(JournalVersion::Two, head, at).ok_or_else(damaged)?;
        let len = HEAD + usize::try_from(head.len).map_err(|_| damaged())?;
        let start = self.read(journal, at, len, end)?;
        let records = self.bytes.get(start + HEAD..start + len).ok_or_else(damaged)?;
        if !head.fits(records) {
            return Err(damaged());
        }
        self.loaded.fill(at, records)
    }

    /// Reads bytes of the journal, which ends at `end`, unless they are already in memory. Returns
    /// their position in the buffer.
    fn read(&mut self, journal: &File, at: u64, len: usize, end: u64) -> io::Result<usize> {
        let start = at.checked_sub(self.at).and_then(|start| usize::try_from(start).ok());
        if let Some(start) = start.filter(|start| start + len <= self.bytes.len()) {
            return Ok(start);
        }
        let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        self.bytes.resize(len.max(CHUNK).min(left), 0);
        self.at = at;
        let read = journal.read_exact_at(&mut self.bytes, at);
        if read.is_err() {
            self.bytes.clear();
        }
        read.map(|()| 0)
    }
}
