//! The minimal deterministic automaton of a pattern; every state can reach a match.

use std::collections::{HashMap, VecDeque};

use regex_automata::Anchored;
use regex_automata::MatchKind;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::start;
use regex_syntax::hir::Hir;

use super::byte_set::ByteSet;

/// Target of a byte that cannot lead to a match.
pub(crate) const DEAD: u32 = u32::MAX;

/// Memory limit for building the automaton of one pattern.
const BUILD_BYTES_MAX: usize = 8 << 20;

/// A deterministic automaton. State 0 is the start; every state leads to a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dfa {
    /// Class of each byte; no state distinguishes the bytes of a class.
    classes: Box<[u8; 256]>,
    class_count: usize,
    /// `table[state * class_count + class]`, or [`DEAD`].
    table: Vec<u32>,
    accepts: Vec<bool>,
}

/// Sizes of the intermediate automata, before minimization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Built {
    pub(crate) nfa_states: usize,
    pub(crate) dfa_states: usize,
}

/// The reason why there is no automaton for a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildError {
    MatchesNothing,
    TooLarge,
}

impl Dfa {
    /// Builds the automaton of `hir`, with at most `states_max` states.
    pub(crate) fn build(hir: &Hir, states_max: usize) -> Result<(Self, Built), BuildError> {
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new()
                    .utf8(false)
                    .which_captures(thompson::WhichCaptures::None)
                    .nfa_size_limit(Some(BUILD_BYTES_MAX)),
            )
            .build_from_hir(hir)
            .map_err(|_| BuildError::TooLarge)?;
        let dense = dense::Builder::new()
            .configure(
                dense::Config::new()
                    .match_kind(MatchKind::All)
                    .start_kind(StartKind::Anchored)
                    .accelerate(false)
                    .dfa_size_limit(Some(BUILD_BYTES_MAX))
                    .determinize_size_limit(Some(BUILD_BYTES_MAX)),
            )
            .build_from_nfa(&nfa)
            .map_err(|_| BuildError::TooLarge)?;
        let (rows, accepts) = explore(&dense, states_max)?;
        let distances = distances(&rows, &accepts);
        if distances.first().is_none_or(|distance| *distance == DEAD) {
            return Err(BuildError::MatchesNothing);
        }
        let built = Built { nfa_states: nfa.states().len(), dfa_states: rows.len() };
        Ok((Self::minimal(&rows, &accepts, distances), built))
    }

    pub(crate) fn states(&self) -> u32 {
        u32::try_from(self.accepts.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn accepts(&self, state: u32) -> bool {
        self.accepts.get(state as usize).copied().unwrap_or(false)
    }

    pub(crate) fn next(&self, state: u32, byte: u8) -> u32 {
        let class = usize::from(self.classes[usize::from(byte)]);
        self.table.get(state as usize * self.class_count + class).copied().unwrap_or(DEAD)
    }

    /// True if no byte can extend a match in `state`.
    pub(crate) fn is_last(&self, state: u32) -> bool {
        (0..=u8::MAX).all(|byte| self.next(state, byte) == DEAD)
    }

    /// Returns the transitions of `state`: targets ascending, each with its bytes.
    pub(crate) fn arcs(&self, state: u32) -> Vec<(u32, ByteSet)> {
        let mut arcs: Vec<(u32, ByteSet)> = Vec::new();
        for byte in 0..=u8::MAX {
            let target = self.next(state, byte);
            if target == DEAD {
                continue;
            }
            match arcs.iter_mut().find(|(known, _)| *known == target) {
                Some((_, set)) => set.insert(byte),
                None => arcs.push((target, ByteSet::from_iter([byte]))),
            }
        }
        arcs.sort_by_key(|(target, _)| *target);
        arcs
    }

    /// Returns the bytes that a match can begin with.
    pub(crate) fn first(&self) -> ByteSet {
        (0..=u8::MAX).filter(|byte| self.next(0, *byte) != DEAD).collect()
    }

    /// True if the automaton can read unboundedly far past a match before it is certain that no
    /// longer match follows.
    pub(crate) fn reads_past_matches(&self) -> bool {
        let accepting = (0..self.states()).filter(|state| self.accepts(*state));
        let beyond = accepting.flat_map(|state| self.arcs(state)).map(|(target, _)| target);
        self.loops_without_match(beyond.collect())
    }

    /// True if the automaton can read unboundedly many bytes without a match.
    pub(crate) fn reads_on_without_match(&self) -> bool {
        self.reads_past_matches() || self.loops_without_match(vec![0])
    }

    /// True if a path from one of these states reaches a cycle of states that do not accept.
    fn loops_without_match(&self, mut waiting: Vec<u32>) -> bool {
        // Removes states that cannot be on a cycle until none is left to remove.
        let mut reached = vec![false; self.accepts.len()];
        while let Some(state) = waiting.pop() {
            let is_new = !self.accepts(state) && !reached[state as usize];
            if is_new {
                reached[state as usize] = true;
                waiting.extend(self.arcs(state).into_iter().map(|(target, _)| target));
            }
        }
        loop {
            let leads_on =
                |state: u32| self.arcs(state).iter().any(|(target, _)| reached[*target as usize]);
            let dead_ends: Vec<u32> = (0..self.states())
                .filter(|state| reached[*state as usize] && !leads_on(*state))
                .collect();
            if dead_ends.is_empty() {
                return reached.contains(&true);
            }
            dead_ends.into_iter().for_each(|state| reached[state as usize] = false);
        }
    }

    /// Merges equivalent states (Moore's partition refinement) and drops dead states.
    ///
    /// Equivalent states have equal distances to the nearest match. Starting with the distances
    /// rather than with accepting/rejecting saves a refinement round for every byte of a long
    /// pattern.
    fn minimal(rows: &[[u32; 256]], accepts: &[bool], distances: Vec<u32>) -> Self {
        let alive: Vec<bool> = distances.iter().map(|distance| *distance != DEAD).collect();
        let (classes, representatives) = byte_classes(rows);
        let step = |state: usize, byte: u8| {
            let target = rows[state][usize::from(byte)];
            if target != DEAD && alive[target as usize] { target } else { DEAD }
        };
        let mut group = distances;
        let mut group_count = 0;
        loop {
            let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
            let mut refined = group.clone();
            for state in (0..rows.len()).filter(|state| alive[*state]) {
                let targets = representatives.iter().map(|byte| match step(state, *byte) {
                    DEAD => DEAD,
                    target => group[target as usize],
                });
                let signature: Vec<u32> = std::iter::once(group[state]).chain(targets).collect();
                let next = known.len() as u32;
                refined[state] = *known.entry(signature).or_insert(next);
            }
            group = refined;
            if known.len() == group_count {
                break;
            }
            group_count = known.len();
        }
        // States are visited in discovery order, so the start's group is group 0.
        let mut table = vec![DEAD; group_count * representatives.len()];
        let mut group_accepts = vec![false; group_count];
        for state in (0..rows.len()).filter(|state| alive[*state]) {
            let own = group[state] as usize;
            group_accepts[own] = accepts[state];
            for (class, byte) in representatives.iter().enumerate() {
                let target = step(state, *byte);
                if target != DEAD {
                    table[own * representatives.len() + class] = group[target as usize];
                }
            }
        }
        Self { classes, class_count: representatives.len(), table, accepts: group_accepts }
    }
}

/// Walks the library's automaton from its anchored start. Returns the targets of each state by
/// byte, and the accepting states. The library signals a match one byte late; asking each state for
/// its end-of-input transition compensates for that.
fn explore(
    dense: &dense::DFA<Vec<u32>>,
    states_max: usize,
) -> Result<(Vec<[u32; 256]>, Vec<bool>), BuildError> {
    let anchored = start::Config::new().anchored(Anchored::Yes);
    let start = dense.start_state(&anchored).map_err(|_| BuildError::TooLarge)?;
    let mut numbers = HashMap::from([(start, 0_u32)]);
    let mut order = vec![start];
    let (mut rows, mut accepts) = (Vec::new(), Vec::new());
    while let Some(state) = order.get(rows.len()).copied() {
        let mut row = [DEAD; 256];
        for byte in 0..=u8::MAX {
            let target = dense.next_state(state, byte);
            if dense.is_dead_state(target) {
                continue;
            }
            let number = *numbers.entry(target).or_insert_with(|| {
                order.push(target);
                order.len() as u32 - 1
            });
            row[usize::from(byte)] = number;
        }
        if order.len() > states_max {
            return Err(BuildError::TooLarge);
        }
        rows.push(row);
        accepts.push(dense.is_match_state(dense.next_eoi_state(state)));
    }
    Ok((rows, accepts))
}

/// Returns for each state the length of the shortest path to a match in bytes, or [`DEAD`].
fn distances(rows: &[[u32; 256]], accepts: &[bool]) -> Vec<u32> {
    let mut sources: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    for (state, row) in rows.iter().enumerate() {
        let mut last = DEAD;
        for target in row.iter().copied().filter(|target| *target != DEAD) {
            if target != last {
                sources[target as usize].push(state);
                last = target;
            }
        }
    }
    let mut distances: Vec<u32> =
        accepts.iter().map(|accepts| if *accepts { 0 } else { DEAD }).collect();
    let mut queue: VecDeque<usize> = (0..rows.len()).filter(|state| accepts[*state]).collect();
    while let Some(state) = queue.pop_front() {
        for source in &sources[state] {
            if distances[*source] == DEAD {
                distances[*source] = distances[state] + 1;
                queue.push_back(*source);
            }
        }
    }
    distances
}

/// Groups bytes with equal columns. Returns the class of each byte, and one byte of each class.
fn byte_classes(rows: &[[u32; 256]]) -> (Box<[u8; 256]>, Vec<u8>) {
    let mut classes = Box::new([0; 256]);
    let mut representatives = Vec::new();
    let mut known: HashMap<Vec<u32>, u8> = HashMap::new();
    for byte in 0..=u8::MAX {
        let column: Vec<u32> = rows.iter().map(|row| row[usize::from(byte)]).collect();
        // There are at most 256 classes, so a class number fits a byte.
        let class = *known.entry(column).or_insert_with(|| {
            representatives.push(byte);
            (representatives.len() - 1) as u8
        });
        classes[usize::from(byte)] = class;
    }
    (classes, representatives)
}
