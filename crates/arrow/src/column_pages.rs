//! The pages of a Parquet column chunk that the Parquet library does not encode.

use std::io::Write;

use parquet::basic::{Compression, Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// The pages of a column chunk.
pub(crate) struct ColumnPages {
    pub(crate) compression: Compression,
    pub(crate) dictionary: Option<PageBody>,
    pub(crate) data: Vec<PageBody>,
    pub(crate) statistics: Option<Statistics>,
}

/// A page without its header.
pub(crate) struct PageBody {
    /// The body, compressed as the chunk is.
    pub(crate) bytes: Vec<u8>,
    /// Length of the uncompressed body.
    pub(crate) len: usize,
    /// Number of words of a dictionary, or of rows.
    pub(crate) count: usize,
    pub(crate) encoding: Encoding,
}

impl PageBody {
    /// Creates the body of a chunk that is not compressed.
    pub(crate) fn uncompressed(bytes: Vec<u8>, count: usize, encoding: Encoding) -> Self {
        let len = bytes.len();
        Self { bytes, len, count, encoding }
    }

    fn dictionary(self) -> CompressedPage {
        let page = Page::DictionaryPage {
            buf: self.bytes.into(),
            num_values: self.count as u32,
            encoding: self.encoding,
            is_sorted: false,
        };
        CompressedPage::new(page, self.len)
    }

    fn data(self) -> CompressedPage {
        let page = Page::DataPage {
            buf: self.bytes.into(),
            num_values: self.count as u32,
            encoding: self.encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        CompressedPage::new(page, self.len)
    }
}

impl ColumnPages {
    /// Appends the chunk to a row group.
    pub(crate) fn append_to<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        column: ColumnDescPtr,
    ) -> Result<(), ParquetError> {
        let mut out = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut out);
        let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
        let (mut counts, mut uncompressed, mut dictionary_at) = (Vec::new(), 0, None);
        let mut count_page = |page_type, encoding| {
            let is_same = |known: &PageEncodingStats| {
                (known.page_type, known.encoding) == (page_type, encoding)
            };
            match counts.iter().position(is_same) {
                Some(at) => counts[at].count += 1,
                None => counts.push(PageEncodingStats { page_type, encoding, count: 1 }),
            }
        };
        if let Some(dictionary) = self.dictionary {
            count_page(PageType::DICTIONARY_PAGE, dictionary.encoding);
            let written = pages.write_page(dictionary.dictionary())?;
            uncompressed += written.uncompressed_size;
            dictionary_at = Some(written.offset as i64);
        }
        let (mut offsets, mut data_at, mut rows) = (OffsetIndexBuilder::new(), None, 0);
        for page in self.data {
            let count = page.count;
            encodings.push(page.encoding);
            count_page(PageType::DATA_PAGE, page.encoding);
            let written = pages.write_page(page.data())?;
            uncompressed += written.uncompressed_size;
            data_at.get_or_insert(written.offset as i64);
            rows += count;
            offsets.append_row_count(count as i64);
            offsets.append_offset_and_size(written.offset as i64, written.compressed_size as i32);
        }
        pages.close()?;

        let mut metadata = ColumnChunkMetaData::builder(column)
            .set_compression(self.compression)
            .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
            .set_page_encoding_stats(counts)
            .set_total_compressed_size(out.bytes_written() as i64)
            .set_total_uncompressed_size(uncompressed as i64)
            .set_num_values(rows as i64)
            .set_dictionary_page_offset(dictionary_at)
            .set_data_page_offset(data_at.unwrap_or_default());
        if let Some(statistics) = self.statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: out.bytes_written() as u64,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(offsets.build()),
        };
        group.append_column(&bytes::Bytes::from(out.into_inner()?), close)
    }
}

/// Returns a run of equal levels, after its length in bytes.
pub(crate) fn levels(rows: usize, level: u8) -> Vec<u8> {
    let run = run(rows);
    // Fits: a run's length has at most ten bytes.
    let mut levels = (run.len() as u32 + 1).to_le_bytes().to_vec();
    levels.extend_from_slice(&run);
    levels.push(level);
    levels
}

/// Returns the header of a run of this length, without the value: the length, shifted left by one bit.
pub(crate) fn run(rows: usize) -> Vec<u8> {
    leb128(rows << 1)
}

/// Returns the header of bit-packed values: the number of their groups of eight, shifted left by one bit, and a set bit.
pub(crate) fn packed(groups: usize) -> Vec<u8> {
    leb128(groups << 1 | 1)
}

/// Returns a number in groups of seven bits from the lowest on.
fn leb128(mut rest: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}
