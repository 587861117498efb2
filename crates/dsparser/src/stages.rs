//! What the compiler makes of each pattern, stage by stage.

use crate::block::each_pattern;
use crate::program::Program;

/// A pattern on its way to the automaton that is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The pattern as written.
    pub pattern: String,
    /// The same, simplified.
    pub simplified: String,
    /// States of the nondeterministic automaton.
    pub nfa_states: usize,
    /// States of the deterministic one.
    pub dfa_states: usize,
    /// States of the smallest deterministic one, from which all lead to a match.
    pub states: u32,
    /// What it is run as.
    pub shape: &'static str,
}

impl Program {
    /// The stages of every pattern, each once, in the order of the text.
    ///
    /// [`Machine::show`](crate::Machine::show) shows what they are joined to.
    pub fn stages(&self) -> Vec<Stage> {
        let mut stages: Vec<Stage> = Vec::new();
        each_pattern(&self.body, &mut |pattern| {
            if stages.iter().any(|stage| stage.pattern == pattern.text) {
                return;
            }
            stages.push(Stage {
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
    use crate::{ActionNames, Program};

    #[test]
    fn every_pattern_is_told_once_with_its_automata() {
        let text = "MATCH \"a|aa|aaa\"\nLOOP\nMATCH \".\"\nMATCH \"a|aa|aaa\"\nENDLOOP\n";
        let stages = Program::parse(text, &ActionNames::any()).unwrap().stages();
        let [alternation, dot] = stages.as_slice() else { panic!("{stages:?}") };
        assert_eq!((alternation.states, alternation.shape), (4, "automaton"));
        assert!(alternation.nfa_states > 4 && alternation.dfa_states >= 4);
        assert_eq!((dot.pattern.as_str(), dot.states, dot.shape), (".", 2, "any bytes"));
    }
}
