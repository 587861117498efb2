//! Parsing of timestamps, faster if they are in the same minute as the previous one.

use super::LocalMktDate;
use super::moment::PackedTimestamp;
use super::time::{parse_fraction, timestamp_words};

/// The minute of the last timestamp: for another one in the same minute, only the second and the
/// fraction are parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Minute {
    /// `YYYYMMDD`, the first byte in the lowest.
    day: u64,
    /// `-HH:MM:` in the upper seven bytes.
    time: u64,
    /// The result of [`timestamp_words`] for the minute's first second.
    word: u64,
}

impl Default for Minute {
    /// Returns the first minute of the Unix epoch.
    fn default() -> Self {
        let [day, time] = [*b"19700101", *b"\0-00:00:"].map(u64::from_le_bytes);
        Self { day, time, word: PackedTimestamp::of_date(LocalMktDate::EPOCH).0 }
    }
}

/// Returns day and time of a timestamp; the last byte of the time is the tens digit of the second.
#[inline(always)]
fn words(whole: &[u8; 17]) -> [u64; 2] {
    let (words, _) = whole.as_chunks::<8>();
    [words[0], words[1]].map(u64::from_le_bytes)
}

impl Minute {
    /// Parses a UTCTimestamp with the result of [`timestamp_words`].
    #[inline(always)]
    pub(crate) fn read(&mut self, text: &[u8]) -> Option<(u64, u64)> {
        let (whole, fraction) = text.split_first_chunk::<17>()?;
        let (mut word, other) = self.second(whole);
        if other != 0 {
            self.go_to(whole)?;
            (word, _) = self.second(whole);
        }
        // Keeps the fraction in a register: a result in memory would be read in other units than it
        // was written, which defeats store forwarding.
        let picos = if fraction.is_empty() { 0 } else { parse_fraction(fraction)? };
        Some((word, picos))
    }

    /// Parses a UTCTimestamp without a fraction to the word of [`timestamp_words`]. The second
    /// number is 0 if the timestamp is valid and in this minute.
    #[inline(always)]
    pub(crate) fn second(&self, whole: &[u8; 17]) -> (u64, u64) {
        let [day, time] = words(whole);
        let other = (day ^ self.day) | (time << 8 ^ self.time);
        // A non-digit becomes a number above 9.
        let [tens, ones] = [whole[15], whole[16]].map(|byte| u64::from(byte.wrapping_sub(b'0')));
        let second = tens * 10 + ones;
        // Each difference is negative, with high bits set, if its digits are invalid or too large.
        let above = 9_u64.wrapping_sub(ones) | 60_u64.wrapping_sub(second);
        (self.word | second << PackedTimestamp::SECOND, other | above >> 8)
    }

    /// Switches to the minute of a timestamp; `None` if it is invalid.
    #[cold]
    #[inline(never)]
    fn go_to(&mut self, whole: &[u8; 17]) -> Option<()> {
        let (word, _) = timestamp_words(whole)?;
        let [day, time] = words(whole);
        *self = Self { day, time: time << 8, word: word & !(0xFF << PackedTimestamp::SECOND) };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(minute: &mut Minute, text: &[u8]) {
        assert_eq!(minute.read(text), timestamp_words(text), "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn the_first_minute_is_as_any_other() {
        let mut minute = Minute::default();
        agree(&mut minute, b"19700101-00:00:59");
        assert_eq!(Minute::default().day, minute.day);
        agree(&mut minute, &[0; 17]);
        agree(&mut minute, b"19700101-00:00:00.5");
    }

    #[test]
    fn what_is_remembered_changes_no_value() {
        let good = b"20240229-23:59:58.123456789012";
        for len in [17, 18, 19, 21, 24, 27, 30] {
            let good = &good[..len];
            for at in 0..len {
                for byte in [0, b'.', b'/', b'0', b'1', b'5', b'6', b'9', b':', b'-', 0x80, 0xFF] {
                    let (mut minute, mut other) = (Minute::default(), good.to_vec());
                    other[at] = byte;
                    agree(&mut minute, good);
                    agree(&mut minute, &other);
                    agree(&mut minute, &other);
                    agree(&mut minute, good);
                }
                agree(&mut Minute::default(), &good[..at]);
            }
        }
    }

    #[test]
    fn a_moment_in_the_minute_before_it_is_read_at_once() {
        let mut minute = Minute::default();
        agree(&mut minute, b"20240229-12:34:56");
        for (text, is_near) in [
            (b"20240229-12:34:00", true),
            (b"20240229-12:34:60", true),
            (b"20240229-12:35:00", false),
            (b"20240301-12:34:00", false),
            (b"20240229-12:34:61", false),
        ] {
            assert_eq!(minute.second(text).1 == 0, is_near, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn minutes_and_days_go_on() {
        let mut minute = Minute::default();
        for text in [
            "20241231-23:59:59",
            "20241231-23:59:60",
            "20241231-23:59:60.999",
            "20241231-23:59:61",
            "20241231-23:59:6",
            "20250101-00:00:00",
            "20250101-00:00:00.000001",
            "20250101-00:01:00",
            "20250229-00:01:00",
            "20250101-00:01:07",
            "20250101-00:01:070",
            "20250101-00:01:07.",
        ] {
            agree(&mut minute, text.as_bytes());
        }
    }
}
