//! Warns of patterns that can read far past their match, which makes a loop quadratic.

use crate::diagnostic::{DiagnosticKind, Span};
use crate::pattern::Pattern;

use super::GrammarChecker;

/// The role of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It must match; otherwise the run ends.
    Match,
    /// It is tried; if it does not match, the run continues.
    Tried,
    /// It is tried as `Tried`; in addition, a match that does not reach the end of the input is
    /// rejected.
    TriedLast,
}

impl GrammarChecker<'_> {
    /// Warns of a pattern inside a loop that must read far past its match to determine that it is
    /// the longest.
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
