//! Checks a journal without changing it.

use std::fs::File;
use std::path::Path;

use super::format::JournalRecord;
use super::scan::{JournalScan, Tail};
use crate::error::StoreError;

/// Content of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreReport {
    /// Version of the format.
    pub version: u32,
    /// Time of the last reset of the sequence numbers to 1, in nanoseconds since 1970-01-01 UTC.
    pub created_ns: u64,
    /// Number of frames; each is one commit.
    pub frames: u64,
    /// Number of messages that can be resent.
    pub messages: u64,
    /// MsgSeqNum of the next message to send.
    pub next_sender: u64,
    /// MsgSeqNum of the next message expected.
    pub next_target: u64,
    /// Bytes of header and complete frames.
    pub whole: u64,
    /// Bytes after the last complete frame.
    pub damaged: u64,
    /// True if the damaged bytes are the start of an incomplete commit: opening the store moves
    /// them to another file.
    pub is_cut_short: bool,
    /// Offset of the next complete frame after the damage, if there is one; the bytes between are
    /// lost.
    pub resumes: Option<u64>,
}

impl StoreReport {
    /// True if the journal has damage other than an incomplete last write: the store refuses to
    /// open it.
    pub const fn is_broken(&self) -> bool {
        self.damaged > 0 && !self.is_cut_short
    }
}

/// Reads a journal, which may be in use.
///
/// # Errors
/// If it cannot be read, or is not a journal.
pub fn check_store(path: &Path) -> Result<StoreReport, StoreError> {
    read(path).map_err(|error| StoreError::new(format!("check {}", path.display()), error))
}

fn read(path: &Path) -> std::io::Result<StoreReport> {
    let mut scan = JournalScan::new(File::open(path)?)?;
    let mut report = StoreReport {
        version: scan.version.number(),
        created_ns: scan.created_ns,
        next_sender: 1,
        next_target: 1,
        ..StoreReport::default()
    };
    let mut numbers = std::collections::BTreeSet::new();
    while scan.next_frame()?.is_some() {
        report.frames += 1;
        for record in scan.records() {
            match record? {
                JournalRecord::Message { seq_num, .. } => {
                    numbers.insert(seq_num);
                    report.next_sender = seq_num.saturating_add(1);
                }
                JournalRecord::Sender(seq_num) => {
                    drop(numbers.split_off(&seq_num));
                    report.next_sender = seq_num;
                }
                JournalRecord::Target(seq_num) => report.next_target = seq_num,
            }
        }
    }
    report.messages = numbers.len() as u64;
    report.whole = scan.end();
    let tail = scan.tail()?;
    report.damaged = std::fs::metadata(path)?.len().saturating_sub(report.whole);
    report.is_cut_short = matches!(tail, Tail::Torn { .. });
    if let Tail::Damaged { next } = tail {
        report.resumes = next;
    }
    Ok(report)
}
