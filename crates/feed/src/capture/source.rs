//! A reader that counts bytes, can look ahead, and never allocates by a length from the file.

use std::io::{self, Read};

use super::compression::Compression;
use super::decompress::Decompressed;
use super::error::{CaptureError, CapturePart};
use super::format::GUESS_BYTES;

/// The decompressed input, with its position.
pub(super) struct CaptureInput<R> {
    input: Decompressed<R>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    position: u64,
    ended: bool,
    /// An error met while looking ahead. It is due only when bytes after it are requested.
    failure: Option<io::Error>,
}

impl<R: Read> CaptureInput<R> {
    pub(super) fn open(input: R) -> Result<Self, CaptureError> {
        let input =
            Decompressed::open(input).map_err(|source| CaptureError::Read { offset: 0, source })?;
        Ok(Self::new(input, 0))
    }

    /// Reads the rest of uncompressed content, from `position` on.
    pub(super) fn resume(input: R, position: u64) -> Self {
        Self::new(Decompressed::plain(input), position)
    }

    fn new(input: Decompressed<R>, position: u64) -> Self {
        Self {
            input,
            buffer: vec![0; GUESS_BYTES],
            start: 0,
            end: 0,
            position,
            ended: false,
            failure: None,
        }
    }

    /// Returns the offset of the next byte, after decompression.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the compression of the input.
    pub(super) const fn compression(&self) -> Option<Compression> {
        self.input.compression()
    }

    /// Returns the first bytes of the content, and whether they are the whole content. Returns at
    /// least `len_min` bytes (64 KiB at most) unless the content is shorter.
    pub(super) fn look_ahead(&mut self, len_min: usize) -> (&[u8], bool) {
        let len_min = len_min.min(self.buffer.len());
        while self.end < len_min && !self.ended && self.failure.is_none() {
            self.fill();
        }
        let all = self.ended && self.failure.is_none();
        (self.buffer.get(self.start..self.end).unwrap_or_default(), all)
    }

    /// Reads once, appending to the buffered bytes.
    fn fill(&mut self) {
        let Some(free) = self.buffer.get_mut(self.end..) else { return };
        match self.input.read(free) {
            Ok(0) => self.ended = true,
            Ok(count) => self.end = (self.end + count).min(self.buffer.len()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => self.failure = Some(error),
        }
    }

    /// Returns up to `len` bytes, empty only at the end of the content.
    fn next(&mut self, len: usize) -> Result<&[u8], CaptureError> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            while self.end == 0 && !self.ended && self.failure.is_none() {
                self.fill();
            }
            if self.end == 0
                && let Some(source) = self.failure.take()
            {
                return Err(CaptureError::Read { offset: self.position, source });
            }
        }
        let taken = self.start..self.end.min(self.start.saturating_add(len));
        self.start = taken.end;
        self.position += taken.len() as u64;
        Ok(self.buffer.get(taken).unwrap_or_default())
    }

    /// Appends the next `len` bytes to `data`, fewer at the end of the content; returns how many.
    pub(super) fn append(&mut self, data: &mut Vec<u8>, len: usize) -> Result<usize, CaptureError> {
        let mut left = len;
        while left > 0 {
            let bytes = self.next(left)?;
            if bytes.is_empty() {
                break;
            }
            data.extend_from_slice(bytes);
            left -= bytes.len();
        }
        Ok(len - left)
    }

    /// Appends the bytes of one read, at most `len`; none at the end of the content.
    pub(super) fn append_some(
        &mut self,
        data: &mut Vec<u8>,
        len: usize,
    ) -> Result<usize, CaptureError> {
        let bytes = self.next(len)?;
        data.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Replaces `data` by the next `len` bytes.
    ///
    /// # Errors
    /// [`CaptureError::Truncated`] if the content is shorter.
    pub(super) fn read(
        &mut self,
        part: CapturePart,
        data: &mut Vec<u8>,
        len: usize,
    ) -> Result<(), CaptureError> {
        data.clear();
        let offset = self.position;
        let found = self.append(data, len)?;
        check_whole(part, offset, len as u64, found as u64)
    }

    /// Reads `N` bytes, or returns `None` if the content ends exactly here.
    pub(super) fn header<const N: usize>(
        &mut self,
        part: CapturePart,
    ) -> Result<Option<[u8; N]>, CaptureError> {
        let mut header = [0; N];
        let offset = self.position;
        let mut found = 0;
        while let Some(free) = header.get_mut(found..).filter(|free| !free.is_empty()) {
            let bytes = self.next(free.len())?;
            if bytes.is_empty() {
                break;
            }
            free[..bytes.len()].copy_from_slice(bytes);
            found += bytes.len();
        }
        if found == 0 {
            return Ok(None);
        }
        check_whole(part, offset, N as u64, found as u64)?;
        Ok(Some(header))
    }

    /// Reads `N` bytes; fewer are an error.
    pub(super) fn array<const N: usize>(
        &mut self,
        part: CapturePart,
    ) -> Result<[u8; N], CaptureError> {
        let offset = self.position;
        self.header(part)?.ok_or(CaptureError::Truncated {
            part,
            offset,
            wanted: N as u64,
            found: 0,
        })
    }

    /// Skips `len` bytes; fewer are an error.
    pub(super) fn skip(&mut self, part: CapturePart, len: u64) -> Result<(), CaptureError> {
        let offset = self.position;
        let mut left = len;
        while left > 0 {
            let skipped = self.next(usize::try_from(left).unwrap_or(usize::MAX))?.len() as u64;
            if skipped == 0 {
                break;
            }
            left -= skipped;
        }
        check_whole(part, offset, len, len - left)
    }
}

fn check_whole(
    part: CapturePart,
    offset: u64,
    wanted: u64,
    found: u64,
) -> Result<(), CaptureError> {
    if found == wanted {
        Ok(())
    } else {
        Err(CaptureError::Truncated { part, offset, wanted, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one byte at a time, then fails.
    struct Failing(u8);

    impl Read for Failing {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("cable pulled"));
            }
            self.0 -= 1;
            buf[0] = self.0;
            Ok(1)
        }
    }

    #[test]
    fn an_input_error_comes_only_after_the_bytes_before_it() {
        let mut source = CaptureInput::open(Failing(6)).unwrap();
        assert_eq!(source.look_ahead(6).0, [5, 4, 3, 2, 1, 0]);
        let mut data = Vec::new();
        source.read(CapturePart::Packet, &mut data, 6).unwrap();
        assert_eq!(data, [5, 4, 3, 2, 1, 0]);
        let error = source.read(CapturePart::Packet, &mut data, 1).unwrap_err();
        assert!(matches!(error, CaptureError::Read { offset: 6, .. }), "{error}");
    }

    #[test]
    fn a_claimed_length_is_not_allocated_before_its_bytes_are_there() {
        let mut source = CaptureInput::open(&b"short"[..]).unwrap();
        let mut data = Vec::new();
        let error = source.read(CapturePart::Packet, &mut data, usize::MAX).unwrap_err();
        assert!(matches!(error, CaptureError::Truncated { offset: 0, found: 5, .. }), "{error}");
        assert!(data.capacity() < 1024);
    }

    #[test]
    fn skipping_counts_and_ends_with_an_error_at_the_end() {
        let mut source = CaptureInput::open(&[0; 10][..]).unwrap();
        source.skip(CapturePart::Block, 4).unwrap();
        assert_eq!(source.position(), 4);
        let error = source.skip(CapturePart::Block, u64::MAX).unwrap_err();
        assert!(matches!(error, CaptureError::Truncated { offset: 4, found: 6, .. }), "{error}");
    }
}
