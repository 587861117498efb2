//! Formats of capture files, and how one is guessed.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use super::suffix::Suffixes;
use super::{pcap, pcapng};
use crate::endian::{Endian, array_at};

/// Most bytes of a file that a guess examines.
pub const GUESS_BYTES: usize = 64 << 10;

/// Longest packet that a guess accepts: no datagram is longer.
const PLAUSIBLE_PACKET_BYTES_MAX: usize = 65_535;

/// Complete packets after which a chain of lengths is trusted even if the file ends inside a
/// packet.
const PLAUSIBLE_PACKETS_MIN: usize = 2;

/// Complete packets after which a chain of lengths is trusted even if the next length is wrong, as in
/// a damaged file.
const PACKETS_BEFORE_DAMAGE_MIN: usize = 3;

/// How a capture file is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaptureFormat {
    /// pcap or pcapng; the first bytes tell which.
    Pcap,
    /// The content is one stream of bytes.
    Raw,
    /// Packets, each behind its length as a big-endian 32-bit number.
    U32Be,
    /// Packets, each behind its length as a little-endian 32-bit number.
    U32Le,
}

impl CaptureFormat {
    /// All formats, in the order to list them.
    pub const ALL: [Self; 4] = [Self::Pcap, Self::U32Be, Self::U32Le, Self::Raw];

    /// Returns the name that [`FromStr`] takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::Raw => "raw",
            Self::U32Be => "u32be",
            Self::U32Le => "u32le",
        }
    }
}

impl fmt::Display for CaptureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no [`CaptureFormat`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFormat;

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown capture format: give u32be, u32le, raw or pcap")
    }
}

impl Error for UnknownFormat {}

impl FromStr for CaptureFormat {
    type Err = UnknownFormat;

    /// Parses the name of a format; `pcapng` means [`CaptureFormat::Pcap`].
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        if name.eq_ignore_ascii_case("pcapng") {
            return Ok(Self::Pcap);
        }
        Self::ALL
            .into_iter()
            .find(|format| format.name().eq_ignore_ascii_case(name))
            .ok_or(UnknownFormat)
    }
}

/// The formats that the first bytes of a file fit, when several or none fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmbiguousFormat {
    /// True if the bytes fit [`CaptureFormat::U32Be`].
    pub u32be: bool,
    /// True if the bytes fit [`CaptureFormat::U32Le`].
    pub u32le: bool,
}

impl fmt::Display for AmbiguousFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let candidates = match (self.u32be, self.u32le) {
            (true, true) => "u32be, u32le or raw",
            (true, false) => "u32be or raw",
            _ => "u32le or raw",
        };
        write!(f, "the format of the capture may be {candidates}: name it")
    }
}

impl Error for AmbiguousFormat {}

/// How well the bytes fit a chain of lengths and packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChainFit {
    /// Several packets, or one that ends exactly where the file ends.
    Fits,
    /// Some packets, but too few to be sure.
    MayFit,
    /// Several packets, then a length that no packet has.
    Damaged,
    Broken,
}

/// Guesses the format from the first bytes of a file and its name.
///
/// `first` are the first bytes, up to [`GUESS_BYTES`] of them; `whole` is true if they are the
/// whole content. The name is used only if the bytes are ambiguous.
///
/// # Errors
/// [`AmbiguousFormat`] if the bytes fit several formats, or none well enough, and the name does not
/// help.
pub fn guess_format(
    first: &[u8],
    whole: bool,
    file_name: Option<&str>,
) -> Result<CaptureFormat, AmbiguousFormat> {
    if pcap::is_pcap(first) || pcapng::is_pcapng(first) {
        return Ok(CaptureFormat::Pcap);
    }
    let big = chain(first, whole, Endian::Big);
    let little = chain(first, whole, Endian::Little);
    match (big, little) {
        (ChainFit::Broken, ChainFit::Broken) => Ok(CaptureFormat::Raw),
        (ChainFit::Damaged, ChainFit::Broken) => Ok(CaptureFormat::U32Be),
        (ChainFit::Broken, ChainFit::Damaged) => Ok(CaptureFormat::U32Le),
        (ChainFit::Fits, ChainFit::Broken | ChainFit::MayFit) => Ok(CaptureFormat::U32Be),
        (ChainFit::Broken | ChainFit::MayFit, ChainFit::Fits) => Ok(CaptureFormat::U32Le),
        _ => {
            let ambiguous = AmbiguousFormat {
                u32be: big != ChainFit::Broken,
                u32le: little != ChainFit::Broken,
            };
            let suffixes = file_name.map(Suffixes::of).unwrap_or_default();
            suffixes.choose(ambiguous.u32be, ambiguous.u32le).ok_or(ambiguous)
        }
    }
}

fn chain(first: &[u8], whole: bool, endian: Endian) -> ChainFit {
    let mut offset = 0;
    let mut packets = 0;
    while let Some(len) = array_at(first, offset).map(|bytes| endian.u32(bytes) as usize) {
        if len == 0 || len > PLAUSIBLE_PACKET_BYTES_MAX {
            return match packets >= PACKETS_BEFORE_DAMAGE_MIN {
                true => ChainFit::Damaged,
                false => ChainFit::Broken,
            };
        }
        let end = offset + size_of::<u32>() + len;
        if end > first.len() {
            break;
        }
        packets += 1;
        offset = end;
    }
    let exact = whole && packets > 0 && offset == first.len();
    if exact || packets >= PLAUSIBLE_PACKETS_MIN {
        ChainFit::Fits
    } else if first.len() < size_of::<u32>() {
        ChainFit::Broken
    } else {
        ChainFit::MayFit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixed(endian: Endian, packets: &[&[u8]]) -> Vec<u8> {
        packets
            .iter()
            .flat_map(|packet| [&endian.u32_bytes(packet.len() as u32), *packet].concat())
            .collect()
    }

    #[test]
    fn chains_of_lengths_tell_the_byte_order() {
        let packets = [&b"abc"[..], b"defgh"];
        assert_eq!(
            guess_format(&prefixed(Endian::Big, &packets), true, None),
            Ok(CaptureFormat::U32Be)
        );
        assert_eq!(
            guess_format(&prefixed(Endian::Little, &packets), true, None),
            Ok(CaptureFormat::U32Le)
        );
        assert_eq!(
            guess_format(&prefixed(Endian::Big, &[b"x"]), true, None),
            Ok(CaptureFormat::U32Be)
        );
    }

    #[test]
    fn a_chain_may_run_over_the_end_of_what_was_looked_at() {
        let packet = vec![1; 3000];
        let file = prefixed(Endian::Big, &[packet.as_slice(); 30]);
        assert_eq!(guess_format(&file[..GUESS_BYTES], false, None), Ok(CaptureFormat::U32Be));
    }

    #[test]
    fn a_file_cut_in_its_third_packet_is_still_recognised() {
        let file = prefixed(Endian::Little, &[b"ab", b"cd", b"ef"]);
        assert_eq!(guess_format(&file[..file.len() - 1], true, None), Ok(CaptureFormat::U32Le));
    }

    #[test]
    fn a_wrong_length_after_good_ones_is_damage() {
        for (endian, format) in
            [(Endian::Big, CaptureFormat::U32Be), (Endian::Little, CaptureFormat::U32Le)]
        {
            let good = prefixed(endian, &[b"abc", b"defgh", b"ij"]);
            let damaged = [&good[..], &[0x81, 0, 0, 0x81, 1, 2, 3]].concat();
            assert_eq!(guess_format(&damaged, true, None), Ok(format));
            // Fewer packets are too few to be sure.
            let damaged = [&prefixed(endian, &[b"abc"])[..], &[0x81, 0, 0, 0x81]].concat();
            assert_eq!(guess_format(&damaged, true, None), Ok(CaptureFormat::Raw));
        }
    }

    #[test]
    fn fast_bytes_are_raw() {
        assert_eq!(
            guess_format(&[0xC0, 0x81, 0x82, 0x83, 0x84], true, None),
            Ok(CaptureFormat::Raw)
        );
        assert_eq!(guess_format(&[], true, None), Ok(CaptureFormat::Raw));
        assert_eq!(guess_format(&[0x80], true, None), Ok(CaptureFormat::Raw));
    }

    #[test]
    fn one_packet_that_does_not_end_with_the_file_is_ambiguous_unless_the_name_helps() {
        let file = [0, 0, 0, 9, 1, 2, 3];
        let ambiguous = AmbiguousFormat { u32be: true, u32le: false };
        assert_eq!(guess_format(&file, true, None), Err(ambiguous));
        assert_eq!(guess_format(&file, true, Some("feed.dat")), Err(ambiguous));
        assert_eq!(guess_format(&file, true, Some("feed.bin")), Ok(CaptureFormat::U32Be));
        assert_eq!(guess_format(&file, true, Some("x.y/feed.raw.zst")), Ok(CaptureFormat::Raw));
        assert_eq!(guess_format(&file, true, Some("feed.u32be")), Ok(CaptureFormat::U32Be));
    }

    #[test]
    fn capture_magics_are_recognised() {
        assert_eq!(guess_format(&[0xD4, 0xC3, 0xB2, 0xA1], true, None), Ok(CaptureFormat::Pcap));
        assert_eq!(guess_format(&[0xA1, 0xB2, 0x3C, 0x4D], true, None), Ok(CaptureFormat::Pcap));
        let section = [0x0A, 0x0D, 0x0D, 0x0A, 28, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A];
        assert_eq!(guess_format(&section, true, None), Ok(CaptureFormat::Pcap));
    }

    #[test]
    fn format_names_parse_back() {
        for format in CaptureFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert_eq!("PCAPNG".parse(), Ok(CaptureFormat::Pcap));
        assert_eq!("tar".parse::<CaptureFormat>(), Err(UnknownFormat));
    }
}
