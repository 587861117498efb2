//! Prints the machine as a graph for Graphviz.

use std::fmt::Write;

use crate::pattern::ByteSet;

use super::{Machine, NONE, StateId};

impl Machine {
    /// Returns the automaton as a Graphviz graph. Boxes are control states, circles scanning
    /// states, double circles accepting scanning states; dashed arrows consume no byte.
    pub fn dot(&self) -> String {
        let mut text =
            String::from("digraph grammar {\n  rankdir=LR;\n  node [fontname=monospace];\n");
        // Writing to a string cannot fail.
        for state in 0..self.ops.len() as StateId {
            let label = self.label(state).replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(text, "  q{state} [shape=box, label=\"q{state}\\n{label}\"];");
            match self.fragment_start(state) {
                Some(start) => self.dot_scan(state, start, &mut text),
                None => {
                    for target in self.targets(state) {
                        let _ = writeln!(text, "  q{state} -> q{target} [style=dashed];");
                    }
                }
            }
        }
        text.push_str("}\n");
        text
    }

    fn dot_scan(&self, control: StateId, start: u32, text: &mut String) {
        let sets = self.scan.class_sets();
        let _ = writeln!(text, "  q{control} -> s{start} [style=dashed];");
        let mut entered = Vec::new();
        for state in self.scan.reachable(start) {
            let accept = self.scan.accepts[state as usize];
            let shape = if accept == NONE { "circle" } else { "doublecircle" };
            let _ = writeln!(text, "  s{state} [shape={shape}];");
            if accept != NONE {
                let _ = writeln!(text, "  s{state} -> q{accept} [style=dashed];");
                entered.push(accept);
            }
            for (target, classes) in self.scan.arcs(state) {
                let set = classes.iter().filter_map(|class| sets.get(*class));
                let set = set.fold(ByteSet::EMPTY, |all, set| all.union(set));
                let _ = writeln!(text, "  s{state} -> s{target} [label=\"{set}\"];");
            }
        }
        for target in self.targets(control).iter().filter(|target| !entered.contains(target)) {
            let _ = writeln!(text, "  q{control} -> q{target} [style=dashed, label=\"else\"];");
        }
    }
}
