//! Shared test utilities: captures of real feeds, skips of tests that cannot run, conformance cases,
//! captures with length prefixes, hex, choices from a seed or a property test, template files
//! generated from such choices.
//!
//! A test that cannot run reports this through [`skip`] and returns. With `TICKWIRE_REQUIRE_ALL=1`
//! a skip fails the test instead; `TICKWIRE_REQUIRE=files,programs` requires only these kinds
//! ([`Need`]). `.ci/run` requires programs if the machine has all programs that the tests run, and
//! files if they are present.
//!
//! # Examples
//!
//! ```
//! use tickwire_testing::{hex, packets, shared};
//!
//! assert_eq!(packets(&hex("00000002 c081 00000001 80")), [&[0xc0, 0x81][..], &[0x80]]);
//!
//! if let Some(path) = shared("corpus/cme_2012") {
//!     println!("the capture is in {}", path.display());
//! }
//! ```

mod cases;
mod choices;
mod template_file;

pub use cases::{CaseBuffer, FastCase, cases, fast_cases, vectors};
pub use choices::Choices;
pub use template_file::template_file;

use std::io::Write;
use std::path::{Path, PathBuf};

/// The reason why a test is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Files that are not part of the project: captures, which `.ci/fetch-captures` fetches in part.
    Files,
    /// Third-party software or files that are rarely installed: Fast DDS, the Python package
    /// `cyclonedds`, FIX Orchestra.
    Peers,
    /// A common program: `valgrind`, `ip`, `python3`, `unshare`.
    Programs,
    /// A property of the machine or build: CPU features, privileges, the compiler's version.
    Machine,
}

impl Need {
    /// Returns the word for this kind in `TICKWIRE_REQUIRE`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Peers => "peers",
            Self::Programs => "programs",
            Self::Machine => "machine",
        }
    }

    fn is_required_by(self, all: Option<&str>, kinds: Option<&str>) -> bool {
        all.is_some_and(|all| !matches!(all, "" | "0"))
            || kinds.is_some_and(|kinds| kinds.split(',').any(|kind| kind.trim() == self.name()))
    }
}

/// Reports that a test is skipped, or fails the test if the missing part is required.
///
/// Writes the line directly to the process's standard error, because the test harness hides the
/// output of a test that passes.
///
/// # Panics
/// If `TICKWIRE_REQUIRE_ALL` is set (to anything but `0`), or `TICKWIRE_REQUIRE` lists the kind.
#[track_caller]
pub fn skip(need: Need, why: impl std::fmt::Display) {
    let variable = |name| std::env::var(name).ok();
    let (all, kinds) = (variable("TICKWIRE_REQUIRE_ALL"), variable("TICKWIRE_REQUIRE"));
    assert!(
        !need.is_required_by(all.as_deref(), kinds.as_deref()),
        "this test may not be skipped (TICKWIRE_REQUIRE_ALL or TICKWIRE_REQUIRE={} is set): {why}",
        need.name()
    );
    // A closed standard error must not fail the test.
    let _ = writeln!(std::io::stderr().lock(), "SKIPPED: {why}");
}

/// Returns the path of a file or folder that is not part of the project: `path` in `../shared`, or,
/// without its first part `corpus`, in the folder `captures`, which `.ci/fetch-captures` fills.
/// Skips and returns `None` if neither exists.
///
/// # Panics
/// As [`skip`].
#[track_caller]
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fetched =
        root.join("captures").join(Path::new(path).strip_prefix("corpus").unwrap_or(path.as_ref()));
    let found = [root.join("../shared").join(path), fetched].into_iter().find(|path| path.exists());
    if found.is_none() {
        skip(
            Need::Files,
            format_args!(
                "{path} is neither in ../shared nor in captures: .ci/fetch-captures fetches files \
                 that are public"
            ),
        );
    }
    found
}

/// Splits a file of packets, each with a length prefix of four bytes, highest first.
///
/// # Panics
/// If the file ends inside a packet.
pub fn packets(file: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    let mut rest = file;
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let (packet, tail) = tail.split_at(u32::from_be_bytes(*len) as usize);
        packets.push(packet);
        rest = tail;
    }
    assert!(rest.is_empty(), "{} bytes are left behind the last packet", rest.len());
    packets
}

/// Parses hex digits; ignores white space.
///
/// # Panics
/// If there is another character, or an odd number of digits.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "half a byte in \"{text}\"");
    let nibble = |digit: u8| char::from(digit).to_digit(16).expect("a hex digit") as u8;
    digits.chunks(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])).collect()
}

/// Prints bytes as lower-case hex digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_required_one_by_one_or_all_together() {
        assert!(!Need::Files.is_required_by(None, None));
        assert!(!Need::Files.is_required_by(Some("0"), Some("programs,machine")));
        assert!(!Need::Files.is_required_by(Some(""), Some("")));
        assert!(Need::Files.is_required_by(Some("1"), None));
        assert!(Need::Files.is_required_by(None, Some("programs, files")));
        assert!(!Need::Machine.is_required_by(None, Some("programs, files")));
    }

    #[test]
    fn packets_and_hex() {
        assert_eq!(packets(&hex("00000002 0a0B 00000000")), [&[10, 11][..], &[]]);
        assert_eq!(to_hex(&hex("0a0B")), "0a0b");
    }

    #[test]
    fn a_cut_capture_is_no_material() {
        assert!(std::panic::catch_unwind(|| packets(&[0, 0, 1]).len()).is_err());
    }
}
