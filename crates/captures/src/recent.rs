//! A map of bounded size that drops the entry that was unused longest.

use std::collections::BTreeMap;

/// Values by key, at most a fixed number of them.
#[derive(Debug)]
pub struct RecentValues<K, V> {
    entries: BTreeMap<K, RecentEntry<V>>,
    entries_max: usize,
    uses: u64,
}

#[derive(Debug)]
struct RecentEntry<V> {
    last_use: u64,
    value: V,
}

impl<K: Ord + Clone, V> RecentValues<K, V> {
    /// Creates an empty map for up to `entries_max` values.
    pub fn new(entries_max: usize) -> Self {
        Self { entries: BTreeMap::new(), entries_max, uses: 0 }
    }

    /// Returns the value of `key` and marks it as used. If there is none, `begin` creates it; if
    /// the map is full, `begin` receives the entry that is dropped for it.
    pub fn find_or_begin(&mut self, key: K, begin: impl FnOnce(Option<(K, V)>) -> V) -> &mut V {
        self.uses += 1;
        let is_held = self.entries.contains_key(&key);
        let let_go = if is_held { None } else { self.make_room() };
        let begin = || RecentEntry { last_use: 0, value: begin(let_go) };
        let entry = self.entries.entry(key).or_insert_with(begin);
        entry.last_use = self.uses;
        &mut entry.value
    }

    fn make_room(&mut self) -> Option<(K, V)> {
        if self.entries.len() < self.entries_max {
            return None;
        }
        let (key, _) = self.entries.iter().min_by_key(|(_, entry)| entry.last_use)?;
        let (key, entry) = self.entries.remove_entry(&key.clone())?;
        Some((key, entry.value))
    }

    /// Returns the values, by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|entry| &entry.value)
    }

    /// Returns the entries, by key, without marking them as used.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, entry)| (key, &mut entry.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_is_let_go() {
        let mut recent = RecentValues::new(2);
        recent.find_or_begin('a', |_| 1);
        recent.find_or_begin('b', |_| 2);
        assert_eq!(*recent.find_or_begin('a', |_| 9), 1);
        let mut let_go = None;
        recent.find_or_begin('c', |old| {
            let_go = old;
            3
        });
        assert_eq!(let_go, Some(('b', 2)));
        assert_eq!(recent.values().copied().collect::<Vec<_>>(), [1, 3]);
    }
}
