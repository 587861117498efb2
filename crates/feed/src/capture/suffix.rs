//! Suffixes of file names, and the format and compression that they stand for.

use std::fmt;

use super::compression::Compression;
use super::format::CaptureFormat;

/// The layout that a suffix stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamedLayout {
    /// One format.
    Format(CaptureFormat),
    /// `.bin`: length-prefixed packets, in either byte order.
    Prefixed,
}

impl NamedLayout {
    fn from_suffix(suffix: &str) -> Option<Self> {
        match suffix.to_ascii_lowercase().as_str() {
            "bin" => Some(Self::Prefixed),
            "cap" | "ntar" => Some(Self::Format(CaptureFormat::Pcap)),
            "fast" => Some(Self::Format(CaptureFormat::Raw)),
            name => name.parse().ok().map(Self::Format),
        }
    }

    fn contains(self, format: CaptureFormat) -> bool {
        match self {
            Self::Format(named) => named == format,
            Self::Prefixed => matches!(format, CaptureFormat::U32Be | CaptureFormat::U32Le),
        }
    }
}

/// The suffixes of a file name that describe its content, such as `.pcap.gz`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suffixes {
    layout: Option<NamedLayout>,
    compression: Option<Compression>,
}

/// The name and the content of a file disagree. The content is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disagreement {
    suffixes: Suffixes,
    format: Option<CaptureFormat>,
    compression: Option<Option<Compression>>,
}

impl Suffixes {
    /// Finds the suffixes of a file name.
    pub fn of(file_name: &str) -> Self {
        let base = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
        let suffixes = || base.split('.').skip(1);
        Self {
            layout: suffixes().find_map(NamedLayout::from_suffix),
            compression: suffixes().last().and_then(Compression::from_suffix),
        }
    }

    /// Returns the format that a suffix stands for; big-endian lengths for `.bin`.
    pub const fn format(self) -> Option<CaptureFormat> {
        match self.layout {
            Some(NamedLayout::Format(format)) => Some(format),
            Some(NamedLayout::Prefixed) => Some(CaptureFormat::U32Be),
            None => None,
        }
    }

    /// Returns the compression that the last suffix stands for.
    pub const fn compression(self) -> Option<Compression> {
        self.compression
    }

    /// True if a suffix determines the packet layout, as those of captures do.
    pub const fn is_of_capture(self) -> bool {
        self.layout.is_some()
    }

    /// Chooses between formats that the content fits equally well; `None` if the name does not
    /// help.
    pub(super) fn choose(self, u32be: bool, u32le: bool) -> Option<CaptureFormat> {
        match self.layout? {
            NamedLayout::Format(format) => Some(format),
            NamedLayout::Prefixed if u32be && !u32le => Some(CaptureFormat::U32Be),
            NamedLayout::Prefixed if u32le && !u32be => Some(CaptureFormat::U32Le),
            NamedLayout::Prefixed => None,
        }
    }

    /// Compares the suffixes with the actual content.
    pub fn disagreement(
        self,
        format: CaptureFormat,
        compression: Option<Compression>,
    ) -> Option<Disagreement> {
        let is_other = self.layout.is_some_and(|named| !named.contains(format));
        let is_compressed_otherwise =
            self.compression.is_some_and(|named| Some(named) != compression);
        (is_other || is_compressed_otherwise).then_some(Disagreement {
            suffixes: self,
            format: is_other.then_some(format),
            compression: is_compressed_otherwise.then_some(compression),
        })
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(named), Some(found)) = (self.suffixes.compression, self.compression) {
            match found {
                Some(found) => write!(f, "its name says {named}, its first bytes say {found}")?,
                None => write!(f, "its name says {named}, but it is not compressed")?,
            }
            if self.format.is_some() {
                f.write_str("; ")?;
            }
        }
        match (self.suffixes.layout, self.format) {
            (Some(NamedLayout::Format(named)), Some(found)) => {
                write!(f, "its name says {named}, its content is read as {found}")
            }
            (Some(NamedLayout::Prefixed), Some(CaptureFormat::Raw)) => f.write_str(
                "its name says length-prefixed packets, but the first lengths of 4 bytes do not fit; its \
                 content is read as raw",
            ),
            (Some(NamedLayout::Prefixed), Some(found)) => {
                write!(f, "its name says length-prefixed packets, its content is read as {found}")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, format: CaptureFormat, compression: Option<Compression>) -> String {
        let disagreement = Suffixes::of(name).disagreement(format, compression);
        disagreement.map_or_else(String::new, |disagreement| disagreement.to_string())
    }

    #[test]
    fn names_that_agree_or_say_nothing_are_not_told() {
        let gzip = Some(Compression::Gzip);
        for (name, format, compression) in [
            ("x.pcap", CaptureFormat::Pcap, None),
            ("a.b/x.pcapng.gz", CaptureFormat::Pcap, gzip),
            ("x.bin", CaptureFormat::U32Le, None),
            ("x.fast", CaptureFormat::Raw, None),
            ("x.raw.zst", CaptureFormat::Raw, Some(Compression::Zstd)),
            ("x.dat", CaptureFormat::Pcap, gzip),
            ("pcap", CaptureFormat::Raw, None),
        ] {
            assert_eq!(told(name, format, compression), "", "{name}");
        }
    }

    #[test]
    fn names_that_disagree_are_told() {
        for (name, format, compression, expected) in [
            ("x.pcap", CaptureFormat::Raw, None, "its name says pcap, its content is read as raw"),
            (
                "x.bin",
                CaptureFormat::Pcap,
                None,
                "its name says length-prefixed packets, its content is read as pcap",
            ),
            (
                "x.bin",
                CaptureFormat::Raw,
                None,
                "its name says length-prefixed packets, but the first lengths of 4 bytes do not fit; its \
                 content is read as raw",
            ),
            ("x.dat.gz", CaptureFormat::Raw, None, "its name says gzip, but it is not compressed"),
            (
                "x.fast.zst",
                CaptureFormat::U32Be,
                Some(Compression::Gzip),
                "its name says zstd, its first bytes say gzip; its name says raw, its content is \
                 read as u32be",
            ),
        ] {
            assert_eq!(told(name, format, compression), expected);
        }
    }
}
