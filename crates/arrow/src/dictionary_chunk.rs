//! Parquet column chunks with a dictionary of integers, decimals or short texts.
//!
//! The Parquet library hashes the bytes of each value, and allocates or shares memory for each decimal of more than 18 digits. Here
//! integers, decimals and texts of up to 15 bytes are keys of 16 bytes, whose hash is one multiplication.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::{BuildHasher, Hash, Hasher};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringArray};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{DataType, TimeUnit};
use parquet::basic::{Compression, Encoding, Type, ZstdLevel};
use parquet::data_type::FixedLenByteArray;
use parquet::errors::ParquetError;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;

use crate::column_pages::{ColumnPages, PageBody, levels, packed};
use crate::writer::ZSTD_LEVEL;

/// Rows of a page, as of the Parquet library.
const PAGE_ROWS: usize = 20_000;
/// Size of a page of plain values at which it ends, bytes.
const PAGE_BYTES: usize = 1 << 20;
/// Size of the dictionary, in bytes, from which on values are written plain.
const DICTIONARY_BYTES: usize = 1 << 20;
/// Values between two looks at these sizes.
const PIECE_ROWS: usize = 1024;
/// Longest text that is a key itself.
const SHORT_LEN: usize = 15;

/// A column chunk under construction.
pub(crate) struct DictionaryChunk {
    data_type: DataType,
    form: StoredForm,
    is_nullable: bool,
    words: DistinctWords,
    /// True once the dictionary is full.
    is_full: bool,
    page: PageValues,
    pages: Vec<PageBody>,
    pages_len: usize,
    nulls: u64,
}

/// Form of a value in the file.
#[derive(Clone, Copy)]
enum StoredForm {
    Int32,
    Int64,
    /// Big-endian, of this many bytes.
    Bytes(usize),
    Text,
}

/// The distinct values.
struct DistinctWords {
    /// Indexes of numbers and short texts.
    short: HashMap<WordKey, u32, Seeds>,
    /// Indexes of longer texts.
    long: HashMap<Box<[u8]>, u32>,
    /// Their PLAIN encoding.
    plain: Vec<u8>,
    count: u32,
    /// Least and greatest number, also of those after the dictionary.
    least: i128,
    greatest: i128,
}

/// Values of the page under construction.
struct PageValues {
    rows: usize,
    valid: BooleanBufferBuilder,
    has_nulls: bool,
    /// Indexes of the dictionary.
    indexes: Vec<u32>,
    /// PLAIN values, once the dictionary is full.
    plain: Vec<u8>,
}

impl DictionaryChunk {
    /// Begins a chunk; `None` if the Parquet library has to encode values of this type.
    pub(crate) fn of(data_type: &DataType, column: &ColumnDescriptor) -> Option<Self> {
        let form = match (data_type, column.physical_type()) {
            (DataType::Utf8, Type::BYTE_ARRAY) => StoredForm::Text,
            (DataType::Decimal128(..), Type::FIXED_LEN_BYTE_ARRAY) => {
                StoredForm::Bytes(usize::try_from(column.type_length()).ok()?)
            }
            (
                DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32
                | DataType::UInt64
                | DataType::Date32
                | DataType::Timestamp(TimeUnit::Nanosecond, _)
                | DataType::Decimal128(..),
                physical,
            ) => match physical {
                Type::INT32 => StoredForm::Int32,
                Type::INT64 => StoredForm::Int64,
                _ => return None,
            },
            _ => return None,
        };
        Some(Self {
            data_type: data_type.clone(),
            form,
            is_nullable: column.max_def_level() > 0,
            words: DistinctWords::new(),
            is_full: false,
            page: PageValues::new(),
            pages: Vec::new(),
            pages_len: 0,
            nulls: 0,
        })
    }

    /// Returns the bytes of its values in memory.
    pub(crate) fn waiting_bytes(&self) -> usize {
        let page = self.page.indexes.len() * size_of::<u32>() + self.page.plain.len();
        self.pages_len + self.words.plain.len() + page
    }

    /// Appends rows.
    ///
    /// # Errors
    /// The values have another type than the column, or a page cannot be compressed.
    pub(crate) fn append(&mut self, values: &ArrayRef) -> Result<(), ParquetError> {
        if *values.data_type() != self.data_type {
            return Err(self.unfit(values));
        }
        let mut from = 0;
        while from < values.len() {
            let count = (values.len() - from).min(PAGE_ROWS - self.page.rows).min(PIECE_ROWS);
            self.append_piece(&values.slice(from, count))?;
            from += count;
            let becomes_full = !self.is_full && self.words.plain.len() >= DICTIONARY_BYTES;
            if becomes_full || self.page.rows == PAGE_ROWS || self.page.plain.len() >= PAGE_BYTES {
                self.end_page()?;
            }
            if becomes_full {
                self.is_full = true;
                self.words.end();
            }
        }
        Ok(())
    }

    fn append_piece(&mut self, values: &ArrayRef) -> Result<(), ParquetError> {
        self.nulls += values.null_count() as u64;
        self.page.add_rows(values);
        match values.data_type() {
            DataType::Int8 => self.numbers::<Int8Type>(values.as_primitive(), i128::from),
            DataType::Int16 => self.numbers::<Int16Type>(values.as_primitive(), i128::from),
            DataType::Int32 => self.numbers::<Int32Type>(values.as_primitive(), i128::from),
            DataType::Int64 => self.numbers::<Int64Type>(values.as_primitive(), i128::from),
            DataType::UInt8 => self.numbers::<UInt8Type>(values.as_primitive(), i128::from),
            DataType::UInt16 => self.numbers::<UInt16Type>(values.as_primitive(), i128::from),
            DataType::UInt32 => self.numbers::<UInt32Type>(values.as_primitive(), i128::from),
            DataType::UInt64 => self.numbers::<UInt64Type>(values.as_primitive(), i128::from),
            DataType::Date32 => self.numbers::<Date32Type>(values.as_primitive(), i128::from),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                self.numbers::<TimestampNanosecondType>(values.as_primitive(), i128::from);
            }
            DataType::Decimal128(..) => {
                self.numbers::<Decimal128Type>(values.as_primitive(), |value| value);
            }
            DataType::Utf8 => self.texts(values.as_string()),
            _ => return Err(self.unfit(values)),
        }
        Ok(())
    }

    fn unfit(&self, values: &ArrayRef) -> ParquetError {
        let (wanted, found) = (&self.data_type, values.data_type());
        ParquetError::General(format!("expected values of type {wanted}, found {found}"))
    }

    fn numbers<A: ArrowPrimitiveType>(
        &mut self,
        array: &PrimitiveArray<A>,
        widen: impl Fn(A::Native) -> i128,
    ) {
        let Self { form, words, is_full, page, .. } = self;
        let mut add = |value: i128| match is_full {
            false => page.indexes.push(words.number(*form, value)),
            true => {
                words.bound(value);
                form.push_number(&mut page.plain, value);
            }
        };
        match array.null_count() {
            0 => array.values().iter().for_each(|value| add(widen(*value))),
            _ => array.iter().flatten().for_each(|value| add(widen(value))),
        }
    }

    fn texts(&mut self, array: &StringArray) {
        let Self { words, is_full, page, .. } = self;
        let (ends, bytes) = (array.value_offsets(), array.value_data());
        for row in 0..array.len() {
            if array.is_null(row) {
                continue;
            }
            let text = ends[row] as usize..ends[row + 1] as usize;
            match is_full {
                false => page.indexes.push(words.text(bytes, text)),
                true => push_text(&mut page.plain, &bytes[text]),
            }
        }
    }

    fn end_page(&mut self) -> Result<(), ParquetError> {
        if self.page.rows == 0 {
            return Ok(());
        }
        let page = &mut self.page;
        let mut body = match (self.is_nullable, page.has_nulls) {
            (false, _) => Vec::new(),
            (true, false) => levels(page.rows, 1),
            (true, true) => {
                let valid = page.valid.finish();
                let mut run = packed(page.rows.div_ceil(8));
                run.extend_from_slice(valid.inner().as_slice());
                // Fits: a page has few rows.
                let mut body = (run.len() as u32).to_le_bytes().to_vec();
                body.append(&mut run);
                body
            }
        };
        let encoding = if self.is_full {
            body.append(&mut page.plain);
            Encoding::PLAIN
        } else {
            let width = u32::BITS - self.words.count.saturating_sub(1).leading_zeros();
            push_packed(&mut body, &page.indexes, width.max(1));
            Encoding::RLE_DICTIONARY
        };
        let page = compressed(&body, page.rows, encoding)?;
        self.pages_len += page.bytes.len();
        self.pages.push(page);
        self.page.clear();
        Ok(())
    }

    /// Ends the chunk.
    pub(crate) fn complete(mut self) -> Result<ColumnPages, ParquetError> {
        self.end_page()?;
        let statistics = self.statistics();
        let DistinctWords { plain, count, .. } = &self.words;
        let dictionary = compressed(plain, *count as usize, Encoding::PLAIN)?;
        Ok(ColumnPages {
            compression: Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?),
            dictionary: Some(dictionary),
            data: self.pages,
            statistics,
        })
    }

    /// Returns minimum and maximum of numbers. Texts have none: every row group has the dictionary's few texts, so no
    /// reader could leave one out.
    fn statistics(&self) -> Option<Statistics> {
        let DistinctWords { least, greatest, .. } = self.words;
        let bounds = (least <= greatest).then_some((least, greatest));
        let (least, greatest) = bounds.unzip();
        let nulls = Some(self.nulls);
        Some(match self.form {
            StoredForm::Int32 => {
                // Unsigned numbers are stored as signed ones of the same width.
                let number = |value: i128| value as i32;
                Statistics::int32(least.map(number), greatest.map(number), None, nulls, false)
            }
            StoredForm::Int64 => {
                let number = |value: i128| value as i64;
                Statistics::int64(least.map(number), greatest.map(number), None, nulls, false)
            }
            StoredForm::Bytes(len) => {
                let bytes = |value: i128| {
                    FixedLenByteArray::from(value.to_be_bytes()[size_of::<i128>() - len..].to_vec())
                };
                let (least, greatest) = (least.map(bytes), greatest.map(bytes));
                Statistics::fixed_len_byte_array(least, greatest, None, nulls, false)
            }
            StoredForm::Text => return None,
        })
    }
}

impl StoredForm {
    /// Appends the PLAIN encoding of a number.
    fn push_number(self, plain: &mut Vec<u8>, value: i128) {
        match self {
            Self::Int32 => plain.extend_from_slice(&(value as i32).to_le_bytes()),
            Self::Int64 => plain.extend_from_slice(&(value as i64).to_le_bytes()),
            Self::Bytes(len) => {
                plain.extend_from_slice(&value.to_be_bytes()[size_of::<i128>() - len..]);
            }
            Self::Text => {}
        }
    }
}

/// Appends the PLAIN encoding of a text.
fn push_text(plain: &mut Vec<u8>, text: &[u8]) {
    // Fits: the ends of texts have 32 bits.
    plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
    plain.extend_from_slice(text);
}

impl DistinctWords {
    fn new() -> Self {
        Self {
            short: HashMap::with_hasher(Seeds::random()),
            long: HashMap::new(),
            plain: Vec::new(),
            count: 0,
            least: i128::MAX,
            greatest: i128::MIN,
        }
    }

    /// Frees the memory of the keys: no further value is looked up.
    fn end(&mut self) {
        self.short = HashMap::with_hasher(Seeds::random());
        self.long = HashMap::new();
    }

    fn bound(&mut self, value: i128) {
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    /// Returns the index of a number.
    #[inline]
    fn number(&mut self, form: StoredForm, value: i128) -> u32 {
        let index = match self.short.entry(WordKey::of(value as u128)) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(new) => *new.insert(self.count),
        };
        self.count += 1;
        form.push_number(&mut self.plain, value);
        self.bound(value);
        index
    }

    /// Returns the index of a text, which is at this place among others.
    #[inline]
    fn text(&mut self, bytes: &[u8], place: std::ops::Range<usize>) -> u32 {
        let index = match short_key(bytes, &place) {
            Some(key) => match self.short.entry(key) {
                Entry::Occupied(known) => return *known.get(),
                Entry::Vacant(new) => *new.insert(self.count),
            },
            None => {
                let text = &bytes[place.clone()];
                if let Some(index) = self.long.get(text) {
                    return *index;
                }
                self.long.insert(text.into(), self.count);
                self.count
            }
        };
        self.count += 1;
        push_text(&mut self.plain, &bytes[place]);
        index
    }
}

/// Returns a text of up to 15 bytes, and its length in the last byte; `None` if it is longer.
#[inline]
fn short_key(bytes: &[u8], place: &std::ops::Range<usize>) -> Option<WordKey> {
    let len = place.len();
    if len > SHORT_LEN {
        return None;
    }
    // Reads sixteen bytes where as many follow: a copy of constant length needs no call of memcpy.
    let word = match bytes.get(place.start..).and_then(<[u8]>::first_chunk) {
        Some(word) => u128::from_le_bytes(*word) & !(u128::MAX << (8 * len)),
        None => {
            let mut word = [0; size_of::<u128>()];
            word[..len].copy_from_slice(&bytes[place.clone()]);
            u128::from_le_bytes(word)
        }
    };
    Some(WordKey::of(word | (len as u128) << (8 * SHORT_LEN)))
}

/// A key of the dictionary, as two words: an entry takes 24 bytes, with one of 16 bytes it would take 32.
#[derive(Clone, Copy, PartialEq, Eq)]
struct WordKey(u64, u64);

impl WordKey {
    const fn of(value: u128) -> Self {
        Self(value as u64, (value >> 64) as u64)
    }
}

impl Hash for WordKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from(self.0) | u128::from(self.1) << 64);
    }
}

/// Random numbers of a dictionary, so that a feed cannot choose values with the same hash.
#[derive(Clone)]
struct Seeds(u64, u64);

impl Seeds {
    fn random() -> Self {
        let random = RandomState::new();
        Self(random.hash_one(0), random.hash_one(1))
    }
}

impl BuildHasher for Seeds {
    type Hasher = KeyHasher;

    #[inline]
    fn build_hasher(&self) -> KeyHasher {
        KeyHasher { seeds: self.clone(), hash: 0 }
    }
}

/// Hashes a key: the product of its halves, each mixed with a seed; high and low half of the product are combined.
struct KeyHasher {
    seeds: Seeds,
    hash: u64,
}

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.hash
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u128(u128::from(*byte)));
    }

    #[inline]
    fn write_u128(&mut self, value: u128) {
        let (low, high) =
            (value as u64 ^ self.seeds.0 ^ self.hash, (value >> 64) as u64 ^ self.seeds.1);
        let product = u128::from(low) * u128::from(high);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }
}

impl PageValues {
    fn new() -> Self {
        let valid = BooleanBufferBuilder::new(0);
        Self { rows: 0, valid, has_nulls: false, indexes: Vec::new(), plain: Vec::new() }
    }

    fn add_rows(&mut self, values: &ArrayRef) {
        self.rows += values.len();
        match values.nulls().filter(|nulls| nulls.null_count() > 0) {
            Some(nulls) => {
                self.has_nulls = true;
                self.valid.append_buffer(nulls.inner());
            }
            None => self.valid.append_n(values.len(), true),
        }
    }

    fn clear(&mut self) {
        self.rows = 0;
        self.valid.truncate(0);
        self.has_nulls = false;
        self.indexes.clear();
        self.plain.clear();
    }
}

/// Appends the width of indexes in bits, at most 32, and the indexes: one after the other from the lowest bit on.
fn push_packed(body: &mut Vec<u8>, indexes: &[u32], width: u32) {
    let groups = indexes.len().div_ceil(8);
    body.reserve(16 + groups * width as usize);
    // Fits: at most 32.
    body.push(width as u8);
    body.extend_from_slice(&packed(groups));
    let end = body.len() + groups * width as usize;
    let (mut word, mut bits) = (0_u64, 0);
    for index in indexes {
        // Fits: fewer than 32 bits are left from the indexes before.
        word |= u64::from(*index) << bits;
        bits += width;
        if bits >= u32::BITS {
            body.extend_from_slice(&(word as u32).to_le_bytes());
            word >>= u32::BITS;
            bits -= u32::BITS;
        }
    }
    body.extend_from_slice(&word.to_le_bytes());
    // The last group is filled with zeros.
    body.resize(end, 0);
}

fn compressed(body: &[u8], count: usize, encoding: Encoding) -> Result<PageBody, ParquetError> {
    let bytes = zstd::bulk::compress(body, ZSTD_LEVEL)?;
    Ok(PageBody { bytes, len: body.len(), count, encoding })
}
