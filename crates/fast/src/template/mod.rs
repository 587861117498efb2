//! Template files: reading, looking up templates, comparing and printing sets.
//!
//! [`TemplateSet::parse`] turns XML into the checked [model](Template). It resolves all scopes, so
//! later stages do not need attributes. Invariants of a [`TemplateSet`]: identifiers are unique,
//! every static reference names a template of the set, static references form no cycle, and the
//! expanded set is within [`ParseLimits`].

mod decimal;
mod diff;
mod error;
mod limits;
mod model;
mod reader;
mod references;
mod rule;
mod set;
mod signature;
mod words;
mod xml;

pub use decimal::ParseDecimalError;
pub use diff::{Difference, TemplateChange, diff};
pub use error::{TemplateError, TemplateErrors};
pub use limits::ParseLimits;
pub use model::*;
#[doc(hidden)]
pub use rule::{OperatorRule, SilentValue, StreamContent};
pub use set::TemplateSet;
pub use signature::Signature;
