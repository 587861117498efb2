//! Errors: mismatches between templates and samples, and values that do not fit their members.

use std::fmt;

/// One mismatch between a template set and the samples.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateMismatch {
    /// The template has no field with the name of a member.
    MissingField {
        /// The template.
        template: String,
        /// Path of the field.
        path: String,
        /// Expected type of the field.
        wanted: &'static str,
    },
    /// No template has the name of a sample type.
    NoTemplate {
        /// Names of the first few templates.
        found: Vec<String>,
    },
    /// The member cannot hold the values of the field's type.
    WrongType {
        /// The template.
        template: String,
        /// Path of the field.
        path: String,
        /// Type of the field.
        found: String,
        /// Expected type of the field.
        wanted: &'static str,
    },
}

impl fmt::Display for TemplateMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingField { template, path, wanted } => {
                write!(
                    f,
                    "template {template}: no field {path}; its sample needs one with {wanted}"
                )
            }
            Self::NoTemplate { found } => write!(
                f,
                "no template has the name of a sample: expected {}; found {}",
                super::TEMPLATE_NAMES.join(", "),
                if found.is_empty() { "none".to_owned() } else { found.join(", ") }
            ),
            Self::WrongType { template, path, found, wanted } => {
                write!(f, "template {template}: field {path} is {found}; its sample needs {wanted}")
            }
        }
    }
}

/// All mismatches between a template set and the samples, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfits(pub Vec<TemplateMismatch>);

impl fmt::Display for Misfits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, misfit) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{misfit}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Misfits {}

/// A value of a message that its sample cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FillError {
    /// An integer is too large, too small or negative for the member.
    Range {
        /// The member.
        member: &'static str,
    },
    /// A string is not UTF-8 or has a NUL character inside.
    Text {
        /// The member.
        member: &'static str,
    },
}

impl fmt::Display for FillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range { member } => {
                write!(f, "{member}: the value does not fit the member of the sample")
            }
            Self::Text { member } => {
                write!(f, "{member}: the string is not UTF-8 or has a NUL character inside")
            }
        }
    }
}

impl std::error::Error for FillError {}
