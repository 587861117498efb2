//! A packet grammar language: byte patterns joined by control statements, with actions between
//! them.
//!
//! [`GrammarProgram::parse`] checks a grammar and reports all mistakes at once. Three engines run a
//! program and drive a [`Host`], which holds the actions and their state:
//!
//! - [`Machine`] interprets it as one automaton.
//! - [`generate()`] writes it as Rust source.
//! - [`reference`](mod@reference) interprets it statement by statement; tests compare the other two with it.
//!
//! ```
//! use tickwire_dsparser::{ActionError, ActionId, ActionNames, ActionValue, GrammarProgram, Host};
//!
//! /// Collects what the grammar hands out.
//! struct Words(Vec<String>);
//!
//! impl Host for Words {
//!     fn execute(
//!         &mut self,
//!         _action: ActionId,
//!         bytes: &[u8],
//!         _offset: usize,
//!     ) -> Result<ActionValue, ActionError> {
//!         self.0.push(String::from_utf8_lossy(bytes).into_owned());
//!         Ok(ActionValue::default())
//!     }
//! }
//!
//! let grammar = "
//!     LOOP
//!       PUSH
//!       MATCH \"[^;]+\"
//!       EXECUTE word
//!       MATCH \";\"
//!     ENDLOOP
//! ";
//! let machine = GrammarProgram::parse(grammar, &ActionNames::new(["word"]))?.machine();
//! let mut words = Words(Vec::new());
//! assert_eq!(machine.run(b"bid;offer;", &mut words)?, 10);
//! assert_eq!(words.0, ["bid", "offer"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod ast;
mod block;
mod check;
mod diagnostic;
mod generate;
mod host;
mod lexer;
mod limits;
mod machine;
mod parser;
mod pattern;
mod program;
pub mod reference;
pub mod rt;
mod run_error;
mod stages;

pub use diagnostic::{Diagnostic, DiagnosticKind, ProgramErrors, Span};
pub use generate::generate;
pub use host::{
    ActionError, ActionId, ActionNames, ActionValue, Host, ItemAction, ItemActions, ItemError,
    NameId, StopBitRun,
};
pub use limits::GrammarLimits;
pub use machine::{Machine, MachineStream, StreamProgress};
pub use pattern::ByteSet;
pub use program::GrammarProgram;
pub use run_error::{RunError, RunErrorKind, StatementText};
pub use stages::PatternStage;

/// Compiles and runs the tutorial's Rust with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/grammar-tutorial.md")]
struct Tutorial;
