//! Errors in a template file, all collected in one pass.

use super::model::Location;
use crate::code::Code;
use std::collections::HashSet;
use std::fmt;

/// An error in a template file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// The specification's code; `None` if a limit of this crate is exceeded.
    pub code: Option<Code>,
    /// Position in the file.
    pub location: Location,
    /// Name of the enclosing template, or empty.
    pub template: String,
    /// Names of the enclosing fields, joined by `/`, or empty.
    pub field: String,
    /// Description of the error.
    pub message: String,
    /// How to fix it.
    pub help: String,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.location.line, self.location.column)?;
        match self.code {
            Some(code) => write!(f, "{code}: ")?,
            None => f.write_str("limit: ")?,
        }
        if !self.template.is_empty() {
            write!(f, "template \"{}\"", self.template)?;
            f.write_str(if self.field.is_empty() { ": " } else { ", " })?;
        }
        if !self.field.is_empty() {
            write!(f, "field \"{}\": ", self.field)?;
        }
        f.write_str(&self.message)?;
        if !self.help.is_empty() {
            write!(f, "; help: {}", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for TemplateError {}

/// All errors in a template file; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateErrors {
    /// The errors in the order of the file, at most
    /// [`ParseLimits::errors_max`](super::ParseLimits::errors_max).
    pub errors: Vec<TemplateError>,
    /// Number of further errors.
    pub omitted: usize,
}

impl fmt::Display for TemplateErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        if self.omitted > 0 {
            write!(f, "\nand {} more", self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for TemplateErrors {}

/// Collects errors up to a limit. A definition used in many places reports its errors once.
#[derive(Debug)]
pub(crate) struct ErrorList {
    errors: Vec<TemplateError>,
    seen: HashSet<(Location, String)>,
    omitted: usize,
    errors_max: usize,
}

impl ErrorList {
    pub(crate) fn new(errors_max: usize) -> Self {
        let errors_max = errors_max.max(1);
        Self { errors: Vec::new(), seen: HashSet::new(), omitted: 0, errors_max }
    }

    pub(crate) fn push(&mut self, error: TemplateError) {
        if self.errors.len() >= self.errors_max {
            self.omitted = self.omitted.saturating_add(1);
        } else if self.seen.insert((error.location, error.message.clone())) {
            self.errors.push(error);
        }
    }

    pub(crate) fn finish(self) -> Result<(), TemplateErrors> {
        if self.errors.is_empty() {
            return Ok(());
        }
        let mut errors = self.errors;
        errors.sort_by_key(|error| error.location);
        Err(TemplateErrors { errors, omitted: self.omitted })
    }
}
