//! String columns under construction.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use tickwire_fast::{ColumnBlock, Slot, Text};

use crate::column::ColumnMisfit;
use crate::recycled::{ROOM_BEHIND, Recycled};
use crate::text;
use crate::validity::Validity;
use crate::values::RowSpread;

/// Limit of the bytes of a string column per batch.
pub(crate) const BYTES_MAX: usize = 64 << 20;
/// The column has no room for the strings of a row; an empty column may have.
pub(crate) const FULL: ColumnMisfit = "the strings of its rows are longer than 64 MiB together";
/// Short strings are copied as this many bytes.
const SHORT_STEP: usize = 8;

/// Columns of nulls only: batches are slices of one shared array.
#[derive(Default)]
pub(crate) struct MissingTexts(Option<StringArray>);

impl MissingTexts {
    /// Returns a column of `rows` nulls.
    pub(crate) fn take(&mut self, rows: usize) -> ArrayRef {
        let made = match self.0.take().filter(|made| made.len() >= rows) {
            Some(made) => made,
            None => StringArray::new_null(rows + ROOM_BEHIND),
        };
        let column = made.slice(0, rows);
        self.0 = Some(made);
        Arc::new(column)
    }
}

/// Strings or byte vectors, with nulls.
pub(crate) struct Strings {
    is_text: bool,
    /// The strings up to the last one's end; the rest is room with arbitrary contents.
    bytes: Vec<u8>,
    /// 0, then the end of each string.
    ends: Vec<i32>,
    /// Nulls before the first string; they are added to `ends` when it is appended.
    missing_first: usize,
    validity: Validity,
    missing: MissingTexts,
    recycled_bytes: Recycled,
    recycled_ends: Recycled,
}

impl Strings {
    pub(crate) fn new(is_text: bool) -> Self {
        Self {
            is_text,
            bytes: Vec::new(),
            ends: vec![0],
            missing_first: 0,
            validity: Validity::default(),
            missing: MissingTexts::default(),
            recycled_bytes: Recycled::default(),
            recycled_ends: Recycled::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.missing_first + self.ends.len() - 1
    }

    fn end(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    /// Returns the room after the last string, at least `count` bytes with arbitrary contents.
    #[inline(always)]
    fn room_for(&mut self, count: usize) -> &mut [u8] {
        let (start, end) = (self.end(), self.end() + count);
        if end > self.bytes.len() {
            self.make_room(end);
        }
        &mut self.bytes[start..]
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, end: usize) {
        // Strings beyond the limit are refused.
        let doubled = (2 * self.bytes.len()).min(BYTES_MAX);
        let room = end.max(doubled).max(self.recycled_bytes.room());
        if self.bytes.is_empty() {
            // `vec![0; n]` takes zeroed pages from the system without clearing them again.
            self.bytes = vec![0; room];
        } else {
            self.bytes.resize(room, 0);
        }
    }

    /// Appends a string, or null, `count` times.
    pub(crate) fn append(
        &mut self,
        string: Option<&[u8]>,
        count: usize,
    ) -> Result<(), ColumnMisfit> {
        let Some(string) = string else {
            self.append_nulls(count);
            return Ok(());
        };
        self.begin();
        let (start, len) = (self.end(), string.len());
        let all = len.saturating_mul(count);
        if all.saturating_add(start) > BYTES_MAX {
            return Err(FULL);
        }
        let room = &mut self.room_for(all)[..all];
        room.chunks_exact_mut(len.max(1)).for_each(|place| place.copy_from_slice(string));
        // Fits: at most the limit of 64 MiB.
        self.ends.extend((1..=count).map(|index| (start + index * len) as i32));
        self.validity.append_n(count, true);
        Ok(())
    }

    /// Called for the first string: reserves memory and adds the nulls before it.
    fn begin(&mut self) {
        if self.ends.len() == 1 {
            self.begin_strings();
        }
    }

    #[cold]
    fn begin_strings(&mut self) {
        let missing = std::mem::take(&mut self.missing_first);
        if self.ends.capacity() < self.recycled_ends.room() {
            self.ends = self.recycled_ends.vector();
            self.ends.clear();
            self.ends.reserve(self.recycled_ends.room());
            self.ends.push(0);
        }
        self.ends.resize(1 + missing, 0);
        self.validity.append_n(missing, false);
    }

    /// Appends the strings of a block's records.
    pub(crate) fn append_block(
        &mut self,
        block: &ColumnBlock,
        slot: &Slot<Text>,
        spread: &RowSpread<'_>,
    ) -> Result<(), ColumnMisfit> {
        let presence = block.presence(slot);
        if presence == 0 {
            self.append_nulls(spread.rows(block.len()));
            return Ok(());
        }
        self.begin();
        match spread {
            RowSpread::One if self.append_single_bytes(block, slot, presence) => {}
            RowSpread::One if self.append_short_texts(block, slot, presence) => {}
            RowSpread::One => self.append_texts(block, slot, presence)?,
            RowSpread::Runs { counts, .. } => {
                for (record, (text, count)) in block.texts(slot).zip(*counts).enumerate() {
                    let (is_present, count) = (presence >> record & 1 != 0, *count as usize);
                    match text.or_empty(is_present).short() {
                        Some((bytes, len)) => {
                            self.append(is_present.then_some(&bytes[..len]), count)?;
                        }
                        None => self.append(Some(block.long(text)), count)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends one string per row and returns true if every record has the string and each is one byte, such
    /// as the code of an entry's type; otherwise returns false without appending. The loops have no branch.
    fn append_single_bytes(
        &mut self,
        block: &ColumnBlock,
        slot: &Slot<Text>,
        presence: u64,
    ) -> bool {
        let (start, count) = (self.end(), block.len());
        let are_bytes = block.texts(slot).fold(true, |all, text| all & text.is_byte());
        if presence != block.all() || !are_bytes || start + count > BYTES_MAX {
            return false;
        }
        let room = self.room_for(count).iter_mut();
        room.zip(block.texts(slot)).for_each(|(place, text)| *place = text.byte());
        // Fits: at most the limit of 64 MiB.
        self.ends.extend((start..start + count).map(|start| start as i32 + 1));
        self.validity.append_bits(presence, count);
        true
    }

    /// Appends one short string per row and returns true; returns false without appending if any is long.
    /// Each string is copied as eight bytes, and the next one overwrites the excess. Most strings of market
    /// data are short.
    fn append_short_texts(
        &mut self,
        block: &ColumnBlock,
        slot: &Slot<Text>,
        presence: u64,
    ) -> bool {
        let (start, count, room) = (self.end(), self.ends.len(), block.len() * SHORT_STEP);
        if start + room > BYTES_MAX {
            return false;
        }
        self.room_for(room);
        let (bytes, mut end, mut are_short) = (&mut self.bytes[..], start, true);
        self.ends.extend(block.texts(slot).enumerate().map(|(record, text)| {
            match text.or_empty(presence >> record & 1 != 0).short() {
                Some((word, len)) => {
                    bytes[end..end + SHORT_STEP].copy_from_slice(&word);
                    end += len;
                }
                None => are_short = false,
            }
            // Fits: at most the limit of 64 MiB.
            end as i32
        }));
        if !are_short {
            self.ends.truncate(count);
            return false;
        }
        self.validity.append_bits(presence, block.len());
        true
    }

    /// Appends one string per row.
    fn append_texts(
        &mut self,
        block: &ColumnBlock,
        slot: &Slot<Text>,
        presence: u64,
    ) -> Result<(), ColumnMisfit> {
        for (record, text) in block.texts(slot).enumerate() {
            let text = text.or_empty(presence >> record & 1 != 0);
            let len = match text.short() {
                Some((bytes, len)) => {
                    self.room_for(SHORT_STEP)[..SHORT_STEP].copy_from_slice(&bytes);
                    len
                }
                None => {
                    let long = block.long(text);
                    self.room_for(long.len())[..long.len()].copy_from_slice(long);
                    long.len()
                }
            };
            let end = self.end() + len;
            if end > BYTES_MAX {
                return Err(FULL);
            }
            // Fits: at most the limit of 64 MiB.
            self.ends.push(end as i32);
        }
        self.validity.append_bits(presence, block.len());
        Ok(())
    }

    pub(crate) fn append_nulls(&mut self, count: usize) {
        if self.ends.len() == 1 {
            self.missing_first += count;
            return;
        }
        self.ends.resize(self.ends.len() + count, self.end() as i32);
        self.validity.append_n(count, false);
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.missing_first = self.missing_first.min(len);
        self.ends.truncate(len - self.missing_first + 1);
        self.validity.truncate(self.ends.len() - 1);
    }

    pub(crate) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        if self.ends.len() == 1 {
            let rows = std::mem::take(&mut self.missing_first);
            return Ok(match self.is_text {
                true => self.missing.take(rows),
                false => Arc::new(BinaryArray::new_null(rows)),
            });
        }
        let (rows, end) = (self.len(), self.end());
        let nulls = self.validity.take();
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let ends = ScalarBuffer::new(self.recycled_ends.lend(ends), 0, rows + 1);
        let room = self.recycled_bytes.vector();
        let mut bytes = std::mem::replace(&mut self.bytes, room);
        bytes.truncate(end);
        let bytes = self.recycled_bytes.lend(bytes);
        Ok(match self.is_text {
            true => Arc::new(text::array(ends, bytes, nulls)?),
            false => Arc::new(BinaryArray::try_new(OffsetBuffer::new(ends), bytes, nulls)?),
        })
    }
}
