//! Pairs the items of two lists, and finds the items that moved.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

/// The pairs of items, by index.
pub(super) struct Pairs {
    pub(super) new_of_old: Vec<Option<usize>>,
    pub(super) old_of_new: Vec<Option<usize>>,
}

/// Pairs items with equal keys, in rounds: `key` returns the key of an item for a round, if it has
/// one. Items with the same key are paired in order.
pub(super) fn align<'a, T, K: Eq + Hash>(
    old: &'a [T],
    new: &'a [T],
    rounds: usize,
    key: impl Fn(&'a T, usize) -> Option<K>,
) -> Pairs {
    let mut pairs = Pairs { new_of_old: vec![None; old.len()], old_of_new: vec![None; new.len()] };
    for round in 0..rounds {
        let mut waiting: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (index, item) in new.iter().enumerate() {
            if pairs.old_of_new[index].is_none()
                && let Some(key) = key(item, round)
            {
                waiting.entry(key).or_default().push_back(index);
            }
        }
        for (index, item) in old.iter().enumerate() {
            if pairs.new_of_old[index].is_some() {
                continue;
            }
            let found = key(item, round).and_then(|key| waiting.get_mut(&key)?.pop_front());
            if let Some(other) = found {
                pairs.new_of_old[index] = Some(other);
                pairs.old_of_new[other] = Some(index);
            }
        }
    }
    pairs
}

/// Returns the old indexes of items that moved: all paired items outside a longest increasing
/// subsequence.
pub(super) fn moved(new_of_old: &[Option<usize>]) -> HashSet<usize> {
    let paired: Vec<(usize, usize)> =
        new_of_old.iter().enumerate().filter_map(|(old, new)| Some((old, (*new)?))).collect();
    // `tails[length]` is the position in `paired` of the smallest last element of an increasing
    // sequence of that length.
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; paired.len()];
    for (at, &(_, new)) in paired.iter().enumerate() {
        let length = tails.partition_point(|&tail| paired[tail].1 < new);
        before[at] = length.checked_sub(1).map(|shorter| tails[shorter]);
        if length == tails.len() {
            tails.push(at);
        } else {
            tails[length] = at;
        }
    }
    let mut moved: HashSet<usize> = paired.iter().map(|&(old, _)| old).collect();
    let mut at = tails.last().copied();
    while let Some(kept) = at {
        moved.remove(&paired[kept].0);
        at = before[kept];
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_pair_by_the_first_key_that_fits() {
        let pairs = align(&[(1, 7), (2, 8), (1, 9)], &[(3, 8), (1, 0)], 2, |item, round| {
            Some(if round == 0 { (Some(item.0), None) } else { (None, Some(item.1)) })
        });
        assert_eq!(pairs.new_of_old, [Some(1), Some(0), None]);
        assert_eq!(pairs.old_of_new, [Some(1), Some(0)]);
    }

    #[test]
    fn only_items_that_left_the_order_moved() {
        let moved_of = |new: &[usize]| {
            let new: Vec<Option<usize>> = new.iter().copied().map(Some).collect();
            let mut moved: Vec<usize> = moved(&new).into_iter().collect();
            moved.sort_unstable();
            moved
        };
        assert_eq!(moved_of(&[0, 1, 2, 3]), [0; 0]);
        assert_eq!(moved_of(&[3, 0, 1, 2]), [0]);
        assert_eq!(moved_of(&[1, 2, 0, 3]), [2]);
        assert_eq!(moved(&[None, Some(0), None]).len(), 0);
    }
}
