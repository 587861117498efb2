//! The journal: a header, then frames, each a length, a sum and records.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crc32fast::Hasher;

use crate::files::private_file;

/// What a journal begins with.
const MAGIC: [u8; 8] = *b"TWFIXJ01";
/// Length of magic and creation time.
pub(super) const HEADER_LEN: u64 = 16;
/// Length and sum before the records of a frame.
const FRAME_HEAD: usize = 8;
/// Longest frame believed: a store commits often, and a message is at most 2 GiB.
const FRAME_MAX: u64 = 4 << 30;

const MESSAGE: u8 = b'M';
const SENDER: u8 = b'S';
const TARGET: u8 = b'T';
/// Kind, number and length before a message.
const MESSAGE_HEAD: usize = 13;

/// Makes an empty journal in place of one that may be there, all at once.
pub(super) fn create(path: &Path, created_ns: u64) -> io::Result<()> {
    let temporary = path.with_extension("journal.new");
    let mut file = private_file().write(true).create(true).truncate(true).open(&temporary)?;
    file.write_all(&MAGIC)?;
    file.write_all(&created_ns.to_le_bytes())?;
    file.sync_data()?;
    fs::rename(&temporary, path)?;
    // The name is on the disk only with the folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

fn sum_of(records: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&(records.len() as u64).to_le_bytes());
    hasher.update(records);
    hasher.finalize()
}

/// A frame being made.
#[derive(Debug, Default)]
pub(super) struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    pub fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        self.bytes.get(offset..offset + len).unwrap_or_default()
    }

    fn begin(&mut self) {
        if self.bytes.is_empty() {
            self.bytes.resize(FRAME_HEAD, 0);
        }
    }

    fn push_number(&mut self, kind: u8, seq_num: u64) {
        self.begin();
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&seq_num.to_le_bytes());
    }

    /// Adds a message; returns where in the frame its bytes are.
    pub fn push_message(&mut self, seq_num: u64, message: &[u8]) -> usize {
        self.push_number(MESSAGE, seq_num);
        self.bytes.extend_from_slice(&(message.len() as u32).to_le_bytes());
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(message);
        offset
    }

    pub fn push_sender(&mut self, seq_num: u64) {
        self.push_number(SENDER, seq_num);
    }

    pub fn push_target(&mut self, seq_num: u64) {
        self.push_number(TARGET, seq_num);
    }

    /// Puts length and sum before the records and returns the frame.
    pub fn finish(&mut self) -> &[u8] {
        if let Some((head, records)) = self.bytes.split_first_chunk_mut::<FRAME_HEAD>() {
            head[..4].copy_from_slice(&(records.len() as u32).to_le_bytes());
            head[4..].copy_from_slice(&sum_of(records).to_le_bytes());
        }
        &self.bytes
    }
}

/// One thing that a journal tells.
pub(super) enum Record {
    /// A message, where from the start of the frame, and its length.
    Message {
        seq_num: u64,
        offset: u64,
        len: u32,
    },
    Sender(u64),
    Target(u64),
}

/// Reads a journal from its beginning.
pub(super) struct Scan {
    file: BufReader<File>,
    len: u64,
    /// After the last whole frame.
    end: u64,
    records: Vec<u8>,
    pub created_ns: u64,
}

fn corrupt(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

impl Scan {
    pub fn new(mut file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(0))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut head = [0; HEADER_LEN as usize];
        file.read_exact(&mut head)?;
        let [magic @ .., a, b, c, d, e, f, g, h] = head;
        if magic != MAGIC {
            return Err(corrupt(
                "it is not a message store of this program, or of another version",
            ));
        }
        let created_ns = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        Ok(Self { file, len, end: HEADER_LEN, records: Vec::new(), created_ns })
    }

    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Reads the next frame; returns where it begins, `None` at the end or before a cut frame.
    pub fn next_frame(&mut self) -> io::Result<Option<u64>> {
        let left = self.len.saturating_sub(self.end);
        if left < FRAME_HEAD as u64 {
            return Ok(None);
        }
        let mut head = [0; FRAME_HEAD];
        self.file.read_exact(&mut head)?;
        let [a, b, c, d, sum @ ..] = head;
        let len = u64::from(u32::from_le_bytes([a, b, c, d]));
        let rest = left - FRAME_HEAD as u64;
        if len > rest || len > FRAME_MAX {
            return Ok(None);
        }
        self.records.resize(len as usize, 0);
        self.file.read_exact(&mut self.records)?;
        if len == 0 || sum_of(&self.records) != u32::from_le_bytes(sum) {
            if len == rest || self.is_blank_from(len)? {
                return Ok(None);
            }
            return Err(corrupt(format!(
                "the frame at offset {} is damaged and others follow it; restore the file from a \
                 copy, or move it away and agree with the counterparty on sequence numbers",
                self.end
            )));
        }
        let at = self.end;
        self.end += FRAME_HEAD as u64 + len;
        Ok(Some(at))
    }

    /// Whether a frame and all that follows is zeros: blocks that were given but never written.
    fn is_blank_from(&mut self, len: u64) -> io::Result<bool> {
        if len > 0 {
            return Ok(false);
        }
        let mut buffer = [0; 4096];
        loop {
            match self.file.read(&mut buffer)? {
                0 => return Ok(true),
                read if buffer[..read].iter().all(|byte| *byte == 0) => {}
                _ => return Ok(false),
            }
        }
    }

    /// Returns the records of the frame read last.
    pub fn records(&self) -> Records<'_> {
        Records { bytes: &self.records, at: 0 }
    }
}

/// The records of a frame.
pub(super) struct Records<'r> {
    bytes: &'r [u8],
    at: usize,
}

impl Iterator for Records<'_> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<io::Result<Record>> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let parsed = self.parse(rest);
        if parsed.is_none() {
            self.at = self.bytes.len();
        }
        Some(parsed.ok_or_else(|| corrupt("a record of an unknown kind")))
    }
}

impl Records<'_> {
    fn parse(&mut self, rest: &[u8]) -> Option<Record> {
        let (kind, rest) = rest.split_first()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let seq_num = u64::from_le_bytes(*number);
        match *kind {
            MESSAGE => {
                let (len, rest) = rest.split_first_chunk::<4>()?;
                let len = u32::from_le_bytes(*len);
                let offset = (FRAME_HEAD + self.at + MESSAGE_HEAD) as u64;
                if len == 0 || rest.len() < len as usize {
                    return None;
                }
                self.at += MESSAGE_HEAD + len as usize;
                Some(Record::Message { seq_num, offset, len })
            }
            SENDER | TARGET => {
                self.at += 9;
                let is_sender = *kind == SENDER;
                Some(if is_sender { Record::Sender(seq_num) } else { Record::Target(seq_num) })
            }
            _ => None,
        }
    }
}
