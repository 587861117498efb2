//! The patterns of a program. Compiles each text once and enforces the limits on states.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::PatternText;
use crate::diagnostic::{DiagnosticKind, Diagnostics, Span};
use crate::lexer::to_u32;
use crate::limits::GrammarLimits;
use crate::pattern::{Pattern, PatternError};

pub(super) struct GrammarPatterns<'a> {
    pub(super) limits: &'a GrammarLimits,
    known: HashMap<String, Result<Arc<Pattern>, PatternError>>,
    /// Automaton states of the program so far, counted for every use of a pattern.
    states: usize,
}

impl<'a> GrammarPatterns<'a> {
    pub(super) fn new(limits: &'a GrammarLimits) -> Self {
        Self { limits, known: HashMap::new(), states: 0 }
    }

    /// Returns the pattern of `text`; mistakes in it are reported at every use.
    pub(super) fn compile(
        &mut self,
        text: &PatternText,
        diagnostics: &mut Diagnostics,
    ) -> Option<Arc<Pattern>> {
        if self.states > self.limits.states_max {
            return None;
        }
        let known = self
            .known
            .entry(text.text.clone())
            .or_insert_with(|| Pattern::parse(&text.text, self.limits).map(Arc::new));
        match known {
            Ok(pattern) => {
                let pattern = Arc::clone(pattern);
                self.add_states(pattern.dfa.states(), text.span, diagnostics).then_some(pattern)
            }
            Err(error) => {
                let span = Span { column: text.span.column + to_u32(error.at), ..text.span };
                let kind = match error.too_large {
                    true => DiagnosticKind::TooLarge,
                    false => DiagnosticKind::BadPattern,
                };
                diagnostics.push(span, kind, &error.message, &error.help);
                None
            }
        }
    }

    /// Counts states. Returns false above the limit, which is reported once.
    pub(super) fn add_states(
        &mut self,
        states: u32,
        span: Span,
        diagnostics: &mut Diagnostics,
    ) -> bool {
        let was_within = self.states <= self.limits.states_max;
        self.states = self.states.saturating_add(states as usize);
        let is_within = self.states <= self.limits.states_max;
        if was_within && !is_within {
            let max = self.limits.states_max;
            let message = format!(
                "the program needs more than {max} automaton states, the limit `states_max`"
            );
            let help = "use smaller repetitions, or a count";
            diagnostics.push(span, DiagnosticKind::TooLarge, message, help);
        }
        is_within
    }
}
