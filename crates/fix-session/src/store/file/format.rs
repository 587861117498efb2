//! The format of a journal: a header, then frames, each with a head and records.
//!
//! | part | bytes |
//! |---|---|
//! | header | magic 8, creation time 8, sum of both 4, zeros 4 |
//! | head of a frame | mark 4, length of the records 4, their sum 4, sum of the head and its offset 4 |
//! | record | kind 1, number 8; of a message also length 4 and the message |
//!
//! Numbers are little-endian, sums are CRC-32. The sum of the head detects a wrong length; it
//! includes the frame's offset, so that the bytes of a message cannot pass for a frame. Version 1
//! had no sum in the header, and heads with only length and sum.

use std::io;

use crc32fast::Hasher;

/// First bytes of a journal, by version.
const MAGICS: [(&[u8; 8], JournalVersion); 2] =
    [(b"TWFIXJ01", JournalVersion::One), (b"TWFIXJ02", JournalVersion::Two)];
/// First bytes of a frame.
pub(super) const MARK: [u8; 4] = [0xF1, b'F', b'R', b'M'];
/// Longest frame accepted: a store commits often, and a message is at most 2 GiB.
const FRAME_MAX: u64 = 4 << 30;

const MESSAGE: u8 = b'M';
const SENDER: u8 = b'S';
const TARGET: u8 = b'T';
/// Kind, number and length before a message.
const MESSAGE_HEAD: usize = 13;

/// The version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JournalVersion {
    /// The first version, without sums of heads.
    One,
    /// The current version.
    Two,
}

impl JournalVersion {
    pub const fn header_len(self) -> usize {
        match self {
            Self::One => 16,
            Self::Two => 24,
        }
    }

    pub const fn head_len(self) -> usize {
        match self {
            Self::One => 8,
            Self::Two => 16,
        }
    }

    pub const fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

pub(super) fn corrupt(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn sum_of(parts: &[&[u8]]) -> u32 {
    let mut hasher = Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

fn sum_of_records(records: &[u8]) -> u32 {
    sum_of(&[&(records.len() as u64).to_le_bytes(), records])
}

/// Returns the header of a journal that begins at that time.
pub(super) fn header(created_ns: u64) -> [u8; JournalVersion::Two.header_len()] {
    let mut bytes = [0; JournalVersion::Two.header_len()];
    bytes[..8].copy_from_slice(MAGICS[1].0);
    bytes[8..16].copy_from_slice(&created_ns.to_le_bytes());
    let sum = sum_of(&[&bytes[..16]]);
    bytes[16..20].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Parses the header at the start of a journal. Returns version and creation time.
pub(super) fn parse_header(bytes: &[u8]) -> io::Result<(JournalVersion, u64)> {
    let cut = || corrupt(format!("it ends in its header, after {} bytes", bytes.len()));
    let (magic, rest) = bytes.split_first_chunk::<8>().ok_or_else(cut)?;
    let found = MAGICS.iter().find(|(known, _)| *known == magic);
    let (_, version) = found
        .ok_or_else(|| corrupt("it is not a message store of Tickwire, or has a later version"))?;
    let (created, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
    if *version == JournalVersion::Two {
        let (sum, _) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
        if sum[..4] != sum_of(&[magic, created]).to_le_bytes() {
            return Err(corrupt("its header is damaged"));
        }
    }
    Ok((*version, u64::from_le_bytes(*created)))
}

/// The head of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameHeader {
    /// Bytes of the records.
    pub len: u64,
    sum: u32,
}

impl FrameHeader {
    /// Parses the head at `offset`; `None` if there is none.
    pub fn parse(version: JournalVersion, bytes: &[u8], offset: u64) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?));
        let head = match version {
            JournalVersion::One => Self { len: word(0)?.into(), sum: word(4)? },
            JournalVersion::Two => {
                let is_head = bytes.starts_with(&MARK)
                    && word(12)? == sum_of(&[bytes.get(..12)?, &offset.to_le_bytes()]);
                is_head.then_some(Self { len: word(4)?.into(), sum: word(8)? })?
            }
        };
        (1..=FRAME_MAX).contains(&head.len).then_some(head)
    }

    /// True if the checksum matches these records.
    pub fn fits(&self, records: &[u8]) -> bool {
        records.len() as u64 == self.len && sum_of_records(records) == self.sum
    }
}

/// A frame under construction.
#[derive(Debug, Default)]
pub(super) struct JournalFrame {
    bytes: Vec<u8>,
}

impl JournalFrame {
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
            self.bytes.resize(JournalVersion::Two.head_len(), 0);
        }
    }

    fn push_number(&mut self, kind: u8, seq_num: u64) {
        self.begin();
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&seq_num.to_le_bytes());
    }

    /// Adds a message. Returns the position of its bytes in the frame.
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

    /// Writes the head of a frame that will be at `offset`, and returns the frame.
    pub fn finish(&mut self, offset: u64) -> &[u8] {
        const HEAD: usize = JournalVersion::Two.head_len();
        if let Some((head, records)) = self.bytes.split_first_chunk_mut::<HEAD>() {
            head[..4].copy_from_slice(&MARK);
            head[4..8].copy_from_slice(&(records.len() as u32).to_le_bytes());
            head[8..12].copy_from_slice(&sum_of_records(records).to_le_bytes());
            let sum = sum_of(&[&head[..12], &offset.to_le_bytes()]);
            head[12..].copy_from_slice(&sum.to_le_bytes());
        }
        &self.bytes
    }
}

/// A record of a journal.
#[derive(Clone, Copy, Debug)]
pub(super) enum JournalRecord<'r> {
    Message { seq_num: u64, message: &'r [u8] },
    Sender(u64),
    Target(u64),
}

/// The records of a frame.
pub(super) struct Records<'r> {
    rest: &'r [u8],
}

impl<'r> Records<'r> {
    pub const fn new(records: &'r [u8]) -> Self {
        Self { rest: records }
    }

    fn parse(&mut self) -> Option<JournalRecord<'r>> {
        let (kind, rest) = self.rest.split_first()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let seq_num = u64::from_le_bytes(*number);
        let (record, rest) = match *kind {
            MESSAGE => {
                let (len, rest) = rest.split_first_chunk::<4>()?;
                let (message, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
                if message.is_empty() {
                    return None;
                }
                (JournalRecord::Message { seq_num, message }, rest)
            }
            SENDER => (JournalRecord::Sender(seq_num), rest),
            TARGET => (JournalRecord::Target(seq_num), rest),
            _ => return None,
        };
        self.rest = rest;
        Some(record)
    }
}

impl<'r> Iterator for Records<'r> {
    type Item = io::Result<JournalRecord<'r>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let parsed = self.parse();
        if parsed.is_none() {
            self.rest = &[];
        }
        Some(parsed.ok_or_else(|| corrupt("a record of an unknown kind")))
    }
}

/// True if bytes may be the beginning of records: a cheap test before a checksum is computed.
pub(super) fn may_be_records(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|kind| matches!(*kind, MESSAGE | SENDER | TARGET))
}

/// Returns the bytes that a message of length `len` needs in a frame.
pub(super) const fn message_len(len: usize) -> usize {
    MESSAGE_HEAD + len
}
