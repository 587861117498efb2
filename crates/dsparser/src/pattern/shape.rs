//! Recognizes patterns that are simple enough to match without a table.

use super::byte_set::ByteSet;
use super::dfa::Dfa;

/// The shape of a pattern, which selects the matching strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatternShape {
    /// A fixed number of arbitrary bytes.
    Any(u32),
    /// One byte of a set.
    One(ByteSet),
    /// Exactly these bytes.
    Literal(Vec<u8>),
    /// Bytes without the top bit, then one with it.
    StopBit,
    /// Anything else.
    Table,
}

impl PatternShape {
    /// Returns the name of the matching strategy.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Any(_) => "any bytes",
            Self::One(_) => "one byte of a set",
            Self::Literal(_) => "literal",
            Self::StopBit => "stop-bit walk",
            Self::Table => "automaton",
        }
    }
}

/// Longest pattern matched as a literal, in bytes.
const LITERAL_BYTES_MAX: u32 = 64;

impl PatternShape {
    pub(crate) fn of(dfa: &Dfa) -> Self {
        if is_stop_bit(dfa) {
            return Self::StopBit;
        }
        let Some(steps) = chain(dfa) else { return Self::Table };
        let full = steps.iter().all(|set| set.len() == 256);
        match (steps.as_slice(), u32::try_from(steps.len())) {
            (_, Ok(bytes)) if full => Self::Any(bytes),
            ([set], _) => Self::One(*set),
            (_, Ok(bytes)) if bytes <= LITERAL_BYTES_MAX => literal(&steps).unwrap_or(Self::Table),
            _ => Self::Table,
        }
    }
}

fn literal(steps: &[ByteSet]) -> Option<PatternShape> {
    let bytes = steps.iter().map(|set| match set.ranges().as_slice() {
        [(first, last)] if first == last => Some(*first),
        _ => None,
    });
    bytes.collect::<Option<Vec<u8>>>().map(PatternShape::Literal)
}

/// Returns the byte sets of an automaton that is a chain of at least one step without alternatives.
fn chain(dfa: &Dfa) -> Option<Vec<ByteSet>> {
    let mut steps = Vec::new();
    let mut state = 0;
    while !dfa.accepts(state) {
        let arcs = dfa.arcs(state);
        let [(target, set)] = arcs.as_slice() else { return None };
        if *target <= state {
            return None;
        }
        steps.push(*set);
        state = *target;
    }
    (dfa.is_last(state) && !steps.is_empty()).then_some(steps)
}

fn is_stop_bit(dfa: &Dfa) -> bool {
    let open: ByteSet = (0..0x80).collect();
    let stop: ByteSet = (0x80..=0xff).collect();
    dfa.states() == 2
        && !dfa.accepts(0)
        && dfa.accepts(1)
        && dfa.arcs(0) == [(0, open), (1, stop)]
        && dfa.is_last(1)
}

/// Static knowledge about the top bits in a pattern's matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopBits {
    /// No byte has the top bit.
    Never,
    /// Only the last byte has it; a match has at least one byte.
    LastOnly,
    /// Anything else.
    Mixed,
}

impl TopBits {
    pub(crate) fn of(dfa: &Dfa) -> Self {
        let arcs = || (0..dfa.states()).flat_map(|state| dfa.arcs(state));
        let is_top = |set: &ByteSet| set.ranges().iter().all(|(first, _)| *first >= 0x80);
        let is_plain = |set: &ByteSet| set.ranges().iter().all(|(_, last)| *last < 0x80);
        if arcs().all(|(_, set)| is_plain(&set)) {
            return Self::Never;
        }
        let ends_on_top = !dfa.accepts(0)
            && arcs().all(|(target, set)| match dfa.accepts(target) {
                true => is_top(&set) && dfa.is_last(target),
                false => is_plain(&set),
            });
        if ends_on_top { Self::LastOnly } else { Self::Mixed }
    }
}
