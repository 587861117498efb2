//! Switches. Checks that every input selects at most one case.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Case, CaseHead, Operand, PatternText, Statement};
use crate::block::{CaseNode, NodeKind, StatementNode};
use crate::diagnostic::{DiagnosticKind, Span};
use crate::pattern::{Dfa, Pattern, PatternConflict, Union};

use super::GrammarChecker;
use super::overrun::Use;

impl<'a> GrammarChecker<'a> {
    /// Checks a `WSWITCH`, which repeats while a case fits.
    pub(super) fn switch(&mut self, cases: &'a [Case], span: Span) -> Option<NodeKind> {
        self.loops += 1;
        let joined = self.cases(cases, span, "WSWITCH");
        self.loops -= 1;
        let (cases, union) = joined?;
        Some(NodeKind::Switch { cases, union })
    }

    /// Checks a `SWITCH`, which takes one case.
    pub(super) fn choose(
        &mut self,
        cases: &'a [Case],
        default: Option<&'a [Statement]>,
        span: Span,
    ) -> Option<NodeKind> {
        let joined = self.cases(cases, span, "SWITCH");
        let default = default.map(|body| self.block(body).nodes);
        let (cases, union) = joined?;
        Some(NodeKind::Choose { cases, union, default })
    }

    /// Turns an `IF` with a pattern into a switch with one case.
    pub(super) fn if_matches(
        &mut self,
        pattern: Arc<Pattern>,
        span: Span,
        body: Vec<StatementNode>,
        otherwise: Vec<StatementNode>,
    ) -> Option<NodeKind> {
        if !self.takes_bytes(&pattern, span, "this condition") {
            return None;
        }
        self.warn_of_overrun(&pattern, span, Use::Tried);
        let union = self.union(&[&pattern.dfa], span)?.0;
        let cases = vec![CaseNode { pattern, body }];
        Some(NodeKind::Choose { cases, union, default: Some(otherwise) })
    }

    /// Checks a switch by a number.
    pub(super) fn choose_number(
        &mut self,
        selector: &Operand,
        cases: &'a [Case],
        default: Option<&'a [Statement]>,
        span: Span,
    ) -> Option<NodeKind> {
        let selector = self.operand(selector, "SWITCH");
        let mut checked = Vec::new();
        let mut known: HashMap<i128, u32> = HashMap::new();
        for case in cases {
            let body = self.block(&case.body).nodes;
            match &case.head {
                CaseHead::Pattern(pattern) => {
                    let message = "this SWITCH compares numbers, but the case has a pattern";
                    let help = "write numbers, or remove what follows SWITCH";
                    self.diagnostics.push(pattern.span, DiagnosticKind::Syntax, message, help);
                }
                CaseHead::Numbers(numbers) => {
                    for number in numbers {
                        if let Some(line) = known.insert(*number, case.span.line) {
                            self.diagnostics.push(
                                case.span,
                                DiagnosticKind::AmbiguousCases,
                                format!("this case and the one in line {line} both have {number}"),
                                "remove it from one of them",
                            );
                        }
                    }
                    checked.push((numbers.clone(), body));
                }
            }
        }
        let default = default.map(|body| self.block(body).nodes);
        if cases.is_empty() {
            self.has_no_case(span, "SWITCH");
            return None;
        }
        Some(NodeKind::ChooseNumber { selector: selector?, cases: checked, default })
    }

    fn has_no_case(&mut self, span: Span, keyword: &str) {
        self.diagnostics.push(
            span,
            DiagnosticKind::Syntax,
            format!("{keyword} has no CASE"),
            "add a CASE .. ENDCASE to it, or remove it",
        );
    }

    /// Checks the cases of a switch by patterns and joins their automata.
    fn cases(
        &mut self,
        cases: &'a [Case],
        span: Span,
        keyword: &str,
    ) -> Option<(Vec<CaseNode>, Arc<Union>)> {
        if cases.is_empty() {
            self.has_no_case(span, keyword);
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
                head_span(late),
                DiagnosticKind::CaseAfterCatchAll,
                format!("this case stands after the one in line {first}, which takes every byte"),
                "remove it, or leave its bytes out of the other pattern, as in [^..]",
            );
        }
        let automata: Vec<&Dfa> =
            checked[..told_apart].iter().map(|case| &case.pattern.dfa).collect();
        let (union, conflicts) = self.union(&automata, span)?;
        for conflict in &conflicts {
            self.report(cases, conflict);
        }
        Some((checked, union))
    }

    /// Returns the joined automaton of the cases, and the pairs of cases that fit the same bytes.
    fn union(
        &mut self,
        automata: &[&Dfa],
        span: Span,
    ) -> Option<(Arc<Union>, Vec<PatternConflict>)> {
        let max = self.patterns.limits.pattern_states_max;
        let joined = Union::join(automata, max);
        let Some(union) = joined.union else {
            let message = format!(
                "the cases of this switch need more than {max} automaton states together, the limit \
                 `pattern_states_max`"
            );
            self.diagnostics.push(span, DiagnosticKind::TooLarge, message, "use shorter patterns");
            return None;
        };
        self.patterns.add_states(union.states(), span, self.diagnostics);
        Some((Arc::new(union), joined.conflicts))
    }

    fn case(&mut self, case: &'a Case) -> Option<CaseNode> {
        let body = self.block(&case.body).nodes;
        let CaseHead::Pattern(text) = &case.head else {
            let message = "this case has numbers, but its switch matches bytes";
            let help = "write a pattern, or name the number after SWITCH";
            self.diagnostics.push(case.span, DiagnosticKind::Syntax, message, help);
            return None;
        };
        let PatternText { span, .. } = *text;
        let pattern = self.patterns.compile(text, self.diagnostics)?;
        if !self.takes_bytes(&pattern, span, "this case") {
            return None;
        }
        self.warn_of_overrun(&pattern, span, Use::Tried);
        Some(CaseNode { pattern, body })
    }

    fn takes_bytes(&mut self, pattern: &Pattern, span: Span, what: &str) -> bool {
        if pattern.len_min == 0 {
            self.diagnostics.push(
                span,
                DiagnosticKind::CanMatchNothing,
                format!("{what} can match zero bytes, so it would always match"),
                "make its pattern take at least one byte",
            );
        }
        pattern.len_min > 0
    }

    fn report(&mut self, cases: &[Case], conflict: &PatternConflict) {
        let Some((first, second)) = cases.get(conflict.first).zip(cases.get(conflict.second))
        else {
            return;
        };
        let bytes: Vec<String> =
            conflict.witness.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        self.diagnostics.push(
            head_span(second),
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

/// Returns the position of a case's selector.
const fn head_span(case: &Case) -> Span {
    match &case.head {
        CaseHead::Pattern(pattern) => pattern.span,
        CaseHead::Numbers(_) => case.span,
    }
}
