//! Last values by key, for a reader that joins late or has had a gap.

use super::{ShmReader, ShmSample};
use crate::channel;
use crate::error::{Damage, ShmError};
use crate::layout::{KEYS_MAX, header};
use crate::mapping::ReadMap;
use crate::memory::Memory;
use crate::{ring, values, writer};

impl ShmReader {
    /// Returns the last value of every key as of the head, and moves the reader to the head: [`ShmReader::poll`] then
    /// returns all samples from there on, none missing and none repeated. A key whose next sample is already in the
    /// ring may be left out here.
    ///
    /// Samples that are not read yet are skipped; [`LastValues::skipped`] counts them.
    ///
    /// # Errors
    /// [`ShmError::Damaged`].
    pub fn last_values(&mut self) -> Result<LastValues<'_>, ShmError> {
        let head = ring::head(&self.ring)?;
        let keys = self.keys()?;
        let skipped = head.saturating_sub(self.cursor.next);
        // The reader may have read a sample whose slot was written while the head was not yet advanced.
        self.cursor.next = self.cursor.next.max(head);
        // A writer that waits for this reader must learn that the skipped samples need not be kept.
        self.state_when_due();
        Ok(LastValues { head, keys, next: 0, skipped, reader: self })
    }

    /// As [`ShmReader::last_values`], but does not move the reader: [`ShmReader::poll`] returns again the values whose
    /// samples are still in the ring. Use it for keys whose last sample is in a [`ShmEvent::Gap`](crate::ShmEvent::Gap).
    ///
    /// # Errors
    /// [`ShmError::Damaged`].
    pub fn peek_last_values(&mut self) -> Result<LastValues<'_>, ShmError> {
        let head = ring::head(&self.ring)?;
        let keys = self.keys()?;
        Ok(LastValues { head, keys, next: 0, skipped: 0, reader: self })
    }

    /// Maps the files of last values now, with that of the next keys. Files are otherwise mapped when they are first read,
    /// which fails once the writer has ended the channel. Call it from time to time, so that the last values can be read
    /// after a gap at the end.
    ///
    /// # Errors
    /// [`ShmError::Damaged`]; errors of the operating system.
    pub fn map_last_values(&mut self) -> Result<(), ShmError> {
        let segments = self.geometry.segments(self.keys()?);
        match segments.checked_sub(1).map(|last| self.map_segment(last)) {
            // Not made yet, or the channel was ended.
            Some(Err(ShmError::NoChannel { .. })) | None => Ok(()),
            Some(mapped) => mapped,
        }
    }

    /// Returns the bytes of a key.
    ///
    /// # Errors
    /// [`ShmError::Key`] for a number that no sample has had; [`ShmError::NoChannel`] if the channel has been ended before
    /// the reader mapped the key's segment; [`ShmError::Damaged`].
    pub fn key(&mut self, number: u32) -> Result<Vec<u8>, ShmError> {
        if u64::from(number) >= self.keys()? {
            return Err(ShmError::Key);
        }
        let (segment, at) = self.geometry.entry(number.into());
        self.map_segment(segment)?;
        Ok(values::read_key(&self.segments[segment], &self.geometry, at)?)
    }

    /// Returns the number of keys that have an entry.
    fn keys(&self) -> Result<u64, ShmError> {
        let keys = values::count(&self.ring);
        match keys <= KEYS_MAX && (keys == 0 || self.geometry.key_bytes > 0) {
            true => Ok(keys),
            false => Err(Damage::Entry.into()),
        }
    }

    /// Maps the segments up to and including this one.
    fn map_segment(&mut self, segment: usize) -> Result<(), ShmError> {
        while self.segments.len() <= segment {
            let number = self.segments.len();
            let path = self.channel.segment_path(number);
            let file = channel::open(&path, false)?;
            let map = ReadMap::new(&file, &path, self.geometry.segment_words(number))?;
            writer::check_segment(&map, self.ring.load(header::ID), number)?;
            self.segments.push(map);
        }
        Ok(())
    }
}

/// The last values at one sequence number; see [`ShmReader::last_values`].
#[derive(Debug)]
pub struct LastValues<'a> {
    reader: &'a mut ShmReader,
    head: u64,
    keys: u64,
    next: u64,
    skipped: u64,
}

impl LastValues<'_> {
    /// Returns the sequence number from which the reader continues: the values reflect all samples below it.
    pub fn seq_num(&self) -> u64 {
        self.head
    }

    /// Returns the number of samples that the reader skipped without reading; the last values of their keys are
    /// included here.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the last value of the next key; `None` after the last key.
    ///
    /// # Errors
    /// [`ShmError::Damaged`], and [`ShmError::NoChannel`] if the channel has been ended and its files are gone.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<ShmSample<'_>>, ShmError> {
        while self.next < self.keys {
            let number = self.next;
            self.next += 1;
            let (segment, at) = self.reader.geometry.entry(number);
            self.reader.map_segment(segment)?;
            let ShmReader { segments, buffer, .. } = &mut *self.reader;
            let found = values::read(&segments[segment], at, self.head, buffer)?;
            if segments[segment].is_cut() {
                return Err(Damage::Truncated.into());
            }
            if let Some((seq_num, _)) = found {
                let bytes = self.reader.buffer.bytes();
                return Ok(Some(ShmSample { seq_num, key: Some(number as u32), bytes }));
            }
        }
        Ok(None)
    }
}
