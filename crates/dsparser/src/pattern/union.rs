//! Joins the cases of a switch into one automaton that identifies the matching case.

use std::collections::HashMap;

use super::dfa::{DEAD, Dfa};

/// The product of several automata. State 0 is the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Union {
    rows: Vec<[u32; 256]>,
    /// For each state, the case that matches there.
    accepts: Vec<Option<u32>>,
}

/// Two cases that fit the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternConflict {
    pub(crate) first: usize,
    pub(crate) second: usize,
    /// Bytes that match one of the cases and also match, or begin a match of, the other.
    pub(crate) witness: Vec<u8>,
}

/// The result of joining.
pub(crate) struct Joined {
    /// `None` if it would have too many states.
    pub(crate) union: Option<Union>,
    pub(crate) conflicts: Vec<PatternConflict>,
}

/// Maximum number of pairs reported; further ones add little.
const CONFLICTS_MAX: usize = 64;

/// The cases that can still match, each with its state.
type Alive = Vec<(u32, u32)>;

impl Union {
    /// Joins `cases` into an automaton of at most `states_max` states.
    pub(crate) fn join(cases: &[&Dfa], states_max: usize) -> Joined {
        let start: Alive = (0..).zip(cases).map(|(case, _)| (case, 0)).collect();
        let mut known = HashMap::from([(start.clone(), 0_u32)]);
        let mut tuples = vec![start];
        let mut origins: Vec<Option<(usize, u8)>> = vec![None];
        let mut union = Self { rows: Vec::new(), accepts: Vec::new() };
        let mut conflicts: Vec<PatternConflict> = Vec::new();
        while let Some(tuple) = tuples.get(union.rows.len()).cloned() {
            let state = union.rows.len();
            let matched = matched(cases, &tuple);
            for (first, second) in rivals(&tuple, matched) {
                let is_known =
                    |pair: &PatternConflict| (pair.first, pair.second) == (first, second);
                if conflicts.len() < CONFLICTS_MAX && !conflicts.iter().any(is_known) {
                    conflicts.push(PatternConflict {
                        first,
                        second,
                        witness: witness(&origins, state),
                    });
                }
            }
            union.accepts.push(matched);
            let mut row = [DEAD; 256];
            for byte in 0..=u8::MAX {
                let step = |(case, state): &(u32, u32)| {
                    let next = cases.get(*case as usize).map_or(DEAD, |dfa| dfa.next(*state, byte));
                    (next != DEAD).then_some((*case, next))
                };
                let target: Alive = tuple.iter().filter_map(step).collect();
                if target.is_empty() {
                    continue;
                }
                row[usize::from(byte)] = *known.entry(target).or_insert_with_key(|target| {
                    tuples.push(target.clone());
                    origins.push(Some((state, byte)));
                    tuples.len() as u32 - 1
                });
            }
            union.rows.push(row);
            if tuples.len() > states_max {
                return Joined { union: None, conflicts };
            }
        }
        Joined { union: Some(union), conflicts }
    }

    pub(crate) fn states(&self) -> u32 {
        u32::try_from(self.rows.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn accepts(&self, state: u32) -> Option<u32> {
        self.accepts.get(state as usize).copied().flatten()
    }

    pub(crate) fn next(&self, state: u32, byte: u8) -> u32 {
        self.rows.get(state as usize).map_or(DEAD, |row| row[usize::from(byte)])
    }

    /// Returns for each first byte the case that matches exactly that byte; `None` if a case can be
    /// longer.
    pub(crate) fn by_first_byte(&self) -> Option<[u8; 256]> {
        let mut arms = [u8::MAX; 256];
        for byte in 0..=u8::MAX {
            let target = self.next(0, byte);
            if target == DEAD {
                continue;
            }
            let is_last = (0..=u8::MAX).all(|next| self.next(target, next) == DEAD);
            let arm = u8::try_from(self.accepts(target)?).ok().filter(|arm| *arm < u8::MAX)?;
            if !is_last {
                return None;
            }
            arms[usize::from(byte)] = arm;
        }
        Some(arms)
    }
}

/// Returns the first case that matches in a state.
fn matched(cases: &[&Dfa], tuple: &Alive) -> Option<u32> {
    let accepts = |(case, state): &&(u32, u32)| {
        cases.get(*case as usize).is_some_and(|dfa| dfa.accepts(*state))
    };
    tuple.iter().find(accepts).map(|(case, _)| *case)
}

/// Returns pairs of the matching case and each other case that can still match, the lower number
/// first.
fn rivals(tuple: &Alive, matched: Option<u32>) -> impl Iterator<Item = (usize, usize)> {
    let pairs = matched.into_iter().flat_map(move |one| {
        tuple.iter().filter(move |(other, _)| *other != one).map(move |(other, _)| (one, *other))
    });
    pairs.map(|(one, other)| (one.min(other) as usize, one.max(other) as usize))
}

/// Returns bytes that lead to a state.
fn witness(origins: &[Option<(usize, u8)>], mut state: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some((source, byte)) = origins.get(state).copied().flatten() {
        bytes.push(byte);
        state = source;
    }
    bytes.reverse();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::GrammarLimits;
    use crate::pattern::Pattern;

    fn join(texts: &[&str]) -> Joined {
        let patterns: Vec<Pattern> = texts
            .iter()
            .map(|text| Pattern::parse(text, &GrammarLimits::default()).unwrap())
            .collect();
        let automata: Vec<&Dfa> = patterns.iter().map(|pattern| &pattern.dfa).collect();
        Union::join(&automata, 1000)
    }

    #[test]
    fn single_bytes_become_a_table_by_first_byte() {
        let joined = join(&["[\\x80-\\xff]", "[\\x00-\\x7f]"]);
        assert!(joined.conflicts.is_empty());
        let arms = joined.union.unwrap().by_first_byte().unwrap();
        assert_eq!((arms[0x80], arms[0x7f]), (0, 1));
    }

    #[test]
    fn cases_may_share_a_beginning_but_not_a_match() {
        let joined = join(&["34=", "35="]);
        assert!(joined.conflicts.is_empty());
        assert!(joined.union.unwrap().by_first_byte().is_none());
        let conflict = &join(&["3", "34="]).conflicts[0];
        assert_eq!((conflict.first, conflict.second, &*conflict.witness), (0, 1, &b"3"[..]));
        assert_eq!(join(&["[a-m]", "x", "[k-z]"]).conflicts.len(), 2);
    }
}
