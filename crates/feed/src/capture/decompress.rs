//! Decompression of .gz and .zst while reading, recognised by the first bytes.

use std::io::{self, Read};

#[cfg(feature = "compressed")]
use flate2::read::MultiGzDecoder;

use super::compression::Compression;
#[cfg(feature = "compressed")]
use super::zstd::ZstdFrames;

/// gzip with the method deflate, the only one defined.
const GZIP_MAGIC: [u8; 3] = [0x1F, 0x8B, 0x08];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// Bytes 1 to 3 of a zstd skippable frame; byte 0 is 50 to 5F.
const ZSTD_SKIPPABLE: [u8; 3] = [0x2A, 0x4D, 0x18];

/// The input, with the bytes that were read for recognition put back in front.
pub(super) struct Rewound<R> {
    magic: Vec<u8>,
    /// Bytes of `magic` that were read again.
    read: usize,
    input: R,
}

impl<R: Read> Read for Rewound<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let magic = self.magic.get(self.read..).unwrap_or_default();
        if magic.is_empty() {
            return self.input.read(buf);
        }
        let count = magic.len().min(buf.len());
        buf[..count].copy_from_slice(&magic[..count]);
        self.read += count;
        // One read returns these bytes together with the following ones. An error is due only when
        // bytes behind `magic` are requested.
        let rest = buf.get_mut(count..).filter(|rest| !rest.is_empty());
        Ok(count + rest.map_or(0, |rest| self.input.read(rest).unwrap_or(0)))
    }
}

/// Reads `input`, decompressed if its first bytes are those of gzip or zstd.
///
/// # Errors
/// Errors of `input`. Truncated or damaged compressed content is an error of the read that meets
/// it.
pub fn decompressed<R: Read>(input: R) -> io::Result<impl Read> {
    Decompressed::open(input)
}

/// The input, decompressed if it is compressed.
pub(super) enum Decompressed<R> {
    Plain(Rewound<R>),
    #[cfg(feature = "compressed")]
    Gzip(Box<MultiGzDecoder<Rewound<R>>>),
    #[cfg(feature = "compressed")]
    Zstd(Box<ZstdFrames<Rewound<R>>>),
}

impl<R: Read> Decompressed<R> {
    /// Reads the first bytes of `input` and chooses the decompression.
    pub(super) fn open(mut input: R) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(ZSTD_MAGIC.len());
        input.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut magic)?;
        let gzip = magic.starts_with(&GZIP_MAGIC);
        let zstd = magic == ZSTD_MAGIC
            || (magic.ends_with(&ZSTD_SKIPPABLE) && matches!(magic.first(), Some(0x50..=0x5F)));
        let rewound = Rewound { magic, read: 0, input };
        if gzip {
            Self::compressed(Compression::Gzip, rewound)
        } else if zstd {
            Self::compressed(Compression::Zstd, rewound)
        } else {
            Ok(Self::Plain(rewound))
        }
    }

    #[cfg(feature = "compressed")]
    fn compressed(compression: Compression, input: Rewound<R>) -> io::Result<Self> {
        Ok(match compression {
            Compression::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(input))),
            Compression::Zstd => Self::Zstd(Box::new(ZstdFrames::new(input))),
        })
    }

    #[cfg(not(feature = "compressed"))]
    fn compressed(compression: Compression, _: Rewound<R>) -> io::Result<Self> {
        let text = format!(
            "the input is compressed by {compression}, which this program cannot read: it was built \
             without the feature `compressed` of tickwire-feed"
        );
        Err(io::Error::new(io::ErrorKind::Unsupported, text))
    }
}

impl<R> Decompressed<R> {
    /// Returns the input unchanged, whatever its first bytes are.
    pub(super) const fn plain(input: R) -> Self {
        Self::Plain(Rewound { magic: Vec::new(), read: 0, input })
    }

    /// How the input is compressed.
    pub(super) const fn compression(&self) -> Option<Compression> {
        match self {
            Self::Plain(_) => None,
            #[cfg(feature = "compressed")]
            Self::Gzip(_) => Some(Compression::Gzip),
            #[cfg(feature = "compressed")]
            Self::Zstd(_) => Some(Compression::Zstd),
        }
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buf),
            #[cfg(feature = "compressed")]
            Self::Gzip(input) => input.read(buf),
            #[cfg(feature = "compressed")]
            Self::Zstd(input) => input.read(buf),
        }
    }
}

#[cfg(all(test, feature = "compressed"))]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn decompress(file: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Decompressed::open(file)?.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn plain_content_comes_back_whole_however_short() {
        for content in [&b""[..], b"a", b"abc", b"abcdefgh"] {
            assert_eq!(decompress(content).unwrap(), content);
        }
    }

    #[test]
    fn gzip_members_back_to_back_are_one_content() {
        let file = [gzip(b"first "), gzip(b"second")].concat();
        assert_eq!(decompress(&file).unwrap(), b"first second");
    }

    #[test]
    fn zstd_frames_and_skippable_frames_are_one_content() {
        let skippable = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let first = compress_to_vec(&b"first "[..], CompressionLevel::Fastest);
        let second = compress_to_vec(&[7; 300_000][..], CompressionLevel::Fastest);
        let file = [&skippable[..], &first, &skippable, &second].concat();
        let content = decompress(&file).unwrap();
        assert!(content.starts_with(b"first \x07"));
        assert_eq!(content.len(), 300_006);
    }

    #[test]
    fn compressed_content_cut_anywhere_is_an_error_or_shorter_never_a_panic() {
        let zstd = compress_to_vec(&b"some content"[..], CompressionLevel::Fastest);
        for file in [gzip(b"some content"), zstd] {
            for len in 4..file.len() {
                assert!(decompress(&file[..len]).is_err(), "{len} of {}", file.len());
            }
        }
    }
}

#[cfg(all(test, not(feature = "compressed")))]
mod tests_without_compression {
    use super::*;

    #[test]
    fn compressed_input_is_an_error_that_names_the_feature() {
        for magic in [&GZIP_MAGIC[..], &ZSTD_MAGIC] {
            let error = decompressed(magic).err().expect("an error");
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains("feature `compressed`"), "{error}");
        }
    }
}
