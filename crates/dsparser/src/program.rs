//! A checked grammar.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::ast::Statement;
use crate::block::StatementNode;
use crate::check::check;
use crate::diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, ProgramErrors, Span};
use crate::host::ActionNames;
use crate::limits::GrammarLimits;
use crate::machine::Machine;
use crate::parser::parse;
use crate::run_error::StatementText;

/// A checked grammar: every name is known, every pattern is compiled, every loop terminates.
#[derive(Clone, Debug)]
pub struct GrammarProgram {
    text: String,
    ast: Vec<Statement>,
    actions: Vec<String>,
    names: Vec<String>,
    statements: Vec<StatementText>,
    warnings: Vec<Diagnostic>,
    /// Name and text of the included files.
    files: Vec<(String, String)>,
    pub(crate) body: Vec<StatementNode>,
}

impl GrammarProgram {
    /// Parses and checks `text`, which must not include files. `actions` are the host's action
    /// names.
    ///
    /// # Errors
    /// All errors of the text together, each with line, column, reason and remedy.
    pub fn parse(text: &str, actions: &ActionNames) -> Result<Self, ProgramErrors> {
        Self::parse_with(text, actions, &GrammarLimits::default())
    }

    /// As [`parse`](Self::parse), with custom limits.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); exceeding a limit is an error as well.
    pub fn parse_with(
        text: &str,
        actions: &ActionNames,
        limits: &GrammarLimits,
    ) -> Result<Self, ProgramErrors> {
        let mut none = |_: &str| Err("files cannot be included here".to_owned());
        Self::parse_including(text, actions, limits, &mut none)
    }

    /// As [`parse_with`](Self::parse_with). `files` returns the text of an included file by the
    /// name in the grammar, or the reason why there is none.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_including(
        text: &str,
        actions: &ActionNames,
        limits: &GrammarLimits,
        files: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, ProgramErrors> {
        let mut diagnostics = Diagnostics::default();
        if text.len() > limits.text_bytes_max {
            let max = limits.text_bytes_max;
            let message =
                format!("the text is longer than {max} bytes, the limit `text_bytes_max`");
            let start = Span { file: 0, line: 1, column: 1 };
            diagnostics.push(start, DiagnosticKind::TooLarge, message, "split the grammar");
            return Err(diagnostics.into_errors(limits.errors_max));
        }
        let parsed = parse(text, limits, files, &mut diagnostics);
        let mut warnings = Diagnostics::of_files(diagnostics.files.clone());
        let checked = check(&parsed.body, actions, limits, &mut diagnostics, &mut warnings);
        if !diagnostics.is_empty() {
            return Err(diagnostics.into_errors(limits.errors_max));
        }
        Ok(Self {
            text: text.to_owned(),
            ast: parsed.body,
            actions: checked.actions,
            names: checked.names,
            statements: parsed.statements,
            warnings: warnings.into_warnings(),
            files: parsed.files,
            body: checked.body,
        })
    }

    /// Returns the text of the grammar.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the SHA-256 of the text and of all included files, in hexadecimal. It is
    /// `GRAMMAR_SHA256` of a module generated from the program.
    pub fn sha256(&self) -> String {
        let mut digest = Sha256::new_with_prefix(self.text.as_bytes());
        for (name, text) in &self.files {
            for part in [name, text] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part.as_bytes());
            }
        }
        digest.finalize().iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Returns the syntax tree.
    pub fn syntax(&self) -> &[Statement] {
        &self.ast
    }

    /// Returns the action names, indexed by [`ActionId`](crate::ActionId).
    pub fn actions(&self) -> &[String] {
        &self.actions
    }

    /// Returns the names to which `READ` binds numbers, indexed by [`NameId`](crate::NameId).
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the warnings, in the order of the text: constructs that are valid but can be costly.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Returns the statements in the order of the text, for
    /// [`RunError::describe`](crate::RunError::describe).
    pub fn statements(&self) -> &[StatementText] {
        &self.statements
    }

    /// Compiles the program into one automaton.
    pub fn machine(&self) -> Machine {
        Machine::compile(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_grammars_compile_in_bounded_work() {
        let literal = format!("MATCH \"{}\"\n", "0123456789abcdefghijklmnopqrst".repeat(30));
        let program = GrammarProgram::parse(&literal.repeat(30), &ActionNames::any());
        assert!(program.expect("within the limits").machine().size().1 > 27_000);
        let cases: String = (0..2000)
            .map(|number| format!("CASE \"\\x{:02x}{:04}\"\nENDCASE\n", number % 256, number))
            .collect();
        let switch = format!("WSWITCH\n{cases}ENDWSWITCH\n");
        let found = GrammarProgram::parse(&switch, &ActionNames::any()).expect_err("too large");
        assert_eq!(found.diagnostics()[0].kind, DiagnosticKind::TooLarge);
    }
}
