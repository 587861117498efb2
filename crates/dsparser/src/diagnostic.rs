//! Diagnostics: mistakes in a grammar text, described for people.

use std::fmt;

/// A position in a grammar text. Line and column count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// 0 for the grammar itself; included files count from 1 in the order of their inclusion.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column of the first character, from 1.
    pub column: u32,
}

/// The kind of mistake in a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// Two cases of a switch can match the same bytes.
    AmbiguousCases,
    /// A pattern is not a byte regular expression of this language.
    BadPattern,
    /// A case after one that takes every byte.
    CaseAfterCatchAll,
    /// A case or a loop body can match zero bytes, so it could repeat forever.
    CanMatchNothing,
    /// A count is longer than any 64-bit number needs.
    CountTooWide,
    /// A syntax error: misplaced words or punctuation.
    Syntax,
    /// A limit of [`GrammarLimits`](crate::GrammarLimits) is exceeded.
    TooLarge,
    /// A block without its end, or an end without its block.
    UnbalancedBlock,
    /// The host has no action of this name.
    UnknownAction,
    /// A block calls itself, or a file includes itself.
    Recursion,
    /// A pattern can read far past its match; a warning.
    ScansPastMatch,
    /// No `READ` binds the name, or no block has it.
    UnknownName,
    /// The first word of a line is not a keyword.
    UnknownKeyword,
    /// `VALUE` before any action has run.
    ValueWithoutAction,
}

/// One mistake: its position, a description and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Position of the mistake.
    pub span: Span,
    /// Name of the included file; `None` for the grammar itself.
    pub file: Option<String>,
    /// Kind of mistake.
    pub kind: DiagnosticKind,
    /// Description of the mistake.
    pub message: String,
    /// Suggested remedy.
    pub help: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { line, column, .. } = self.span;
        if let Some(file) = &self.file {
            write!(f, "{file}, ")?;
        }
        write!(f, "line {line}, column {column}: {}; {}", self.message, self.help)
    }
}

/// All mistakes of a grammar, in the order of the text. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramErrors {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) left_out: usize,
}

impl ProgramErrors {
    /// Returns the mistakes, in the order of the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the number of mistakes beyond [`GrammarLimits::errors_max`](crate::GrammarLimits::errors_max).
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl fmt::Display for ProgramErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{diagnostic}")?;
        }
        if self.left_out > 0 {
            write!(f, "\nand {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for ProgramErrors {}

/// Collects mistakes while a text is read.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
    /// The included files; file number n is at index n - 1.
    pub(crate) files: Vec<String>,
}

impl Diagnostics {
    /// Creates an empty list for a text that includes these files.
    pub(crate) fn of_files(files: Vec<String>) -> Self {
        Self { list: Vec::new(), files }
    }

    pub(crate) fn push(
        &mut self,
        span: Span,
        kind: DiagnosticKind,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (message, help) = (message.into(), help.into());
        self.list.push(Diagnostic { span, file: None, kind, message, help });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the mistakes in the order of the text, each with the name of its file.
    fn sorted(&mut self) -> Vec<Diagnostic> {
        let mut list = std::mem::take(&mut self.list);
        list.sort_by_key(|diagnostic| diagnostic.span);
        list.dedup();
        for diagnostic in &mut list {
            let index = (diagnostic.span.file as usize).checked_sub(1);
            diagnostic.file = index.and_then(|index| self.files.get(index).cloned());
        }
        list
    }

    /// Returns the list as warnings.
    pub(crate) fn into_warnings(mut self) -> Vec<Diagnostic> {
        self.sorted()
    }

    pub(crate) fn into_errors(mut self, errors_max: usize) -> ProgramErrors {
        self.list = self.sorted();
        let left_out = self.list.len().saturating_sub(errors_max.max(1));
        self.list.truncate(errors_max.max(1));
        ProgramErrors { diagnostics: self.list, left_out }
    }
}

/// Least similarity of a suggestion: one minus the edits per letter. Feed files and the settings of FIX sessions have
/// the same rule.
const SIMILARITY_MIN: f64 = 0.7;

/// Returns the word of `known` that is closest to `word`, if any is close enough.
pub(crate) fn suggestion<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    let similarity =
        |name: &'a str| (strsim::normalized_damerau_levenshtein(&word, &name.to_lowercase()), name);
    let similar = known.into_iter().map(similarity).filter(|(by, _)| *by >= SIMILARITY_MIN);
    similar.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_is_not() {
        assert_eq!(suggestion("match", ["PUSH", "MATCH"]), Some("MATCH"));
        assert_eq!(suggestion("EXECUT", ["PUSH", "EXECUTE"]), Some("EXECUTE"));
        assert_eq!(suggestion("MTACH", ["PUSH", "MATCH"]), Some("MATCH"));
        assert_eq!(suggestion("FOREACH", ["PUSH", "MATCH"]), None);
    }

    #[test]
    fn errors_are_sorted_and_cut_at_the_limit() {
        let mut list = Diagnostics::default();
        for line in [3, 1, 2] {
            list.push(Span { file: 0, line, column: 1 }, DiagnosticKind::Syntax, "m", "h");
        }
        let errors = list.into_errors(2);
        assert_eq!(errors.diagnostics()[0].span.line, 1);
        assert_eq!(errors.left_out(), 1);
        assert_eq!(errors.to_string().lines().last(), Some("and 1 more"));
    }
}
