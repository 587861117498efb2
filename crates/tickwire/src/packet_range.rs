//! Ranges of packets on the command line.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Packets by their index in the file, from 0: `100..200` without 200, `100..=200` with it, `100..`, `..200`, or
/// `100` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketRange {
    range: Range<u64>,
}

impl PacketRange {
    /// All packets.
    pub const ALL: Self = Self { range: 0..u64::MAX };

    /// One packet.
    pub const fn one(index: u64) -> Self {
        Self { range: index..index.saturating_add(1) }
    }

    /// The first index.
    pub const fn start(&self) -> u64 {
        self.range.start
    }

    /// True if the range has this packet.
    pub fn contains(&self, index: u64) -> bool {
        self.range.contains(&index)
    }

    /// True if all packets of the range are before this one.
    pub const fn is_before(&self, index: u64) -> bool {
        index >= self.range.end
    }
}

impl FromStr for PacketRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected packet indexes such as 100..200, 100.. or 100".to_owned();
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        let after = |text: &str| number(text)?.checked_add(1).ok_or_else(wrong);
        let range = match text.split_once("..") {
            None => number(text)?..after(text)?,
            Some((first, last)) => {
                let start = if first.is_empty() { 0 } else { number(first)? };
                let end = match last.strip_prefix('=') {
                    Some(last) => after(last)?,
                    None if last.is_empty() => u64::MAX,
                    None => number(last)?,
                };
                start..end
            }
        };
        match range.is_empty() {
            true => Err(format!(
                "{text} has no packets: the end is excluded, {text} with ..= includes it"
            )),
            false => Ok(Self { range }),
        }
    }
}

impl fmt::Display for PacketRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.range;
        match end {
            u64::MAX => write!(f, "{start}.."),
            end if end == start + 1 => write!(f, "{start}"),
            end => write!(f, "{start}..{end}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_empty_ones_refused() {
        for (text, expected) in [
            ("100..200", "100..200"),
            ("100..=200", "100..201"),
            ("100..", "100.."),
            ("..5", "0..5"),
            ("..", "0.."),
            ("7", "7"),
        ] {
            let range: PacketRange = text.parse().expect(text);
            assert_eq!(range.to_string(), expected, "{text}");
        }
        for text in ["", "a..b", "5..5", "5..4", "-1..3", "1...3", "18446744073709551615"] {
            text.parse::<PacketRange>().expect_err(text);
        }
        let range: PacketRange = "3..5".parse().expect("a range");
        let has = [2, 3, 4, 5].map(|index| range.contains(index));
        assert_eq!(has, [false, true, true, false]);
        assert_eq!((range.is_before(4), range.is_before(5)), (false, true));
    }
}
