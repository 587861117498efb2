//! Day and time packed into one word, in the layout that parsing produces and printing needs.

use super::{LocalMktDate, UtcTime};

/// One byte each, from the lowest: hour, century, year of the century, minute, spare, month,
/// second, day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedTimestamp(pub(crate) u64);

impl PackedTimestamp {
    /// Bit offset of the second.
    pub(super) const SECOND: u32 = 48;
    /// Bit offset of the spare byte, which callers may use.
    pub(crate) const SPARE: u32 = 32;
    /// Mask of the parts of a time.
    const TIME: u64 = 0x003F_0000_3F00_003F;

    /// Returns a day.
    #[inline(always)]
    pub(crate) const fn of_date(LocalMktDate { year, month, day }: LocalMktDate) -> Self {
        let century = (year / 100) as u8;
        Self(u64::from_le_bytes([0, century, (year % 100) as u8, 0, 0, month, 0, day]))
    }

    /// Returns a time of day without its fraction.
    #[inline(always)]
    pub(crate) const fn of_time(UtcTime { hour, minute, second, .. }: UtcTime) -> Self {
        Self(u64::from_le_bytes([hour, 0, 0, minute, 0, 0, second, 0]))
    }

    /// Combines a day and a time.
    #[inline(always)]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the day.
    #[inline(always)]
    pub(crate) const fn date(self) -> LocalMktDate {
        let [_, century, year, _, _, month, _, day] = self.0.to_le_bytes();
        LocalMktDate { year: century as u16 * 100 + year as u16, month, day }
    }

    /// Returns the time of day with a fraction.
    #[inline(always)]
    pub(crate) const fn time(self, picos: u64) -> UtcTime {
        let [hour, _, _, minute, _, _, second, _] = self.0.to_le_bytes();
        UtcTime { hour, minute, second, picos }
    }

    /// Creates the day from the pairs of digits of `YYYYMMDD`, each in the lower byte of two.
    #[inline(always)]
    pub(super) const fn of_pairs(date: u64) -> Self {
        Self(date << 8 & 0xFF00_FF00_0000_FF00 | date & 0x00FF_0000)
    }

    /// Returns the pairs of digits of `YYYYMMDD`, each in the lower byte of two.
    #[inline(always)]
    pub(crate) const fn date_pairs(self) -> u64 {
        self.0 >> 8 & 0x003F_003F_0000_007F | self.0 & 0x007F_0000
    }

    /// Returns the pairs of digits of `HH:MM:SS`, each in the lowest byte of three.
    #[inline(always)]
    pub(crate) const fn time_pairs(self) -> u64 {
        self.0 & Self::TIME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_comes_apart() {
        for (year, month, day) in [(0, 1, 1), (1999, 12, 31), (2024, 2, 29), (9999, 10, 9)] {
            let date = LocalMktDate::new(year, month, day).expect("exists");
            for (hour, minute, second) in [(0, 0, 0), (23, 59, 60), (11, 20, 43)] {
                let time = UtcTime::new(hour, minute, second, 7).expect("exists");
                let moment = PackedTimestamp::of_date(date).and(PackedTimestamp::of_time(time));
                assert_eq!((moment.date(), moment.time(7)), (date, time));
                let parts = [year / 100, year % 100, month.into(), day.into()];
                let pairs =
                    parts.map(u64::from).into_iter().rev().fold(0, |all, part| all << 16 | part);
                assert_eq!(moment.date_pairs(), pairs);
                assert_eq!(PackedTimestamp::of_pairs(pairs), PackedTimestamp::of_date(date));
                let parts = [hour, minute, second].map(u64::from);
                let pairs = parts.into_iter().rev().fold(0, |all, part| all << 24 | part);
                assert_eq!(moment.time_pairs(), pairs);
            }
        }
    }
}
