//! Patterns that can read far past their match, and so make a loop take quadratic time.

use crate::diagnostic::{DiagnosticKind, Span};
use crate::pattern::Pattern;

use super::Checker;

/// What is done with a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It must match, or the run ends.
    Match,
    /// It is tried, and the run goes on if it does not match.
    Tried,
    /// The same, also if it matches but something follows.
    TriedLast,
}

impl Checker<'_> {
    /// Warns of a pattern inside a loop whose longest match can only be known far behind it.
    pub(super) fn warn_of_overrun(&mut self, pattern: &Pattern, span: Span, used: Use) {
        let reads_on = match used {
            Use::Match => pattern.dfa.reads_past_matches(),
            Use::Tried => pattern.dfa.reads_on_without_match(),
            Use::TriedLast => pattern.len_max.is_none(),
        };
        if self.loops == 0 || !reads_on {
            return;
        }
        self.warnings.push(
            span,
            DiagnosticKind::ScansPastMatch,
            "this pattern can read to the end of the input, go back, and do so again in the next round: \
             n bytes take up to n * n / 2 steps, 2,147,483,648 for 64 KiB",
            "end its repetitions at a byte that they exclude, or bound them, as in {0,16}",
        );
    }
}
