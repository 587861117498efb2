//! Splits the entries of a message by security.

use std::collections::HashMap;

/// Maximum number of securities in one message up to which a linear search is used.
const WALKED_MAX: usize = 16;

/// Assigns the entries of a message to samples, one sample per security.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    groups: Vec<SecurityEntries>,
    /// Index of each entry's group.
    of_entry: Vec<usize>,
    /// Index of each security's group; used only for messages with many securities.
    by_security: HashMap<u32, usize>,
}

/// The entries of one security in one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SecurityEntries {
    /// Security.
    pub(super) security: u32,
    /// Number of its entries.
    pub(super) entries: usize,
}

impl Grouping {
    /// Clears the data of the previous message.
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.of_entry.clear();
        self.by_security.clear();
    }

    /// Adds the next entry.
    #[inline]
    pub(super) fn push(&mut self, security: u32) {
        let index = match self.groups.last() {
            Some(last) if last.security == security => self.groups.len() - 1,
            _ => self.find_or_begin(security),
        };
        self.groups[index].entries += 1;
        self.of_entry.push(index);
    }

    fn find_or_begin(&mut self, security: u32) -> usize {
        let count = self.groups.len();
        if count <= WALKED_MAX {
            if let Some(index) = self.groups.iter().position(|group| group.security == security) {
                return index;
            }
        } else if let Some(&index) = self.by_security.get(&security) {
            return index;
        }
        self.groups.push(SecurityEntries { security, entries: 0 });
        if count == WALKED_MAX {
            let all = self.groups.iter().enumerate().map(|(index, group)| (group.security, index));
            self.by_security.extend(all);
        } else if count > WALKED_MAX {
            self.by_security.insert(security, count);
        }
        count
    }

    /// Returns the groups, in the order in which their securities first appear.
    pub(super) fn groups(&self) -> &[SecurityEntries] {
        &self.groups
    }

    /// Returns the index of each entry's group.
    pub(super) fn of_entry(&self) -> &[usize] {
        &self.of_entry
    }
}

/// A sample that holds the entries of one security.
pub(super) trait Grouped: Default {
    type Entry: Default;
    fn entries_mut(&mut self) -> &mut Vec<Self::Entry>;
}

/// Samples that are reused for every message. If the next sample has fewer entries, the others are kept, so that their
/// strings are not allocated again.
#[derive(Debug)]
pub(super) struct Reused<S: Grouped> {
    samples: Vec<S>,
    spare: Vec<S::Entry>,
    /// Number of entries filled so far, by sample.
    filled: Vec<usize>,
}

impl<S: Grouped> Default for Reused<S> {
    fn default() -> Self {
        Self { samples: Vec::new(), spare: Vec::new(), filled: Vec::new() }
    }
}

impl<S: Grouped> Reused<S> {
    /// Prepares as many samples as there are groups, each with the entries of its group.
    pub(super) fn resize(&mut self, groups: &[SecurityEntries]) -> &mut [S] {
        if self.samples.len() < groups.len() {
            self.samples.resize_with(groups.len(), S::default);
        }
        self.filled.clear();
        self.filled.resize(groups.len(), 0);
        for (sample, group) in self.samples.iter_mut().zip(groups) {
            let entries = sample.entries_mut();
            while entries.len() > group.entries {
                self.spare.extend(entries.pop());
            }
            while entries.len() < group.entries {
                entries.push(self.spare.pop().unwrap_or_default());
            }
        }
        &mut self.samples[..groups.len()]
    }

    /// Returns the next entry of a sample that is to be filled.
    ///
    /// # Panics
    /// If `sample` was not prepared by [`resize`](Self::resize), or has no entry left.
    #[inline]
    pub(super) fn next_entry(&mut self, sample: usize) -> &mut S::Entry {
        let index = self.filled[sample];
        self.filled[sample] += 1;
        &mut self.samples[sample].entries_mut()[index]
    }

    /// Returns the first `count` samples.
    pub(super) fn first(&self, count: usize) -> &[S] {
        &self.samples[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(securities: &[u32]) -> Grouping {
        let mut grouping = Grouping::default();
        securities.iter().for_each(|&security| grouping.push(security));
        grouping
    }

    #[test]
    fn entries_of_a_security_come_together_in_the_order_of_first_mention() {
        let grouping = grouped(&[7, 7, 3, 7, 3, 9]);
        let groups: Vec<_> = grouping.groups().iter().map(|g| (g.security, g.entries)).collect();
        assert_eq!(groups, [(7, 3), (3, 2), (9, 1)]);
        assert_eq!(grouping.of_entry(), [0, 0, 1, 0, 1, 2]);
    }

    #[test]
    fn many_securities_are_grouped_as_few_are() {
        let securities: Vec<u32> = (0..1000).map(|n| n * 37 % 101).collect();
        let grouping = grouped(&securities);
        assert_eq!(grouping.groups().len(), 101);
        for (security, &group) in securities.iter().zip(grouping.of_entry()) {
            assert_eq!(grouping.groups()[group].security, *security);
        }
        let entries: usize = grouping.groups().iter().map(|group| group.entries).sum();
        assert_eq!(entries, securities.len());
    }
}
