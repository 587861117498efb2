//! Compression of .gz and .zst while writing.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::compression::Compression;

/// Bytes of content in one gzip member or zstd frame.
const PIECE_BYTES: usize = 1 << 20;

/// Compresses written bytes, in gzip members or zstd frames of 1 MiB of content.
///
/// A flush ends the member or frame, so that a reader sees everything written before. Flush the
/// writer at the end: buffered bytes are lost otherwise.
#[derive(Debug)]
pub struct CompressingWriter<W> {
    output: W,
    compression: Compression,
    held: Vec<u8>,
    /// True once something was written: an empty file is not a valid compressed file.
    has_begun: bool,
}

impl<W: Write> CompressingWriter<W> {
    /// Creates a writer that holds up to 1 MiB.
    pub const fn new(output: W, compression: Compression) -> Self {
        Self { output, compression, held: Vec::new(), has_begun: false }
    }

    fn write_piece(&mut self) -> io::Result<()> {
        let piece = match self.compression {
            Compression::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(&self.held)?;
                encoder.finish()?
            }
            Compression::Zstd => compress_to_vec(&self.held[..], CompressionLevel::Fastest),
        };
        self.held.clear();
        self.has_begun = true;
        self.output.write_all(&piece)
    }
}

impl<W: Write> Write for CompressingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE_BYTES - self.held.len());
        self.held.extend_from_slice(&bytes[..taken]);
        if self.held.len() == PIECE_BYTES {
            self.write_piece()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.held.is_empty() || !self.has_begun {
            self.write_piece()?;
        }
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::decompress::Decompressed;
    use super::*;

    fn decompressed(file: &[u8]) -> Vec<u8> {
        let mut content = Vec::new();
        Decompressed::open(file).unwrap().read_to_end(&mut content).unwrap();
        content
    }

    #[test]
    fn content_of_any_length_comes_back() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            for len in [0, 1, 1000, PIECE_BYTES, 2 * PIECE_BYTES + 1] {
                let content: Vec<u8> = (0..len).map(|index| ((index * index) >> 3) as u8).collect();
                let mut writer = CompressingWriter::new(Vec::new(), compression);
                writer.write_all(&content).unwrap();
                writer.flush().unwrap();
                assert!(!writer.output.is_empty());
                assert!(decompressed(&writer.output) == content, "{compression}, {len} bytes");
            }
        }
    }

    #[test]
    fn a_flush_makes_everything_before_it_readable() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let mut writer = CompressingWriter::new(Vec::new(), compression);
            writer.write_all(b"first ").unwrap();
            writer.flush().unwrap();
            assert_eq!(decompressed(&writer.output), b"first ");
            writer.write_all(b"second").unwrap();
            writer.flush().unwrap();
            assert_eq!(decompressed(&writer.output), b"first second");
        }
    }
}
