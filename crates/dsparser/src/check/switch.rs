//! Switches: every input selects at most one case.

use std::sync::Arc;

use crate::ast::Case;
use crate::block::{CaseNode, NodeKind};
use crate::diagnostic::{DiagnosticKind, Span};
use crate::pattern::{Conflict, Dfa, Union};

use super::Checker;

impl Checker<'_> {
    pub(super) fn switch(&mut self, cases: &[Case], span: Span) -> Option<NodeKind> {
        if cases.is_empty() {
            self.diagnostics.push(
                span,
                DiagnosticKind::Syntax,
                "WSWITCH has no CASE",
                "add a CASE \"..\" .. ENDCASE to it, or remove it",
            );
            return None;
        }
        let checked: Vec<CaseNode> = cases.iter().filter_map(|case| self.case(case)).collect();
        if checked.len() < cases.len() {
            return None;
        }
        let catch_all = checked.iter().position(|case| case.pattern.is_catch_all());
        let told_apart = catch_all.map_or(cases.len(), |index| index + 1);
        for late in &cases[told_apart..] {
            let first = cases[told_apart - 1].span.line;
            self.diagnostics.push(
                late.pattern.span,
                DiagnosticKind::CaseAfterCatchAll,
                format!("this case stands after the one in line {first}, which takes every byte"),
                "remove it, or leave its bytes out of the other pattern, as in [^..]",
            );
        }
        let automata: Vec<&Dfa> =
            checked[..told_apart].iter().map(|case| &case.pattern.dfa).collect();
        let joined = Union::join(&automata, self.patterns.limits.pattern_states_max);
        for conflict in &joined.conflicts {
            self.report(cases, conflict);
        }
        let Some(union) = joined.union else {
            let message = "the cases of this switch need too many automaton states together";
            self.diagnostics.push(span, DiagnosticKind::TooLarge, message, "use shorter patterns");
            return None;
        };
        self.patterns.add_states(union.states(), span, self.diagnostics);
        Some(NodeKind::Switch { cases: checked, union: Arc::new(union) })
    }

    fn case(&mut self, case: &Case) -> Option<CaseNode> {
        let pattern = self.patterns.compile(&case.pattern, self.diagnostics);
        let body = self.block(&case.body).nodes;
        let pattern = pattern?;
        if pattern.len_min == 0 {
            self.diagnostics.push(
                case.pattern.span,
                DiagnosticKind::CanMatchNothing,
                "this case can match nothing, so the switch could repeat for ever",
                "make its pattern take at least one byte",
            );
            return None;
        }
        Some(CaseNode { pattern, body })
    }

    fn report(&mut self, cases: &[Case], conflict: &Conflict) {
        let Some((first, second)) = cases.get(conflict.first).zip(cases.get(conflict.second))
        else {
            return;
        };
        let bytes: Vec<String> =
            conflict.witness.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        self.diagnostics.push(
            second.pattern.span,
            DiagnosticKind::AmbiguousCases,
            format!(
                "this case and the one in line {} can both match \"{}\"",
                first.span.line,
                bytes.concat()
            ),
            "make the patterns exclude each other, as in [a-m] and [n-z]",
        );
    }
}
