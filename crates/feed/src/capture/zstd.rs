//! Decompression of zstd frames while reading.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Largest window of a zstd frame: the default limit of the zstd tool.
const ZSTD_WINDOW_BYTES_MAX: u64 = 128 << 20;

/// The content of consecutive zstd frames; skippable frames are skipped.
pub(super) struct ZstdFrames<R> {
    input: BufReader<R>,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: Read> ZstdFrames<R> {
    pub(super) fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW_BYTES_MAX);
        Self { input: BufReader::new(input), decoder, in_frame: false }
    }

    /// Starts the next frame; returns `false` at the end of the input.
    fn start_frame(&mut self) -> io::Result<bool> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        match self.decoder.reset(&mut self.input) {
            Ok(()) => self.in_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => self.skip(u64::from(length))?,
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(true)
    }

    fn skip(&mut self, len: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.input.by_ref().take(len), &mut io::sink())?;
        if skipped == len { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        match self.decoder.get_checksum_from_data() {
            Some(checksum) if Some(checksum) != self.decoder.get_calculated_checksum() => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "zstd checksum is wrong"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                if !self.start_frame()? {
                    return Ok(0);
                }
                continue;
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buf);
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
                continue;
            }
            self.decoder
                .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(io::Error::other)?;
        }
    }
}
