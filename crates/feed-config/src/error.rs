//! Errors of a file, with their positions.

use std::error::Error;
use std::fmt;

/// Most errors reported for one file; the rest are counted.
pub const ERRORS_MAX: usize = 64;

/// One error of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Line, from 1; 0 if the error has no position in the file.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The error, with the expected value.
    pub message: String,
}

impl ConfigError {
    /// Creates an error at a byte of a text.
    pub(crate) fn at(text: &str, offset: usize, message: String) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let line = count(before.matches('\n').count() + 1);
        let column = count(before[line_start..].chars().count() + 1);
        Self { line, column, message }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}, column {}: {}", self.column, self.message),
        }
    }
}

impl Error for ConfigError {}

/// All errors of a file, in the order of their positions. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    /// The first [`ERRORS_MAX`] of them.
    pub errors: Vec<ConfigError>,
    /// Number of further errors.
    pub omitted: usize,
}

impl ConfigErrors {
    /// Sorts errors by position and drops those beyond the limit.
    pub(crate) fn new(mut errors: Vec<ConfigError>) -> Self {
        errors.sort_by_key(|error| (error.line, error.column));
        errors.dedup();
        let omitted = errors.len().saturating_sub(ERRORS_MAX);
        errors.truncate(ERRORS_MAX);
        Self { errors, omitted }
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self { errors: vec![error], omitted: 0 }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}{error}")?;
        }
        match self.omitted {
            0 => Ok(()),
            omitted => write!(f, "\nand {omitted} more"),
        }
    }
}

impl Error for ConfigErrors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let error = ConfigError::at("a\nжж = 1", 7, "x".to_owned());
        assert_eq!((error.line, error.column), (2, 4));
        let error = ConfigError::at("", 0, "x".to_owned());
        assert_eq!((error.line, error.column), (1, 1));
        let error = ConfigError::at("ж", 1, "x".to_owned());
        assert_eq!((error.line, error.column), (1, 2));
    }
}
