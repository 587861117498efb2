//! The stages of compiling each pattern.

use crate::block::each_pattern;
use crate::program::GrammarProgram;

/// A pattern at each stage of its compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternStage {
    /// The pattern as written.
    pub pattern: String,
    /// The simplified pattern.
    pub simplified: String,
    /// States of the nondeterministic automaton.
    pub nfa_states: usize,
    /// States of the deterministic automaton.
    pub dfa_states: usize,
    /// States of the minimal deterministic automaton, without those that cannot reach a match.
    pub states: u32,
    /// The matching strategy.
    pub shape: &'static str,
}

impl GrammarProgram {
    /// Returns the stages of each distinct pattern, in the order of the text.
    ///
    /// [`Machine::show`](crate::Machine::show) shows the automaton that they are joined to.
    pub fn stages(&self) -> Vec<PatternStage> {
        let mut stages: Vec<PatternStage> = Vec::new();
        each_pattern(&self.body, &mut |pattern| {
            if stages.iter().any(|stage| stage.pattern == pattern.text) {
                return;
            }
            stages.push(PatternStage {
                pattern: pattern.text.clone(),
                simplified: pattern.hir.to_string(),
                nfa_states: pattern.built.nfa_states,
                dfa_states: pattern.built.dfa_states,
                states: pattern.dfa.states(),
                shape: pattern.shape.name(),
            });
        });
        stages
    }
}

#[cfg(test)]
mod tests {
    use crate::{ActionNames, GrammarProgram};

    #[test]
    fn every_pattern_is_told_once_with_its_automata() {
        let text = "MATCH \"a|aa|aaa\"\nLOOP\nMATCH \".\"\nMATCH \"a|aa|aaa\"\nENDLOOP\n";
        let stages = GrammarProgram::parse(text, &ActionNames::any()).unwrap().stages();
        let [alternation, dot] = stages.as_slice() else { panic!("{stages:?}") };
        assert_eq!((alternation.states, alternation.shape), (4, "automaton"));
        assert!(alternation.nfa_states > 4 && alternation.dfa_states >= 4);
        assert_eq!((dot.pattern.as_str(), dot.states, dot.shape), (".", 2, "any bytes"));
    }
}
