//! Reads a journal from its start and examines its end.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use super::format::{FrameHeader, JournalVersion, MARK, Records, may_be_records, parse_header};

/// Most bytes after damage that are searched for a frame.
const SEARCH_MAX: u64 = 256 << 20;

/// Reads a journal from its beginning.
pub(super) struct JournalScan {
    file: BufReader<File>,
    len: u64,
    /// Offset after the last complete frame.
    end: u64,
    records: Vec<u8>,
    pub version: JournalVersion,
    pub created_ns: u64,
}

/// Content after the last readable frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing.
    Clean,
    /// Only the start of a frame: a truncated write.
    Torn { len: u64 },
    /// Anything else, with the offset of the next complete frame, if one was found.
    Damaged { next: Option<u64> },
}

impl JournalScan {
    pub fn new(mut file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(0))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut header = Vec::new();
        file.by_ref().take(JournalVersion::Two.header_len() as u64).read_to_end(&mut header)?;
        let (version, created_ns) = parse_header(&header)?;
        let end = version.header_len() as u64;
        file.seek(SeekFrom::Start(end))?;
        Ok(Self { file, len, end, records: Vec::new(), version, created_ns })
    }

    /// Returns the offset after the last complete frame.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Reads the next frame. Returns its offset; `None` if there is no complete frame.
    pub fn next_frame(&mut self) -> io::Result<Option<u64>> {
        let head_len = self.version.head_len() as u64;
        let left = self.len.saturating_sub(self.end);
        if left < head_len {
            return Ok(None);
        }
        let mut head = [0; JournalVersion::Two.head_len()];
        let head = &mut head[..self.version.head_len()];
        self.file.read_exact(head)?;
        let Some(head) = FrameHeader::parse(self.version, head, self.end) else { return Ok(None) };
        if head.len > left - head_len {
            return Ok(None);
        }
        self.records.resize(head.len as usize, 0);
        self.file.read_exact(&mut self.records)?;
        if !head.fits(&self.records) {
            return Ok(None);
        }
        let at = self.end;
        self.end += head_len + head.len;
        Ok(Some(at))
    }

    /// Returns the records of the frame read last.
    pub fn records(&self) -> Records<'_> {
        Records::new(&self.records)
    }

    /// Examines the bytes after the last frame, once [`JournalScan::next_frame`] found no more.
    pub fn tail(&mut self) -> io::Result<Tail> {
        let len = self.len.saturating_sub(self.end);
        if len == 0 {
            return Ok(Tail::Clean);
        }
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.by_ref().take(SEARCH_MAX).read_to_end(&mut bytes)?;
        let next = (1..bytes.len()).find(|at| self.is_frame(&bytes[*at..], self.end + *at as u64));
        Ok(match next {
            Some(at) => Tail::Damaged { next: Some(self.end + at as u64) },
            None if len <= SEARCH_MAX && self.is_cut_short(&bytes) => Tail::Torn { len },
            None => Tail::Damaged { next: None },
        })
    }

    /// True if bytes are the beginning of a frame that extends past the end of the file, as a
    /// killed process leaves it. A complete but wrong frame was written, and its messages may have
    /// been sent.
    fn is_cut_short(&self, bytes: &[u8]) -> bool {
        let head_len = self.version.head_len();
        match FrameHeader::parse(self.version, bytes, self.end) {
            Some(head) => head.len > (bytes.len() - head_len) as u64,
            None if bytes.len() >= head_len => false,
            None => match self.version {
                JournalVersion::One => true,
                JournalVersion::Two => MARK.iter().zip(bytes).all(|(mark, byte)| mark == byte),
            },
        }
    }

    /// True if a complete frame begins at `offset`.
    fn is_frame(&self, bytes: &[u8], offset: u64) -> bool {
        let head_len = self.version.head_len();
        let may_be = match self.version {
            JournalVersion::One => bytes.get(head_len..).is_some_and(may_be_records),
            JournalVersion::Two => bytes.starts_with(&MARK),
        };
        may_be
            && FrameHeader::parse(self.version, bytes, offset).is_some_and(|head| {
                let end = usize::try_from(head.len).ok().and_then(|len| head_len.checked_add(len));
                end.and_then(|end| bytes.get(head_len..end)).is_some_and(|found| head.fits(found))
            })
    }
}
