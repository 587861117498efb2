//! The compressions of files.

use std::fmt;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// gzip (RFC 1952), `.gz`.
    Gzip,
    /// Zstandard (RFC 8878), `.zst`.
    Zstd,
}

impl Compression {
    /// Returns the compression that a suffix such as `gz` stands for.
    pub fn from_suffix(suffix: &str) -> Option<Self> {
        match suffix.to_ascii_lowercase().as_str() {
            "gz" => Some(Self::Gzip),
            "zst" | "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}
