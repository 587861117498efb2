//! Byte patterns: builds the minimal automaton of a pattern text and derives its properties.

mod byte_set;
mod dfa;
mod shape;
mod syntax;
mod union;

use regex_syntax::hir::Hir;

use crate::limits::GrammarLimits;

pub use byte_set::ByteSet;
pub(crate) use dfa::{BuildError, Built, DEAD, Dfa};
pub(crate) use shape::{PatternShape, TopBits};
pub(crate) use union::{PatternConflict, Union};

/// A checked pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// Sizes of the intermediate automata.
    pub(crate) built: Built,
    /// The simplified syntax, for the reference engine.
    pub(crate) hir: Hir,
    pub(crate) dfa: Dfa,
    pub(crate) shape: PatternShape,
    pub(crate) top_bits: TopBits,
    /// Lengths in bytes of the shortest and of the longest match.
    pub(crate) len_min: usize,
    pub(crate) len_max: Option<usize>,
}

/// A mistake in a pattern; `at` is the index of a character in its text, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    pub(crate) at: usize,
    pub(crate) too_large: bool,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Pattern {
    /// Parses `text` and builds its automaton.
    pub(crate) fn parse(text: &str, limits: &GrammarLimits) -> Result<Self, PatternError> {
        if text.len() > limits.pattern_bytes_max {
            return Err(PatternError {
                at: 0,
                too_large: true,
                message: format!(
                    "this pattern is longer than {} bytes, the limit `pattern_bytes_max`",
                    limits.pattern_bytes_max
                ),
                help: "split it into several MATCH statements".to_owned(),
            });
        }
        let hir = syntax::parse(text)?;
        let (dfa, built) =
            Dfa::build(&hir, limits.pattern_states_max).map_err(|error| match error {
                BuildError::MatchesNothing => PatternError {
                    at: 0,
                    too_large: false,
                    message: "no bytes can match this pattern".to_owned(),
                    help: "remove the empty class from it".to_owned(),
                },
                BuildError::TooLarge => PatternError {
                    at: 0,
                    too_large: true,
                    message: format!(
                        "this pattern needs more than {} states, the limit `pattern_states_max`",
                        limits.pattern_states_max
                    ),
                    help: "use smaller repetitions, or a count".to_owned(),
                },
            })?;
        let properties = hir.properties();
        let (len_min, len_max) = (properties.minimum_len().unwrap_or(0), properties.maximum_len());
        Ok(Self {
            text: text.to_owned(),
            built,
            shape: PatternShape::of(&dfa),
            top_bits: TopBits::of(&dfa),
            hir,
            dfa,
            len_min,
            len_max,
        })
    }

    /// True if every single byte is a match; then no other case of the switch could be selected.
    pub(crate) fn is_catch_all(&self) -> bool {
        (0..=u8::MAX).all(|byte| match self.dfa.next(0, byte) {
            DEAD => false,
            state => self.dfa.accepts(state),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text, &GrammarLimits::default()).unwrap()
    }

    #[test]
    fn shapes_are_recognised_however_they_are_written() {
        for text in
            ["[\\x00-\\x7f]*[\\x80-\\xff]", "(?:[\\x00-\\x3f]|[\\x40-\\x7f])*[^\\x00-\\x7f]"]
        {
            assert_eq!(pattern(text).shape, PatternShape::StopBit, "{text}");
        }
        assert_eq!(pattern("..").shape, PatternShape::Any(2));
        assert_eq!(pattern(".{10}").shape, PatternShape::Any(10));
        assert_eq!(pattern("\\x01\\x02").shape, PatternShape::Literal(vec![1, 2]));
        assert_eq!(pattern("[ab]").shape, PatternShape::One(ByteSet::from_iter(*b"ab")));
        assert_eq!(pattern("ab*").shape, PatternShape::Table);
    }

    #[test]
    fn a_dot_is_any_byte_and_hexadecimal_is_one_byte() {
        assert_eq!(pattern(".").dfa.first().len(), 256);
        assert_eq!(pattern("\\xff").dfa.first(), ByteSet::from_iter([0xff]));
        assert_eq!(pattern("[^\\x01]").dfa.first().len(), 255);
    }

    #[test]
    fn automata_are_minimal() {
        assert_eq!(pattern("(ab|cb)").dfa.states(), 3);
        assert_eq!(pattern("a|aa|aaa").dfa.states(), 4);
        assert_eq!(pattern("[0-9]+").dfa.states(), 2);
        assert_eq!(pattern("").dfa.states(), 1);
    }

    #[test]
    fn automata_that_read_past_their_matches_are_known() {
        for (text, past, without) in [
            ("a*b|a", true, true),
            ("(.*x)?", true, true),
            ("a(b*c)?", true, true),
            ("[0-9]+", false, false),
            ("[^x]*x", false, true),
            ("a{1,9}b|a", false, false),
            ("[\\x00-\\x7f]*[\\x80-\\xff]", false, true),
        ] {
            let dfa = pattern(text).dfa;
            let found = (dfa.reads_past_matches(), dfa.reads_on_without_match());
            assert_eq!(found, (past, without), "{text}");
        }
    }

    #[test]
    fn top_bits_tell_stop_bit_items() {
        assert_eq!(pattern("[\\x00-\\x7f]").top_bits, TopBits::Never);
        assert_eq!(pattern("[\\x80-\\xff]").top_bits, TopBits::LastOnly);
        assert_eq!(pattern("[\\x00-\\x7f]{0,4}[\\x80-\\xff]").top_bits, TopBits::LastOnly);
        assert_eq!(pattern(".").top_bits, TopBits::Mixed);
        assert_eq!(pattern("[\\x80-\\xff]+").top_bits, TopBits::Mixed);
    }

    #[test]
    fn what_is_not_a_byte_pattern_is_refused_with_its_place() {
        let limits = GrammarLimits::default();
        let cases = [
            ("ab^", 2),
            ("a$", 1),
            ("a\\b", 1),
            ("a*?", 1),
            ("(?i)a", 0),
            ("(?P<x>a)", 0),
            ("(?=a)", 0),
            ("ab(", 2),
            ("a\u{e9}", 1),
            ("\\u00e9", 0),
            ("\\pL", 0),
            ("[^\\x00-\\xff]", 0),
        ];
        for (text, at) in cases {
            let error = Pattern::parse(text, &limits).expect_err(text);
            assert_eq!((error.at, error.too_large), (at, false), "{text}: {}", error.message);
        }
        assert!(Pattern::parse(".{5000}", &limits).expect_err("large").too_large);
        assert!(Pattern::parse("(.{999}){999}", &limits).expect_err("large").too_large);
        assert!(Pattern::parse(&"a".repeat(2000), &limits).expect_err("long").too_large);
    }
}
